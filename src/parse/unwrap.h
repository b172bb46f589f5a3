/* SPDX-License-Identifier: Apache-2.0 */
/* What a command goes on to run: the command behind its wrappers, the text that it hands to a
 * shell, the commands among its words. */
#pragma once

#include "plan.h"

/* A text that a command runs. */
struct inner {
	const char *text;
	size_t length;
	enum spot_kind kind;
	const char *name;	/* what it is called there; NULL: as the command */
	const char **arguments; /* $1 and on; NULL: not known */
	size_t argument_count;
	bool more_words; /* they come behind its last command instead */
	bool shares;	 /* it runs in the same shell, with the same variables */
	bool remote;	 /* it runs on another machine */
	bool read;	 /* the grammar has seen it */
};

/* Adds the wrappers in argv to those that the command has and finds its own place behind them. */
void unwrap_names(struct arena *arena, struct plan *plan, struct command *command);
/* The which-th text that command i of the plan runs; false where there are no more. Says in the
 * plan where a text is known only when it runs. */
bool unwrap_text(struct arena *arena, struct plan *plan, size_t i, size_t which,
		 struct inner *ret_inner);
/* The next command among the words of the command (find -exec), from word *at on; false at the end.
 */
bool unwrap_words(struct arena *arena, const struct command *command, size_t *at,
		  struct command *ret_inner);

/* A search among the texts that a command runs, in a fixed order. */
struct texts {
	struct arena *arena;
	const struct command *command;
	size_t first, which; /* the program; how many texts to pass over */
	struct inner *inner;
	bool live; /* part of the text is known only when it runs */
};

/* True if this is the text that is wanted; it is put into *texts->inner. */
bool unwrap_take(struct texts *texts, const char *text, bool live);
/* options.c, code.c: programs that are no shells and run texts: what options hold, what code in
 * other languages hands to a shell. True with the text that is wanted. */
bool options_text(struct texts *texts, const char *name);
bool code_text(struct texts *texts, const char *name);
/* variables.c: the same in variables that name programs, and in what a shell looks at twice. */
bool variable_text(struct texts *texts, const char *name);
bool variable_again(struct texts *texts, const char *name);
/* editors.c: what line editors, make and variables that hold options run. */
const char *editor_command(struct arena *arena, const char **script);
bool editor_text(struct texts *texts, const char *text, bool live);
bool make_text(struct texts *texts);
char *option_words(struct arena *arena, const char *program, const char *value);
/* Adds code in another language to the command. */
void code_add(struct arena *arena, struct command *command, const char *language, const char *text);
/* The language that a program of this name runs; NULL: none that is known. */
const char *code_language(const char *name);
/* input.c: what an interpreter reads: a shell's text, and code in other languages. */
bool input_text(struct arena *arena, struct plan *plan, size_t i, struct inner *ret_inner);
/* unwrap.c */
char *unwrap_joined(struct texts *texts, size_t first, size_t end);
bool unwrap_is_live(const struct command *command, size_t i);
/* Where the text of the eval at first begins. An eval of evals is one eval, where no word would
 * become another by being read again: each would be read as often as evals stand before it. */
size_t unwrap_eval(const struct command *command, size_t first);
/* The place of what a shell is to run: a text where *ret_text, else a file; argc or beyond where it
 * is told nothing, or to read its input. */
size_t shell_operand(const struct command *command, size_t first, bool *ret_text);
bool is_shell_name(const char *name);
