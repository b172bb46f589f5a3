/* SPDX-License-Identifier: Apache-2.0 */
/* One call of a tool read as the tool reads it: verbs, options with their values, operands. */
#pragma once

#include "tools.h"

enum { CALL_DEPTH = 5 };

struct call {
	const struct command *command;
	size_t first, end;			  /* its words in argv; [first] is the tool */
	const struct tool_node *path[CALL_DEPTH]; /* the tool, its verb, the verb's verb ... */
	size_t verbs[CALL_DEPTH];		  /* the place of each in argv */
	size_t depth;				  /* 0: the tool is not known */
	bool other;				  /* the next verb is not known */
	bool bare;				  /* there is none, and there could be */
};

/* One option or operand. */
struct word {
	const char *text; /* an option's name begins here and ends after length */
	size_t length;
	const char *value; /* of an option; NULL if it has none */
	bool is_option, is_long;
};

struct cursor {
	size_t at;
	const char *letters; /* what is left of -abc */
	bool operands_only;
	char letter[3];
};

/* Words from end on are another command's. */
void call_read(const struct command *command, size_t first, size_t end, struct call *ret_call);
/* The innermost part of the tool that is known. */
const struct tool_node *call_node(const struct call *call);
/* The next option or operand, verbs left out; false at the end. A cursor begins as {0}. */
bool call_next(const struct call *call, struct cursor *cursor, struct word *ret_word);
/* True if the option is one of the list; "--x=VALUE" in it asks for the value too. Shortened long
 * names count unless exact. */
bool word_is_option(const struct word *word, const char *options, bool exact);
/* Whether words are added when it runs: those of an xargs command from its input, and so those of
 * parallel. What stands for files that find names is find's own matter, but not in a text that find
 * hands on. */
bool call_takes_more(const struct call *call);
