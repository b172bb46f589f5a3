/* SPDX-License-Identifier: Apache-2.0 */
/* All that runs in a sandbox made to stand still by signals, where no freezer does it: as if each
 * had been stopped and continued at a keyboard, but so that nobody inside is told of a child that
 * stopped.
 *
 * Parents are stopped before their children, and children continued before their parents: whoever
 * waits for children that stop (a shell does) finds them running again when it runs itself. Who was
 * stopped before stays so. Who is traced is left alone: the tracer would be told. */
#pragma once

#include "../base/macro.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct stops {
	struct stopped *items;
	size_t count, room;
};

/* False where a call that waits for the supervisor would be interrupted by a stop: before Linux
 * 5.19 a notified call does not wait on. */
bool stops_are_harmless(void);
/* Stops all that descends from init, which must be a child of ours that has not been reaped; not
 * init itself. As many and as far as half a second allows. */
void stops_begin(struct stops *stops, pid_t init);
/* Lets those go on again that were stopped, and forgets them. */
void stops_end(struct stops *stops);
