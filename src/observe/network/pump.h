/* SPDX-License-Identifier: Apache-2.0 */
/* A child of the supervisor that carries bytes and datagrams between sockets that it was handed. It
 * decides nothing: where datagrams go is fixed by whoever hands over. */
#pragma once

#include "child.h"
#include <stdint.h>
#include <sys/socket.h>

enum {
	PAIRS_MOST = 512,
	SENDERS_MOST = 256, /* for each target; the one that was silent longest goes */
	SENDERS_OF_ALL = 2048,
	TARGETS_MOST = 256,
	SENDER_IDLE_MS = 120000,
	PUMP_FINISH_MS = 300,
};

int pump_start(struct child *pump);
/* Two connected stream sockets (the second may be about to be), each of which becomes the other's
 * peer: the end of one direction is passed on as such, an error as a reset. The caller closes its
 * own. More than PAIRS_MOST are reset. number: whose they are; 0 nobody's. -errno. */
int pump_streams(struct child *pump, int one, int other, uint64_t number);
/* Resets the pairs of that number. -errno. */
int pump_part(struct child *pump, uint64_t number);
/* Target `number` (below TARGETS_MOST): what `inside` receives goes to `outside`, from a socket of
 * its own for each sender, and what comes from there goes back to the sender. teller: a socket of
 * ICMP inside, or -1. Where the target has its sockets already (inside: -1) it leads elsewhere from
 * now on, but for senders that were answered. -errno. */
int pump_datagrams(struct child *pump, unsigned number, int inside, int teller,
		   const struct sockaddr_storage *outside);
/* The target and its senders are gone: what is sent there reaches nobody. -errno. */
int pump_forget(struct child *pump, unsigned number);
/* Ends it when what is under way in streams has arrived, or PUMP_FINISH_MS later. */
void pump_end(struct child *pump);
