/* SPDX-License-Identifier: Apache-2.0 */
/* What is known about tools: which calls of them are dangerous, and why. */
#pragma once

#include "assess.h"

/* What a call does beside what its class says. */
enum effect {
	FINAL = 1,	  /* cannot be undone */
	NETWORK = 2,	  /* talks to other machines */
	REMOTE = 4,	  /* changes something there */
	FILES_HOME = 8,	  /* changes the user's own files outside of the work at hand */
	FILES_SYSTEM = 16 /* changes the machine */
};

struct fact {
	const char *name;  /* the rule as `ward check` calls it */
	const char *tools; /* program names with one space between them, globs allowed */
	const char *verbs; /* the words after the tool's options, alternatives with "|" and globs:
			      "system prune"; NULL: any */
	const char *flags; /* at least one of these; NULL: none is needed */
	bool (*holds)(const struct command *command,
		      size_t first); /* what words cannot say; or NULL */
	enum class class;
	enum risk risk;
	unsigned effects;
	const char *category, *reason;
};

extern const struct fact facts[];
extern const size_t fact_count;

/* What lies in no single call of a tool. */
extern const struct fact fact_fork_bomb, fact_remote_code, fact_hidden_code, fact_disk_redirect,
	fact_secret_redirect, fact_sql_input, fact_exfiltration, fact_unread, fact_unnamed;

/* match.c: the command at first in argv is what the fact is about. */
bool fact_matches(const struct fact *fact, const struct command *command, size_t first);
/* True if the word is one of a list of words and globs with one space between them. */
bool match_one(const char *patterns, const char *word);
/* True if one of the flags is given: long, perhaps shortened or with a value, or among letters. */
bool match_flag(const struct command *command, size_t first, const char *flags);
/* Calls test for each operand until it says true. */
bool match_operand(const struct command *command, size_t first, bool (*test)(const char *word));

/* targets.c: what words name. */
bool is_disk(const char *path); /* a block device that may hold somebody's data */
bool is_secret(const char *path);
bool is_ruinous_sql(const char *text);
/* What of the machine changes where this path is written. */
enum reach path_reach(const char *path);
bool removes_everything(const struct command *command, size_t first);
bool removes_outside(const struct command *command, size_t first);
bool removes_precious(const struct command *command, size_t first);
bool removes_all_here(const struct command *command, size_t first);
bool finds_and_removes(const struct command *command, size_t first);
bool writes_disk(const struct command *command, size_t first);
bool partitions_disk(const struct command *command, size_t first);
bool copies_to_disk(const struct command *command, size_t first);
bool reads_secret(const struct command *command, size_t first);
bool sends_file(const struct command *command, size_t first);
bool runs_ruinous_sql(const struct command *command, size_t first);
bool copies_to_host(const struct command *command, size_t first);
bool gives_set_id(const struct command *command, size_t first);
bool kills_all(const struct command *command, size_t first);

/* calls.c: how tools are called. */
bool pushes(const struct command *command, size_t first);
bool forces_refspec(const struct command *command, size_t first);
bool cleans(const struct command *command, size_t first);
bool discards_files(const struct command *command, size_t first);
bool restores_files(const struct command *command, size_t first);
bool has_deploy_goal(const struct command *command, size_t first);
bool has_goal(const struct command *command, size_t first);
bool has_cloud_verb(const struct command *command, size_t first);
bool writes_api(const struct command *command, size_t first);
bool installs_globally(const struct command *command, size_t first);
bool replaces_crontab(const struct command *command, size_t first);
bool calls_remote(const struct command *command, size_t first);
bool only_reads(const struct command *command, size_t first);
bool is_downloader(const char *program);
/* A tool that makes a text out of one that nobody can read. */
bool is_decoder(const struct command *command, size_t first);
/* A shell that runs what it reads from its standard input, or what a substitution gives it. */
bool runs_input(const struct command *command, size_t first);
/* A tool that sends to another machine what another command hands it. */
bool sends_input(const struct command *command, size_t first);
/* The file that a download is written to, or NULL. */
const char *download_file(const struct command *command, size_t first);
bool runs_file(const struct command *command, size_t first, const char *file);
