/* SPDX-License-Identifier: Apache-2.0 */
/* base: paths, units, escaping, lists, whole reads and writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* the name is ward's */

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/glyph.h"
#include "base/id.h"
#include "base/io.h"
#include "base/list.h"
#include "base/path.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static void paths_are_normalised_as_text(void **state)
{
	static const struct {
		const char *path, *normal;
	} cases[] = {
		{"/", "/"},
		{"//", "/"},
		{"/a//b/", "/a/b"},
		{"/a/./b", "/a/b"},
		{"/a/../b", "/b"},
		{"/../..", "/"},
		{"a/..", "."},
		{"", "."},
		{"../a", "../a"},
		{"a/../../b", "../b"},
		{"../../x", "../../x"},
		{"/a/b/../../..", "/"},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		_cleanup_free_ char *normal = path_normalise(cases[i].path);

		assert_string_equal(normal, cases[i].normal);
	}
}

static void home_and_base_are_put_before_a_path(void **state)
{
	_cleanup_free_ char *home = path_resolve("/w", "/home/u", "~/x"),
			    *tilde = path_resolve("/w", "/home/u", "~");
	_cleanup_free_ char *relative = path_resolve("/w", "/home/u", "../y"),
			    *other = path_resolve("/w", "/h", "~x");

	(void)state;
	assert_string_equal(home, "/home/u/x");
	assert_string_equal(tilde, "/home/u");
	assert_string_equal(relative, "/y");
	assert_string_equal(other, "/w/~x");
}

static void a_path_is_under_itself_and_its_parents_only(void **state)
{
	(void)state;
	assert_true(path_is_under("/a/b", "/a"));
	assert_true(path_is_under("/a", "/a"));
	assert_true(path_is_under("/a", "/"));
	assert_false(path_is_under("/ab", "/a"));
	assert_false(path_is_under("/a", "/a/b"));
}

static void globs_match_by_component_and_double_stars_across(void **state)
{
	static const struct {
		const char *pattern, *path;
		bool matches;
	} cases[] = {
		{"/a/*.pem", "/a/x.pem", true},	   {"/a/*.pem", "/a/b/x.pem", false},
		{"/a/**/x.pem", "/a/x.pem", true}, {"/a/**/x.pem", "/a/b/c/x.pem", true},
		{"/a/**", "/a/b/c", true},	   {"/a/**", "/a", true},
		{"/a/[bc]", "/a/c", true},	   {"/a/?", "/a/xy", false},
		{"/**/.env", "/x/y/.env", true},   {"/a", "/a/b", false},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++)
		assert_int_equal(path_matches(cases[i].pattern, cases[i].path, NULL),
				 cases[i].matches);
}

static void a_glob_that_would_take_for_ever_gives_up_and_says_so(void **state)
{
	char path[2000] = "", pattern[400] = "";
	bool overrun = false;

	(void)state;
	for (int i = 0; i < 400; i++)
		strcat(path, "/a");
	for (int i = 0; i < 60; i++)
		strcat(pattern, "/**/a");
	strcat(pattern, "/b");
	assert_false(path_matches(pattern, path, &overrun));
	assert_true(overrun);
}

static void sizes_and_durations_read_as_people_write_them(void **state)
{
	uint64_t value;

	(void)state;
	assert_int_equal(parse_size("512M", &value, NULL), 0);
	assert_true(value == 512ull << 20);
	assert_int_equal(parse_size("1.5KiB", &value, NULL), 0);
	assert_true(value == 1536);
	assert_int_equal(parse_duration("500ms", &value, NULL), 0);
	assert_true(value == 500000000);
	assert_int_equal(parse_duration("2m", &value, NULL), 0);
	assert_true(value == 120ull * 1000000000);
	for (size_t i = 0; i < 7; i++) {
		static const char *const bad[] = {"", "-1", "x", "1x", "nan", "inf", "0x10"};

		assert_true(parse_size(bad[i], &value, NULL) < 0);
		assert_true(parse_duration(bad[i], &value, NULL) < 0);
	}
	assert_true(parse_size("99999999999T", &value, NULL) < 0);
}

static void times_are_those_of_the_calendar(void **state)
{
	char text[TIME_TEXT], expected[TIME_TEXT];
	time_t now = time(NULL);
	struct tm utc;

	(void)state;
	time_text(text);
	gmtime_r(&now, &utc);
	strftime(expected, sizeof(expected), "%Y-%m-%dT%H:%M", &utc);
	/* The minute may have turned between the two looks. */
	if (strncmp(text, expected, strlen(expected)) != 0) {
		now = time(NULL) - 1;
		gmtime_r(&now, &utc);
		strftime(expected, sizeof(expected), "%Y-%m-%dT%H:%M", &utc);
	}
	assert_memory_equal(text, expected, strlen(expected));
	assert_int_equal(strlen(text), strlen("2000-01-01T00:00:00.000Z"));
}

static void hostile_text_is_shown_escaped(void **state)
{
	static const struct {
		const char *text, *shown;
	} cases[] = {
		{"plain \xc3\xa9", "plain \xc3\xa9"},
		{"\x1b[31m", "\\x1b[31m"},
		{"a\nb\tc", "a\\nb\\tc"},
		{"\xe2\x80\xae", "\\u{202e}"},
		{"\xe2\x80\x8b", "\\u{200b}"},
		{"\xc2\xad\xf3\xa0\x81\x81\xef\xb8\x8f", "\\xad\\u{e0041}\\u{fe0f}"},
		{"a\xc2\xa0"
		 "b\xe3\x80\x80"
		 "c",
		 "a\\xa0b\\u{3000}c"},
		{"\xff", "\\xff"},
		{"\xc0\x80", "\\xc0\\x80"},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		_cleanup_buffer_ struct buffer buffer = {0};

		escape_for_terminal(&buffer, cases[i].text, strlen(cases[i].text));
		assert_string_equal(buffer_text(&buffer), cases[i].shown);
	}
}

static void what_does_not_look_like_itself_is_shown_by_its_code(void **state)
{
	static const struct {
		const char *text, *shown;
		unsigned width;
	} cases[] = {
		{"caf\u00e9 \u4e2d", "caf\u00e9 \u4e2d", 7},
		{"p\u0430ypal", "p\\u{0430}ypal", 13},	/* a Cyrillic a */
		{"\u0441\u043e\u0440\u0443", NULL, 32}, /* nothing but such letters */
		{"\u0444\u0430\u0439\u043b", "\u0444\u0430\u0439\u043b", 4}, /* a Russian word */
		{"/\u0444\u0430.txt", "/\u0444\u0430.txt", 7},
		{"\uff52\uff4d", "\\u{ff52}\\u{ff4d}", 16},	/* full width */
		{"\U0001d42b", "\\u{1d42b}", 9},		/* bold, for mathematics */
		{"a\u2044b\u2019", "a\\u{2044}b\\u{2019}", 18}, /* a fraction's slash, a quote */
		{"e\u0301", "e\\u{0301}", 9},			/* combines */
		{"\u05d0", "\\u{05d0}", 8},			/* runs from right to left */
		{"\u202e\u2066\u200b\u00ad", "\\u{202e}\\u{2066}\\u{200b}\\xad", 28},
		{"a\xff\n\x1b", "a\\xff\\n\\x1b", 11},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		_cleanup_buffer_ struct buffer shown = {0};
		unsigned width = 0;
		size_t count;
		_cleanup_free_ struct glyph *glyphs =
			glyphs_read(cases[i].text, strlen(cases[i].text), &count);

		for (size_t j = 0; j < count; j++) {
			buffer_add(&shown, glyphs[j].text, glyphs[j].length);
			width += glyphs[j].width;
		}
		assert_int_equal(width, cases[i].width);
		if (cases[i].shown)
			assert_string_equal(buffer_text(&shown), cases[i].shown);
	}
	assert_int_equal(glyph_lookalike(0x430), 'a');
	assert_int_equal(glyph_lookalike(0x2215), '/');
	assert_int_equal(glyph_lookalike(0x1d7d8), '0');
	assert_int_equal(glyph_lookalike(0x216f), 'M');
	assert_int_equal(glyph_lookalike(0x217f), 'm');
	assert_int_equal(glyph_lookalike('a'), 0);
	assert_int_equal(glyph_lookalike(0xe9), 0);
}

static void the_tables_of_glyphs_are_in_order(void **state)
{
	unsigned shown = 0, alike = 0;

	(void)state;
	/* A table out of order loses entries to the search. */
	for (unsigned code = 0; code < 0x110000; code++) {
		shown += glyph_width(code) > 0;
		alike += code < 0x10000 && glyph_lookalike(code) != 0;
	}
	assert_true(shown > 100000);
	assert_int_equal(glyph_width(0xfffd), 2);
	assert_int_equal(glyph_lookalike(0xabaf), 'c');
	assert_true(alike > 450);
}

static void a_shell_reads_an_escaped_word_back_byte_for_byte(void **state)
{
	static const char *const words[] = {"",	      "plain",	  "it's", "a b", "$x `y` \"z\"",
					    "\n\t\\", "\x01\xff", "-n",	  "*"};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(words); i++) {
		_cleanup_buffer_ struct buffer script = {0};
		char read_back[64];
		size_t length;
		FILE *shell;

		buffer_add_text(&script, "printf %s ");
		escape_for_shell(&script, words[i]);
		shell = popen(buffer_text(&script), "r");
		length = fread(read_back, 1, sizeof(read_back) - 1, shell);
		read_back[length] = '\0';
		assert_int_equal(pclose(shell), 0);
		assert_string_equal(read_back, words[i]);
	}
}

static void broken_utf8_is_replaced_and_said(void **state)
{
	bool lossy;
	_cleanup_free_ char *good = escape_to_utf8("\xc3\xa9", 2, &lossy);

	(void)state;
	assert_false(lossy);
	assert_string_equal(good, "\xc3\xa9");
	_cleanup_free_ char *bad = escape_to_utf8("a\xff\0b", 4, &lossy);

	assert_true(lossy);
	assert_string_equal(bad, "a\xef\xbf\xbd\xef\xbf\xbd"
				 "b");
}

static void errors_carry_context_and_a_hint(void **state)
{
	_cleanup_error_ struct error *error = NULL;

	(void)state;
	assert_int_equal(fail_errno(&error, E_ENGINE, ENOENT, "opening %s", "x"), -E_ENGINE);
	assert_int_equal(error_wrap(&error, "reading the policy"), -E_ENGINE);
	assert_int_equal(error_hint(&error, "make it"), -E_ENGINE);
	assert_string_equal(error->message,
			    "reading the policy: opening x: No such file or directory");
	assert_string_equal(error->hint, "make it");
	assert_int_equal(error->errnum, ENOENT);
}

static void ids_differ_and_sort_by_time(void **state)
{
	char first[ID_TEXT], second[ID_TEXT];

	(void)state;
	id_make(first);
	usleep(3000);
	id_make(second);
	assert_int_equal(strlen(first), ID_TEXT - 1);
	assert_true(strcmp(first, second) < 0);
}

static void a_tree_is_removed_but_not_what_a_link_in_it_leads_to(void **state)
{
	char top[] = "/tmp/ward-test-XXXXXX", path[200];
	int fd;

	(void)state;
	assert_non_null(mkdtemp(top));
	snprintf(path, sizeof(path), "%s/tree", top);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/kept", top);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/kept/file", top);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	snprintf(path, sizeof(path), "%s/tree/link", top);
	assert_int_equal(symlink("../kept", path), 0);
	snprintf(path, sizeof(path), "%s/tree/closed", top);
	mkdir(path, 0);
	fd = open(top, O_RDONLY | O_DIRECTORY);
	assert_int_equal(remove_tree(fd, "tree"), 0);
	snprintf(path, sizeof(path), "%s/kept/file", top);
	assert_int_equal(access(path, F_OK), 0);
	snprintf(path, sizeof(path), "%s/tree", top);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(remove_tree(AT_FDCWD, top), 0);
	close(fd);
}

static void a_tree_of_any_depth_is_removed(void **state)
{
	char top[] = "/tmp/ward-test-XXXXXX";
	int fd;

	(void)state;
	assert_non_null(mkdtemp(top));
	fd = open(top, O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < 2000; i++) {
		int next;

		assert_int_equal(mkdirat(fd, "d", 0700), 0);
		close(openat(fd, "f", O_CREAT | O_WRONLY, 0600));
		next = openat(fd, "d", O_RDONLY | O_DIRECTORY);
		close(fd);
		fd = next;
	}
	close(fd);
	assert_int_equal(remove_tree(AT_FDCWD, top), 0);
	assert_int_equal(access(top, F_OK), -1);
	assert_int_equal(remove_tree(AT_FDCWD, top), 0); /* it is gone already */
}

static void a_file_longer_than_the_limit_is_refused(void **state)
{
	_cleanup_free_ char *text = NULL;
	size_t length = 0;

	(void)state;
	assert_int_equal(read_file(AT_FDCWD, "/proc/self/status", 64, &text, &length), -EFBIG);
	assert_int_equal(read_file(AT_FDCWD, "/proc/self/status", 1 << 20, &text, &length), 0);
	assert_int_equal(strlen(text), length);
	assert_int_equal(read_file(AT_FDCWD, "/", 64, &text, NULL), -EISDIR);
}

static void an_arena_gives_zeroed_memory_of_any_size(void **state)
{
	_cleanup_arena_ struct arena *arena = arena_new();

	(void)state;
	for (size_t size = 1; size < 100000; size = size * 3 + 1) {
		char *memory = arena_alloc(arena, size);

		assert_int_equal((uintptr_t)memory % 16, 0);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(memory[i], 0);
		memset(memory, 1, size);
	}
	assert_string_equal(arena_printf(arena, "%d-%s", 7, "x"), "7-x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_normalised_as_text),
		cmocka_unit_test(home_and_base_are_put_before_a_path),
		cmocka_unit_test(a_path_is_under_itself_and_its_parents_only),
		cmocka_unit_test(globs_match_by_component_and_double_stars_across),
		cmocka_unit_test(a_glob_that_would_take_for_ever_gives_up_and_says_so),
		cmocka_unit_test(sizes_and_durations_read_as_people_write_them),
		cmocka_unit_test(times_are_those_of_the_calendar),
		cmocka_unit_test(hostile_text_is_shown_escaped),
		cmocka_unit_test(what_does_not_look_like_itself_is_shown_by_its_code),
		cmocka_unit_test(the_tables_of_glyphs_are_in_order),
		cmocka_unit_test(a_shell_reads_an_escaped_word_back_byte_for_byte),
		cmocka_unit_test(broken_utf8_is_replaced_and_said),
		cmocka_unit_test(errors_carry_context_and_a_hint),
		cmocka_unit_test(ids_differ_and_sort_by_time),
		cmocka_unit_test(a_tree_is_removed_but_not_what_a_link_in_it_leads_to),
		cmocka_unit_test(a_tree_of_any_depth_is_removed),
		cmocka_unit_test(a_file_longer_than_the_limit_is_refused),
		cmocka_unit_test(an_arena_gives_zeroed_memory_of_any_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
