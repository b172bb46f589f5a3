/* SPDX-License-Identifier: Apache-2.0 */
/* Violations: what of all that is refused counts against an agent, and how much. */
#include "../../src/decide/violations.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const char *why(const char *operation, const char *object, const char *rule)
{
	struct denial denial = {
		.operation = (char *)operation, .object = (char *)object, .rule = (char *)rule};
	struct list refused = {
		.items = (char *[]){(char *)"write /srv/x", (char *)"connect a.example:80"},
		.count = 2};
	struct file_rules rules = {0};
	const char *found;

	file_rules_add(&rules, ACCESS_DENY, WEIGHT_SAID, "/w/closed", "closed");
	file_rules_add(&rules, ACCESS_DENY, WEIGHT_DEFAULT, "/w/.env", "secrets");
	file_rules_add(&rules, ACCESS_READ_ONLY, WEIGHT_SAID, "/w/kept", "kept");
	found = violation_why(&denial, &rules, &refused);
	file_rules_done(&rules);
	return found;
}

static void what_a_rule_denies_counts(void **state)
{
	(void)state;
	assert_string_equal(why("read", "/w/closed", "deny: closed"), "rule");
	assert_string_equal(why("exec", "/usr/bin/curl", "deny: curl **: not here"), "rule");
	assert_string_equal(why("connect", "b.example:80", "denied by the list of hosts"), "rule");
	assert_string_equal(why("connect", "b.example:80", "denied by the list of hosts: *"),
			    "rule");
}

static void what_the_sandbox_stops_does_not(void **state)
{
	(void)state;
	assert_null(why("write", "/etc/hosts", "default: only the workspace can be written"));
	assert_null(why("read", "/w/.env", "deny: secrets"));
	assert_null(why("write", "/w/kept/a", "read-only: kept"));
	assert_null(why("connect", "b.example:80", "no rule allows it"));
	assert_null(why("exec", "/usr/bin/curl", "ask: curl **"));
	assert_null(why("write", "/w/x", "deny: clos")); /* nobody said that */
	assert_null(why("write", "/w/x", NULL));
}

static void what_a_person_refused_counts_as_that_operation(void **state)
{
	(void)state;
	assert_string_equal(why("write", "/srv/x", "default: outside"), "refused");
	assert_string_equal(why("connect", "a.example:80", "no rule allows it"), "refused");
	assert_null(why("read", "/srv/x", "default: outside"));
	assert_null(why("write", "/srv/xy", "default: outside"));
}

static void files_and_permissions_are_high_network_and_resources_medium(void **state)
{
	static const struct {
		const char *operation, *kind;
		enum severity severity;
	} table[] = {
		{"read", "filesystem_access", SEVERITY_HIGH},
		{"write", "filesystem_access", SEVERITY_HIGH},
		{"delete", "filesystem_access", SEVERITY_HIGH},
		{"exec", "permission_denied", SEVERITY_HIGH},
		{"unix", "permission_denied", SEVERITY_HIGH},
		{NULL, "permission_denied", SEVERITY_HIGH},
		{"connect", "network_policy", SEVERITY_MEDIUM},
		{"bind", "network_policy", SEVERITY_MEDIUM},
		{"limit", "resource_limit", SEVERITY_MEDIUM},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(table); i++) {
		struct violation violation;

		violation_make("rule", table[i].operation, "x", NULL, &violation);
		assert_string_equal(violation.kind, table[i].kind);
		assert_int_equal(violation.severity, table[i].severity);
	}
}

static void time_that_a_request_bounds_itself_is_its_own_affair(void **state)
{
	struct request request = {0};

	(void)state;
	assert_false(violation_is_limit(LIMIT_NONE, &request));
	assert_true(violation_is_limit(LIMIT_TIME, &request));
	assert_true(violation_is_limit(LIMIT_IDLE, &request));
	request.limits.time_ns = request.limits.idle_ns = request.limits.memory = 1;
	assert_false(violation_is_limit(LIMIT_TIME, &request));
	assert_false(violation_is_limit(LIMIT_IDLE, &request));
	assert_true(violation_is_limit(LIMIT_MEMORY, &request));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_rule_denies_counts),
		cmocka_unit_test(what_the_sandbox_stops_does_not),
		cmocka_unit_test(what_a_person_refused_counts_as_that_operation),
		cmocka_unit_test(files_and_permissions_are_high_network_and_resources_medium),
		cmocka_unit_test(time_that_a_request_bounds_itself_is_its_own_affair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
