/* SPDX-License-Identifier: Apache-2.0 */
/* What the two sides of the queue share. ID is the question, locked by whoever waits; ID.answer the
 * answer, made by the first who gives one; ID.votes those of several; ID.seen a receipt; ID.wake a
 * pipe that tells of it. All go with the one who waits, or with the next who looks; those of a
 * ticket stay until they are dropped. */
#pragma once

#include "../base/id.h"
#include "queue.h"

enum { ASKS_NAME = ID_TEXT + 16 };

int asks_open(const char *state, bool make, int *ret_fd);
void asks_name(const char *id, const char *part, char name[static ASKS_NAME]);
/* Of all that the question says, and of the number that no other has. Caller frees. */
char *asks_hash(json_t *ask, const char *nonce);
/* Whole or not at all, and nobody sees it before it is locked. */
int asks_put(int directory, const char *id, json_t *entry, int *ret_lock, int *ret_wake);
/* With all that belongs to it. */
void asks_remove(int directory, const char *id);
/* Whoever waits says of an answer, or of a vote for it, that he takes it, before the question goes;
 * and whoever gave it, and has it open, sees whether he did. */
void asks_mark_taken(int directory, const char *name);
bool asks_is_taken(int answer);
/* Whoever waits goes: nobody can answer any more. False: somebody was faster, or it failed. */
bool asks_close(int directory, json_t *entry);
bool asks_is_withdrawn(int directory, const char *id);
/* NULL where it is none, or nothing that can be read. Caller frees. */
json_t *asks_read(int directory, const char *name);
/* Whole when it has its name; the first counts. path: below the directory. ret_fd: the file, or
 * NULL. */
int asks_put_file(int directory, const char *path, json_t *object, int *ret_fd);
int asks_put_part(int directory, const char *id, const char *part, json_t *object);
/* Something lies there as its answer. */
bool asks_has_answer(int directory, json_t *entry);
/* An answer as it lies there: is it to this question and to no other; does it put it off? */
bool asks_is_bound(json_t *object, json_t *entry);
bool asks_defers(json_t *object);
/* queue_alike.c: which of the entries are one question to a person. Each names the others in
 * "also"; all but the first are hidden. */
void alike_mark(json_t *entries);
bool alike_take_hidden(json_t *entry);
bool alike_are(json_t *one, json_t *other);
/* The same answer to those others (ids, or objects with one) that still are alike. */
enum { ALIKE_MOST = 1000 };
void alike_answer(const char *state, json_t *entry, json_t *answer, const struct approver_id *who,
		  json_t *also);
/* queue_seen.c: true where a notice that somebody may object to has come to its end: with consent
 * in *ret_answer, or without one. by: whoever has seen it; to be freed. */
struct objection;
bool asks_take_silence(int directory, json_t *entry, struct objection *objection, char **by,
		       struct answer *ret_answer);

/* queue_vote.c: questions that have a route. NULL: it has none. */
struct turn;
json_t *asks_route(json_t *entry);
int votes_open(int directory, const char *id);
void votes_remove(int directory, const char *id);
void votes_turn(int directory, json_t *entry, struct turn *ret_turn);
/* True where the votes are enough, or the time is over. closed: that was said to everybody. */
bool votes_take(int directory, json_t *entry, const struct vetting *vetting, bool closed,
		struct answer *ret_answer);
int votes_cast(int directory, json_t *entry, json_t *answer, const struct approver_id *who,
	       struct error **ret_error);
/* Whether he may say no. */
int votes_check_no(json_t *entry, const struct approver_id *who, struct error **ret_error);
/* routed.c: true where the one at the terminal has gone, or the terminal. */
bool routed_prompt(struct queue *queue, const struct ask *ask, int directory, json_t *entry,
		   struct answer *ret_answer);
