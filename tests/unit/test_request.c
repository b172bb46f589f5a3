/* SPDX-License-Identifier: Apache-2.0 */
/* The request: its defaults, its JSON form, its one line of text. */
#include "../../src/request/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static int from_text(const char *text, struct request *request, struct error **ret_error)
{
	return request_from_json(text, strlen(text), request, ret_error);
}

static void defaults_are_the_narrow_ones(void **state _unused_)
{
	struct request request;

	request_init(&request);
	assert_int_equal(request.mode, MODE_EXEC);
	assert_int_equal(request.level, LEVEL_RESTRICTED);
	assert_int_equal(request.network, NETWORK_NONE);
	assert_int_equal(request.keep_output, 1024 * 1024);
	assert_null(request.script);
	request_done(&request);
}

static void names_lead_back_to_their_values(void **state _unused_)
{
	for (enum level level = LEVEL_NONE; level <= LEVEL_CONTAINER; level++)
		assert_int_equal(level_from_name(level_name(level)), level);
	for (enum network network = NETWORK_NONE; network <= NETWORK_FULL; network++)
		assert_int_equal(network_from_name(network_name(network)), network);
	assert_int_equal(level_from_name("Restricted"), -1);
	assert_int_equal(network_from_name(""), -1);
	assert_null(level_name((enum level)7));
	assert_string_equal(mode_name(MODE_PATCH), "patch");
}

static void json_sets_every_field(void **state _unused_)
{
	_cleanup_request_ struct request request;
	struct error *error = NULL;

	request_init(&request);
	assert_int_equal(
		from_text(
			"{\"argv\":[\"make\",\"-j 2\"],\"workspace\":\"/w\",\"cwd\":\"/w/a\","
			"\"level\":\"none\",\"net\":\"full\",\"read\":[\"~/x\"],\"write\":[\"b\"],"
			"\"deny\":[\"c\",\"d\"],\"env\":[\"A=1=2\"],\"keep_env\":[\"TOKEN\"],"
			"\"allow_socket\":[\"docker\"],\"memory\":\"512M\",\"cpu\":1.5,\"cpu_"
			"time\":60,"
			"\"processes\":20,\"disk\":1024,\"output\":\"10K\",\"timeout\":\"1.5s\","
			"\"idle\":0.25,\"files\":64,\"keep_output\":0,\"agent\":\"a1\",\"session\":"
			"\"s\","
			"\"tool\":\"t\",\"call_id\":\"c1\",\"turn\":\"7\",\"reason\":\"why "
			"\u00e9\","
			"\"approval_command\":\"make\",\"json\":true,\"quiet\":true,\"no_pty\":"
			"true}",
			&request, &error),
		0);
	assert_int_equal(request.mode, MODE_EXEC);
	assert_int_equal(request.argv.count, 2);
	assert_string_equal(request.argv.items[1], "-j 2");
	assert_null(request.argv.items[2]);
	assert_string_equal(request.cwd, "/w/a");
	assert_int_equal(request.level, LEVEL_NONE);
	assert_int_equal(request.network, NETWORK_FULL);
	assert_string_equal(request.deny.items[1], "d");
	assert_string_equal(request.environment.items[0], "A=1=2");
	assert_string_equal(request.sockets.items[0], "docker");
	assert_int_equal(request.limits.memory, 512 << 20);
	assert_int_equal(request.limits.millicpus, 1500);
	assert_int_equal(request.limits.cpu_ns, 60000000000);
	assert_int_equal(request.limits.processes, 20);
	assert_int_equal(request.limits.disk, 1024);
	assert_int_equal(request.limits.output, 10240);
	assert_int_equal(request.limits.time_ns, 1500000000);
	assert_int_equal(request.limits.idle_ns, 250000000);
	assert_int_equal(request.limits.files, 64);
	assert_int_equal(request.keep_output, 0);
	assert_string_equal(request.reason, "why \u00e9");
	assert_string_equal(request.approval_command, "make");
	assert_true(request.json && request.quiet && request.no_pty);
}

static void absent_keys_keep_their_values(void **state _unused_)
{
	_cleanup_request_ struct request request;

	request_init(&request);
	request.workspace = strdup("/kept");
	list_add(&request.argv, "old");
	assert_int_equal(from_text("{\"command\":\"ls | wc\"}", &request, NULL), 0);
	assert_int_equal(request.mode, MODE_SHELL);
	assert_string_equal(request.script, "ls | wc");
	assert_int_equal(request.argv.count, 0);
	assert_string_equal(request.workspace, "/kept");
	assert_int_equal(request.level, LEVEL_RESTRICTED);
	assert_int_equal(request.keep_output, 1024 * 1024);
}

static void bad_json_is_refused_and_the_key_named(void **state _unused_)
{
	static const struct {
		const char *text, *named;
	} cases[] = {
		{"", "line 1"},
		{"{\"argv\":[\"a\"]", "'}' expected"},
		{"[]", "object"},
		{"{}", "'argv'"},
		{"{\"argv\":[\"a\"],\"command\":\"b\"}", "exactly one"},
		{"{\"argv\":[]}", "'argv'"},
		{"{\"argv\":[\"\"]}", "'argv'"},
		{"{\"argv\":[1]}", "'argv'"},
		{"{\"argv\":\"ls\"}", "'argv'"},
		{"{\"argv\":[\"a\\u0000b\"]}", "'argv' holds a NUL"},
		{"{\"argv\":[\"a\"],\"argv\":[\"b\"]}", "duplicate"},
		{"{\"argv\":[\"a\"],\"levle\":\"none\"}", "'levle'"},
		{"{\"argv\":[\"a\"],\"level\":\"full\"}", "'level'"},
		{"{\"argv\":[\"a\"],\"net\":true}", "'net'"},
		{"{\"argv\":[\"a\"],\"approval\":\"always\"}", "'approval'"},
		{"{\"argv\":[\"a\"],\"sandbox\":\"off\"}", "'sandbox'"},
		{"{\"argv\":[\"a\"],\"policy\":\"here\"}", "'policy' must be an absolute path"},
		{"{\"argv\":[\"a\"],\"cwd\":\"here\"}", "'cwd' must be an absolute path"},
		{"{\"argv\":[\"a\"],\"env\":[\"A\"]}", "'env'"},
		{"{\"argv\":[\"a\"],\"env\":[\"=A\"]}", "'env'"},
		{"{\"argv\":[\"a\"],\"timeout\":\"soon\"}", "'timeout': 'soon' is not a duration"},
		{"{\"argv\":[\"a\"],\"timeout\":-1}", "'timeout'"},
		{"{\"argv\":[\"a\"],\"timeout\":1e300}", "'timeout'"},
		{"{\"argv\":[\"a\"],\"memory\":1.5}", "'memory'"},
		{"{\"argv\":[\"a\"],\"memory\":9223372036854775807}", "'memory'"},
		{"{\"argv\":[\"a\"],\"processes\":\"many\"}", "'processes'"},
		{"{\"argv\":[\"a\"],\"json\":1}", "'json'"},
		{"{\"argv\":[\"a\"],\"mode\":\"shell\"}", "mode 'shell' goes with 'command'"},
		{"{\"command\":\"a\",\"mode\":\"patch\"}", "mode 'patch' goes with 'argv'"},
		{"{\"argv\":[\"\xff\"]}", "line 1"},
	};

	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		_cleanup_request_ struct request request;
		_cleanup_error_ struct error *error = NULL;

		request_init(&request);
		assert_int_equal(from_text(cases[i].text, &request, &error), -E_INPUT);
		assert_int_equal(error->code, E_INPUT);
		if (!strstr(error->message, cases[i].named))
			fail_msg("%s: '%s' does not say '%s'", cases[i].text, error->message,
				 cases[i].named);
	}
}

static void failure_changes_nothing(void **state _unused_)
{
	_cleanup_request_ struct request request;

	request_init(&request);
	list_add(&request.argv, "old");
	request.agent = strdup("me");
	assert_true(
		from_text("{\"argv\":[\"new\"],\"agent\":\"you\",\"level\":\"none\",\"idle\":[]}",
			  &request, NULL) < 0);
	assert_string_equal(request.argv.items[0], "old");
	assert_string_equal(request.agent, "me");
	assert_int_equal(request.level, LEVEL_RESTRICTED);
}

static void oversized_json_is_refused_unread(void **state _unused_)
{
	_cleanup_free_ char *text = calloc(1, REQUEST_LIMIT + 1);
	_cleanup_error_ struct error *error = NULL;
	struct request request;

	request_init(&request);
	memset(text, ' ', REQUEST_LIMIT + 1);
	memcpy(text, "{\"argv\":[\"a\"]}", 14);
	assert_int_equal(request_from_json(text, REQUEST_LIMIT + 1, &request, &error), -E_INPUT);
	assert_non_null(strstr(error->message, "4194305 bytes"));
	assert_int_equal(request_from_json(text, REQUEST_LIMIT, &request, NULL), 0);
	request_done(&request);
}

static void json_and_back_is_the_same(void **state _unused_)
{
	static const char text[] =
		"{\"command\": \"a\\nb\", \"shell\": \"/bin/dash\", \"login\": true, \"level\": "
		"\"none\","
		" \"net\": \"restricted\", \"read\": [\"x\"], \"cpu\": 0.5, \"timeout\": 2.5,"
		" \"keep_output\": 7, \"turn\": \"t\", \"approval\": \"unless-trusted\", "
		"\"caches\": \"off\","
		" \"sandbox\": \"forbid\", \"escalated\": true, \"escalation\": \"container\","
		" \"policy\": \"/p\", \"profile\": "
		"\"code\"}";
	_cleanup_request_ struct request request;
	json_t *given = json_loads(text, 0, NULL), *got;

	request_init(&request);
	assert_int_equal(from_text(text, &request, NULL), 0);
	got = request_to_json(&request);
	assert_true(json_equal(given, got));
	json_decref(given);
	json_decref(got);
}

static void bytes_that_are_not_text_are_shown_as_lossy(void **state _unused_)
{
	_cleanup_request_ struct request request;
	json_t *object;

	request_init(&request);
	list_add(&request.argv, "a\xff");
	object = request_to_json(&request);
	assert_true(json_is_true(json_object_get(object, "lossy")));
	assert_string_equal(json_string_value(json_array_get(json_object_get(object, "argv"), 0)),
			    "a\xef\xbf\xbd");
	json_decref(object);
}

static void command_text_tells_a_program_from_a_variable(void **state _unused_)
{
	_cleanup_request_ struct request request;
	_cleanup_free_ char *text = NULL;

	request_init(&request);
	request.mode = MODE_EXEC;
	list_add(&request.argv, "LANG=C");
	list_add(&request.argv, "git");
	list_add(&request.argv, "--a=b");
	text = request_command_text(&request);
	assert_string_equal(text, "'LANG=C' git --a=b");
}

static void command_text_is_one_line_that_a_shell_reads_back(void **state _unused_)
{
	_cleanup_request_ struct request request;
	_cleanup_free_ char *exec = NULL, *script = NULL, *lines = NULL, *other = NULL;

	request_init(&request);
	list_add(&request.argv, "echo");
	list_add(&request.argv, "a b");
	list_add(&request.argv, "1\n2'\\\x01");
	exec = request_command_text(&request);
	assert_string_equal(exec, "echo 'a b' $'1\\n2\\'\\\\\\001'");

	request.mode = MODE_SHELL;
	request.script = strdup("git status | head -3");
	script = request_command_text(&request);
	assert_string_equal(script, "git status | head -3");
	request.shell = strdup("/bin/zsh");
	request.login = true;
	other = request_command_text(&request);
	assert_string_equal(other, "/bin/zsh -l -c 'git status | head -3'");
	free(request.script);
	request.script = strdup("a\nb");
	lines = request_command_text(&request);
	assert_string_equal(lines, "/bin/zsh -l -c $'a\\nb'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_the_narrow_ones),
		cmocka_unit_test(names_lead_back_to_their_values),
		cmocka_unit_test(json_sets_every_field),
		cmocka_unit_test(absent_keys_keep_their_values),
		cmocka_unit_test(bad_json_is_refused_and_the_key_named),
		cmocka_unit_test(failure_changes_nothing),
		cmocka_unit_test(oversized_json_is_refused_unread),
		cmocka_unit_test(json_and_back_is_the_same),
		cmocka_unit_test(bytes_that_are_not_text_are_shown_as_lossy),
		cmocka_unit_test(command_text_is_one_line_that_a_shell_reads_back),
		cmocka_unit_test(command_text_tells_a_program_from_a_variable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
