/* SPDX-License-Identifier: Apache-2.0 */
/* What is known around a question, so that nobody has to dig before he answers: what will happen,
 * what can go wrong, who is touched by it, the way back, and what became of the like before. Facts
 * come from the assessment, the file system and the record; what is not known is said to be so. */
#pragma once

#include "../base/arena.h"
#include "../base/list.h"
#include "../parse/plan.h"
#include <jansson.h>
#include <stdint.h>

enum { SIMILAR_MOST = 5 };

enum known { KNOWN_NOT, KNOWN_YES, KNOWN_NO };

/* A run that was like it. */
struct past {
	char *description, *outcome, *date; /* owned; the command, how it ended, when */
};

struct background {
	char *summary; /* owned; the operation in a few words */
	struct list effects, failures, systems, users;
	enum known can_roll_back;
	const char *rollback_time; /* "none needed", "seconds", "unknown" */
	struct list rollback_steps;
	struct past similar[SIMILAR_MOST];
	size_t similar_count;
	uint64_t ran, succeeded; /* of the latest runs like it; 0: there were none */
	char *history_gap;	 /* owned; why not all of the history counts; NULL: all does */
};

struct ask;

#define _cleanup_background_ _cleanup_(background_done)
/* All but the history. Looks at files that a yes would open, within bounds. plan may be NULL. */
void background_make(const struct ask *ask, const struct plan *plan,
		     struct background *ret_background);
void background_done(struct background *background);
/* "7 of 9 like it went well; last on 2026-11-02: exit 1"; NULL where there were none. Caller
 * frees. */
char *background_past(const struct background *background);

/* Puts its members into the object of a question, and reads them from one; those live in the arena.
 */
void background_to_json(const struct background *background, json_t *object);
const struct background *background_from_json(struct arena *arena, json_t *object);
