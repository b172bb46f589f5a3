/* SPDX-License-Identifier: Apache-2.0 */
/* Tiers: what becomes of the gap between what an agent's request needs and what it holds. They bind
 * agents that are named and that the policy puts under `trust`. docs/policy.md has the table. */
#pragma once

#include "../base/list.h"
#include "../request/request.h"
#include "sets.h"
#include <stdint.h>

enum tier {
	TIER_LOW,      /* runs with a temporary grant, and a notice */
	TIER_MEDIUM,   /* a notice, and time to object */
	TIER_HIGH,     /* an explicit yes */
	TIER_CRITICAL, /* refused: a person runs it */
	TIERS,
};
const char *tier_name(enum tier tier);

/* As files say it; patterns of permissions ("connect *.example") as they were written. */
struct tiers {
	struct list agents;	   /* whom they bind: patterns of names */
	struct list says[TIERS];   /* by files whose word counts in full */
	struct list raises[TIERS]; /* by files that can only make it stricter */
	uint64_t objection_ns; /* how long a notice waits for an objection; 0: TIER_OBJECTION_NS */
	struct list never;     /* permissions that are never unlocked, besides the groups */
	unsigned lifted;       /* groups of what is never unlocked that the system lifts, as bits */
	uint64_t answer_ns;    /* how long a question waits for an answer; 0: TIER_ANSWER_NS */
};
#define TIER_OBJECTION_NS (300 * UINT64_C(1000000000))
#define TIER_ANSWER_NS	  (1800 * UINT64_C(1000000000))

/* A group of what is never unlocked, by its name: production, security, secrets, sudo; or -1. */
int never_group(const char *name);
const char *never_group_name(int group); /* NULL behind the last */

void tiers_done(struct tiers *tiers);
bool tiers_bind(const struct tiers *tiers, const struct request *request);
uint64_t tiers_objection(const struct tiers *tiers);
uint64_t tiers_answer(const struct tiers *tiers);

/* The strictest of what is wanted; TIER_HIGH where that is nothing but to run. places: where sets
 * of hosts are looked for, and whose home ~ is. */
enum tier tiers_of(const struct tiers *tiers, const struct list *permissions,
		   const struct sets_places *places);

/* True if no score unlocks it: of a group that the system has not lifted, or called critical by a
 * file. */
bool tiers_never(const struct tiers *tiers, const char *permission,
		 const struct sets_places *places);
/* Whether some of what it wants may be what the pattern of a file admits; and whether all is. */
bool tiers_touch(const char *permission, const char *pattern, const struct sets_places *places);
bool tiers_within(const char *permission, const char *pattern, const struct sets_places *places);

/* The wait for an objection, without a clock of its own. Silence is consent only where somebody has
 * seen the notice; until then it waits as a question does, and is a no at the end. */
struct objection {
	uint64_t begun, seen; /* seen 0: nobody has yet */
	uint64_t window_ns, patience_ns;
};
enum objection_state { OBJECTION_WAIT, OBJECTION_CONSENT, OBJECTION_NOBODY };
enum objection_state objection_look(const struct objection *objection, uint64_t now);
