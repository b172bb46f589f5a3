/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning and the end of what the parts of the flow share. */
#include "flow_state.h"

#include <string.h>

void flow_init(struct flow *flow, const struct request *request, struct result *result)
{
	*flow = (struct flow){.request = request,
			      .result = result,
			      .approver = &terminal_approver,
			      .arena = arena_new(),
			      .entry = ENTRY_NONE,
			      .cache_slot = CACHE_SLOT_NONE,
			      .session.lock = -1};
	flow->streams.terminal = -1;
	flow->streams.input_file = -1;
	memset(flow->streams.close_after_start, -1, sizeof(flow->streams.close_after_start));
}

void flow_done(struct flow *flow)
{
	observer_free(flow->observer);
	publish_done(&flow->published);
	entry_done(&flow->entry);
	cache_close(&flow->cache_slot); /* nothing is mounted from it any more */
	cgroup_free(flow->group);
	streams_done(&flow->streams);
	prepared_done(&flow->prepared);
	session_done(&flow->session);
	verdict_done(&flow->verdict);
	approval_key_done(&flow->key);
	grants_done(&flow->grants);
	list_done(&flow->granted);
	list_done(&flow->kept);
	list_done(&flow->for_good);
	list_done(&flow->asked);
	list_done(&flow->refused);
	list_done(&flow->remarks);
	error_free(flow->failure);
	identity_done(&flow->identity);
	audit_close(flow->audit);
	masks_done(&flow->masks);
	list_done(&flow->mask_paths);
	list_done(&flow->caches);
	free(flow->cache_home);
	list_done(&flow->writable);
	list_done(&flow->program_rules);
	list_done(&flow->candidates);
	buffer_done(&flow->users);
	buffer_done(&flow->groups);
	free(flow->state);
	free(flow->own_state);
	free(flow->company);
	free(flow->quarantine);
	arena_free(flow->arena);
}
