/* SPDX-License-Identifier: Apache-2.0 */
/* Figures about questions: what is counted, what is not, and the rules that would have spared most.
 */
#include "base/io.h"
#include "record/audit.h"
#include "record/stats.h"

#include <fcntl.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static char directory[64];
static struct store *store;

static int setup(void **state)
{
	(void)state;
	strcpy(directory, "/tmp/ward-test-stats.XXXXXX");
	return mkdtemp(directory) && store_open(directory, &store, NULL) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	store_close(store);
	return remove_tree(AT_FDCWD, directory);
}

static void sql(const char *text)
{
	char *fault = NULL;

	if (sqlite3_exec(store_database(store), text, NULL, NULL, &fault) != SQLITE_OK)
		fail_msg("%s: %s", text, fault);
}

/* So many commands of an agent, `ago` days ago. */
static void add_runs(const char *agent, int ago, int count)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) "
		 "INSERT INTO runs (id, "
		 "seq, time, agent, ended) SELECT lower(hex(randomblob(8))), abs(random()), "
		 "date('now', '-%d days') || "
		 "'T12:00:00.000Z', %s, 1 FROM n",
		 count, ago, agent);
	sql(text);
}

static int64_t last;

/* A question with its answer; values are SQL. Its number. */
static int64_t add_ask(const char *agent, int ago, const char *command, const char *answer,
		       const char *by, int took)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "INSERT INTO asks (seq, run, time, agent, command, cwd, covers, answer, by, tier, "
		 "took_ms) VALUES (%lld, "
		 "'r', date('now', '-%d days') || 'T12:00:00.000Z', %s, %s, '/w', NULL, %s, %s, 0, "
		 "%d)",
		 (long long)++last, ago, agent, command, answer, by, took);
	sql(text);
	return last;
}

static void add_rule(int64_t ask, const char *what, int denies, const char *rule)
{
	char text[512];

	snprintf(text, sizeof(text), "INSERT INTO ask_rules VALUES (%lld, %s, %d, %s)",
		 (long long)ask, what, denies, rule);
	sql(text);
}

static json_t *stats(unsigned days, const char *agent)
{
	struct error *error = NULL;
	json_t *found = NULL;

	if (stats_json(store, days, agent, &found, &error) < 0)
		fail_msg("%s", error->message);
	return found;
}

static json_int_t number(const json_t *object, const char *key)
{
	assert_true(json_is_integer(json_object_get(object, key)));
	return json_integer_value(json_object_get(object, key));
}

static void nothing_on_record_gives_no_figures(void **state)
{
	json_t *all = stats(3, NULL);

	(void)state;
	assert_int_equal(number(all, "commands"), 0);
	assert_int_equal(number(all, "asks"), 0);
	assert_true(json_is_null(json_object_get(all, "asks_per_100")));
	assert_true(json_is_null(json_object_get(all, "approved_share")));
	assert_true(json_is_null(json_object_get(all, "median_ms")));
	assert_int_equal(json_array_size(json_object_get(all, "by_day")), 3);
	assert_int_equal(json_array_size(json_object_get(all, "rules")), 0);
	json_decref(all);
}

static void figures_are_those_of_the_days_and_the_agent(void **state)
{
	json_t *all, *one, *day;

	(void)state;
	add_runs("'a'", 0, 150);
	add_runs("'b'", 1, 50);
	add_runs("NULL", 40, 1000);
	add_ask("'a'", 0, "'x'", "'approve'", "'me@pts/1'", 1000);
	add_ask("'a'", 0, "'x'", "'approve'", "'me@pts/2'", 3000);
	add_ask("'a'", 0, "'x'", "'deny'", "'you'", 9000);
	add_ask("'b'", 1, "'y'", "'nobody'", "NULL", 60000);
	add_ask("'b'", 40, "'y'", "'deny'", "'me'", 5);
	sql("UPDATE asks SET tier = 0");
	add_ask("'a'", 0, "'x'", "'defer'", "'me'", 5);
	add_ask("'a'", 0, "'x'", "'approve'", "'tier low'", 5);
	sql("UPDATE asks SET tier = 1 WHERE by = 'tier low'");
	all = stats(30, NULL);
	assert_int_equal(number(all, "commands"), 200);
	assert_int_equal(number(all, "asks"), 4);
	assert_true(json_real_value(json_object_get(all, "asks_per_100")) == 2.0);
	assert_int_equal(number(all, "approved"), 2);
	assert_int_equal(number(all, "denied"), 1);
	assert_int_equal(number(all, "unanswered"), 1);
	assert_int_equal(number(all, "median_ms"), 3000);
	assert_int_equal(json_array_size(json_object_get(all, "by_day")), 30);
	day = json_array_get(json_object_get(all, "by_day"), 29);
	assert_int_equal(number(day, "commands"), 150);
	assert_int_equal(number(day, "asks"), 3);
	assert_int_equal(json_array_size(json_object_get(all, "by_agent")), 2);
	/* One person at two terminals is one. */
	assert_int_equal(json_array_size(json_object_get(all, "by_approver")), 2);
	one = json_array_get(json_object_get(all, "by_approver"), 0);
	assert_string_equal(json_string_value(json_object_get(one, "by")), "me");
	assert_int_equal(number(one, "median_ms"), 2000);
	json_decref(all);
	all = stats(30, "b");
	assert_int_equal(number(all, "commands"), 50);
	assert_int_equal(number(all, "asks"), 1);
	json_decref(all);
	all = stats(100, NULL);
	assert_int_equal(number(all, "commands"), 1200);
	assert_int_equal(number(all, "asks"), 5);
	json_decref(all);
}

static bool warns(void)
{
	json_t *all = stats(30, NULL);
	bool found = json_array_size(json_object_get(all, "warnings")) > 0;

	json_decref(all);
	return found;
}

static void whoever_says_yes_to_nearly_all_at_once_is_named(void **state)
{
	(void)state;
	for (int i = 0; i < 19; i++)
		add_ask("NULL", 0, "'x'", "'approve'", "'me@pts/1'", 1500);
	assert_false(warns()); /* too few to tell */
	add_ask("NULL", 0, "'x'", "'approve'", "'me@pts/1'", 9000);
	assert_true(warns()); /* 19 of 20 */
	add_ask("NULL", 0, "'x'", "'deny'", "'me@pts/1'", 500);
	assert_false(warns()); /* 19 of 21: a no in between is a thought */
	for (int i = 0; i < 40; i++)
		add_ask("NULL", 0, "'x'", "'approve'", "'slow'", 2001);
	assert_false(warns());
}

static void rules_are_those_that_spare_most_each_for_itself(void **state)
{
	json_t *all, *rules, *rule;

	(void)state;
	/* Three files in one directory, of which one was asked for twice: the directory covers all.
	 */
	for (int i = 0; i < 4; i++) {
		const char *what = i < 2    ? "'k' || char(31) || '[\"write /d/1\"]'"
				   : i == 2 ? "'k2'"
					    : "'k3'";
		int64_t ask =
			add_ask("NULL", 0, i % 2 ? "'x 1'" : "'x 2'", "'approve'", "'me'", 5000);

		add_rule(ask, what, 0, "'- narrow'");
		add_rule(ask, "'k' || char(31) || '[\"write /d/**\"]'", 0, "'- wide'");
	}
	/* What was not always answered alike is no rule. */
	for (int i = 0; i < 6; i++)
		add_rule(add_ask("NULL", 0, "'z'", i ? "'approve'" : "'deny'", "'me'", 5000),
			 "'mixed'", 0, "'- mixed'");
	/* What was always refused is one, too. */
	for (int i = 0; i < 3; i++)
		add_rule(add_ask("NULL", 0, "'n'", "'deny'", "'me'", 5000), "'never'", 1,
			 "'- never'");
	add_rule(add_ask("NULL", 0, "'once'", "'approve'", "'me'", 5000), "'once'", 0, "'- once'");
	sql("UPDATE asks SET covers = 'pip install' WHERE command LIKE 'x%'");
	all = stats(30, NULL);
	rules = json_object_get(all, "rules");
	assert_int_equal(json_array_size(rules), 2);
	rule = json_array_get(rules, 0);
	assert_string_equal(json_string_value(json_object_get(rule, "rule")), "- wide");
	assert_int_equal(number(rule, "asks"), 4);
	assert_int_equal(number(rule, "commands"), 2);
	assert_non_null(
		strstr(json_string_value(json_object_get(rule, "admits")), "every 'pip install'"));
	assert_non_null(strstr(json_string_value(json_object_get(rule, "admits")), "write /d/**"));
	rule = json_array_get(rules, 1);
	assert_string_equal(json_string_value(json_object_get(rule, "rule")), "- never");
	assert_string_equal(json_string_value(json_object_get(rule, "do")), "deny");
	assert_non_null(strstr(json_string_value(json_object_get(rule, "admits")),
			       "exactly this command in /w"));
	json_decref(all);
}

static void append(const char *kind, json_t *body)
{
	struct audit *audit = NULL;

	assert_int_equal(audit_open(directory, &audit, NULL), 0);
	assert_int_equal(audit_append(audit, kind, "run1", body, NULL), 0);
	audit_close(audit);
	json_decref(body);
}

static void questions_and_answers_are_taken_from_the_log(void **state)
{
	json_t *all, *rule;

	(void)state;
	for (int i = 0; i < 2; i++) {
		append("ask", json_pack("{s:s, s:s, s:s, s:s, s:s, s:[{s:s, s:[s], s:s}]}", "ask",
					"grant", "agent", "robot", "command", "make", "cwd", "/w",
					"key", "the key", "rules", "do", "allow", "grants",
					"write /d", "rule", "- {command: make}"));
		append("answer", json_pack("{s:s, s:s, s:s}", "answer", "approve", "scope", "once",
					   "by", "me@pts/3"));
	}
	/* An answer without a question of its own counts for none. */
	append("answer", json_pack("{s:s, s:s}", "answer", "deny", "by", "me@pts/3"));
	append("ask",
	       json_pack("{s:s, s:s, s:s}", "ask", "grant", "agent", "robot", "command", "other"));
	store_close(store);
	assert_int_equal(store_open(directory, &store, NULL), 0);
	/* The last one stands: it may be answered yet. */
	all = stats(2, "robot");
	assert_int_equal(number(all, "asks"), 2);
	assert_int_equal(number(all, "unanswered"), 0);
	json_decref(all);
	append("run.end", json_pack("{s:{s:i}}", "result", "exit_code", 1));
	store_close(store);
	assert_int_equal(store_open(directory, &store, NULL), 0);
	all = stats(2, "robot");
	assert_int_equal(number(all, "asks"), 3);
	assert_int_equal(number(all, "approved"), 2);
	assert_int_equal(number(all, "denied"), 0);
	assert_int_equal(number(all, "unanswered"), 1);
	rule = json_array_get(json_object_get(all, "rules"), 0);
	assert_string_equal(json_string_value(json_object_get(rule, "rule")), "- {command: make}");
	assert_int_equal(number(rule, "asks"), 2);
	json_decref(all);
}

static void a_hundred_thousand_runs_are_counted(void **state)
{
	json_t *all;

	(void)state;
	for (int ago = 0; ago < 100; ago++)
		add_runs("'a'", ago, 1000);
	sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
	    "INSERT INTO asks (seq, run, time, "
	    "agent, command, cwd, answer, by, tier, took_ms) SELECT i, 'r', date('now', '-' || (i "
	    "% 100) || ' days') || "
	    "'T10:00:00.000Z', 'a', 'x' || (i % 7), '/w', 'approve', 'me', 0, i FROM n;"
	    "INSERT INTO ask_rules SELECT seq, 'k' || (seq % 500), 0, '- r' FROM asks;");
	all = stats(100, NULL);
	assert_int_equal(number(all, "commands"), 100000);
	assert_int_equal(number(all, "asks"), 20000);
	assert_int_equal(json_array_size(json_object_get(all, "by_day")), 100);
	assert_int_equal(json_array_size(json_object_get(all, "rules")), STATS_RULES);
	json_decref(all);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_on_record_gives_no_figures),
		TEST(figures_are_those_of_the_days_and_the_agent),
		TEST(whoever_says_yes_to_nearly_all_at_once_is_named),
		TEST(rules_are_those_that_spare_most_each_for_itself),
		TEST(questions_and_answers_are_taken_from_the_log),
		TEST(a_hundred_thousand_runs_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
