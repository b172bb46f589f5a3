/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that are like what somebody looks for, page by page; and whose they were. */
#pragma once

#include "store.h"
#include <stdint.h>

struct search {
	const char *text;		       /* in the command, in whatever case; NULL: any */
	const char *agent, *session, *verdict; /* NULL: any */
	uint64_t before; /* the cursor of the page before; 0: from the newest on */
	unsigned limit;
	bool indexed; /* search_attach() says that the index has all */
};

/* Newest first: an array of {"run", "time", "agent", "session", "command", "verdict", "source",
 * "exit_code", "duration_ms", "denials", "ended", "error"}. *ret_next is the cursor of the next
 * page, 0 where there is none. Caller frees *ret_rows. */
int search_runs(struct store *store, const struct search *search, json_t **ret_rows,
		uint64_t *ret_next, struct error **ret_error);
/* An array of {"agent", "runs", "last", "sessions": [{"session", "runs", "last"}]}, the agent that
 * ran something last first, and so its sessions, of which no more than SEARCH_SESSIONS are listed.
 * agent is null of runs without one. Caller frees. */
enum { SEARCH_SESSIONS = 50, SEARCH_AGENTS = 200 };
int search_agents(struct store *store, bool indexed, json_t **ret_agents, struct error **ret_error);
