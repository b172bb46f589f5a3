/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of JSON in and out of a server that never blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* the name is ward's */

#include "base/io.h"
#include "serve/wire.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 100 };

struct ends {
	int in[2], out[2];
	struct wire wire;
};

static int set_up(void **state)
{
	struct ends *ends = calloc(1, sizeof(*ends));

	signal(SIGPIPE, SIG_IGN);
	if (!ends || pipe2(ends->in, O_CLOEXEC) < 0 || pipe2(ends->out, O_CLOEXEC) < 0)
		return -1;
	ends->wire = (struct wire){.in = ends->in[0], .out = ends->out[1], .most = MOST};
	*state = ends;
	return 0;
}

static int tear_down(void **state)
{
	struct ends *ends = *state;

	for (int i = 0; i < 2; i++) {
		close(ends->in[i]);
		close(ends->out[i]);
	}
	wire_done(&ends->wire);
	free(ends);
	return 0;
}

static void put(struct ends *ends, const char *text)
{
	assert_int_equal(write_all(ends->in[1], text, strlen(text)), 0);
	wire_read(&ends->wire);
}

static void expect_line(struct ends *ends, const char *wanted)
{
	const char *line;
	size_t length;

	assert_int_equal(wire_next(&ends->wire, &line, &length), WIRE_LINE);
	assert_int_equal(length, strlen(wanted));
	assert_memory_equal(line, wanted, length);
}

static void expect_nothing(struct ends *ends)
{
	const char *line;
	size_t length;

	assert_int_equal(wire_next(&ends->wire, &line, &length), WIRE_NOTHING);
}

static void expect_too_long(struct ends *ends)
{
	const char *line;
	size_t length;

	assert_int_equal(wire_next(&ends->wire, &line, &length), WIRE_TOO_LONG);
}

static void test_lines_come_whole_however_they_are_cut(void **state)
{
	struct ends *ends = *state;

	wire_read(&ends->wire); /* nothing there: it does not wait */
	expect_nothing(ends);
	put(ends, "on");
	expect_nothing(ends);
	put(ends, "e\n\n\ntwo\nth");
	expect_line(ends, "one");
	expect_line(ends, "two");
	expect_nothing(ends);
	put(ends, "ree\n");
	expect_line(ends, "three");
	expect_nothing(ends);
}

static void test_a_line_that_is_too_long_is_told_once_and_left_out(void **state)
{
	struct ends *ends = *state;
	char line[MOST + 2];

	memset(line, 'x', sizeof(line));
	line[MOST + 1] = '\0';
	put(ends, line);
	expect_too_long(ends);
	expect_nothing(ends);
	put(ends, line);
	expect_nothing(ends);
	put(ends, "more\nnext\n");
	expect_line(ends, "next");
	line[MOST] = '\n'; /* exactly as long as may be */
	put(ends, line);
	line[MOST] = '\0';
	expect_line(ends, line);
	expect_nothing(ends);
}

static void test_the_last_line_may_have_no_end(void **state)
{
	struct ends *ends = *state;

	put(ends, "last");
	expect_nothing(ends);
	close(ends->in[1]);
	ends->in[1] = -1;
	wire_read(&ends->wire);
	assert_true(ends->wire.over);
	expect_line(ends, "last");
	wire_read(&ends->wire);
	expect_nothing(ends);
}

static void test_what_cannot_be_written_is_kept_in_order(void **state)
{
	struct ends *ends = *state;
	_cleanup_buffer_ struct buffer read_back = {0};
	char data[65536];
	int sent = 0, number = 0;

	while (!wire_wants_write(&ends->wire) && sent < 100000)
		wire_send(&ends->wire, json_pack("{s:i}", "n", sent++));
	for (int i = 0; i < 100; i++)
		wire_send(&ends->wire, json_pack("{s:i}", "n", sent++));
	assert_true(wire_wants_write(&ends->wire));
	do {
		ssize_t got = read(ends->out[0], data, sizeof(data));

		assert_true(got > 0);
		buffer_add(&read_back, data, (size_t)got);
		wire_write(&ends->wire);
	} while (wire_wants_write(&ends->wire));
	assert_true(fcntl(ends->out[0], F_SETFL, O_NONBLOCK) == 0);
	for (ssize_t got; (got = read(ends->out[0], data, sizeof(data))) > 0;)
		buffer_add(&read_back, data, (size_t)got);
	for (char *at = read_back.data, *end; (end = strchr(at, '\n')); at = end + 1, number++)
		assert_int_equal(atoi(at + strlen("{\"n\":")), number);
	assert_int_equal(number, sent);
}

static void test_a_reader_that_is_gone_is_noticed(void **state)
{
	struct ends *ends = *state;

	close(ends->out[0]);
	ends->out[0] = -1;
	wire_send(&ends->wire, json_object());
	assert_true(ends->wire.broken);
	assert_false(wire_wants_write(&ends->wire));
	wire_send(&ends->wire, json_object()); /* into the void */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_lines_come_whole_however_they_are_cut),
		TEST(test_a_line_that_is_too_long_is_told_once_and_left_out),
		TEST(test_the_last_line_may_have_no_end),
		TEST(test_what_cannot_be_written_is_kept_in_order),
		TEST(test_a_reader_that_is_gone_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
