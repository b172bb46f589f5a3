/* SPDX-License-Identifier: Apache-2.0 */
/* Targets of the network: what an address means, and how it is written for people. */
#include "observe/network/target.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static struct target read_v4(const struct resolver *resolver, const char *address, uint16_t port)
{
	struct sockaddr_in plain = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct target target;

	assert_int_equal(inet_pton(AF_INET, address, &plain.sin_addr), 1);
	assert_true(
		target_read(resolver, (struct sockaddr *)&plain, sizeof(plain), false, &target));
	return target;
}

static struct target read_v6(const struct resolver *resolver, const char *address, uint16_t port)
{
	struct sockaddr_in6 plain = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	struct target target;

	assert_int_equal(inet_pton(AF_INET6, address, &plain.sin6_addr), 1);
	assert_true(target_read(resolver, (struct sockaddr *)&plain, sizeof(plain), true, &target));
	return target;
}

static void addresses_are_written_as_people_write_them(void **state)
{
	struct resolver *resolver = resolver_new();
	struct target target = read_v4(resolver, "192.0.2.7", 80);

	(void)state;
	assert_string_equal(target.object, "192.0.2.7:80");
	assert_string_equal(target.literal, "192.0.2.7");
	assert_string_equal(target_host(&target), "192.0.2.7");
	target = read_v6(resolver, "2001:db8::1", 443);
	assert_string_equal(target.object, "[2001:db8::1]:443");
	assert_true(target.datagrams);
	/* The same machine, whichever way it is written. */
	target = read_v6(resolver, "::ffff:192.0.2.7", 80);
	assert_string_equal(target.object, "192.0.2.7:80");
	resolver_free(resolver);
}

/* A query for the address of a name, and the address in its answer. */
static struct in_addr address_of(struct resolver *resolver, const char *label)
{
	uint8_t query[64] = {0, 1, 1, 0, 0, 1}, reply[512];
	size_t at = 12, length = strlen(label), size;
	struct in_addr address;

	query[at++] = (uint8_t)length;
	memcpy(query + at, label, length);
	at += length + 1;
	query[at + 1] = 1; /* A */
	query[at + 3] = 1; /* IN */
	size = resolver_answer(resolver, query, at + 4, reply, sizeof(reply));
	assert_true(size > 4);
	memcpy(&address, reply + size - 4, sizeof(address));
	return address;
}

static void names_stand_for_the_addresses_that_they_were_given(void **state)
{
	struct resolver *resolver = resolver_new();
	struct in_addr given = address_of(resolver, "packages");
	char text[INET_ADDRSTRLEN];
	struct target target;
	struct in6_addr leads_to;

	(void)state;
	inet_ntop(AF_INET, &given, text, sizeof(text));
	target = read_v4(resolver, text, 443);
	assert_string_equal(target.object, "packages:443");
	assert_string_equal(target.name, "packages");
	assert_string_equal(target.literal, "");
	assert_int_equal(inet_pton(AF_INET6, "::ffff:10.1.2.3", &leads_to), 1);
	target_lead_to(&target, &leads_to);
	assert_string_equal(target.object, "packages:443");
	assert_string_equal(target.literal, "10.1.2.3");
	resolver_free(resolver);
}

static void the_sandbox_itself_is_loopback_its_inner_addresses_and_the_unspecified_one(void **state)
{
	static const char *const inside[] = {"127.0.0.1", "127.1.2.3", "0.0.0.0", "198.19.255.254"};
	static const char *const outside[] = {"128.0.0.1", "10.0.0.1", "169.254.169.254",
					      "198.19.255.253"};
	struct resolver *resolver = resolver_new();
	struct target target;

	(void)state;
	for (size_t i = 0; i < ELEMENTS(inside); i++) {
		target = read_v4(resolver, inside[i], 1);
		assert_true(target_is_inside(&target));
	}
	for (size_t i = 0; i < ELEMENTS(outside); i++) {
		target = read_v4(resolver, outside[i], 1);
		assert_false(target_is_inside(&target));
	}
	target = read_v6(resolver, "::1", 1);
	assert_true(target_is_inside(&target));
	target = read_v6(resolver, "::ffff:127.0.0.1", 1);
	assert_true(target_is_inside(&target));
	target = read_v6(resolver, "fd77:6172:6400:0:ffff::1", 1);
	assert_true(target_is_inside(&target));
	target = read_v6(resolver, "fd77:6172:6400:0:ffff::2", 1);
	assert_false(target_is_inside(&target));
	target = read_v6(resolver, "::ffff:169.254.169.254", 1);
	assert_false(target_is_inside(&target));
	target = read_v6(resolver, "::127.0.0.1", 1); /* no loopback: nobody routes it */
	assert_false(target_is_inside(&target));
	resolver_free(resolver);
}

static void what_is_no_address_is_none(void **state)
{
	struct sockaddr_in short_one = {.sin_family = AF_INET};
	struct sockaddr_in6 other = {.sin6_family = AF_UNSPEC};
	struct resolver *resolver = resolver_new();
	struct target target;

	(void)state;
	assert_false(target_read(resolver, (struct sockaddr *)&short_one, 8, false, &target));
	assert_false(
		target_read(resolver, (struct sockaddr *)&other, sizeof(other), false, &target));
	other.sin6_family = AF_INET6;
	assert_false(target_read(resolver, (struct sockaddr *)&other, 24, false, &target));
	resolver_free(resolver);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_written_as_people_write_them),
		cmocka_unit_test(names_stand_for_the_addresses_that_they_were_given),
		cmocka_unit_test(
			the_sandbox_itself_is_loopback_its_inner_addresses_and_the_unspecified_one),
		cmocka_unit_test(what_is_no_address_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
