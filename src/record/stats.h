/* SPDX-License-Identifier: Apache-2.0 */
/* How often people are asked, what they say and how fast; and which rules would have spared them
 * most. People who are asked too much say yes to everything: this shows it before it is too late.
 */
#pragma once

#include "store.h"

enum {
	STATS_DAYS = 30, /* unless told */
	STATS_DAYS_MOST = 3660,
	STATS_RULES = 10,
	STATS_GROUPS = 50,	/* agents, and approvers, that are named */
	STATS_HASTE_MS = 2000,	/* nobody has read a question in less */
	STATS_HASTE_LEAST = 20, /* answers, before anything is said of whoever gave them */
	STATS_HASTE_SHARE = 95, /* per cent */
};

/* The last days, today included; agent: NULL for all. Docs: docs/ward.1, "ward stats". *ret_stats:
 * owned by the caller. */
int stats_json(struct store *store, unsigned days, const char *agent, json_t **ret_stats,
	       struct error **ret_error);
