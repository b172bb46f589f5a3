/* SPDX-License-Identifier: Apache-2.0 */
/* ward wait: for a command that goes on without its caller; and what else there is to do about one.
 */
#include "output.h"
#include "verbs.h"
#include "../../src/base/escape.h"
#include "../../src/base/io.h"
#include "../../src/base/units.h"
#include "../../src/record/state.h"
#include "../../src/serve/ticket.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
	"usage: ward wait TICKET [OPTION...]\n"
	"       ward wait --list [--json]\n"
	"\n"
	"Waits for a command that was deferred, by the ticket that `ward run` gave (75). Then "
	"prints what it wrote\n"
	"and ends as `ward run` would have. Who leaves before loses nothing: the ticket goes on.\n"
	"\n"
	"  --json         print the result as JSON, as `ward run --json` does\n"
	"  --timeout T    at most so long; still without an end it exits with 75\n"
	"  --cancel       it is not wanted any more; a command that runs is told to end\n"
	"  --retry        start a lost one again, from its beginning: whoever looked after it was\n"
	"                 killed, or the machine, and the command may have done some of its work\n"
	"  --list         the tickets that there are\n"
	"  --help         this text\n";

enum {
	GLANCE_MS = 1000,
	PIECE = 64 << 10,
	EXIT_LATER = 75,
	FORCE_GLANCES = 2, /* between telling it to end, and ending it */
};

struct waiting {
	const char *state;
	char ticket[ID_TEXT];
	bool json;
	uint64_t timeout_ns; /* 0: none */
	uint64_t read[TICKET_STDERR + 1];
};

/* What came since; notices line by line. */
static int pass_on(struct waiting *waiting, enum ticket_stream stream, struct error **ret_error)
{
	_cleanup_buffer_ struct buffer text = {0};
	char data[PIECE];
	size_t length = sizeof(data);
	int r = 0;

	while (r == 0 && length == sizeof(data)) {
		r = ticket_read_output(waiting->state, waiting->ticket, stream,
				       waiting->read[stream], data, sizeof(data), &length,
				       ret_error);
		if (r < 0)
			return r;
		if (stream == TICKET_NOTICES && length) {
			char *last = memrchr(data, '\n', length);

			length = last ? (size_t)(last - data) + 1 : 0;
			for (char *line = data, *end; line < data + length; line = end + 1) {
				end = memchr(line, '\n', (size_t)(data + length - line));
				buffer_add_text(&text, "ward: ");
				escape_for_terminal(&text, line, (size_t)(end - line));
				buffer_add_char(&text, '\n');
			}
		} else {
			buffer_add(&text, data, length);
		}
		waiting->read[stream] += length;
		if (text.length &&
		    write_all(stream == TICKET_STDOUT ? STDOUT_FILENO : STDERR_FILENO, text.data,
			      text.length) < 0)
			return fail_errno(ret_error, E_ENGINE, errno, "printing the output");
		text.length = 0;
	}
	return r;
}

static int pass_all(struct waiting *waiting, struct error **ret_error)
{
	int r = 0;

	for (int stream = TICKET_NOTICES; r == 0 && !waiting->json && stream <= TICKET_STDERR;
	     stream++)
		r = pass_on(waiting, (enum ticket_stream)stream, ret_error);
	return r;
}

static void say_failure(json_t *result)
{
	json_t *error = json_object_get(result, "error");
	const char *kind = text_of(error, "kind"), *message = text_of(error, "message"),
		   *hint = text_of(error, "hint");
	_cleanup_buffer_ struct buffer line = {0};

	/* What the sandbox refused stands among the notices already. */
	if (!message || (kind && strcmp(kind, "sandbox_denied") == 0))
		return;
	buffer_add_text(&line, "ward: ");
	escape_for_terminal(&line, message, strlen(message));
	if (hint) {
		buffer_add_text(&line, "\n      ");
		escape_for_terminal(&line, hint, strlen(hint));
	}
	buffer_add_text(&line, "\n");
	(void)write_all(STDERR_FILENO, line.data, line.length);
}

static int conclude(struct waiting *waiting, json_t *status, struct error **ret_error)
{
	json_t *result = NULL, *code = json_object_get(status, "status");
	int r = pass_all(waiting, ret_error);

	if (r == 0)
		r = ticket_result(waiting->state, waiting->ticket, &result, ret_error);
	if (r < 0)
		return r;
	if (waiting->json)
		output_json(result);
	else
		say_failure(result);
	if (!waiting->json && json_is_true(json_object_get(status, "truncated")))
		fprintf(stderr, "ward: not all of its output was kept\n");
	json_decref(result);
	return json_is_integer(code) ? (int)json_integer_value(code) : EXIT_WARD;
}

/* Until something changes, or it is time to look whether its keeper still lives. */
static void wait_a_moment(int fd, uint64_t deadline)
{
	struct pollfd changes = {.fd = fd, .events = POLLIN};
	uint64_t now = monotonic_ns();
	uint64_t left = deadline ? (deadline - MIN(now, deadline)) / 1000000 + 1 : GLANCE_MS;
	char events[4096];

	if (poll(&changes, 1, (int)MIN(left, (uint64_t)GLANCE_MS)) > 0)
		while (read(fd, events, sizeof(events)) > 0)
			;
}

/* The exit status, or a failure. */
static int await(struct waiting *waiting, struct error **ret_error)
{
	uint64_t deadline = waiting->timeout_ns ? monotonic_ns() + waiting->timeout_ns : 0;
	_cleanup_close_ int changes = -1;
	json_t *status = NULL;
	int r = ticket_watch(waiting->state, waiting->ticket, &changes, ret_error);

	while (r == 0) {
		r = ticket_status(waiting->state, waiting->ticket, &status, ret_error);
		if (r < 0)
			break;
		if (!json_is_true(json_object_get(status, "kept"))) {
			/* It gets another one; or what it has come to is written down. */
			ticket_adopt(waiting->state, NULL);
			json_decref(status);
			r = ticket_status(waiting->state, waiting->ticket, &status, ret_error);
			if (r < 0)
				break;
		}
		if (ticket_is_over(status)) {
			r = conclude(waiting, status, ret_error);
			json_decref(status);
			return r;
		}
		json_decref(status);
		r = pass_all(waiting, ret_error);
		if (r == 0 && deadline && monotonic_ns() >= deadline) {
			fprintf(stderr, "ward: ticket %s goes on; nobody waits for it now\n",
				waiting->ticket);
			return EXIT_LATER;
		}
		wait_a_moment(changes, deadline);
	}
	return r;
}

/* Told, then ended, then ended with its keeper. */
static int cancel(const struct waiting *waiting, struct error **ret_error)
{
	_cleanup_close_ int changes = -1;
	int r = ticket_watch(waiting->state, waiting->ticket, &changes, ret_error);

	for (int force = TICKET_ASK; r == 0 && force <= TICKET_KILL; force++) {
		r = ticket_cancel(waiting->state, waiting->ticket, (enum ticket_force)force,
				  ret_error);
		for (uint64_t end = monotonic_ns() + FORCE_GLANCES * (uint64_t)1000000000;
		     r == 0 && monotonic_ns() < end;) {
			json_t *status = NULL;
			bool over;

			r = ticket_status(waiting->state, waiting->ticket, &status, ret_error);
			over = r == 0 && ticket_is_over(status);
			json_decref(status);
			if (over)
				return 0;
			wait_a_moment(changes, end);
		}
	}
	ticket_adopt(waiting->state, NULL);
	return r;
}

static void show_json(void *data, json_t *status)
{
	(void)data;
	output_json(status);
}

static void show(void *data, json_t *status)
{
	char since[WORDS_TEXT];
	const char *word = text_of(status, "state"), *agent = text_of(status, "agent");

	(*(size_t *)data)++;
	output_time(text_of(status, "since"), "%Y-%m-%d %H:%M:%S", since);
	output_text(COLOUR_BOLD, text_of(status, "ticket"));
	printf("  %-9s  %s  ", word, since);
	output_text(COLOUR_NONE, text_of(status, "command"));
	if (agent) {
		printf("  ");
		output_text(COLOUR_NONE, agent);
	}
	putchar('\n');
}

static int list(const char *state, bool json)
{
	_cleanup_error_ struct error *error = NULL;
	size_t count = 0;

	output_begin();
	ticket_adopt(state, NULL);
	ticket_sweep(state);
	if (ticket_list(state, json ? show_json : show, &count, &error) < 0)
		return output_error("wait", error);
	if (!json && !count)
		printf("there are no tickets\n");
	return output_end("wait", 0);
}

enum act { ACT_WAIT, ACT_LIST, ACT_CANCEL, ACT_RETRY };

static int carry_out(struct waiting *waiting, enum act act, struct error **ret_error)
{
	int r = 0;

	if (act == ACT_CANCEL)
		r = cancel(waiting, ret_error);
	if (act == ACT_RETRY)
		r = ticket_retry(waiting->state, waiting->ticket, NULL, ret_error);
	if (act != ACT_WAIT || r < 0)
		return r;
	return await(waiting, ret_error);
}

int verb_wait(int argc, char **argv)
{
	static const struct {
		const char *flag;
		enum act act;
	} acts[] = {{"--list", ACT_LIST}, {"--cancel", ACT_CANCEL}, {"--retry", ACT_RETRY}};
	_cleanup_error_ struct error *error = NULL;
	_cleanup_free_ char *state = NULL;
	struct waiting waiting = {0};
	const char *ticket = NULL;
	enum act act = ACT_WAIT;
	int r;

	for (int i = 1; i < argc; i++) {
		bool known = false;

		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			printf("%s", help);
			return output_end("wait", 0);
		}
		for (size_t a = 0; a < ELEMENTS(acts); a++)
			if (strcmp(argv[i], acts[a].flag) == 0 && act == ACT_WAIT) {
				act = acts[a].act;
				known = true;
			}
		if (known)
			continue;
		if (strcmp(argv[i], "--json") == 0)
			waiting.json = true;
		else if (strcmp(argv[i], "--timeout") == 0 && argv[i + 1] &&
			 parse_duration(argv[i + 1], &waiting.timeout_ns, NULL) == 0)
			i++;
		else if (argv[i][0] != '-' && !ticket)
			ticket = argv[i];
		else
			return output_usage("wait", "'%s' is no option, or its value none",
					    argv[i]);
	}
	if ((act == ACT_LIST) == (ticket != NULL))
		return output_usage("wait", "it needs a TICKET, or --list");
	r = state_directory(&state, &error);
	if (r < 0)
		return output_error("wait", error);
	if (act == ACT_LIST)
		return list(state, waiting.json);
	waiting.state = state;
	r = ticket_find(state, ticket, waiting.ticket, &error);
	if (r == 0)
		r = carry_out(&waiting, act, &error);
	if (r < 0)
		return output_error("wait", error);
	if (fflush(stdout) != 0)
		return EXIT_WARD;
	return r;
}
