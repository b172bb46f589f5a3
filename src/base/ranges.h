/* SPDX-License-Identifier: Apache-2.0 */
/* What rules about hosts need to know of an address besides its range. */
#pragma once

#include "hosts.h"

/* The range, and how many bits of the address say so: a rule that is about fewer bits means more
 * than this range, and does not name it. */
enum address_range address_range_bits(const struct in6_addr *address, unsigned *ret_bits);
/* The IPv4 addresses (mapped) that an IPv6 address carries, at most two; their number. */
size_t address_carried(const struct in6_addr *address, struct in6_addr ret_carried[static 2]);
/* True if both begin with the same bits. */
bool address_bits_equal(const struct in6_addr *one, const struct in6_addr *other, unsigned bits);
struct in6_addr address_map(const void *ipv4);
