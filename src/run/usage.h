/* SPDX-License-Identifier: Apache-2.0 */
/* How much the processes inside use, counted by looking: where no control group stands this is what
 * bounds them. */
#pragma once

#include "../base/macro.h"
#include <stdint.h>

struct usage {
	uint64_t processes; /* without init */
	uint64_t memory;    /* bytes written to; of what is shared, as much as the largest holds */
};

/* proc: the sandbox's /proc. 0 or -errno. Stops counting at most processes, which is then what it
 * returns. */
int usage_count(int proc, uint64_t most, struct usage *ret_usage);
/* The memory of the machine, in bytes. */
uint64_t usage_of_machine(void);
