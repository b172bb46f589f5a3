/* SPDX-License-Identifier: Apache-2.0 */
/* Questions that this server has seen, and what became of them: a page that comes too late is told
 * who was faster. The queue itself forgets a question with its answer. */
#pragma once

#include "../base/id.h"
#include <jansson.h>
#include <stdint.h>
#include <time.h>

enum ask_state { ASK_OPEN, ASK_ANSWERED, ASK_WITHDRAWN };
extern const char *const ask_state_names[];

struct known_ask {
	char id[ID_TEXT];
	char *run;
	enum ask_state state;
	json_t *answered;      /* by, answer, scope, reason, time; NULL: not known */
	uint64_t gone_ns;      /* since when it has not been there; 0: it is, or that was told */
	bool there, asked;     /* for one look: it lies there; somebody has just answered */
	struct timespec voted; /* when its votes have changed last, where it has any */
};

struct known_asks {
	struct known_ask *items; /* in the order in which they were put */
	size_t count, room;
};

/* Borrowed; NULL where nothing is known of it. */
struct known_ask *known_find(struct known_asks *known, const char *id);
/* The one of that run whose answer is not known yet; NULL: none. */
struct known_ask *known_of_run(struct known_asks *known, const char *run);
struct known_ask *known_add(struct known_asks *known, const char *id, const char *run);
/* Takes ownership of answered. */
void known_answer(struct known_ask *ask, json_t *answered);
void known_done(struct known_asks *known);
