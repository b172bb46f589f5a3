/* SPDX-License-Identifier: Apache-2.0 */
/* One sitting of an agent: its id and its private /tmp. Without a name it is that of the terminal,
 * else of the process that calls ward, and of the agent where one is named; it ends when that
 * process does. Two agents never share a /tmp, not even in a session that both name. */
#pragma once

#include "../base/error.h"
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct session {
	char *id;
	char *tmp;  /* the directory that becomes /tmp; of an agent, it holds agent-ID */
	bool fresh; /* this is its first run */
	int lock;   /* held while a run uses it, so that nobody sweeps it away */
};

/* Whether it can name one: it becomes the name of a directory. */
bool session_is_name(const char *name);
/* The same for an agent's id: error or 0. */
int session_check_agent(const char *agent, struct error **ret_error);
/* state: the state directory of whoever the command runs as, which must be able to make directories
 * there. name, agent: given by the caller, or NULL. */
int session_open(const char *state, const char *name, const char *agent,
		 struct session *ret_session, struct error **ret_error);
void session_done(struct session *session);
/* When its first run began; where it has had none, now. Where the file system does not say, a time
 * before everything. */
struct timespec session_began(const char *state, const char *id);
/* Every session that has left something here, each with whether it still lives and when it was last
 * used; stops early when each returns non-zero, and returns that. */
int session_list(const char *state,
		 int (*each)(const char *id, bool lives, int64_t used, void *data), void *data);
/* Ends it: its private /tmp and its answers are gone. Refused while a run is in it. */
int session_end(const char *state, const char *id, struct error **ret_error);
/* The one that a run without --session would belong to; agent may be NULL. Caller frees. */
char *session_default(const char *agent);
/* The one of that process, and of the agent where it is not NULL; NULL: there is no such process.
 * Caller frees. */
char *session_of(int pid, const char *agent);
/* Another program may say which session it means, but not that it is the one of a process: the
 * yeses there were given to whoever calls ward from it. Its own it may name. Error or 0. */
int session_check_claimed(const char *name, int pid, const char *agent, struct error **ret_error);
/* Removes what sessions that have ended left behind. */
void session_sweep(const char *state);
