/* SPDX-License-Identifier: Apache-2.0 */
/* Telling people through the channels of `notify`: a process of its own, one for a state directory,
 * finds what is to be told (the audit log, and the questions that wait), writes it to disk and
 * carries it out until it has arrived or is given up. Whoever runs something only starts it. */
#pragma once

#include "../base/error.h"
#include "../decide/policy.h"
#include "../record/eventlog.h"
#include <jansson.h>
#include <stdbool.h>

/* Starts the deliverer where none is there, and says that somebody may have something to tell for
 * as long as *ret_present is open. Never waits for it. after: where in the log to begin if nobody
 * has before, NULL: behind all that is there. ret_present NULL: nobody has, it is for what was left
 * behind. */
void deliver_start(const char *state, const char *after, int *ret_present);

/* The deliverer itself: returns when there is nothing left to tell, and nobody who may have. */
int deliver_serve(const char *state, const char *after, struct error **ret_error);

/* What the system and the user say of channels; a project has no say in this. Caller frees. */
int deliver_policy(const char *state, struct policy **ret_policy, struct error **ret_error);

/* For people: what waits, and what was given up (dead). Each in the order of time. */
int deliver_list(const char *state, void (*show)(void *data, json_t *job, bool dead), void *data,
		 struct error **ret_error);
/* One that was given up is tried again from the beginning; one that waits, at once. NULL: all that
 * were given up. *ret_count: how many. */
int deliver_retry(const char *state, const char *id, unsigned *ret_count, struct error **ret_error);
/* Forgets one, NULL: all that were given up. */
int deliver_drop(const char *state, const char *id, unsigned *ret_count, struct error **ret_error);
