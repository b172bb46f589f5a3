/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that come back from webhooks: what counts, and every way in which one does not. */
#include "base/id.h"
#include "base/io.h"
#include "escalate/callback.h"
#include "escalate/queue.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { NOW = 1794854248, ROUNDS = 60000 };

static const char secret[] = "0123456789abcdef0123456789abcdef";
static char world[] = "/tmp/ward-callback-XXXXXX";
static struct notify_channel channels[] = {
	{.name = "team", .kind = CHANNEL_WEBHOOK, .secret_variable = "WARD_TEST_SECRET"},
	{.name = "other", .kind = CHANNEL_WEBHOOK, .secret_variable = "WARD_TEST_SECRET"},
	{.name = "chat",
	 .kind = CHANNEL_WEBHOOK,
	 .shape = SHAPE_SLACK,
	 .secret_variable = "WARD_TEST_SECRET"},
	{.name = "guards",
	 .group = GROUP_SECURITY,
	 .kind = CHANNEL_WEBHOOK,
	 .secret_variable = "WARD_TEST_SECRET"},
	{.name = "tool", .kind = CHANNEL_PROGRAM},
	{.name = "open", .kind = CHANNEL_WEBHOOK},
};
static const struct notify notify = {channels, ELEMENTS(channels), (char *)"https://ward.example"};

static pid_t asker;
static json_t *entry;

static void take_entry(void *data, json_t *found)
{
	(void)data;
	entry = json_incref(found);
}

/* A question that waits; its asker's exit status is the answer's kind. */
static int set_up(void **data)
{
	struct queue queue = {.state = world, .run = "run", .patience_ns = 600 * 1000000000ull};
	_cleanup_list_ struct list grants = {0};
	const struct ask question = {.kind = ASK_BEFORE,
				     .command = "rm -r build",
				     .cwd = "/work",
				     .why = "a test",
				     .grants = &grants};
	struct approver approver = queue_approver(&queue);
	struct answer answer;

	(void)data;
	strcpy(world, "/tmp/ward-callback-XXXXXX");
	assert_non_null(mkdtemp(world));
	setenv("WARD_TEST_SECRET", secret, 1);
	asker = fork();
	if (asker == 0) {
		bool good = approver.ask(approver.data, &question, &answer, NULL) == 0 &&
			    (answer.kind != ANSWER_APPROVE ||
			     strcmp(answer.by, "alice through channel team") == 0 ||
			     strcmp(answer.by, "bob (U1) through channel chat") == 0);

		_exit(good ? (int)answer.kind : 99);
	}
	for (int i = 0; i < ROUNDS && !entry; i++) {
		queue_list(world, take_entry, NULL, NULL);
		if (!entry)
			poll(NULL, 0, 1);
	}
	return entry ? 0 : -1;
}

static int tear_down(void **data)
{
	(void)data;
	if (asker > 0) {
		kill(asker, SIGKILL);
		waitpid(asker, NULL, 0);
	}
	json_decref(entry);
	entry = NULL;
	return remove_tree(AT_FDCWD, world);
}

static int answer_kind(void)
{
	int status;

	assert_int_equal(waitpid(asker, &status, 0), asker);
	asker = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool is_still_asked(void)
{
	json_t *found = NULL;
	bool stands = queue_get(world, json_string_value(json_object_get(entry, "id")), &found,
				NULL) == 0;

	json_decref(found);
	return stands;
}

/* As the receiver of a message would make it. Caller frees. */
static char *make_body(const char *channel, const char *answer)
{
	char nonce[SIGN_TEXT], *text;

	callback_nonce(secret, channel, entry, nonce);
	assert_true(asprintf(&text,
			     "{\"ask\": \"%s\", \"nonce\": \"%s\", \"hash\": \"%s\", "
			     "\"answer\": %s, \"by\": \"alice\"}",
			     json_string_value(json_object_get(entry, "id")), nonce,
			     json_string_value(json_object_get(entry, "hash")), answer) > 0);
	return text;
}

static enum callback_verdict send_at(const char *channel, const char *body, int64_t signed_at,
				     int64_t now)
{
	_cleanup_error_ struct error *error = NULL;
	char header[SIGNATURE_TEXT];
	struct callback callback = {.state = world,
				    .notify = &notify,
				    .channel = channel,
				    .signature = header,
				    .body = body,
				    .length = strlen(body),
				    .now = now};
	enum callback_verdict verdict;

	signature_make(secret, signed_at, body, strlen(body), header);
	verdict = callback_take(&callback, &error);
	assert_true((verdict == CALLBACK_TAKEN) == !error);
	return verdict;
}

static enum callback_verdict send(const char *channel, const char *body)
{
	return send_at(channel, body, NOW, NOW);
}

static void a_signed_yes_is_a_yes(void **state)
{
	_cleanup_free_ char *body = make_body("team", "{\"answer\": \"approve\"}");

	(void)state;
	assert_int_equal(send("team", body), CALLBACK_TAKEN);
	assert_int_equal(answer_kind(), ANSWER_APPROVE);
	/* Whatever becomes of the question, it does not count again. */
	assert_int_equal(send("team", body), CALLBACK_REPLAYED);
	assert_int_equal(send_at("team", body, NOW + 60, NOW + 60), CALLBACK_REPLAYED);
}

static void a_replay_after_its_minutes_is_too_old(void **state)
{
	_cleanup_free_ char *body = make_body("team", "{\"answer\": \"deny\"}");

	(void)state;
	assert_int_equal(send_at("team", body, NOW, NOW + 300), CALLBACK_TOO_OLD);
	assert_int_equal(send_at("team", body, NOW, NOW - 300), CALLBACK_TOO_OLD);
	assert_true(is_still_asked());
	assert_int_equal(send_at("team", body, NOW, NOW + 299), CALLBACK_TAKEN);
	assert_int_equal(answer_kind(), ANSWER_DENY);
	assert_int_equal(send_at("team", body, NOW, NOW + 301), CALLBACK_TOO_OLD);
}

static void what_is_not_signed_by_the_channel_is_nothing(void **state)
{
	static const char *const without[] = {"guards", "tool", "open", "nobody", "../team", ""};
	_cleanup_free_ char *body = make_body("team", "{\"answer\": \"approve\"}");
	struct callback callback = {.state = world,
				    .notify = &notify,
				    .channel = "team",
				    .body = body,
				    .length = strlen(body),
				    .now = NOW};
	char header[SIGNATURE_TEXT];

	(void)state;
	assert_int_equal(callback_take(&callback, NULL), CALLBACK_BAD_SIGNATURE);
	callback.signature = "";
	assert_int_equal(callback_take(&callback, NULL), CALLBACK_BAD_SIGNATURE);
	signature_make("another-secret-of-theirs", NOW, body, strlen(body), header);
	callback.signature = header;
	assert_int_equal(callback_take(&callback, NULL), CALLBACK_BAD_SIGNATURE);
	/* Slack's way is not that of a channel that is not Slack's. */
	callback.slack_signature = header;
	callback.slack_time = "1794854248";
	assert_int_equal(callback_take(&callback, NULL), CALLBACK_BAD_SIGNATURE);
	for (size_t i = 0; i < ELEMENTS(without); i++)
		assert_int_equal(send(without[i], body), CALLBACK_BAD_SIGNATURE);
	assert_true(is_still_asked());
}

static void a_question_is_answered_from_where_it_was_put(void **state)
{
	_cleanup_free_ char *body = make_body("team", "{\"answer\": \"approve\"}");

	(void)state;
	assert_int_equal(send("other", body), CALLBACK_WRONG_CHANNEL);
	assert_true(is_still_asked());
}

static void what_is_no_answer_to_it_is_refused(void **state)
{
	static const char *const answers[] = {
		"{}",
		"{\"answer\": \"yes\"}",
		"{\"answer\": \"approve\", \"scope\": \"always\"}",
		"{\"answer\": \"approve\", \"unsandboxed\": true}",
		"{\"answer\": \"approve\", \"grants\": [\"write /\"]}",
		"{\"answer\": \"defer\"}",
		"{\"answer\": \"approve\", \"more\": 1}",
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(answers); i++) {
		_cleanup_free_ char *body = make_body("team", answers[i]);

		assert_int_equal(send("team", body), CALLBACK_NO_CHOICE);
	}
	assert_true(is_still_asked());
}

static void a_question_that_is_gone_or_another_is_not_answered(void **state)
{
	_cleanup_free_ char *body = make_body("team", "{\"answer\": \"approve\"}"),
			    *changed = strdup(body), *elsewhere = strdup(body),
			    *later = make_body("team", "{\"answer\": \"deny\"}");
	char *hash = strstr(changed, "\"hash\": \"") + 9, *id = strstr(elsewhere, "\": \"") + 4;

	(void)state;
	*hash = *hash == '0' ? '1' : '0';
	assert_int_equal(send("team", changed), CALLBACK_GONE);
	id[20] = id[20] == '0' ? '1' : '0';
	assert_int_equal(send("team", elsewhere), CALLBACK_GONE);
	assert_true(is_still_asked());
	assert_int_equal(send("team", body), CALLBACK_TAKEN);
	assert_int_equal(answer_kind(), ANSWER_APPROVE);
	assert_int_equal(send("team", later), CALLBACK_GONE);
}

static void garbage_is_malformed(void **state)
{
	static const char *const bodies[] = {
		"",
		"{}",
		"[]",
		"null",
		"{\"ask\": 1, \"nonce\": 2, \"hash\": 3, \"answer\": 4}",
		"{\"ask\": \"../../x\", \"nonce\": \"\", \"hash\": \"\", \"answer\": {}}",
		"payload=%7B%7D",
		"{\"ask\": \"01m7jtcqpq21cq4zx5tbp069mh\"",
		/* What ward itself sent, signed with the same secret, sent back. */
		"{\"version\":1,\"delivery\":\"01m7jtcqpqxn4w2qexnhgbnm4p\",\"event\":\"asked\","
		"\"question\":{\"id\":\"01m7jtcqpq21cq4zx5tbp069mh\"},\"callback\":{}}",
	};
	_cleanup_free_ char *body = make_body("team", "{\"answer\": \"approve\"}"), *twice = NULL,
			    *long_one = calloc(1, CALLBACK_MOST + 2);

	(void)state;
	for (size_t i = 0; i < ELEMENTS(bodies); i++)
		assert_int_equal(send("team", bodies[i]), CALLBACK_MALFORMED);
	assert_true(asprintf(&twice, "%.*s, \"answer\": {\"answer\": \"deny\"}}",
			     (int)strlen(body) - 1, body) > 0);
	assert_int_equal(send("team", twice), CALLBACK_MALFORMED);
	memset(long_one, ' ', CALLBACK_MOST + 1);
	memcpy(long_one, body, strlen(body));
	assert_int_equal(send("team", long_one), CALLBACK_MALFORMED);
	assert_true(is_still_asked());
}

/* Caller frees. */
static char *slack_form(const char *choice, const char *channel)
{
	char nonce[SIGN_TEXT], *text;

	callback_nonce(secret, channel, entry, nonce);
	assert_true(asprintf(&text,
			     "payload=%%7B%%22type%%22%%3A%%22block_actions%%22%%2C%%22user%%22%%3A"
			     "%%7B%%22id%%22%%3A%%22U1%%22%%2C%%22username%%22%%3A%%22bob%%22%%7D"
			     "%%2C%%22actions%%22%%3A%%5B%%7B%%22value%%22%%3A%%22%s+%s+%s+%s%%22"
			     "%%7D%%5D%%7D",
			     json_string_value(json_object_get(entry, "id")), nonce,
			     json_string_value(json_object_get(entry, "hash")), choice) > 0);
	return text;
}

static enum callback_verdict press(const char *body, const char *time, int64_t now)
{
	const struct sign_part parts[] = {
		{"v0:", 3}, {time, strlen(time)}, {":", 1}, {body, strlen(body)}};
	char header[SIGN_TEXT + 3] = "v0=";
	struct callback callback = {.state = world,
				    .notify = &notify,
				    .channel = "chat",
				    .slack_signature = header,
				    .slack_time = time,
				    .body = body,
				    .length = strlen(body),
				    .now = now};

	sign_parts(secret, parts, ELEMENTS(parts), header + 3);
	return callback_take(&callback, NULL);
}

static void a_button_in_slack_is_an_answer(void **state)
{
	_cleanup_free_ char *yes = slack_form("approve+once", "chat"),
			    *wide = slack_form("approve+always", "chat"),
			    *strange = slack_form("approve+team", "team"),
			    *odd = slack_form("%22%7D", "chat");
	static const char none[] = "payload=%7B%22type%22%3A%22view_submission%22%7D";

	(void)state;
	assert_int_equal(press(wide, "1794854248", NOW), CALLBACK_NO_CHOICE);
	assert_int_equal(press(strange, "1794854248", NOW), CALLBACK_WRONG_CHANNEL);
	assert_int_equal(press(odd, "1794854248", NOW), CALLBACK_MALFORMED);
	assert_int_equal(press(none, "1794854248", NOW), CALLBACK_MALFORMED);
	assert_int_equal(press("payload=%7", "1794854248", NOW), CALLBACK_MALFORMED);
	assert_int_equal(press("a=b&payload=%7B%7D", "1794854248", NOW), CALLBACK_MALFORMED);
	assert_int_equal(press(yes, "1794854248", NOW + 300), CALLBACK_TOO_OLD);
	assert_int_equal(send("chat", yes), CALLBACK_BAD_SIGNATURE);
	assert_true(is_still_asked());
	assert_int_equal(press(yes, "1794854248", NOW), CALLBACK_TAKEN);
	assert_int_equal(answer_kind(), ANSWER_APPROVE);
	assert_int_equal(press(yes, "1794854248", NOW), CALLBACK_REPLAYED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_signed_yes_is_a_yes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_replay_after_its_minutes_is_too_old, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_not_signed_by_the_channel_is_nothing,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_question_is_answered_from_where_it_was_put,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_no_answer_to_it_is_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_question_that_is_gone_or_another_is_not_answered,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(garbage_is_malformed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_button_in_slack_is_an_answer, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
