/* SPDX-License-Identifier: Apache-2.0 */
/* What became of runs that were like one that is asked about. */
#pragma once

#include "store.h"
#include <stdint.h>

enum { HISTORY_MOST = 5, HISTORY_LATEST = 1000 };

struct history_run {
	char *command, *outcome, *date; /* owned */
};

struct history {
	/* Those with the same words first, then those of the same workspace, then the latest. */
	struct history_run runs[HISTORY_MOST];
	size_t count;
	uint64_t ran, succeeded; /* of the latest that are alike: those that started and ended */
	bool more;		 /* there were more than were looked at */
};

/* does: as the start of a run has it on record. One walk along an index, over HISTORY_LATEST runs
 * at most. except: the run that asks. */
int history_find(struct store *store, const char *does, const char *command, const char *workspace,
		 const char *except, struct history *ret_history, struct error **ret_error);
void history_done(struct history *history);
