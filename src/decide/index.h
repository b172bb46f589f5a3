/* SPDX-License-Identifier: Apache-2.0 */
/* Rules found by the words that a command must hold for them to match, so that ten thousand cost no
 * more than a hundred. What is found is no more than worth a try. */
#pragma once

#include "pattern.h"
#include "policy.h"

/* Those that stand in no set, in the order in which they count; and those in sets, as they stand.
 * Exact rules are in none of the two. */
struct rule_index;

void policy_index_make(struct policy *policy);
void policy_index_free(struct policy_index *index);
/* Rules that no word leads to: each command is held against all of them. */
size_t policy_index_rest(const struct policy_index *index);

/* Calls visit for each rule that may match the command, some more than once. It is handed the
 * rule's place in the order; places grow within one run of calls, and visit ends the run by
 * returning false. name: what argv[first] of the chain's first link goes by; NULL: itself. */
void index_visit(const struct rule_index *index, const struct command *command,
		 const struct chain *chain, const char *name,
		 bool (*visit)(void *data, size_t place, const struct rule *rule), void *data);

/* The same for each rule that may be about a program of that name, or pattern of names; NULL: any.
 */
void index_visit_program(const struct rule_index *index, const char *program,
			 bool (*visit)(void *data, size_t place, const struct rule *rule),
			 void *data);

struct policy_index {
	struct rule_index *top, *members;
	uint32_t *exact; /* rules for one command, by their hashes */
	uint64_t *exact_hashes;
	size_t exact_count;
};

uint64_t index_hash_words(const struct list *words);
