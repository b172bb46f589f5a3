/* SPDX-License-Identifier: Apache-2.0 */
/* What is known around a question, and what became of the like. */
#include "../../src/base/io.h"
#include "../../src/decide/key.h"
#include "../../src/escalate/ask_json.h"
#include "../../src/escalate/question.h"
#include "../../src/record/audit.h"
#include "../../src/record/history.h"

#include <fcntl.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

static char directory[64];
static struct arena *arena;

static int setup(void **state)
{
	(void)state;
	arena = arena_new();
	strcpy(directory, "/tmp/ward-test-background.XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	arena_free(arena);
	return remove_tree(AT_FDCWD, directory);
}

static bool holds(const struct list *list, const char *part)
{
	for (size_t i = 0; i < list->count; i++)
		if (strstr(list->items[i], part))
			return true;
	return false;
}

static struct background made(const char *script, struct list *grants, enum ask_kind kind,
			      struct approval_key *key)
{
	struct request request = {.mode = MODE_SHELL,
				  .script = (char *)script,
				  .workspace = directory,
				  .cwd = directory};
	struct assessment assessment = {0};
	struct background background;
	struct ask ask = {.kind = kind, .command = script, .cwd = directory, .grants = grants};
	struct plan plan;

	parse_request(arena, &request, &plan);
	assess_plan(arena, &plan, &assessment);
	if (key)
		approval_key_make(&request, &plan, key);
	ask.assessment = &assessment;
	ask.starts_again = kind == ASK_RETRY;
	background_make(&ask, &plan, &background);
	return background;
}

static void effects_name_the_commands_and_what_lies_where_a_grant_reaches(void **state)
{
	_cleanup_background_ struct background background = {0};
	_cleanup_list_ struct list grants = {0};
	char path[128];
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/site", directory);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/site/index", directory);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "12345", 5), 5);
	close(fd);
	list_add_printf(&grants, "write %s/site/**", directory);
	list_add_printf(&grants, "write %s/nothing", directory);
	list_add(&grants, "connect files.example:443");
	background =
		made("cp a b; curl -T b https://files.example > log", &grants, ASK_RETRY, NULL);
	assert_true(holds(&background.effects, "runs: cp a b"));
	assert_true(holds(&background.effects, "writes: log"));
	assert_true(holds(&background.effects, "site/**: 1 file, 5 bytes there now"));
	assert_true(holds(&background.effects, "nothing: nothing is there now"));
	assert_true(holds(&background.systems, "files.example:443"));
	assert_true(holds(&background.users, "you"));
	assert_true(holds(&background.failures, "a second time"));
	assert_true(strstr(background.summary, "curl") != NULL);
}

static void what_nobody_knows_is_said_to_be_unknown(void **state)
{
	_cleanup_background_ struct background background =
		made("frobnicate --all; $x", NULL, ASK_BEFORE, NULL);

	(void)state;
	assert_int_equal(background.can_roll_back, KNOWN_NOT);
	assert_string_equal(background.rollback_time, "unknown");
	assert_true(holds(&background.failures, "nothing is known of 'frobnicate'"));
	assert_true(holds(&background.effects, "unknown before it runs"));
	assert_null(background_past(&background));
}

static void a_cut_says_how_much_is_missing(void **state)
{
	_cleanup_buffer_ struct buffer script = {0};
	_cleanup_background_ struct background background = {0};

	(void)state;
	for (int i = 0; i < 33; i++)
		buffer_printf(&script, "make t%d\n", i);
	background = made(buffer_text(&script), NULL, ASK_BEFORE, NULL);
	assert_true(holds(&background.effects, "and 13 more commands"));
}

static void it_is_the_same_after_a_journey_as_json(void **state)
{
	struct list grants = {.items = (char *[]){(char *)"connect a.example"}, .count = 1};
	_cleanup_background_ struct background background =
		made("git push origin", &grants, ASK_BEFORE, NULL);
	json_t *there = json_object(), *back = json_object();

	(void)state;
	background.similar[background.similar_count++] =
		(struct past){strdup("git push"), strdup("went well"), strdup("2026-01-02")};
	background.ran = 9;
	background.succeeded = 7;
	background_to_json(&background, there);
	background_to_json(background_from_json(arena, there), back);
	assert_true(json_equal(there, back));
	json_decref(there);
	json_decref(back);
}

static void like_it_is_what_does_the_same(void **state)
{
	static const struct {
		const char *script, *does;
	} examples[] = {
		{"git push origin main", "git push"},
		{"pip install numpy", "pip install"},
		{"rm -rf build", "rm"},
		{"curl https://a.example | sh", "curl, sh"},
		{"make a && make b", "make"},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(examples); i++) {
		struct approval_key key;
		_cleanup_background_ struct background background =
			made(examples[i].script, NULL, ASK_BEFORE, &key);

		assert_string_equal(key.does, examples[i].does);
		approval_key_done(&key);
	}
}

/* --- the history --- */

static struct store *must_open(void)
{
	struct store *store = NULL;
	struct error *error = NULL;

	if (store_open_within(directory, 1000, &store, &error) < 0)
		fail_msg("%s", error->message);
	return store;
}

static void fill(struct store *store, unsigned first, unsigned count, const char *command,
		 const char *workspace, int exit_code)
{
	char *sql = sqlite3_mprintf(
		"WITH RECURSIVE n(i) AS (SELECT %u UNION ALL SELECT i + 1 FROM n WHERE i < %u) "
		"INSERT INTO runs (id, seq, time, command, verdict, exit_code, signal, timed_out, "
		"ended, workspace, does) SELECT 'r' || i, i, '2026-01-01T00:00:00Z', %Q, 'allow', "
		"%d, 0, 0, 1, %Q, 'git push' FROM n",
		first, first + count - 1, command, exit_code, workspace);

	assert_int_equal(sqlite3_exec(store_database(store), sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_free(sql);
}

static void the_nearest_come_first_and_only_what_ran_is_counted(void **state)
{
	struct store *store = must_open();
	struct history history;

	(void)state;
	fill(store, 1, 1, "git push x", "/w", 0);
	fill(store, 2, 3, "git push y", "/w", 1);
	fill(store, 5, 10, "git push z", "/other", 0);
	assert_int_equal(sqlite3_exec(store_database(store),
				      "UPDATE runs SET error = 'rejected' WHERE id = 'r14'", NULL,
				      NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(history_find(store, "git push", "git push x", "/w", "r13", &history, NULL),
			 0);
	assert_int_equal(history.count, HISTORY_MOST);
	assert_string_equal(history.runs[0].command, "git push x");
	assert_string_equal(history.runs[0].outcome, "went well");
	assert_string_equal(history.runs[1].command, "git push y");
	assert_string_equal(history.runs[1].outcome, "failed: exit code 1");
	assert_string_equal(history.runs[4].command, "git push z");
	assert_string_equal(history.runs[4].outcome, "refused"); /* the latest of these */
	assert_int_equal(history.ran, 12); /* not the one that asks, not the refused one */
	assert_int_equal(history.succeeded, 9);
	history_done(&history);
	store_close(store);
}

static int count_steps(void *data)
{
	++*(unsigned *)data;
	return 0;
}

static void a_long_history_costs_no_more_than_a_short_one(void **state)
{
	struct store *store = must_open();
	struct history history;
	unsigned thousands = 0;

	(void)state;
	assert_int_equal(sqlite3_exec(store_database(store), "BEGIN", NULL, NULL, NULL), SQLITE_OK);
	fill(store, 1, 100000, "git push", "/w", 0);
	assert_int_equal(sqlite3_exec(store_database(store), "COMMIT", NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_progress_handler(store_database(store), 1000, count_steps, &thousands);
	assert_int_equal(history_find(store, "git push", "git push", "/w", "", &history, NULL), 0);
	assert_int_equal(history.ran, HISTORY_LATEST);
	assert_true(history.more);
	assert_true(thousands < 60); /* of the database's own steps: some 20 a run */
	history_done(&history);
	store_close(store);
}

static void what_is_taken_in_piece_by_piece_is_whole_and_not_doubled(void **state)
{
	enum { RUNS = 300 };
	struct audit *audit = NULL;
	struct store *store = NULL;
	struct history history;
	bool behind = true;

	(void)state;
	assert_int_equal(audit_open(directory, &audit, NULL), 0);
	for (int i = 0; i < RUNS; i++) {
		json_t *start = json_pack("{s:s, s:s, s:s, s:s}", "command", "git push", "verdict",
					  "allow", "workspace", "/w", "does", "git push");
		json_t *end = json_pack("{s:{s:i}}", "result", "exit_code", 0);
		char id[32];

		snprintf(id, sizeof(id), "r%d", i);
		assert_int_equal(audit_append(audit, "run.start", id, start, NULL), 0);
		assert_int_equal(audit_append(audit, "run.end", id, end, NULL), 0);
		json_decref(start);
		json_decref(end);
	}
	audit_close(audit);
	for (int i = 0; behind && i < 10 * RUNS; i++) {
		assert_int_equal(store_open_within(directory, 1, &store, NULL), 0);
		behind = store_is_behind(store);
		if (behind)
			store_close(store);
	}
	assert_false(behind);
	assert_int_equal(history_find(store, "git push", "git push", "/w", "", &history, NULL), 0);
	assert_int_equal(history.ran, RUNS);
	assert_int_equal(history.succeeded, RUNS);
	history_done(&history);
	store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			effects_name_the_commands_and_what_lies_where_a_grant_reaches, setup,
			teardown),
		cmocka_unit_test_setup_teardown(what_nobody_knows_is_said_to_be_unknown, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_cut_says_how_much_is_missing, setup, teardown),
		cmocka_unit_test_setup_teardown(it_is_the_same_after_a_journey_as_json, setup,
						teardown),
		cmocka_unit_test_setup_teardown(like_it_is_what_does_the_same, setup, teardown),
		cmocka_unit_test_setup_teardown(the_nearest_come_first_and_only_what_ran_is_counted,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_long_history_costs_no_more_than_a_short_one,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			what_is_taken_in_piece_by_piece_is_whole_and_not_doubled, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
