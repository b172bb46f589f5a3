/* SPDX-License-Identifier: Apache-2.0 */
/* What words and calls mean where data cannot say it. */
#pragma once

#include "call.h"

/* match.c: the word is one of a list of words and globs with one space between them. */
bool match_one(const char *patterns, const char *word);
/* True if one of the flags is given: long, perhaps shortened or with a value, or among letters. */
bool match_flag(const struct command *command, size_t first, const char *flags);
/* Calls test for each operand until it says true. */
bool match_operand(const struct command *command, size_t first, bool (*test)(const char *word));

/* targets.c: what words name. */
bool is_disk(const char *path); /* a block device that may hold somebody's data */
bool is_secret(const char *path);
bool is_everything(const char *word); /* the file system, a home, a tree that the system needs */
bool is_outside(const char *word);    /* outside of the work at hand, or all of it */
bool is_elsewhere(const char *word);  /* by its name outside of the work at hand */
bool is_of_git(const char *word);     /* a file that a repository cannot do without */
bool is_precious(const char *word);   /* no build makes it again */
/* The same; and files that find or xargs names, which may be any. */
bool is_precious_or_found(const char *word);
bool is_temporary(const char *path);
bool is_regenerable(const char *name);
bool is_startup(const char *word); /* what lies there runs by itself, or decides who may do what */
bool is_program(const char *word); /* a program or library of the machine, or their place */
bool is_record(const char *word);  /* tells what happened on the machine */
bool is_loopback(const char *url);
/* What of the machine changes where this path is written. */
enum reach path_reach(const char *path);

/* sql.c, code.c: texts that do harm when they are run. */
bool is_ruinous_sql(const char *text);
bool holds_ruinous_sql(const struct command *command, size_t first, size_t end);
bool is_ruinous_code(const char *text);
bool multiplies(const char *text);	/* starts itself over and over */
bool takes_control(const char *text);	/* hands a shell to another machine */
bool sends_from_code(const char *text); /* to another machine than this one */
bool runs_download(const char *text);	/* code that it fetches */
bool runs_decoded(const char *text);	/* code that is not to be seen */
/* The text with strings put together that + or . joins; to be freed. */
char *joined_strings(const char *text);
bool holds_dangerous_word(const char *text);

/* conditions.c, edits.c, sed.c, sql.c: tests that the data may name; tools/tools-data reads their
 * names here. */
bool test_forced_refspec(const struct call *call);
bool test_discards_files(const struct call *call);
bool test_deletes_by_force(const struct call *call);
bool test_copies_nothing(const struct call *call);
bool test_restores_files(const struct call *call);
bool test_last_is_host(const struct call *call);
bool test_last_is_bucket(const struct call *call);
bool test_last_is_null(const struct call *call);
bool test_set_id_mode(const struct call *call);
bool test_kills_all(const struct call *call);
bool test_posts(const struct call *call);
bool test_posts_fields(const struct call *call);
bool test_writes_by_script(const struct call *call);
bool test_runs_lines(const struct call *call);
bool test_empties_files(const struct call *call);
bool test_reads_input(const struct call *call);
bool test_runs_statements(const struct call *call);
bool test_partitions_disk(const struct call *call);
bool test_finds_and_removes(const struct call *call);
bool test_removes_all_found(const struct call *call);
bool test_encrypts_files(const struct call *call);
bool test_edits_to_nothing(const struct call *call);
bool test_prints_nothing(const struct call *call);
bool test_reads_nothing(const struct call *call);
bool test_changes_afar(const struct call *call);
bool test_ruinous_sql(const struct call *call);

/* calls.c: how tools are called. */
bool is_downloader(const char *program);
/* The environment, or a file of secrets, on standard output. */
bool shows_secrets(const struct command *command, size_t first);
/* A tool that turns a file into text. */
bool shows_file(const struct command *command, size_t first);
bool is_shell(const char *program);
/* A tool that makes a text out of one that nobody can read. */
bool is_decoder(const struct command *command, size_t first);
/* A shell that runs what it reads from its standard input, or what a substitution gives it. */
bool runs_input(const struct command *command, size_t first);
/* A tool that sends to another machine what another command hands it. */
bool sends_input(const struct command *command, size_t first);
bool is_sql_client(const char *name);
/* The file that a download is written to, or NULL. */
const char *download_file(const struct command *command, size_t first);
bool runs_file(const struct command *command, size_t first, const char *file);
/* A tool that runs what a file for building says. */
bool runs_recipes(const char *name);
/* The file that a stage of a pipeline puts what it gets, or makes of it, into; or NULL. */
const char *stored_by(const struct command *command, size_t first);
/* tar x, unzip: what comes through a pipe, or the file. *ret_to: where to, or NULL. *ret_flat: and
 * not into a directory of its own. */
bool unpacks(const struct command *command, size_t first, bool piped, const char *file,
	     const char **ret_to, bool *ret_flat);
/* A program, script or build that lies in what was unpacked there. entered: commands run in it. */
bool runs_unpacked(const struct command *command, size_t first, const char *to, bool entered);
/* cd into it. */
bool enters(const struct command *command, const char *to);
