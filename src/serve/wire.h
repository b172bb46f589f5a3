/* SPDX-License-Identifier: Apache-2.0 */
/* Two fds that carry one JSON object a line, each way, without ever blocking: for servers that have
 * other things to do. A line that is too long is left out and told of; what cannot be written yet
 * is kept. */
#pragma once

#include "../base/buffer.h"
#include <jansson.h>
#include <stdbool.h>

enum { WIRE_WAITING_MOST = 64 << 20 }; /* bytes that are kept for a reader who does not read */

struct wire {
	int in, out;  /* borrowed */
	size_t most;  /* of a line */
	size_t keeps; /* bytes at most for a reader who does not read; 0: WIRE_WAITING_MOST */
	struct buffer heard, waiting;
	size_t looked;	     /* bytes of heard that hold no end of a line */
	size_t taken;	     /* bytes of heard that were given out */
	bool skipping, over; /* in a line that is too long; no more will come */
	bool broken;	     /* nobody reads any more, or not in time */
};

enum wire_heard { WIRE_NOTHING, WIRE_LINE, WIRE_TOO_LONG };

/* Reads what is there; over is set at the end. */
void wire_read(struct wire *wire);
/* The next line, borrowed until the next wire_read. */
enum wire_heard wire_next(struct wire *wire, const char **ret_line, size_t *ret_length);
/* One whole line, without its end. */
void wire_send_line(struct wire *wire, const char *text, size_t length);
/* Takes the object over. */
void wire_send(struct wire *wire, json_t *object);
/* Bytes as a member of an object: as text (data) where they are UTF-8, else as base64. */
void wire_put_bytes(json_t *object, const char *bytes, size_t length);
/* Writes as much as can be written now. */
void wire_write(struct wire *wire);
static inline bool wire_wants_write(const struct wire *wire)
{
	return wire->waiting.length > 0 && !wire->broken;
}
void wire_done(struct wire *wire);
