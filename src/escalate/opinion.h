/* SPDX-License-Identifier: Apache-2.0 */
/* What a model says of a question before a person answers it: an opinion beside ward's own facts.
 * It is asked anew for each question, is told the command, the directory and what was refused, and
 * nothing else; its answer is taken only where it is exactly what it was asked for. It can make a
 * risk greater, never less, and it answers nothing. */
#pragma once

#include "../assess/assess.h"
#include "../base/arena.h"
#include "../base/error.h"
#include "../sys/post.h"
#include "ask.h"
#include <jansson.h>

enum {
	OPINION_SUMMARY_MOST = 240, /* characters */
	OPINION_BODY_MOST = 65536,  /* bytes of an answer */
};

struct opinion {
	char *model;   /* owned; whose it is */
	char *fault;   /* owned; why it has none; NULL: it has one */
	char *summary; /* owned */
	const char *category;
	enum risk level;
	enum risk own; /* what ward itself says of the risk: the level counts where it is above */
};

void opinion_done(struct opinion *opinion);
#define _cleanup_opinion_ _cleanup_(opinion_done)

/* The body of the request: secrets in it are masked, and what is long is cut. cwd: NULL where it is
 * not to be sent; so with denial. Caller frees. */
char *opinion_request(const char *model, const struct ask *ask, bool cwd, bool denial);
/* Reads the body of the server's answer. Fails where it is anything else than what was wanted. */
int opinion_read(const char *body, struct opinion *ret_opinion, struct error **ret_error);
/* Waits for the answer and lets others go on meanwhile (as of struct ask; may be NULL). wait_on is
 * called once where it takes a while; may be NULL. */
int opinion_wait(struct post *post, uint64_t timeout_ns, const struct meanwhile *meanwhile,
		 void (*wait_on)(void *data), void *data, struct post_answer *ret_answer,
		 struct error **ret_error);
/* It has one, and that is of a greater risk than ward itself sees. */
bool opinion_raises(const struct opinion *opinion);

json_t *opinion_to_json(const struct opinion *opinion);
/* NULL where it is none. Texts live in the arena. */
const struct opinion *opinion_from_json(struct arena *arena, json_t *object);
