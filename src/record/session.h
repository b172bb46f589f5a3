/* SPDX-License-Identifier: Apache-2.0 */
/* One sitting of an agent: its id and its private /tmp. Without a name it is that of the terminal,
 * else of the process that calls ward; it ends when that process does. */
#pragma once

#include "../base/error.h"
#include <stdbool.h>

struct session {
	char *id;
	char *tmp;  /* the directory that becomes /tmp */
	bool fresh; /* this is its first run */
	int lock;   /* held while a run uses it, so that nobody sweeps it away */
};

/* state: the state directory of whoever the command runs as, which must be able to make directories
 * there. name: given by the caller, or NULL. */
int session_open(const char *state, const char *name, struct session *ret_session,
		 struct error **ret_error);
void session_done(struct session *session);
/* Removes what sessions that have ended left behind. */
void session_sweep(const char *state);
