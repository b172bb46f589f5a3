/* SPDX-License-Identifier: Apache-2.0 */
/* ward hook: what a coding agent calls before it uses a tool. Agents let a call go on when their
 * hook fails, but for one exit code: so whatever happens here, it ends in an answer or in that. */
#include "output.h"
#include "verbs.h"
#include "../../src/base/io.h"
#include "../../src/serve/hook_judge.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { BLOCK = 2, SECONDS = 20 };

static void run_out(int signal)
{
	static const char text[] = "ward: there was no time to judge this; refused\n";

	(void)signal;
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(BLOCK);
}

static void crash(int signal)
{
	static const char text[] = "ward: failed while judging this; refused\n";

	(void)signal;
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(BLOCK);
}

static void fail_closed(void)
{
	static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS,	 SIGFPE, SIGILL,
				      SIGSYS,  SIGTERM, SIGHUP,	 SIGINT, SIGQUIT,
				      SIGXCPU, SIGTRAP, SIGUSR1, SIGUSR2};

	signal(SIGALRM, run_out);
	for (size_t i = 0; i < ELEMENTS(signals); i++)
		signal(signals[i], crash);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* the write fails, and that is seen */
	alarm(SECONDS);
}

static int read_input(char **ret_text, size_t *ret_length)
{
	char *text = malloc(HOOK_LIMIT + 1);
	size_t length = 0;
	ssize_t got = 1;

	if (!text)
		return -ENOMEM;
	while (got > 0 && length <= HOOK_LIMIT) {
		got = read(STDIN_FILENO, text + length, HOOK_LIMIT + 1 - length);
		if (got < 0 && errno == EINTR)
			got = 1;
		else if (got > 0)
			length += (size_t)got;
	}
	*ret_text = text;
	*ret_length = length;
	return got < 0 ? -errno : 0;
}

static int print(const char *text)
{
	size_t length = strlen(text);

	return write_all(STDOUT_FILENO, text, length) < 0 || write_all(STDOUT_FILENO, "\n", 1) < 0
		       ? -1
		       : 0;
}

/* In the dialect's own words where it is known, and by the exit code in any case. */
static int refuse(const struct hook_call *call, const struct error *error)
{
	struct hook_answer answer = {.word = HOOK_DENY};
	_cleanup_free_ char *text = NULL, *place = NULL;

	if (asprintf(&place, "%s:%d:%d: ", error->file ? error->file : "", error->line,
		     error->column) < 0 ||
	    asprintf(&answer.reason, "ward could not judge this, so it is refused: %s%s%s%s",
		     error->file ? place : "", error->message, error->hint ? "; " : "",
		     error->hint ? error->hint : "") < 0)
		return BLOCK;
	text = hook_write(call, &answer);
	(void)print(text);
	fprintf(stderr, "%s\n", answer.reason);
	hook_answer_done(&answer);
	return BLOCK;
}

static int help(void)
{
	printf("usage: ward hook\n\n"
	       "Reads one JSON object that a coding agent gives its hooks, and answers as that "
	       "agent expects it.\n"
	       "Knows Claude Code, Codex, Gemini CLI, Cursor, Windsurf, and OpenCode by a "
	       "plugin.\n\n"
	       "A shell command goes on inside `ward run` where the agent takes another command; "
	       "what needs a\n"
	       "person is asked by the agent, or refused. Files are judged by the rules about "
	       "files. On any\n"
	       "failure the call is refused, with exit status 2.\n\n"
	       "`ward init` puts it into the settings of the agents on this machine.\n");
	return output_end("hook", 0);
}

int verb_hook(int argc, char **argv)
{
	_cleanup_(hook_call_done) struct hook_call call = {0};
	_cleanup_(hook_answer_done) struct hook_answer answer = {0};
	_cleanup_error_ struct error *error = NULL;
	_cleanup_free_ char *input = NULL, *text = NULL;
	char program[4096] = "";
	size_t length = 0;
	ssize_t got;

	if (argc > 1 && strcmp(argv[1], "--help") == 0)
		return help();
	fail_closed();
	got = readlink("/proc/self/exe", program, sizeof(program) - 1);
	if (argc > 1)
		fail(&error, E_USAGE, "ward hook takes no words");
	else if (got <= 0 || read_input(&input, &length) < 0)
		fail(&error, E_INPUT, "its input cannot be read");
	else if (hook_read(input, length, &call, &error) == 0)
		(void)hook_judge(&call, program, &answer, &error);
	if (error)
		return refuse(&call, error);
	text = hook_write(&call, &answer);
	if (print(text) < 0)
		return BLOCK;
	/* Where the exit code is the answer, and everywhere else no second one. */
	if (answer.word == HOOK_DENY && !strcmp(call.dialect->name, "windsurf")) {
		fprintf(stderr, "%s\n", answer.reason);
		return BLOCK;
	}
	return 0;
}
