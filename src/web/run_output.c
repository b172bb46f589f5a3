/* SPDX-License-Identifier: Apache-2.0 */
#include "run_output.h"
#include "../base/escape.h"
#include "../base/id.h"
#include "../request/text_json.h"
#include "../serve/ticket.h"
#include "stream.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

enum { PIECE_MOST = 16 << 10, LONGEST_CHARACTER = 4 };

struct run_output {
	char *state;
	char run[ID_TEXT];
	char ticket[ID_TEXT]; /* "": it is none */
	int fd;		      /* of one that is followed; -1: it is not */
	uint64_t offsets[3];  /* of each stream of a ticket; of the one file */
	bool ended;
	json_t *exit_code;
};

static void note_ticket(void *data, json_t *status)
{
	struct run_output *output = data;
	const char *run = json_string_value(json_object_get(status, "run"));
	const char *ticket = json_string_value(json_object_get(status, "ticket"));

	if (run && ticket && strcmp(run, output->run) == 0)
		snprintf(output->ticket, sizeof(output->ticket), "%s", ticket);
}

struct run_output *run_output_open(const char *state, const char *run, bool ended,
				   json_t *exit_code)
{
	struct run_output *output = calloc(1, sizeof(*output));
	_cleanup_free_ char *path = NULL;

	if (!output || asprintf(&path, "%s/monitored/%s/output", state, run) < 0)
		abort();
	*output = (struct run_output){.state = strdup(state),
				      .ended = ended,
				      .exit_code = exit_code ? json_incref(exit_code) : NULL};
	snprintf(output->run, sizeof(output->run), "%s", run);
	output->fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (output->fd < 0)
		(void)ticket_list(state, note_ticket, output, NULL);
	return output;
}

/* How much of it is whole characters: what a pipe cuts in two comes together with the next piece.
 */
static size_t whole_characters(const char *data, size_t length, bool last)
{
	for (size_t back = 1; !last && back < LONGEST_CHARACTER && back <= length; back++) {
		unsigned char byte = (unsigned char)data[length - back];
		size_t needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;

		if ((byte & 0xc0) == 0x80)
			continue;
		return needed > back ? length - back : length;
	}
	return length;
}

static void add_piece(struct buffer *out, const char *name, const char *data, size_t length)
{
	json_t *event = json_pack("{s:s}", "stream", name);
	json_t *text = json_stringn(data, length); /* NULL where it is not UTF-8 */
	_cleanup_free_ char *line = NULL;

	if (text) {
		json_put(event, "data", text);
	} else {
		char encoded[PIECE_MOST * 4 / 3 + 8];

		sodium_bin2base64(encoded, sizeof(encoded), (const unsigned char *)data, length,
				  sodium_base64_VARIANT_ORIGINAL);
		json_put(event, "base64", json_string(encoded));
	}
	line = json_dumps(event, JSON_COMPACT);
	json_decref(event);
	if (!line)
		abort();
	stream_format(out, NULL, "output", line);
}

/* One piece of what has come since; false where there is none. */
static bool read_piece(struct run_output *output, struct buffer *out, bool last)
{
	static const struct {
		const char *name;
		enum ticket_stream stream;
	} streams[] = {{"stdout", TICKET_STDOUT}, {"stderr", TICKET_STDERR}};
	char data[PIECE_MOST];

	for (size_t i = 0; i < (output->fd >= 0 ? 1 : ELEMENTS(streams)); i++) {
		size_t length = 0;
		ssize_t got = 0;

		if (output->fd >= 0)
			got = pread(output->fd, data, sizeof(data), (off_t)output->offsets[i]);
		else if (ticket_read_output(output->state, output->ticket, streams[i].stream,
					    output->offsets[i], data, sizeof(data), &length,
					    NULL) == 0)
			got = (ssize_t)length;
		length = got > 0 ? whole_characters(data, (size_t)got, last) : 0;
		if (length == 0)
			continue;
		output->offsets[i] += length;
		add_piece(out, output->fd >= 0 ? "both" : streams[i].name, data, length);
		return true;
	}
	return false;
}

static bool is_over(struct run_output *output)
{
	json_t *status = NULL;

	if (output->ended || !*output->ticket ||
	    ticket_status(output->state, output->ticket, &status, NULL) < 0)
		return output->ended;
	output->ended = ticket_is_over(status);
	if (output->ended && json_is_integer(json_object_get(status, "status")))
		output->exit_code = json_incref(json_object_get(status, "status"));
	json_decref(status);
	return output->ended;
}

static void add_end(struct run_output *output, struct buffer *out)
{
	json_t *event = json_pack("{s:O?}", "exit_code", output->exit_code);
	_cleanup_free_ char *line = NULL;

	if (!json_object_get(event, "exit_code"))
		json_put(event, "exit_code", json_null());
	line = json_dumps(event, JSON_COMPACT);
	json_decref(event);
	if (!line)
		abort();
	stream_format(out, NULL, "end", line);
}

bool run_output_next(struct run_output *output, struct buffer *out)
{
	bool over;

	if (output->fd < 0 && !*output->ticket) {
		stream_format(out, NULL, "unknown",
			      "{\"why\":\"its output goes to whoever started it, and is not kept: "
			      "that of tickets is, and of runs that an answer has followed\"}");
		return false;
	}
	over = is_over(output); /* before the last look, so that nothing comes behind it */
	if (read_piece(output, out, over))
		return true;
	if (over)
		add_end(output, out);
	return !over;
}

bool run_output_note_end(struct run_output *output, const char *run, json_t *exit_code)
{
	if (strcmp(output->run, run) != 0 || output->ended)
		return false;
	/* What a ticket wrote is complete when the ticket says so. */
	if (*output->ticket)
		return true;
	output->ended = true;
	output->exit_code = exit_code ? json_incref(exit_code) : NULL;
	return true;
}

void run_output_close(struct run_output *output)
{
	if (!output)
		return;
	close_fd(&output->fd);
	json_decref(output->exit_code);
	free(output->state);
	free(output);
}
