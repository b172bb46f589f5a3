/* SPDX-License-Identifier: Apache-2.0 */
/* What is known about tools: which calls of them are dangerous, and why. */
#pragma once

#include "assess.h"

struct fact {
	const char *tools; /* program names with one space between them, globs allowed */
	const char *verbs; /* the words after the tool's options, alternatives with "|": "system
			      prune"; NULL: any */
	const char *flags; /* at least one of these; NULL: none is needed */
	bool (*holds)(const struct command *command,
		      size_t first); /* what words cannot say; or NULL */
	enum class class;
	enum risk risk;
	bool final; /* cannot be undone */
	const char *category, *reason;
};

extern const struct fact facts[];
extern const size_t fact_count;

/* What lies in no single call of a tool. */
extern const struct fact fact_fork_bomb, fact_remote_code, fact_disk_redirect;

/* The command at first in argv is what the fact is about. */
bool fact_matches(const struct fact *fact, const struct command *command, size_t first);
/* A block device that may hold somebody's data. */
bool facts_is_disk(const char *path);
bool facts_is_downloader(const char *program);
/* A shell that runs what it reads from its standard input, or what a substitution gives it. */
bool facts_runs_input(const struct command *command, size_t first);
