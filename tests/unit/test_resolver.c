/* SPDX-License-Identifier: Apache-2.0 */
/* The stub resolver: every packet it may meet, and the addresses it hands out. */
#include "observe/network/resolver.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <cmocka.h>

#include "dns_packet.h"

enum { HEADER = 12, ROOM = 512 };
enum {
	A = 1,
	NS = 2,
	CNAME = 5,
	SOA = 6,
	PTR = 12,
	MX = 15,
	TXT = 16,
	AAAA = 28,
	SRV = 33,
	OPT = 41
};
enum { SVCB = 64, HTTPS = 65, ANY = 255 };
enum { IN = 1, CHAOS = 3 };
enum { NOERROR, FORMERR, SERVFAIL, NXDOMAIN, NOTIMP, REFUSED };
enum { TABLE_SIZE = 65000 };

struct answer {
	size_t length; /* of the whole reply; 0 where there was none */
	uint16_t id, flags;
	unsigned rcode, questions, answers, authorities, additionals;
	uint16_t type;
	uint32_t ttl;
	uint16_t data_length;
	uint8_t data[256];
	uint8_t opt[11]; /* the record as it came, where additionals is 1 */
	uint8_t raw[ROOM];
};

static void add_opt(struct packet *packet, uint8_t version, unsigned flags)
{
	packet->data[11]++;
	add(packet, "", 1);
	add_16(packet, OPT);
	add_16(packet, 4096);
	add(packet, (uint8_t[]){0, version}, 2);
	add_16(packet, flags);
	add_16(packet, 0);
}

static struct packet header(unsigned flags, unsigned questions)
{
	struct packet packet = {0};

	add_16(&packet, 0xbeef);
	add_16(&packet, flags);
	add_16(&packet, questions);
	add_16(&packet, 0);
	add_16(&packet, 0);
	add_16(&packet, 0);
	return packet;
}

static struct packet query(const char *name, unsigned type)
{
	struct packet packet = header(0x0100, 1);

	add_name(&packet, name);
	add_16(&packet, type);
	add_16(&packet, IN);
	return packet;
}

static unsigned get_16(const uint8_t *data)
{
	return data[0] << 8 | data[1];
}

/* Sends a packet from memory of exactly its size, so that reading past it is seen. */
static struct answer send_with_room(struct resolver *resolver, const struct packet *packet,
				    size_t room)
{
	_cleanup_free_ uint8_t *exact = malloc(packet->length ? packet->length : 1);
	_cleanup_free_ uint8_t *reply = malloc(room ? room : 1);
	struct answer answer = {0};
	size_t at = HEADER;

	memcpy(exact, packet->data, packet->length);
	answer.length = resolver_answer(resolver, exact, packet->length, reply, room);
	assert_true(answer.length <= room);
	if (answer.length == 0)
		return answer;
	assert_true(answer.length >= HEADER);
	memcpy(answer.raw, reply, answer.length);
	answer.id = get_16(reply);
	answer.flags = get_16(reply + 2);
	answer.rcode = answer.flags & 0xf;
	answer.questions = get_16(reply + 4);
	answer.answers = get_16(reply + 6);
	answer.authorities = get_16(reply + 8);
	answer.additionals = get_16(reply + 10);
	if (answer.questions) {
		while (reply[at])
			at += reply[at] + 1u;
		at += 5;
		assert_memory_equal(reply + HEADER, packet->data + HEADER, at - HEADER);
	}
	if (answer.answers) {
		assert_int_equal(get_16(reply + at), 0xc00c);
		answer.type = get_16(reply + at + 2);
		assert_int_equal(get_16(reply + at + 4), IN);
		answer.ttl = get_16(reply + at + 6) << 16 | get_16(reply + at + 8);
		answer.data_length = get_16(reply + at + 10);
		assert_true(answer.data_length <= sizeof(answer.data));
		memcpy(answer.data, reply + at + 12, answer.data_length);
		at += 12u + answer.data_length;
	}
	if (answer.additionals) {
		memcpy(answer.opt, reply + at, sizeof(answer.opt));
		at += sizeof(answer.opt);
	}
	assert_int_equal(at, answer.length);
	return answer;
}

static struct answer send_packet(struct resolver *resolver, const struct packet *packet)
{
	return send_with_room(resolver, packet, ROOM);
}

static struct answer ask(struct resolver *resolver, const char *name, unsigned type)
{
	struct packet packet = query(name, type);

	return send_packet(resolver, &packet);
}

static const char *address_of(struct resolver *resolver, const char *name, unsigned type)
{
	static char texts[4][INET6_ADDRSTRLEN];
	static unsigned next;
	char *text = texts[next++ % ELEMENTS(texts)];
	struct answer answer = ask(resolver, name, type);

	assert_int_equal(answer.rcode, NOERROR);
	assert_int_equal(answer.answers, 1);
	assert_int_equal(answer.type, type);
	assert_int_equal(answer.data_length, type == A ? 4 : 16);
	assert_non_null(
		inet_ntop(type == A ? AF_INET : AF_INET6, answer.data, text, INET6_ADDRSTRLEN));
	return text;
}

static const char *name_at(struct resolver *resolver, const char *address)
{
	struct sockaddr_in ipv4 = {.sin_family = AF_INET, .sin_port = htons(443)};
	struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6, .sin6_port = htons(443)};

	if (inet_pton(AF_INET, address, &ipv4.sin_addr) == 1)
		return resolver_name(resolver, (struct sockaddr *)&ipv4);
	assert_int_equal(inet_pton(AF_INET6, address, &ipv6.sin6_addr), 1);
	return resolver_name(resolver, (struct sockaddr *)&ipv6);
}

static void reverse_of(const char *address, char *ret_name, size_t room)
{
	uint8_t octets[16];
	size_t at = 0;

	if (inet_pton(AF_INET, address, octets) == 1) {
		snprintf(ret_name, room, "%u.%u.%u.%u.in-addr.arpa", octets[3], octets[2],
			 octets[1], octets[0]);
		return;
	}
	assert_int_equal(inet_pton(AF_INET6, address, octets), 1);
	for (int i = 15; i >= 0; i--)
		at += (size_t)snprintf(ret_name + at, room - at, "%x.%x.", octets[i] & 0xf,
				       octets[i] >> 4);
	snprintf(ret_name + at, room - at, "ip6.arpa");
}

static struct answer ask_reverse(struct resolver *resolver, const char *address)
{
	char name[128];

	reverse_of(address, name, sizeof(name));
	return ask(resolver, name, PTR);
}

static void assert_reverse_is(struct resolver *resolver, const char *address, const char *name)
{
	struct answer answer = ask_reverse(resolver, address);
	struct packet expected = {0};

	add_name(&expected, name);
	assert_int_equal(answer.rcode, NOERROR);
	assert_int_equal(answer.answers, 1);
	assert_int_equal(answer.type, PTR);
	assert_int_equal(answer.data_length, expected.length);
	assert_memory_equal(answer.data, expected.data, expected.length);
}

/* Labels of up to 63 octets, in all exactly length characters. */
static void fill_name(char *name, size_t length)
{
	for (size_t i = 0; i < length; i++)
		name[i] = i % 64 == 63 ? '.' : 'a';
	name[length] = '\0';
}

static int set_up(void **state)
{
	*state = resolver_new();
	return 0;
}

static int tear_down(void **state)
{
	resolver_free(*state);
	return 0;
}

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

static void a_name_of_253_characters_is_answered_both_ways(void **state)
{
	char name[256];
	const char *address;

	fill_name(name, 253);
	address = address_of(*state, name, AAAA);
	assert_string_equal(name_at(*state, address), name);
	assert_reverse_is(*state, address, name);
}

static void a_name_of_254_characters_is_a_format_error(void **state)
{
	char name[256];
	struct answer answer;

	fill_name(name, 254);
	answer = ask(*state, name, A);
	assert_int_equal(answer.rcode, FORMERR);
	assert_int_equal(answer.questions, 0);
}

static void a_label_of_64_octets_is_a_format_error(void **state)
{
	char name[65];

	memset(name, 'a', 64);
	name[64] = '\0';
	assert_int_equal(ask(*state, name, A).rcode, FORMERR);
	name[63] = '\0';
	assert_int_equal(ask(*state, name, A).rcode, NOERROR);
}

static void compression_in_a_question_is_a_format_error(void **state)
{
	static const uint8_t pointers[][2] = {
		{0xc0, 0x0c}, {0xc0, 0x00}, {0xff, 0xff}, {0x80, 0x01}};

	for (size_t i = 0; i < ELEMENTS(pointers); i++) {
		struct packet bare = header(0, 1), after_label = header(0, 1);

		add(&bare, pointers[i], 2);
		add(&bare, "\0\1\0\1", 4);
		assert_int_equal(send_packet(*state, &bare).rcode, FORMERR);
		add(&after_label, "\1a", 2);
		add(&after_label, pointers[i], 2);
		add(&after_label, "\0\1\0\1", 4);
		assert_int_equal(send_packet(*state, &after_label).rcode, FORMERR);
	}
}

static void a_packet_cut_anywhere_is_a_format_error_or_gets_no_reply(void **state)
{
	struct packet packet = query("www.example.com", A);
	size_t question_end = packet.length, whole;

	add_opt(&packet, 0, 0);
	whole = packet.length;
	for (packet.length = 0; packet.length < whole; packet.length++) {
		struct answer answer = send_packet(*state, &packet);

		if (packet.length < HEADER) {
			assert_int_equal(answer.length, 0);
			continue;
		}
		assert_int_equal(answer.id, 0xbeef);
		assert_int_equal(answer.rcode, FORMERR);
		assert_int_equal(answer.questions, packet.length >= question_end);
		assert_int_equal(answer.answers, 0);
		assert_int_equal(answer.additionals, 0);
	}
	assert_int_equal(send_packet(*state, &packet).rcode, NOERROR);
}

static void octets_after_the_end_are_a_format_error(void **state)
{
	struct packet packet = query("example.com", A);

	add(&packet, "x", 1);
	assert_int_equal(send_packet(*state, &packet).rcode, FORMERR);
}

static void any_number_of_questions_but_one_is_a_format_error(void **state)
{
	struct packet none = header(0, 0), two = query("a.example", A);

	assert_int_equal(send_packet(*state, &none).rcode, FORMERR);
	two.data[5] = 2; /* said, but only one is there */
	assert_int_equal(send_packet(*state, &two).rcode, FORMERR);
	add_name(&two, "b.example");
	add_16(&two, A);
	add_16(&two, IN);
	assert_int_equal(send_packet(*state, &two).rcode, FORMERR);
	assert_null(name_at(*state, "198.18.0.1"));
}

static void a_query_with_answers_or_authorities_is_a_format_error(void **state)
{
	for (size_t count = 7; count <= 9; count += 2) {
		struct packet packet = query("example.com", A);

		packet.data[count] = 1;
		assert_int_equal(send_packet(*state, &packet).rcode, FORMERR);
		add(&packet, "\0\0\1\0\1\0\0\0\0\0\0", 11);
		assert_int_equal(send_packet(*state, &packet).rcode, FORMERR);
	}
}

static void a_response_is_not_answered(void **state)
{
	struct packet packet = query("example.com", A);

	packet.data[2] |= 0x80;
	assert_int_equal(send_packet(*state, &packet).length, 0);
	packet.length = HEADER; /* broken besides */
	assert_int_equal(send_packet(*state, &packet).length, 0);
}

static void an_opcode_other_than_query_is_not_implemented(void **state)
{
	for (unsigned opcode = 1; opcode < 16; opcode++) {
		struct packet packet = query("example.com", A);
		struct answer answer;

		packet.data[2] |= opcode << 3;
		answer = send_packet(*state, &packet);
		assert_int_equal(answer.rcode, NOTIMP);
		assert_int_equal(answer.flags >> 11 & 0xf, opcode);
		assert_int_equal(answer.answers, 0);
	}
}

static void a_class_other_than_in_is_refused(void **state)
{
	static const unsigned classes[] = {0, CHAOS, 4, 254, 255, 257};

	for (size_t i = 0; i < ELEMENTS(classes); i++) {
		struct packet packet = header(0, 1);
		struct answer answer;

		add_name(&packet, "version.bind");
		add_16(&packet, A);
		add_16(&packet, classes[i]);
		answer = send_packet(*state, &packet);
		assert_int_equal(answer.rcode, REFUSED);
		assert_int_equal(answer.questions, 1);
		assert_int_equal(answer.answers, 0);
	}
}

static void edns_is_answered_with_edns(void **state)
{
	struct packet packet = query("example.com", A);
	struct answer answer;

	add_opt(&packet, 0, 0x8001);
	answer = send_packet(*state, &packet);
	assert_int_equal(answer.rcode, NOERROR);
	assert_int_equal(answer.answers, 1);
	assert_int_equal(answer.additionals, 1);
	assert_int_equal(answer.opt[0], 0);
	assert_int_equal(get_16(answer.opt + 1), OPT);
	assert_true(get_16(answer.opt + 3) >= 512);
	assert_int_equal(get_16(answer.opt + 5), 0);
	assert_int_equal(get_16(answer.opt + 7), 0x8000); /* DO comes back, the rest does not */
	assert_int_equal(get_16(answer.opt + 9), 0);
}

static void edns_options_are_skipped(void **state)
{
	struct packet packet = query("example.com", A);

	add_opt(&packet, 0, 0);
	packet.data[packet.length - 1] = 12;
	add(&packet, "\0\12\0\10cookies!", 12);
	assert_int_equal(send_packet(*state, &packet).additionals, 1);
	assert_int_equal(send_packet(*state, &packet).rcode, NOERROR);
	packet.length--; /* now the options are longer than the packet */
	assert_int_equal(send_packet(*state, &packet).rcode, FORMERR);
}

static void an_unknown_edns_version_is_badvers(void **state)
{
	struct packet packet = query("example.com", A);
	struct answer answer;

	add_opt(&packet, 1, 0);
	answer = send_packet(*state, &packet);
	assert_int_equal(answer.rcode, 0);
	assert_int_equal(answer.answers, 0);
	assert_int_equal(answer.additionals, 1);
	assert_int_equal(answer.opt[5], 1); /* 16 = 1 here and 0 in the header */
	assert_int_equal(answer.opt[6], 0);
}

static void two_opts_or_an_opt_below_the_root_are_format_errors(void **state)
{
	struct packet two = query("example.com", A), named = query("example.com", A);

	add_opt(&two, 0, 0);
	add_opt(&two, 0, 0);
	assert_int_equal(send_packet(*state, &two).rcode, FORMERR);
	named.data[11] = 1;
	add(&named, "\1a\0\0\51\20\0\0\0\0\0\0\0", 13);
	assert_int_equal(send_packet(*state, &named).rcode, FORMERR);
}

static void other_additional_records_are_skipped(void **state)
{
	struct packet packet = query("example.com", A);
	struct answer answer;

	packet.data[11] = 1;
	add(&packet, "\3key\0\0\372\0\377\0\0\0\0\0\2xy", 17);
	add_opt(&packet, 0, 0);
	answer = send_packet(*state, &packet);
	assert_int_equal(answer.rcode, NOERROR);
	assert_int_equal(answer.answers, 1);
	assert_int_equal(answer.additionals, 1);
}

static void a_reply_without_room_is_truncated_and_says_so(void **state)
{
	struct packet packet = query("example.com", A);
	size_t question_end = packet.length, whole;

	add_opt(&packet, 0, 0);
	whole = send_packet(*state, &packet).length;
	for (size_t room = 0; room < whole; room++) {
		struct answer answer = send_with_room(*state, &packet, room);

		if (room < HEADER) {
			assert_int_equal(answer.length, 0);
			continue;
		}
		assert_int_equal(answer.id, 0xbeef);
		assert_int_equal(answer.flags & 0x0200, 0x0200);
		assert_int_equal(answer.questions, room >= question_end);
		assert_int_equal(answer.answers, 0);
		assert_int_equal(answer.additionals, 0);
	}
	assert_int_equal(send_with_room(*state, &packet, whole).flags & 0x0200, 0);
}

static void the_longest_replies_fit_in_512_octets(void **state)
{
	char name[256], reverse[128];
	struct packet forward, backward;
	struct answer answer;

	fill_name(name, 253);
	forward = query(name, AAAA);
	add_opt(&forward, 0, 0);
	assert_int_equal(send_packet(*state, &forward).flags & 0x0200, 0);
	reverse_of(address_of(*state, name, AAAA), reverse, sizeof(reverse));
	backward = query(reverse, PTR);
	add_opt(&backward, 0, 0);
	answer = send_packet(*state, &backward);
	assert_int_equal(answer.flags & 0x0200, 0);
	assert_int_equal(answer.answers, 1);
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

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
		TEST(a_name_of_253_characters_is_answered_both_ways),
		TEST(a_name_of_254_characters_is_a_format_error),
		TEST(a_label_of_64_octets_is_a_format_error),
		TEST(compression_in_a_question_is_a_format_error),
		TEST(a_packet_cut_anywhere_is_a_format_error_or_gets_no_reply),
		TEST(octets_after_the_end_are_a_format_error),
		TEST(any_number_of_questions_but_one_is_a_format_error),
		TEST(a_query_with_answers_or_authorities_is_a_format_error),
		TEST(a_response_is_not_answered),
		TEST(an_opcode_other_than_query_is_not_implemented),
		TEST(a_class_other_than_in_is_refused),
		TEST(edns_is_answered_with_edns),
		TEST(edns_options_are_skipped),
		TEST(an_unknown_edns_version_is_badvers),
		TEST(two_opts_or_an_opt_below_the_root_are_format_errors),
		TEST(other_additional_records_are_skipped),
		TEST(a_reply_without_room_is_truncated_and_says_so),
		TEST(the_longest_replies_fit_in_512_octets),
		TEST(a_full_table_fails_new_names_and_keeps_the_old),
		TEST(any_gets_both_addresses),
		TEST(the_machines_own_name_is_loopback),
		TEST(two_resolvers_share_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
