/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be told, found in the log and written to disk: once, whatever happens in between, and
 * never more than there is room for. */
#include "base/io.h"
#include "base/units.h"
#include "record/audit.h"
#include "serve/deliver_parts.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static char world[] = "/tmp/ward-deliver-XXXXXX";
static struct box box;
static struct notify_channel channels[] = {
	{.name = "guards", .group = GROUP_SECURITY, .kind = CHANNEL_WEBHOOK, .notices = 14},
	{.name = "others", .group = GROUP_SECURITY, .kind = CHANNEL_PROGRAM, .notices = 8},
	{.name = "team", .kind = CHANNEL_WEBHOOK, .notices = 1},
};
static const struct policy policy = {.notify = {channels, ELEMENTS(channels), NULL}};

static int set_up(void **data)
{
	(void)data;
	strcpy(world, "/tmp/ward-deliver-XXXXXX");
	return mkdtemp(world) && box_open(world, &box, NULL) == 0 ? 0 : -1;
}

static int tear_down(void **data)
{
	(void)data;
	box_close(&box);
	return remove_tree(AT_FDCWD, world);
}

static void record(const char *kind, json_t *body)
{
	struct audit *audit = NULL;

	assert_int_equal(audit_open(world, &audit, NULL), 0);
	assert_int_equal(audit_append(audit, kind, "01m7jtcqp3qxaab410bhe5dq5b", body, NULL), 0);
	audit_close(audit);
	json_decref(body);
}

static void look(const char *after)
{
	struct sources sources;

	assert_int_equal(sources_open(world, after, &box, &sources, NULL), 0);
	assert_int_equal(sources_look(&sources, &policy), 0);
	sources_close(&sources);
}

struct counted {
	unsigned waiting, dead;
	char bodies[8][4096];
};

static void count(void *data, json_t *job, bool dead)
{
	struct counted *counted = data;

	if (counted->waiting + counted->dead < 8)
		snprintf(counted->bodies[counted->waiting + counted->dead], 4096, "%s",
			 json_string_value(json_object_get(job, "body")));
	counted->waiting += !dead;
	counted->dead += dead;
}

static struct counted count_jobs(void)
{
	struct counted counted = {0};

	assert_int_equal(deliver_list(world, count, &counted, NULL), 0);
	return counted;
}

static void an_incident_goes_to_those_who_want_it(void **state)
{
	(void)state;
	record("incident.opened", json_pack("{s:s, s:s}", "agent", "robot", "why", "too much"));
	record("incident.closed", json_pack("{s:s}", "agent", "robot"));
	record("answer", json_pack("{s:s}", "answer", "nobody"));
	record("answer", json_pack("{s:s, s:s}", "answer", "deny", "by", "x"));
	look("0");
	assert_int_equal(count_jobs().waiting, 3); /* two of the incident, one of the silence */
	assert_non_null(strstr(count_jobs().bodies[0], "\"about\""));
}

static void what_is_found_twice_is_told_once_with_the_same_words(void **state)
{
	struct counted before, after;

	(void)state;
	record("incident.opened", json_pack("{s:s}", "agent", "robot"));
	look("0");
	before = count_jobs();
	look("0"); /* behind the cursor there is nothing */
	assert_int_equal(count_jobs().waiting, 2);
	assert_int_equal(unlinkat(box.notify, "cursor", 0), 0); /* killed before it was written */
	look("0");
	after = count_jobs();
	assert_int_equal(after.waiting, 2);
	assert_memory_equal(before.bodies, after.bodies, sizeof(before.bodies));
}

static void who_comes_later_begins_behind_what_was_there(void **state)
{
	(void)state;
	record("incident.opened", json_object());
	look(NULL);
	assert_int_equal(count_jobs().waiting, 0);
	record("incident.opened", json_object());
	look(NULL);
	assert_int_equal(count_jobs().waiting, 2);
}

static void a_log_that_was_begun_anew_is_read_from_its_beginning(void **state)
{
	char log[64], head[64], aside[64];

	(void)state;
	for (int i = 0; i < 5; i++)
		record("incident.opened", json_object());
	look(NULL);
	look("0");
	snprintf(log, sizeof(log), "%s/audit.log", world);
	snprintf(head, sizeof(head), "%s/audit.head", world);
	snprintf(aside, sizeof(aside), "%s/old.log", world);
	assert_int_equal(rename(log, aside), 0);
	snprintf(aside, sizeof(aside), "%s/old.head", world);
	assert_int_equal(rename(head, aside), 0);
	assert_int_equal(count_jobs().waiting, 0); /* the cursor was set without any */
	record("incident.opened", json_object());
	write_file(box.notify, "cursor", "5.1 1");
	look(NULL);
	assert_int_equal(count_jobs().waiting, 2);
}

/* As a ticket's keeper puts it there. */
static void put_ask(const char *hash)
{
	static const char id[] = "01m7jtcqp3qxaab410bhe5dq5c",
			  ticket[] = "01m7jtcqp3qxaab410bhe5dq5d";
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int asks = -1, tickets = -1;
	char path[128];

	snprintf(path, sizeof(path), "%s/asks", world);
	assert_int_equal(make_directories(path, 0700), 0);
	asks = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(path, sizeof(path), "%s/tickets/%s", world, ticket);
	assert_int_equal(make_directories(path, 0700), 0);
	tickets = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(write_file(tickets, "state.json", "{}"), 0);
	assert_true(asprintf(&text,
			     "{\"id\": \"%s\", \"ticket\": \"%s\", \"lasts\": true, "
			     "\"hash\": \"%s\", \"ask\": {\"id\": \"%s\", \"command\": \"ls\"}}",
			     id, ticket, hash, id) > 0);
	assert_int_equal(write_file(asks, id, text), 0);
}

static void a_question_that_is_asked_anew_is_told_anew(void **state)
{
	struct counted counted;

	(void)state;
	put_ask("one");
	look("0");
	look("0");
	assert_int_equal(count_jobs().waiting, 1);
	put_ask("two"); /* its policy has changed */
	look("0");
	look("0");
	assert_int_equal(count_jobs().waiting, 2);
	counted = count_jobs();
	assert_int_not_equal(!strstr(counted.bodies[0], "\"two\""),
			     !strstr(counted.bodies[1], "\"two\""));
}

static json_t *make_job(unsigned number)
{
	char id[ID_TEXT];

	snprintf(id, sizeof(id), "%026u", number);
	return json_pack("{s:s, s:s, s:s, s:i, s:i}", "id", id, "channel", "team", "body", "{}",
			 "attempts", 3, "next", 0);
}

static void the_queue_is_bounded_and_what_is_more_is_given_up(void **state)
{
	struct counted counted;

	(void)state;
	for (unsigned i = 0; i < OUT_MOST + 5; i++)
		assert_int_equal(box_put(&box, make_job(i)), 0);
	assert_int_equal(box_put(&box, make_job(0)), 0); /* is there */
	counted = count_jobs();
	assert_int_equal(counted.waiting, OUT_MOST);
	assert_int_equal(counted.dead, 5);
}

static void what_was_given_up_is_tried_again_or_dropped(void **state)
{
	json_t *job = make_job(7);
	unsigned changed;

	(void)state;
	assert_int_equal(box_put(&box, make_job(7)), 0);
	assert_int_equal(box_bury(&box, job, "it is gone"), 0);
	json_decref(job);
	assert_int_equal(count_jobs().dead, 1);
	assert_int_equal(box_put(&box, make_job(7)), 0); /* found again: it stays given up */
	assert_int_equal(count_jobs().waiting, 0);
	assert_int_equal(deliver_retry(world, NULL, &changed, NULL), 0);
	assert_int_equal(changed, 1);
	job = box_read(box.out, "00000000000000000000000007");
	assert_int_equal(json_integer_value(json_object_get(job, "attempts")), 0);
	assert_null(json_object_get(job, "why"));
	/* One that a person has dropped stays so, whoever was at it. */
	assert_int_equal(deliver_drop(world, "0000000000000000", &changed, NULL), 0);
	assert_int_equal(changed, 1);
	assert_int_equal(box_update(&box, job), 0);
	assert_true(box_bury(&box, job, "late") < 0);
	json_decref(job);
	assert_int_equal(count_jobs().waiting + count_jobs().dead, 0);
	assert_true(deliver_drop(world, "0000000000000000", &changed, NULL) < 0);
}

static void what_lies_there_and_is_no_message_is_left_alone(void **state)
{
	(void)state;
	assert_int_equal(write_file(box.out, "00000000000000000000000001", "garbage"), 0);
	assert_int_equal(write_file(box.out, "00000000000000000000000002", "{\"id\": \"x\"}"), 0);
	assert_int_equal(symlinkat("/etc/passwd", box.out, "00000000000000000000000003"), 0);
	assert_int_equal(mkdirat(box.out, "00000000000000000000000004", 0700), 0);
	assert_int_equal(count_jobs().waiting, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(an_incident_goes_to_those_who_want_it),
		TEST(what_is_found_twice_is_told_once_with_the_same_words),
		TEST(who_comes_later_begins_behind_what_was_there),
		TEST(a_log_that_was_begun_anew_is_read_from_its_beginning),
		TEST(a_question_that_is_asked_anew_is_told_anew),
		TEST(the_queue_is_bounded_and_what_is_more_is_given_up),
		TEST(what_was_given_up_is_tried_again_or_dropped),
		TEST(what_lies_there_and_is_no_message_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
