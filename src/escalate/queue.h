/* SPDX-License-Identifier: Apache-2.0 */
/* Questions that wait where anybody of the same user can answer them: one file each in STATE/asks,
 * held by whoever waits for as long as he waits. An answer is bound to its question by a number
 * that is used once and by a hash of all that it says, so that nothing else can be answered by it.
 */
#pragma once

#include "ask.h"
#include <jansson.h>

struct queue {
	const char *state; /* borrowed; STATE/asks is made where it is not there */
	const char *run;   /* the run that waits */
	uint64_t patience_ns;
};

/* Puts questions there and waits. ANSWER_NOBODY where nobody has answered in time; or, where no
 * time was given, where whoever looked for questions has gone. */
struct approver queue_approver(struct queue *queue);

/* Says that somebody looks for questions from now on, until the fd is closed: then runs without a
 * terminal ask there, without --wait. */
int queue_watch(const char *state, int *ret_fd, struct error **ret_error);

/* A question that stands: id, run, since, until, nonce, hash and the ask itself. show owns nothing;
 * those whose asker is gone are removed. In the order in which they were put. */
int queue_list(const char *state, void (*show)(void *data, json_t *entry), void *data,
	       struct error **ret_error);
/* An id begins with the time, alike for all that is asked about then: whoever withdraws one
 * question and puts another could have the yes to the first. So many characters nobody can make
 * alike. */
enum { QUEUE_ID_LEAST = 14 };
/* The one whose id begins so, with at least so many characters; an error where there is none, or
 * more than one. Caller frees. */
int queue_find(const char *state, const char *id, size_t least, json_t **ret_entry,
	       struct error **ret_error);
/* Fails where the question does not stand any more, somebody has answered, or it is no answer to
 * it. answer: as in docs/ask.schema.json, borrowed. */
int queue_answer(const char *state, json_t *entry, json_t *answer, struct error **ret_error);
