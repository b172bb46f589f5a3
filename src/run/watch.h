/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of a run, held against what it uses: clocks, and counts taken at intervals. What a
 * control group holds by itself is not counted, only asked about. */
#pragma once

#include "../request/result.h"
#include "../sandbox/cgroup.h"
#include "../sandbox/sandbox.h"
#include "usage.h"

/* What a command may use where nobody said otherwise: enough for any build, and an end for a fork
 * bomb and a leak before the machine is out of memory. Beyond NEAR_PERCENT of a limit it is near.
 */
enum { WATCH_PROCESSES = 8192, WATCH_MEMORY_PERCENT = 80, NEAR_PERCENT = 80 };

/* What the loop knows and the processes' own files do not tell. */
struct watched {
	uint64_t output;	 /* bytes so far */
	uint64_t set_aside;	 /* of the disk, by calls that write nothing */
	uint64_t reaped_written; /* towards the disk, by those that init has reaped */
};

/* A limit that is nearly reached; of time in milliseconds, of the CPU too. */
struct near_limit {
	enum run_limit limit;
	uint64_t used, most;
};

struct watch {
	const struct limits *limits;
	struct cgroup *group; /* may be NULL */
	struct counter counter;
	unsigned kinds; /* of what is counted */
	uint64_t most_memory, most_processes;
	uint64_t interval, next; /* between two looks, and when the next one is; 0: none */
	uint64_t deadline;	 /* 0: none */
	unsigned pauses;	 /* that have not ended */
	uint64_t paused;	 /* since when */
	/* When it last did something, and what the counts were then. */
	uint64_t active, active_cpu, active_output, active_moved;
	struct usage used;		       /* the most that was seen of each */
	unsigned near;			       /* BIT of each limit that it came near to */
	struct near_limit nears[LIMIT_OUTPUT]; /* that nobody took yet */
	size_t near_count;
};

void watch_begin(struct watch *watch, const struct entry *entry, const struct limits *limits,
		 struct cgroup *group);
void watch_done(struct watch *watch);
/* Until when nothing has to be looked at; 0: ever. */
uint64_t watch_until(const struct watch *watch);
/* Looks, if it is time to; the limit that was passed. */
enum run_limit watch_look(struct watch *watch, const struct watched *watched);
/* The next limit that it came near to: each once. */
bool watch_take_near(struct watch *watch, struct near_limit *ret_near);
/* True if what is counted includes what init has reaped, which only init can tell. */
bool watch_asks_init(const struct watch *watch);
/* Before everything is ended: what it used, as far as that can be seen in a moment. */
void watch_last(struct watch *watch, const struct watched *watched);
/* After the end: the limit by which the kernel itself ended a command with this status, or that was
 * passed between two looks. */
enum run_limit watch_why(struct watch *watch, const struct watched *watched, int status);
/* Between them wall and idle time stand still; they may be nested. */
void watch_pause(struct watch *watch);
void watch_resume(struct watch *watch);
