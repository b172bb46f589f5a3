/* SPDX-License-Identifier: Apache-2.0 */
/* A command is judged as `ward run` would, and put into ward where the agent takes another command;
 * a file by the rules about files. What is answered is on record before. */
#include "hook_judge.h"
#include "../base/guard.h"
#include "../base/io.h"
#include "../base/path.h"
#include "../decide/decide.h"
#include "../decide/key.h"
#include "../decide/policy.h"
#include "../flow.h"
#include "../parse/plan.h"
#include "../record/asked.h"
#include "../record/audit.h"
#include "../record/session.h"
#include "../record/state.h"
#include "hook_ward.h"

#include <errno.h>
#include <stdarg.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What flow_check showed, as far as it is needed. */
struct shown {
	const struct hook_call *call;
	const struct request *request;
	const char *program;
	enum verdict_kind kind;
	char *reason, *key;
	struct list wanted;
	bool routed;	       /* it is not for the agent's own user to answer */
	bool waits;	       /* a question finds somebody elsewhere */
	bool critical;	       /* no agent is given it, whoever answers */
	char *directory;       /* `cd DIR` and nothing else: for the agent's own shell */
	struct ward_call ward; /* where it calls ward itself */
	/* Files. */
	enum state state;
	bool always, said, guarded;
	bool safe; /* the agent is in safe mode: nobody is asked */
};

static void shown_done(struct shown *shown)
{
	free(shown->reason);
	free(shown->key);
	free(shown->directory);
	list_done(&shown->wanted);
	ward_call_done(&shown->ward);
}

static void look_at_plan(const struct plan *plan, const struct limits *limits, struct shown *shown)
{
	const struct command *command = plan->count == 1 ? &plan->commands[0] : NULL;

	ward_call_read(plan, shown->call->command, shown->request, limits, shown->program,
		       &shown->ward);
	if (command && !plan->opaque && command->redirect_count == 0 &&
	    command->wrapper_count == 0 && command->argc > 0 && command->argc <= 2 &&
	    strcmp(command->argv[0], "cd") == 0 && !command->dynamic &&
	    command->assignment_count == 0)
		shown->directory = ward_words(command);
}

/* How the rules see one path; the file need not be there. */
static void look_at_file(const struct permissions *permissions, const char *path, bool write,
			 struct shown *shown)
{
	_cleanup_free_ const struct file_rule **rules =
		calloc(permissions->rules.count + 1, sizeof(struct file_rule *));
	const struct file_rule *rule = NULL;
	size_t count = 0;

	if (!rules)
		abort();
	for (size_t i = 0; i < permissions->rules.count; i++) {
		const struct file_rule *candidate = &permissions->rules.items[i];
		_cleanup_free_ char *part = strdup(path);

		if (candidate->weight == WEIGHT_DEFAULT && candidate->access == ACCESS_DENY &&
		    list_has(&permissions->not_deny_names, path_last(path)))
			continue;
		/* It speaks of the path, or of something above it. */
		for (char *slash; part && *part;) {
			if (path_is_under(part, candidate->pattern) ||
			    path_matches(candidate->pattern, part, NULL)) {
				rules[count++] = candidate;
				break;
			}
			slash = strrchr(part, '/');
			*slash = '\0';
		}
	}
	shown->state = file_rules_decide(rules, count, &rule);
	shown->said = rule && rule->weight == WEIGHT_SAID;
	shown->always = path_is_among(path, &permissions->never);
	shown->guarded = write && permissions->workspace &&
			 path_is_under(path, permissions->workspace) &&
			 guard_path(permissions->workspace, path, NULL) != GUARD_FREE;
}

/* What is there of a path as it really is, the rest as it is written. Caller frees. */
static char *real_path(const char *cwd, const char *path)
{
	_cleanup_free_ char *whole = path_resolve(cwd, getenv("HOME"), path);
	size_t end = strlen(whole);
	char real[PATH_MAX], *joined = NULL;

	for (;;) {
		_cleanup_free_ char *part = strndup(whole, end);

		if (realpath(end > 0 ? part : "/", real))
			break;
		while (end > 0 && whole[--end] != '/')
			;
	}
	if (asprintf(&joined, "%s%s", real[1] ? real : "", whole + end) < 0)
		abort();
	return joined;
}

/* A link that leads to nothing yet: what is written there comes to lie elsewhere. */
static bool is_loose_link(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

static void note_shown(const struct plan *plan, const struct assessment *assessment,
		       const struct verdict *verdict, void *data)
{
	struct shown *shown = data;
	struct approval_key key;
	enum state worst = STATE_WRITABLE;
	bool said = false, always = false, guarded = false, write;

	(void)assessment;
	shown->kind = verdict->kind;
	shown->waits = verdict->wait_ns > 0;
	shown->safe = verdict->incident;
	shown->critical = verdict->tier && strcmp(verdict->tier, "critical") == 0;
	shown->reason = verdict->reason ? strdup(verdict->reason) : NULL;
	for (size_t i = 0; i < verdict->wanted.count; i++)
		list_add(&shown->wanted, verdict->wanted.items[i]);
	if (shown->call->action == HOOK_SHELL) {
		approval_key_make(shown->request, plan, &key);
		shown->key = strdup(key.exact);
		approval_key_done(&key);
		look_at_plan(plan, &verdict->limits, shown);
		return;
	}
	write = shown->call->action == HOOK_WRITE;
	for (size_t i = 0; i < shown->call->paths.count; i++) {
		_cleanup_free_ char *path =
			real_path(shown->request->cwd, shown->call->paths.items[i]);

		look_at_file(&verdict->permissions, path, write, shown);
		if (shown->state < worst)
			worst = shown->state;
		said |= shown->said && shown->state == STATE_DENIED;
		always |= shown->always && (write || shown->state == STATE_DENIED);
		guarded |= shown->guarded || (write && is_loose_link(path));
	}
	shown->state = worst;
	shown->said = said;
	shown->always = always;
	shown->guarded = guarded;
}

/* A session of the agent's is one of ward's; any text is a name. Caller frees. */
static char *session_name(const struct hook_call *call)
{
	char *name = NULL;

	if (!call->session || !*call->session)
		return NULL;
	if (asprintf(&name, "%s-%s", call->dialect->name, call->session) < 0)
		abort();
	if (!session_is_name(name)) {
		unsigned char hash[16];
		char hex[sizeof(hash) * 2 + 1];

		crypto_generichash(hash, sizeof(hash), (const unsigned char *)call->session,
				   strlen(call->session), NULL, 0);
		sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
		free(name);
		if (asprintf(&name, "%s-%s", call->dialect->name, hex) < 0)
			abort();
	}
	return name;
}

/* The directory of the project: as the agent says it, else the repository that it was started in.
 */
static char *find_root(const struct hook_call *call)
{
	static const char *const variables[] = {"CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR",
						"CURSOR_PROJECT_DIR"};
	char real[PATH_MAX];

	for (size_t i = 0; i < ELEMENTS(variables); i++) {
		const char *value = getenv(variables[i]);

		if (value && value[0] == '/' && realpath(value, real))
			return strdup(real);
	}
	if (call->root && realpath(call->root, real))
		return strdup(real);
	if (!realpath(call->cwd, real))
		return NULL;
	return path_repository(real, getenv("HOME"));
}

/* An agent changes its directory as it likes; what it may write stays what it was at the first call
 * of its session. Caller frees. */
static int find_workspace(const struct hook_call *call, const char *state, const char *session,
			  char **ret_workspace, struct error **ret_error)
{
	_cleanup_free_ char *directory = path_resolve(state, NULL, "agents"), *file = NULL,
			    *found = NULL;
	_cleanup_close_ int fd = -1;
	char *root = NULL;
	size_t length = 0;
	int r = 0;

	if (session) {
		file = path_resolve(directory, NULL, session);
		r = read_file(AT_FDCWD, file, PATH_MAX, &found, &length);
		if (r == 0 && length > 0) {
			*ret_workspace = STEAL(found);
			return 0;
		}
	}
	root = find_root(call);
	if (!root) {
		fail(ret_error, E_INPUT, "the directory %s is not there", call->cwd);
		return -E_INPUT;
	}
	if (session) {
		r = make_directories(directory, 0700);
		fd = r < 0 ? -1
			   : open(file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
				  0600);
		if (fd < 0 || write_all(fd, root, strlen(root)) < 0) {
			free(root);
			return fail_errno(ret_error, E_ENGINE, errno, "writing %s", file);
		}
	}
	*ret_workspace = root;
	return 0;
}

/* The same request as a line for any shell. Caller frees. */
static char *as_line(const char *program, const struct request *request, const char *asked)
{
	_cleanup_list_ struct list words = {0};

	list_add(&words, "-c");
	list_add(&words, request->script);
	return ward_line(program, request, asked, &words);
}

static void say(struct hook_answer *answer, enum hook_word word, const char *format, ...)
	_printf_(3, 4);
static void say(struct hook_answer *answer, enum hook_word word, const char *format, ...)
{
	va_list list;

	answer->word = word;
	va_start(list, format);
	if (vasprintf(&answer->reason, format, list) < 0)
		abort();
	va_end(list);
}

/* In a sandbox of the agent's own none can be built. */
static bool may_rewrite(const struct hook_call *call)
{
	return call->rewrites && !call->sandboxed;
}

static int judge_command(const struct hook_call *call, const char *program, const char *state,
			 const struct request *request, const struct shown *shown,
			 struct hook_answer *answer, struct error **ret_error)
{
	const char *why = shown->reason ? shown->reason : "a rule wants it";
	_cleanup_free_ char *line = as_line(program, request, NULL);
	char id[ID_TEXT];
	int r;

	if (shown->ward.widens) {
		say(answer, HOOK_DENY,
		    "ward is not to be called with more than the policy gives: say what you need, "
		    "and a person is asked");
	} else if ((shown->ward.line && shown->ward.same) ||
		   (shown->directory && strcmp(shown->directory, call->command) == 0)) {
		answer->word = HOOK_ALLOW; /* it is in ward already, or concerns the shell alone */
	} else if ((shown->ward.line || shown->directory) && may_rewrite(call)) {
		answer->word = HOOK_ALLOW;
		answer->command = strdup(shown->ward.line ? shown->ward.line : shown->directory);
	} else if (shown->kind == VERDICT_DENY) {
		say(answer, HOOK_DENY, "refused by ward: %s", why);
	} else if (shown->critical) {
		say(answer, HOOK_DENY, "no agent is given this (tier critical); a person runs it");
	} else if (call->sandboxed) {
		if (shown->kind == VERDICT_ASK)
			say(answer, HOOK_DENY, "this needs a person's yes: %s", why);
		else
			answer->word = HOOK_SILENCE;
	} else if (!call->rewrites) {
		say(answer, hook_is_attended(call) && !shown->routed ? HOOK_ASK : HOOK_DENY,
		    "this would run without a sandbox; run it as: %s",
		    shown->ward.line ? shown->ward.line : line);
	} else if (shown->kind == VERDICT_ALLOW) {
		answer->word = HOOK_ALLOW;
		answer->command = STEAL(line);
	} else if (hook_is_attended(call) && !shown->routed) {
		r = asked_put(state, shown->key, &shown->wanted, call->dialect->name, id,
			      ret_error);
		if (r < 0)
			return r;
		say(answer, HOOK_ASK, "ward asks: %s", why);
		answer->command = as_line(program, request, id);
	} else if (shown->waits || shown->routed) {
		answer->word = HOOK_ALLOW; /* in ward it asks, and waits for the answer */
		answer->command = STEAL(line);
	} else {
		say(answer, HOOK_DENY,
		    "this needs a person's yes, and nobody can be asked here: %s", why);
	}
	return 0;
}

static void judge_files(const struct hook_call *call, const struct shown *shown,
			struct hook_answer *answer)
{
	const char *path = call->paths.items[0];
	bool write = call->action == HOOK_WRITE;
	enum hook_word no = shown->always || shown->said || shown->routed || !hook_is_attended(call)
				    ? HOOK_DENY
				    : HOOK_ASK;

	if (shown->safe)
		no = HOOK_DENY;
	if (shown->state == STATE_DENIED)
		say(answer, no, "%s is masked by ward%s", path,
		    no == HOOK_ASK ? ": may it be opened?"
				   : "; a rule `read` of the policy opens it");
	else if (write && shown->guarded)
		say(answer, no, "%s makes programs run outside the sandbox", path);
	else if (write && shown->state != STATE_WRITABLE && shown->safe)
		say(answer, HOOK_DENY, "%s cannot be written in %s", path, shown->reason);
	else if (write && shown->state != STATE_WRITABLE)
		say(answer, no, "%s lies outside what may be written", path);
	else
		answer->word = HOOK_SILENCE;
}

/* A decision that no run will record. */
static int record(const struct hook_call *call, const char *state, const struct request *request,
		  const struct hook_answer *answer, struct error **ret_error)
{
	static const char *const words[] = {[HOOK_ALLOW] = "allow",
					    [HOOK_ASK] = "ask",
					    [HOOK_DENY] = "deny",
					    [HOOK_SILENCE] = "none"};
	struct audit *audit = NULL;
	json_t *body, *paths = json_array();
	int r;

	for (size_t i = 0; i < call->paths.count; i++)
		json_array_append_new(paths, json_string(call->paths.items[i]));
	body = json_pack("{s:s, s:s?, s:s?, s:s?, s:s?, s:o, s:s, s:s?}", "agent",
			 call->dialect->name, "session", request->session, "tool", call->tool,
			 "call_id", call->call_id, "command", call->command, "paths", paths,
			 "answer", words[answer->word], "reason", answer->reason);
	r = audit_open(state, &audit, ret_error);
	if (r == 0)
		r = audit_append(audit, "hook", NULL, body, ret_error);
	audit_close(audit);
	json_decref(body);
	return r;
}

/* Whoever sits before the agent has proven nothing that a route could go by. */
static void find_route(const struct hook_call *call, const struct request *request,
		       struct shown *shown)
{
	_cleanup_list_ struct list grants = {0};

	for (size_t i = 0; i < shown->wanted.count; i++)
		list_add(&grants, shown->wanted.items[i]);
	for (size_t i = 0; i < call->paths.count; i++) {
		_cleanup_free_ char *path = real_path(request->cwd, call->paths.items[i]);

		list_add_printf(&grants, "%s %s", call->action == HOOK_WRITE ? "write" : "read",
				path);
	}
	if (shown->kind == VERDICT_ASK || call->action != HOOK_SHELL || !call->rewrites)
		shown->routed = flow_is_routed(request, &grants);
}

int hook_judge(const struct hook_call *call, const char *program, struct hook_answer *ret_answer,
	       struct error **ret_error)
{
	_cleanup_request_ struct request request;
	_cleanup_(shown_done) struct shown shown = {
		.call = call, .request = &request, .program = program};
	_cleanup_free_ char *state = NULL;
	char real[PATH_MAX];
	int r;

	*ret_answer = (struct hook_answer){.word = HOOK_SILENCE};
	if (call->action == HOOK_OTHER)
		return 0;
	request_init(&request);
	if (!realpath(call->cwd, real))
		return fail_errno(ret_error, E_INPUT, errno, "the directory %s", call->cwd);
	request.mode = MODE_SHELL;
	request.script = strdup(call->command ? call->command : ":");
	request.cwd = strdup(real);
	request.agent = strdup(call->dialect->name);
	request.session = session_name(call);
	request.tool = call->tool ? strdup(call->tool) : NULL;
	request.call_id = call->call_id ? strdup(call->call_id) : NULL;
	request.turn = call->turn ? strdup(call->turn) : NULL;
	if ((r = state_directory(&state, ret_error)) < 0 ||
	    (r = state_directory_make(state, ret_error)) < 0 ||
	    (r = find_workspace(call, state, request.session, &request.workspace, ret_error)) < 0 ||
	    (r = flow_check(&request, note_shown, &shown, ret_error)) < 0)
		return r;
	find_route(call, &request, &shown);
	if (call->action == HOOK_SHELL)
		r = judge_command(call, program, state, &request, &shown, ret_answer, ret_error);
	else
		judge_files(call, &shown, ret_answer);
	if (r == 0 &&
	    (ret_answer->word == HOOK_DENY || ret_answer->word == HOOK_ASK ||
	     (ret_answer->word == HOOK_ALLOW && (!ret_answer->command || shown.directory))))
		r = record(call, state, &request, ret_answer, ret_error);
	return r;
}
