/* SPDX-License-Identifier: Apache-2.0 */
#include "known.h"

#include <stdio.h>
#include <string.h>

enum { CLOSED_MOST = 2000, FORGOTTEN_AT_ONCE = 500 };

const char *const ask_state_names[] = {
	[ASK_OPEN] = "open", [ASK_ANSWERED] = "answered", [ASK_WITHDRAWN] = "withdrawn"};

struct known_ask *known_find(struct known_asks *known, const char *id)
{
	for (size_t i = known->count; i > 0; i--)
		if (strcmp(known->items[i - 1].id, id) == 0)
			return &known->items[i - 1];
	return NULL;
}

struct known_ask *known_of_run(struct known_asks *known, const char *run)
{
	for (size_t i = known->count; i > 0; i--) {
		struct known_ask *ask = &known->items[i - 1];

		if (ask->run && strcmp(ask->run, run) == 0 && !ask->answered)
			return ask;
	}
	return NULL;
}

static void ask_done(struct known_ask *ask)
{
	free(ask->run);
	json_decref(ask->answered);
}

/* The oldest of those that are over. */
static void forget_some(struct known_asks *known)
{
	size_t closed = 0, kept = 0, forgotten = 0;

	for (size_t i = 0; i < known->count; i++)
		closed += known->items[i].state != ASK_OPEN;
	if (closed <= CLOSED_MOST)
		return;
	for (size_t i = 0; i < known->count; i++) {
		if (known->items[i].state != ASK_OPEN && forgotten < FORGOTTEN_AT_ONCE) {
			ask_done(&known->items[i]);
			forgotten++;
		} else {
			known->items[kept++] = known->items[i];
		}
	}
	known->count = kept;
}

struct known_ask *known_add(struct known_asks *known, const char *id, const char *run)
{
	struct known_ask *ask;

	forget_some(known);
	if (known->count == known->room) {
		known->room = known->room ? known->room * 2 : 64;
		known->items = reallocarray(known->items, known->room, sizeof(*known->items));
		if (!known->items)
			abort();
	}
	ask = &known->items[known->count++];
	*ask = (struct known_ask){.run = run ? strdup(run) : NULL, .there = true};
	snprintf(ask->id, sizeof(ask->id), "%s", id);
	return ask;
}

void known_answer(struct known_ask *ask, json_t *answered)
{
	json_decref(ask->answered);
	ask->answered = answered;
	ask->state = ASK_ANSWERED;
}

void known_done(struct known_asks *known)
{
	for (size_t i = 0; i < known->count; i++)
		ask_done(&known->items[i]);
	free(known->items);
	*known = (struct known_asks){0};
}
