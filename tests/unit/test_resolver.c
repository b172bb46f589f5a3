/* SPDX-License-Identifier: Apache-2.0 */
/* The stub resolver: the names it answers and the addresses it hands out. */
#include "resolver_packets.h"

#include <sys/un.h>

enum { SVCB = 64, HTTPS = 65, ANY = 255 };
enum { TABLE_SIZE = 65000 };

static void a_name_gets_an_ipv4_address_of_the_synthetic_range(void **state)
{
	struct answer answer = ask(*state, "example.com", A);

	assert_int_equal(answer.rcode, NOERROR);
	assert_int_equal(answer.answers, 1);
	assert_int_equal(answer.type, A);
	assert_int_equal(answer.ttl, 1);
	assert_int_equal(answer.data_length, 4);
	assert_int_equal(answer.data[0], 198);
	assert_int_equal(answer.data[1] & 0xfe, 18);
	assert_string_equal(name_at(*state, address_of(*state, "example.com", A)), "example.com");
}

static void a_name_gets_an_ipv6_address_of_the_synthetic_prefix(void **state)
{
	static const uint8_t prefix[] = {0xfd, 0x77, 0x61, 0x72, 0x64, 0, 0, 0};
	struct answer answer = ask(*state, "example.com", AAAA);

	assert_int_equal(answer.rcode, NOERROR);
	assert_int_equal(answer.answers, 1);
	assert_int_equal(answer.type, AAAA);
	assert_int_equal(answer.ttl, 1);
	assert_int_equal(answer.data_length, 16);
	assert_memory_equal(answer.data, prefix, sizeof(prefix));
	assert_string_equal(name_at(*state, address_of(*state, "example.com", AAAA)),
			    "example.com");
}

static void a_reply_copies_id_question_and_rd_and_sets_qr_and_ra_only(void **state)
{
	struct packet packet = query("example.com", A);
	struct answer answer = send_packet(*state, &packet);

	assert_int_equal(answer.id, 0xbeef);
	assert_int_equal(answer.flags, 0x8180);
	assert_int_equal(answer.questions, 1);
	assert_int_equal(answer.authorities, 0);
	assert_int_equal(answer.additionals, 0);
	packet.data[2] = 0;
	assert_int_equal(send_packet(*state, &packet).flags, 0x8080);
	packet.data[2] = 0x06; /* AA and TC make no sense in a query */
	packet.data[3] = 0x70; /* Z, AD, CD */
	assert_int_equal(send_packet(*state, &packet).flags, 0x8080);
}

static void the_same_name_keeps_its_address(void **state)
{
	const char *first = address_of(*state, "one.example", A);

	address_of(*state, "two.example", A);
	address_of(*state, "three.example", AAAA);
	assert_string_equal(address_of(*state, "one.example", A), first);
}

static void distinct_names_get_distinct_addresses(void **state)
{
	enum { COUNT = 2000 };
	static uint8_t seen[1 << 17];
	char name[64];

	memset(seen, 0, sizeof(seen));
	for (int i = 0; i < COUNT; i++) {
		struct answer answer;
		uint32_t host;

		snprintf(name, sizeof(name), "host-%d.example", i);
		answer = ask(*state, name, A);
		host = (answer.data[1] & 1u) << 16 | get_16(answer.data + 2);
		assert_int_equal(seen[host], 0);
		seen[host] = 1;
	}
	for (int i = 0; i < COUNT; i++) {
		snprintf(name, sizeof(name), "host-%d.example", i);
		assert_string_equal(name_at(*state, address_of(*state, name, A)), name);
	}
}

static void a_prefix_of_a_name_is_another_name(void **state)
{
	const char *longer = address_of(*state, "example.com", A);

	assert_string_not_equal(address_of(*state, "example.co", A), longer);
	assert_string_not_equal(address_of(*state, "xample.com", A), longer);
}

static void case_does_not_matter_and_the_question_keeps_its_own(void **state)
{
	struct packet packet = query("eXaMpLe.COM", A);
	struct answer answer;

	assert_string_equal(address_of(*state, "eXaMpLe.COM", A),
			    address_of(*state, "example.com", A));
	assert_string_equal(name_at(*state, address_of(*state, "EXAMPLE.com", A)), "example.com");
	answer = send_packet(*state, &packet);
	assert_memory_equal(answer.raw + HEADER, "\7eXaMpLe\3COM", 13);
	assert_string_equal(address_of(*state, "LOCALHOST", A), "127.0.0.1");
}

static void localhost_and_names_under_it_are_loopback(void **state)
{
	assert_string_equal(address_of(*state, "localhost", A), "127.0.0.1");
	assert_string_equal(address_of(*state, "localhost", AAAA), "::1");
	assert_string_equal(address_of(*state, "a.b.localhost", A), "127.0.0.1");
	assert_string_equal(address_of(*state, "a.b.localhost", AAAA), "::1");
	assert_null(name_at(*state, "127.0.0.1"));
	assert_null(name_at(*state, "::1"));
}

static void names_that_only_resemble_localhost_are_not_loopback(void **state)
{
	assert_string_not_equal(address_of(*state, "notlocalhost", A), "127.0.0.1");
	assert_string_not_equal(address_of(*state, "localhost.example", A), "127.0.0.1");
	assert_string_not_equal(address_of(*state, "ocalhost", A), "127.0.0.1");
}

static void ptr_of_a_synthetic_address_gives_the_name(void **state)
{
	assert_reverse_is(*state, address_of(*state, "Www.Example.com", A), "www.example.com");
	assert_reverse_is(*state, address_of(*state, "other.example", AAAA), "other.example");
	assert_reverse_is(*state, address_of(*state, "single", AAAA), "single");
}

static void ptr_of_loopback_gives_localhost(void **state)
{
	assert_reverse_is(*state, "127.0.0.1", "localhost");
	assert_reverse_is(*state, "::1", "localhost");
}

static void ptr_of_any_other_address_is_nxdomain(void **state)
{
	static const char *const names[] = {
		"in-addr.arpa",
		"ip6.arpa",
		"0.18.198.in-addr.arpa",
		"1.1.0.18.198.in-addr.arpa",
		"01.0.18.198.in-addr.arpa",
		"1.0.18.1222.in-addr.arpa",
		"257.0.18.198.in-addr.arpa",
		"x.0.18.198.in-addr.arpa",
		"1.0.18.198.x.in-addr.arpa",
		"1.0.18.198.ip6.arpa",
		"1.0.0.0.ip6.arpa",
	};
	struct answer answer;

	address_of(*state, "example.com", A);
	for (size_t i = 0; i < ELEMENTS(names); i++) {
		answer = ask(*state, names[i], PTR);
		assert_int_equal(answer.rcode, NXDOMAIN);
		assert_int_equal(answer.answers, 0);
	}
	assert_int_equal(ask_reverse(*state, "8.8.8.8").rcode, NXDOMAIN);
	assert_int_equal(ask_reverse(*state, "198.18.0.0").rcode, NXDOMAIN);
	assert_int_equal(ask_reverse(*state, "198.18.0.2").rcode, NXDOMAIN);
	assert_int_equal(ask_reverse(*state, "2001:db8::1").rcode, NXDOMAIN);
}

static void ptr_of_an_ordinary_name_is_empty(void **state)
{
	struct answer answer = ask(*state, "example.com", PTR);

	assert_int_equal(answer.rcode, NOERROR);
	assert_int_equal(answer.answers, 0);
}

static void other_types_get_an_empty_answer_and_take_no_address(void **state)
{
	static const unsigned types[] = {NS, SOA, MX, TXT, SRV, SVCB, HTTPS, CNAME, 0, 65535};

	for (size_t i = 0; i < ELEMENTS(types); i++) {
		struct answer answer = ask(*state, "_dns.example.com", types[i]);

		assert_int_equal(answer.rcode, NOERROR);
		assert_int_equal(answer.questions, 1);
		assert_int_equal(answer.answers, 0);
	}
	assert_null(name_at(*state, "198.18.0.1"));
}

static void a_mapped_ipv6_address_counts_as_ipv4(void **state)
{
	char mapped[INET6_ADDRSTRLEN + 8];

	snprintf(mapped, sizeof(mapped), "::ffff:%s", address_of(*state, "example.com", A));
	assert_string_equal(name_at(*state, mapped), "example.com");
	assert_null(name_at(*state, "::ffff:198.18.0.2"));
	assert_null(name_at(*state, "::198.18.0.1"));
}

static void an_address_nobody_was_given_has_no_name(void **state)
{
	static const char *const addresses[] = {
		"198.18.0.0",
		"198.18.0.2",
		"198.17.255.255",
		"198.20.0.1",
		"0.0.0.0",
		"255.255.255.255",
		"198.19.255.255",
		"fd77:6172:6400::",
		"fd77:6172:6400::2",
		"fd77:6172:6400:1::1",
		"fd77:6172:6400::1:0:1",
		"fd77:6172:6401::1",
		"::",
	};
	struct sockaddr_un local = {.sun_family = AF_UNIX};

	address_of(*state, "example.com", A);
	assert_string_equal(name_at(*state, "198.18.0.1"), "example.com");
	assert_string_equal(name_at(*state, "fd77:6172:6400::1"), "example.com");
	for (size_t i = 0; i < ELEMENTS(addresses); i++)
		assert_null(name_at(*state, addresses[i]));
	assert_null(resolver_name(*state, (struct sockaddr *)&local));
}

static void underscores_digits_and_inner_hyphens_are_fine(void **state)
{
	static const char *const names[] = {
		"_x._tcp.example", "xn--bcher-kva.example", "3com.com", "a--b.c",
		"r3---sn.example", "1.2.3.4.example",	    "x.0xg"};

	for (size_t i = 0; i < ELEMENTS(names); i++)
		assert_string_equal(name_at(*state, address_of(*state, names[i], A)), names[i]);
}

static void odd_names_do_not_exist(void **state)
{
	static const char *const names[] = {"",
					    "-a.example",
					    "a-.example",
					    "-",
					    "a b.example",
					    "a/b",
					    "caf\xc3\xa9.example",
					    "a*.example",
					    "x\n.example",
					    "a:b",
					    "a@b",
					    "a%b"};
	struct packet packet = header(0, 1);

	for (size_t i = 0; i < ELEMENTS(names); i++) {
		assert_int_equal(ask(*state, names[i], A).rcode, NXDOMAIN);
		assert_int_equal(ask(*state, names[i], AAAA).rcode, NXDOMAIN);
	}
	/* A dot and a NUL inside a label must not pass for the end of one. */
	add(&packet, "\3a.b\0\0\1\0\1", 9);
	assert_int_equal(send_packet(*state, &packet).rcode, NXDOMAIN);
	packet.data[HEADER + 2] = '\0';
	assert_int_equal(send_packet(*state, &packet).rcode, NXDOMAIN);
	assert_null(name_at(*state, "198.18.0.1"));
}

static void names_that_read_as_addresses_do_not_exist(void **state)
{
	static const char *const names[] = {"127.0.0.1",   "127.1",  "2130706433",
					    "0x7f000001",  "0X7F.1", "10.0.0.0x1",
					    "example.123", "0x",     "a.0x0F"};

	for (size_t i = 0; i < ELEMENTS(names); i++)
		assert_int_equal(ask(*state, names[i], A).rcode, NXDOMAIN);
	assert_null(name_at(*state, "198.18.0.1"));
}

static void a_full_table_fails_new_names_and_keeps_the_old(void **state)
{
	char name[32];
	const char *first = address_of(*state, "n0.example", A), *last;
	struct answer answer;

	for (int i = 1; i < TABLE_SIZE; i++) {
		snprintf(name, sizeof(name), "n%d.example", i);
		assert_int_equal(ask(*state, name, A).rcode, NOERROR);
	}
	answer = ask(*state, "one-more.example", A);
	assert_int_equal(answer.rcode, SERVFAIL);
	assert_int_equal(answer.answers, 0);
	assert_int_equal(ask(*state, "one-more.example", AAAA).rcode, SERVFAIL);
	assert_int_equal(ask(*state, "one-more.example", MX).rcode, NOERROR);
	assert_string_equal(address_of(*state, "n0.example", A), first);
	last = address_of(*state, name, A);
	assert_int_equal(strncmp(last, "198.18.", 7), 0);
	assert_string_equal(name_at(*state, last), name);
	assert_reverse_is(*state, last, name);
	assert_string_equal(address_of(*state, "localhost", A), "127.0.0.1");
}

static void any_gets_both_addresses(void **state)
{
	struct packet packet = query("example.com", ANY);
	uint8_t reply[ROOM];
	size_t length = resolver_answer(*state, packet.data, packet.length, reply, sizeof(reply));

	assert_int_equal(length, packet.length + 12 + 4 + 12 + 16);
	assert_int_equal(get_16(reply + 6), 2);
	assert_int_equal(get_16(reply + packet.length + 2), A);
	assert_int_equal(get_16(reply + packet.length + 12 + 4 + 2), AAAA);
	/* Both or none. */
	length = resolver_answer(*state, packet.data, packet.length, reply, packet.length + 30);
	assert_int_equal(length, packet.length);
	assert_int_equal(get_16(reply + 6), 0);
	assert_true(get_16(reply + 2) & 0x0200);
}

static void the_machines_own_name_is_loopback(void **state)
{
	char own[300] = "";

	assert_int_equal(gethostname(own, sizeof(own) - 1), 0);
	assert_string_equal(address_of(*state, own, A), "127.0.0.1");
	assert_string_equal(address_of(*state, own, AAAA), "::1");
	strcat(own, ".example.com");
	assert_string_not_equal(address_of(*state, own, A), "127.0.0.1");
}

static void two_resolvers_share_nothing(void **state)
{
	struct resolver *other = resolver_new();
	const char *address = address_of(*state, "example.com", A);

	assert_null(name_at(other, address));
	resolver_free(other);
	resolver_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_name_gets_an_ipv4_address_of_the_synthetic_range),
		TEST(a_name_gets_an_ipv6_address_of_the_synthetic_prefix),
		TEST(a_reply_copies_id_question_and_rd_and_sets_qr_and_ra_only),
		TEST(the_same_name_keeps_its_address),
		TEST(distinct_names_get_distinct_addresses),
		TEST(a_prefix_of_a_name_is_another_name),
		TEST(case_does_not_matter_and_the_question_keeps_its_own),
		TEST(localhost_and_names_under_it_are_loopback),
		TEST(names_that_only_resemble_localhost_are_not_loopback),
		TEST(ptr_of_a_synthetic_address_gives_the_name),
		TEST(ptr_of_loopback_gives_localhost),
		TEST(ptr_of_any_other_address_is_nxdomain),
		TEST(ptr_of_an_ordinary_name_is_empty),
		TEST(other_types_get_an_empty_answer_and_take_no_address),
		TEST(a_mapped_ipv6_address_counts_as_ipv4),
		TEST(an_address_nobody_was_given_has_no_name),
		TEST(underscores_digits_and_inner_hyphens_are_fine),
		TEST(odd_names_do_not_exist),
		TEST(names_that_read_as_addresses_do_not_exist),
		TEST(a_full_table_fails_new_names_and_keeps_the_old),
		TEST(any_gets_both_addresses),
		TEST(the_machines_own_name_is_loopback),
		TEST(two_resolvers_share_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
