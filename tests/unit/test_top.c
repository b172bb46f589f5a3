/* SPDX-License-Identifier: Apache-2.0 */
/* ward top: what is made of two looks, and the table in windows of all widths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* the name is ward's */

#include "../../cmd/ward/output.h"
#include "../../cmd/ward/top.h"
#include "base/io.h"
#include "record/told.h"
#include "serve/top_parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static json_t *row_of(const char *run, int cpu_ms, int memory, int most)
{
	return json_pack(
		"{s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:[], s:[], s:{s:i, s:i}}",
		"run", run, "agent", "robot", "command", "make all", "level", "restricted",
		"cpu_ms", cpu_ms, "memory", memory, "processes", 3, "disk_written", 0, "denials", 1,
		"questions", 0, "near", "connections", "limits", "memory", most, "processes", 8192);
}

static const char *near_of(const json_t *rows, size_t row, size_t place)
{
	return json_string_value(
		json_array_get(json_object_get(json_array_get(rows, row), "near"), place));
}

static void test_a_share_of_the_cpu_needs_two_looks(void **state)
{
	json_t *first = json_pack("[o]", row_of("a", 1000, 1, 100));
	json_t *second = json_pack("[o, o]", row_of("a", 1500, 1, 100), row_of("b", 9, 1, 100));

	(void)state;
	top_compare(NULL, first, 0);
	assert_true(json_is_null(json_object_get(json_array_get(first, 0), "cpu_percent")));
	top_compare(first, second, 1000000000);
	assert_true(json_real_value(json_object_get(json_array_get(second, 0), "cpu_percent")) ==
		    50);
	assert_true(json_is_null(json_object_get(json_array_get(second, 1), "cpu_percent")));
	json_decref(first);
	json_decref(second);
}

static void test_eighty_per_cent_are_near(void **state)
{
	json_t *rows = json_pack("[o, o]", row_of("a", 0, 79, 100), row_of("b", 0, 80, 100));

	(void)state;
	/* What only its supervisor counts stays; what is counted here is as it is now. */
	json_object_set_new(json_array_get(rows, 0), "near", json_pack("[s, s]", "time", "memory"));
	top_compare(NULL, rows, 0);
	assert_string_equal(near_of(rows, 0, 0), "time");
	assert_null(near_of(rows, 0, 1));
	assert_string_equal(near_of(rows, 1, 0), "memory");
	json_decref(rows);
}

static void test_no_line_is_wider_than_the_window(void **state)
{
	json_t *row = row_of("01m7k7fp0q925e72vcz1q6atq6", 5, 90, 100);
	json_t *rows = json_pack("[O]", row);

	(void)state;
	json_object_set_new(row, "agent",
			    json_string("\xe4\xbd\xa0\xe5\xa5\xbd\033[31mwide and long"));
	json_object_set_new(row, "command",
			    json_string("sh -c '\033]0;owned\007 \xe2\x80\xae' aaaaaaaaaaaa"));
	top_compare(NULL, rows, 0);
	for (size_t columns = 1; columns < 240; columns++) {
		struct buffer title = {0}, line = {0};

		top_title_line(columns, &title);
		top_line(row, columns, /* chosen= */ true, &line);
		assert_true(output_columns(&title) <= columns);
		assert_true(output_columns(&line) <= columns);
		assert_null(memchr(line.data, '\033', line.length));
		assert_null(memchr(line.data, '\007', line.length));
		assert_null(strstr(buffer_text(&line), "\xe2\x80\xae"));
		if (columns >= 40) { /* not by colour alone */
			assert_int_equal(strncmp(buffer_text(&line), ">!", 2), 0);
			assert_non_null(strstr(buffer_text(&line), "01m7k7fp0q92"));
		}
		if (columns >= 79)
			assert_non_null(strstr(buffer_text(&line), "90B/100B!"));
		buffer_done(&title);
		buffer_done(&line);
	}
	json_decref(rows);
	json_decref(row);
}

static void test_rows_are_sorted_and_filtered(void **state)
{
	json_t *rows = json_pack("[o, o, o]", row_of("a", 0, 5, 0), row_of("b", 0, 9, 0),
				 row_of("c", 0, 7, 0));
	json_t *ordered = top_order(rows, 2, "ROBOT");

	(void)state;
	assert_string_equal(top_sort_name(2), "memory");
	assert_int_equal(json_array_size(ordered), 3);
	assert_string_equal(text_of(json_array_get(ordered, 0), "run"), "b");
	assert_string_equal(text_of(json_array_get(ordered, 2), "run"), "a");
	json_decref(ordered);
	ordered = top_order(rows, 0, "nobody");
	assert_int_equal(json_array_size(ordered), 0);
	json_decref(ordered);
	json_decref(rows);
}

static void test_sizes_are_short(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} sizes[] = {{0, "0B"},		 {999, "999B"},	      {1000, "1.0K"},
		     {10240, "10K"},	 {512 << 20, "512M"}, {UINT64_C(3) << 29, "1.5G"},
		     {UINT64_MAX, "16E"}};
	char text[SHORT_TEXT];

	(void)state;
	for (size_t i = 0; i < ELEMENTS(sizes); i++) {
		top_size(sizes[i].bytes, text);
		assert_string_equal(text, sizes[i].text);
	}
}

static void test_connections_have_the_names_that_are_known(void **state)
{
	static const uint64_t inodes[] = {7, 8};
	struct diag_socket *items = calloc(2, sizeof(*items));
	struct top_sockets sockets = {items, 2, true};
	json_t *names = json_pack("{s:s}", "192.0.2.1", "packages.example"), *found;
	bool nameless;

	(void)state;
	items[0] = (struct diag_socket){.inode = 8, .remote_port = 443, .received = 5};
	items[0].remote.s6_addr[10] = items[0].remote.s6_addr[11] = 0xff;
	memcpy(items[0].remote.s6_addr + 12, "\xc0\x00\x02\x01", 4);
	items[1] = (struct diag_socket){.inode = 9}; /* somebody else's */
	found = top_connections(&sockets, inodes, 2, names, &nameless);
	assert_int_equal(json_array_size(found), 1);
	assert_string_equal(text_of(json_array_get(found, 0), "host"), "packages.example");
	assert_false(nameless);
	json_decref(found);
	found = top_connections(&sockets, inodes, 2, NULL, &nameless);
	assert_string_equal(text_of(json_array_get(found, 0), "host"), "192.0.2.1");
	assert_true(nameless);
	json_decref(found);
	json_decref(names);
	top_sockets_done(&sockets);
}

static int never(const char *run, const void *data)
{
	(void)run;
	(void)data;
	return 0;
}

static void test_what_a_supervisor_tells_follows_no_link(void **state)
{
	char place[] = "/tmp/ward-test-top.XXXXXX", path[128], aim[128];
	json_t *told = json_pack("{s:s}", "a", "b"), *read;
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(place));
	snprintf(path, sizeof(path), "%s/top", place);
	snprintf(aim, sizeof(aim), "%s/aim", place);
	assert_int_equal(mkdir(aim, 0700), 0);
	assert_int_equal(symlink(aim, path), 0);
	assert_true(told_write(place, "run", told) < 0);
	assert_int_equal(unlink(path), 0);
	assert_true(told_write(place, "../run", told) < 0);
	assert_true(told_write(place, ".run", told) < 0);
	assert_int_equal(told_write(place, "run", told), 0);
	read = told_read(place, "run");
	assert_true(json_equal(read, told));
	json_decref(read);
	snprintf(path, sizeof(path), "%s/top/run", place);
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	/* One that lies where it is about to be written is replaced, not written to. */
	snprintf(path, sizeof(path), "%s/top/.run", place);
	snprintf(aim, sizeof(aim), "%s/aim/file", place);
	assert_int_equal(symlink(aim, path), 0);
	assert_int_equal(told_write(place, "run", told), 0);
	assert_int_equal(access(aim, F_OK), -1);
	told_sweep(place, never, NULL);
	assert_null(told_read(place, "run"));
	/* Where others can write, nothing is believed. */
	assert_int_equal(told_write(place, "run", told), 0);
	snprintf(path, sizeof(path), "%s/top", place);
	assert_int_equal(chmod(path, 0777), 0);
	assert_null(told_read(place, "run"));
	assert_int_equal(remove_tree(AT_FDCWD, place), 0);
	json_decref(told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_share_of_the_cpu_needs_two_looks),
		cmocka_unit_test(test_eighty_per_cent_are_near),
		cmocka_unit_test(test_no_line_is_wider_than_the_window),
		cmocka_unit_test(test_rows_are_sorted_and_filtered),
		cmocka_unit_test(test_sizes_are_short),
		cmocka_unit_test(test_connections_have_the_names_that_are_known),
		cmocka_unit_test(test_what_a_supervisor_tells_follows_no_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
