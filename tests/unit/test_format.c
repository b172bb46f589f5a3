/* SPDX-License-Identifier: Apache-2.0 */
/* Policy files in the one form: they mean what they meant, keep their comments, and stay as they
 * are when it is done again. */
#include "../../src/base/io.h"
#include "../../src/decide/format.h"
#include "../../src/decide/policy.h"
#include "../../src/decide/yaml.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the above first */
#include <cmocka.h>
#undef fail

static void form_is(const char *text, const char *wanted)
{
	_cleanup_buffer_ struct buffer form = {0};
	_cleanup_error_ struct error *error = NULL;

	assert_int_equal(policy_format(text, strlen(text), "x", &form, &error), 0);
	assert_string_equal(buffer_text(&form), wanted);
}

static void spaces_quotes_and_indentation_are_made_one(void **state)
{
	(void)state;
	form_is("", "");
	form_is("\n\n# only this\n\n\n", "# only this\n");
	form_is("a:   1\r\nb:\t2\r\n", "a: 1\nb: 2\n");
	form_is("a: \"x y\"\nb: 'it''s'\n", "a: 'x y'\nb: 'it''s'\n");
	form_is("a: \"x\\ny\"\n", "a: \"x\\ny\"\n");
	form_is("a: {b: 1,   c: [ x,y ]}\n", "a: {b: 1, c: [x, y]}\n");
	form_is("a:\n- 1\n- 2\n", "a:\n  - 1\n  - 2\n");
	form_is("a:\n      b:\n            c: 1\n", "a:\n  b:\n    c: 1\n");
	form_is("a:\n  - b: 1\n    c: 2\n", "a:\n  - b: 1\n    c: 2\n");
	form_is("a:\n  -\n    b: 1\n", "a:\n  - b: 1\n");
	form_is("a: |\n  one\n  two\n", "a: \"one\\ntwo\\n\"\n");
	form_is("a: one\n  two\n", "a: one two\n");
	form_is("a: []\nb: {}\nc:\n", "a: []\nb: {}\nc:\n");
	form_is("---\na: 1\n...\n", "a: 1\n");
}

static void comments_and_blank_lines_stay(void **state)
{
	(void)state;
	form_is("# x\na: 1   # y\n\n\n\n# z\nb: 2\n", "# x\na: 1  # y\n\n# z\nb: 2\n");
	form_is("a:\n\n  # x\n  b: 1\n  # y\nc: 2\n", "a:\n  # x\n  b: 1\n  # y\nc: 2\n");
	form_is("a: # x\n - 1 # y\n # z\n - 2\n", "a:  # x\n  - 1  # y\n  # z\n  - 2\n");
	form_is("a: [x, # one\n  y]  # two\n", "a:\n  - x  # one\n  - y  # two\n");
	form_is("a: 'x # y' # z\n", "a: 'x # y'  # z\n");
	form_is("a: x#y\n", "a: x#y\n");
	form_is("a: \xc3\xa9 # x\n", "a: \xc3\xa9  # x\n");
	form_is("a:\n  - b: 1 # x\n    # y\n    c: 2\n  # z\n",
		"a:\n  - b: 1  # x\n    # y\n    c: 2\n  # z\n");
}

static void long_lists_are_written_below_each_other(void **state)
{
	(void)state;
	form_is("a: [aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, "
		"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb]\n",
		"a:\n  - aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"
		"  - bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n");
}

static void what_cannot_be_kept_is_an_error(void **state)
{
	static const char text[] = "a: | # x\n  one\n";
	_cleanup_buffer_ struct buffer form = {0};
	_cleanup_error_ struct error *error = NULL;

	(void)state;
	assert_true(policy_format(text, strlen(text), "x", &form, &error) < 0);
	assert_non_null(error->hint);
}

/* -- Chance ------------------------------------------------------------------------------------ */

static size_t count_comments(const char *text)
{
	size_t count = 0;

	for (const char *at = text; (at = strstr(at, "#!")); at++)
		count++;
	return count;
}

/* policy_format() itself holds the tree against the first; here it is read as a policy, too. */
static void check_form(const char *text)
{
	_cleanup_buffer_ struct buffer form = {0}, again = {0};
	_cleanup_error_ struct error *error = NULL, *fault = NULL;
	_cleanup_list_ struct list before = {0}, after = {0};
	bool holds = policy_parse(text, strlen(text), "x", NULL, &before, &fault) == 0;

	if (policy_format(text, strlen(text), "x", &form, &error) < 0)
		return;
	assert_int_equal(policy_format(buffer_text(&form), form.length, "x", &again, &error), 0);
	assert_string_equal(buffer_text(&again), buffer_text(&form));
	assert_int_equal(count_comments(buffer_text(&form)), count_comments(text));
	error_free(error);
	error = NULL;
	assert_int_equal(policy_parse(buffer_text(&form), form.length, "x", NULL, &after, &error) ==
				 0,
			 holds);
	assert_int_equal(before.count, after.count);
}

static unsigned seed = 11;

static unsigned dice(unsigned sides)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 16) % sides;
}

/* Lines between lines and spaces behind them change nothing; some changes break it, and then it is
 * no policy before or after. */
static char *disturb(const char *text)
{
	static const char *const extra[] = {"\n", "#! c\n", "   #! d\n", "\n\n\n", "      #! e\n"};
	_cleanup_buffer_ struct buffer out = {0};

	while (*text) {
		size_t length = strcspn(text, "\n");

		if (dice(5) == 0)
			buffer_add_text(&out, extra[dice(ELEMENTS(extra))]);
		if (dice(40) == 0)
			buffer_add_text(&out, "  ");
		if (dice(60) != 0)
			buffer_add(&out, text, length);
		if (dice(6) == 0)
			buffer_add_text(&out, dice(2) ? "   " : "  #! f");
		buffer_add_char(&out, '\n');
		text += length + (text[length] == '\n');
	}
	return buffer_steal(&out);
}

static void check_file(const char *path)
{
	enum { ROUNDS = 150 };
	_cleanup_free_ char *text = NULL;
	size_t length;

	assert_int_equal(read_file(AT_FDCWD, path, POLICY_LIMIT, &text, &length), 0);
	check_form(text);
	for (size_t round = 0; round < ROUNDS; round++) {
		_cleanup_free_ char *other = disturb(text);

		check_form(other);
	}
}

static void whatever_is_formatted_means_what_it_meant(void **state)
{
	static const char *const places[] = {"data", "data/profiles"};
	size_t files = 0;

	(void)state;
	for (size_t i = 0; i < ELEMENTS(places); i++) {
		char path[4096];
		struct dirent *entry;
		DIR *directory;

		snprintf(path, sizeof(path), "%s/../../%s", getenv("WARD_CORPUS"), places[i]);
		directory = opendir(path);
		assert_non_null(directory);
		while ((entry = readdir(directory))) {
			char file[5000];

			snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
			if (strstr(entry->d_name, ".yaml") && ++files)
				check_file(file);
		}
		closedir(directory);
	}
	assert_true(files > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spaces_quotes_and_indentation_are_made_one),
		cmocka_unit_test(comments_and_blank_lines_stay),
		cmocka_unit_test(long_lists_are_written_below_each_other),
		cmocka_unit_test(what_cannot_be_kept_is_an_error),
		cmocka_unit_test(whatever_is_formatted_means_what_it_meant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
