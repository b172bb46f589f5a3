/* SPDX-License-Identifier: Apache-2.0 */
/* Which of several rules about files counts, and variables in paths. */
#include "base/access.h"
#include "base/path.h"

#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static void the_more_specific_pattern_counts(void **state)
{
	/* Each before the one behind it. */
	static const char *const order[] = {
		"/w/a/b/c",	    "/w/a/b",	   "/w/a/xx*y", "/w/a/x*", "/w/a/*", "/w/a",
		"/w/**/secret.pem", "/w/**/*.pem", "/w/**/*",	"/w",	   "/",	     "/*",
	};
	struct file_rules rules = {0};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(order); i++)
		file_rules_add(&rules, ACCESS_READ, WEIGHT_SAID, order[i], NULL);
	for (size_t i = 0; i < rules.count; i++)
		for (size_t k = i + 1; k < rules.count; k++) {
			assert_true(file_rule_compare(&rules.items[i], &rules.items[k]) > 0);
			assert_true(file_rule_compare(&rules.items[k], &rules.items[i]) < 0);
		}
	file_rules_done(&rules);
}

static void two_stars_at_the_end_mean_the_directory(void **state)
{
	struct file_rules rules = {0};

	(void)state;
	file_rules_add(&rules, ACCESS_READ, WEIGHT_SAID, "/w/a/**", NULL);
	file_rules_add(&rules, ACCESS_READ, WEIGHT_SAID, "/w/a", NULL);
	assert_string_equal(rules.items[0].pattern, "/w/a");
	assert_int_equal(file_rule_compare(&rules.items[0], &rules.items[1]), 0);
	file_rules_done(&rules);
}

static void an_exact_path_counts_before_a_glob_of_as_many_characters(void **state)
{
	struct file_rules rules = {0};

	(void)state;
	/* Same fixed part, same literals: the class stands for nothing known. */
	file_rules_add(&rules, ACCESS_READ, WEIGHT_SAID, "/w", NULL);
	file_rules_add(&rules, ACCESS_READ, WEIGHT_SAID, "/w[ab]", NULL);
	assert_true(file_rule_compare_specific(&rules.items[0], &rules.items[1]) > 0);
	file_rules_done(&rules);
}

static void deny_wins_a_tie_then_read_only_then_write(void **state)
{
	struct file_rules rules = {0};

	(void)state;
	for (enum access access = ACCESS_DENY; access <= ACCESS_READ; access++)
		file_rules_add(&rules, access, WEIGHT_SAID, "/w/a", NULL);
	for (size_t i = 0; i + 1 < rules.count; i++)
		assert_true(file_rule_compare(&rules.items[i], &rules.items[i + 1]) > 0);
	file_rules_done(&rules);
}

/* The rules that speak of one path, and what becomes of it. */
static void what_becomes_of_a_path(void **state)
{
	static const struct {
		struct {
			enum access access;
			enum weight weight;
			const char *pattern;
			bool hold;
		} rules[4];
		enum state expected;
	} cases[] = {
		{{{0}}, STATE_READ_ONLY},
		{{{ACCESS_WRITE, WEIGHT_SAID, "/w", 0}}, STATE_WRITABLE},
		{{{ACCESS_WRITE, WEIGHT_SAID, "/w", 0}, {ACCESS_DENY, WEIGHT_SAID, "/w/s", 0}},
		 STATE_DENIED},
		{{{ACCESS_WRITE, WEIGHT_SAID, "/w", 0},
		  {ACCESS_DENY, WEIGHT_SAID, "/w/s", 0},
		  {ACCESS_READ, WEIGHT_SAID, "/w/s/p", 0}},
		 STATE_READ_ONLY},
		{{{ACCESS_DENY, WEIGHT_SAID, "/w/s", 0}, {ACCESS_WRITE, WEIGHT_SAID, "/w/s/p", 0}},
		 STATE_WRITABLE},
		/* Read says nothing of writing. */
		{{{ACCESS_WRITE, WEIGHT_SAID, "/w", 0}, {ACCESS_READ, WEIGHT_SAID, "/w/p", 0}},
		 STATE_WRITABLE},
		{{{ACCESS_WRITE, WEIGHT_SAID, "/w", 0}, {ACCESS_READ_ONLY, WEIGHT_SAID, "/w/p", 0}},
		 STATE_READ_ONLY},
		/* What is built in: lifted by a read of anything above it, by write only if it is
		 * named as closely. */
		{{{ACCESS_DENY, WEIGHT_DEFAULT, "/h/.aws/credentials", 0},
		  {ACCESS_READ, WEIGHT_SAID, "/h", 0}},
		 STATE_READ_ONLY},
		{{{ACCESS_DENY, WEIGHT_DEFAULT, "/h/.aws/credentials", 0},
		  {ACCESS_WRITE, WEIGHT_SAID, "/h", 0}},
		 STATE_DENIED},
		{{{ACCESS_DENY, WEIGHT_DEFAULT, "/w/**/.env", 0},
		  {ACCESS_WRITE, WEIGHT_SAID, "/w", 0},
		  {ACCESS_WRITE, WEIGHT_SAID, "/w/.env", 0}},
		 STATE_WRITABLE},
		{{{ACCESS_DENY, WEIGHT_DEFAULT, "/h/.aws/credentials", 0},
		  {ACCESS_READ, WEIGHT_SAID, "/h", 0},
		  {ACCESS_DENY, WEIGHT_SAID, "/h/.aws", 0}},
		 STATE_DENIED},
		/* ward's own. */
		{{{ACCESS_DENY, WEIGHT_ALWAYS, "/h/.local/state/ward", 0},
		  {ACCESS_WRITE, WEIGHT_SAID, "/h/.local/state/ward/audit.log", 0}},
		 STATE_DENIED},
		/* What follows from something else gives way to what was said. */
		{{{ACCESS_WRITE, WEIGHT_IMPLIED, "/m/.git/objects", 0},
		  {ACCESS_DENY, WEIGHT_SAID, "/m", 0}},
		 STATE_DENIED},
		{{{ACCESS_WRITE, WEIGHT_IMPLIED, "/m/.git/objects", 0},
		  {ACCESS_READ_ONLY, WEIGHT_SAID, "/m", 0}},
		 STATE_READ_ONLY},
		/* A hold takes writing away and opens nothing. */
		{{{ACCESS_WRITE, WEIGHT_SAID, "/w", 0}, {ACCESS_READ_ONLY, WEIGHT_SAID, "/w/v", 1}},
		 STATE_READ_ONLY},
		{{{ACCESS_DENY, WEIGHT_SAID, "/w/s", 0},
		  {ACCESS_READ_ONLY, WEIGHT_SAID, "/w/s/p", 1}},
		 STATE_DENIED},
		{{{ACCESS_DENY, WEIGHT_DEFAULT, "/w/**/.env", 0},
		  {ACCESS_READ_ONLY, WEIGHT_SAID, "/w/.env", 1}},
		 STATE_DENIED},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		const struct file_rule *speaking[4], *behind = NULL;
		struct file_rules rules = {0};

		for (size_t k = 0; k < 4 && cases[i].rules[k].pattern; k++)
			file_rules_add(&rules, cases[i].rules[k].access, cases[i].rules[k].weight,
				       cases[i].rules[k].pattern, NULL)
				->hold = cases[i].rules[k].hold;
		for (size_t k = 0; k < rules.count; k++)
			speaking[k] = &rules.items[k];
		if (file_rules_decide(speaking, rules.count, &behind) != cases[i].expected)
			fail_msg("case %zu", i);
		/* The order in which they are said is of no account. */
		for (size_t k = 0; k < rules.count; k++)
			speaking[k] = &rules.items[rules.count - 1 - k];
		if (file_rules_decide(speaking, rules.count, &behind) != cases[i].expected)
			fail_msg("case %zu, the other way round", i);
		file_rules_done(&rules);
	}
}

/* Whatever was said, one more deny never opens anything, and one more hold neither. */
static void one_more_deny_only_narrows(void **state)
{
	static const char *const patterns[] = {"/w", "/w/a", "/w/*", "/w/**/b", "/w/a/b", "/w/a/*"};
	unsigned seed = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		const struct file_rule *speaking[8], *behind;
		struct file_rules rules = {0};
		enum state before, after;
		size_t count;

		for (count = (size_t)(rand_r(&seed) % 6); rules.count < count;) {
			struct file_rule *rule = file_rules_add(
				&rules, (enum access)(rand_r(&seed) % 4),
				(enum weight)(rand_r(&seed) % 3),
				patterns[(size_t)rand_r(&seed) % ELEMENTS(patterns)], NULL);

			if (rule->weight == WEIGHT_DEFAULT)
				rule->access = ACCESS_DENY;
		}
		file_rules_add(&rules, round % 2 ? ACCESS_DENY : ACCESS_READ_ONLY, WEIGHT_SAID,
			       patterns[(size_t)rand_r(&seed) % ELEMENTS(patterns)], NULL)
			->hold = round % 2 == 0;
		for (size_t i = 0; i < rules.count; i++)
			speaking[i] = &rules.items[i];
		before = file_rules_decide(speaking, rules.count - 1, &behind);
		after = file_rules_decide(speaking, rules.count, &behind);
		assert_true(after <= before);
		file_rules_done(&rules);
	}
}

static void the_innermost_area_is_found(void **state)
{
	struct areas areas = {0};

	(void)state;
	areas_add(&areas, "/w", STATE_WRITABLE, NULL);
	areas_add(&areas, "/w/s", STATE_DENIED, "deny: s");
	areas_add(&areas, "/w/s/p", STATE_READ_ONLY, NULL);
	assert_int_equal(areas_find(&areas, "/w/x")->state, STATE_WRITABLE);
	assert_int_equal(areas_find(&areas, "/w/s")->state, STATE_DENIED);
	assert_int_equal(areas_find(&areas, "/w/ss")->state, STATE_WRITABLE);
	assert_int_equal(areas_find(&areas, "/w/s/p/q")->state, STATE_READ_ONLY);
	assert_null(areas_find(&areas, "/v"));
	areas_done(&areas);
}

static void variables_in_paths(void **state)
{
	static const struct {
		const char *text, *expected, *name;
	} cases[] = {
		{"$A_TEST/x", "/a b/x", ""},
		{"${A_TEST}x", "/a bx", ""},
		{"x$A_TEST", "x/a b", ""},
		{"a$", "a$", ""},
		{"a$/b", "a$/b", ""},
		{"$1", "$1", ""},
		{"[$]HOME", "[$]HOME", ""},
		{"$A_NONE", NULL, "A_NONE"},
		{"${A_NONE}", NULL, "A_NONE"},
		{"${A_TEST", NULL, "A_TEST"},
		{"${}", NULL, ""},
		{"$A_EMPTY", NULL, "A_EMPTY"},
		{"$A_GLOB", NULL, "A_GLOB"},
		{"${A_TEST/x}", NULL, "A_TEST"},
		{"${A_TEST:-/other}/x", "/a b/x", ""},
		{"${A_NONE:-~/other}/x", "~/other/x", ""},
		{"${A_EMPTY:-/other}", "/other", ""},
		{"${A_NONE:-/o*}", "/o*", ""},
		{"${A_GLOB:-/other}", NULL, "A_GLOB"},
		{"${A_NONE:-/other", NULL, "A_NONE"},
		{"${A_NONE-/other}", NULL, "A_NONE"},
	};

	(void)state;
	setenv("A_TEST", "/a b", 1);
	setenv("A_EMPTY", "", 1);
	setenv("A_GLOB", "/x*", 1);
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		const char *fault = NULL;
		char name[16] = "";
		char *text = path_expand(cases[i].text, name, sizeof(name), &fault);

		if (cases[i].expected) {
			assert_string_equal(text, cases[i].expected);
		} else {
			assert_null(text);
			assert_non_null(fault);
			assert_string_equal(name, cases[i].name);
		}
		free(text);
	}
}

/* fnmatch() is the oracle: it is right, but takes exponential time over many stars. */
static void components_match_as_in_a_shell(void **state)
{
	static const char *const pieces[] = {"*",    "?",    "a",	    "b",    "ab",   "x",
					     "[ab]", "[!a]", "[a-c]",	    "[]a]", "[a-]", "[^b]",
					     "[",    "-",    "[[:alpha:]]", "[b"};
	static const char letters[] = "abcx-[]1";
	unsigned seed = 11, matched = 0;

	(void)state;
	for (int round = 0; round < 200000; round++) {
		char pattern[128] = "", text[16] = "";
		bool expected;

		for (int i = rand_r(&seed) % 6; i > 0; i--)
			strcat(pattern, pieces[(size_t)rand_r(&seed) % ELEMENTS(pieces)]);
		for (int i = 0, length = rand_r(&seed) % 7; i < length; i++)
			text[i] = letters[(size_t)rand_r(&seed) % (sizeof(letters) - 1)];
		expected = fnmatch(pattern, text, FNM_NOESCAPE) == 0;
		matched += expected;
		if (path_component_matches(pattern, strlen(pattern), text, strlen(text)) !=
		    expected)
			fail_msg("'%s' on '%s' should%s match", pattern, text,
				 expected ? "" : " not");
	}
	assert_true(matched > 1000);
}

static void many_stars_take_no_time(void **state)
{
	char text[256], pattern[] = "*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b";
	clock_t begin = clock();

	(void)state;
	memset(text, 'a', sizeof(text));
	for (int i = 0; i < 100; i++)
		assert_false(path_component_matches(pattern, strlen(pattern), text, sizeof(text)));
	assert_true(clock() - begin < CLOCKS_PER_SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_more_specific_pattern_counts),
		cmocka_unit_test(two_stars_at_the_end_mean_the_directory),
		cmocka_unit_test(an_exact_path_counts_before_a_glob_of_as_many_characters),
		cmocka_unit_test(deny_wins_a_tie_then_read_only_then_write),
		cmocka_unit_test(what_becomes_of_a_path),
		cmocka_unit_test(one_more_deny_only_narrows),
		cmocka_unit_test(the_innermost_area_is_found),
		cmocka_unit_test(variables_in_paths),
		cmocka_unit_test(components_match_as_in_a_shell),
		cmocka_unit_test(many_stars_take_no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
