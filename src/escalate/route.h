/* SPDX-License-Identifier: Apache-2.0 */
/* The route that a question carries (docs/ask.schema.json, "route"): whose turn it is, who may say
 * yes, and what those who have come to together. All of it is a matter of the route, of what was
 * said and of moments: no clock is looked at here, and no file. */
#pragma once

#include "../base/buffer.h"
#include "../base/moment.h"
#include "ask.h"
#include <jansson.h>

json_t *moment_to_json(const struct moment *moment);
void moment_from_json(json_t *object, struct moment *ret_moment);

/* A yes as it is kept: "way", "by", "step", "moment", "answer". */
enum turn_state {
	TURN_OPEN,
	TURN_YES,  /* enough have said it, in every step */
	TURN_OVER, /* the time of a step has passed */
};

struct turn {
	enum turn_state state;
	size_t step;   /* that is open */
	size_t groups; /* of it that may answer by now, from the first on */
	unsigned have, need;
	json_t *counted; /* owned: the yeses that count, in their order */
};
void turn_done(struct turn *turn);
#define _cleanup_turn_ _cleanup_(turn_done)

/* begun: when the question was put. votes: all that were given, in any order. */
void route_turn(json_t *route, const struct moment *begun, json_t *votes, const struct moment *now,
		struct turn *ret_turn);

/* The person who proves himself so, if he may say yes now; NULL: he may not, and *ret_why (may be
 * NULL) says why, in words. */
const char *route_voter(json_t *route, const struct turn *turn, const char *way,
			const char **ret_why);
/* The same in any step, at any time: such a one, and the owner, may say no. */
const char *route_person(json_t *route, const char *way);
bool route_is_owner(json_t *route, const char *way);
bool route_wants_reason(json_t *route, size_t step);
/* The longest that a yes holds, in seconds; 0: as long as it says. */
uint64_t route_grant_seconds(json_t *route);
/* How long all its steps take at most; 0: one has no end of its own. */
uint64_t route_ns(json_t *route);

/* "2 of security (alice, bob, carol), each with a reason, within 10m, then managers (dan), too;
 * then 1 of managers (dan)". */
void route_describe(json_t *route, struct buffer *text);
/* "1 of 2, alice said yes: the window is open; waits for security (bob, carol)". */
void turn_describe(json_t *route, const struct turn *turn, struct buffer *text);
/* The same for programs: step, steps, have, need, may, said, text. */
json_t *turn_to_json(json_t *route, const struct turn *turn);

/* What all of them said yes to: of each grant, scope and time the narrowest. Fails where that is
 * nothing. ask: as JSON. */
int votes_agree(json_t *ask, json_t *votes, struct answer *ret_answer, struct error **ret_error);
