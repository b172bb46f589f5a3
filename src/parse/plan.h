/* SPDX-License-Identifier: Apache-2.0 */
/* The request taken apart: every simple command in it, and an honest word on what could not be
 * known. */
#pragma once

#include "../base/arena.h"
#include "../request/request.h"

/* A piece of shell text that is yet to be expanded. */
struct snippet {
	const char *text; /* not terminated; NULL: there is nothing to expand */
	size_t length;
};

/* Text in another language that a command is to run. */
struct code {
	const char *language; /* "python", "sql", "awk" ... */
	const char *text;
};

struct redirect {
	const char *operator; /* ">", ">>", "<", "<<", "<<<", "<>", ">|", "&>", ">&" ... */
	int fd;		      /* -1: the operator's own */
	const char *target;
	struct snippet source; /* of the target or of the body of a here-document */
};

/* Bytes of the request's script; of a text inside it, those of the command that holds the text. */
struct span {
	size_t start, end;
	unsigned line; /* of the start, from 1; 0: the request is no text */
};

/* Commands joined by pipes; a command alone is one of one stage. */
struct pipeline {
	unsigned number, stages;
};

enum spot_kind {
	PLACE_GROUP,	    /* { ...; } */
	PLACE_SUBSHELL,	    /* ( ... ) */
	PLACE_FUNCTION,	    /* the body of one */
	PLACE_LOOP,	    /* for, select, while, until, with what these test */
	PLACE_CONDITION,    /* what an if tests */
	PLACE_BRANCH,	    /* what runs by what was tested */
	PLACE_CASE,	    /* a branch of one */
	PLACE_SUBSTITUTION, /* $(...) */
	PLACE_BACKQUOTES,   /* `...` */
	PLACE_PROCESS,	    /* <(...) and >(...) */
	PLACE_COPROCESS,    /* coproc: beside the shell, tied to it by pipes */
	PLACE_TEXT,	    /* a text that a command runs: sh -c, eval, ssh ... */
	PLACE_TRAP,
	PLACE_ALIAS,
	PLACE_CALL,  /* the body of a function with the words of one call of it */
	PLACE_INPUT, /* a here-document, a here-string or a pipe that a shell reads */
	PLACE_FILE,  /* a file that the script writes and then runs */
};

enum { LOOP_VALUES = 16 };

/* Where commands stand in the text. */
struct spot {
	enum spot_kind kind;
	const char *name; /* of a function, a signal, a loop's variable ...; or NULL */
	const struct spot *outer;
	const struct pipeline *pipeline; /* that the whole of it is a stage of */
	unsigned stage, depth;
	struct snippet text;	/* of a function's body */
	struct snippet *values; /* of a for loop, the first LOOP_VALUES of them */
	size_t value_count;
	bool called;	    /* a function: something in the plan calls it */
	bool conditional;   /* the whole of it runs only by what came before */
	bool filled;	    /* a command stands in it */
	bool awaits_do;	    /* a for loop whose body has not begun */
	bool braces;	    /* it ends with one, and is no group */
	bool ends_outer;    /* with it the place around it ends */
	bool has_arguments; /* a function whose body looks at its arguments */
};

struct command {
	const char *
		*argv; /* NULL-terminated; words after quote removal, as far as they are constant */
	size_t argc;
	const char **assignments; /* NAME=VALUE before the command */
	size_t assignment_count;
	struct redirect *redirects;
	size_t redirect_count;
	const char **wrappers; /* names looked through to find it, outermost first: "sudo", "sh" */
	size_t wrapper_count;
	size_t program; /* its own place in argv, behind the wrappers that stand in argv */
	bool dynamic;	/* some word holds an expansion, so argv is not all there is to know */
	bool remote;	/* it runs on another machine */

	struct span span;
	const struct spot *place; /* the innermost around it; NULL: none */
	const struct pipeline *pipeline;
	unsigned stage;		  /* its own, from 1 */
	bool conditional;	  /* && or || stands before it */
	bool background;	  /* & stands behind it */
	const struct spot *of;	  /* no words: what these redirections are for */
	const struct spot *calls; /* a function of the text, by its name; NULL: none */
	struct snippet *sources;  /* of argv, while it is expanded */
	struct snippet *assignment_sources;
	bool unnamed;	     /* which program it runs is known only then */
	bool unseen;	     /* it runs code that another command makes, and nobody has seen */
	bool guess;	     /* what it may be, beside the command as it stands */
	struct scope *scope; /* of its variables, while it is expanded */
	size_t order;	     /* its place in the text, while it is expanded */
	struct code *codes;
	size_t code_count;
};

/* How much of a plan may be missing or wrong, from nothing to anything. */
enum opacity {
	OPAQUE_NOT,
	OPAQUE_BODY,	 /* it runs what a file says: all of the request is known */
	OPAQUE_NAME,	 /* which program runs is known only when it runs */
	OPAQUE_DISPUTED, /* two readers differ; the plan holds what either found */
	OPAQUE_UNREAD,	 /* part of the text could not be read */
};

/* One thing that is not known. */
struct opaque_part {
	struct span span;
	enum opacity opacity;
	const char *why;
};

enum { OPAQUE_PARTS = 64 };

struct plan {
	struct command *commands;
	size_t count;
	bool opaque; /* something could not be taken apart */
	bool alters; /* it changes what the names of programs mean, PATH and the like */
	enum opacity opacity;
	const char *opaque_why;		  /* in words, of the worst; NULL if not opaque */
	struct opaque_part *opaque_parts; /* all of them, to OPAQUE_PARTS */
	size_t opaque_count;
	const char *workspace, *cwd; /* the request's: what lies there is not elsewhere; or NULL */
};

/* Everything in *ret_plan lives in the arena. argv becomes one command; shell text (and the
 * argument of `sh -c`, what xargs and find run ...) is taken apart. Never fails on hostile text:
 * what cannot be read is opaque. */
void parse_request(struct arena *arena, const struct request *request, struct plan *ret_plan);
/* Shell text alone, without the texts inside it that it runs: any bytes, any length; bounded in
 * time, depth and memory. */
void parse_shell(struct arena *arena, const char *text, size_t length, struct plan *ret_plan);

/* Says that the plan is not all there is to know: this part is not. OPAQUE_BODY alone does not make
 * a plan opaque. As opaque_why the reason of the worst kind stays, and of those the first. */
void plan_opaque(struct arena *arena, struct plan *plan, enum opacity opacity, const char *why,
		 struct span span);
/* A plan of which nothing is expanded: says which commands have no name yet. */
void plan_mark_unnamed(struct arena *arena, struct plan *plan);
/* Where the command stands, in words, outermost first: "function f", "loop", "pipeline 1/2";
 * NULL-terminated. */
const char **plan_context(struct arena *arena, const struct command *command);
/* The pipeline and the stage of it that prints what comes to the command's standard input through a
 * pipe; NULL where no pipe leads there. */
const struct pipeline *plan_input(const struct command *command, unsigned *ret_stage);
/* True if the command, or something that it stands in, is this stage. */
bool plan_is_stage(const struct command *command, const struct pipeline *pipeline, unsigned stage);

/* The place in argv of the command that the wrapper at first (env, sudo, timeout ...) runs; 0 where
 * that is no wrapper or it runs none. */
size_t parse_wrapped(const struct command *command, size_t first);
/* The place of the first operand at or after first; with_value names the options ("-u --user")
 * whose value is the next word. */
size_t parse_operand(const struct command *command, size_t first, const char *with_value);
/* The script of a line editor that word i holds or announces (vim -c SCRIPT); NULL: none. */
const char *editor_script(const struct command *command, size_t i);
/* True if word is one of a list of words with one space between them. */
bool parse_word_in(const char *words, const char *word, size_t length);
