/* SPDX-License-Identifier: Apache-2.0 */
/* Which processor a process of ours runs on.
 *
 * Two that work side by side gain nothing where the kernel leaves both on one processor: some pack
 * what was just born, or just woken, behind its parent while others stand idle. */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

/* Where we stay for a while, and where we were at home before. */
struct stay {
	cpu_set_t here, home;
	bool stays;
	bool yields; /* whoever wakes us goes on first */
};

/* A child that was just born begins at once on another processor than ours, where we may use more
 * than one. It is free to go anywhere again when this returns. */
void place_elsewhere(pid_t child);

/* We stay on this processor until place_leave: woken by somebody on another we would be put behind
 * him there, though ours is free. Whoever is born meanwhile stays, too. */
bool place_keep(struct stay *place);
/* And we take it from nobody who wakes us there. */
bool place_stay(struct stay *place);
void place_leave(struct stay *place);

/* Back to where it was at home. Whoever was free to run anywhere is free to do so on processors
 * that are added later. */
void place_send_home(pid_t tid, cpu_set_t *home);
