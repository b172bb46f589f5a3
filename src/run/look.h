/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a run, looked at from outside by whoever may: nothing of it is asked of the run
 * itself, which pays nothing for it. */
#pragma once

#include "usage.h"

enum { LOOK_PROCESSES = 2000, LOOK_SOCKETS = 1024, LOOK_COMMAND = 256 };

struct looked_process {
	pid_t pid, parent;
	char state; /* as ps has it */
	uint64_t cpu_ns, memory;
	char command[LOOK_COMMAND]; /* not fit for a terminal; cut where it is longer */
};

struct looked {
	struct usage usage;
	struct looked_process *processes; /* a parent before its children; NULL unless wanted */
	size_t count;
	uint64_t *sockets; /* inodes of all that they have open */
	size_t socket_count;
};

/* ward's own process in the sandbox, below its supervisor; -1: none, or not yet. */
pid_t look_init(pid_t supervisor);
/* What hangs below init. details: each process by itself, too. 0 or -errno. */
int look(pid_t init, bool details, struct looked *ret_looked);
void looked_done(struct looked *looked);
