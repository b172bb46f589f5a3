/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about files, which of them counts where several speak of one path, and what became of the
 * tree by them. docs/policy.md says the same for people. */
#pragma once

#include "macro.h"
#include <stdbool.h>

/* In the order in which they win a tie. */
enum access {
	ACCESS_DENY,
	ACCESS_READ_ONLY,
	ACCESS_WRITE,
	ACCESS_READ,
};

/* How much a rule's word weighs. */
enum weight {
	WEIGHT_DEFAULT, /* built in: any rule that says read lifts it, others if they are as
			   specific */
	WEIGHT_IMPLIED, /* follows from an answer, or from what the workspace is: what was said
			   beats it */
	WEIGHT_SAID,	/* by a policy or a flag */
	WEIGHT_ALWAYS,	/* nothing lifts it */
};

struct file_rule {
	enum access access;
	enum weight weight;
	char *pattern;	 /* absolute, normalised; a component of two stars at its end is cut off: it
			    means the directory and all that lies in it */
	char *said;	 /* as people wrote it */
	bool hold;	 /* read-only, but opens nothing that is denied */
	bool guard;	 /* holds names that run programs: what may change beside them the
			    supervisor changes */
	bool named;	 /* opens what is closed by default only if it names that itself: a tree
			    around it is not enough */
	bool sign;	 /* guards nothing itself: lies where something has to be guarded */
	bool must_exist; /* it is an error if it means nothing */
	size_t fixed, literals; /* how specific it is: the length of the part before the first
				   glob, the number of characters that stand for themselves */
	bool exact;		/* no glob in it */
};

struct file_rules {
	struct file_rule *items;
	size_t count, room;
};

/* pattern: absolute and normalised. said: NULL where the pattern itself is what was said. The rule
 * is borrowed until the next is added. */
struct file_rule *file_rules_add(struct file_rules *rules, enum access access, enum weight weight,
				 const char *pattern, const char *said);
/* After a change of its pattern: how specific it is now. */
void file_rule_measure(struct file_rule *rule);
void file_rules_done(struct file_rules *rules);
/* More than 0 if one counts before the other where both speak: by weight, then by how specific
 * they are, then by the order of enum access. */
int file_rule_compare(const struct file_rule *one, const struct file_rule *other);
int file_rule_compare_specific(const struct file_rule *one, const struct file_rule *other);

/* What a path is, all rules considered. */
enum state { STATE_DENIED, STATE_READ_ONLY, STATE_WRITABLE };

/* rules: all that speak of the path, of it or of something above it. *ret_rule: the one behind it;
 * NULL where none is. */
enum state file_rules_decide(const struct file_rule *const *rules, size_t count,
			     const struct file_rule **ret_rule);

/* A part of the tree that is something else than what surrounds it. */
struct area {
	char *path;
	enum state state;
	char *rule; /* in words, for a refusal */
};

struct areas {
	struct area *items;
	size_t count, room;
};

/* The rule of an area that is the sandbox's own: what is there was made inside. */
#define AREA_PRIVATE "the session's own"
/* And of a layer over a cache: the host's view of a path in it is something else. */
#define AREA_LAYER "the workspace's own layer"

/* rule: NULL where none is behind it. */
void areas_add(struct areas *areas, const char *path, enum state state, const char *rule);
/* The innermost area that path lies in; NULL: none. */
const struct area *areas_find(const struct areas *areas, const char *path);
/* True for a layer over a cache. area: NULL for none. */
bool area_is_layer(const struct area *area);
void areas_done(struct areas *areas);
