/* SPDX-License-Identifier: Apache-2.0 */
/* One command held against the rules of a policy. */
#pragma once

#include "pattern.h"
#include "policy.h"

struct matching {
	const struct policy *policy;
	const struct circumstances *circumstances; /* may be NULL */
	struct command *command;
	const struct chain *chains; /* one, or one for each name */
	/* A program that is being started: what it may go by, its file and its path first. NULL:
	 * a command before it runs. */
	const char *const *names;
	size_t name_count;
	/* Rules that ask or deny are heard only if they are about such a thing; NULL: all are. */
	bool (*takes)(const struct rule *rule);
};

/* The rule that counts, or NULL. */
const struct rule *matching_rule(const struct matching *matching);
/* What one rule by itself says; *ret_certain (may be NULL): whatever is not known yet. */
bool matching_says(const struct matching *matching, const struct rule *rule, bool *ret_certain);
