/* SPDX-License-Identifier: Apache-2.0 */
/* How much the processes inside use, counted by looking: where no control group stands this is what
 * bounds them. */
#pragma once

#include "../base/macro.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum usage_kind {
	USAGE_MEMORY = 1 << 0,
	USAGE_CPU = 1 << 1,
	USAGE_BYTES = 1 << 2, /* read and written */
	USAGE_FILES = 1 << 3, /* with USAGE_MEMORY: files in memory that are only open, too */
	USAGE_PEAK = 1 << 4,
};

/* Whom to count, and what was seen of them the last time. */
struct counter {
	int proc;     /* a /proc */
	int memory;   /* a directory of the sandbox's own file system in memory, or -1 */
	pid_t init;   /* as numbered there; it is not counted, only what it has reaped */
	bool only_it; /* that /proc is the machine's: only what descends from init counts */
	struct seen *seen;
	size_t count, room;
	uint64_t gone_ns; /* CPU time of those seen that are no more */
	uint64_t most_ns;
};

struct usage {
	uint64_t processes; /* without init */
	uint64_t memory;    /* bytes written to and still held; what is shared counts once */
	uint64_t cpu_ns;    /* of all, those that have ended included */
	uint64_t moved;	    /* bytes of all reads and writes by those that live, whatever it is */
	uint64_t written;   /* towards a disk, by those that live and those that they have reaped */
	uint64_t started;   /* at least, threads included: numbers are given in a row */
	uint64_t peak_kb; /* of memory, of the process that ever had the most of those that live */
};

void counter_done(struct counter *counter);
/* 0 or -errno. Stops counting at most processes, which is then what it returns. memory_most:
 * memory is counted roughly and too high, and exactly only beyond this. */
int usage_count(struct counter *counter, unsigned kinds, uint64_t most, uint64_t memory_most,
		struct usage *ret_usage);
/* The memory of the machine, in bytes. */
uint64_t usage_of_machine(void);
