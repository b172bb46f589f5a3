/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of ward-post share. */
#pragma once

#include "../../src/base/buffer.h"

#include <curl/curl.h>
#include <jansson.h>
#include <stdbool.h>

/* Borrowed from the object that it was read from, but for the list. */
struct order {
	const char *url, *method, *body, *proxy, *ca_file; /* body: NULL for none */
	size_t body_length;
	struct curl_slist *headers; /* as long as the program runs */
	unsigned timeout_ms;
	size_t max_bytes;
	bool encrypted, loopback_only;
};

struct reply {
	long status;
	curl_off_t retry_after;
	struct buffer body;
	size_t most;
	bool truncated, timed_out;
};

/* order.c: NULL where there is no such thing. */
json_t *order_read(int fd);
/* NULL, or what is wrong with it. */
const char *order_check(const json_t *object, struct order *ret_order);
/* send.c: the same. */
const char *order_send(const struct order *order, struct reply *ret_reply);
