/* SPDX-License-Identifier: Apache-2.0 */
/* A control group for one run, as far as the machine gives one.
 *
 * cgroup_make takes what it can get, by itself in the hierarchies where ward may make groups, or
 * from the user's systemd; cgroup_add puts init in while it waits for its letter, before anything
 * of the command has run; cgroup_read tells what all of it used; cgroup_free removes it. What the
 * group does not hold (cgroup_holds) is for the supervisor to count. */
#pragma once

#include "../request/request.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What a group can do. */
enum cgroup_power {
	CGROUP_MEMORY = 1 << 0,	  /* bound memory */
	CGROUP_SHARE = 1 << 1,	  /* bound the share of the CPUs */
	CGROUP_TASKS = 1 << 2,	  /* bound processes and threads */
	CGROUP_CPU_TIME = 1 << 3, /* count CPU time */
	CGROUP_DISK = 1 << 4,	  /* count what reached the disk */
	CGROUP_FREEZER = 1 << 5,  /* stop everything, and let it go on */
};

struct cgroup;

/* What the limits would have of a group; 0: none is needed. */
unsigned cgroup_wanted(const struct limits *limits);
/* Makes a group named ward-RUN with the limits set, and sweeps away what killed runs left. NULL
 * where there is none to be had. loses: we are root, and shall be this user without any capability
 * when it is to be removed; where that would not do, a process that stays as it is removes it. -1:
 * we stay who we are. */
struct cgroup *cgroup_make(const char *run, const struct limits *limits, unsigned wanted,
			   uid_t loses);
/* Puts a process in, and counts from here on. What it cannot be put into is held no more. */
void cgroup_add(struct cgroup *group, pid_t pid);
/* The powers it has; 0 for NULL. */
unsigned cgroup_holds(const struct cgroup *group);

struct cgroup_usage {
	uint64_t cpu_ns, written;
	uint64_t killed; /* processes that the kernel ended for want of memory */
};

/* Since the process was put in; zero for what is not counted. */
void cgroup_read(const struct cgroup *group, struct cgroup_usage *ret_usage);

/* What is held now, without what was read from files, which the kernel gives up where there is
 * need: a command is not near its limit because it has read much. Looked at that closely only
 * beyond `from`; 0 where it is not counted. */
uint64_t cgroup_memory(const struct cgroup *group, uint64_t from);

/* How many processes and threads could not be made because there were as many as may be. */
uint64_t cgroup_turned_away(const struct cgroup *group);

/* Both wait until it is so, at most a second; 0 or -errno: -ENOTSUP without a freezer, -ETIMEDOUT
 * where a process would not. Nothing of a frozen run can be ended before it is thawed. */
int cgroup_freeze(struct cgroup *group);
/* The same without waiting: whoever waits for an answer of ours freezes only after it. */
int cgroup_freeze_soon(struct cgroup *group);
/* The same, for as long as that. */
int cgroup_freeze_within(struct cgroup *group, uint64_t patience_ns);
int cgroup_thaw(struct cgroup *group);
/* Ends all that is in it. What is frozen is gone when it is thawed, without another step. */
void cgroup_kill(struct cgroup *group);

/* Ends what is left in it, and removes it. */
void cgroup_free(struct cgroup *group);
