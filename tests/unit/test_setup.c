/* SPDX-License-Identifier: Apache-2.0 */
/* serve: ward's entries in the settings of agents; base: the diff that shows them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* the name is ward's */

#include "base/diff.h"
#include "serve/setup.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static void shows(const char *before, const char *after, const char *expected)
{
	_cleanup_free_ char *diff = diff_unified("f", before, after);

	assert_string_equal(diff, expected);
}

static void diff_shows_changes_with_three_lines_around(void **state)
{
	(void)state;
	shows("a\nb\n", "a\nb\n", "");
	shows(NULL, NULL, "");
	shows(NULL, "a\n", "--- /dev/null\n+++ f\n@@ -0,0 +1 @@\n+a\n");
	shows("a\n", NULL, "--- f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n");
	shows("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n",
	      "--- f\n+++ f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n");
	/* Two that meet, and two that do not. */
	shows("a\n1\n2\n3\n4\n5\n6\nb\n", "x\n1\n2\n3\n4\n5\n6\ny\n",
	      "--- f\n+++ f\n@@ -1,8 +1,8 @@\n-a\n+x\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+y\n");
	shows("a\n1\n2\n3\n4\n5\n6\n7\nb\n", "x\n1\n2\n3\n4\n5\n6\n7\ny\n",
	      "--- f\n+++ f\n@@ -1,4 +1,4 @@\n-a\n+x\n 1\n 2\n 3\n"
	      "@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+y\n");
}

static void diff_says_where_the_last_line_has_no_end(void **state)
{
	(void)state;
	shows("a", "a\n", "--- f\n+++ f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
	shows("", "a", "--- f\n+++ f\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n");
}

static void diff_of_very_many_lines_is_bounded(void **state)
{
	enum { LINES = 200000 };
	_cleanup_free_ char *old = malloc(2 * LINES + 1), *new = malloc(2 * LINES + 1),
			    *diff = NULL;

	(void)state;
	for (size_t i = 0; i < LINES; i++) {
		memcpy(old + 2 * i, i % 2 ? "a\n" : "b\n", 3);
		memcpy(new + 2 * i, i % 3 ? "c\n" : "d\n", 3);
	}
	diff = diff_unified("f", old, new);
	assert_int_equal(strlen(diff),
			 strlen("--- f\n+++ f\n@@ -1,200000 +1,200000 @@\n") + 2 * 3 * LINES);
}

static const struct setup_shape *shape(const char *name)
{
	return setup_agent_named(name)->shape;
}

static const char *const command = "ward hook || /bin/sh -c 'cat >/dev/null; exit 2'";

static char *added(const char *agent, const char *text)
{
	_cleanup_error_ struct error *error = NULL;
	char *after = NULL;

	assert_int_equal(setup_check(text, strlen(text), "f", &error), 0);
	assert_int_equal(setup_add(shape(agent), text, command, &after, &error), 0);
	assert_true(setup_is_there(shape(agent), after));
	return after;
}

static char *removed(const char *agent, const char *text, const char *original)
{
	char *after = NULL;

	assert_int_equal(setup_remove(shape(agent), text, original, &after, NULL), 0);
	assert_true(!after || !setup_is_there(shape(agent), after));
	return after;
}

static void becomes(const char *agent, const char *text, const char *expected)
{
	_cleanup_free_ char *after = added(agent, text), *again = added(agent, after);

	assert_string_equal(after, expected);
	assert_string_equal(again, expected);
}

static void entry_is_laid_out_as_the_file_is(void **state)
{
	(void)state;
	becomes("windsurf", "{\"a\": 1}",
		"{\"a\": 1, \"hooks\": {\"pre_run_command\": [{\"command\": \"ward hook || /bin/sh "
		"-c 'cat >/dev/null; exit 2'\"}], "
		"\"pre_read_code\": [{\"command\": \"ward hook || /bin/sh -c 'cat >/dev/null; exit "
		"2'\"}], "
		"\"pre_write_code\": [{\"command\": \"ward hook || /bin/sh -c 'cat >/dev/null; "
		"exit "
		"2'\"}]}}");
	becomes("claude", "{\r\n\t\"a\": 1.50\r\n}",
		"{\r\n\t\"a\": 1.50,\r\n\t\"hooks\": {\r\n\t\t\"PreToolUse\": [\r\n\t\t\t{\r\n"
		"\t\t\t\t\"matcher\": \"*\",\r\n\t\t\t\t\"hooks\": [\r\n\t\t\t\t\t{\r\n"
		"\t\t\t\t\t\t\"type\": \"command\",\r\n"
		"\t\t\t\t\t\t\"command\": \"ward hook || /bin/sh -c 'cat >/dev/null; exit 2'\",\r\n"
		"\t\t\t\t\t\t\"timeout\": "
		"60\r\n\t\t\t\t\t}\r\n\t\t\t\t]\r\n\t\t\t}\r\n\t\t]\r\n\t}\r\n}");
	becomes("cursor", "{\n  \"hooks\": {\"stop\": [{\"command\": \"x\"}]}\n}\n",
		"{\n  \"hooks\": {\"stop\": [{\"command\": \"x\"}], \"beforeShellExecution\": "
		"[{\"command\": \"ward hook || /bin/sh -c 'cat >/dev/null; exit 2'\", "
		"\"failClosed\": "
		"true}], "
		"\"beforeReadFile\": "
		"[{\"command\": \"ward hook || /bin/sh -c 'cat >/dev/null; exit 2'\", "
		"\"failClosed\": "
		"true}]},\n  \"version\": "
		"1\n}\n");
}

static void an_own_entry_is_known_and_brought_up_to_date(void **state)
{
	static const char *const older[] = {
		"ward hook",
		"/usr/bin/ward hook",
		"/old/ward hook || exit 2",
		"/older/ward hook || /bin/sh -c 'cat >/dev/null; exit 2'",
		"~/bin/ward hook",
		"/opt/ward-1.2 hook",
		"\"${HOME}/bin/ward\" hook",
		"'/old place/it'\\''s/ward' hook || exit 2"};
	static const char *const others[] = {
		"ward hooks",	"steward hook",	  "warden hook",	 "ward  hook",
		"ward hook; x", "x && ward hook", "ward run hook",	 "",
		"hook",		" hook",	  "ward hook || exit 0", "$(x)/ward hook",
		"a b/ward hook"};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(older); i++) {
		json_t *value = json_pack("{s:{s:[{s:s, s:i}]}}", "hooks", "pre_run_command",
					  "command", older[i], "timeout", 7);
		_cleanup_free_ char *before = json_dumps(value, 0), *text = NULL;
		json_t *list;

		assert_true(setup_is_there(shape("windsurf"), before));
		text = added("windsurf", before);
		json_decref(value);
		value = json_loads(text, 0, NULL);
		list = json_object_get(json_object_get(value, "hooks"), "pre_run_command");
		assert_int_equal(json_array_size(list), 1);
		assert_string_equal(
			json_string_value(json_object_get(json_array_get(list, 0), "command")),
			command);
		assert_int_equal(
			json_integer_value(json_object_get(json_array_get(list, 0), "timeout")), 7);
		json_decref(value);
	}
	for (size_t i = 0; i < ELEMENTS(others); i++) {
		json_t *value = json_pack("{s:{s:[{s:s}]}}", "hooks", "pre_run_command", "command",
					  others[i]);
		_cleanup_free_ char *text = json_dumps(value, 0);

		assert_false(setup_is_there(shape("windsurf"), text));
		json_decref(value);
	}
}

static void words_apart_become_one_command(void **state)
{
	_cleanup_free_ char *first =
		added("claude", "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"args\": "
				"[\"hook\"], \"command\": \"/a/long/way/to/ward\"}]}]}}");
	_cleanup_free_ char *text =
		added("claude", "{\"hooks\": {\"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": "
				"[{\"type\": \"command\", \"command\": \"/x/ward\", \"args\": "
				"[\"hook\"], \"timeout\": 5}]}]}}");

	(void)state;
	assert_string_equal(text,
			    "{\"hooks\": {\"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": "
			    "[{\"type\": \"command\", \"command\": \"ward hook || /bin/sh -c 'cat "
			    ">/dev/null; exit 2'\", "
			    "\"timeout\": 5}]}]}}");
	assert_string_equal(
		first, "{\"hooks\": {\"PreToolUse\": [{\"hooks\": "
		       "[{\"command\": \"ward hook || /bin/sh -c 'cat >/dev/null; exit 2'\"}]}]}}");
}

/* Adding and removing is as if nothing had been, byte for byte. */
static void removing_undoes_adding(void **state)
{
	static const char *const texts[] = {
		"{}",
		"{}\n",
		"{ }\n",
		"{\n}\n",
		"",
		"\n",
		"{\"a\":1}",
		"{\n  \"z\": [ 1,2 ],\n  \"a\": \"\\u00e9\\/\"\n}\n",
		"{\n\t\"hooks\": {}\n}",
		"{\n\t\"hooks\": { \"PreToolUse\": [ ] }\n}",
		"{\"hooks\": {\"PreToolUse\": [], \"x\": []}, \"version\": 1}",
		"{\n  \"version\": 1,\n  \"hooks\": {\"BeforeTool\": [], \"pre_run_command\": "
		"[{\"command\": \"x\"}], \"beforeReadFile\": [\n{\"command\":\"y\"}] }}",
		"{\r\n  \"hooks\": {\r\n    \"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": "
		"[{\"command\": \"x\"}]}]\r\n  }\r\n}\r\n",
		NULL,
	};

	(void)state;
	for (size_t agent = 0; agent < setup_agent_count; agent++)
		for (const char *const *text = texts; *text; text++) {
			_cleanup_free_ char *after = NULL, *undone = NULL;

			if (!setup_agents[agent].shape)
				continue;
			after = added(setup_agents[agent].name, *text);
			assert_string_not_equal(after, *text);
			undone = removed(setup_agents[agent].name, after, *text);
			assert_string_equal(undone, *text);
		}
}

static void a_file_of_wards_own_goes_away(void **state)
{
	(void)state;
	for (size_t agent = 0; agent < setup_agent_count; agent++)
		if (setup_agents[agent].shape) {
			_cleanup_free_ char *after = added(setup_agents[agent].name, "");

			assert_null(removed(setup_agents[agent].name, after, NULL));
		}
}

static void what_others_added_since_stays(void **state)
{
	_cleanup_free_ char *after = NULL;

	(void)state;
	after = removed(
		"claude",
		"{\"hooks\": {\"PreToolUse\": [{\"matcher\": \"*\", \"hooks\": "
		"[{\"command\": \"a\"}, {\"command\": \"ward hook\"}, {\"command\": \"b\"}]}], "
		"\"Stop\": []}, \"x\": 1}",
		"{}");
	assert_string_equal(after, "{\"hooks\": {\"PreToolUse\": [{\"matcher\": \"*\", \"hooks\": "
				   "[{\"command\": \"a\"}, {\"command\": \"b\"}]}], "
				   "\"Stop\": []}, \"x\": 1}");
	free(after);
	after = removed("cursor",
			"{\"version\": 1, \"hooks\": {\"beforeReadFile\": "
			"[{\"command\": \"ward hook\"}], \"stop\": [{\"command\": \"x\"}]}}",
			NULL);
	assert_string_equal(after,
			    "{\"version\": 1, \"hooks\": {\"stop\": [{\"command\": \"x\"}]}}");
}

static void what_cannot_be_changed_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *text;
		int line;
		const char *message;
	} faults[] = {
		{"{\n  // why\n  \"a\": 1\n}", 2, "comment"},
		{"{\n\n  \"a\": 1 /* why */\n}", 3, "comment"},
		{"{\"a\": \"http://x\",\n \"b\": }", 2, "not JSON"},
		{"{\"a\": 1,\n}", 2, "not JSON"},
		{"{\"a\": 1, \"a\": 2}", 1, "duplicate"},
		{"{\"a\": \"\xff\"}", 1, "not JSON"},
		{"\xef\xbb\xbf{}", 1, "not JSON"},
		{"{} x", 1, "not JSON"},
		{"[]", 0, "not an object"},
		{"null", 0, "not JSON"},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(faults); i++) {
		_cleanup_error_ struct error *error = NULL;

		assert_true(setup_check(faults[i].text, strlen(faults[i].text), "f", &error) < 0);
		if (!strstr(error->message, faults[i].message))
			print_message("# %s: %s\n", faults[i].text, error->message);
		assert_non_null(strstr(error->message, faults[i].message));
		if (faults[i].line)
			assert_int_equal(error->line, faults[i].line);
	}
}

static void hooks_of_another_kind_are_refused(void **state)
{
	static const char *const texts[] = {"{\"hooks\": []}", "{\"hooks\": 1}",
					    "{\"hooks\": {\"PreToolUse\": {}}}",
					    "{\"hooks\": {\"PreToolUse\": \"x\"}}"};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(texts); i++) {
		_cleanup_error_ struct error *error = NULL;
		_cleanup_free_ char *after = NULL;

		assert_true(setup_add(shape("claude"), texts[i], command, &after, &error) < 0);
		assert_non_null(strstr(error->message, "hooks"));
	}
}

static void deep_text_is_refused(void **state)
{
	_cleanup_error_ struct error *error = NULL;
	char text[4096] = "{\"a\":";

	(void)state;
	for (size_t i = 0; i < 1000; i++)
		strcat(text, "[");
	for (size_t i = 0; i < 1000; i++)
		strcat(text, "]");
	strcat(text, "}");
	assert_true(setup_check(text, strlen(text), "f", &error) < 0);
	assert_non_null(strstr(error->message, "deep"));
}

static void switches_that_stop_hooks_are_named(void **state)
{
	static const struct {
		const char *agent, *text, *expected;
	} cases[] = {
		{"claude", "{\"disableAllHooks\": true}", "disableAllHooks is true"},
		{"claude", "{\"disableAllHooks\": false}", NULL},
		{"gemini", "{\"hooksConfig\": {\"enabled\": false}}",
		 "hooksConfig.enabled is false"},
		{"gemini", "{\"hooks\": {\"enabled\": true}}", NULL},
		{"cursor", "{}", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		_cleanup_free_ char *off = setup_switched_off(shape(cases[i].agent), cases[i].text);

		if (cases[i].expected)
			assert_string_equal(off, cases[i].expected);
		else
			assert_null(off);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(diff_shows_changes_with_three_lines_around),
		cmocka_unit_test(diff_says_where_the_last_line_has_no_end),
		cmocka_unit_test(diff_of_very_many_lines_is_bounded),
		cmocka_unit_test(entry_is_laid_out_as_the_file_is),
		cmocka_unit_test(an_own_entry_is_known_and_brought_up_to_date),
		cmocka_unit_test(words_apart_become_one_command),
		cmocka_unit_test(removing_undoes_adding),
		cmocka_unit_test(a_file_of_wards_own_goes_away),
		cmocka_unit_test(what_others_added_since_stays),
		cmocka_unit_test(what_cannot_be_changed_is_refused_with_its_place),
		cmocka_unit_test(hooks_of_another_kind_are_refused),
		cmocka_unit_test(deep_text_is_refused),
		cmocka_unit_test(switches_that_stop_hooks_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
