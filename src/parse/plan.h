/* SPDX-License-Identifier: Apache-2.0 */
/* The request taken apart: every simple command in it, and an honest word on what could not be
 * known. */
#pragma once

#include "../base/arena.h"
#include "../request/request.h"

struct redirect {
	const char *operator; /* ">", ">>", "<", "<<", "<<<", "<>", ">|", "&>", ">&" ... */
	int fd;		      /* -1: the operator's own */
	const char *target;
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
};

/* How much of a plan may be missing or wrong, from nothing to anything. */
enum opacity {
	OPAQUE_NOT,
	OPAQUE_NAME,	 /* which program runs is known only when it runs */
	OPAQUE_DISPUTED, /* two readers differ; the plan holds what either found */
	OPAQUE_UNREAD,	 /* part of the text could not be read */
};

struct plan {
	struct command *commands;
	size_t count;
	bool opaque; /* something could not be taken apart */
	enum opacity opacity;
	const char *opaque_why; /* in words; NULL if not opaque */
};

/* Everything in *ret_plan lives in the arena. argv becomes one command; shell text (and the
 * argument of `sh -c`, what xargs and find run ...) is taken apart. Never fails on hostile text:
 * what cannot be read is opaque. */
void parse_request(struct arena *arena, const struct request *request, struct plan *ret_plan);
/* Shell text alone, without the texts inside it that it runs: any bytes, any length; bounded in
 * time, depth and memory. */
void parse_shell(struct arena *arena, const char *text, size_t length, struct plan *ret_plan);

/* Says that the plan is not all there is to know; the reason of the worst kind stays, and of those
 * the first. */
void plan_opaque(struct plan *plan, enum opacity opacity, const char *why);

/* The place in argv of the command that the wrapper at first (env, sudo, timeout ...) runs; 0 where
 * that is no wrapper or it runs none. */
size_t parse_wrapped(const struct command *command, size_t first);
/* The place of the first operand at or after first; with_value names the options ("-u --user")
 * whose value is the next word. */
size_t parse_operand(const struct command *command, size_t first, const char *with_value);
/* True if word is one of a list of words with one space between them. */
bool parse_word_in(const char *words, const char *word, size_t length);
