/* SPDX-License-Identifier: Apache-2.0 */
/* Output kept for the result: the head and the tail of it, whatever its length. */
#pragma once

#include "../request/result.h"

struct capture {
	char *head, *tail; /* each of half the limit; the tail is a ring */
	size_t half, head_length;
	uint64_t total, tail_total;
	void (*also)(void *data, const char *bytes,
		     size_t length); /* gets all of it; may be NULL */
	void *also_data;
};

void capture_init(struct capture *capture, uint64_t limit);
void capture_add(struct capture *capture, const char *data, size_t length);
/* All that is kept of it, in pieces; how many bytes are missing between them. */
uint64_t capture_replay(const struct capture *capture,
			void (*take)(void *data, const char *bytes, size_t length), void *data);
/* Head, a line that says how much is missing, and tail. True if something is missing. */
bool capture_take(struct capture *capture, struct output *ret_output);
void capture_done(struct capture *capture);
