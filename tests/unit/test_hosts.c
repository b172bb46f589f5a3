/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about hosts: what a pattern is, what it means, and what kind of place an address is. */
#include "base/hosts.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct in6_addr address(const char *text)
{
	struct in6_addr result = {.s6_addr = {[10] = 0xff, [11] = 0xff}};

	if (inet_pton(AF_INET, text, result.s6_addr + 12) != 1 &&
	    inet_pton(AF_INET6, text, &result) != 1)
		fail_msg("%s is no address", text);
	return result;
}

/* Patterns with a ! before them deny. */
static struct host_rules rules_of(const char *text)
{
	struct host_rules rules = {0};
	char copy[512], *rest = NULL;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		_cleanup_error_ struct error *error = NULL;

		if (host_rules_add(&rules, word + (*word == '!'), *word == '!', &error) < 0)
			fail_msg("%s: %s", word, error->message);
	}
	return rules;
}

static enum host_access of_name(const char *patterns, const char *name, uint16_t port)
{
	struct host_rules rules = rules_of(patterns);
	enum host_access access = host_rules_name(&rules, name, port);

	host_rules_done(&rules);
	return access;
}

static enum host_access of_address(const char *patterns, const char *text, uint16_t port,
				   bool named)
{
	struct host_rules rules = rules_of(patterns);
	struct in6_addr target = address(text);
	enum host_access access = host_rules_address(&rules, &target, port, named, NULL);

	host_rules_done(&rules);
	return access;
}

static enum host_access of_loopback(const char *patterns, uint16_t port)
{
	struct host_rules rules = rules_of(patterns);
	enum host_access access = host_rules_loopback(&rules, port);

	host_rules_done(&rules);
	return access;
}

static void what_is_a_pattern_is_taken(void **state)
{
	static const char *const good[] = {
		"example.org",
		"EXAMPLE.org.",
		"example.org:443",
		"example.org:1-65535",
		"example.org:*",
		"a",
		"registry",
		"registry:443",
		"_dmarc.example.org",
		"xn--bcher-kva.example",
		"4chan.example",
		"0xcafe.example",
		"*",
		"*:443",
		"*.example.org",
		"**.example.org:8000-8999",
		"*.org",
		"192.0.2.1",
		"192.0.2.1:80",
		"192.0.2.0/24",
		"192.0.2.0/24:80-90",
		"0.0.0.0/0",
		"2001:db8::1",
		"2001:db8::/32",
		"[2001:db8::1]",
		"[2001:db8::1]:443",
		"[2001:db8::]/32",
		"[2001:db8::]/32:443",
		"[2001:db8::/32]:443",
		"[2001:DB8::/32]",
		"::ffff:10.0.0.1",
		"[::]/0",
		"::1",
		"localhost",
		"localhost:5432",
		"LocalHost.:5432",
		"host-loopback:5432",
		"127.0.0.1:5432",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		_cleanup_error_ struct error *error = NULL;

		if (host_pattern_check(good[i], &error) != 0)
			fail_msg("%s: %s", good[i], error->message);
	}
}

static void what_is_no_pattern_is_refused_with_a_reason_and_a_hint(void **state)
{
	static const struct {
		const char *pattern, *reason;
	} bad[] = {
		{"", "empty"},
		{".", "no name"},
		{"..", "no name"},
		{"example..org", "no name"},
		{"example.org..", "no name"},
		{".example.org", "no name"},
		{"-a.example", "no name"},
		{"a-.example", "no name"},
		{"exa mple.org", "blanks"},
		{"example.org\n", "blanks"},
		{"exa\x7fmple.org", "blanks"},
		{"example.org:", "port"},
		{"example.org:0", "port"},
		{"example.org:65536", "port"},
		{"example.org:0443", "port"},
		{"example.org:+443", "port"},
		{"example.org:443-", "port"},
		{"example.org:-443", "port"},
		{"example.org:90-80", "port"},
		{"example.org:1-2-3", "port"},
		{"example.org:https", "port"},
		{"registry:python", "port"},
		{"https://example.org", "address of a page"},
		{"example.org/path", "more than a host"},
		{"user@example.org", "more than a host"},
		{"**", "star"},
		{"*.*.example.org", "star"},
		{"a*.example.org", "star"},
		{"www.*.org", "star"},
		{"***.org", "star"},
		{"*.", "no name"},
		{"**.", "no name"},
		{"*example.org", "star"},
		{"b\xc3\xbc"
		 "cher.example",
		 "not ASCII"},
		{"ex\xd0\xb0mple.org", "not ASCII"},
		{"2130706433", "looks like an address"},
		{"017700000001", "looks like an address"},
		{"0x7f000001", "looks like an address"},
		{"0177.0.0.1", "looks like an address"},
		{"0x7f.1", "looks like an address"},
		{"0X7F.0.0.0x1", "looks like an address"},
		{"127.1", "looks like an address"},
		{"127.0.0.01", "looks like an address"},
		{"1.2.3.4.5", "looks like an address"},
		{"1.2.3.256", "looks like an address"},
		{"127.0.0.1.", "looks like an address"},
		{"*.1.2.3.4", "looks like an address"},
		{"example.1", "looks like an address"},
		{"10.0.0.1/8", "bits are set"},
		{"[2001:db8::1]/32", "bits are set"},
		{"10.0.0.0/33", "number of bits"},
		{"10.0.0.0/", "number of bits"},
		{"10.0.0.0/08", "number of bits"},
		{"10.0.0.0/255.0.0.0", "number of bits"},
		{"[2001:db8::]/129", "number of bits"},
		{"[::1", "bracket"},
		{"[]", "brackets"},
		{"[127.0.0.1]", "brackets"},
		{"[example.org]:80", "brackets"},
		{"[::1]x", "brackets"},
		{"[::1]:", "port"},
		{"[fe80::1%eth0]:80", "brackets"},
		{"fe80::1%eth0", "several colons"},
		{"a:b:c", "several colons"},
		{"1::2::3", "several colons"},
		{"example.org:80:90", "several colons"},
		{"app.localhost", "the sandbox's own"},
		{"*.localhost", "the sandbox's own"},
		{"**.localhost:80", "the sandbox's own"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		_cleanup_error_ struct error *error = NULL;
		struct host_rules rules = {0};

		if (host_rules_add(&rules, bad[i].pattern, false, &error) == 0)
			fail_msg("'%s' was taken", bad[i].pattern);
		assert_int_equal(rules.count, 0);
		assert_int_equal(error->code, E_USAGE);
		assert_non_null(error->hint);
		if (!strstr(error->message, bad[i].reason))
			fail_msg("'%s': %s", bad[i].pattern, error->message);
	}
}

static void lengths_have_an_end(void **state)
{
	char label[80] = "", name[400] = "";

	(void)state;
	memset(label, 'a', 63);
	strcat(label, ".org");
	assert_int_equal(host_pattern_check(label, NULL), 0);
	memset(label, 'a', 64);
	strcpy(label + 64, ".org");
	assert_true(host_pattern_check(label, NULL) < 0);
	for (size_t i = 0; i < 253; i++)
		name[i] = i % 2 ? '.' : 'a';
	assert_int_equal(host_pattern_check(name, NULL), 0);
	strcpy(name + 253, ".a");
	assert_true(host_pattern_check(name, NULL) < 0);
	memset(name, 'a', sizeof(name) - 1);
	assert_true(host_pattern_check(name, NULL) < 0);
}

static void names_mean_what_they_say(void **state)
{
	static const struct {
		const char *pattern, *name;
		bool means;
	} cases[] = {
		{"example.org", "example.org", true},
		{"Example.ORG.", "example.org", true},
		{"example.org", "www.example.org", false},
		{"example.org", "badexample.org", false},
		{"example.org", "example.org.evil.test", false},
		{"*.example.org", "www.example.org", true},
		{"*.example.org", "example.org", false},
		{"*.example.org", "a.b.example.org", false},
		{"*.example.org", "badexample.org", false},
		{"*.example.org", ".example.org", false},
		{"**.example.org", "example.org", true},
		{"**.example.org", "www.example.org", true},
		{"**.example.org", "a.b.c.example.org", true},
		{"**.example.org", "badexample.org", false},
		{"*", "example.org", true},
		{"*", "a", true},
		{"192.0.2.1", "192.0.2.1", false},
		{"0.0.0.0/0", "example.org", false},
		{"localhost", "localhost", false},
		{"host-loopback:80", "host-loopback", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum host_access access = of_name(cases[i].pattern, cases[i].name, 80);

		if (access != (cases[i].means ? HOST_ALLOWED : HOST_UNLISTED))
			fail_msg("%s %s", cases[i].pattern, cases[i].name);
	}
}

static void ports_are_exactly_those_that_were_said(void **state)
{
	(void)state;
	assert_int_equal(of_name("a.test", "a.test", 1), HOST_ALLOWED);
	assert_int_equal(of_name("a.test:*", "a.test", 65535), HOST_ALLOWED);
	assert_int_equal(of_name("a.test:443", "a.test", 443), HOST_ALLOWED);
	assert_int_equal(of_name("a.test:443", "a.test", 80), HOST_UNLISTED);
	assert_int_equal(of_name("a.test:80-82", "a.test", 79), HOST_UNLISTED);
	assert_int_equal(of_name("a.test:80-82", "a.test", 80), HOST_ALLOWED);
	assert_int_equal(of_name("a.test:80-82", "a.test", 82), HOST_ALLOWED);
	assert_int_equal(of_name("a.test:80-82", "a.test", 83), HOST_UNLISTED);
	assert_int_equal(of_address("[2001:db8::/32]:443", "2001:db8::1", 443, false),
			 HOST_ALLOWED);
	assert_int_equal(of_address("[2001:db8::]/32:443", "2001:db8::1", 80, false),
			 HOST_UNLISTED);
	assert_int_equal(of_address("192.0.2.0/24:80-90", "192.0.2.9", 91, false), HOST_UNLISTED);
}

static void deny_wins_wherever_it_stands(void **state)
{
	(void)state;
	assert_int_equal(of_name("!a.test a.test", "a.test", 80), HOST_DENIED);
	assert_int_equal(of_name("a.test !a.test", "a.test", 80), HOST_DENIED);
	assert_int_equal(of_name("* !**.a.test", "b.a.test", 80), HOST_DENIED);
	assert_int_equal(of_name("* !a.test:80", "a.test", 81), HOST_ALLOWED);
	assert_int_equal(of_address("192.0.2.1 !192.0.2.0/24", "192.0.2.1", 80, false),
			 HOST_DENIED);
	assert_int_equal(of_address("* !192.0.2.0/24", "192.0.2.1", 80, true), HOST_DENIED);
	assert_int_equal(of_address("192.0.2.1 !*", "192.0.2.1", 80, false), HOST_DENIED);
	assert_int_equal(of_address("192.0.2.1 !*:81", "192.0.2.1", 80, false), HOST_ALLOWED);
	/* In whatever form the address comes. */
	assert_int_equal(of_address("* !10.0.0.0/8", "64:ff9b::10.1.2.3", 80, true), HOST_DENIED);
	assert_int_equal(of_address("* !192.0.2.1", "64:ff9b::192.0.2.1", 80, true), HOST_DENIED);
	assert_int_equal(of_address("* !192.0.2.1", "2002:c000:201::1", 80, true), HOST_DENIED);
	assert_int_equal(of_address("* !192.0.2.1", "::192.0.2.1", 80, true), HOST_DENIED);
}

static void a_public_address_is_open_to_allowed_names_only(void **state)
{
	(void)state;
	assert_int_equal(of_address("a.test", "192.0.2.1", 80, true), HOST_ALLOWED);
	assert_int_equal(of_address("a.test", "2001:db8::1", 80, true), HOST_ALLOWED);
	assert_int_equal(of_address("a.test", "192.0.2.1", 80, false), HOST_UNLISTED);
	assert_int_equal(of_address("*", "192.0.2.1", 80, false), HOST_UNLISTED);
	assert_int_equal(of_address("192.0.2.1", "192.0.2.1", 80, false), HOST_ALLOWED);
	assert_int_equal(of_address("192.0.2.1", "192.0.2.2", 80, false), HOST_UNLISTED);
	assert_int_equal(of_address("192.0.2.0/23", "192.0.3.255", 80, false), HOST_ALLOWED);
	assert_int_equal(of_address("192.0.2.0/23", "192.0.4.0", 80, false), HOST_UNLISTED);
	assert_int_equal(of_address("[::ffff:192.0.2.1]:80", "192.0.2.1", 80, false), HOST_ALLOWED);
	assert_int_equal(of_address("0.0.0.0/0", "192.0.2.1", 80, false), HOST_ALLOWED);
	assert_int_equal(of_address("0.0.0.0/0", "2001:db8::1", 80, false), HOST_UNLISTED);
	assert_int_equal(of_address("::/0", "192.0.2.1", 80, false), HOST_UNLISTED);
	assert_int_equal(of_address("::/0", "2001:db8::1", 80, false), HOST_ALLOWED);
}

static void what_is_not_public_must_be_listed_itself(void **state)
{
	static const char *const closed[] = {
		"10.0.0.1",    "172.16.0.1",	  "192.168.1.1",     "100.64.0.1",
		"169.254.1.1", "169.254.169.254", "127.0.0.1",	     "::1",
		"fe80::1",     "fd00:ec2::254",	  "fd12::1",	     "64:ff9b::10.0.0.1",
		"::10.0.0.1",  "2002:a00:1::1",	  "64:ff9b::7f00:1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(closed) / sizeof(closed[0]); i++) {
		struct host_rules rules = {0};
		struct in6_addr target = address(closed[i]);
		const char *rule = NULL;

		host_rules_add(&rules, "*", false, NULL);
		host_rules_add(&rules, "0.0.0.0/0", false, NULL);
		host_rules_add(&rules, "::/0", false, NULL);
		for (int named = 0; named < 2; named++)
			if (host_rules_address(&rules, &target, 80, named, &rule) != HOST_UNLISTED)
				fail_msg("%s is open", closed[i]);
		assert_null(rule);
		host_rules_add(&rules, closed[i], false, NULL);
		for (int named = 0; named < 2; named++)
			if (host_rules_address(&rules, &target, 80, named, &rule) != HOST_ALLOWED)
				fail_msg("%s is closed", closed[i]);
		assert_string_equal(rule, closed[i]);
		host_rules_done(&rules);
	}
}

static void a_network_names_what_lies_within_its_kind(void **state)
{
	(void)state;
	assert_int_equal(of_address("10.0.0.0/8", "10.1.2.3", 80, false), HOST_ALLOWED);
	assert_int_equal(of_address("10.1.0.0/16", "10.1.2.3", 80, true), HOST_ALLOWED);
	assert_int_equal(of_address("8.0.0.0/6", "10.1.2.3", 80, false), HOST_UNLISTED);
	assert_int_equal(of_address("fc00::/7", "fd12::1", 80, false), HOST_ALLOWED);
	assert_int_equal(of_address("127.0.0.0/8", "127.0.0.2", 80, false), HOST_ALLOWED);
	/* Metadata by exactly its address. */
	assert_int_equal(of_address("169.254.0.0/16", "169.254.1.1", 80, false), HOST_ALLOWED);
	assert_int_equal(of_address("169.254.0.0/16", "169.254.169.254", 80, false), HOST_UNLISTED);
	assert_int_equal(of_address("169.254.169.254/31", "169.254.169.254", 80, false),
			 HOST_UNLISTED);
	assert_int_equal(of_address("169.254.169.254/32", "169.254.169.254", 80, false),
			 HOST_ALLOWED);
	assert_int_equal(of_address("100.64.0.0/10", "100.100.100.200", 80, false), HOST_UNLISTED);
	assert_int_equal(of_address("fc00::/7", "fd00:ec2::254", 80, false), HOST_UNLISTED);
	assert_int_equal(of_address("fe80::/10", "fe80::a9fe:a9fe", 80, false), HOST_UNLISTED);
}

static void one_address_is_told_from_many(void **state)
{
	static const struct {
		const char *patterns, *address;
		bool said;
	} tried[] = {
		{"203.0.113.7", "203.0.113.7", true},
		{"203.0.113.7/32", "203.0.113.7", true},
		{"203.0.113.7:80", "203.0.113.7", true},
		{"203.0.113.7:81", "203.0.113.7", false},
		{"203.0.113.6/31", "203.0.113.7", false},
		{"0.0.0.0/0", "203.0.113.7", false},
		{"*", "203.0.113.7", false},
		{"203.0.113.8", "203.0.113.7", false},
		{"[2001:db8::7]:80", "2001:db8::7", true},
		{"::/0", "2001:db8::7", false},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(tried); i++) {
		struct host_rules rules = rules_of(tried[i].patterns);
		struct in6_addr one = address(tried[i].address);

		assert_int_equal(host_rules_exactly(&rules, &one, 80), tried[i].said);
		rules.everything = true;
		assert_true(host_rules_exactly(&rules, &one, 80));
		host_rules_done(&rules);
	}
}

static void everything_is_open_but_what_is_denied_and_what_is_nowhere(void **state)
{
	struct host_rules rules = rules_of("!a.test !192.0.2.0/24 !localhost:22");
	struct in6_addr private = address("10.0.0.1"), denied = address("192.0.2.1");
	struct in6_addr nowhere = address("224.0.0.1");
	const char *rule;

	(void)state;
	assert_false(host_rules_open(&rules));
	rules.everything = true;
	assert_true(host_rules_open(&rules));
	assert_int_equal(host_rules_name(&rules, "a.test", 80), HOST_DENIED);
	assert_int_equal(host_rules_name(&rules, "b.test", 80), HOST_ALLOWED);
	assert_int_equal(host_rules_address(&rules, &private, 80, false, &rule), HOST_ALLOWED);
	assert_null(rule);
	assert_int_equal(host_rules_address(&rules, &denied, 80, true, &rule), HOST_DENIED);
	assert_string_equal(rule, "192.0.2.0/24");
	assert_int_equal(host_rules_address(&rules, &nowhere, 80, true, &rule), HOST_DENIED);
	assert_null(rule);
	assert_int_equal(host_rules_loopback(&rules, 22), HOST_DENIED);
	assert_int_equal(host_rules_loopback(&rules, 23), HOST_ALLOWED);
	host_rules_done(&rules);
	assert_false(host_rules_open(&rules));
}

static void nowhere_is_never_reached(void **state)
{
	static const char *const nowhere[] = {"0.0.0.0",	   "0.1.2.3",	"198.18.0.1",
					      "198.19.255.255",	   "224.0.0.1", "240.0.0.1",
					      "255.255.255.255",   "::",	"ff02::1",
					      "fd77:6172:6400::1", "100::1",	"64:ff9b::e000:1"};

	(void)state;
	for (size_t i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++)
		if (of_address(nowhere[i], nowhere[i], 80, true) != HOST_DENIED)
			fail_msg("%s", nowhere[i]);
}

static void the_hosts_loopback_is_named(void **state)
{
	(void)state;
	assert_int_equal(of_loopback("localhost:5432", 5432), HOST_ALLOWED);
	assert_int_equal(of_loopback("localhost", 5432), HOST_ALLOWED);
	assert_int_equal(of_loopback("host-loopback:5432", 5432), HOST_ALLOWED);
	assert_int_equal(of_loopback("127.0.0.1:5432", 5432), HOST_ALLOWED);
	assert_int_equal(of_loopback("[::1]:5432", 5432), HOST_ALLOWED);
	assert_int_equal(of_loopback("localhost:5432", 5433), HOST_UNLISTED);
	assert_int_equal(of_loopback("127.0.0.2:5432", 5432), HOST_UNLISTED);
	assert_int_equal(of_loopback("*", 5432), HOST_UNLISTED);
	assert_int_equal(of_loopback("0.0.0.0/0 ::/0", 5432), HOST_UNLISTED);
	assert_int_equal(of_loopback("localhost !127.0.0.1", 5432), HOST_DENIED);
	assert_int_equal(of_loopback("127.0.0.1 !localhost", 5432), HOST_DENIED);
	assert_int_equal(of_loopback("localhost !*", 5432), HOST_DENIED);
	assert_int_equal(of_address("localhost", "127.0.0.1", 80, true), HOST_ALLOWED);
	assert_int_equal(of_address("localhost", "127.0.0.53", 80, true), HOST_UNLISTED);
	assert_int_equal(of_address("127.0.0.0/8 !localhost", "127.0.0.53", 80, true), HOST_DENIED);
}

static void every_address_has_its_range(void **state)
{
	static const struct {
		const char *address;
		enum address_range range;
	} cases[] = {
		{"9.255.255.255", RANGE_PUBLIC},
		{"10.0.0.0", RANGE_PRIVATE},
		{"10.255.255.255", RANGE_PRIVATE},
		{"11.0.0.0", RANGE_PUBLIC},
		{"100.63.255.255", RANGE_PUBLIC},
		{"100.64.0.0", RANGE_PRIVATE},
		{"100.127.255.255", RANGE_PRIVATE},
		{"100.128.0.0", RANGE_PUBLIC},
		{"172.15.255.255", RANGE_PUBLIC},
		{"172.31.255.255", RANGE_PRIVATE},
		{"172.32.0.0", RANGE_PUBLIC},
		{"192.168.0.0", RANGE_PRIVATE},
		{"192.169.0.0", RANGE_PUBLIC},
		{"126.255.255.255", RANGE_PUBLIC},
		{"127.0.0.1", RANGE_LOOPBACK},
		{"127.255.255.255", RANGE_LOOPBACK},
		{"128.0.0.0", RANGE_PUBLIC},
		{"169.253.255.255", RANGE_PUBLIC},
		{"169.254.0.1", RANGE_LINK_LOCAL},
		{"169.254.169.254", RANGE_METADATA},
		{"169.254.169.253", RANGE_METADATA},
		{"169.254.170.2", RANGE_METADATA},
		{"168.63.129.16", RANGE_METADATA},
		{"100.100.100.200", RANGE_METADATA},
		{"192.0.2.1", RANGE_PUBLIC},
		{"198.17.255.255", RANGE_PUBLIC},
		{"198.18.0.0", RANGE_NOWHERE},
		{"198.20.0.0", RANGE_PUBLIC},
		{"223.255.255.255", RANGE_PUBLIC},
		{"224.0.0.0", RANGE_NOWHERE},
		{"255.255.255.255", RANGE_NOWHERE},
		{"0.0.0.0", RANGE_NOWHERE},
		{"::ffff:127.0.0.1", RANGE_LOOPBACK},
		{"::ffff:169.254.169.254", RANGE_METADATA},
		{"::", RANGE_NOWHERE},
		{"::1", RANGE_LOOPBACK},
		{"::2", RANGE_NOWHERE},
		{"::10.0.0.1", RANGE_PRIVATE},
		{"::127.0.0.1", RANGE_PRIVATE},
		{"::169.254.169.254", RANGE_METADATA},
		{"2001:db8::1", RANGE_PUBLIC},
		{"2606::1", RANGE_PUBLIC},
		{"4000::1", RANGE_NOWHERE},
		{"fc00::1", RANGE_PRIVATE},
		{"fd00:ec2::254", RANGE_METADATA},
		{"fd00:ec2::255", RANGE_PRIVATE},
		{"fd20:ce::254", RANGE_METADATA},
		{"fd77:6172:6400::5", RANGE_NOWHERE},
		{"fe80::1", RANGE_LINK_LOCAL},
		{"fe80::a9fe:a9fe", RANGE_METADATA},
		{"fec0::1", RANGE_PRIVATE},
		{"ff02::1", RANGE_NOWHERE},
		{"64:ff9b::192.0.2.1", RANGE_PUBLIC},
		{"64:ff9b::10.0.0.1", RANGE_PRIVATE},
		{"64:ff9b::127.0.0.1", RANGE_PRIVATE},
		{"64:ff9b::169.254.169.254", RANGE_METADATA},
		{"64:ff9b::169.254.1.1", RANGE_LINK_LOCAL},
		{"64:ff9b:1::192.0.2.1", RANGE_PRIVATE},
		{"2002:c000:201::1", RANGE_PUBLIC},
		{"2002:a00:1::1", RANGE_PRIVATE},
		{"2002:7f00:1::1", RANGE_PRIVATE},
		{"2002:a9fe:a9fe::1", RANGE_METADATA},
		/* Teredo: server 192.0.2.1; client 192.0.2.2, then 10.0.0.1. */
		{"2001:0:c000:201::3fff:fdfd", RANGE_PUBLIC},
		{"2001:0:c000:201::f5ff:fffe", RANGE_PRIVATE},
		{"2001:0:a00:1::3fff:fdfd", RANGE_PRIVATE},
		{"2001:0:c000:201::5601:5601", RANGE_METADATA},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct in6_addr target = address(cases[i].address);

		if (address_range(&target) != cases[i].range)
			fail_msg("%s is %s", cases[i].address,
				 address_range_name(address_range(&target)));
	}
	assert_string_equal(address_range_name(RANGE_LOOPBACK), "host-loopback");
	assert_string_equal(address_range_name(RANGE_NOWHERE), "reserved");
}

static void a_pattern_covers_what_lies_within_it(void **state)
{
	static const struct {
		const char *pattern, *other;
		bool covers;
	} cases[] = {
		{"a.test", "A.test.:443", true},
		{"a.test:443", "a.test", false},
		{"a.test:80-90", "a.test:81-82", true},
		{"a.test:80-90", "a.test:81-91", false},
		{"a.test", "b.a.test", false},
		{"*.a.test", "b.a.test", true},
		{"*.a.test", "*.a.test:1", true},
		{"*.a.test", "**.a.test", false},
		{"*.a.test", "*.b.a.test", false},
		{"**.a.test", "a.test", true},
		{"**.a.test", "*.b.a.test", true},
		{"**.a.test", "**.a.test", true},
		{"**.a.test", "*", false},
		{"*", "**.a.test", true},
		{"*", "*", true},
		{"*", "192.0.2.1", false},
		{"*", "localhost:1", false},
		{"192.0.2.0/24", "192.0.2.1:80", true},
		{"192.0.2.0/24", "192.0.0.0/16", false},
		{"0.0.0.0/0", "192.0.2.1", true},
		{"0.0.0.0/0", "10.0.0.1", false},
		{"0.0.0.0/0", "0.0.0.0/0", true},
		{"10.0.0.0/8", "10.1.0.0/16", true},
		{"169.254.0.0/16", "169.254.169.254", false},
		{"localhost", "host-loopback:80", true},
		{"localhost:80", "127.0.0.1:80", true},
		{"localhost", "127.0.0.2", false},
		{"a.test", "no pattern", false},
		{"no pattern", "a.test", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (host_pattern_covers(cases[i].pattern, cases[i].other) != cases[i].covers)
			fail_msg("%s %s", cases[i].pattern, cases[i].other);
}

static void rules_can_be_listed(void **state)
{
	struct host_rules rules = rules_of("A.test. !b.test:80");
	bool deny;

	(void)state;
	assert_string_equal(host_rules_pattern(&rules, 0, &deny), "A.test.");
	assert_false(deny);
	assert_string_equal(host_rules_pattern(&rules, 1, &deny), "b.test:80");
	assert_true(deny);
	host_rules_done(&rules);
}

static void many_rules_are_kept(void **state)
{
	struct host_rules rules = {0};
	char name[32];

	(void)state;
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "host%d.test:%d", i, i + 1);
		assert_int_equal(host_rules_add(&rules, name, false, NULL), 0);
	}
	assert_int_equal(host_rules_name(&rules, "host0.test", 1), HOST_ALLOWED);
	assert_int_equal(host_rules_name(&rules, "host999.test", 1000), HOST_ALLOWED);
	assert_int_equal(host_rules_name(&rules, "host999.test", 999), HOST_UNLISTED);
	host_rules_done(&rules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_a_pattern_is_taken),
		cmocka_unit_test(what_is_no_pattern_is_refused_with_a_reason_and_a_hint),
		cmocka_unit_test(lengths_have_an_end),
		cmocka_unit_test(names_mean_what_they_say),
		cmocka_unit_test(ports_are_exactly_those_that_were_said),
		cmocka_unit_test(deny_wins_wherever_it_stands),
		cmocka_unit_test(a_public_address_is_open_to_allowed_names_only),
		cmocka_unit_test(what_is_not_public_must_be_listed_itself),
		cmocka_unit_test(a_network_names_what_lies_within_its_kind),
		cmocka_unit_test(one_address_is_told_from_many),
		cmocka_unit_test(everything_is_open_but_what_is_denied_and_what_is_nowhere),
		cmocka_unit_test(nowhere_is_never_reached),
		cmocka_unit_test(the_hosts_loopback_is_named),
		cmocka_unit_test(every_address_has_its_range),
		cmocka_unit_test(a_pattern_covers_what_lies_within_it),
		cmocka_unit_test(rules_can_be_listed),
		cmocka_unit_test(many_rules_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
