/* SPDX-License-Identifier: Apache-2.0 */
/* What a text says about its variables, functions and aliases: which value a name has at some point
 * of it, as far as that is sure. */
#pragma once

#include "plan.h"

#include <stdint.h>

/* One assignment. */
struct write {
	const char *name;
	struct snippet source; /* of the value; of a list, with its parentheses */
	const char **items;    /* the value, once it is known */
	size_t count;
	bool list;     /* an array, or the positional parameters as "@" */
	bool unknown;  /* read, for, unset ...: anything */
	bool resolved; /* items are set, or unknown is */
	bool busy;     /* being resolved: it must not ask for itself */
	size_t order;  /* of the command that does it */
	const struct spot *place;
	bool depends;  /* it may not happen, or happens to a copy */
	bool loop;     /* a for loop gives it its values */
	bool any_time; /* a trap, an alias, a read-only name: it may hold whenever */
};

struct function {
	const char *name;
	struct spot *body;
};

struct alias {
	const char *name, *text;
	size_t order;
};

struct scope {
	const struct scope *outer;
	size_t outer_order; /* where in it this one's text is run */
	const struct spot *outer_place;
	bool shares; /* it sees all variables of the outer one, not only those that are exported */
	struct write *writes;
	size_t write_count, write_room;
	struct function *functions;
	size_t function_count, function_room;
	struct alias *aliases;
	size_t alias_count, alias_room;
	unsigned depth; /* of texts in texts that are learned from */
	bool unsure;	/* something in it may change any variable, or there are too many */
	size_t *budget; /* bytes that expanding may still make, and doubt still read, in the whole
			   request */
};

/* A point of a text from which names are looked at. */
struct where {
	struct arena *arena;
	struct scope *scope;
	size_t order;
	const struct spot *place;
	unsigned variant; /* which value of the loops around it */
	unsigned depth;
};

struct value {
	const char **items;
	size_t count;
	bool list, certain;
	bool argument;	 /* not known, because it is what a function is called with */
	bool pattern;	 /* it stands for the files that a glob finds */
	size_t variants; /* as many values does a loop give it */
};

struct scope *scope_new(struct arena *arena, const struct where *outer, bool shares,
			size_t *budget);
/* learn.c: what the command does to variables, functions and aliases. */
void scope_learn(struct arena *arena, struct scope *scope, const struct command *command,
		 size_t order);
/* items NULL: the value is not known. */
void scope_set(struct arena *arena, struct scope *scope, const char *name, const char **items,
	       size_t count, bool list);
/* The name of the command is known only when it runs; once all others are learned, what it does. */
bool scope_is_unnamed(const struct command *command);
void scope_learn_unnamed(struct arena *arena, struct scope *scope, const struct command *command,
			 size_t order);
/* What commands that outer runs in the same shell do, afterwards or at any time. */
void scope_learn_outside(struct arena *arena, struct scope *scope, const struct command *outer,
			 const struct command *commands, size_t count, bool any_time);
bool place_is_within(const struct spot *place, enum spot_kind kind);
/* A variable that the shell changes by itself, or sets from outside. */
bool scope_is_special(const char *name, size_t length);
/* False where nothing is known of the name. */
bool scope_value(const struct where *where, const char *name, struct value *ret_value);
/* Something writes to the name, in this text or in one around it. */
bool scope_writes(const struct scope *scope, const char *name);
/* A variable that makes programs other ones. */
bool scope_names_programs(const char *name);
/* The text writes to one of those. */
bool scope_changes_programs(const struct scope *scope);
/* The body of the function of that name, or NULL. */
struct spot *scope_function(const struct scope *scope, const char *name);
const struct alias *scope_alias(const struct scope *scope, const char *name, size_t order);

/* expand.c: the words that pieces of text stand for. */
struct words {
	const char **items;
	bool *live; /* an item holds what is known only when it runs */
	size_t count, room;
	bool unknown;	 /* some item is live */
	bool unsure;	 /* the values may be others */
	bool pattern;	 /* some item is a glob or begins with a tilde */
	bool argument;	 /* as of a value */
	bool too_much;	 /* a bound was reached: what is there is not all */
	size_t variants; /* of loops */
};
void expand_word(const struct where *where, struct snippet snippet, struct words *words);
/* The value of an assignment, the body of a here-document: one item. */
void expand_value(const struct where *where, struct snippet snippet, struct words *words);
void expand_body(const struct where *where, struct snippet snippet, struct words *words);
/* commands.c: a command with its words expanded; *ret_words says what of them is known. */
void expand_command(const struct where *where, const struct command *command,
		    struct command *ret_command, struct words *ret_words);
/* Behind the command names mean others (BASH_ALIASES, BASH_CMDS, functions in the environment), or
 * a value in it is run as a prompt is (${x@P}). */
bool command_renames(const struct command *command);
void words_add(struct arena *arena, struct words *words, const char *item, bool live);

/* What $NAME stands for: a variable, or 1, @, * and the like. */
bool value_of(const struct where *where, const char *name, struct value *ret_value);

/* output.c: what a text prints when it is run, where that is plain to see; or NULL. */
const char *output_of_text(const struct where *where, const char *text, size_t length);
/* What those commands of the plan print that feed consumer through a pipe. */
const char *output_to(struct arena *arena, const struct plan *plan, size_t consumer);
/* What one command prints, given what it reads (may be NULL), wherever that is written to. */
const char *output_of_command(struct arena *arena, const struct command *command,
			      const char *input);

/* braces.c: a{b,c}d and {1..3} as the shell writes them out, before anything else. False where
 * there are none; NULL in *ret_items where there are too many. */
bool brace_expand(struct arena *arena, struct snippet snippet, struct snippet **ret_items,
		  size_t *ret_count);

/* arithmetic.c: what stands in $((...)) comes to; false where that is not known, or where it
 * assigns.
 */
bool arithmetic_value(const struct where *where, const char *text, size_t length,
		      int64_t *ret_number, bool *ret_certain);

/* parameter.c: what ${...} stands for; text is what is between the braces. */
bool parameter_expand(const struct where *where, const char *text, size_t length,
		      struct value *ret_value);
