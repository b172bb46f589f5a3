/* SPDX-License-Identifier: Apache-2.0 */
/* Routes: who answers which questions. A file names people, groups of them and routes; the routes
 * that mean a question are joined into one, which the question carries with it. docs/policy.md has
 * the meaning. */
#pragma once

#include "condition.h"
#include <jansson.h>
#include <stdint.h>

enum { STEPS_MOST = 8, NEED_MOST = 100 };

/* A name of the writer's choice, and what it stands for. */
struct named {
	char *name;
	struct list items;
	int line;
	bool trusted; /* whoever names it can be believed */
};

struct names {
	struct named *items;
	size_t count;
};

struct route_step {
	struct list from;   /* groups */
	unsigned need;	    /* so many of them */
	bool reason;	    /* each says why */
	uint64_t within_ns; /* 0: as long as the question stands */
	struct list then;   /* groups that may answer, too, each after so much more time */
};

enum own { OWN_UNSAID, OWN_COUNTS, OWN_NOT };

struct route_rule {
	char *name;		    /* may be NULL */
	struct condition *when;	    /* may be NULL: always */
	struct list paths, targets; /* patterns of paths, names of environments; empty: any */
	struct route_step *steps;
	size_t step_count;
	enum own own;
	uint64_t for_ns; /* the longest that a yes holds; 0: as long as it says */
	char *file;
	int line;
	bool trusted;
};

/* What one file says, or all of them together. Members of groups in a policy are "PERSON=AS,AS",
 * where AS is a way in which he proves who he is: user:LOGIN, web:NAME, hook:CHANNEL/ID. */
struct routing {
	struct names groups, people, owners, environments;
	struct route_rule *rules;
	size_t rule_count;
};

void routing_done(struct routing *routing);
/* A way to prove who one is, or a name that several may prove. */
bool routing_is_member(const char *text);

struct policy;
struct layer;
/* The layer's, behind those that are there; what an earlier file has named stays as it is. */
void merge_routing(struct policy *policy, struct layer *layer, const char *remedy);
/* Steps that can never be answered, as the groups are. */
void lint_routing(struct policy *policy);

/* What a question is about, besides its circumstances. Borrowed. */
struct route_subject {
	const struct circumstances *circumstances;
	/* The same with a greater risk, or NULL: a route that holds in either holds. */
	const struct circumstances *raised;
	const struct plan *plan;
	const struct list *grants; /* what a yes would give */
	const char *cwd;
	const char *login; /* who started it, and owns what it asks */
};

/* The routes that mean it, joined, as docs/ask.schema.json has it; NULL: none does, and whoever
 * reaches the question answers it. What is not known speaks for a route. Caller frees. */
json_t *routes_for(const struct policy *policy, const struct route_subject *subject);
/* Some route says itself how long its questions wait. */
bool routes_wait(const struct policy *policy);
