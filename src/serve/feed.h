/* SPDX-License-Identifier: Apache-2.0 */
/* Feeding a program with the events of a run, from the log and at the program's own pace. */
#pragma once

#include "../base/error.h"
#include "../record/eventlog.h"

struct feed {
	const char *state, *run;
	struct event_place after; /* where the run begins */
	uint64_t timeout_ns;	  /* for what is left when the run has ended, and for its end */
	const char *kinds;	  /* with commas between them; empty: all */
	char **program;		  /* its argv */
	int process;		  /* a pidfd of the run */
};

/* Returns when the run and the program have ended. What went wrong with the program is on record.
 */
int feed_program(const struct feed *feed, struct error **ret_error);
