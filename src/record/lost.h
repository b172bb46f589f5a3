/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that ended without a word: their supervisor was killed, or the machine stopped. */
#pragma once

#include "../base/error.h"
#include <sys/types.h>

/* Puts the end of each such run on record, once whoever notices it and however many do. alive is
 * called for those that go on, with the process of their supervisor, 0 where it is not known. */
int runs_settle(const char *state, void (*alive)(void *data, const char *run, pid_t supervisor),
		void *data, struct error **ret_error);
/* The same for one whose process has just been seen to be gone. 1: something of it is still there,
 * and holds the run; it is to be tried again. */
int run_settle(const char *state, const char *run, struct error **ret_error);
