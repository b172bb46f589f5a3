/* SPDX-License-Identifier: Apache-2.0 */
/* What `ward doctor` lays out for its probes: files, sockets, a process; and whether any of it was
 * reached. */
#pragma once

#include "../../src/base/error.h"
#include "probes.h"

struct bait {
	char *place; /* a directory of its own; workspace, outside and program lie in it */
	char *targets[TARGETS + 1];
	int listeners[TARGETS]; /* sockets that show that somebody came; -1 none */
	pid_t process;
	int signals; /* a byte for each signal that it got */
	int left_open;
	int memory;
};

/* state: ward's state directory. */
int bait_lay(const char *state, struct bait *ret_bait, struct error **ret_error);
/* True if somebody reached it. */
bool bait_was_reached(const struct bait *bait, enum target target);
void bait_take_up(struct bait *bait);
