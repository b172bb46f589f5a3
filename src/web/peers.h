/* SPDX-License-Identifier: Apache-2.0 */
/* Connections: how many, and how long each may take. The library ends those that are silent; those
 * that send a byte now and then are ended here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	PEERS_MOST = 400,
	STRANGERS_MOST = 64,  /* that have not shown a session; the oldest of more goes */
	REQUEST_SECONDS = 10, /* for a whole request, and between two */
	REPLY_SECONDS = 60,   /* to take the reply, unless it is a stream */
};

struct peer {
	struct peer *next;
	int fd;
	uint64_t since_ns; /* it has waited for the next request; or, busy, for its reply's end */
	bool busy, streams, known, ended;
	bool looked, local; /* whose it is was looked at; it is of this machine, and of: */
	uid_t uid;
};

struct peers {
	struct peer *first; /* newest first */
};

struct peer *peers_add(struct peers *peers, int fd);
void peers_remove(struct peers *peers, struct peer *peer);
/* Those whose time is over are shut down; the library then closes them. */
void peers_tick(struct peers *peers);
