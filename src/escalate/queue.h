/* SPDX-License-Identifier: Apache-2.0 */
/* Questions that wait where anybody of the same user can answer them: one file each in STATE/asks,
 * held by whoever waits for as long as he waits. An answer is bound to its question by a number
 * that is used once and by a hash of all that it says, so that nothing else can be answered by it.
 */
#pragma once

#include "approver.h"
#include "ask.h"
#include <jansson.h>

struct request;

struct queue {
	const char *state; /* borrowed; STATE/asks is made where it is not there */
	const char *run;   /* the run that waits */
	/* What it carries out; NULL: its questions are like no other's. Borrowed. */
	const struct request *request;
	uint64_t patience_ns;
	uint64_t age_ns; /* that of its patience is gone already */
	/* Of a ticket, else NULL: its name, and the id of its first question. That one outlives
	 * whoever waits, answer and all, until queue_drop; it is asked once, whoever takes over. */
	const char *ticket, *id;
	bool asked;    /* that first question */
	bool terminal; /* who sits at ours is asked as well, where it is his to answer */
	char *told;    /* owned: what was said to him last */
	/* A question that is answered later, until it is released. */
	int held;
	char *held_id;
};

/* Puts questions there and waits. ANSWER_NOBODY where nobody has answered in time; or, where no
 * time was given, in half an hour, or where whoever looked for questions has gone. */
struct approver queue_approver(struct queue *queue);

/* Says that somebody looks for questions from now on, until the fd is closed: then runs without a
 * terminal ask there, without --wait. */
int queue_watch(const char *state, int *ret_fd, struct error **ret_error);

/* The question that was deferred, if there is one: it stands, because somebody has taken it over,
 * or goes. */
void queue_release(struct queue *queue, bool stands);
/* A question that stands is the ticket's from now on, and waits so long. Nothing where it does not
 * stand: the keeper of the ticket puts it there. */
void queue_hand_over(const char *state, const char *id, const char *ticket, uint64_t patience_ns);
/* Removes what is left of a question, whoever waits for it. */
void queue_drop(const char *state, const char *id);

/* A question that stands: id, run, since, until, nonce, hash and the ask itself; of one that has a
 * route how far it has come, as "progress". show owns nothing; those whose asker is gone are
 * removed. In the order in which they were put. Those that are alike but for the call are one: the
 * first, with the id, run and since of the others in "also". */
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
/* Somebody was shown it: from now on silence counts, where it counts at all. by: who. Only for what
 * a person really sees. */
int queue_note_seen(const char *state, json_t *entry, const char *by, struct error **ret_error);
/* The one with that whole id, without a look at any other. Caller frees. */
int queue_get(const char *state, const char *id, json_t **ret_entry, struct error **ret_error);
/* Fails where the question does not stand any more, somebody has answered, it is no answer to it,
 * or it is not for him to give. answer: as in docs/ask.schema.json, borrowed; its `by` is made from
 * who. A yes to a question that more must answer is kept, and counts when they have. It goes to the
 * question and to those that its entry, or "also" in the answer (a list of ids), names beside it,
 * as far as they stand and are alike; to no others. A rule for good is written for the first, and
 * the others have the answer once. */
int queue_answer(const char *state, json_t *entry, json_t *answer, const struct approver_id *who,
		 struct error **ret_error);
/* How far it has come since; NULL: it has no route, or stands no longer. Caller frees. */
json_t *queue_progress(const char *state, json_t *entry);
/* Whether that one may say yes to it now; always, where it has no route. */
bool queue_may_approve(const char *state, json_t *entry, const struct approver_id *who);
/* The same question, however far it has come, and whatever is alike. */
bool queue_is_same(json_t *one, json_t *other);
