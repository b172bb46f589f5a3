/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of agents: what is remembered is taken, what runs programs stays as it was. */
#include "sandbox/agentconfig.h"
#include "base/macro.h"

#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* NULL before: there was none. expected NULL: it is not taken. */
static void expect(const char *before, const char *after, const char *expected,
		   const char *restored)
{
	_cleanup_free_ char *text = NULL;
	const char *key = NULL;
	int r = agent_config_settle(before, before ? strlen(before) : 0, after, strlen(after),
				    &text, &key);
	json_t *got, *wanted;

	if (!expected) {
		assert_int_equal(r, -EINVAL);
		return;
	}
	assert_int_equal(r, 0);
	got = json_loads(text, 0, NULL);
	wanted = json_loads(expected, 0, NULL);
	assert_non_null(wanted);
	if (!json_equal(got, wanted))
		fail_msg("%s\n became %s\n not %s", after, text, expected);
	if (restored)
		assert_string_equal(key, restored);
	else
		assert_null(key);
	json_decref(got);
	json_decref(wanted);
}

static void what_is_remembered_is_taken(void **state)
{
	(void)state;
	expect(NULL, "{\"n\": 1, \"l\": [1, {\"x\": null}]}",
	       "{\"n\": 1, \"l\": [1, {\"x\": null}]}", NULL);
	expect("{\"n\": 1}", "{\"n\": 2.5, \"s\": \"\\u00e9\\u2028\"}",
	       "{\"n\": 2.5, \"s\": \"\\u00e9\\u2028\"}", NULL);
	expect("{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}",
	       "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}, \"n\": 1}",
	       "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}, \"n\": 1}", NULL);
}

static void what_runs_programs_stays(void **state)
{
	(void)state;
	expect(NULL, "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}, \"n\": 1}", "{\"n\": 1}",
	       "mcpServers");
	expect("{\"mcpServers\": {}}", "{\"mcpServers\": {\"a\": 1}}", "{\"mcpServers\": {}}",
	       "mcpServers");
	/* Gone is changed, too. */
	expect("{\"permissions\": {\"deny\": [\"x\"]}}", "{}",
	       "{\"permissions\": {\"deny\": [\"x\"]}}", "permissions");
	/* At any depth, and in lists. */
	expect("{\"projects\": {\"/a\": {\"hasTrustDialogAccepted\": false, \"n\": 1}}}",
	       "{\"projects\": {\"/a\": {\"hasTrustDialogAccepted\": true, \"n\": 2},"
	       " \"/b\": {\"hasTrustDialogAccepted\": true, \"mcpServers\": {\"e\": 1}}}}",
	       "{\"projects\": {\"/a\": {\"hasTrustDialogAccepted\": false, \"n\": 2}, \"/b\": "
	       "{}}}",
	       "hasTrustDialogAccepted");
	expect("{\"l\": [{\"x\": 1}]}", "{\"l\": [{\"hooks\": [1]}, {\"apiKeyHelper\": \"evil\"}]}",
	       "{\"l\": [{}, {}]}", "hooks");
	/* By whatever letters it is written. */
	expect(NULL, "{\"mcp\\u0053ervers\": {}}", "{}", "mcpServers");
}

static void what_cannot_be_read_is_not_taken(void **state)
{
	static const char *const texts[] = {
		"",
		"x",
		"[]",
		"1",
		"null",
		"{\"a\": 1,}",
		"{\"a\": 1, \"a\": 2}",
		"{} {}",
		"{\"a\": \"\\u0000\"}",
		"{\"a\": 1e999}",
		"\xef\xbb\xbf{}",
		"{\"a\": \"\xff\"}",
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(texts); i++)
		expect("{\"n\": 1}", texts[i], NULL, NULL);
	/* An old one that cannot be read gives nothing back. */
	expect("{\"mcpServers\": {\"a\": 1}, }", "{\"mcpServers\": {\"a\": 1}}", "{}",
	       "mcpServers");
	expect("[{\"env\": 1}]", "{\"env\": 1}", "{}", "env");
}

static void depth_is_bounded(void **state)
{
	enum { DEEP = 100000 };
	char *text = malloc(6 * DEEP + 2);

	(void)state;
	for (size_t i = 0; i < DEEP; i++)
		memcpy(text + 5 * i, "{\"a\":", 5);
	memset(text + 5 * DEEP, '}', DEEP);
	text[6 * DEEP] = '\0';
	expect(NULL, text, NULL, NULL);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_remembered_is_taken),
		cmocka_unit_test(what_runs_programs_stays),
		cmocka_unit_test(what_cannot_be_read_is_not_taken),
		cmocka_unit_test(depth_is_bounded),
	};

	return cmocka_run_group_tests_name("agentconfig", tests, NULL, NULL);
}
