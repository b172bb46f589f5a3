/* SPDX-License-Identifier: Apache-2.0 */
/* Trust: a score from 0 to 100 for each agent that the policy puts under `trust`, what it unlocks,
 * and how it changes. It is kept in STATE/agents/NAME/trust.jsonl, which no sandbox reaches: a line
 * for every change, never one that is changed. docs/trust.md says what counts. */
#pragma once

#include "../base/error.h"
#include "../base/list.h"
#include <stdbool.h>
#include <stdint.h>

struct policy;
struct plan;
struct assessment;
struct circumstances;
struct permissions;
struct sets_places;

/* What changes a score. The first three come from a person, from the policy, or from what ward saw
 * itself; never from an agent's word. */
enum trust_kind {
	TRUST_TASK,	 /* a task is done */
	TRUST_TESTS,	 /* tests of the policy have passed, at a state of the workspace */
	TRUST_ASKED,	 /* it asked first, and was given it */
	TRUST_VIOLATION, /* see DESIGN: a violation */
	TRUST_OVERRIDE,	 /* a person stopped or undid what it did */
	TRUST_KINDS,
};
const char *trust_kind_name(enum trust_kind kind);

enum { TRUST_MOST = 100, TRUST_THRESHOLDS = 16 };

struct trust_threshold {
	int at;
	struct list unlocks;  /* permissions that are held from here on */
	struct list commands; /* patterns of commands that are run from here on */
	struct list requests; /* permissions that a person may be asked for from here on */
};

enum trust_then { TRUST_THEN_FREEZE, TRUST_THEN_KILL };

/* The section `trust` of a policy, but for whom it binds (struct tiers) and what is never unlocked
 * (the same). In a layer only what `has` says; in a policy all of it. */
struct trust_rules {
	struct {
		bool start, points[TRUST_KINDS], decay, thresholds, medium, within, then, after,
			expires;
	} has;
	int start;
	int points[TRUST_KINDS];
	double decay;					     /* what is left after a day */
	struct trust_threshold thresholds[TRUST_THRESHOLDS]; /* in rising order */
	size_t threshold_count;
	struct list never; /* of a layer: names of groups, and permissions */
	bool has_never;
	struct list tests;    /* patterns of commands whose success counts */
	uint64_t medium;      /* so many medium violations are borne... */
	uint64_t within_ns;   /* ...in this time; one more is an incident */
	enum trust_then then; /* what becomes of running commands */
	uint64_t learn_after; /* approvals of one shape, until a rule is proposed */
	uint64_t learn_expires_ns;
	int line; /* of a layer, where the section is; 0: it has none */
};

/* trust_merge.c */
void trust_rules_default(struct trust_rules *rules);
void trust_rules_done(struct trust_rules *rules);

/* The agent is one of those that tiers, trust and safe mode bind. agent may be NULL. */
bool trust_binds(const struct policy *policy, const char *agent);

/* --- the score --- */

enum { TRUST_A_DAY = 5 };

/* One line of the history. */
struct trust_change {
	char *kind;   /* as trust_kind_name(); or "reset" */
	int64_t time; /* seconds since 1970 */
	double delta, score;
	char *why, *by;
	char *key; /* what it may count for once only; may be NULL */
};

struct trust_history {
	struct trust_change *items;
	size_t count, room;
	bool torn; /* the last change is not known */
};
void trust_history_done(struct trust_history *history);
#define _cleanup_trust_history_ _cleanup_(trust_history_done)

/* The score at a time: what the last change left, less what has decayed since. One that is not
 * known was the worst there is. A clock that goes back takes nothing away, and gives nothing.
 * Always from 0 to TRUST_MOST. */
double trust_score_at(const struct trust_rules *rules, const struct trust_history *history,
		      int64_t now);
/* In whole points: what is shown, and what thresholds go by. A second after the last point was
 * earned it is not lost again. */
int trust_points(double score);
/* What a change would make of it. */
double trust_score_after(const struct trust_rules *rules, const struct trust_history *history,
			 double delta, int64_t now);
/* False where it must not count: the same tests at the same state of the workspace, the same
 * question twice in a day, or more than TRUST_A_DAY of its kind in one. A time to come is of this
 * day, so that a clock that was set back opens none anew. key may be NULL. */
bool trust_may_count(const struct trust_history *history, enum trust_kind kind, const char *key,
		     int64_t now);

/* --- trust_file.c, trust_lines.c: what is kept --- */

/* STATE/agents/NAME, the directory of all that is kept of an agent. Caller frees. */
char *trust_directory(const char *state, const char *agent);
/* That directory, whoever planted what on the way. *ret_fd is -1 where there is none and it is not
 * to be made. */
int trust_open_directory(const char *state, const char *agent, bool make, int *ret_fd,
			 struct error **ret_error);
/* Every change, the oldest first. A history that cannot be read is an error: no score is known
 * then, and callers take it for 0. */
int trust_read(const char *state, const char *agent, struct trust_history *ret_history,
	       struct error **ret_error);
/* Names of the agents of which something is kept. */
int trust_agents(const char *state, struct list *ret_agents, struct error **ret_error);
int trust_score(const char *state, const struct policy *policy, const char *agent,
		double *ret_score, struct error **ret_error);

/* A change of the score, on record with why. Nothing happens to an agent that is not bound. state:
 * the directory of ward's state. A violation withdraws what was learnt, too. */
int trust_note(const char *state, const struct policy *policy, const char *agent,
	       enum trust_kind kind, const char *why, struct error **ret_error);
/* The same with who says so, and for what it may count only once (see trust_may_count()); each may
 * be NULL. */
int trust_note_by(const char *state, const struct policy *policy, const char *agent,
		  enum trust_kind kind, const char *why, const char *by, const char *key,
		  struct error **ret_error);
/* Back to what the policy lets an agent start with. */
int trust_reset(const char *state, const struct policy *policy, const char *agent, const char *why,
		const char *by, struct error **ret_error);

/* --- trust_unlock.c: what it unlocks --- */

struct trust_word {
	enum { TRUST_SILENT, TRUST_UNLOCKED, TRUST_LOCKED } kind;
	int at;		     /* the threshold behind it */
	const char *pattern; /* of the policy's, borrowed */
};
/* What a score says of commands. Unlocked: each of them is named by a threshold that is reached,
 * and nothing of it is among what is never unlocked. Locked: one of them may be what only a higher
 * threshold names. */
void trust_weigh(const struct policy *policy, double score, const struct plan *plan,
		 const struct assessment *assessment, const struct circumstances *circumstances,
		 bool altered, struct trust_word *ret_word);
/* What no score runs and nobody learns: ruin, other users' rights, credentials, security. */
bool trust_is_never(const struct assessment *assessment);
/* What is not yet unlocked, and what a person is asked for each time, cannot be written. */
void trust_hold(const struct policy *policy, double score, const char *home,
		struct permissions *permissions);
/* The highest threshold that it takes to hold all of these; 0: some of it is not unlocked. */
int trust_unlocks(const struct policy *policy, double score, const struct list *permissions,
		  const struct sets_places *places);
/* The tier of what is wanted, by an agent with this score: what only a threshold lets it ask for is
 * critical below that, and asked for from there on. */
int trust_tier(const struct policy *policy, double score, const struct list *permissions,
	       const struct sets_places *places);

/* The pattern under `tests` that the request is, to the word; NULL: it is something else, or
 * something more. trust_tests.c */
struct request;
const char *trust_tests(const struct policy *policy, const struct request *request,
			const struct plan *plan, const struct assessment *assessment, bool altered);

/* --- trust_learn.c: rules that are proposed --- */

/* A kind of operation that persons have approved. */
struct trust_shape {
	char *id;
	char *covers; /* the pattern of commands that the rule would be about; NULL: exactly these
			 words */
	struct list words; /* in that directory */
	char *directory;
	struct list grants;
	char *command;	  /* the last one of it, for people */
	struct list runs; /* each counts once */
	bool proposed;
	char *rule; /* the text that was written for it, and where; NULL: it was not accepted */
	char *file;
	int64_t until;
};

struct trust_shapes {
	struct trust_shape *items;
	size_t count;
};
void trust_shapes_done(struct trust_shapes *shapes);
#define _cleanup_trust_shapes_ _cleanup_(trust_shapes_done)

/* False for what is never learnt: interpreters, shells, whatever changes who runs it, what is never
 * unlocked, and what could not be taken apart. */
bool trust_may_learn(const struct policy *policy, const struct plan *plan,
		     const struct assessment *assessment, const struct list *grants,
		     const struct sets_places *places);
/* One approval by a person, in a run. key: see struct approval_key. Of shape: all but id, runs and
 * what accepting adds. *ret_proposed (may be NULL): with this one there is something to propose. */
int trust_learn_note(const char *state, const struct policy *policy, const char *agent,
		     const char *key, const char *run, const struct trust_shape *shape,
		     char **ret_proposed, struct error **ret_error);
/* Shapes since the last incident; those that are proposed or were accepted are marked. */
int trust_learn_read(const char *state, const struct policy *policy, const char *agent,
		     struct trust_shapes *ret_shapes, struct error **ret_error);
/* The rule as it would be written, with its end. Caller frees; NULL: it cannot be written. */
char *trust_learn_rule(const struct policy *policy, const char *agent,
		       const struct trust_shape *shape, int64_t now);
/* What else it would admit, in words. Caller frees. */
char *trust_learn_admits(const struct policy *policy, const char *agent,
			 const struct trust_shape *shape);
/* A person says yes to a proposal: its rule is written into the user's policy. */
int trust_learn_accept(const char *state, const struct policy *policy, const char *agent,
		       const struct trust_shape *shape, const char *by, struct error **ret_error);
/* After a violation of the agent: what was proposed is so no longer, counting begins anew, and
 * rules that were learnt are taken out of the user's policy. *ret_count (may be NULL): how many
 * rules. */
int trust_learn_withdraw(const char *state, const struct policy *policy, const char *agent,
			 const char *why, size_t *ret_count, struct error **ret_error);

/* For what is kept beside the score: a file of an agent's directory, whole lines only, each an
 * object. */
int trust_lines_read(const char *state, const char *agent, const char *name,
		     int (*take)(void *data, const char *line, size_t length), void *data,
		     struct error **ret_error);
