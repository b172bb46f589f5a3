/* SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"
#include "../base/macro.h"
#include "../request/text_json.h"

#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 64 << 10 };

static void drop_taken(struct wire *wire)
{
	struct buffer *heard = &wire->heard;

	if (!wire->taken)
		return;
	memmove(heard->data, heard->data + wire->taken, heard->length - wire->taken);
	heard->length -= wire->taken;
	wire->looked -= MIN(wire->looked, wire->taken);
	wire->taken = 0;
}

void wire_read(struct wire *wire)
{
	struct pollfd there = {.fd = wire->in, .events = POLLIN};
	char data[PIECE];
	ssize_t got;

	drop_taken(wire);
	if (wire->over || poll(&there, 1, 0) <= 0)
		return;
	got = read(wire->in, data, sizeof(data));
	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (got <= 0) {
		wire->over = true;
		if (wire->heard.length && !wire->skipping) /* the last line may have no end */
			buffer_add(&wire->heard, "\n", 1);
		return;
	}
	buffer_add(&wire->heard, data, (size_t)got);
}

enum wire_heard wire_next(struct wire *wire, const char **ret_line, size_t *ret_length)
{
	for (;;) {
		size_t from = MAX(wire->looked, wire->taken), rest = wire->heard.length - from;
		char *begin = wire->heard.data + wire->taken;
		char *end = rest ? memchr(wire->heard.data + from, '\n', rest) : NULL;
		size_t length = end ? (size_t)(end - begin) : wire->heard.length - wire->taken;
		bool skipped = wire->skipping;

		if (!end && length <= wire->most && !skipped) {
			wire->looked = wire->heard.length;
			return WIRE_NOTHING;
		}
		/* All of it, or what came so far of a line that is not read. */
		wire->taken += length + (end != NULL);
		wire->looked = wire->taken;
		wire->skipping = !end;
		if (!skipped && length > wire->most)
			return WIRE_TOO_LONG;
		if (!end)
			return WIRE_NOTHING;
		if (skipped || length == 0)
			continue;
		*ret_line = begin;
		*ret_length = length;
		return WIRE_LINE;
	}
}

void wire_put_bytes(json_t *object, const char *bytes, size_t length)
{
	json_t *text = json_stringn(bytes, length);

	if (text) {
		json_put(object, "data", text);
	} else {
		size_t room = sodium_base64_encoded_len(length, sodium_base64_VARIANT_ORIGINAL);
		_cleanup_free_ char *encoded = malloc(room);

		if (!encoded)
			abort();
		sodium_bin2base64(encoded, room, (const unsigned char *)bytes, length,
				  sodium_base64_VARIANT_ORIGINAL);
		json_put(object, "base64", json_string(encoded));
	}
}

void wire_write(struct wire *wire)
{
	struct pollfd there = {.fd = wire->out, .events = POLLOUT};
	size_t done = 0;

	/* At most what a pipe takes at once without waiting. */
	while (done < wire->waiting.length && !wire->broken && poll(&there, 1, 0) > 0) {
		ssize_t put = write(wire->out, wire->waiting.data + done,
				    MIN(wire->waiting.length - done, (size_t)4096));

		if (put < 0 && errno != EINTR && errno != EAGAIN)
			wire->broken = true;
		done += (size_t)MAX(put, 0);
	}
	if (done)
		memmove(wire->waiting.data, wire->waiting.data + done, wire->waiting.length - done);
	wire->waiting.length -= done;
}

void wire_send_line(struct wire *wire, const char *text, size_t length)
{
	if (!wire->broken) {
		buffer_add(&wire->waiting, text, length);
		buffer_add(&wire->waiting, "\n", 1);
	}
	wire_write(wire);
	if (wire->waiting.length > (wire->keeps ? wire->keeps : (size_t)WIRE_WAITING_MOST))
		wire->broken = true;
}

void wire_send(struct wire *wire, json_t *object)
{
	_cleanup_free_ char *text = json_dumps(object, JSON_COMPACT);

	if (!text)
		abort();
	json_decref(object);
	wire_send_line(wire, text, strlen(text));
}

void wire_done(struct wire *wire)
{
	buffer_done(&wire->heard);
	buffer_done(&wire->waiting);
}
