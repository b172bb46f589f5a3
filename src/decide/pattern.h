/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of rules: the words that a command must hold. docs/policy.md says how they match. */
#pragma once

#include "../parse/plan.h"

enum { PATTERN_WORDS = 32, PATTERN_LIMIT = 1024 };

struct words {
	const char *items[PATTERN_WORDS];
	size_t count;
};

struct pattern {
	char *text;	       /* cut into words, which the others point to */
	const char *program;   /* NULL: any, and none */
	struct words operands; /* in order */
	struct words options;  /* anywhere */
	struct words targets;  /* of redirections */
	struct words assignments;
};

/* Refuses with a message and a hint, but no place. */
int pattern_compile(const char *text, struct pattern **ret_pattern, struct error **ret_error);
void pattern_free(struct pattern *pattern);
/* True if whatever the special one matches the general one matches too; false in doubt. */
bool pattern_covers(const struct pattern *general, const struct pattern *special);

struct match_how {
	const char *home; /* for ~; may be NULL */
	/* For deny and ask: in doubt it matches. Otherwise in doubt it does not. */
	bool generous;
	/* A word with an expansion in it may be anything (generous only). */
	bool guess;
	/* Only the command itself: what it wraps is judged when it is started. */
	bool alone;
};
/* At argv[first] and, unless it is to be alone, at every command wrapped in it. */
bool pattern_matches(const struct pattern *pattern, const struct command *command, size_t first,
		     const struct match_how *how);

/* Whether the options of the program that stand before its verb are known: then those are listed
 * whose value is the next word. */
bool pattern_knows_options(const char *name, const char **ret_with_value);

/* Words of globs: alternatives between |. Linear in the text for each star. */
bool glob_matches(const char *pattern, const char *text);
/* NULL, or what is wrong with it. */
const char *glob_fault(const char *pattern);
/* Whether some expansion of word (whose fixed beginning has the given length) could match. */
bool glob_could_match(const char *pattern, const char *word, size_t fixed);
/* Calls over the alternatives; true if one satisfies. */
bool glob_any(const char *pattern, bool (*satisfies)(const char *, size_t, void *), void *data);
bool glob_matches_part(const char *pattern, size_t length, const char *text, size_t text_length);
