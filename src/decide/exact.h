/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for one command and no other. Such a rule holds the words that `ward run` is given for it:
 * `python3 run.py`, or `-c SCRIPT`, with --env, --shell and --login in front where they were used.
 * Request and rule are brought to the same list of words, and those are compared byte by byte. */
#pragma once

#include "policy.h"
#include "../request/request.h"

/* More than this nobody reads before a yes. */
enum { EXACT_WORDS = 200, EXACT_LENGTH = 16 * 1024 };

/* The words of a request; false where it is nothing that words can say. */
bool exact_words(const struct request *request, struct list *ret_words);
/* The words of a rule, brought to that form. Refuses with a message and a hint, but no place. */
int exact_read(const struct list *said, struct list *ret_words, struct error **ret_error);
/* One line of printable ASCII, to call the rule by. Caller frees. */
char *exact_text(const struct list *words);
/* Whether a rule may be written for the request: it is short, and holds no secret by its name. */
bool exact_is_keepable(const struct request *request);

/* The rule for exactly this request, or NULL: deny beats ask beats allow, then as policy_match().
 * own_program: what its name leads to lies where commands can write, and nothing allows that. */
const struct rule *policy_match_exactly(const struct policy *policy,
					const struct circumstances *circumstances,
					const struct request *request, bool own_program);
