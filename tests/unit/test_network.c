/* SPDX-License-Identifier: Apache-2.0 */
/* What may be reached: flags, policy, wishes and answers brought together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* the name is ward's */

#include "decide/network.h"

#include <string.h>

static struct request request;
static struct sandbox_policy policy;
static struct verdict verdict;
static const struct surroundings surroundings;
static const struct matter matter = {.request = &request, .surroundings = &surroundings};

static int begin(void **state)
{
	(void)state;
	request_init(&request);
	return 0;
}

static int end(void **state)
{
	(void)state;
	request_done(&request);
	list_done(&policy.allow_hosts);
	list_done(&policy.deny_hosts);
	list_done(&policy.publish);
	policy = (struct sandbox_policy){0};
	verdict_done(&verdict);
	return 0;
}

static void say(enum network network)
{
	request.has_network = true;
	request.network = network;
}

static void set(enum network network)
{
	policy.has_network = true;
	policy.network = network;
}

static void decide_network(void)
{
	verdict_done(&verdict);
	assert_int_equal(network_check_request(&request, NULL), 0);
	verdict.network = network_choose(&request, &policy);
	assert_int_equal(network_permissions(&matter, &policy, &verdict, NULL), 0);
}

static enum host_access name(const char *host, uint16_t port)
{
	return host_rules_name(&verdict.permissions.hosts, host, port);
}

static void apply(const char *permission)
{
	size_t length = strcspn(permission, " ");

	network_apply(&matter, permission, length, permission + length + 1, /* grant= */ NULL,
		      &verdict);
}

static void nothing_is_open_unless_it_was_said(void **state)
{
	(void)state;
	decide_network();
	assert_int_equal(verdict.network, NETWORK_NONE);
	assert_false(host_rules_open(&verdict.permissions.hosts));
	say(NETWORK_RESTRICTED);
	decide_network();
	assert_int_equal(verdict.network, NETWORK_RESTRICTED);
	assert_false(host_rules_open(&verdict.permissions.hosts));
}

static void hosts_and_ports_mean_restricted_unless_a_mode_was_said(void **state)
{
	(void)state;
	list_add(&request.allow_hosts, "a.test:443");
	decide_network();
	assert_int_equal(verdict.network, NETWORK_RESTRICTED);
	assert_int_equal(name("a.test", 443), HOST_ALLOWED);
	assert_int_equal(name("a.test", 80), HOST_UNLISTED);
	set(NETWORK_NONE);
	decide_network();
	assert_int_equal(verdict.network, NETWORK_RESTRICTED);
	say(NETWORK_FULL);
	decide_network();
	assert_int_equal(verdict.network, NETWORK_FULL);
	assert_int_equal(verdict_reach(&verdict), NETWORK_FULL);
	list_done(&request.allow_hosts);
	request.has_network = false;
	list_add(&request.publish, "8080:80");
	decide_network();
	assert_int_equal(verdict.network, NETWORK_RESTRICTED);
	assert_string_equal(verdict.permissions.publish.items[0], "8080:80");
}

static void none_and_something_open_contradict_each_other(void **state)
{
	_cleanup_error_ struct error *hosts = NULL, *ports = NULL;

	(void)state;
	say(NETWORK_NONE);
	list_add(&request.deny_hosts, "a.test");
	assert_int_equal(network_check_request(&request, NULL), 0);
	list_add(&request.allow_hosts, "a.test");
	assert_int_equal(network_check_request(&request, &hosts), -E_USAGE);
	assert_non_null(strstr(hosts->message, "--allow-host a.test"));
	list_done(&request.allow_hosts);
	list_add(&request.publish, "80");
	assert_int_equal(network_check_request(&request, &ports), -E_USAGE);
	assert_non_null(strstr(ports->message, "--publish 80"));
}

static void the_policys_list_and_the_flags_are_laid_together(void **state)
{
	(void)state;
	set(NETWORK_RESTRICTED);
	list_add(&policy.allow_hosts, "a.test");
	list_add(&policy.deny_hosts, "c.test");
	list_add(&policy.publish, "80");
	list_add(&request.allow_hosts, "b.test");
	list_add(&request.allow_hosts, "c.test");
	list_add(&request.deny_hosts, "a.test:22");
	list_add(&request.publish, "80:80");
	decide_network();
	assert_int_equal(name("a.test", 80), HOST_ALLOWED);
	assert_int_equal(name("a.test", 22), HOST_DENIED);
	assert_int_equal(name("b.test", 80), HOST_ALLOWED);
	assert_int_equal(name("c.test", 80), HOST_DENIED);
	assert_int_equal(verdict.permissions.publish.count, 1);
	say(NETWORK_NONE);
	list_done(&request.allow_hosts);
	list_done(&request.publish);
	decide_network();
	assert_int_equal(verdict.network, NETWORK_NONE);
	assert_int_equal(verdict.permissions.publish.count, 0);
	assert_int_equal(name("b.test", 80), HOST_UNLISTED);
}

static void full_with_denials_is_built_as_restricted(void **state)
{
	(void)state;
	say(NETWORK_FULL);
	decide_network();
	assert_int_equal(verdict.network, NETWORK_FULL);
	list_add(&policy.deny_hosts, "a.test");
	decide_network();
	assert_int_equal(verdict.network, NETWORK_RESTRICTED);
	assert_int_equal(verdict_reach(&verdict), NETWORK_FULL);
	assert_int_equal(name("a.test", 80), HOST_DENIED);
	assert_int_equal(name("b.test", 80), HOST_ALLOWED);
	list_done(&policy.deny_hosts);
	list_add(&request.publish, "80");
	decide_network();
	assert_int_equal(verdict.network, NETWORK_RESTRICTED);
	assert_int_equal(name("b.test", 80), HOST_ALLOWED);
}

static void another_program_can_only_narrow(void **state)
{
	(void)state;
	request.foreign = true;
	list_add(&request.allow_hosts, "a.test");
	list_add(&request.publish, "80");
	say(NETWORK_FULL);
	decide_network();
	assert_int_equal(verdict.network, NETWORK_NONE);
	set(NETWORK_RESTRICTED);
	decide_network();
	assert_int_equal(verdict.network, NETWORK_RESTRICTED);
	assert_int_equal(name("a.test", 80), HOST_UNLISTED);
	assert_int_equal(verdict.permissions.publish.count, 0);
	/* Of a full network it may take what it names. */
	set(NETWORK_FULL);
	say(NETWORK_RESTRICTED);
	list_add(&request.deny_hosts, "c.test");
	decide_network();
	assert_int_equal(verdict.network, NETWORK_RESTRICTED);
	assert_int_equal(verdict_reach(&verdict), NETWORK_RESTRICTED);
	assert_int_equal(name("a.test", 80), HOST_ALLOWED);
	assert_int_equal(name("b.test", 80), HOST_UNLISTED);
	assert_int_equal(name("c.test", 80), HOST_DENIED);
}

static void assert_wishes(const char *const *expected)
{
	_cleanup_list_ struct list wishes = {0};
	size_t count = 0;

	network_wishes(&request, &policy, network_choose(&request, &policy), &wishes);
	while (expected[count])
		count++;
	assert_int_equal(wishes.count, count);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(wishes.items[i], expected[i]);
}

static void what_the_policy_does_not_give_is_a_wish(void **state)
{
	(void)state;
	request.foreign = true;
	say(NETWORK_RESTRICTED);
	assert_wishes((const char *const[]){NULL});
	list_add(&request.allow_hosts, "www.a.test:443");
	list_add(&request.allow_hosts, "b.test");
	list_add(&request.allow_hosts, "registry:npm");
	list_add(&request.publish, "8080");
	list_add(&request.publish, "8081:81");
	assert_wishes((const char *const[]){"connect www.a.test:443", "connect b.test",
					    "connect registry:npm", "bind 8080", "bind 8081:81",
					    NULL});
	set(NETWORK_RESTRICTED);
	list_add(&policy.allow_hosts, "**.a.test");
	list_add(&policy.allow_hosts, "b.test:80");
	list_add(&policy.allow_hosts, "registry:npm");
	list_add(&policy.publish, "8080:8080");
	assert_wishes((const char *const[]){"connect b.test", "bind 8081:81", NULL});
	say(NETWORK_FULL);
	assert_wishes((const char *const[]){"connect b.test", "connect *", "bind 8081:81", NULL});
	list_add(&policy.allow_hosts, "*");
	assert_wishes((const char *const[]){"bind 8081:81", NULL});
	set(NETWORK_FULL);
	list_done(&policy.allow_hosts);
	assert_wishes((const char *const[]){"bind 8081:81", NULL});
}

static void an_answer_opens_what_it_names(void **state)
{
	struct in6_addr public = {.s6_addr = {0x20, 0x01, 0x0d, 0xb8}};

	(void)state;
	list_add(&policy.deny_hosts, "bad.test");
	list_add(&policy.allow_hosts, "listed.test");
	set(NETWORK_NONE);
	decide_network();
	apply("connect no pattern");
	apply("connect 0x7f.1");
	apply("host-loopback x");
	apply("bind 99999");
	apply("bind *");
	assert_int_equal(verdict.network, NETWORK_NONE);
	apply("connect a.test:443");
	apply("connect bad.test");
	apply("host-loopback 5432");
	apply("bind 8080");
	assert_int_equal(verdict.network, NETWORK_RESTRICTED);
	assert_int_equal(name("a.test", 443), HOST_ALLOWED);
	assert_int_equal(name("a.test", 80), HOST_UNLISTED);
	assert_int_equal(name("bad.test", 80), HOST_DENIED);
	/* A list that no mode opens stays closed. */
	assert_int_equal(name("listed.test", 80), HOST_UNLISTED);
	assert_int_equal(host_rules_loopback(&verdict.permissions.hosts, 5432), HOST_ALLOWED);
	assert_int_equal(host_rules_loopback(&verdict.permissions.hosts, 5433), HOST_UNLISTED);
	assert_string_equal(verdict.permissions.publish.items[0], "8080:8080");
	/* Every name, not the whole network. */
	apply("connect *");
	assert_int_equal(verdict.network, NETWORK_RESTRICTED);
	assert_int_equal(name("c.test", 80), HOST_ALLOWED);
	assert_int_equal(host_rules_address(&verdict.permissions.hosts, &public, 80, false, NULL),
			 HOST_UNLISTED);
}

static void permissions_cover_permissions(void **state)
{
	(void)state;
	assert_true(network_permission_covers("connect **.a.test", "connect b.a.test:443"));
	assert_true(network_permission_covers("connect registry:npm", "connect registry:npm"));
	assert_true(network_permission_covers("write /x", "write /x"));
	assert_false(network_permission_covers("write *", "write x"));
	assert_false(network_permission_covers("connect *", "write x"));
	assert_false(network_permission_covers("connect a.test", "connect b.test"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_open_unless_it_was_said),
		TEST(hosts_and_ports_mean_restricted_unless_a_mode_was_said),
		TEST(none_and_something_open_contradict_each_other),
		TEST(the_policys_list_and_the_flags_are_laid_together),
		TEST(full_with_denials_is_built_as_restricted),
		TEST(another_program_can_only_narrow),
		TEST(what_the_policy_does_not_give_is_a_wish),
		TEST(an_answer_opens_what_it_names),
		TEST(permissions_cover_permissions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
