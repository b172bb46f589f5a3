/* SPDX-License-Identifier: Apache-2.0 */
/* Head and tail. */
#include "capture.h"
#include "../base/buffer.h"

#include <inttypes.h>
#include <string.h>

void capture_init(struct capture *capture, uint64_t limit)
{
	*capture = (struct capture){.half = (size_t)MAX(MIN(limit, (uint64_t)1 << 32) / 2, 1u)};
}

static void *reserve(void *memory, size_t size)
{
	memory = realloc(memory, size);
	if (!memory)
		abort();
	return memory;
}

void capture_add(struct capture *capture, const char *data, size_t length)
{
	size_t part = MIN(length, capture->half - capture->head_length);

	if (capture->also)
		capture->also(capture->also_data, data, length);
	capture->total += length;
	if (part > 0) {
		/* Doubling: most commands print little. */
		size_t need = capture->head_length + part, room = 4096;

		while (room < need)
			room *= 2;
		if (capture->head_length == 0 ||
		    (capture->head_length - 1) / 4096 != (need - 1) / 4096)
			capture->head = reserve(capture->head, room);
		memcpy(capture->head + capture->head_length, data, part);
		capture->head_length += part;
		data += part;
		length -= part;
	}
	if (length == 0)
		return;
	if (!capture->tail)
		capture->tail = reserve(NULL, capture->half);
	if (length > capture->half) {
		capture->tail_total += length - capture->half;
		data += length - capture->half;
		length = capture->half;
	}
	while (length > 0) {
		size_t at = (size_t)(capture->tail_total % capture->half);

		part = MIN(length, capture->half - at);
		memcpy(capture->tail + at, data, part);
		capture->tail_total += part;
		data += part;
		length -= part;
	}
}

static uint64_t missing_of(const struct capture *capture)
{
	return capture->tail_total - MIN(capture->tail_total, (uint64_t)capture->half);
}

/* The ring, from its oldest byte on. */
static void replay_tail(const struct capture *capture,
			void (*take)(void *data, const char *bytes, size_t length), void *data)
{
	size_t at = missing_of(capture) ? (size_t)(capture->tail_total % capture->half) : 0;

	if (!capture->tail_total)
		return;
	take(data, capture->tail + at,
	     (size_t)MIN(capture->tail_total, (uint64_t)capture->half) - at);
	take(data, capture->tail, at);
}

uint64_t capture_replay(const struct capture *capture,
			void (*take)(void *data, const char *bytes, size_t length), void *data)
{
	if (capture->head_length)
		take(data, capture->head, capture->head_length);
	replay_tail(capture, take, data);
	return missing_of(capture);
}

static void add_piece(void *data, const char *bytes, size_t length)
{
	buffer_add(data, bytes, length);
}

bool capture_take(struct capture *capture, struct output *ret_output)
{
	struct buffer buffer = {0};
	uint64_t missing = missing_of(capture);

	if (capture->total == 0)
		return false;
	buffer_add(&buffer, capture->head, capture->head_length);
	if (missing > 0)
		buffer_printf(&buffer, "\n[... %" PRIu64 " bytes left out ...]\n", missing);
	replay_tail(capture, add_piece, &buffer);
	ret_output->length = buffer.length;
	ret_output->data = buffer_steal(&buffer);
	return missing > 0;
}

void capture_done(struct capture *capture)
{
	free(capture->head);
	free(capture->tail);
	*capture = (struct capture){0};
}
