/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of top share. */
#pragma once

#include "../sys/diag.h"
#include <jansson.h>
#include <stddef.h>

/* The connections of the machine, looked at when they are first needed. */
struct top_sockets {
	struct diag_socket *items;
	size_t count;
	bool read;
};

void top_sockets_done(struct top_sockets *sockets);
/* A new array of the connections among these inodes: host, port, address, sent, received. names:
 * of addresses, may be NULL. *ret_nameless: one of them has no name there. */
json_t *top_connections(struct top_sockets *sockets, const uint64_t *inodes, size_t count,
			const json_t *names, bool *ret_nameless);
