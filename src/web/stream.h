/* SPDX-License-Identifier: Apache-2.0 */
/* Server-sent events: what has happened is kept for a while under numbers that rise, so that a page
 * that was away can go on where it was. A stream has what its page has not taken yet; it never
 * holds more than one event and one piece of output of its own. */
#pragma once

#include "../base/buffer.h"
#include "../base/id.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { HUB_EVENTS = 1024, STREAMS_EACH = 12, STREAMS_MOST = 128, HEARTBEAT_SECONDS = 15 };

struct run_output;

struct stream {
	struct hub *hub;
	struct stream *next;
	char session[ID_TEXT];
	uint64_t at;		   /* the next event that it wants */
	struct run_output *output; /* of a run; NULL: it tells of events */
	struct buffer out;
	size_t sent;
	uint64_t fed_ns;
	bool ended;
	void (*wake)(void *owner); /* there is more to read */
	void *owner;
};

struct hub {
	struct {
		char *name, *data;
	} events[HUB_EVENTS];
	uint64_t next;	    /* the number of the next event; the first is 1 */
	char boot[ID_TEXT]; /* numbers of another server mean nothing */
	struct stream *streams;
};

void hub_init(struct hub *hub);
void hub_done(struct hub *hub);
/* Takes ownership of data. */
void hub_tell(struct hub *hub, const char *name, json_t *data);
/* Heartbeats, and output that has come; now and then. */
void hub_tick(struct hub *hub, uint64_t now_ns);
/* True as long as somebody follows the output of a run. */
bool hub_follows_output(const struct hub *hub);
/* The run has ended, so the streams of its output come to their end. */
void hub_run_ended(struct hub *hub, const char *run, json_t *exit_code);
/* The session was ended: so are its streams. */
void hub_end_session(struct hub *hub, const char *session);

/* last: what the page has had last ("BOOT.NUMBER"), or NULL. output: of a run, which is then the
 * stream's; NULL: events. NULL where the session, or all of them together, have too many. */
struct stream *stream_open(struct hub *hub, const char *session, const char *last,
			   struct run_output *output);
/* How many bytes there were: 0: none now; -1: it is over. */
ssize_t stream_read(struct stream *stream, char *data, size_t room);
/* Nobody reads it any more. */
void stream_end(struct stream *stream);
void stream_close(struct stream *stream);
/* One event as it is sent; id may be NULL. */
void stream_format(struct buffer *buffer, const char *id, const char *name, const char *data);
