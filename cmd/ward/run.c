/* SPDX-License-Identifier: Apache-2.0 */
/* ward run: one command in the sandbox. */
#include "options.h"
#include "output.h"
#include "verbs.h"
#include "../../src/base/escape.h"
#include "../../src/base/io.h"
#include "../../src/flow.h"
#include "../../src/serve/ticket.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* data: the request, which may want to hear nothing. */
static void say(void *data, const char *text)
{
	const struct request *request = data;
	_cleanup_buffer_ struct buffer line = {0};

	if (request && (request->json || request->quiet))
		return;
	buffer_printf(&line, "ward: %s\n", text);
	(void)write_all(STDERR_FILENO, line.data, line.length);
}

static void say_error(const struct error *error)
{
	_cleanup_buffer_ struct buffer line = {0};

	if (error->file) {
		escape_for_terminal(&line, error->file, strlen(error->file));
		if (error->line)
			buffer_printf(&line, ":%d:%d", error->line, error->column);
		buffer_add_text(&line, ": ");
	}
	escape_for_terminal(&line, error->message, strlen(error->message));
	if (error->hint) {
		buffer_add_text(&line, "\n      ");
		escape_for_terminal(&line, error->hint, strlen(error->hint));
	}
	say(NULL, buffer_text(&line));
}

static int print_json(const struct result *result)
{
	json_t *object = result_to_json(result);
	_cleanup_free_ char *text = json_dumps(object, JSON_COMPACT);
	int r = text ? write_all(STDOUT_FILENO, text, strlen(text)) : -ENOMEM;

	if (r == 0)
		r = write_all(STDOUT_FILENO, "\n", 1);
	json_decref(object);
	return r;
}

/* The command has run all the same. */
static int no_result(int errnum)
{
	_cleanup_buffer_ struct buffer line = {0};

	buffer_printf(&line, "writing the result: %s", strerror(errnum));
	say(NULL, buffer_text(&line));
	return EXIT_WARD;
}

/* Whoever looks at a list of processes must not find it there. */
static void hide_token(int argc, char **argv, const struct request *request)
{
	for (int i = 1; i < argc && request->token && *request->token; i++) {
		char *found = strstr(argv[i], request->token);

		if (found)
			memset(found, 'x', strlen(found));
	}
}

int verb_run(int argc, char **argv)
{
	_cleanup_request_ struct request request;
	_cleanup_result_ struct result result;
	struct error *error = NULL;
	int r;

	request_init(&request);
	result_init(&result);
	r = options_parse(argc, argv, &request, &error);
	hide_token(argc, argv, &request);
	if (r == 1) {
		printf("usage: ward run [OPTION...] -- COMMAND ARGUMENT...\n"
		       "       ward run [OPTION...] -c SCRIPT\n\n"
		       "Runs it at once in the sandbox: it reads everything but secrets, writes "
		       "the workspace and a private\n"
		       "/tmp, and has no network. What was refused is said exactly, with the flag "
		       "that would permit it;\n"
		       "at a terminal a person is asked for it, and the command is run again. What "
		       "is dangerous even in the\n"
		       "sandbox is asked about first; where nobody can be asked it is refused "
		       "(126).\n\n"
		       "%s\nexit codes: the command's own; 128+N for signal N; 124 timed out; 125 "
		       "ward itself failed;\n"
		       "126 refused or not executable; 127 not found; 75 a person answers later: "
		       "ward wait TICKET\n",
		       options_help);
		return output_end("run", 0);
	}
	if (r == 0)
		flow_imply_profile(&request);
	if (r < 0)
		result.error = STEAL(error);
	else
		flow_run(&request,
			 &(struct audience){
				 .say = say, .data = &request, .resumption = &ticket_resumption},
			 &result);
	if (request.json) {
		r = print_json(&result);
		if (r < 0)
			return no_result(-r);
		return result_exit_status(&result);
	}
	/* What the sandbox refused stands among the notices already. */
	if (result.error && result.error->code != E_SANDBOX)
		say_error(result.error);
	return result_exit_status(&result);
}
