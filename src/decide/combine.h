/* SPDX-License-Identifier: Apache-2.0 */
/* What the members of a set say becomes one word. Pure: the same words give the same answer. */
#pragma once

#include "policy.h"

/* What a member says of a command. Members that say nothing have none. */
struct word_said {
	enum verdict_kind kind;
	bool certain; /* not only because something is not known yet; allow always is */
	int priority;
	size_t position;	 /* among the members */
	const struct rule *rule; /* that says it */
};

/* The word of the set, of members that are in order of their positions; NULL: it says nothing.
 * member_count: those that say nothing included. No word that is not certain makes the answer
 * milder than it would be without it. */
const struct word_said *combine(enum combine how, const struct word_said *words, size_t count,
				size_t member_count);
