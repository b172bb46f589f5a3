/* SPDX-License-Identifier: Apache-2.0 */
/* run: what is kept of the output, pumps, and what a request becomes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* the name is ward's */

#include "run/capture.h"
#include "run/mode.h"
#include "run/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

static void short_output_is_kept_whole(void **state)
{
	struct capture capture;
	struct output output = {0};

	(void)state;
	capture_init(&capture, 100);
	capture_add(&capture, "hello ", 6);
	capture_add(&capture, "world", 5);
	assert_false(capture_take(&capture, &output));
	assert_string_equal(output.data, "hello world");
	free(output.data);
	capture_done(&capture);
}

static void long_output_keeps_head_and_tail_and_says_what_is_missing(void **state)
{
	/* In pieces of every size, so that each border is crossed in every way. */
	for (size_t piece = 1; piece < 400; piece += 7) {
		struct capture capture;
		struct output output = {0};
		char data[1000];

		(void)state;
		for (size_t i = 0; i < sizeof(data); i++)
			data[i] = (char)('a' + i % 26);
		capture_init(&capture, 100);
		for (size_t at = 0; at < sizeof(data); at += piece)
			capture_add(&capture, data + at, MIN(piece, sizeof(data) - at));
		assert_true(capture_take(&capture, &output));
		assert_memory_equal(output.data, data, 50);
		assert_non_null(strstr(output.data, "[... 900 bytes left out ...]"));
		assert_memory_equal(output.data + output.length - 50, data + sizeof(data) - 50, 50);
		assert_int_equal(capture.total, sizeof(data));
		free(output.data);
		capture_done(&capture);
	}
}

static void output_of_just_the_limit_misses_nothing(void **state)
{
	struct capture capture;
	struct output output = {0};
	char data[101];

	(void)state;
	memset(data, 'x', sizeof(data));
	capture_init(&capture, 100);
	capture_add(&capture, data, 100);
	assert_false(capture_take(&capture, &output));
	assert_int_equal(output.length, 100);
	free(output.data);
	capture_add(&capture, data, 1);
	assert_true(capture_take(&capture, &output));
	free(output.data);
	capture_done(&capture);
}

static void a_pump_moves_bytes_and_captures_them(void **state)
{
	struct capture capture;
	struct output output = {0};
	int in[2], out[2];
	struct pump *pump;
	char data[16] = "";

	(void)state;
	assert_int_equal(pipe2(in, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC | O_NONBLOCK), 0);
	pump = pump_new(in[0], out[1]);
	capture_init(&capture, 1000);
	pump->captures[0] = &capture;
	assert_int_equal(write(in[1], "a\0b", 3), 3);
	assert_true(pump_move(pump));
	assert_int_equal(read(out[0], data, sizeof(data)), 3);
	assert_memory_equal(data, "a\0b", 3);
	assert_false(pump_finished(pump));
	close(in[1]);
	pump_move(pump);
	assert_true(pump_finished(pump));
	capture_take(&capture, &output);
	assert_int_equal(output.length, 3);
	free(output.data);
	capture_done(&capture);
	pump_free(pump);
	close(out[0]);
}

static void a_reader_that_goes_away_closes_the_writer(void **state)
{
	int in[2], out[2];
	struct pump *pump;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe2(in, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC | O_NONBLOCK), 0);
	pump = pump_new(in[0], out[1]);
	close(out[0]);
	assert_int_equal(write(in[1], "x", 1), 1);
	pump_move(pump);
	assert_int_equal(pump->error, EPIPE);
	assert_int_equal(write(in[1], "x", 1), -1);
	assert_int_equal(errno, EPIPE);
	pump_free(pump);
	close(in[1]);
}

static void a_full_reader_does_not_block_the_pump(void **state)
{
	static char data[1 << 20];
	int in[2], out[2];
	struct pump *pump;
	int rounds = 0;

	(void)state;
	assert_int_equal(pipe2(in, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC | O_NONBLOCK), 0);
	pump = pump_new(in[0], out[1]);
	while (rounds < 100 && (write(in[1], data, sizeof(data)) > 0 || pump_move(pump)))
		rounds++;
	assert_true(rounds < 100);
	assert_true(pump_wants_write(pump));
	assert_false(pump_wants_read(pump));
	pump_free(pump);
	close(in[1]);
	close(out[0]);
}

static void an_argv_is_looked_for_along_path(void **state)
{
	_cleanup_request_ struct request request;
	_cleanup_prepared_ struct prepared prepared = {0};
	_cleanup_list_ struct list environment = {0};

	(void)state;
	request_init(&request);
	list_add(&request.argv, "tool");
	list_add(&request.argv, "arg");
	list_add(&environment, "PATH=/one::/two");
	assert_int_equal(ways[MODE_EXEC].prepare(&request, &environment, NULL, &prepared, NULL), 0);
	assert_int_equal(prepared.candidates.count, 3);
	assert_string_equal(prepared.candidates.items[0], "/one/tool");
	assert_string_equal(prepared.candidates.items[1], "./tool");
	assert_string_equal(prepared.candidates.items[2], "/two/tool");
	assert_string_equal(prepared.argv.items[1], "arg");
}

static void shell_text_goes_to_the_shell_as_one_word(void **state)
{
	_cleanup_request_ struct request request;
	_cleanup_prepared_ struct prepared prepared = {0};
	_cleanup_list_ struct list environment = {0};

	(void)state;
	request_init(&request);
	request.script = strdup("echo 'a b' | cat");
	request.shell = strdup("/bin/sh");
	request.login = true;
	assert_int_equal(ways[MODE_SHELL].prepare(&request, &environment, NULL, &prepared, NULL),
			 0);
	assert_int_equal(prepared.argv.count, 3);
	assert_string_equal(prepared.argv.items[0], "/bin/sh");
	assert_string_equal(prepared.argv.items[1], "-lc");
	assert_string_equal(prepared.argv.items[2], "echo 'a b' | cat");
}

static void the_patch_tool_gets_an_empty_environment(void **state)
{
	_cleanup_request_ struct request request;
	_cleanup_prepared_ struct prepared prepared = {0};
	_cleanup_list_ struct list environment = {0};

	(void)state;
	request_init(&request);
	list_add(&request.argv, "/bin/patch");
	list_add(&environment, "A=B");
	assert_int_equal(ways[MODE_PATCH].prepare(&request, &environment, NULL, &prepared, NULL),
			 0);
	assert_int_equal(prepared.environment.count, 0);
	assert_false(ways[MODE_PATCH].streams);
}

static void assert_screen(const char *written, size_t piece, const char *again, bool owned)
{
	_cleanup_buffer_ struct buffer text = {0};
	struct screen screen = {0};

	for (size_t i = 0; i < strlen(written); i += piece)
		screen_watch(&screen, written + i, MIN(piece, strlen(written) - i));
	screen_again(&screen, &text);
	assert_string_equal(buffer_text(&text), again);
	assert_int_equal(screen_is_owned(&screen), owned);
}

static void what_a_program_made_of_the_screen_is_known(void **state)
{
	static const struct {
		const char *written, *again;
		bool owned;
	} cases[] = {
		{"hello\r\n\x1b[1;31mred\x1b[m", "", false},
		{"\x1b[?1049h\x1b[22;0;0t\x1b[?25l\x1b[H", "\x1b[?1049h\x1b[?25l", true},
		{"\x1b[?1049h\x1b[?1049l", "", false},
		{"\x1b[?1049h\x1b[?47l", "", false},
		{"\x1b[?25l\x1b[?25h", "", false},
		{"\x1b[?1000;1006;2004h", "\x1b[?1000h\x1b[?1006h\x1b[?2004h", false},
		{"\x1b[?7l\x1b[?47h", "\x1b[?47h\x1b[?7l", true},
		{"\x1b[?1049h\x1b[?25l\x1b"
		 "c",
		 "", false},
		/* not these */
		{"\x1b[1049h\x1b[?1049$p\x1b[>25h", "", false},
		{"\x1b[?10\x18"
		 "49h",
		 "", false},
		{"\x1b[?10\x1b[m49h", "", false},
		{"\x1b[?-1049h\x1b[? 1049x\x1b[?99999999999999999999h", "", false},
		{"\x1b[?0000000000000000000000000000000000000000000000000000001049h", "", false},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++)
		for (size_t piece = 1; piece < 30; piece += 4)
			assert_screen(cases[i].written, piece, cases[i].again, cases[i].owned);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_output_is_kept_whole),
		cmocka_unit_test(long_output_keeps_head_and_tail_and_says_what_is_missing),
		cmocka_unit_test(output_of_just_the_limit_misses_nothing),
		cmocka_unit_test(a_pump_moves_bytes_and_captures_them),
		cmocka_unit_test(a_reader_that_goes_away_closes_the_writer),
		cmocka_unit_test(a_full_reader_does_not_block_the_pump),
		cmocka_unit_test(an_argv_is_looked_for_along_path),
		cmocka_unit_test(shell_text_goes_to_the_shell_as_one_word),
		cmocka_unit_test(the_patch_tool_gets_an_empty_environment),
		cmocka_unit_test(what_a_program_made_of_the_screen_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
