/* SPDX-License-Identifier: Apache-2.0 */
/* Channels: what a policy may say of them, signatures, and that nothing an agent writes is anything
 * but text wherever it goes. */
#include "base/escape.h"
#include "base/sign.h"
#include "decide/policy.h"
#include "escalate/message.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <sys/stat.h>

#include <cmocka.h>

#define HEAD "notify:\n  approvers:\n    - "

static void faults_of_channels_are_named_with_their_place(void **state)
{
	static const struct {
		const char *text;
		int line;
		const char *message;
	} faults[] = {
		{"notify: []", 1, "a group of keys"},
		{"notify: {approvers: x}", 1, "a list is wanted"},
		{HEAD "desktop: true", 3, "without a name"},
		{HEAD "name: a", 3, "leads nowhere"},
		{HEAD "name: A\n      desktop: true", 3, "small letters"},
		{HEAD "name: ../x\n      desktop: true", 3, "small letters"},
		{HEAD "name: -a\n      desktop: true", 3, "small letters"},
		{HEAD "name: a\n      desktop: true\n    - name: a\n      desktop: true", 5,
		 "two channels"},
		{HEAD
		 "name: a\n      desktop: true\n  security:\n    - name: a\n      desktop: true",
		 6, "two channels"},
		{HEAD "name: a\n      desktop: true\n      mail: [x@y.z]", 5, "one of webhook"},
		{HEAD "name: a\n      desktop: false", 4, "no use"},
		{HEAD "name: a\n      webhook: ftp://x/", 3, "no URL"},
		{HEAD "name: a\n      webhook: http://other.example/", 3, "no URL"},
		{HEAD "name: a\n      webhook: http://localhost.example/", 3, "no URL"},
		{HEAD "name: a\n      webhook: http://127.0.0.1@other.example/", 3, "no URL"},
		{HEAD "name: a\n      webhook: https://user:word@chat.example/", 3, "no URL"},
		{HEAD "name: a\n      webhook: \"https://chat.example/\\nX: y\"", 3, "no URL"},
		{HEAD "name: a\n      webhook: https://chat.example:x/", 3, "no URL"},
		{HEAD "name: a\n      webhook: https:///x", 3, "no URL"},
		{HEAD "name: a\n      program: [tell]", 4, "absolute path"},
		{HEAD "name: a\n      program: []", 4, "a list"},
		{HEAD "name: a\n      mail: [-oQ/tmp/x]", 4, "no plain address"},
		{HEAD "name: a\n      mail: [\"a@b\\nBcc: c@d\"]", 4, "no plain address"},
		{HEAD "name: a\n      mail: [a b]", 4, "no plain address"},
		{HEAD "name: a\n      mail: ['|/bin/sh']", 4, "no plain address"},
		{HEAD "name: a\n      mail: [a@b.c]\n      from: 'x y'", 5, "a plain address"},
		{HEAD "name: a\n      desktop: true\n      from: x@y", 3, "only mail"},
		{HEAD "name: a\n      desktop: true\n      secret_variable: X", 3,
		 "only a webhook"},
		{HEAD "name: a\n      webhook: https://x.y/\n      secret_variable: a b", 5,
		 "name of a variable"},
		{HEAD "name: a\n      webhook: https://x.y/\n      secret_file: secret", 5,
		 "whole path"},
		{HEAD "name: a\n      webhook: https://x.y/\n      secret: abc", 5, "unknown key"},
		{HEAD "name: a\n      desktop: true\n      on: [everything]", 5,
		 "nothing of that name"},
		{HEAD "name: a\n      desktop: true\n      risk: huge", 5, "low, medium"},
		{HEAD "name: a\n      desktop: true\n      attempts: 21", 5, "1 to 20"},
		{HEAD "name: a\n      desktop: true\n      timeout: 2h", 5, "a time"},
		{HEAD "name: a\n      desktop: true\n      backoff: 0", 5, "a time"},
		{"notify: {callback: http://other.example/}", 1, "the URL under which"},
		{"notify: {callback: 'https://x.y/?a=b'}", 1, "the URL under which"},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(faults); i++) {
		_cleanup_error_ struct error *error = NULL;

		if (policy_parse(faults[i].text, strlen(faults[i].text), "x.yaml", NULL, NULL,
				 &error) == 0)
			fail_msg("taken: %s", faults[i].text);
		if (error->line != faults[i].line || !strstr(error->message, faults[i].message))
			fail_msg("%s\n  gives %d: %s", faults[i].text, error->line, error->message);
	}
}

static void urls_lead_only_where_they_may(void **state)
{
	(void)state;
	assert_true(channel_url_is_good("https://chat.example/hook?x=1", false));
	assert_true(channel_url_is_good("https://chat.example:8443", false));
	assert_true(channel_url_is_good("http://127.0.0.1:80/x", false));
	assert_true(channel_url_is_good("http://[::1]:80/x", false));
	assert_true(channel_url_is_good("http://other.example/", true));
	assert_false(channel_url_is_good("http://[::1", true));
	assert_false(channel_url_is_good("http://127.0.0.1.other.example/", false));
	assert_false(channel_url_is_good("https://a b/", false));
	assert_false(channel_url_is_good("https://a\\b/", false));
	assert_false(channel_url_is_good("file:///etc/passwd", true));
}

static void a_channel_is_told_of_what_it_wants(void **state)
{
	char *agents[] = {"claude*"};
	struct notify_channel channel = {.notices = NOTICE_ASKED,
					 .risk = RISK_HIGH,
					 .agents = {.items = agents, .count = 1}};

	(void)state;
	assert_true(channel_wants(&channel, NOTICE_ASKED, "claude-1", "high"));
	assert_true(channel_wants(&channel, NOTICE_ASKED, "claude-1", "critical"));
	assert_true(channel_wants(&channel, NOTICE_ASKED, "claude-1", NULL));
	assert_false(channel_wants(&channel, NOTICE_ASKED, "claude-1", "medium"));
	assert_false(channel_wants(&channel, NOTICE_ASKED, "other", "high"));
	assert_false(channel_wants(&channel, NOTICE_ASKED, NULL, "high"));
	assert_false(channel_wants(&channel, NOTICE_EXPIRED, "claude-1", "high"));
}

/* RFC 4231, 4.3. */
static void signatures_are_those_of_the_standard(void **state)
{
	static const char data[] = "what do ya want for nothing?";
	const struct sign_part parts[] = {{data, 8}, {data + 8, strlen(data) - 8}};
	char text[SIGN_TEXT];

	(void)state;
	sign_parts("Jefe", parts, ELEMENTS(parts), text);
	assert_string_equal(text,
			    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

static void a_signature_holds_for_its_body_its_secret_and_its_minutes(void **state)
{
	static const char body[] = "{\"a\": 1}";
	char header[SIGNATURE_TEXT], other[2 * SIGNATURE_TEXT];

	(void)state;
	signature_make("secret-of-the-test", 1000000, body, strlen(body), header);
	/* python3: hmac.new(b'secret-of-the-test', b'1000000.{"a": 1}', 'sha256').hexdigest() */
	assert_string_equal(header,
			    "t=1000000,v1="
			    "2c4a431cdb9bbc6a557344cc66b4eaae7ada488bf1bb7728d25accd10fadd9f7");
#define CHECK(secret, given, now, text) signature_check(secret, given, now, text, strlen(text))
	assert_int_equal(CHECK("secret-of-the-test", header, 1000000, body), SIGNATURE_GOOD);
	assert_int_equal(CHECK("secret-of-the-test", header, 1000299, body), SIGNATURE_GOOD);
	assert_int_equal(CHECK("secret-of-the-test", header, 1000300, body), SIGNATURE_OLD);
	assert_int_equal(CHECK("secret-of-the-test", header, 999700, body), SIGNATURE_OLD);
	assert_int_equal(CHECK("secret-of-the-tess", header, 1000000, body), SIGNATURE_BAD);
	assert_int_equal(CHECK("secret-of-the-test", header, 1000000, "{\"a\": 2}"), SIGNATURE_BAD);
	/* Another time is another signature; one among several is enough; nothing else is in it. */
	memcpy(other, header, sizeof(header));
	other[8] = '1';
	assert_int_equal(CHECK("secret-of-the-test", other, 1000000, body), SIGNATURE_BAD);
	snprintf(other, sizeof(other), "t=1000000,v1=%064d,%s", 0, strchr(header, ',') + 1);
	assert_int_equal(CHECK("secret-of-the-test", other, 1000000, body), SIGNATURE_GOOD);
	snprintf(other, sizeof(other), "t=1000000,%s", header);
	assert_int_equal(CHECK("secret-of-the-test", other, 1000000, body), SIGNATURE_BAD);
	snprintf(other, sizeof(other), "%s,x=1", header);
	assert_int_equal(CHECK("secret-of-the-test", other, 1000000, body), SIGNATURE_BAD);
	assert_int_equal(CHECK("secret-of-the-test", "", 1000000, body), SIGNATURE_BAD);
	assert_int_equal(CHECK("secret-of-the-test", "t=1000000", 1000000, body), SIGNATURE_BAD);
	assert_int_equal(CHECK("secret-of-the-test", "t=,v1=", 1000000, body), SIGNATURE_BAD);
	assert_int_equal(CHECK("secret-of-the-test", "t=99999999999999999999,v1=", 0, body),
			 SIGNATURE_BAD);
#undef CHECK
}

/* The example of Slack's own documentation. */
static void slacks_signature_is_slacks(void **state)
{
	static const char secret[] = "8f742231b10e8888abcd99yyyzzz85a5";
	static const char given[] =
		"v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";
	static const char body[] =
		"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&"
		"channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&"
		"command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2F"
		"commands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id="
		"398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
	size_t length = strlen(body);

	(void)state;
#define CHECK(header, time, now) signature_check_slack(secret, header, time, now, body, length)
	assert_int_equal(CHECK(given, "1531420618", 1531420618), SIGNATURE_GOOD);
	assert_int_equal(CHECK(given, "1531420618", 1531420618 + 300), SIGNATURE_OLD);
	assert_int_equal(CHECK(given, "1531420619", 1531420618), SIGNATURE_BAD);
	assert_int_equal(CHECK(given, "1531420618 ", 1531420618), SIGNATURE_BAD);
	assert_int_equal(CHECK("v0=", "1531420618", 1531420618), SIGNATURE_BAD);
	assert_int_equal(CHECK("", "", 1531420618), SIGNATURE_BAD);
#undef CHECK
}

static void a_secret_is_its_owners_alone(void **state)
{
	char path[] = "/tmp/ward-secret-XXXXXX";
	struct notify_channel channel = {.name = "team", .secret_file = path};
	int fd = mkstemp(path);
	char *secret = NULL;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "0123456789abcdef\n", 17), 17);
	assert_int_equal(channel_secret(&channel, NULL, &secret, NULL), 0);
	assert_string_equal(secret, "0123456789abcdef");
	free(secret);
	assert_int_equal(fchmod(fd, 0640), 0);
	assert_true(channel_secret(&channel, NULL, &secret, NULL) < 0);
	assert_int_equal(fchmod(fd, 0600), 0);
	assert_int_equal(ftruncate(fd, 10), 0);
	assert_true(channel_secret(&channel, NULL, &secret, NULL) < 0);
	close(fd);
	unlink(path);
	assert_true(channel_secret(&channel, NULL, &secret, NULL) < 0);
	channel.secret_file = NULL;
	channel.secret_variable = "WARD_TEST_SECRET";
	unsetenv("WARD_TEST_SECRET");
	assert_true(channel_secret(&channel, NULL, &secret, NULL) < 0);
	setenv("WARD_TEST_SECRET", "fedcba9876543210", 1);
	assert_int_equal(channel_secret(&channel, NULL, &secret, NULL), 0);
	assert_string_equal(secret, "fedcba9876543210");
	free(secret);
}

/* Everything that means something to somebody. */
static const char hostile[] =
	"<!channel> @here <https://evil.example|safe> ```x``` *b* & "
	"\r\nBcc: a@b.c\r\n\r\n.\r\n\x1b[2Jx \u202etxt.exe\u202c \u200b <b>b</b>";

static json_t *make_entry(const char *command)
{
	json_t *entry = json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:s, s:{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:[s], "
		"s:[s,s,s,s], s:{s:s}, s:b}}",
		"id", "01m7jtcqpq21cq4zx5tbp069mh", "run", "01m7jtcqp3qxaab410bhe5dq5b", "since",
		"2026-11-16T18:37:28.151Z", "until", "2026-11-16T19:07:28.151Z", "nonce",
		"01m7jtcqpq21cq4zx5tbp06xyz", "hash",
		"f38ee5f145ba01969f942cb6813968323d16d867860c3d61a60282341d5568e5", "ask",
		"command", command, "agent", command, "cwd", command, "why", command, "reason",
		command, "session", command, "text", "ward asks\n  | x\n", "grants", command,
		"choices", "approve once", "approve always", "deny once", "abort", "risk", "level",
		"high", "destroys", 0);

	assert_non_null(entry);
	return entry;
}

static void nothing_is_markup(json_t *value)
{
	const char *key, *text = json_string_value(value);
	json_t *item;
	size_t i;

	json_object_foreach (value, key, item)
		nothing_is_markup(item);
	json_array_foreach (value, i, item)
		nothing_is_markup(item);
	if (!text)
		return;
	assert_null(strchr(text, '<'));
	assert_null(strchr(text, '>'));
	for (size_t at = 0, size; text[at]; at += size) {
		unsigned code = 0;

		size = utf8_decode(text + at, strlen(text + at), &code);
		assert_true(size > 0);
		assert_false(code != ' ' && escape_is_hidden(code));
	}
}

static size_t count_buttons(json_t *message, const char *choice)
{
	json_t *blocks = json_object_get(message, "blocks"), *block, *button;
	size_t i, k, count = 0;

	json_array_foreach (blocks, i, block)
		json_array_foreach (json_object_get(block, "elements"), k, button)
			count += strncmp(json_string_value(json_object_get(button, "action_id")),
					 choice, strlen(choice)) == 0;
	return count;
}

static void in_slack_an_agents_words_are_only_words(void **state)
{
	const struct notify_channel channel = {
		.name = "chat", .kind = CHANNEL_WEBHOOK, .shape = SHAPE_SLACK};
	json_t *entry = make_entry(hostile), *message, *block;
	struct matter_told matter = {.notice = NOTICE_ASKED,
				     .delivery = "01m7jtcqpq9505k6gd4gy0y6tr",
				     .entry = entry,
				     .nonce = "n",
				     .callback = "https://ward.example/hook/chat"};
	const char *text;
	size_t i;

	(void)state;
	message = message_slack(&channel, &matter);
	nothing_is_markup(message);
	/* What is read as markup is one piece of code. */
	text = json_string_value(json_object_get(message, "text"));
	assert_null(strchr(text, '@'));
	assert_non_null(strstr(text, "```&lt;!channel&gt; \\x40here"));
	text = strstr(text, "```") + 3;
	assert_string_equal(strchr(text, '`'), "```");
	/* All else is no markup at all. */
	json_array_foreach (json_object_get(message, "blocks"), i, block) {
		json_t *inner = json_object_get(block, "text");

		if (inner)
			assert_string_equal(json_string_value(json_object_get(inner, "type")),
					    "plain_text");
	}
	assert_int_equal(count_buttons(message, "approve once"), 1);
	assert_int_equal(count_buttons(message, "approve always"), 0);
	assert_int_equal(count_buttons(message, "deny once"), 1);
	json_decref(message);
	matter.callback = NULL;
	message = message_slack(&channel, &matter);
	assert_int_equal(count_buttons(message, ""), 0);
	json_decref(message);
	json_decref(entry);
}

static void nobody_says_yes_to_what_is_not_shown(void **state)
{
	const struct notify_channel channel = {.name = "chat", .kind = CHANNEL_WEBHOOK};
	_cleanup_free_ char *command = malloc(400000);
	struct matter_told matter = {.notice = NOTICE_ASKED,
				     .delivery = "01m7jtcqpq9505k6gd4gy0y6tr",
				     .nonce = "n",
				     .callback = "https://ward.example/hook/chat"};
	json_t *message;

	(void)state;
	memset(command, '<', 400000);
	command[399999] = '\0';
	matter.entry = make_entry(command);
	message = message_slack(&channel, &matter);
	assert_int_equal(count_buttons(message, "approve"), 0);
	assert_int_equal(count_buttons(message, "deny once"), 1);
	assert_true(json_dumpb(message, NULL, 0, 0) < 20000);
	json_decref(message);
	message = message_generic(&channel, &matter);
	assert_true(json_is_true(json_object_get(message, "shortened")));
	assert_true(json_is_null(json_object_get(message, "callback")));
	assert_true(json_dumpb(message, NULL, 0, 0) < 300000);
	json_decref(message);
	json_decref(matter.entry);
	/* Nor to what is said around the command. */
	command[2000] = '\0';
	matter.entry = make_entry("ls");
	message = message_slack(&channel, &matter);
	assert_int_equal(count_buttons(message, "approve once"), 1);
	json_decref(message);
	json_object_set_new(json_object_get(matter.entry, "ask"), "cwd", json_string(command));
	message = message_slack(&channel, &matter);
	assert_int_equal(count_buttons(message, "approve"), 0);
	assert_int_equal(count_buttons(message, "deny once"), 1);
	json_decref(message);
	json_decref(matter.entry);
}

static void what_is_known_of_a_wish_stands_in_slack(void **state)
{
	const struct notify_channel channel = {.name = "chat", .kind = CHANNEL_WEBHOOK};
	struct matter_told matter = {.notice = NOTICE_ASKED,
				     .delivery = "01m7jtcqpq9505k6gd4gy0y6tr",
				     .entry = make_entry("ls")};
	json_t *ask = json_object_get(matter.entry, "ask"), *message;
	_cleanup_free_ char *text = NULL;

	(void)state;
	json_object_set_new(ask, "note", json_string("your own machine"));
	json_object_set_new(ask, "opinion", json_pack("{s:s}", "summary", "sends it away"));
	message = message_slack(&channel, &matter);
	text = json_dumps(message, 0);
	assert_non_null(strstr(text, "\"Which is: your own machine\""));
	assert_non_null(strstr(text, "\"A model's opinion, unchecked: sends it away\""));
	json_decref(message);
	json_decref(matter.entry);
}

static void a_question_goes_out_without_what_ties_answers_to_it(void **state)
{
	const struct notify_channel channel = {.name = "team", .kind = CHANNEL_WEBHOOK};
	json_t *entry = make_entry("ls");
	struct matter_told matter = {
		.notice = NOTICE_ASKED, .delivery = "01m7jtcqpq9505k6gd4gy0y6tr", .entry = entry};
	_cleanup_free_ char *one = message_make(&channel, &matter),
			    *other = message_make(&channel, &matter);

	(void)state;
	assert_null(strstr(one, "01m7jtcqpq21cq4zx5tbp06xyz"));
	assert_string_equal(one, other);
	assert_non_null(json_object_get(entry, "nonce"));
	json_decref(entry);
}

static void mail_has_the_headers_that_it_should_and_no_others(void **state)
{
	char *to[] = {"a@example.org", "b@example.org"};
	const struct notify_channel channel = {.name = "box",
					       .kind = CHANNEL_MAIL,
					       .from = "ward@example.org",
					       .mail = {.items = to, .count = 2}};
	json_t *entry = make_entry(hostile);
	struct matter_told matter = {
		.notice = NOTICE_ASKED, .delivery = "01m7jtcqpq9505k6gd4gy0y6tr", .entry = entry};
	_cleanup_free_ char *mail = NULL, *long_line = malloc(5001);
	size_t column = 0;

	(void)state;
	memset(long_line, 'x', 5000);
	long_line[5000] = '\0';
	json_object_set_new(json_object_get(entry, "ask"), "text",
			    json_sprintf("%s\n.\nFrom x\n%s\n", hostile, long_line));
	mail = message_mail(&channel, &matter);
	assert_memory_equal(mail,
			    "From: ward <ward@example.org>\n"
			    "To: a@example.org,\n b@example.org\n"
			    "Subject: ward: a question waits for an answer (risk: high)\n"
			    "Date: Mon, 16 Nov 2026 18:37:28 +0000\n"
			    "Message-ID: <01m7jtcqpq9505k6gd4gy0y6tr@ward.invalid>\n"
			    "MIME-Version: 1.0\n",
			    230);
	assert_null(strstr(mail, "\r"));
	assert_null(strstr(mail, "\x1b"));
	assert_null(strstr(mail, "\u202e"));
	for (const char *at = mail; *at; at++) {
		column = *at == '\n' ? 0 : column + 1;
		assert_true(column < 998);
	}
	json_decref(entry);
}

static void a_notification_has_no_markup(void **state)
{
	json_t *entry = make_entry(hostile), *message;
	struct matter_told matter = {.notice = NOTICE_ASKED, .entry = entry};

	(void)state;
	message = message_desktop(&matter);
	assert_null(strchr(json_string_value(json_object_get(message, "body")), '<'));
	json_decref(message);
	json_decref(entry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults_of_channels_are_named_with_their_place),
		cmocka_unit_test(urls_lead_only_where_they_may),
		cmocka_unit_test(a_channel_is_told_of_what_it_wants),
		cmocka_unit_test(signatures_are_those_of_the_standard),
		cmocka_unit_test(a_signature_holds_for_its_body_its_secret_and_its_minutes),
		cmocka_unit_test(slacks_signature_is_slacks),
		cmocka_unit_test(a_secret_is_its_owners_alone),
		cmocka_unit_test(in_slack_an_agents_words_are_only_words),
		cmocka_unit_test(nobody_says_yes_to_what_is_not_shown),
		cmocka_unit_test(what_is_known_of_a_wish_stands_in_slack),
		cmocka_unit_test(a_question_goes_out_without_what_ties_answers_to_it),
		cmocka_unit_test(mail_has_the_headers_that_it_should_and_no_others),
		cmocka_unit_test(a_notification_has_no_markup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
