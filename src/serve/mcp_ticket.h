/* SPDX-License-Identifier: Apache-2.0 */
/* The requestState of a call that waits for an answer: it goes to the client and comes back, and
 * counts only as this server made it, once, in time, and with the same request. */
#pragma once

#include <jansson.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>

struct mcp_ticket {
	uint64_t call, round; /* which call, and which of its questions */
	int64_t expires;      /* milliseconds of the monotonic clock */
	unsigned char request[crypto_generichash_BYTES];
};

typedef unsigned char mcp_key[crypto_auth_KEYBYTES];

/* What a request is bound by: the name and the arguments. */
void mcp_ticket_hash(json_t *params, unsigned char ret_hash[static crypto_generichash_BYTES]);
/* Caller frees. */
char *mcp_ticket_seal(const mcp_key key, const struct mcp_ticket *ticket);
/* False for what this key did not seal. */
bool mcp_ticket_open(const mcp_key key, const char *text, struct mcp_ticket *ret_ticket);
