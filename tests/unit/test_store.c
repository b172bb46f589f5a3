/* SPDX-License-Identifier: Apache-2.0 */
/* The database of runs: it says what the audit log says, whatever happens to it. */
#include "../../src/base/io.h"
#include "../../src/record/audit.h"
#include "../../src/record/store.h"

#include <fcntl.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <cmocka.h>

static char directory[64];

static int setup(void **state)
{
	(void)state;
	strcpy(directory, "/tmp/ward-test-store.XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return remove_tree(AT_FDCWD, directory);
}

static const char *in_directory(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

/* Takes over body. */
static void append(const char *kind, const char *run, json_t *body)
{
	struct error *error = NULL;
	struct audit *audit = NULL;

	assert_non_null(body);
	if (audit_open(directory, &audit, &error) < 0 ||
	    audit_append(audit, kind, run, body, &error) < 0)
		fail_msg("%s", error->message);
	audit_close(audit);
	json_decref(body);
}

static void start_run(const char *run, const char *agent)
{
	append("run.start", run,
	       json_pack("{s:s, s:[s,s], s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "command",
			 "echo \xc3\xa4", "argv", "echo", "\xc3\xa4", "cwd", "/w/sub", "workspace",
			 "/w", "level", "restricted", "agent", agent, "session", "s1", "verdict",
			 "allow", "source", "default"));
}

static void end_run(const char *run, int exit_code)
{
	append("run.end", run,
	       json_pack("{s:{s:i, s:n, s:b, s:n, s:f, s:[{s:[{s:s, s:s}, {s:s, s:s}, {s:s}]}], "
			 "s:n}}",
			 "result", "exit_code", exit_code, "signal", "timed_out", 0, "limit",
			 "duration_ms", 1.5, "attempts", "denials", "object", "/a", "answer",
			 "none", "object", "/b", "answer", "granted", "object", "/c", "error"));
}

static struct store *must_open(void)
{
	struct store *store = NULL;
	struct error *error = NULL;

	if (store_open(directory, &store, &error) < 0)
		fail_msg("store_open: %s", error->message);
	return store;
}

static int keep_run(json_t *run, void *data)
{
	return json_array_append(data, run);
}

static json_t *list(unsigned limit)
{
	struct store *store = must_open();
	json_t *runs = json_array();

	assert_int_equal(store_runs(store, limit, keep_run, runs, NULL), 0);
	store_close(store);
	return runs;
}

static const char *text_at(json_t *runs, size_t at, const char *key)
{
	return json_string_value(json_object_get(json_array_get(runs, at), key));
}

static void an_empty_log_has_no_runs(void **state)
{
	struct store *store = must_open();
	struct error *error = NULL;
	json_t *runs, *run = NULL;

	(void)state;
	assert_int_equal(store_run(store, "last", &run, &error), -E_NOT_FOUND);
	assert_non_null(error->hint);
	error_free(error);
	store_close(store);
	runs = list(10);
	assert_int_equal(json_array_size(runs), 0);
	json_decref(runs);
}

static void runs_are_listed_newest_first_with_what_became_of_them(void **state)
{
	json_t *runs, *run;

	(void)state;
	start_run("aa1", "x");
	start_run("bb2", "y");
	end_run("aa1", 3);
	runs = list(10);
	assert_int_equal(json_array_size(runs), 2);
	assert_string_equal(text_at(runs, 0, "id"), "bb2");
	assert_true(json_is_false(json_object_get(json_array_get(runs, 0), "ended")));
	assert_true(json_is_null(json_object_get(json_array_get(runs, 0), "exit_code")));
	run = json_array_get(runs, 1);
	assert_string_equal(text_at(runs, 1, "id"), "aa1");
	assert_string_equal(text_at(runs, 1, "agent"), "x");
	assert_string_equal(text_at(runs, 1, "session"), "s1");
	assert_string_equal(text_at(runs, 1, "command"), "echo \xc3\xa4");
	assert_string_equal(text_at(runs, 1, "cwd"), "/w/sub");
	assert_string_equal(text_at(runs, 1, "verdict"), "allow");
	assert_true(json_is_true(json_object_get(run, "ended")));
	assert_int_equal(json_integer_value(json_object_get(run, "exit_code")), 3);
	assert_true(json_real_value(json_object_get(run, "duration_ms")) == 1.5);
	/* What was granted after all is not counted. */
	assert_int_equal(json_integer_value(json_object_get(run, "denials")), 2);
	json_decref(runs);
	runs = list(1);
	assert_int_equal(json_array_size(runs), 1);
	json_decref(runs);
}

static void what_the_log_gains_is_taken_in_at_the_next_opening(void **state)
{
	json_t *runs;
	char id[16];

	(void)state;
	for (int i = 0; i < 5; i++) {
		snprintf(id, sizeof(id), "run%d", i);
		start_run(id, "x");
		runs = list(100);
		assert_int_equal(json_array_size(runs), i + 1);
		assert_true(json_is_false(json_object_get(json_array_get(runs, 0), "ended")));
		json_decref(runs);
		end_run(id, i);
		runs = list(100);
		assert_int_equal(
			json_integer_value(json_object_get(json_array_get(runs, 0), "exit_code")),
			i);
		json_decref(runs);
	}
}

static void a_run_is_found_by_id_prefix_and_last(void **state)
{
	struct error *error = NULL;
	struct store *store;
	json_t *run = NULL;
	static const struct {
		const char *asked, *found;
		int error;
	} cases[] = {
		{"last", "abc", 0},	  {"abd1", "abd1", 0},	     {"abd", "abd1", 0},
		{"abc", "abc", 0},	  {"ab", NULL, -E_USAGE},    {"x", NULL, -E_NOT_FOUND},
		{"", NULL, -E_NOT_FOUND}, {"%", NULL, -E_NOT_FOUND}, {"abcd9", "abcd9", 0},
	};

	(void)state;
	start_run("abcd9", "x");
	start_run("abd1", "x");
	start_run("abc", "x");
	store = must_open();
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		assert_int_equal(store_run(store, cases[i].asked, &run, &error), cases[i].error);
		if (cases[i].error) {
			assert_non_null(error->hint);
			continue;
		}
		assert_string_equal(json_string_value(json_object_get(run, "id")), cases[i].found);
		json_decref(run);
	}
	error_free(error);
	store_close(store);
}

static void the_whole_record_of_a_run_is_kept(void **state)
{
	struct store *store;
	json_t *run = NULL;

	(void)state;
	start_run("r1", "x");
	append("run.asked", "r1", json_pack("{s:s}", "question", "why?"));
	append("unrelated", NULL, json_pack("{s:s}", "question", "why?"));
	end_run("r1", 0);
	store = must_open();
	assert_int_equal(store_run(store, "r1", &run, NULL), 0);
	assert_string_equal(json_string_value(json_object_get(run, "workspace")), "/w");
	assert_string_equal(json_string_value(json_object_get(run, "source")), "default");
	assert_int_equal(json_array_size(json_object_get(run, "argv")), 2);
	assert_true(json_is_array(json_object_get(json_object_get(run, "result"), "attempts")));
	assert_true(json_is_string(json_object_get(run, "ended_at")));
	assert_int_equal(json_array_size(json_object_get(run, "records")), 3);
	json_decref(run);
	store_close(store);
}

static void a_deleted_database_is_made_anew(void **state)
{
	json_t *before, *after;

	(void)state;
	start_run("r1", "x");
	end_run("r1", 7);
	before = list(10);
	assert_int_equal(unlink(in_directory("state.db")), 0);
	after = list(10);
	assert_true(json_equal(before, after));
	json_decref(before);
	json_decref(after);
}

static void a_damaged_database_is_moved_aside_and_made_anew(void **state)
{
	char garbage[8192];
	struct stat st;
	json_t *before, *after;
	int fd;

	(void)state;
	start_run("r1", "x");
	before = list(10);
	/* The whole file, then all but its first page: SQLite notices the two in different places.
	 */
	for (off_t from = 0; from <= 4096; from += 4096) {
		memset(garbage, 0xa5, sizeof(garbage));
		fd = open(in_directory("state.db"), O_WRONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		assert_int_equal(fstat(fd, &st), 0);
		for (off_t at = from; at < st.st_size; at += 4096)
			assert_int_equal(pwrite(fd, garbage, 4096, at), 4096);
		close(fd);
		(void)unlink(in_directory("state.db.corrupt"));
		end_run("r1", 7); /* something to take in */
		after = list(10);
		assert_int_equal(json_array_size(after), 1);
		assert_string_equal(text_at(after, 0, "id"), text_at(before, 0, "id"));
		assert_int_equal(
			json_integer_value(json_object_get(json_array_get(after, 0), "exit_code")),
			7);
		assert_int_equal(access(in_directory("state.db.corrupt"), F_OK), 0);
		json_decref(after);
	}
	json_decref(before);
}

static void execute(const char *sql)
{
	sqlite3 *database;

	assert_int_equal(sqlite3_open(in_directory("state.db"), &database), SQLITE_OK);
	assert_int_equal(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(database);
}

static void a_database_without_its_tables_is_made_anew(void **state)
{
	json_t *runs;

	(void)state;
	start_run("r1", "x");
	json_decref(list(10));
	execute("DROP TABLE records");
	start_run("r2", "x");
	runs = list(10);
	assert_int_equal(json_array_size(runs), 2);
	json_decref(runs);
}

static void a_database_of_a_newer_ward_is_left_alone(void **state)
{
	struct store *store = NULL;
	struct error *error = NULL;

	(void)state;
	start_run("r1", "x");
	json_decref(list(10));
	execute("PRAGMA user_version = 99");
	assert_int_equal(store_open(directory, &store, &error), -E_ENGINE);
	assert_non_null(strstr(error->message, "newer"));
	assert_int_not_equal(access(in_directory("state.db.corrupt"), F_OK), 0);
	error_free(error);
}

static void a_new_log_replaces_what_the_old_one_said(void **state)
{
	/* A shorter log; a longer one with its lines elsewhere; a longer one with its lines in the
	 * same places; one of the same length. */
	static const struct {
		const char *name;
		int records;
	} logs[] = {{"second", 1}, {"third", 5}, {"forth", 7}, {"fifth", 7}};
	json_t *runs;

	(void)state;
	start_run("first0", "x");
	start_run("first1", "x");
	json_decref(list(10));
	for (size_t k = 0; k < ELEMENTS(logs); k++) {
		assert_int_equal(unlink(in_directory("audit.log")), 0);
		assert_int_equal(unlink(in_directory("audit.head")), 0);
		for (int i = 0; i < logs[k].records; i++) {
			char id[16];

			snprintf(id, sizeof(id), "%s%d", logs[k].name, i);
			start_run(id, "x");
		}
		runs = list(10);
		assert_int_equal(json_array_size(runs), logs[k].records);
		for (int i = 0; i < logs[k].records; i++)
			assert_memory_equal(text_at(runs, i, "id"), logs[k].name,
					    strlen(logs[k].name));
		json_decref(runs);
	}
}

static void a_log_that_does_not_hold_together_is_said(void **state)
{
	struct store *store = NULL;
	struct error *error = NULL;
	int fd;

	(void)state;
	start_run("r1", "x");
	start_run("r2", "x");
	fd = open(in_directory("audit.log"), O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "}", 1, 0), 1);
	close(fd);
	assert_int_equal(store_open(directory, &store, &error), -E_INPUT);
	assert_non_null(strstr(error->hint, "ward audit verify"));
	error_free(error);
}

static void files_are_for_their_owner_alone(void **state)
{
	const char *const names[] = {"state.db", "state.db-wal", "state.db-shm"};
	struct store *store = must_open();

	(void)state;
	for (size_t i = 0; i < ELEMENTS(names); i++) {
		struct stat st;

		assert_int_equal(stat(in_directory(names[i]), &st), 0);
		assert_int_equal(st.st_mode & 07777, 0600);
	}
	store_close(store);
}

static void twenty_openings_at_once_all_succeed(void **state)
{
	pid_t children[20];

	(void)state;
	for (size_t i = 0; i < ELEMENTS(children); i++) {
		children[i] = fork();
		if (children[i] == 0) {
			char id[16];

			snprintf(id, sizeof(id), "run%zu", i);
			start_run(id, "x");
			json_decref(list(100));
			end_run(id, 0);
			/* Openings and closings side by side: whoever closes last takes SQLite's
			 * own log away, and must know that it is the last. */
			for (int k = 0; k < 50; k++)
				json_decref(list(100));
			_exit(0);
		}
	}
	for (size_t i = 0; i < ELEMENTS(children); i++) {
		int status;

		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
	json_t *runs = list(100);

	assert_int_equal(json_array_size(runs), 20);
	for (size_t i = 0; i < 20; i++)
		assert_true(json_is_true(json_object_get(json_array_get(runs, i), "ended")));
	json_decref(runs);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_empty_log_has_no_runs),
		TEST(runs_are_listed_newest_first_with_what_became_of_them),
		TEST(what_the_log_gains_is_taken_in_at_the_next_opening),
		TEST(a_run_is_found_by_id_prefix_and_last),
		TEST(the_whole_record_of_a_run_is_kept),
		TEST(a_deleted_database_is_made_anew),
		TEST(a_damaged_database_is_moved_aside_and_made_anew),
		TEST(a_database_without_its_tables_is_made_anew),
		TEST(a_database_of_a_newer_ward_is_left_alone),
		TEST(a_new_log_replaces_what_the_old_one_said),
		TEST(a_log_that_does_not_hold_together_is_said),
		TEST(files_are_for_their_owner_alone),
		TEST(twenty_openings_at_once_all_succeed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
