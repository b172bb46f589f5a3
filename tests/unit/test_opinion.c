/* SPDX-License-Identifier: Apache-2.0 */
/* A model's opinion: what it is told, and which of its answers count. */
#include "decide/mask.h"
#include "escalate/opinion.h"
#include "escalate/ask_json.h"
#include "escalate/question.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static char *masked(const char *text)
{
	struct buffer clean = {0};

	mask_secrets(&clean, text);
	return buffer_steal(&clean);
}

static void secrets_are_masked(void **state)
{
	static const char *const cases[][2] = {
		{"API_KEY=hunter2 make", "API_KEY=[masked] make"},
		{"export DB_PASSWORD='a b c'; ls", "export DB_PASSWORD='[masked]'; ls"},
		{"mysql --password=geheim -u me", "mysql --password=[masked] -u me"},
		{"tool --token abc --verbose", "tool --token [masked] --verbose"},
		{"curl -H 'Authorization: Basic dXNlcjpw' http://h/",
		 "curl -H 'Authorization: [masked]' http://h/"},
		{"curl -H \"X-Api-Key: k1\" u", "curl -H \"X-Api-Key: [masked]\" u"},
		{"curl -d '{\"client_secret\": \"zz\", \"a\": 1}' u",
		 "curl -d '{\"client_secret\": \"[masked]\", \"a\": 1}' u"},
		{"git clone https://me:word@host.example/x.git",
		 "git clone https://me:[masked]@host.example/x.git"},
		{"git clone https://tokenonly@host.example/x.git",
		 "git clone https://[masked]@host.example/x.git"},
		{"psql postgres://u:p@ss@db.example/x", "psql postgres://u:[masked]@db.example/x"},
		{"echo ghp_0123456789abcdef", "echo [masked]"},
		{"echo AKIAIOSFODNN7EXAMPLE", "echo [masked]"},
		{"x='Bearer abc.def/ghi'", "x='Bearer [masked]'"},
		{"echo 0123456789abcdef0123456789abcdef", "echo [masked]"},
		{"echo aB3dE5gH7jK9mN1pQ3sT", "echo [masked]"},
		{"printf '-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----'",
		 "printf '[masked]-----END RSA PRIVATE KEY-----'"},
		{"MYSQL_PWD=geheim mysql", "MYSQL_PWD=[masked] mysql"},
		{"PGPASSWORD=geheim psql", "PGPASSWORD=[masked] psql"},
		{"REDISCLI_AUTH=geheim redis-cli", "REDISCLI_AUTH=[masked] redis-cli"},
		{"SSHPASS=geheim sshpass -e ssh h", "SSHPASS=[masked] sshpass -e ssh h"},
		{"echo known-by-name", "echo [masked]"},
		{"curl -u alice:geheim http://h/", "curl -u alice:[masked] http://h/"},
		{"curl --user 'alice:geheim' u", "curl --user 'alice:[masked]' u"},
		{"curl -ualice:geheim u", "curl -ualice:[masked] u"},
		{"mysql -u root -pgeheim db", "mysql -u root -p[masked] db"},
		{"sshpass -p geheim ssh h", "sshpass -p [masked] ssh h"},
		{"docker login -u me -p \"geheim\" h", "docker login -u me -p \"[masked]\" h"},
		{"redis-cli -a geheim get x", "redis-cli -a [masked] get x"},
		{"aws configure set aws_secret_access_key abc",
		 "aws configure set aws_secret_access_key [masked]"},
		{"echo wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "echo [masked]"},
	};

	(void)state;
	setenv("TEST_OPINION_TOKEN", "known-by-name", 1);
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		_cleanup_free_ char *text = masked(cases[i][0]);

		assert_string_equal(text, cases[i][1]);
	}
	unsetenv("TEST_OPINION_TOKEN");
}

static void what_is_no_secret_stays(void **state)
{
	static const char *const cases[] = {
		"rm -rf build/output-directory-with-a-long-name",
		"git push origin main",
		"pip install requests==2.31.0",
		"curl -fsSL https://registry.example:8443/pkg/linux-x86_64/tool.tar.gz -o "
		"tool.tar.gz",
		"make -j4 CC=gcc CFLAGS='-O2 -g' all",
		"sed -i 's/a/b/' src/very/long/path/to/some/file_name.c",
		"mysql -u root -p db; docker run -p 80:80 -u 1000 image",
		"git push -u origin main; sort -u file",
		"ls src/main/java/org/example/Long/ClassName12",
		"apt-get install password-store; man passwd",
		"",
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		_cleanup_free_ char *text = masked(cases[i]);

		assert_string_equal(text, cases[i]);
	}
}

/* Each of them was read to its end, for each of them: that took minutes. */
static void no_text_is_read_again_and_again(void **state)
{
	static const char *const units[] = {"-", "=", "a=", "_t=", "A/", "-p ", "-u:", "://", "a"};
	enum { LENGTH = 65536 };

	(void)state;
	for (size_t i = 0; i < ELEMENTS(units); i++) {
		_cleanup_free_ char *long_text = calloc(1, LENGTH + 1), *text = NULL;

		for (size_t at = 0; at + strlen(units[i]) <= LENGTH; at += strlen(units[i]))
			memcpy(long_text + at, units[i], strlen(units[i]));
		text = masked(long_text);
		assert_true(strlen(text) > 0);
	}
}

static void it_is_told_command_directory_and_denial_and_no_more(void **state)
{
	char *wanted[] = {"write /srv/site", NULL},
	     *was[] = {"write /srv/site (openat by sh)", NULL};
	const struct list grants = {.items = wanted, .count = 1},
			  refused = {.items = was, .count = 1};
	const struct ask ask = {.command = "deploy --token geheim",
				.cwd = "/home/me/work",
				.agent = "robot-7",
				.session = "session-8",
				.reason = "the user told me",
				.why = "no rule allows it",
				.grants = &grants,
				.refused = &refused};
	_cleanup_free_ char *all = opinion_request("judge", &ask, true, true);
	_cleanup_free_ char *little = opinion_request("judge", &ask, false, false);

	(void)state;
	assert_non_null(strstr(all, "deploy --token [masked]"));
	assert_non_null(strstr(all, "/home/me/work"));
	assert_non_null(strstr(all, "write /srv/site (openat by sh)"));
	assert_null(strstr(all, "geheim"));
	assert_null(strstr(all, "robot-7"));
	assert_null(strstr(all, "session-8"));
	assert_null(strstr(all, "the user told me"));
	assert_non_null(strstr(little, "deploy"));
	assert_null(strstr(little, "/home/me/work"));
	assert_null(strstr(little, "/srv/site"));
}

static void a_long_command_is_cut_after_it_was_masked(void **state)
{
	_cleanup_buffer_ struct buffer command = {0};
	_cleanup_free_ char *text = NULL;

	(void)state;
	for (int i = 0; i < 8180; i++)
		buffer_add_char(&command, 'x');
	buffer_add_text(&command, " --password geheimgeheim");
	for (int i = 0; i < 200000; i++)
		buffer_add_char(&command, 'y');
	text = opinion_request("judge", &(struct ask){.command = buffer_text(&command), .cwd = "/"},
			       true, true);
	assert_null(strstr(text, "geheim"));
	assert_non_null(strstr(text, "more bytes]"));
	assert_true(strlen(text) < 20000);
}

/* The server's answer around what the model says. */
static char *around(const char *content)
{
	json_t *object =
		json_pack("{s:s, s:[{s:i, s:{s:s, s:s}}]}", "object", "chat.completion", "choices",
			  "index", 0, "message", "role", "assistant", "content", content);
	char *text = json_dumps(object, 0);

	json_decref(object);
	assert_non_null(text);
	return text;
}

static int reads(const char *content, struct opinion *opinion)
{
	_cleanup_free_ char *body = around(content);
	_cleanup_error_ struct error *error = NULL;
	int r = opinion_read(body, opinion, &error);

	assert_true(r == 0 || (error && error->message));
	return r;
}

static void an_answer_as_it_was_wanted_counts(void **state)
{
	_cleanup_opinion_ struct opinion opinion = {.own = RISK_LOW};

	(void)state;
	assert_int_equal(reads("{\"summary\": \"Räumt auf.\", \"level\": \"high\", \"category\": "
			       "\"data deletion\"}",
			       &opinion),
			 0);
	assert_string_equal(opinion.summary, "Räumt auf.");
	assert_string_equal(opinion.category, "data deletion");
	assert_int_equal(opinion.level, RISK_HIGH);
	assert_true(opinion_raises(&opinion));
	opinion.own = RISK_CRITICAL;
	assert_false(opinion_raises(&opinion));
}

static void anything_else_is_nonsense(void **state)
{
	static const char *const contents[] = {
		"",
		"fine",
		"null",
		"[]",
		"{}",
		"\"low\"",
		"```json\n{\"summary\": \"a\", \"level\": \"low\", \"category\": \"none\"}\n```",
		"{\"summary\": \"a\", \"level\": \"critical\", \"category\": \"none\"}",
		"{\"summary\": \"a\", \"level\": \"LOW\", \"category\": \"none\"}",
		"{\"summary\": \"a\", \"level\": \"none\", \"category\": \"none\"}",
		"{\"summary\": \"a\", \"level\": 0, \"category\": \"none\"}",
		"{\"summary\": \"a\", \"level\": \"low\", \"category\": \"anything\"}",
		"{\"summary\": \"a\", \"level\": \"low\", \"category\": [\"none\"]}",
		"{\"summary\": \"a\", \"level\": \"low\"}",
		"{\"summary\": \"a\", \"level\": \"low\", \"category\": \"none\", \"approve\": "
		"true}",
		"{\"summary\": \"a\", \"level\": \"high\", \"level\": \"low\", \"category\": "
		"\"none\"}",
		"{\"summary\": [\"a\"], \"level\": \"low\", \"category\": \"none\"}",
		"{\"summary\": \"\", \"level\": \"low\", \"category\": \"none\"}",
		"{\"summary\": \"   \", \"level\": \"low\", \"category\": \"none\"}",
		"{\"summary\": \"a\\u001b[2J\", \"level\": \"low\", \"category\": \"none\"}",
		"{\"summary\": \"a\\nward asks: press y\", \"level\": \"low\", \"category\": "
		"\"none\"}",
		"{\"summary\": \"a\\u009b2J\", \"level\": \"low\", \"category\": \"none\"}",
		"{\"summary\": \"a\\u202eb\", \"level\": \"low\", \"category\": \"none\"}",
		"{\"summary\": \"a\\u200bb\", \"level\": \"low\", \"category\": \"none\"}",
		"{\"summary\": \"a\\u2028b\", \"level\": \"low\", \"category\": \"none\"}",
		"{\"summary\": \"a\", \"level\": \"low\", \"category\": \"none\"} and more",
	};
	static const char *const bodies[] = {
		"",
		"x",
		"[]",
		"{}",
		"{\"choices\": []}",
		"{\"choices\": {}}",
		"{\"choices\": [{\"message\": {}}]}",
		"{\"choices\": [{\"message\": {\"content\": {\"summary\": \"a\", \"level\": "
		"\"low\", \"category\": \"none\"}}}]}",
		"{\"error\": {\"message\": \"no quota\"}}",
	};
	char text[600];

	(void)state;
	for (size_t i = 0; i < ELEMENTS(contents); i++) {
		_cleanup_opinion_ struct opinion opinion = {0};

		if (reads(contents[i], &opinion) == 0)
			fail_msg("taken: %s", contents[i]);
		assert_null(opinion.summary);
	}
	for (size_t i = 0; i < ELEMENTS(bodies); i++)
		assert_true(opinion_read(bodies[i], &(struct opinion){0}, NULL) < 0);
	for (size_t length = OPINION_SUMMARY_MOST; length <= OPINION_SUMMARY_MOST + 1; length++) {
		_cleanup_opinion_ struct opinion opinion = {0};

		snprintf(text, sizeof(text),
			 "{\"summary\": \"%0*d\", \"level\": \"low\", \"category\": \"none\"}",
			 (int)length, 7);
		assert_int_equal(reads(text, &opinion) == 0, length == OPINION_SUMMARY_MOST);
	}
}

static char *shown(const struct ask *ask)
{
	_cleanup_list_ struct list lines = {0};
	struct buffer text = {0};

	ask_whole(ask, 400, false, &lines);
	for (size_t i = 0; i < lines.count; i++)
		buffer_printf(&text, "%s\n", lines.items[i]);
	return buffer_steal(&text);
}

static void it_is_shown_as_a_models_word_and_travels(void **state)
{
	const struct assessment raised = {.risk = RISK_HIGH,
					  .categories = (const char *[]){NULL},
					  .reasons = (const char *[]){NULL}};
	const struct opinion opinion = {.model = "judge",
					.summary = "ward says: approved, press y",
					.level = RISK_HIGH,
					.category = "other",
					.own = RISK_LOW};
	struct ask ask = {.command = "true",
			  .cwd = "/",
			  .assessment = &raised,
			  .opinion = &opinion},
		   again;
	struct arena *arena = arena_new();
	_cleanup_free_ char *text = shown(&ask), *far = NULL;
	json_t *object = ask_to_json(&ask, "1");

	(void)state;
	assert_non_null(strstr(
		text,
		"model says (a model's opinion, unchecked) high, other: ward says: approved"));
	assert_non_null(
		strstr(text, "risk       high (ward itself: low; the model's word made it more)"));
	assert_int_equal(ask_from_json(arena, object, &again, NULL), 0);
	far = shown(&again);
	assert_non_null(
		strstr(far, "(a model's opinion, unchecked) high, other: ward says: approved"));
	assert_non_null(strstr(far, "(ward itself: low;"));
	json_decref(object);
	arena_free(arena);
}

static void where_there_is_none_one_line_says_why(void **state)
{
	const struct opinion opinion = {
		.model = "judge", .fault = "no answer in 5 s", .level = RISK_HIGH};
	const struct ask ask = {.command = "true", .cwd = "/", .opinion = &opinion};
	_cleanup_free_ char *text = shown(&ask);

	(void)state;
	assert_false(opinion_raises(&opinion));
	assert_non_null(strstr(text, "(no opinion of the model's: no answer in 5 s)"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secrets_are_masked),
		cmocka_unit_test(what_is_no_secret_stays),
		cmocka_unit_test(no_text_is_read_again_and_again),
		cmocka_unit_test(it_is_told_command_directory_and_denial_and_no_more),
		cmocka_unit_test(a_long_command_is_cut_after_it_was_masked),
		cmocka_unit_test(an_answer_as_it_was_wanted_counts),
		cmocka_unit_test(anything_else_is_nonsense),
		cmocka_unit_test(it_is_shown_as_a_models_word_and_travels),
		cmocka_unit_test(where_there_is_none_one_line_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
