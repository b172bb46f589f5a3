/* SPDX-License-Identifier: Apache-2.0 */
/* Reading events: from any place on, without a gap and nothing twice, whatever the log looks like.
 */
#include "../../src/record/eventlog.h"
#include "../../src/record/lost.h"
#include "audit_log.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

static void append(struct audit *audit, const char *kind, const char *run, size_t length)
{
	_cleanup_free_ char *text = malloc(length + 1);
	json_t *body;

	memset(text, 'x', length);
	text[length] = '\0';
	body = json_pack("{s:s}", "text", text);
	assert_int_equal(audit_append(audit, kind, run, body, NULL), 0);
	json_decref(body);
}

static struct eventlog *must_follow(struct event_place after)
{
	struct eventlog *log = NULL;

	assert_int_equal(eventlog_open(directory, after, true, &log, NULL), 0);
	return log;
}

/* The id of the next event, "" where there is none. */
static const char *next_id(struct eventlog *log)
{
	static char id[64];
	json_t *event = NULL;
	int r = eventlog_next(log, &event, NULL);

	assert_true(r >= 0);
	snprintf(id, sizeof(id), "%s", r ? json_string_value(json_object_get(event, "id")) : "");
	json_decref(event);
	return id;
}

static void test_places_are_read_exactly(void **state)
{
	static const char *const wrong[] = {"",	     "x",   "1.",   ".1",
					    "1.2.3", "-1",  "1.-2", " 1",
					    "1 ",    "1e3", "0x1",  "99999999999999999999999999"};
	struct event_place place;

	(void)state;
	assert_true(event_place_read("57.2", &place) && place.record == 57 && place.part == 2);
	assert_true(event_place_read("57", &place) && place.record == 57 && place.part > 1000000);
	for (size_t i = 0; i < ELEMENTS(wrong); i++)
		assert_false(event_place_read(wrong[i], &place));
}

/* Lines of very different lengths, so that halves of the file are not halves of the records. */
static void test_any_place_is_found(void **state)
{
	static const size_t lengths[] = {1, 200000, 3, 5000, 70000, 2, 900000, 10};
	enum { RECORDS = 64 };
	struct audit *audit = must_open();

	(void)state;
	for (size_t i = 0; i < RECORDS; i++)
		append(audit, "note", NULL, lengths[i * 7 % ELEMENTS(lengths)]);
	audit_close(audit);
	for (uint64_t i = 0; i <= RECORDS; i++) {
		struct eventlog *log = must_follow((struct event_place){i, UINT32_MAX});
		char expected[32];

		snprintf(expected, sizeof(expected), "%llu.1", (unsigned long long)i + 1);
		assert_string_equal(next_id(log), i < RECORDS ? expected : "");
		eventlog_close(log);
	}
}

static void test_what_comes_is_told_once(void **state)
{
	struct audit *audit = must_open();
	struct eventlog *log = must_follow((struct event_place){0});
	struct pollfd more = {.fd = eventlog_fd(log), .events = POLLIN};
	struct event_place now;

	(void)state;
	assert_string_equal(next_id(log), "");
	for (int i = 1; i < 20; i++) {
		char expected[32];

		append(audit, "note", NULL, 10);
		assert_int_equal(poll(&more, 1, 60 * 1000), 1);
		snprintf(expected, sizeof(expected), "%d.1", i);
		assert_string_equal(next_id(log), expected);
		assert_string_equal(next_id(log), "");
		assert_int_equal(poll(&more, 1, 0), 0);
	}
	assert_int_equal(event_place_now(directory, &now, NULL), 0);
	assert_int_equal(now.record, 19);
	assert_int_equal(event_place_since(directory, "2000-01-01T00:00:00.000Z", &now, NULL), 0);
	assert_int_equal(now.record, 0);
	assert_int_equal(event_place_since(directory, "2999-01-01T00:00:00.000Z", &now, NULL), 0);
	assert_int_equal(now.record, 19);
	eventlog_close(log);
	audit_close(audit);
}

/* What stands past the head is not there yet. */
static void test_a_torn_record_is_not_told(void **state)
{
	struct audit *audit = must_open();
	struct eventlog *log = must_follow((struct event_place){0});
	int fd;

	(void)state;
	append(audit, "note", NULL, 10);
	assert_string_equal(next_id(log), "1.1");
	fd = open(in_directory("audit.log"), O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(write_all(fd, "{\"seq\":2,\"ti", 12), 0);
	close(fd);
	assert_string_equal(next_id(log), "");
	append(audit, "note", NULL, 10); /* which cuts it away, and says so */
	assert_string_equal(next_id(log), "2.1");
	assert_string_equal(next_id(log), "3.1");
	eventlog_close(log);
	audit_close(audit);
}

static void begin_run(const char *run)
{
	struct audit *audit = must_open();
	json_t *body = json_pack("{s:i, s:s, s:s}", "pid", (int)getpid(), "command", "true",
				 "verdict", "allow");

	assert_true(audit_hold(audit, run));
	assert_int_equal(audit_append(audit, "run.start", run, body, NULL), 0);
	json_decref(body);
	/* The audit stays open: it goes with the process. */
}

static void test_a_run_is_held_by_who_carries_it_out(void **state)
{
	struct audit *one = must_open(), *other = must_open();

	(void)state;
	assert_false(audit_is_held(other, "a"));
	assert_true(audit_hold(one, "a"));
	assert_true(audit_is_held(other, "a") && !audit_hold(other, "a"));
	assert_true(!audit_is_held(other, "b") && audit_hold(other, "b"));
	append(other, "note", NULL, 10); /* the log itself is free */
	append(one, "note", NULL, 10);
	audit_close(one);
	assert_false(audit_is_held(other, "a"));
	audit_close(other);
}

static void test_a_run_that_died_gets_its_end_once(void **state)
{
	struct audit *audit = must_open();
	struct eventlog *log = must_follow((struct event_place){0});
	struct pollfd more = {.fd = eventlog_fd(log), .events = POLLIN};
	char run[] = "01aaaaaaaaaaaaaaaaaaaaaaaa";
	int told[2], byte;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(told), 0);
	child = fork();
	if (child == 0) {
		begin_run(run);
		(void)!write(told[1], "x", 1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(told[0], &byte, 1), 1);
	assert_int_equal(runs_settle(directory, NULL, NULL, NULL), 0); /* it lives */
	assert_string_equal(next_id(log), "1.1");
	assert_string_equal(next_id(log), "");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(poll(&more, 1, 60 * 1000), 1);
	assert_string_equal(next_id(log), "2.1");
	assert_int_equal(runs_settle(directory, NULL, NULL, NULL), 0);
	assert_int_equal(run_settle(directory, run, NULL), 0);
	assert_string_equal(next_id(log), "");
	eventlog_close(log);
	audit_close(audit);
	close(told[0]);
	close(told[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places_are_read_exactly),
		cmocka_unit_test_setup_teardown(test_any_place_is_found, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_comes_is_told_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_torn_record_is_not_told, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_run_is_held_by_who_carries_it_out, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_run_that_died_gets_its_end_once, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
