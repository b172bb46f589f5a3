/* SPDX-License-Identifier: Apache-2.0 */
/* ward serve: JSON-RPC over two sockets, for agents and for those who answer them.
 * docs/protocol.md has every message. All that counts lies in files, each with its own lock: a
 * daemon that is killed takes nothing with it, and the next one finds everything. */
#pragma once

#include "door.h"

struct daemon_options {
	bool system;	   /* for all users: each peer is served by a process that has become him */
	const char *state; /* of whoever runs it */
};

/* Serves until it is told to end (SIGTERM, SIGINT). Runs go on; their callers find them again. */
int daemon_serve(const struct door *door, const struct daemon_options *options,
		 struct error **ret_error);
