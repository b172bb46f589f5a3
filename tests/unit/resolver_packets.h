/* SPDX-License-Identifier: Apache-2.0 */
/* Packets for the stub resolver, and what it answers. */
#pragma once

#include "observe/network/resolver.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
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
enum { IN = 1, CHAOS = 3 };
enum { NOERROR, FORMERR, SERVFAIL, NXDOMAIN, NOTIMP, REFUSED };

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

static inline struct packet header(unsigned flags, unsigned questions)
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

static inline struct packet query(const char *name, unsigned type)
{
	struct packet packet = header(0x0100, 1);

	add_name(&packet, name);
	add_16(&packet, type);
	add_16(&packet, IN);
	return packet;
}

static inline unsigned get_16(const uint8_t *data)
{
	return data[0] << 8 | data[1];
}

/* Sends a packet from memory of exactly its size, so that reading past it is seen. */
static inline struct answer send_with_room(struct resolver *resolver, const struct packet *packet,
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

static inline struct answer send_packet(struct resolver *resolver, const struct packet *packet)
{
	return send_with_room(resolver, packet, ROOM);
}

static inline struct answer ask(struct resolver *resolver, const char *name, unsigned type)
{
	struct packet packet = query(name, type);

	return send_packet(resolver, &packet);
}

static inline const char *address_of(struct resolver *resolver, const char *name, unsigned type)
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

static inline const char *name_at(struct resolver *resolver, const char *address)
{
	struct sockaddr_in ipv4 = {.sin_family = AF_INET, .sin_port = htons(443)};
	struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6, .sin6_port = htons(443)};

	if (inet_pton(AF_INET, address, &ipv4.sin_addr) == 1)
		return resolver_name(resolver, (struct sockaddr *)&ipv4);
	assert_int_equal(inet_pton(AF_INET6, address, &ipv6.sin6_addr), 1);
	return resolver_name(resolver, (struct sockaddr *)&ipv6);
}

static inline void reverse_of(const char *address, char *ret_name, size_t room)
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

static inline struct answer ask_reverse(struct resolver *resolver, const char *address)
{
	char name[128];

	reverse_of(address, name, sizeof(name));
	return ask(resolver, name, PTR);
}

static inline void assert_reverse_is(struct resolver *resolver, const char *address,
				     const char *name)
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

static inline int set_up(void **state)
{
	*state = resolver_new();
	return 0;
}

static inline int tear_down(void **state)
{
	resolver_free(*state);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
