/* SPDX-License-Identifier: Apache-2.0 */
/* escalate: what a person types, what it means, and what goes on meanwhile. */
#include "ask_examples.h"
#include "ask_talk.h"

#include <sys/socket.h>

/* What goes on meanwhile answers each message with itself, until one says that nobody waits. */
static int other[2];
static bool nobody_waits;

static void answer_message(void *data)
{
	char message;

	if (recv(other[1], &message, 1, MSG_DONTWAIT) != 1)
		return;
	assert_ptr_equal(data, other);
	nobody_waits = message == 'x';
	assert_int_equal(send(other[1], &message, 1, 0), 1);
}

static bool is_over(void *data)
{
	(void)data;
	return nobody_waits;
}

/* The message comes back within a second. */
static bool is_served(char message)
{
	struct pollfd ready = {.fd = other[0], .events = POLLIN};
	char back = '\0';

	assert_int_equal(send(other[0], &message, 1, 0), 1);
	return poll(&ready, 1, 1000) == 1 && recv(other[0], &back, 1, 0) == 1 && back == message;
}

static struct meanwhile open_other(void)
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, other), 0);
	return (struct meanwhile){other[1], answer_message, is_over, other};
}

static void close_other(void)
{
	close_fd(&other[0]);
	close_fd(&other[1]);
}

enum { STEPS = 5 };

/* All these talks go on at the same time: each waits half a second and more before each key. */
static void each_key_has_its_answer(void **state)
{
	static const struct {
		const struct ask *ask;
		struct {
			const char *see, *type;
		} steps[STEPS];
		struct answer answer;
	} cases[] = {
		{&before, {{QUESTION, "y"}}, {ANSWER_APPROVE, SCOPE_ONCE}},
		{&before, {{QUESTION, "s"}}, {ANSWER_APPROVE, SCOPE_SESSION}},
		{&before, {{QUESTION, "t"}, {"back > ", "5"}}, {ANSWER_APPROVE, SCOPE_TIME, 300}},
		{&before, {{QUESTION, "t"}, {"back > ", "3"}}, {ANSWER_APPROVE, SCOPE_TIME, 1800}},
		{&before, {{QUESTION, "t"}, {"back > ", "1"}}, {ANSWER_APPROVE, SCOPE_TIME, 3600}},
		{&before,
		 {{QUESTION, "t"}, {"back > ", "c"}, {"2h)? ", "10m"}, {"10m", "\r"}},
		 {ANSWER_APPROVE, SCOPE_TIME, 600}},
		/* what is pasted with its Enter is not taken; what is no time is asked for again */
		{&before,
		 {{QUESTION, "t"},
		  {"back > ", "c"},
		  {"2h)? ", "9\r"},
		  {"2h)? 9", "\r"},
		  {"That is no time", "\x03"}},
		 {ANSWER_DENY, SCOPE_ONCE, .reason = "interrupted"}},
		{&before,
		 {{QUESTION, "t"}, {"back > ", "x"}, {QUESTION, "n"}},
		 {ANSWER_DENY, SCOPE_ONCE}},
		{&before, {{QUESTION, "a"}, {"ward.yaml:", "y"}}, {ANSWER_APPROVE, SCOPE_ALWAYS}},
		{&before,
		 {{QUESTION, "a"}, {"said so", "n"}, {QUESTION, "n"}},
		 {ANSWER_DENY, SCOPE_ONCE}},
		{&retry,
		 {{QUESTION, "u"}, {"Run it so?", "y"}},
		 {ANSWER_APPROVE, SCOPE_ONCE, .unsandboxed = true}},
		{&retry,
		 {{QUESTION, "u"}, {"every secret", "\r"}, {QUESTION, "y"}},
		 {ANSWER_APPROVE, SCOPE_ONCE}},
		{&before, {{QUESTION, "n"}}, {ANSWER_DENY, SCOPE_ONCE}},
		{&before,
		 {{QUESTION, "r"}, {"why not? ", "not \xc3\xa9\x7fx\x7fnow"}, {"not now", "\r"}},
		 {ANSWER_DENY, SCOPE_ONCE, .reason = "not now"}},
		{&before,
		 {{QUESTION, "r"}, {"why not? ", "x"}, {"x", "\x1b"}, {QUESTION, "y"}},
		 {ANSWER_APPROVE, SCOPE_ONCE}},
		{&before, {{QUESTION, "v"}, {"Write it?", "y"}}, {ANSWER_DENY, SCOPE_ALWAYS}},
		{&before, {{QUESTION, "q"}}, {ANSWER_ABORT, SCOPE_ONCE}},
		{&before,
		 {{QUESTION, "?"}, {"back: any key", "y"}, {QUESTION, "n"}},
		 {ANSWER_DENY, SCOPE_ONCE}},
		{&before,
		 {{QUESTION, "m"}, {"back: any key", "y"}, {QUESTION, "q"}},
		 {ANSWER_ABORT, SCOPE_ONCE}},
		/* what is not offered, and what is no key */
		{&bare,
		 {{QUESTION, "s"}, {"", "t"}, {"", "a"}, {"", "u"}, {"", "n"}},
		 {ANSWER_DENY, SCOPE_ONCE}},
		{&bare,
		 {{QUESTION, "v"}, {"", "\r"}, {"", "\x1b"}, {"", "Y"}, {"", "q"}},
		 {ANSWER_ABORT, SCOPE_ONCE}},
		{&before,
		 {{QUESTION, "yes"},
		  {"", "y\r"},
		  {"", "\x1b[A"},
		  {"", "\x1b[200~y\x1b[201~"},
		  {"", "n"}},
		 {ANSWER_DENY, SCOPE_ONCE}},
		{&before, {{QUESTION, "\x1a"}, {"", " "}, {"", "y"}}, {ANSWER_APPROVE, SCOPE_ONCE}},
		{&in_place, {{QUESTION, "x"}}, {ANSWER_DENY, SCOPE_SESSION}},
		{&before, {{QUESTION, "x"}, {"", "n"}}, {ANSWER_DENY, SCOPE_ONCE}},
		/* no */
		{&before, {{QUESTION, "\x03"}}, {ANSWER_DENY, SCOPE_ONCE, .reason = "interrupted"}},
		{&before, {{QUESTION, "\x1c"}}, {ANSWER_DENY, SCOPE_ONCE, .reason = "interrupted"}},
		{&before,
		 {{QUESTION, "\x03\x03\x03"}},
		 {ANSWER_DENY, SCOPE_ONCE, .reason = "interrupted"}},
		{&before, {{QUESTION, "\x04"}}, {ANSWER_DENY, SCOPE_ONCE, .reason = "no answer"}},
	};
	struct talk talks[ELEMENTS(cases)];

	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++)
		start(&talks[i], cases[i].ask, i % 2 ? RAW : AT_TERMINAL, NULL);
	for (size_t step = 0; step < STEPS; step++) {
		for (size_t i = 0; i < ELEMENTS(cases); i++)
			if (cases[i].steps[step].see)
				see(&talks[i], cases[i].steps[step].see);
		pause_ms(1500);
		for (size_t i = 0; i < ELEMENTS(cases); i++) {
			if (!cases[i].steps[step].type)
				continue;
			if (answered(&talks[i]))
				print_error("case %zu: answered before step %zu\n", i, step);
			assert_false(answered(&talks[i]));
			type(&talks[i], cases[i].steps[step].type);
		}
	}
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		const struct answer *expected = &cases[i].answer;
		struct report report;

		finish(&talks[i], &report);
		if (report.answer.kind != expected->kind)
			print_error("case %zu\n", i);
		assert_int_equal(report.answer.kind, expected->kind);
		assert_int_equal(report.answer.scope, expected->scope);
		assert_int_equal(report.answer.seconds, expected->seconds);
		assert_int_equal(report.answer.unsandboxed, expected->unsandboxed);
		assert_string_equal(report.reason, expected->reason ? expected->reason : "");
		assert_non_null(strstr(report.by, "@pts/"));
		assert_true(report.same_modes);
		assert_false(report.waiting);
	}
}

static void something_else_goes_on_while_the_person_thinks(void **state)
{
	const struct meanwhile meanwhile = open_other();
	struct ask ask = in_place;
	struct report report;
	struct talk talk;

	(void)state;
	ask.meanwhile = &meanwhile;
	start(&talk, &ask, RAW, NULL);
	see(&talk, QUESTION);
	assert_true(is_served('q')); /* in the time in which no key counts */
	pause_ms(1200);
	for (char message = 'a'; message < 'k'; message++)
		assert_true(is_served(message));
	type(&talk, "r");
	see(&talk, "why not?");
	assert_true(is_served('e'));
	type(&talk, "too much\r");
	finish(&talk, &report);
	close_other();
	assert_int_equal(report.answer.kind, ANSWER_DENY);
	assert_string_equal(report.reason, "too much");
	assert_true(report.same_modes);
}

static void a_question_that_nobody_waits_for_ends_by_itself(void **state)
{
	static const char *const keys[] = {NULL, "r", "t", "a", "?"};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(keys); i++) {
		const struct meanwhile meanwhile = open_other();
		struct ask ask = in_place;
		struct report report;
		struct talk talk;

		ask.meanwhile = &meanwhile;
		start(&talk, &ask, RAW, NULL);
		see(&talk, QUESTION);
		if (keys[i]) {
			pause_ms(1200);
			type(&talk, keys[i]);
			pause_ms(200);
		}
		assert_true(is_served('x'));
		see(&talk, "no longer asked");
		finish(&talk, &report);
		close_other();
		assert_int_equal(report.answer.kind, ANSWER_NOBODY);
		assert_string_equal(report.by, "");
		assert_string_equal(report.reason, "");
		assert_true(report.same_modes);
	}
}

static void who_waits_for_the_terminal_goes_on_meanwhile_too(void **state)
{
	const struct meanwhile meanwhile = open_other();
	struct ask ask = in_place;
	struct report report;
	struct talk talk;

	(void)state;
	ask.meanwhile = &meanwhile;
	start(&talk, &ask, TWICE, NULL);
	see(&talk, QUESTION);
	/* One of the two takes each message, so that both are told in the end. */
	assert_true(is_served('x'));
	assert_int_equal(read(talk.pipe, &report, sizeof(report)), sizeof(report));
	assert_int_equal(report.answer.kind, ANSWER_NOBODY);
	assert_true(is_served('x'));
	finish(&talk, &report);
	close_other();
	assert_int_equal(report.answer.kind, ANSWER_NOBODY);
}

static void a_yes_to_a_set_is_one_to_what_was_shown(void **state)
{
	struct report report;
	struct talk talk;

	(void)state;
	start(&talk, &in_place, AT_TERMINAL, NULL);
	see(&talk, QUESTION);
	assert_null(strstr(buffer_text(&talk.seen), "connect files.example:443"));
	pause_ms(1200);
	type(&talk, "w");
	see(&talk, "connect files.example:443");
	see(&talk, QUESTION);
	pause_ms(1200);
	type(&talk, "o"); /* and back */
	see(&talk, QUESTION);
	assert_null(strstr(buffer_text(&talk.seen), "connect files.example:443"));
	pause_ms(1200);
	type(&talk, "w");
	see(&talk, QUESTION);
	pause_ms(1200);
	type(&talk, "a");
	see(&talk, "[one, two]");
	see(&talk, "Write it?");
	pause_ms(1200);
	type(&talk, "y");
	finish(&talk, &report);
	assert_int_equal(report.answer.kind, ANSWER_APPROVE);
	assert_int_equal(report.answer.scope, SCOPE_ALWAYS);
	assert_int_equal(report.answer.extent, 1);
}

static void the_hosts_that_code_may_reach_are_the_persons_word(void **state)
{
	struct report report;
	struct talk talk;

	(void)state;
	start(&talk, &networked, RAW, NULL);
	see(&talk, QUESTION);
	pause_ms(1200);
	type(&talk, "e");
	see(&talk, "hosts: packages.example");
	type(&talk, " not/a/host");
	pause_ms(200);
	type(&talk, "\r");
	see(&talk, "not/a/host'");
	see(&talk, "hosts: packages.example not/a/host");
	type(&talk, "\x15"); /* Ctrl-U */
	pause_ms(200);
	type(&talk, "*.files.example:443, 203.0.113.0/24");
	pause_ms(200);
	type(&talk, "\r");
	see(&talk, "connect *.files.example:443");
	see(&talk, QUESTION);
	assert_non_null(strstr(buffer_text(&talk.seen), "connect 203.0.113.0/24"));
	assert_non_null(strstr(buffer_text(&talk.seen), "profile code-net"));
	assert_null(strstr(buffer_text(&talk.seen), "connect packages.example"));
	pause_ms(1200);
	type(&talk, "e");
	see(&talk, "hosts: *.files.example:443");
	type(&talk, " other.example");
	pause_ms(200);
	type(&talk, "\x1b"); /* changes nothing */
	see(&talk, QUESTION);
	pause_ms(1200);
	type(&talk, "y");
	finish(&talk, &report);
	assert_int_equal(report.answer.kind, ANSWER_APPROVE);
	assert_string_equal(report.domains, "*.files.example:443 203.0.113.0/24");
	assert_true(report.same_modes);
}

/* Two things are wanted: one is made narrower, the other left out; more is not taken. */
static void a_person_gives_less_than_was_asked_for(void **state)
{
	struct list wanted = {
		.items = (char *[]){(char *)"write /srv/site/**", (char *)"connect a.example"},
		.count = 2};
	const struct ask ask = {.kind = ASK_RETRY,
				.command = "make install",
				.cwd = "/w",
				.workspace = "/w",
				.covers = "make",
				.always_rule = "- rule",
				.always_file = "/file",
				.grants = &wanted};
	struct report report;
	struct talk talk;

	(void)state;
	start(&talk, &ask, AT_TERMINAL, NULL);
	see(&talk, QUESTION);
	assert_non_null(strstr(buffer_text(&talk.seen), " always"));
	pause_ms(1200);
	type(&talk, "e");
	see(&talk, "gives: write /srv/site/**");
	type(&talk, "\x15"); /* Ctrl-U */
	pause_ms(200);
	type(&talk, "write /srv/**");
	pause_ms(200);
	type(&talk, "\r");
	see(&talk, "gives: connect a.example");
	type(&talk, "\r");
	see(&talk, "more than was asked for");
	pause_ms(1200);
	type(&talk, "x");
	see(&talk, QUESTION);
	pause_ms(1200);
	type(&talk, "e");
	see(&talk, "gives: write /srv/site/**");
	type(&talk, "\x15");
	pause_ms(200);
	type(&talk, "write /srv/site/index.html");
	pause_ms(200);
	type(&talk, "\r");
	see(&talk, "gives: connect a.example");
	type(&talk, "\x15");
	pause_ms(200);
	type(&talk, "\r");
	see(&talk, "yes gives");
	see(&talk, QUESTION);
	assert_non_null(strstr(buffer_text(&talk.seen), "write /srv/site/index.html"));
	assert_null(strstr(buffer_text(&talk.seen), " always"));
	pause_ms(1200);
	type(&talk, "y");
	finish(&talk, &report);
	assert_int_equal(report.answer.kind, ANSWER_APPROVE);
	assert_string_equal(report.grants, "write /srv/site/index.html");
	assert_true(report.same_modes);
}

static void a_run_can_be_followed(void **state)
{
	struct report report;
	struct talk talk;

	(void)state;
	start(&talk, &before, AT_TERMINAL, NULL);
	see(&talk, QUESTION);
	pause_ms(1200);
	type(&talk, "k");
	see(&talk, "yes, once, watched");
	finish(&talk, &report);
	assert_int_equal(report.answer.kind, ANSWER_APPROVE);
	assert_int_equal(report.answer.scope, SCOPE_ONCE);
	assert_true(report.answer.monitor);
	assert_string_equal(report.grants, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_key_has_its_answer),
		cmocka_unit_test(something_else_goes_on_while_the_person_thinks),
		cmocka_unit_test(a_question_that_nobody_waits_for_ends_by_itself),
		cmocka_unit_test(who_waits_for_the_terminal_goes_on_meanwhile_too),
		cmocka_unit_test(a_yes_to_a_set_is_one_to_what_was_shown),
		cmocka_unit_test(the_hosts_that_code_may_reach_are_the_persons_word),
		cmocka_unit_test(a_person_gives_less_than_was_asked_for),
		cmocka_unit_test(a_run_can_be_followed),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
