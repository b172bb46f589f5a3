/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of rules: the words that a command must hold. docs/policy.md says how they match. */
#pragma once

#include "condition.h"
#include "../parse/plan.h"
#include <stdint.h>

enum { PATTERN_WORDS = 32, PATTERN_LIMIT = 1024 };

enum term_kind {
	TERM_GLOB,
	TERM_ANY,     /* two stars: any number of operands */
	TERM_INSIDE,  /* a path in the workspace */
	TERM_OUTSIDE, /* one that is not */
	TERM_REGEX,
};

/* An operand or the target of a redirection. */
struct term {
	enum term_kind kind;
	bool every;   /* and all operands behind it */
	bool initial; /* whatever it matches begins as its text does */
	const char *text;
	struct regex *regex;
};

struct terms {
	struct term *items;
	size_t count;
};

struct words {
	const char **items;
	size_t count;
};

struct pattern {
	char *text;	       /* cut into words, which the others point to */
	const char *program;   /* NULL: any, and none */
	bool open;	       /* two stars stand before another operand */
	struct terms operands; /* in order */
	struct terms targets;  /* of redirections of output */
	struct terms sources;  /* and of input */
	struct words options;  /* anywhere */
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
	/* Where paths lead; NULL: not known. */
	const struct circumstances *circumstances;
};

/* The command at argv[first] and every command wrapped in it. */
struct link {
	size_t first;
	bool more;	    /* words that nobody knows are added to it */
	bool certain;	    /* nothing before it changes who runs it, or its words */
	bool started;	    /* it is what is started, not what that starts */
	bool knows_options; /* see pattern_knows_options() */
	const char *with_value;
	bool any_initial;     /* some word may begin with any character */
	uint64_t initials[4]; /* else those that one begins with, as bits */
};

struct chain {
	struct link *links, few[4];
	size_t count;
};
void chain_make(const struct command *command, size_t first, struct chain *ret_chain);
void chain_done(struct chain *chain);
#define _cleanup_chain_ _cleanup_(chain_done)

/* At argv[first] and, unless it is to be alone, at every command wrapped in it. */
bool pattern_matches(const struct pattern *pattern, const struct command *command, size_t first,
		     const struct match_how *how);
/* The same where the chain is known; *ret_at (may be NULL): where it matched. */
bool pattern_matches_chain(const struct pattern *pattern, const struct command *command,
			   const struct chain *chain, const struct match_how *how, size_t *ret_at);
/* True for a word that the shell may replace by others. */
bool pattern_word_varies(const struct command *command, const char *word);

/* Whether the options of the program that stand before its verb are known: then those are listed
 * whose value is the next word. */
bool pattern_knows_options(const char *name, const char **ret_with_value);

/* inside.c: whether the word is a path that lies in the request's workspace, links resolved. */
enum truth path_lies_inside(const struct circumstances *circumstances,
			    const struct command *command, size_t first, const char *word);

/* regex.c: of the whole word, bytes, with limits. Refuses with a message, but no place or hint. */
int regex_compile(const char *text, size_t length, struct regex **ret_regex,
		  struct error **ret_error);
void regex_free(struct regex *regex);
/* Unknown where a limit was reached. */
enum truth regex_matches(const struct regex *regex, const char *word);

/* Words of globs: alternatives between |. Linear in the text for each star. */
bool glob_matches(const char *pattern, const char *text);
/* NULL, or what is wrong with it. */
const char *glob_fault(const char *pattern);
/* Whether some expansion of word (whose fixed beginning has the given length) could match. */
bool glob_could_match(const char *pattern, const char *word, size_t fixed);
/* Calls over the alternatives; true if one satisfies. */
bool glob_any(const char *pattern, bool (*satisfies)(const char *, size_t, void *), void *data);
bool glob_matches_part(const char *pattern, size_t length, const char *text, size_t text_length);
