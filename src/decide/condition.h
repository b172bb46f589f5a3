/* SPDX-License-Identifier: Apache-2.0 */
/* When a rule holds: who asks, where, when, and how much is at stake. What is not known is neither
 * yes nor no: a rule that allows takes it for no, one that asks or denies for yes. */
#pragma once

#include "../assess/assess.h"
#include "../base/list.h"
#include "../request/request.h"
#include <sys/types.h>
#include <time.h>

enum { HOURS_LIMIT = 16 };

/* A program that is one file and no other. */
struct pin {
	char *path;
	bool has_owner;
	uid_t owner;
	char *sha256; /* lower case; NULL: any */
};

struct hours {
	int from, to; /* minutes of the day; to below from: over midnight */
};

struct condition {
	struct list agents, sessions, tools; /* globs */
	struct list directories;	     /* paths with globs; DIR means all below, too */
	struct list environment;	     /* NAME or NAME=GLOB, all of them */
	struct list categories;
	unsigned risks; /* a bit for each; 0: any */
	unsigned days;	/* the same, from Sunday on */
	struct hours hours[HOURS_LIMIT];
	size_t hour_count;
	struct pin pin; /* path NULL: any program */
	time_t until;	/* 0: for good */
};

/* Until when it holds, as a policy has it. */
enum { UNTIL_TEXT = 24 };
const char *condition_until(const struct condition *condition, char text[static UNTIL_TEXT]);
void condition_free(struct condition *condition);

/* What a rule is held against besides the command itself. Borrowed; what is NULL is not known. */
struct circumstances {
	const struct request *request;
	const struct assessment *assessment; /* of all that is to be run */
	time_t now;			     /* 0: not known */
	const char *program;  /* the file that is being started, links resolved; NULL: what its name
				 leads to */
	struct list writable; /* what commands may write besides the workspace and /tmp: paths and
				 patterns as a policy has them */
	const char *directory; /* where the command starts; NULL: the request's */
	const char *home;
	uid_t uid;
	bool lexical; /* the file system is not looked at */
	bool moved;   /* the command need not start in the request's directory */
};

struct policy;
struct plan;
/* Of a request, as far as can be known before it runs; plan and assessment may be NULL.
 * circumstances_done() when done. */
void circumstances_make(const struct policy *policy, const struct request *request,
			const struct plan *plan, const struct assessment *assessment,
			struct circumstances *ret_circumstances);
void circumstances_done(struct circumstances *circumstances);
#define _cleanup_circumstances_ _cleanup_(circumstances_done)

enum truth { TRUTH_NO, TRUTH_UNKNOWN, TRUTH_YES };

struct command;
/* Of the command at argv[first]; condition may be NULL, which is always so. */
enum truth condition_holds(const struct condition *condition,
			   const struct circumstances *circumstances, const struct command *command,
			   size_t first);
