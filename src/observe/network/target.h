/* SPDX-License-Identifier: Apache-2.0 */
/* A target of the network, as a program meant it and as people read it. */
#pragma once

#include "resolver.h"
#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { TARGET_NAME = 256, TARGET_OBJECT = 320 };

struct target {
	char name[TARGET_NAME];	 /* what the resolver gave the address to; "": none */
	struct in6_addr address; /* IPv4 is mapped; of a name: the resolver's own */
	uint16_t port;
	bool datagrams;
	char object[TARGET_OBJECT];	/* host:port */
	char literal[INET6_ADDRSTRLEN]; /* the address; "" while only a name is known */
};

/* False for an address that is not of the Internet, or too short to be one. */
bool target_read(const struct resolver *resolver, const struct sockaddr *address, socklen_t length,
		 bool datagrams, struct target *ret_target);
/* The name or the address alone. */
const char *target_host(const struct target *target);
/* The name has turned out to lead to this address. */
void target_lead_to(struct target *target, const struct in6_addr *address);
/* Where an address can only mean the sandbox itself. */
bool target_is_inside(const struct target *target);
void address_text(const struct in6_addr *address, char text[static INET6_ADDRSTRLEN]);
