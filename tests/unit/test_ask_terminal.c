/* SPDX-License-Identifier: Apache-2.0 */
/* escalate: the terminal on which a person is asked, in every state it may be in. */
#include "ask_examples.h"
#include "ask_talk.h"

static void what_was_typed_before_the_question_is_no_answer(void **state)
{
	struct report report;
	struct talk talk;

	(void)state;
	start(&talk, &before, AT_TERMINAL, "y\ny\ny");
	see(&talk, QUESTION);
	for (int i = 0; i < 3; i++) {
		type(&talk, "y");
		pause_ms(100);
	}
	pause_ms(1200);
	assert_false(answered(&talk));
	type(&talk, "n");
	finish(&talk, &report);
	assert_int_equal(report.answer.kind, ANSWER_DENY);
	assert_true(report.same_modes);
}

static void what_is_pasted_slowly_is_no_answer(void **state)
{
	struct report report;
	struct talk talk;

	(void)state;
	start(&talk, &before, AT_TERMINAL, NULL);
	see(&talk, QUESTION);
	pause_ms(1200);
	for (const char *c = "xxyxx"; *c; c++) {
		type(&talk, (char[]){*c, '\0'});
		pause_ms(5);
	}
	pause_ms(300);
	assert_false(answered(&talk));
	type(&talk, "q");
	finish(&talk, &report);
	assert_int_equal(report.answer.kind, ANSWER_ABORT);
}

static void the_terminal_is_put_in_order_before_it_asks(void **state)
{
	struct report report;
	struct talk talk;

	(void)state;
	start(&talk, &retry, RAW, NULL);
	see(&talk, QUESTION);
	assert_non_null(strstr(talk.seen.data, "\x1b[?1047l"));
	assert_non_null(strstr(talk.seen.data, "\x1b[?2004l"));
	assert_non_null(strstr(talk.seen.data, "\x1b[?25h"));
	assert_non_null(strstr(talk.seen.data, "\x1b[?1003l"));
	assert_non_null(strstr(talk.seen.data, "refused?\x1b[0m\r\n"));
	pause_ms(1200);
	type(&talk, "n");
	finish(&talk, &report);
	assert_true(report.same_modes);
}

static void a_terminal_that_knows_no_sequences_gets_none(void **state)
{
	struct report report;
	struct talk talk;

	(void)state;
	start(&talk, &retry, DUMB, NULL);
	see(&talk, QUESTION);
	assert_null(strchr(talk.seen.data, '\x1b'));
	pause_ms(1200);
	type(&talk, "n");
	finish(&talk, &report);
	assert_int_equal(report.answer.kind, ANSWER_DENY);
}

static void a_terminal_that_hangs_up_means_no(void **state)
{
	struct report report;
	struct talk talk;

	(void)state;
	start(&talk, &before, AT_TERMINAL, NULL);
	see(&talk, QUESTION);
	pause_ms(600);
	close_fd(&talk.master);
	finish(&talk, &report);
	assert_int_equal(report.answer.kind, ANSWER_DENY);
}

static void a_signal_that_ends_ward_means_no_and_stays_pending(void **state)
{
	struct report report;
	struct talk talk;

	(void)state;
	start(&talk, &before, AT_TERMINAL, NULL);
	see(&talk, QUESTION);
	kill(talk.pid, SIGTERM);
	finish(&talk, &report);
	assert_int_equal(report.answer.kind, ANSWER_DENY);
	assert_string_equal(report.reason, "interrupted");
	assert_true(report.term_pending);
	assert_true(report.same_modes);
}

static void silence_means_no(void **state)
{
	struct report report;
	struct talk talk;

	(void)state;
	start(&talk, &before, IMPATIENT, NULL);
	see(&talk, QUESTION);
	finish(&talk, &report);
	assert_int_equal(report.answer.kind, ANSWER_DENY);
	assert_string_equal(report.reason, "no answer");
	assert_true(report.same_modes);
}

static void a_window_that_changes_gets_the_question_anew(void **state)
{
	struct winsize size = {.ws_col = 45, .ws_row = 15};
	struct report report;
	struct talk talk;

	(void)state;
	start(&talk, &before, AT_TERMINAL, NULL);
	see(&talk, QUESTION);
	pause_ms(1200);
	buffer_done(&talk.seen);
	ioctl(talk.master, TIOCSWINSZ, &size);
	see(&talk, "m shows all");
	see(&talk, QUESTION);
	pause_ms(1200);
	type(&talk, "y");
	finish(&talk, &report);
	assert_int_equal(report.answer.kind, ANSWER_APPROVE);
}

static void two_questions_at_one_terminal_take_turns(void **state)
{
	struct report report;
	struct talk talk;

	(void)state;
	start(&talk, &before, TWICE, NULL);
	see(&talk, QUESTION);
	pause_ms(1500);
	assert_null(strstr(strstr(talk.seen.data, "may this") + 1, "may this"));
	type(&talk, "y");
	see(&talk, QUESTION);
	assert_int_equal(read(talk.pipe, &report, sizeof(report)), sizeof(report));
	assert_int_equal(report.answer.kind, ANSWER_APPROVE);
	pause_ms(1500);
	assert_false(answered(&talk));
	type(&talk, "n");
	finish(&talk, &report);
	assert_int_equal(report.answer.kind, ANSWER_DENY);
}

static void without_a_terminal_of_its_own_ward_asks_nobody(void **state)
{
	static const enum how ways[] = {NO_TERMINAL, BACKGROUND};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(ways); i++) {
		struct pollfd ready;
		struct report report;
		struct talk talk;
		int shown = 0;

		start(&talk, &before, ways[i], NULL);
		while (!answered(&talk))
			pause_ms(10);
		ready = (struct pollfd){.fd = talk.master, .events = POLLIN};
		if (poll(&ready, 1, 0) > 0 && (ready.revents & POLLIN))
			ioctl(talk.master, FIONREAD, &shown);
		assert_int_equal(shown, 0);
		finish(&talk, &report);
		assert_int_equal(report.answer.kind, ANSWER_NOBODY);
		assert_string_equal(report.by, "");
		assert_true(report.same_modes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_typed_before_the_question_is_no_answer),
		cmocka_unit_test(what_is_pasted_slowly_is_no_answer),
		cmocka_unit_test(the_terminal_is_put_in_order_before_it_asks),
		cmocka_unit_test(a_terminal_that_knows_no_sequences_gets_none),
		cmocka_unit_test(a_terminal_that_hangs_up_means_no),
		cmocka_unit_test(a_signal_that_ends_ward_means_no_and_stays_pending),
		cmocka_unit_test(silence_means_no),
		cmocka_unit_test(a_window_that_changes_gets_the_question_anew),
		cmocka_unit_test(two_questions_at_one_terminal_take_turns),
		cmocka_unit_test(without_a_terminal_of_its_own_ward_asks_nobody),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
