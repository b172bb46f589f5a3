/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces of the MCP server that stand by themselves: messages, forms and answers, tickets,
 * patches. */
#include "serve/mcp_ask.h"
#include "serve/mcp_message.h"
#include "serve/mcp_ticket.h"
#include "serve/patch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static json_t *object(const char *text)
{
	json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);

	assert_non_null(value);
	return value;
}

static enum mcp_kind kind_of(const char *text)
{
	json_t *value = object(text);
	struct mcp_message message;

	mcp_read(value, &message);
	assert_true((message.kind == MCP_INVALID) == (message.fault != NULL));
	json_decref(value);
	return message.kind;
}

static void messages_are_told_apart(void **state)
{
	(void)state;
	assert_int_equal(kind_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}"), MCP_REQUEST);
	assert_int_equal(
		kind_of("{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"x\",\"params\":{}}"),
		MCP_REQUEST);
	assert_int_equal(kind_of("{\"jsonrpc\":\"2.0\",\"method\":\"x\"}"), MCP_NOTIFICATION);
	assert_int_equal(kind_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"), MCP_RESPONSE);
	assert_int_equal(kind_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}"), MCP_RESPONSE);
	assert_int_equal(kind_of("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"x\"}"),
			 MCP_INVALID);
	assert_int_equal(kind_of("{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"x\"}"), MCP_INVALID);
	assert_int_equal(kind_of("{\"jsonrpc\":\"2.0\",\"result\":{}}"), MCP_INVALID);
	assert_int_equal(kind_of("{\"id\":1,\"method\":\"x\"}"), MCP_INVALID);
	assert_int_equal(kind_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":[]}"),
			 MCP_INVALID);
	assert_int_equal(kind_of("[]"), MCP_INVALID);
	assert_int_equal(kind_of("null"), MCP_INVALID);
}

static void versions_are_agreed_on(void **state)
{
	(void)state;
	for (int i = MCP_2024_11_05; i <= MCP_2025_11_25; i++)
		assert_int_equal(mcp_negotiate(mcp_version_name((enum mcp_version)i)), i);
	assert_int_equal(mcp_negotiate("2026-07-28"), MCP_2025_11_25);
	assert_int_equal(mcp_negotiate("tomorrow"), MCP_2025_11_25);
	assert_int_equal(mcp_negotiate(NULL), MCP_2025_11_25);
}

static void who_can_ask_has_said_so(void **state)
{
	static const struct {
		enum mcp_version version;
		const char *capabilities;
		bool can;
	} cases[] = {
		{MCP_2025_06_18, "{\"elicitation\":{}}", true},
		{MCP_2025_11_25, "{\"elicitation\":{\"form\":{}}}", true},
		{MCP_2026_07_28, "{\"elicitation\":{\"form\":{},\"url\":{}}}", true},
		{MCP_2025_11_25, "{\"elicitation\":{\"url\":{}}}", false},
		{MCP_2025_11_25, "{\"elicitation\":true}", false},
		{MCP_2025_11_25, "{}", false},
		{MCP_2025_11_25, "7", false},
		{MCP_2025_03_26, "{\"elicitation\":{}}", false},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		json_t *capabilities = object(cases[i].capabilities);

		assert_int_equal(mcp_can_elicit(cases[i].version, capabilities), cases[i].can);
		json_decref(capabilities);
	}
	assert_false(mcp_can_elicit(MCP_2025_11_25, NULL));
}

static const char ask_text[] =
	"{\"id\":\"q\",\"text\":\"may it?\\n\",\"choices\":[\"approve once\",\"approve session\","
	"\"approve time\",\"approve always\",\"deny once\",\"abort\"],\"covers\":\"make\","
	"\"always_rule\":\"{command: \\u202emake}\",\"always_file\":\"/x/ward.yaml\"}";

static void a_form_shows_the_rule_and_begins_with_no(void **state)
{
	json_t *ask = object(ask_text), *form = mcp_ask_form(ask, MCP_2025_11_25), *answer;
	const char *message = json_string_value(json_object_get(form, "message"));

	(void)state;
	assert_non_null(strstr(message, "may it?"));
	assert_non_null(strstr(message, "/x/ward.yaml"));
	/* What could not be seen is shown by its code. */
	assert_non_null(strstr(message, "\\u{202e}make"));
	answer = json_object_get(
		json_object_get(json_object_get(form, "requestedSchema"), "properties"), "answer");
	assert_null(json_object_get(answer, "default"));
	assert_string_equal(json_string_value(json_object_get(
				    json_array_get(json_object_get(answer, "oneOf"), 0), "const")),
			    "deny once");
	json_decref(form);
	json_decref(ask);
}

static void a_question_that_is_too_long_has_no_form(void **state)
{
	json_t *ask = object(ask_text);
	char *text = malloc(40001);

	(void)state;
	memset(text, 'x', 40000);
	text[40000] = '\0';
	json_object_set_new(ask, "text", json_string(text));
	assert_null(mcp_ask_form(ask, MCP_2025_11_25));
	free(text);
	json_decref(ask);
}

static void only_an_offered_choice_is_a_yes(void **state)
{
	static const struct {
		const char *result, *answer, *scope;
	} cases[] = {
		{"{\"action\":\"accept\",\"content\":{\"answer\":\"approve once\"}}", "approve",
		 "once"},
		{"{\"action\":\"accept\",\"content\":{\"answer\":\"approve time\"}}", "approve",
		 "time"},
		{"{\"action\":\"accept\",\"content\":{\"answer\":\"approve always\"}}", "approve",
		 "always"},
		{"{\"action\":\"accept\",\"content\":{\"answer\":\"approve unsandboxed\"}}", "deny",
		 "once"},
		{"{\"action\":\"accept\",\"content\":{\"answer\":\"\"}}", "deny", "once"},
		{"{\"action\":\"accept\"}", "deny", "once"},
		{"{\"action\":\"decline\",\"content\":{\"answer\":\"approve once\"}}", "deny",
		 "once"},
		{"{\"action\":\"cancel\"}", "abort", NULL},
		{"{\"action\":7}", "deny", "once"},
		{"[]", "deny", "once"},
	};
	json_t *ask = object(ask_text);

	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		json_t *result = object(cases[i].result), *answer = mcp_ask_answer(ask, result);
		const char *scope = json_string_value(json_object_get(answer, "scope"));

		assert_string_equal(json_string_value(json_object_get(answer, "answer")),
				    cases[i].answer);
		assert_true(cases[i].scope ? strcmp(scope, cases[i].scope) == 0 : !scope);
		json_decref(answer);
		json_decref(result);
	}
	json_decref(ask);
}

static void a_container_is_a_choice_where_the_question_offers_one(void **state)
{
	json_t *ask = object(ask_text), *answer, *form, *listed, *choice,
	       *result = object("{\"action\":\"accept\",\"content\":{\"answer\":"
				"\"approve container\"}}");
	bool offered = false;
	size_t i;

	(void)state;
	answer = mcp_ask_answer(ask, result);
	assert_string_equal(json_string_value(json_object_get(answer, "answer")), "deny");
	json_decref(answer);
	json_object_set_new(ask, "extents",
			    object("[{\"name\":\"what it was refused\",\"grants\":[\"write /a\"]},"
				   "{\"name\":\"in a container\",\"grants\":[\"container\"]}]"));
	answer = mcp_ask_answer(ask, result);
	assert_string_equal(json_string_value(json_object_get(answer, "answer")), "approve");
	assert_string_equal(json_string_value(json_object_get(answer, "scope")), "once");
	assert_int_equal(json_integer_value(json_object_get(answer, "extent")), 1);
	json_decref(answer);
	form = mcp_ask_form(ask, MCP_2025_11_25);
	listed = json_object_get(
		json_object_get(
			json_object_get(json_object_get(form, "requestedSchema"), "properties"),
			"answer"),
		"oneOf");
	json_array_foreach (listed, i, choice)
		offered |= strcmp(json_string_value(json_object_get(choice, "const")),
				  "approve container") == 0;
	assert_true(offered);
	json_decref(form);
	json_decref(result);
	json_decref(ask);
}

static void a_ticket_is_good_for_its_own_server_and_request(void **state)
{
	json_t *one = object("{\"name\":\"run\",\"arguments\":{\"a\":1,\"b\":2}}");
	json_t *same = object("{\"arguments\":{\"b\":2,\"a\":1},\"name\":\"run\",\"_meta\":{}}");
	json_t *other = object("{\"name\":\"run\",\"arguments\":{\"a\":1,\"b\":3}}");
	unsigned char hash[crypto_generichash_BYTES];
	struct mcp_ticket ticket, back;
	mcp_key key, another;
	char *text;

	(void)state;
	assert_true(sodium_init() >= 0);
	crypto_auth_keygen(key);
	crypto_auth_keygen(another);
	memset(&ticket, 0, sizeof(ticket));
	ticket.call = 7;
	ticket.round = 2;
	ticket.expires = 99;
	mcp_ticket_hash(one, ticket.request);
	mcp_ticket_hash(same, hash);
	assert_memory_equal(hash, ticket.request, sizeof(hash));
	mcp_ticket_hash(other, hash);
	assert_memory_not_equal(hash, ticket.request, sizeof(hash));
	text = mcp_ticket_seal(key, &ticket);
	assert_true(mcp_ticket_open(key, text, &back));
	assert_memory_equal(&ticket, &back, sizeof(back));
	assert_false(mcp_ticket_open(another, text, &back));
	for (size_t i = 0; text[i]; i++) {
		char before = text[i];

		text[i] = before == 'A' ? 'B' : 'A';
		assert_false(mcp_ticket_open(key, text, &back));
		text[i] = before;
	}
	text[strlen(text) - 1] = '\0';
	assert_false(mcp_ticket_open(key, text, &back));
	assert_false(mcp_ticket_open(key, "", &back));
	free(text);
	json_decref(one);
	json_decref(same);
	json_decref(other);
}

/* The text after a patch with these lines in its update; NULL where it does not fit. */
static char *patched(const char *before, const char *lines, const char *expected_error)
{
	_cleanup_patch_ struct patch patch = {0};
	_cleanup_error_ struct error *error = NULL;
	_cleanup_buffer_ struct buffer text = {0};
	struct buffer after = {0};

	buffer_printf(&text, "*** Begin Patch\n*** Update File: f\n%s*** End Patch\n", lines);
	if (patch_parse(text.data, text.length, &patch, &error) < 0 ||
	    patch_apply(&patch.steps[0], before, strlen(before), &after, &error) < 0) {
		assert_non_null(expected_error);
		assert_non_null(strstr(error->message, expected_error));
		return NULL;
	}
	assert_null(expected_error);
	return buffer_steal(&after);
}

static void a_patch_changes_what_it_says(void **state)
{
	static const struct {
		const char *before, *lines, *after;
	} cases[] = {
		{"a\nb\nc\n", "@@\n a\n-b\n+B\n c\n", "a\nB\nc\n"},
		{"a\nb\nc\n", " a\n-b\n+B\n", "a\nB\nc\n"},
		{"x\ny\nx\ny\n", "@@\n x\n-y\n+1\n@@\n x\n-y\n+2\n", "x\n1\nx\n2\n"},
		{"f\nx\ng\nx\n", "@@ g\n-x\n+y\n", "f\nx\ng\ny\n"},
		{"c\nf\nx\nc\nf\nx\n", "@@ c\n@@ f\n-x\n+y\n", "c\nf\ny\nc\nf\nx\n"},
		{"x\na\nx\n", "@@\n-x\n+y\n*** End of File\n", "x\na\ny\n"},
		{"a", "@@\n a\n+b\n", "a\nb\n"},
		{"a\r\nb\r\n", "@@\n a\n+x\n b\n", "a\r\nx\r\nb\r\n"},
		{"\tif (x)  \n", "@@\n-if (x)\n+\tif (y)\n", "\tif (y)\n"},
		{"a\n", "@@\n+b\n", "a\nb\n"},
		{"f\na\n", "@@ f\n+b\n", "f\nb\na\n"},
		{"a\n\nb\n", "@@\n a\n\n-b\n+c\n", "a\n\nc\n"},
		{"a\n", "@@\n-a\n", ""},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		char *after = patched(cases[i].before, cases[i].lines, NULL);

		assert_string_equal(after, cases[i].after);
		free(after);
	}
}

static void a_patch_that_does_not_fit_names_the_line(void **state)
{
	(void)state;
	assert_null(patched("a\nb\n", "@@\n a\n-x\n", "patch line 5 does not match: 'x'"));
	assert_null(patched("a\nb\n", "@@ nowhere\n-a\n", "patch line 3 does not match"));
	assert_null(patched("", "@@\n-a\n", "patch line 4 does not match"));
	assert_null(patched("a\nb\n", "@@\n-a\n*** End of File\n", "does not"));
	assert_null(patched("a\n", "*a\n", "patch line 3"));
	assert_null(patched("a\n", "", "nothing changes"));
	assert_null(patched("a\n", "*** Delete File: f\n", "second time"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_are_told_apart),
		cmocka_unit_test(versions_are_agreed_on),
		cmocka_unit_test(who_can_ask_has_said_so),
		cmocka_unit_test(a_form_shows_the_rule_and_begins_with_no),
		cmocka_unit_test(a_question_that_is_too_long_has_no_form),
		cmocka_unit_test(only_an_offered_choice_is_a_yes),
		cmocka_unit_test(a_container_is_a_choice_where_the_question_offers_one),
		cmocka_unit_test(a_ticket_is_good_for_its_own_server_and_request),
		cmocka_unit_test(a_patch_changes_what_it_says),
		cmocka_unit_test(a_patch_that_does_not_fit_names_the_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
