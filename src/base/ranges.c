/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of place an address is. */
#include "ranges.h"

#include <arpa/inet.h>
#include "macro.h"

#include <string.h>

#define IPV4(a, b, c, d, bits, range)                                                           \
	{                                                                                       \
		{{{[10] = 0xff, [11] = 0xff, [12] = (a), [13] = (b), [14] = (c), [15] = (d)}}}, \
			96 + (bits), (range)                                                    \
	}
/* The first four groups of an IPv6 address, and the last. */
#define IPV6(a, b, c, d, h, bits, range)                                                 \
	{                                                                                \
		{{{(a) >> 8, (a)&0xff, (b) >> 8, (b)&0xff, (c) >> 8, (c)&0xff, (d) >> 8, \
		   (d)&0xff, [14] = (h) >> 8, [15] = (h)&0xff}}},                        \
			(bits), (range)                                                  \
	}

/* The first that fits counts. Documentation ranges are public: nothing answers there, and nothing
 * is behind them. */
static const struct {
	struct in6_addr network;
	unsigned bits;
	enum address_range range;
} known[] = {
	/* Where clouds tell a machine its secrets. */
	IPV4(169, 254, 169, 254, 32, RANGE_METADATA),
	IPV4(169, 254, 169, 253, 32, RANGE_METADATA),
	IPV4(169, 254, 169, 123, 32, RANGE_METADATA),
	IPV4(169, 254, 170, 2, 32, RANGE_METADATA),
	IPV4(169, 254, 170, 23, 32, RANGE_METADATA),
	IPV4(169, 254, 0, 23, 32, RANGE_METADATA),
	IPV4(100, 100, 100, 200, 32, RANGE_METADATA),
	IPV4(168, 63, 129, 16, 32, RANGE_METADATA),
	IPV4(192, 0, 0, 192, 32, RANGE_METADATA),
	IPV6(0xfd00, 0xec2, 0, 0, 0x254, 128, RANGE_METADATA),
	IPV6(0xfd00, 0xec2, 0, 0, 0x253, 128, RANGE_METADATA),
	IPV6(0xfd00, 0xec2, 0, 0, 0x123, 128, RANGE_METADATA),
	IPV6(0xfd00, 0xec2, 0, 0, 0x23, 128, RANGE_METADATA),
	IPV6(0xfd20, 0xce, 0, 0, 0x254, 128, RANGE_METADATA),
	IPV6(0xfd00, 0x42, 0, 0, 0x42, 128, RANGE_METADATA),
	{{{{0xfe, 0x80, [12] = 0xa9, 0xfe, 0xa9, 0xfe}}}, 128, RANGE_METADATA},

	IPV4(0, 0, 0, 0, 8, RANGE_NOWHERE),
	IPV4(10, 0, 0, 0, 8, RANGE_PRIVATE),
	IPV4(100, 64, 0, 0, 10, RANGE_PRIVATE),
	IPV4(127, 0, 0, 0, 8, RANGE_LOOPBACK),
	IPV4(169, 254, 0, 0, 16, RANGE_LINK_LOCAL),
	IPV4(172, 16, 0, 0, 12, RANGE_PRIVATE),
	IPV4(192, 0, 0, 0, 24, RANGE_PRIVATE),
	IPV4(192, 168, 0, 0, 16, RANGE_PRIVATE),
	IPV4(198, 18, 0, 0, 15, RANGE_NOWHERE), /* the resolver's */
	IPV4(224, 0, 0, 0, 3, RANGE_NOWHERE),	/* multicast, reserved, broadcast */
	IPV4(0, 0, 0, 0, 0, RANGE_PUBLIC),

	IPV6(0, 0, 0, 0, 1, 128, RANGE_LOOPBACK),
	IPV6(0, 0, 0, 0, 0, 128, RANGE_NOWHERE),
	IPV6(0x2000, 0, 0, 0, 0, 3, RANGE_PUBLIC),
	/* What these two carry counts: compatible addresses, and NAT64. */
	IPV6(0, 0, 0, 0, 0, 96, RANGE_PUBLIC),
	IPV6(0x64, 0xff9b, 0, 0, 0, 96, RANGE_PUBLIC),
	IPV6(0x64, 0xff9b, 1, 0, 0, 48, RANGE_PRIVATE),	       /* NAT64 of somebody's own */
	IPV6(0xfd77, 0x6172, 0x6400, 0, 0, 64, RANGE_NOWHERE), /* the resolver's */
	IPV6(0xfc00, 0, 0, 0, 0, 7, RANGE_PRIVATE),
	IPV6(0xfe80, 0, 0, 0, 0, 10, RANGE_LINK_LOCAL),
	IPV6(0xfec0, 0, 0, 0, 0, 10, RANGE_PRIVATE), /* site local, as it was once */
	IPV6(0, 0, 0, 0, 0, 0, RANGE_NOWHERE),	     /* the rest is given to nobody */
};

bool address_bits_equal(const struct in6_addr *one, const struct in6_addr *other, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	if (memcmp(one, other, whole) != 0)
		return false;
	return rest == 0 || (one->s6_addr[whole] ^ other->s6_addr[whole]) >> (8 - rest) == 0;
}

struct in6_addr address_map(const void *ipv4)
{
	struct in6_addr mapped = {.s6_addr = {[10] = 0xff, [11] = 0xff}};

	memcpy(mapped.s6_addr + 12, ipv4, 4);
	return mapped;
}

size_t address_carried(const struct in6_addr *address, struct in6_addr ret_carried[static 2])
{
	static const struct in6_addr nat64 = {.s6_addr = {0, 0x64, 0xff, 0x9b}};
	static const struct in6_addr six_to_four = {.s6_addr = {0x20, 0x02}};
	static const struct in6_addr teredo = {.s6_addr = {0x20, 0x01}};
	uint8_t client[4];

	if (address_bits_equal(address, &nat64, 96) || IN6_IS_ADDR_V4COMPAT(address)) {
		ret_carried[0] = address_map(address->s6_addr + 12);
		return 1;
	}
	if (address_bits_equal(address, &six_to_four, 16)) {
		ret_carried[0] = address_map(address->s6_addr + 2);
		return 1;
	}
	if (!address_bits_equal(address, &teredo, 32))
		return 0;
	/* The server, and the client with all its bits turned round. */
	for (size_t i = 0; i < sizeof(client); i++)
		client[i] = address->s6_addr[12 + i] ^ 0xff;
	ret_carried[0] = address_map(address->s6_addr + 4);
	ret_carried[1] = address_map(client);
	return 2;
}

enum address_range address_range_bits(const struct in6_addr *address, unsigned *ret_bits)
{
	enum address_range range = RANGE_NOWHERE;
	struct in6_addr carried[2];
	size_t count = address_carried(address, carried);

	*ret_bits = 128;
	for (size_t i = 0; i < ELEMENTS(known); i++)
		if (IN6_IS_ADDR_V4MAPPED(address) == IN6_IS_ADDR_V4MAPPED(&known[i].network) &&
		    address_bits_equal(address, &known[i].network, known[i].bits)) {
			range = known[i].range;
			*ret_bits = known[i].bits;
			break;
		}
	/* Whoever carries it there has a loopback of his own, and is no public place either. */
	for (size_t i = 0; i < count; i++) {
		enum address_range inner = address_range(&carried[i]);

		if (inner == RANGE_PUBLIC)
			continue;
		range = MAX(range, inner == RANGE_LOOPBACK ? RANGE_PRIVATE : inner);
		*ret_bits = 128;
	}
	return range;
}

enum address_range address_range(const struct in6_addr *address)
{
	unsigned bits;

	return address_range_bits(address, &bits);
}

const char *address_range_name(enum address_range range)
{
	static const char *const names[] = {
		[RANGE_PUBLIC] = "public",	    [RANGE_PRIVATE] = "private",
		[RANGE_LINK_LOCAL] = "link-local",  [RANGE_METADATA] = "metadata",
		[RANGE_LOOPBACK] = "host-loopback", [RANGE_NOWHERE] = "reserved",
	};

	return names[range];
}

bool address_read(const char *text, struct in6_addr *ret_address)
{
	struct in6_addr mapped = {.s6_addr = {[10] = 0xff, [11] = 0xff}};

	if (!text)
		return false;
	if (inet_pton(AF_INET, text, &mapped.s6_addr[12]) == 1) {
		*ret_address = mapped;
		return true;
	}
	return inet_pton(AF_INET6, text, ret_address) == 1;
}
