/* SPDX-License-Identifier: Apache-2.0 */
/* Names inside the sandbox: each name that is asked for gets an address of its own from a range
 * that exists nowhere, without asking anyone; a later connect to that address then tells the name.
 */
#pragma once

#include "../../base/macro.h"
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

struct resolver;

struct resolver *resolver_new(void);
void resolver_free(struct resolver *resolver);

/* Answers one DNS message (UDP form, no length prefix). A and AAAA of any valid name get its
 * synthetic address (TTL 1), ANY both; `localhost`, names under it and the machine's own name get
 * loopback; PTR of a synthetic address gives the name back; any other type an empty answer,
 * anything malformed FORMERR or nothing. Returns the length written to reply, 0 for no reply. */
size_t resolver_answer(struct resolver *resolver, const uint8_t *query, size_t query_length,
		       uint8_t *reply, size_t reply_room);

/* The name that an address was given to (without the trailing dot, lower case), or NULL.
 * IPv4-mapped IPv6 counts as IPv4. */
const char *resolver_name(const struct resolver *resolver, const struct sockaddr *address);

/* True for a name that resolvers elsewhere read as an address ("127.1", "0x7f000001"): a rule about
 * names would let an address through. No top-level domain looks like it. */
bool name_is_number(const char *name);
