/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about targets of the network: which names, addresses and ports may be reached. Deny wins
 * over allow. Addresses are in6_addr throughout; IPv4 is mapped (::ffff:a.b.c.d).
 *
 * A pattern is HOST, HOST:PORT or HOST:FROM-TO. HOST is a name (`example.org`), `*.example.org`
 * (exactly one label more), `**.example.org` (the name itself and everything below it), `*` (every
 * name), an IPv4 or IPv6 address or CIDR (`[2001:db8::]/32` or `[2001:db8::/32]:443`; an IPv6
 * address without brackets has no port), or `localhost`, which means the host's own loopback, as
 * `host-loopback:PORT` does. Names are compared without case and without the dot at their end. */
#pragma once

#include "error.h"
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What kind of place an address is. All but the first must be listed literally, by address or CIDR;
 * RANGE_METADATA by exactly its address. RANGE_NOWHERE (unspecified, multicast, broadcast,
 * reserved, and the range that the resolver gives its names from) can never be reached. */
enum address_range {
	RANGE_PUBLIC,
	RANGE_PRIVATE, /* RFC 1918, unique local, shared (100.64/10), and IPv6 forms that carry one
			  of these IPv4 addresses: NAT64, 6to4, Teredo, compatible */
	RANGE_LINK_LOCAL,
	RANGE_METADATA, /* 169.254.169.254 and its kin: fd00:ec2::254, 100.100.100.200,
			   168.63.129.16, 169.254.170.2, 169.254.169.253, ... */
	RANGE_LOOPBACK, /* of the host: 127/8, ::1 */
	RANGE_NOWHERE,
};
enum address_range address_range(const struct in6_addr *address);
/* "private", "link-local", "metadata", "host-loopback", "reserved"; "public". */
const char *address_range_name(enum address_range range);
/* "192.0.2.1", "2001:db8::1"; IPv4 becomes a mapped address. False for anything else, NULL too. */
bool address_read(const char *text, struct in6_addr *ret_address);

enum host_access { HOST_UNLISTED, HOST_ALLOWED, HOST_DENIED };

struct host_rule; /* in host_pattern.h */
struct host_rules {
	struct host_rule *items;
	size_t count;
	bool everything; /* what no rule denies is allowed, whatever its range (--net full with
			    denials); RANGE_NOWHERE stays unreachable */
};

/* One pattern, checked and added; an error (E_USAGE) names what is wrong with it, with a hint.
 * Names of sets (`registry:python`) are no patterns here: they are taken apart before. */
int host_rules_add(struct host_rules *rules, const char *pattern, bool deny,
		   struct error **ret_error);
/* The same without adding. */
int host_pattern_check(const char *pattern, struct error **ret_error);
/* True if all that other means lies within what pattern means where it allows; false for what is no
 * pattern. */
bool host_pattern_covers(const char *pattern, const char *other);
/* The pattern of rule i, as it was written; borrowed. */
const char *host_rules_pattern(const struct host_rules *rules, size_t i, bool *ret_deny);
void host_rules_done(struct host_rules *rules);

/* A name (lower case, no dot at its end) and a port, before anything is looked up. */
enum host_access host_rules_name(const struct host_rules *rules, const char *name, uint16_t port);
/* An address and a port. named: a name that the rules allow was looked up and led here; then a
 * public address is allowed unless denied, any other must be listed itself. Else the address is
 * what the program said, and must be listed in any case. *ret_rule (may be NULL): the pattern that
 * decided, borrowed, or NULL where none did. */
enum host_access host_rules_address(const struct host_rules *rules, const struct in6_addr *address,
				    uint16_t port, bool named, const char **ret_rule);
/* True if a rule allows exactly that address, not as one of many; or everything. Deny is not looked
 * at. */
bool host_rules_exactly(const struct host_rules *rules, const struct in6_addr *address,
			uint16_t port);
/* The host's own loopback at that port: `localhost:PORT`, `host-loopback:PORT`, `127.0.0.1:PORT`,
 * `[::1]:PORT`. */
enum host_access host_rules_loopback(const struct host_rules *rules, uint16_t port);
/* True if any rule allows anything. */
bool host_rules_open(const struct host_rules *rules);
