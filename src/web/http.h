/* SPDX-License-Identifier: Apache-2.0 */
/* A request and the reply to it as values: whoever reads them from a connection, and whoever
 * answers, need not know each other. */
#pragma once

#include "../base/error.h"
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { BODY_MOST = 64 << 10, PATH_MOST = 256 };

/* All borrowed; NULL where it was not sent. */
struct web_request {
	const char *method, *path, *query;
	const char *host, *origin, *fetch_site, *content_type, *cookie, *csrf, *agent, *last_event;
	const char *signature, *slack_signature, *slack_time; /* of what comes for webhooks */
	const char *body;
	size_t length;
	bool local; /* it came from this machine, from a process of: */
	uid_t peer;
};

struct web_page;
struct stream;

struct web_reply {
	unsigned status;
	/* One of these. */
	json_t *body;
	const struct web_page *page; /* borrowed */
	struct stream *stream;	     /* to be closed by stream_close() */
	char *cookie;		     /* of Set-Cookie; NULL: none */
	const char *allow;	     /* of 405 */
	unsigned retry_seconds;	     /* of 429; 0: none */
	bool known;		     /* whoever sent it has a session */
};

void reply_done(struct web_reply *reply);
/* Takes ownership of body. */
void reply_json(struct web_reply *reply, unsigned status, json_t *body);
/* {"error": {"message", "hint"}}; hint may be NULL. */
void reply_error(struct web_reply *reply, unsigned status, const char *hint, const char *format,
		 ...) _printf_(4, 5);
/* The same from an error value. */
void reply_failure(struct web_reply *reply, unsigned status, const struct error *error);
