/* SPDX-License-Identifier: Apache-2.0 */
/* libward: run an agent's commands in ward's sandbox, from a program of your own.
 *
 *	static int answer(ward_run *run, const ward_ask *ask, ward_answer *answer, void *data)
 *	{
 *		printf("%s", ward_ask_get(ask, "text"));
 *		ward_answer_set(answer, "reason", "not without me", NULL);
 *		return WARD_DENY;
 *	}
 *
 *	int main(void)
 *	{
 *		const char *const command[] = {"make", "test", NULL};
 *		ward_error *error = NULL;
 *		ward_run *run = NULL;
 *		ward *ward = ward_open("/home/me/project", &error);
 *
 *		if (ward)
 *			ward_on_ask(ward, answer);
 *		if (ward && ward_set(ward, "timeout", "5m", &error) == 0)
 *			run = ward_start(ward, command, NULL, &error);
 *		if (run && ward_wait(run, -1) == 1)
 *			printf("%s", ward_result_text(run, "aggregated_output", NULL));
 *		if (error)
 *			fprintf(stderr, "%s\n", ward_error_message(error));
 *		ward_error_free(error);
 *		ward_run_free(run);
 *		ward_close(ward);
 *	}
 *
 * A handle is a ward of its own: ward_open starts the program `ward` in the workspace and speaks
 * with it. Nothing of the sandbox runs in your process; its identity, signals and fds stay yours.
 * Without "session" among its settings a handle is one session: a yes "for the session" ends with
 * it. What a run may do is what ward's policy files say for that workspace and that user; settings
 * narrow it, and what they would widen is asked.
 *
 * Threads: every function may be called from any thread, on the same handle too, but nothing may
 * use a handle while or after it is closed, or a run while or after it is freed. A handle has one
 * thread of its own. It calls your functions, one at a time, and reads nothing meanwhile; so a
 * function that takes long holds up all runs of the handle, and one that asks a person returns
 * WARD_LATER. Signals are blocked in that thread. Policies may be asked in that thread and in
 * those that start runs, several at once. From inside one of your functions everything may be
 * called but ward_wait, which then fails.
 *
 * Forks: in a child of fork() that does not exec, handles, their runs and their errors are of no
 * use: functions fail, and ward_close and ward_run_free do no harm to the parent's. A child that
 * lives on closes its copy, else ward outlives a parent that is killed. Nothing is left open over
 * an exec.
 *
 * Texts are UTF-8 and end with NUL; those that are returned belong to the object that they come
 * from. Functions that can fail return -1 or NULL, and then say why in *ret_error, which may be
 * NULL; the caller frees it. Functions that free take NULL. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define WARD_PUBLIC __attribute__((visibility("default")))
#else
#define WARD_PUBLIC
#endif

typedef struct ward ward;
typedef struct ward_run ward_run;
typedef struct ward_ask ward_ask;
typedef struct ward_answer ward_answer;
typedef struct ward_policy ward_policy;
typedef struct ward_error ward_error;

/* The library's version: "0.1.0". */
WARD_PUBLIC const char *ward_version(void);

/* --- errors --------------------------------------------------------------------------------------
 * kind is "usage" (the call itself is wrong), "engine" (ward is not there, broken or gone), and of
 * a run also "rejected" (by policy or person), "sandbox_denied" and "timeout". */
WARD_PUBLIC const char *ward_error_kind(const ward_error *error);
WARD_PUBLIC const char *ward_error_message(const ward_error *error);
WARD_PUBLIC const char *ward_error_hint(const ward_error *error); /* the way on; may be NULL */
WARD_PUBLIC void ward_error_free(ward_error *error);

/* --- handles -------------------------------------------------------------------------------------
 * The program is the one that was installed with the library. Neither the environment nor PATH can
 * name another; this can, for handles that are opened later. The path is absolute; NULL: the
 * installed one again. */
WARD_PUBLIC int ward_set_program(const char *path, ward_error **ret_error);

/* NULL: the current directory. Fails where the program is not there or of another version. */
WARD_PUBLIC ward *ward_open(const char *workspace, ward_error **ret_error);
/* Ends its runs. Those that are not freed yet keep what they have; a thread that waits for one is
 * told. Returns when your functions have returned, unless it is called from one of them. */
WARD_PUBLIC void ward_close(ward *handle);

/* What later runs are started with, by the names of docs/request.schema.json, which are those of
 * the flags of ward run too: "cwd", "agent", "level", "approval", "timeout", "memory"... Switches
 * are "true" or "false". NULL takes a setting back, of a list too. One more is the library's own:
 * "answer-within", a number of seconds after which a question that nobody answered is answered no;
 * ward itself waits half an hour. */
WARD_PUBLIC int ward_set(ward *handle, const char *key, const char *value, ward_error **ret_error);
/* One more of a list: "read", "write", "deny", "allow-host", "env"... */
WARD_PUBLIC int ward_add(ward *handle, const char *key, const char *value, ward_error **ret_error);

/* What is said to a question. WARD_LATER: by ward_reply, in time. WARD_PASS: whoever comes next is
 * asked: after the policy your function, after that nobody, which is no. Any other value is no. */
enum ward_word { WARD_PASS, WARD_APPROVE, WARD_DENY, WARD_ABORT, WARD_LATER };

/* Your functions, for runs of this handle; data is what the run was started with. Set before the
 * first run starts.
 *
 * Bytes of the command's stdout (1) or stderr (2), as they come. */
typedef void ward_output_function(ward_run *run, int stream, const char *bytes, size_t length,
				  void *data);
/* One line for a person. */
typedef void ward_notice_function(ward_run *run, const char *text, void *data);
/* A question; answer is for what is to be said besides the word: ward_answer_set. */
typedef int ward_ask_function(ward_run *run, const ward_ask *ask, ward_answer *answer, void *data);
/* A question that waits for ward_reply needs no answer any more. */
typedef void ward_withdrawn_function(ward_run *run, const char *ask_id, void *data);
/* The run has ended. Nothing is called for it after that. */
typedef void ward_ended_function(ward_run *run, void *data);

WARD_PUBLIC void ward_on_output(ward *handle, ward_output_function *function);
WARD_PUBLIC void ward_on_notice(ward *handle, ward_notice_function *function);
WARD_PUBLIC void ward_on_ask(ward *handle, ward_ask_function *function);
WARD_PUBLIC void ward_on_withdrawn(ward *handle, ward_withdrawn_function *function);
WARD_PUBLIC void ward_on_ended(ward *handle, ward_ended_function *function);

/* --- runs ----------------------------------------------------------------------------------------
 * A program and its arguments, text for a shell, or a request as in docs/request.schema.json, whose
 * keys come before the handle's settings. Settings are taken as they are now. At most 64 runs of a
 * handle go on at once, and those that come later wait for them. */
WARD_PUBLIC ward_run *ward_start(ward *handle, const char *const argv[], void *data,
				 ward_error **ret_error);
WARD_PUBLIC ward_run *ward_start_shell(ward *handle, const char *command, void *data,
				       ward_error **ret_error);
WARD_PUBLIC ward_run *ward_start_json(ward *handle, const char *request, void *data,
				      ward_error **ret_error);
/* 1: it has ended, 0: not within so many milliseconds (-1: without end), -1: cannot be waited for
 * here. */
WARD_PUBLIC int ward_wait(ward_run *run, int milliseconds);
/* The command is told to end (SIGTERM), and is ended two seconds later. */
WARD_PUBLIC void ward_cancel(ward_run *run);
/* A run that goes on is cancelled and forgotten. None of your functions is called for it, or still
 * at work for it, when this has returned, but for the one that called it. */
WARD_PUBLIC void ward_run_free(ward_run *run);

/* Of a run that has ended: NULL or -1 before. The result is the object of docs/result.schema.json,
 * whatever happened. */
WARD_PUBLIC const char *ward_result_json(const ward_run *run);
/* A text of it: "stdout", "stderr", "aggregated_output", "verdict", "source", "limit", "run"; NULL
 * where there is none. It may hold NUL; ret_length may be NULL. */
WARD_PUBLIC const char *ward_result_text(const ward_run *run, const char *key, size_t *ret_length);
WARD_PUBLIC int ward_exit_code(const ward_run *run); /* -1: the command did not start */
WARD_PUBLIC int ward_timed_out(const ward_run *run);
/* NULL where there is none: a command that fails by itself is no error. */
WARD_PUBLIC const ward_error *ward_run_error(const ward_run *run);

/* --- questions -----------------------------------------------------------------------------------
 * As in docs/ask.schema.json. A policy is also asked whether a run may start at all: then kind is
 * "start", and there is "request". A question lives as long as the function that is called with it.
 */
WARD_PUBLIC const char *ward_ask_id(const ward_ask *ask);
/* A text of it: "text" is all of it, for people; "command", "object", "kind"... NULL: not there. */
WARD_PUBLIC const char *ward_ask_get(const ward_ask *ask, const char *key);
/* 1 where that is among its choices: "approve session". */
WARD_PUBLIC int ward_ask_offers(const ward_ask *ask, const char *choice);
WARD_PUBLIC const char *ward_ask_json(const ward_ask *ask);

/* What an answer says besides its word: "scope" (once, session, time, always), "seconds", "extent",
 * "unsandboxed" and "monitor" (true, false), "reason". */
WARD_PUBLIC int ward_answer_set(ward_answer *answer, const char *key, const char *value,
				ward_error **ret_error);
/* One more of "domains", the hosts that code may reach; or of "grants", of a yes to less than was
 * asked for: exactly these, each of which lies within what was asked. */
WARD_PUBLIC int ward_answer_add(ward_answer *answer, const char *key, const char *value,
				ward_error **ret_error);
WARD_PUBLIC ward_answer *ward_answer_new(void);
WARD_PUBLIC void ward_answer_free(ward_answer *answer);
/* From any thread, also while the function that was asked is still at work. word is approve, deny
 * or abort; answer may be NULL. Fails where that is not among the choices, and the question then
 * stands; and where no such question stands. What ward itself does not take, for another reason, is
 * told in a notice, and is a no. */
WARD_PUBLIC int ward_reply(ward *handle, const char *ask_id, enum ward_word word,
			   const ward_answer *answer, ward_error **ret_error);

/* --- policies ------------------------------------------------------------------------------------
 * What decides before a person is asked: whether a run may start, and what a question is answered.
 * A policy can refuse what ward would allow, and say yes where ward asks; what ward refuses stays
 * refused, and no yes of it is to running without the sandbox unless it says "unsandboxed". A run
 * that is refused by it has the error "rejected" with the policy's reason.
 *
 * Policies stand in a registry of the process, by name, and a handle uses one. A handle that uses
 * none has ward's own rules and its sandbox; the first such run in a process whose handle hears
 * notices is told so. A question that a policy leaves for later waits as any other, and is no in
 * the end. */
typedef int ward_policy_function(const ward_ask *ask, ward_answer *answer, void *data);

/* free_data, which may be NULL, is called with data when nobody uses the policy any more. */
WARD_PUBLIC ward_policy *ward_policy_new(ward_policy_function *function, void *data,
					 void (*free_data)(void *data), ward_error **ret_error);
/* Everything may start, and what is asked is approved, once. */
WARD_PUBLIC ward_policy *ward_policy_allow(void);
/* Nothing may start. */
WARD_PUBLIC ward_policy *ward_policy_deny(const char *reason);

/* WARD_FIRST: by priority, the first that does not pass; the last is the fallback.
 * WARD_ALL: a no of any is no; else one that decides later is waited for; else one yes is enough,
 *   and where several say yes it holds once and says nothing besides.
 * WARD_ANY: the first yes; else one that decides later is waited for; else the first no. */
enum ward_combination { WARD_FIRST, WARD_ALL, WARD_ANY };
/* The policies are shared with it: whoever made them still frees them. */
WARD_PUBLIC ward_policy *ward_policy_combine(enum ward_combination how,
					     ward_policy *const policies[], size_t count,
					     ward_error **ret_error);
/* Lets go of it; the registry and handles that have it keep it. */
WARD_PUBLIC void ward_policy_free(ward_policy *policy);

/* Takes the place of another of that name, for handles that come to use it later; NULL: takes the
 * name out. */
WARD_PUBLIC int ward_policy_register(const char *name, ward_policy *policy, ward_error **ret_error);
/* NULL: none. */
WARD_PUBLIC int ward_use_policy(ward *handle, const char *name, ward_error **ret_error);

#ifdef __cplusplus
}
#endif
