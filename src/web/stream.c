/* SPDX-License-Identifier: Apache-2.0 */
#include "stream.h"
#include "../base/units.h"
#include "run_output.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void hub_init(struct hub *hub)
{
	*hub = (struct hub){.next = 1};
	id_make(hub->boot);
}

void hub_done(struct hub *hub)
{
	while (hub->streams)
		stream_close(hub->streams);
	for (size_t i = 0; i < HUB_EVENTS; i++) {
		free(hub->events[i].name);
		free(hub->events[i].data);
	}
}

static void wake(struct stream *stream)
{
	if (stream->wake)
		stream->wake(stream->owner);
}

void hub_tell(struct hub *hub, const char *name, json_t *data)
{
	size_t slot = hub->next % HUB_EVENTS;

	free(hub->events[slot].name);
	free(hub->events[slot].data);
	hub->events[slot].name = strdup(name);
	hub->events[slot].data = json_dumps(data, JSON_COMPACT);
	json_decref(data);
	if (!hub->events[slot].name || !hub->events[slot].data)
		abort();
	hub->next++;
	for (struct stream *stream = hub->streams; stream; stream = stream->next)
		if (!stream->output)
			wake(stream);
}

void hub_tick(struct hub *hub, uint64_t now_ns)
{
	for (struct stream *stream = hub->streams; stream; stream = stream->next) {
		bool silent =
			now_ns > stream->fed_ns + HEARTBEAT_SECONDS * (uint64_t)1000 * 1000 * 1000;

		/* A page that has gone is noticed when something is sent to it. */
		if (silent && stream->out.length == stream->sent) {
			buffer_add_text(&stream->out, ": still here\n\n");
			stream->fed_ns = now_ns;
		}
		if (silent || stream->output)
			wake(stream);
	}
}

bool hub_follows_output(const struct hub *hub)
{
	for (struct stream *stream = hub->streams; stream; stream = stream->next)
		if (stream->output)
			return true;
	return false;
}

void hub_run_ended(struct hub *hub, const char *run, json_t *exit_code)
{
	for (struct stream *stream = hub->streams; stream; stream = stream->next)
		if (stream->output && run_output_note_end(stream->output, run, exit_code))
			wake(stream);
}

void hub_end_session(struct hub *hub, const char *session)
{
	for (struct stream *stream = hub->streams; stream; stream = stream->next) {
		if (strcmp(stream->session, session) != 0 || stream->ended)
			continue;
		stream_format(&stream->out, NULL, "session", "{\"state\":\"ended\"}");
		stream->ended = true;
		wake(stream);
	}
}

void stream_format(struct buffer *buffer, const char *id, const char *name, const char *data)
{
	if (id)
		buffer_printf(buffer, "id: %s\n", id);
	/* JSON has no line ends in it. */
	buffer_printf(buffer, "event: %s\ndata: %s\n\n", name, data);
}

/* The number in "BOOT.NUMBER", if it is of this server and still to be had. */
static bool can_resume(const struct hub *hub, const char *last, uint64_t *ret_at)
{
	size_t length = strlen(hub->boot);
	uint64_t number;

	if (strncmp(last, hub->boot, length) != 0 || last[length] != '.' ||
	    strlen(last + length + 1) > 18 || last[length + 1] == '\0' ||
	    strspn(last + length + 1, "0123456789") != strlen(last + length + 1))
		return false;
	number = strtoull(last + length + 1, NULL, 10);
	*ret_at = number + 1;
	return number < hub->next && hub->next - number <= HUB_EVENTS;
}

static void event_id(const struct hub *hub, uint64_t number, char id[static ID_TEXT + 24])
{
	snprintf(id, ID_TEXT + 24, "%s.%" PRIu64, hub->boot, number);
}

/* From now on: what the page has not had by its number it must load anew. */
static void begin(struct stream *stream, const char *last)
{
	char id[ID_TEXT + 24];

	buffer_add_text(&stream->out, "retry: 2000\n");
	if (last && can_resume(stream->hub, last, &stream->at)) {
		buffer_add_char(&stream->out, '\n');
		return;
	}
	stream->at = stream->hub->next;
	event_id(stream->hub, stream->at - 1, id);
	if (last)
		stream_format(&stream->out, id, "resync", "{}");
	else
		buffer_printf(&stream->out, "id: %s\n\n", id);
}

struct stream *stream_open(struct hub *hub, const char *session, const char *last,
			   struct run_output *output)
{
	size_t mine = 0, all = 0;
	struct stream *stream;

	for (stream = hub->streams; stream; stream = stream->next, all++)
		mine += strcmp(stream->session, session) == 0;
	if (mine >= STREAMS_EACH || all >= STREAMS_MOST)
		return NULL;
	stream = calloc(1, sizeof(*stream));
	if (!stream)
		abort();
	*stream = (struct stream){
		.hub = hub, .next = hub->streams, .output = output, .fed_ns = monotonic_ns()};
	snprintf(stream->session, sizeof(stream->session), "%s", session);
	hub->streams = stream;
	if (!output)
		begin(stream, last);
	return stream;
}

static void take_event(struct stream *stream)
{
	struct hub *hub = stream->hub;
	char id[ID_TEXT + 24];

	if (stream->at >= hub->next)
		return;
	if (hub->next - stream->at > HUB_EVENTS) { /* it was too slow */
		stream->at = hub->next;
		event_id(hub, stream->at - 1, id);
		stream_format(&stream->out, id, "resync", "{}");
		return;
	}
	event_id(hub, stream->at, id);
	stream_format(&stream->out, id, hub->events[stream->at % HUB_EVENTS].name,
		      hub->events[stream->at % HUB_EVENTS].data);
	stream->at++;
}

ssize_t stream_read(struct stream *stream, char *data, size_t room)
{
	size_t count;

	if (stream->sent == stream->out.length) {
		buffer_done(&stream->out);
		stream->sent = 0;
		if (!stream->ended && stream->output)
			stream->ended = !run_output_next(stream->output, &stream->out);
		else if (!stream->ended)
			take_event(stream);
	}
	count = MIN(room, stream->out.length - stream->sent);
	if (count == 0)
		return stream->ended ? -1 : 0;
	memcpy(data, stream->out.data + stream->sent, count);
	stream->sent += count;
	stream->fed_ns = monotonic_ns();
	return (ssize_t)count;
}

void stream_end(struct stream *stream)
{
	stream->ended = true;
	stream->sent = stream->out.length;
}

void stream_close(struct stream *stream)
{
	if (!stream)
		return;
	for (struct stream **at = &stream->hub->streams; *at; at = &(*at)->next)
		if (*at == stream) {
			*at = stream->next;
			break;
		}
	run_output_close(stream->output);
	buffer_done(&stream->out);
	free(stream);
}
