/* SPDX-License-Identifier: Apache-2.0 */
/* The two sockets of the daemon: one for agents, one for those who answer. They are opened here, or
 * were by systemd, which then keeps them while no daemon runs. */
#pragma once

#include "../base/error.h"
#include <stdbool.h>

enum door_side { DOOR_AGENT, DOOR_APPROVER, DOOR_SIDES };

struct door {
	char *directory;
	int lock; /* held as long as this daemon is the one of its directory */
	int sockets[DOOR_SIDES];
	bool handed; /* systemd's: their names are not ours to remove */
};

/* system: in /run/ward, agents' for everybody; else in the user's directory and for him alone. A
 * socket that a dead daemon left is replaced; where one lives, that is an error that names it.
 * state: where there is no directory for sockets, they lie there. */
int door_open(bool system, const char *state, struct door *ret_door, struct error **ret_error);
/* Removes what door_open made. */
void door_close(struct door *door);
/* Tells whoever started us (sd_notify) that we are ready, or about to end: "READY=1". Where nobody
 * wants to know, nothing. */
void door_notify(const char *text);
