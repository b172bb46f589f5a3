/* SPDX-License-Identifier: Apache-2.0 */
/* Questions and answers as JSON: what an answer may say to which question. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* the name is ward's */

#include "escalate/ask_json.h"
#include "escalate/channel.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct list narrow = {.items = (char *[]){(char *)"write /srv/a"}, .count = 1};
static struct list wide = {.items = (char *[]){(char *)"write /srv/**"}, .count = 1};
static struct list hosts = {.items = (char *[]){(char *)"a.example", (char *)"b.example"},
			    .count = 2};
static struct extent extents[] = {{"the file", &narrow, "- {write: /srv/a}"},
				  {"the directory", &wide, NULL}};

static struct ask plain(void)
{
	return (struct ask){.kind = ASK_BEFORE, .command = "make", .why = "a rule"};
}

static struct ask in_place(void)
{
	return (struct ask){.kind = ASK_IN_PLACE,
			    .command = "sh x",
			    .program = "sh",
			    .verb = "to write",
			    .object = "/srv/a",
			    .grants = &narrow,
			    .covers = "sh",
			    .always_rule = "- {write: /srv/a}",
			    .always_file = "/home/me/ward.yaml",
			    .extents = extents,
			    .extent_count = 2};
}

/* How the answer is read: its error, or NULL. */
static struct answer answer;

static const char *read_as(const struct ask *ask, const char *text)
{
	static char message[256];
	json_t *question = ask_to_json(ask, "q"), *object = json_loads(text, JSON_DECODE_ANY, NULL);
	_cleanup_error_ struct error *error = NULL;
	int r;

	assert_non_null(object);
	answer_done(&answer);
	r = answer_from_json(object, question, &answer, &error);
	json_decref(object);
	json_decref(question);
	if (r == 0)
		return NULL;
	assert_int_equal(answer.kind, ANSWER_NOBODY);
	snprintf(message, sizeof(message), "%s", error->message);
	return message;
}

static void takes(const struct ask *ask, const char *text)
{
	const char *message = read_as(ask, text);

	if (message)
		print_error("%s: %s\n", text, message);
	assert_null(message);
}

static void refuses(const struct ask *ask, const char *text, const char *names)
{
	const char *message = read_as(ask, text);

	if (!message || !strstr(message, names))
		print_error("%s: %s\n", text, message ? message : "taken");
	assert_non_null(message);
	assert_non_null(strstr(message, names));
}

static void test_only_the_choices_of_the_question_count(void **state)
{
	struct ask ask = plain();

	(void)state;
	takes(&ask, "{\"answer\": \"approve\"}");
	assert_int_equal(answer.kind, ANSWER_APPROVE);
	assert_int_equal(answer.scope, SCOPE_ONCE);
	assert_false(answer.unsandboxed);
	assert_string_equal(answer.by, "caller");
	takes(&ask, "{\"answer\": \"deny\", \"reason\": \"no\", \"by\": \"me\"}");
	assert_string_equal(answer.reason, "no");
	assert_string_equal(answer.by, "me");
	takes(&ask, "{\"answer\": \"abort\"}");
	refuses(&ask, "{\"answer\": \"approve\", \"scope\": \"session\"}", "approve session");
	refuses(&ask, "{\"answer\": \"approve\", \"scope\": \"always\"}", "approve always");
	refuses(&ask, "{\"answer\": \"approve\", \"unsandboxed\": true}", "unsandboxed");
	refuses(&ask, "{\"answer\": \"deny\", \"scope\": \"always\"}", "deny always");
	takes(&ask, "{\"answer\": \"approve\", \"extent\": 0}"); /* there is only one */
	refuses(&ask, "{\"answer\": \"approve\", \"extent\": 1}", "extent");
	refuses(&ask, "{\"answer\": \"approve\", \"domains\": []}", "domains");
	ask.may_unsandbox = true;
	takes(&ask, "{\"answer\": \"approve\", \"unsandboxed\": true}");
	assert_true(answer.unsandboxed);
	takes(&ask, "{\"answer\": \"deny\", \"unsandboxed\": true}");
	assert_false(answer.unsandboxed);
	ask.covers = "make";
	refuses(&ask, "{\"answer\": \"approve\", \"unsandboxed\": true, \"scope\": \"session\"}",
		"once");
}

static void test_a_yes_has_an_extent_and_a_time(void **state)
{
	struct ask ask = in_place();

	(void)state;
	takes(&ask, "{\"answer\": \"approve\", \"scope\": \"time\", \"seconds\": 60}");
	assert_int_equal(answer.seconds, 60);
	assert_int_equal(answer.extent, 0);
	takes(&ask, "{\"answer\": \"approve\", \"scope\": \"session\", \"extent\": 1}");
	assert_int_equal(answer.extent, 1);
	takes(&ask, "{\"answer\": \"approve\", \"scope\": \"always\"}");
	refuses(&ask, "{\"answer\": \"approve\", \"scope\": \"always\", \"extent\": 1}", "no rule");
	refuses(&ask, "{\"answer\": \"approve\", \"extent\": 2}", "extent");
	refuses(&ask, "{\"answer\": \"approve\", \"extent\": -1}", "extent");
	refuses(&ask, "{\"answer\": \"approve\", \"extent\": \"0\"}", "extent");
	refuses(&ask, "{\"answer\": \"approve\", \"scope\": \"time\"}", "seconds");
	refuses(&ask, "{\"answer\": \"approve\", \"scope\": \"time\", \"seconds\": 1e3}",
		"seconds");
	refuses(&ask, "{\"answer\": \"approve\", \"scope\": \"time\", \"seconds\": 99999999}",
		"seconds");
	refuses(&ask, "{\"answer\": \"deny\", \"scope\": \"time\"}", "deny time");
	ask.extent = 1; /* then that is what a plain yes is to */
	takes(&ask, "{\"answer\": \"approve\"}");
	assert_int_equal(answer.extent, 1);
}

static void test_hosts_of_code_can_be_changed(void **state)
{
	struct ask ask = plain();

	(void)state;
	ask.code = "import x";
	ask.operation = "networked code";
	ask.domains = &hosts;
	takes(&ask, "{\"answer\": \"approve\"}");
	assert_int_equal(answer.domains.count, 2);
	takes(&ask, "{\"answer\": \"approve\", \"domains\": [\"c.example\"]}");
	assert_int_equal(answer.domains.count, 1);
	assert_string_equal(answer.domains.items[0], "c.example");
	refuses(&ask, "{\"answer\": \"approve\", \"domains\": [\"c.example d.example\"]}", "hosts");
	refuses(&ask, "{\"answer\": \"approve\", \"domains\": [5]}", "hosts");
	takes(&ask, "{\"answer\": \"deny\"}");
	assert_int_equal(answer.domains.count, 0);
}

static void test_what_is_no_answer_is_named(void **state)
{
	struct ask ask = plain();

	(void)state;
	refuses(&ask, "null", "object");
	refuses(&ask, "[]", "object");
	refuses(&ask, "{}", "approve, deny, abort or defer");
	refuses(&ask, "{\"answer\": \"abort\", \"scope\": \"always\"}", "has no scope");
	refuses(&ask, "{\"answer\": \"defer\", \"scope\": \"session\"}", "has no scope");
	refuses(&ask, "{\"answer\": \"defer\"}", "no answer to this question");
	refuses(&ask, "{\"answer\": true}", "approve, deny, abort or defer");
	refuses(&ask, "{\"answer\": \"yes\"}", "approve, deny, abort or defer");
	refuses(&ask, "{\"answer\": \"approve\", \"scope\": 1}", "scope");
	refuses(&ask, "{\"answer\": \"approve\", \"sandboxed\": false}", "sandboxed");
	refuses(&ask, "{\"answer\": \"approve\", \"also\": \"1\"}", "list of ids");
	takes(&ask, "{\"answer\": \"approve\", \"also\": [\"1\"]}");
	refuses(&ask, "{\"answer\": \"approve\", \"unsandboxed\": 1}", "unsandboxed");
	refuses(&ask, "{\"answer\": \"deny\", \"reason\": {}}", "reason");
}

static void test_answers_there_and_back(void **state)
{
	const char *const texts[] = {
		"{\"answer\": \"approve\", \"scope\": \"time\", \"seconds\": 5, \"extent\": 1}",
		"{\"answer\": \"approve\", \"scope\": \"session\", \"reason\": \"x\"}",
		"{\"answer\": \"deny\", \"reason\": \"x\"}", "{\"answer\": \"abort\"}"};
	struct ask ask = in_place();

	(void)state;
	for (size_t i = 0; i < ELEMENTS(texts); i++) {
		json_t *once, *twice;
		char *text;

		takes(&ask, texts[i]);
		once = answer_to_json(&answer);
		text = json_dumps(once, 0);
		takes(&ask, text);
		twice = answer_to_json(&answer);
		assert_true(json_equal(once, twice));
		json_decref(once);
		json_decref(twice);
		free(text);
	}
	answer_done(&answer);
	answer = (struct answer){0};
}

/* What the other end of a channel says to the question that comes to it; it goes away then. */
static void ask_over(const char *reply, struct answer *ret_answer)
{
	struct ask ask = plain();
	struct channel channel = {.answers = true};
	struct approver approver;
	int pair[2];
	pid_t child;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	channel.fd = pair[0];
	approver = channel_approver(&channel);
	child = fork();
	if (child == 0) {
		char text[65536], line[1024];
		size_t length = 0;
		json_t *question;
		const char *id;

		while (length < sizeof(text) && read(pair[1], text + length, 1) == 1 &&
		       text[length] != '\n')
			length++;
		question = json_loadb(text, length, 0, NULL);
		id = json_string_value(json_object_get(json_object_get(question, "ask"), "id"));

		snprintf(line, sizeof(line), reply, id ? id : "");
		if (id)
			(void)!write(pair[1], line, strlen(line));
		_exit(0);
	}
	close(pair[1]);
	assert_true(approver.is_there(approver.data));
	assert_int_equal(approver.ask(approver.data, &ask, ret_answer, NULL), 0);
	assert_int_equal(channel.answers, ret_answer->kind != ANSWER_NOBODY);
	close(pair[0]);
	channel_done(&channel);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void test_who_goes_away_has_not_said_yes(void **state)
{
	static const struct {
		const char *reply;
		enum answer_kind kind;
	} table[] = {
		{"{\"id\": \"%s\", \"answer\": {\"answer\": \"approve\"}}\n", ANSWER_APPROVE},
		{"\n{}\n{\"id\": \"other\", \"answer\": {\"answer\": \"deny\"}}\nnonsense\n"
		 "{\"id\": \"%s\", \"answer\": {\"answer\": \"approve\"}}\n",
		 ANSWER_APPROVE},
		{"{\"id\": \"%s\", \"answer\": {\"answer\": \"approve\"}}", ANSWER_NOBODY},
		{"{\"id\": \"%s\", \"answer\": {\"answer\": \"yes\"}}\n", ANSWER_DENY},
		{"{\"id\": \"%s\"}\n", ANSWER_DENY},
		{"{\"id\": \"%s\", \"answer\": {\"answer\": \"approve\", \"scope\": \"always\"}}\n",
		 ANSWER_DENY},
		{"{\"id\": \"not %s\", \"answer\": {\"answer\": \"approve\"}}\n", ANSWER_NOBODY},
		{"", ANSWER_NOBODY},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(table); i++) {
		_cleanup_answer_ struct answer said = {0};

		ask_over(table[i].reply, &said);
		assert_int_equal(said.kind, table[i].kind);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_the_choices_of_the_question_count),
		cmocka_unit_test(test_a_yes_has_an_extent_and_a_time),
		cmocka_unit_test(test_hosts_of_code_can_be_changed),
		cmocka_unit_test(test_what_is_no_answer_is_named),
		cmocka_unit_test(test_answers_there_and_back),
		cmocka_unit_test(test_who_goes_away_has_not_said_yes),
	};

	signal(SIGPIPE, SIG_IGN); /* as a server does */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
