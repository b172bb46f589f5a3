/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of reading a policy file share: layer.c reads settings, rules.c rules. */
#pragma once

#include "layer.h"
#include "yaml.h"

struct reading {
	struct layer *layer;
	const struct list *walls;
	const char *home;
	struct arena *arena;
	const char *profile;	    /* whose section is read; NULL: sandbox */
	struct rule *rule;	    /* that is read */
	struct caller_rule *caller; /* the same */
	const struct node *permissions, *match, *no_match; /* of that rule */
	struct error **ret_error;
};

/* A key of a map: what reads its value, and as which setting. */
struct key {
	const char *name;
	int (*read)(struct reading *reading, const struct node *node, enum setting_kind kind);
	enum setting_kind kind;
};

/* Errors with their place; they return -E_POLICY. */
int read_wrong_kind(struct reading *reading, const struct node *node, const char *what,
		    const char *hint);
/* Gives an error that a check made its place. */
int read_place_error(struct reading *reading, const struct node *node);
void read_warn_at(struct layer *layer, int line, int column, const char *text);
char *read_copy(const char *text);
/* A map whose keys are those of the table (at most 32), each once. */
int read_map(struct reading *reading, const struct node *node, const struct key *keys, size_t count,
	     const char *where);
int read_callers(struct reading *reading, const struct node *node, enum setting_kind kind);
int read_rules(struct reading *reading, const struct node *node, enum setting_kind kind);
