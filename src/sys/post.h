/* SPDX-License-Identifier: Apache-2.0 */
/* One exchange over HTTP, made by the program ward-post beside ward (cmd/ward-post), which has the
 * libraries for it. post_send waits for the answer; who must serve others meanwhile begins with
 * post_start, looks at post_fd, and takes the answer with post_take.
 *
 * https is always verified, http goes to the loopback only, nothing is redirected, and neither
 * proxies nor credentials come from the environment or from files. What is sent, and so every
 * secret in it, goes over in memory that has no name: nothing of it is ever among arguments. */
#pragma once

#include "../base/error.h"
#include <stdbool.h>
#include <stdint.h>

enum {
	POST_TIME_MOST_MS = 60000,
	POST_BODY_MOST = 8 << 20, /* that is sent, and that is taken */
};

struct post_header {
	const char *name, *value;
};

/* Borrowed, all of it. */
struct post_request {
	const char *url;
	const char *method; /* NULL: POST */
	const struct post_header *headers;
	size_t header_count;
	const char *body;    /* UTF-8; NULL: none */
	unsigned timeout_ms; /* for all of it */
	size_t max_bytes;    /* of the answer's body; the rest is left */
	const char *proxy;   /* URL of one; NULL: none */
	const char *ca_file; /* certificates to verify with; NULL: the system's */
	bool insecure_http;  /* http to elsewhere than the loopback */
};

struct post_answer {
	int status;
	char *body;	      /* owned; UTF-8, with U+FFFD for what is not */
	bool truncated;	      /* there was more of it */
	unsigned retry_after; /* seconds, where the server names them */
};

struct post;

/* Starts it. ret_post: owned by the caller. */
int post_start(const struct post_request *request, struct post **ret_post,
	       struct error **ret_error);
/* Readable when post_take may have something. */
int post_fd(const struct post *post);
/* So long at most until post_take is to be called in any case. */
int post_milliseconds(const struct post *post);
/* Never blocks. 1: not yet; 0: there is the answer; else an error: E_TIMEOUT where time ran out. */
int post_take(struct post *post, struct post_answer *ret_answer, struct error **ret_error);
/* Ends what is still under way. */
void post_free(struct post *post);

static inline void post_freep(struct post **post)
{
	post_free(*post);
}
#define _cleanup_post_ _cleanup_(post_freep)

/* All of it, waiting. */
int post_send(const struct post_request *request, struct post_answer *ret_answer,
	      struct error **ret_error);
void post_answer_done(struct post_answer *answer);
#define _cleanup_post_answer_ _cleanup_(post_answer_done)
