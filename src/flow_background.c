/* SPDX-License-Identifier: Apache-2.0 */
/* What is known around a question: made only when one is really put, and within bounds, because
 * somebody waits to see it. */
#include "flow_state.h"
#include "record/history.h"

#include <stdio.h>
#include <string.h>

enum { PATIENCE_MS = 50 };

static void take_history(const struct history *history, struct background *background)
{
	for (size_t i = 0; i < history->count; i++)
		background->similar[background->similar_count++] =
			(struct past){.description = strdup(history->runs[i].command),
				      .outcome = strdup(history->runs[i].outcome),
				      .date = strdup(history->runs[i].date)};
	background->ran = history->ran;
	background->succeeded = history->succeeded;
}

static void find_history(const struct flow *flow, struct background *background)
{
	_cleanup_error_ struct error *error = NULL;
	_cleanup_free_ char *command = request_command_text(flow->request);
	struct history history = {0};
	struct store *store = NULL;

	if (!flow->key.does) {
		background->history_gap =
			strdup("what it does is not known, so nothing is like it");
		return;
	}
	if (store_open_within(flow->state, PATIENCE_MS, &store, &error) == 0)
		(void)history_find(store, flow->key.does, command, flow->request->workspace,
				   flow->result->run, &history, &error);
	take_history(&history, background);
	if (error &&
	    asprintf(&background->history_gap, "it could not be read: %s", error->message) < 0)
		abort();
	else if (!error && store_is_behind(store))
		background->history_gap = strdup("the latest runs are not yet among it");
	else if (!error && history.more &&
		 asprintf(&background->history_gap, "the latest %d like it were looked at",
			  HISTORY_LATEST) < 0)
		abort();
	history_done(&history);
	store_close(store);
}

void flow_find_background(const struct flow *flow, const struct ask *question,
			  struct background *ret_background)
{
	background_make(question, &flow->plan, ret_background);
	find_history(flow, ret_background);
}
