/* SPDX-License-Identifier: Apache-2.0 */
/* The result: one view, one object and one exit status, whatever happened. */
#include "../../src/request/result.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#undef fail /* cmocka has one of its own */

static void set_output(struct output *output, const char *data, size_t length)
{
	output->data = malloc(length + 1);
	memcpy(output->data, data, length);
	output->data[length] = '\0';
	output->length = length;
}

/* A command that ran to its end with exit code 1. */
static void fill(struct result *result, const char *aggregated)
{
	result_init(result);
	result->verdict = "allow";
	result->exit_code = 1;
	result->duration_ms = 123;
	set_output(&result->aggregated, aggregated, strlen(aggregated));
}

static void normalise_success_borrows(void **state _unused_)
{
	_cleanup_result_ struct result result;
	struct view view;

	fill(&result, "ok");
	set_output(&result.stdout_, "o", 1);
	set_output(&result.stderr_, "k", 1);
	result_view(&result, &view);
	assert_ptr_equal(view.aggregated, result.aggregated.data);
	assert_ptr_equal(view.stdout_, result.stdout_.data);
	assert_ptr_equal(view.stderr_, result.stderr_.data);
	assert_string_equal(view.aggregated, "ok");
	assert_int_equal(view.aggregated_length, 2);
	assert_int_equal(view.exit_code, 1);
	assert_true(view.duration_ms == 123);
	assert_false(view.timed_out);
}

static void normalise_timeout_borrows_embedded_output(void **state _unused_)
{
	_cleanup_result_ struct result result;
	struct view view;

	fill(&result, "timed out payload");
	fail(&result.error, E_TIMEOUT, "sleep: no end after 1 s");
	result_view(&result, &view);
	assert_ptr_equal(view.aggregated, result.aggregated.data);
	assert_string_equal(view.aggregated, "timed out payload");
	assert_string_equal(view.stderr_, "");
	assert_true(view.duration_ms == 123);
	assert_true(view.timed_out);
}

static void normalise_function_error_synthesises_payload(void **state _unused_)
{
	_cleanup_result_ struct result result;
	struct view view;

	fill(&result, "never to be seen");
	fail(&result.error, E_REJECTED, "boom");
	result_view(&result, &view);
	assert_string_equal(view.aggregated, "boom");
	assert_int_equal(view.aggregated_length, 4);
	assert_string_equal(view.stderr_, "boom");
	assert_int_equal(view.stderr_length, 4);
	assert_string_equal(view.stdout_, "");
	assert_int_equal(view.stdout_length, 0);
	assert_int_equal(view.exit_code, -1);
	assert_true(view.duration_ms == 0);
	assert_false(view.timed_out);
}

static void normalise_engine_error_synthesises_user_message(void **state _unused_)
{
	_cleanup_result_ struct result result;
	struct view view;

	result_init(&result);
	fail(&result.error, E_ENGINE, "the variable HOME is not set");
	error_hint(&result.error, "set it");
	error_wrap(&result.error, "reading the configuration");
	result_view(&result, &view);
	assert_string_equal(view.aggregated,
			    "reading the configuration: the variable HOME is not set");
	assert_string_equal(view.stderr_, view.aggregated);
	assert_int_equal(view.exit_code, -1);
	assert_true(view.duration_ms == 0);
}

static void a_fresh_result_is_a_refusal(void **state _unused_)
{
	_cleanup_result_ struct result result;

	result_init(&result);
	assert_string_equal(result.verdict, "deny");
	assert_string_equal(result.source, "default");
	assert_int_equal(result.exit_code, -1);
	assert_int_equal(result_exit_status(&result), 125);
}

static void each_error_has_its_kind_and_status(void **state _unused_)
{
	static const struct {
		enum error_code code;
		const char *kind;
		int status;
	} cases[] = {
		{E_ENGINE, "engine", 125},	    {E_USAGE, "engine", 125},
		{E_POLICY, "rejected", 125},	    {E_REJECTED, "rejected", 126},
		{E_SANDBOX, "sandbox_denied", 126}, {E_TIMEOUT, "timeout", 124},
		{E_NOT_FOUND, "engine", 127},	    {E_NOT_EXECUTABLE, "engine", 126},
		{E_INPUT, "engine", 125},
	};

	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		_cleanup_result_ struct result result;

		result_init(&result);
		fail(&result.error, cases[i].code, "x");
		assert_string_equal(error_kind(result.error), cases[i].kind);
		assert_int_equal(result_exit_status(&result), cases[i].status);
	}
}

static void exit_status_is_the_commands_own(void **state _unused_)
{
	_cleanup_result_ struct result result;

	result_init(&result);
	result.exit_code = 7;
	assert_int_equal(result_exit_status(&result), 7);
	fail(&result.error, E_SANDBOX, "/etc/motd: refused");
	assert_int_equal(result_exit_status(&result), 7);
	result.exit_code = -1;
	assert_int_equal(result_exit_status(&result), 126);
}

static void signals_and_limits_have_a_status(void **state _unused_)
{
	_cleanup_result_ struct result result;

	result_init(&result);
	result.signal = 15;
	assert_int_equal(result_exit_status(&result), 143);
	result.signal = 9;
	result.limit = LIMIT_OUTPUT;
	assert_int_equal(result_exit_status(&result), 137);
	result.signal = 0;
	assert_int_equal(result_exit_status(&result), 137);
	result.signal = 9;
	result.limit = LIMIT_TIME;
	result.timed_out = true;
	assert_int_equal(result_exit_status(&result), 124);
	assert_string_equal(limit_name(LIMIT_OUTPUT), "output");
	assert_null(limit_name(LIMIT_NONE));
}

static const char *const keys[] = {
	"run",
	"ticket",
	"verdict",
	"source",
	"exit_code",
	"signal",
	"timed_out",
	"limit",
	"duration_ms",
	"stdout",
	"stderr",
	"aggregated_output",
	"truncated",
	"decisions",
	"attempts",
	"resources",
	"sandbox_warnings",
	"error",
};

static void json_has_the_same_keys_whatever_happened(void **state _unused_)
{
	for (int failed = 0; failed < 2; failed++) {
		_cleanup_result_ struct result result;
		json_t *object;

		fill(&result, "ok");
		if (failed)
			fail(&result.error, E_NOT_FOUND, "nosuch: not found");
		object = result_to_json(&result);
		for (size_t i = 0; i < ELEMENTS(keys); i++)
			assert_non_null(json_object_get(object, keys[i]));
		assert_int_equal(json_object_size(object), ELEMENTS(keys));
		json_decref(object);
	}
}

static void json_tells_what_was_refused(void **state _unused_)
{
	_cleanup_result_ struct result result;
	struct attempt *attempt;
	struct denial *denial;
	json_t *object, *first;

	fill(&result, "");
	result.run = strdup("r1");
	result.signal = 9;
	result.limit = LIMIT_MEMORY;
	result.cpu_ms = NAN;
	result.max_rss_kb = UINT64_MAX;
	result_add_decision(&result, "decide", "allow", "default")->scope = strdup("once");
	attempt = result_add_attempt(&result);
	attempt->level = LEVEL_RESTRICTED;
	attempt->exit_code = 1;
	list_add(&attempt->walls, "landlock");
	list_add(&attempt->masks, "/home/u/.ssh/id_rsa");
	denial = attempt_add_denial(attempt);
	denial->operation = strdup("write");
	denial->object = strdup("/etc/motd");
	denial->count = 3;
	attempt_add_denial(attempt)->answer = (char *)"granted";
	object = result_to_json(&result);

	assert_string_equal(json_string_value(json_object_get(object, "run")), "r1");
	assert_int_equal(json_integer_value(json_object_get(object, "signal")), 9);
	assert_string_equal(json_string_value(json_object_get(object, "limit")), "memory");
	assert_true(json_is_null(json_object_get(object, "error")));
	first = json_object_get(object, "resources");
	assert_true(json_real_value(json_object_get(first, "cpu_ms")) == 0);
	assert_int_equal(json_integer_value(json_object_get(first, "max_rss_kb")), INT64_MAX);
	first = json_array_get(json_object_get(object, "decisions"), 0);
	assert_string_equal(json_string_value(json_object_get(first, "scope")), "once");
	assert_true(json_is_null(json_object_get(first, "by")));
	first = json_array_get(json_object_get(object, "attempts"), 0);
	assert_string_equal(json_string_value(json_object_get(first, "level")), "restricted");
	assert_int_equal(json_array_size(json_object_get(first, "masks")), 1);
	assert_int_equal(json_array_size(json_object_get(first, "denials")), 2);
	first = json_array_get(json_object_get(first, "denials"), 0);
	assert_string_equal(json_string_value(json_object_get(first, "object")), "/etc/motd");
	assert_string_equal(json_string_value(json_object_get(first, "answer")), "none");
	assert_int_equal(json_integer_value(json_object_get(first, "count")), 3);
	json_decref(object);
}

static void json_of_a_failure_before_the_start_is_synthesised(void **state _unused_)
{
	_cleanup_result_ struct result result;
	json_t *object, *error;

	result_init(&result);
	result.duration_ms = 5;
	fail(&result.error, E_POLICY, "w.yaml: unknown key");
	result.error->file = strdup("w.yaml");
	result.error->line = 3;
	result.error->column = 5;
	object = result_to_json(&result);
	assert_int_equal(json_integer_value(json_object_get(object, "exit_code")), -1);
	assert_true(json_real_value(json_object_get(object, "duration_ms")) == 0);
	assert_string_equal(json_string_value(json_object_get(object, "stderr")),
			    "w.yaml: unknown key");
	assert_string_equal(json_string_value(json_object_get(object, "aggregated_output")),
			    "w.yaml: unknown key");
	error = json_object_get(object, "error");
	assert_string_equal(json_string_value(json_object_get(error, "kind")), "rejected");
	assert_true(json_is_null(json_object_get(error, "hint")));
	assert_int_equal(json_integer_value(json_object_get(error, "line")), 3);
	json_decref(object);
}

static void output_that_is_not_text_is_shown_as_lossy(void **state _unused_)
{
	_cleanup_result_ struct result result;
	json_t *object;

	fill(&result, "ok");
	object = result_to_json(&result);
	assert_null(json_object_get(object, "lossy"));
	json_decref(object);
	set_output(&result.stdout_, "a\0b\xff", 4);
	object = result_to_json(&result);
	assert_true(json_is_true(json_object_get(object, "lossy")));
	assert_string_equal(json_string_value(json_object_get(object, "stdout")), "a\xef\xbf\xbd"
										  "b\xef\xbf\xbd");
	json_decref(object);
}

static void the_summary_has_no_output(void **state _unused_)
{
	_cleanup_result_ struct result result;
	json_t *object;

	fill(&result, "secret");
	object = result_summary_to_json(&result);
	assert_null(json_object_get(object, "stdout"));
	assert_null(json_object_get(object, "stderr"));
	assert_null(json_object_get(object, "aggregated_output"));
	assert_int_equal(json_object_size(object), ELEMENTS(keys) - 3);
	assert_int_equal(json_integer_value(json_object_get(object, "exit_code")), 1);
	json_decref(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(normalise_success_borrows),
		cmocka_unit_test(normalise_timeout_borrows_embedded_output),
		cmocka_unit_test(normalise_function_error_synthesises_payload),
		cmocka_unit_test(normalise_engine_error_synthesises_user_message),
		cmocka_unit_test(a_fresh_result_is_a_refusal),
		cmocka_unit_test(each_error_has_its_kind_and_status),
		cmocka_unit_test(exit_status_is_the_commands_own),
		cmocka_unit_test(signals_and_limits_have_a_status),
		cmocka_unit_test(json_has_the_same_keys_whatever_happened),
		cmocka_unit_test(json_tells_what_was_refused),
		cmocka_unit_test(json_of_a_failure_before_the_start_is_synthesised),
		cmocka_unit_test(output_that_is_not_text_is_shown_as_lossy),
		cmocka_unit_test(the_summary_has_no_output),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
