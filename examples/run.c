/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a command in ward's sandbox. Questions are answered by a rule, else at the terminal.
 *
 *	cc run.c $(pkg-config --cflags --libs ward) -o run
 *	./run [--program WARD] [--write DIRECTORY] COMMAND [ARGUMENT...]
 *
 * --write is the rule: what the command wants to write in that directory it may, once. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <ward/ward.h>

static void show(ward_run *run, int stream, const char *bytes, size_t length, void *data)
{
	(void)run, (void)data;
	fwrite(bytes, 1, length, stream == 1 ? stdout : stderr);
	fflush(stdout);
}

static void tell(ward_run *run, const char *text, void *data)
{
	(void)run, (void)data;
	fprintf(stderr, "ward: %s\n", text);
}

static int answer(ward_run *run, const ward_ask *ask, ward_answer *answer, void *data)
{
	const char *directory = data, *object = ward_ask_get(ask, "object");
	char line[16];

	(void)run;
	if (directory && object && strncmp(object, directory, strlen(directory)) == 0 &&
	    object[strlen(directory)] == '/' && !strstr(object, "/.."))
		return WARD_APPROVE;
	if (isatty(STDIN_FILENO)) {
		fprintf(stderr, "%s\n[y] once  [n] no: ", ward_ask_get(ask, "text"));
		if (fgets(line, sizeof(line), stdin) && strcmp(line, "y\n") == 0)
			return WARD_APPROVE;
	}
	ward_answer_set(answer, "reason", "nobody said yes", NULL);
	return WARD_DENY;
}

static int complain(ward_error *error)
{
	fprintf(stderr, "%s: %s\n", ward_error_kind(error), ward_error_message(error));
	if (ward_error_hint(error))
		fprintf(stderr, "%s\n", ward_error_hint(error));
	ward_error_free(error);
	return 125;
}

int main(int argc, char **argv)
{
	const char *directory = NULL;
	ward_error *error = NULL;
	int first = 1, code;
	ward_run *run;
	ward *handle;

	for (; first + 1 < argc && strncmp(argv[first], "--", 2) == 0; first += 2) {
		if (strcmp(argv[first], "--write") == 0)
			directory = argv[first + 1];
		else if (strcmp(argv[first], "--program") != 0 ||
			 ward_set_program(argv[first + 1], &error) < 0)
			return 2;
	}
	handle = ward_open(NULL, &error);
	if (!handle)
		return complain(error);
	ward_on_output(handle, show);
	ward_on_notice(handle, tell);
	ward_on_ask(handle, answer);
	if (ward_set(handle, "agent", "example", &error) < 0 ||
	    !(run = ward_start(handle, (const char *const *)argv + first, (void *)directory,
			       &error))) {
		ward_close(handle);
		return complain(error);
	}
	ward_wait(run, -1);
	if (ward_run_error(run))
		fprintf(stderr, "%s: %s\n", ward_error_kind(ward_run_error(run)),
			ward_error_message(ward_run_error(run)));
	code = ward_exit_code(run);
	ward_run_free(run);
	ward_close(handle);
	return code < 0 ? 126 : code;
}
