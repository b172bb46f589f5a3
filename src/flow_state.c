/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning and the end of what the parts of the flow share. */
#include "flow_state.h"

#include <string.h>

/* Whoever types at a terminal that an agent has made is the agent: it must not answer for a person.
 */
static bool is_nobody_there(void *data)
{
	(void)data;
	return false;
}

static int ask_nobody(void *data, const struct ask *ask, struct answer *ret_answer,
		      struct error **ret_error)
{
	(void)data, (void)ask, (void)ret_error;
	*ret_answer = (struct answer){.kind = ANSWER_NOBODY};
	return 0;
}

static void tell_nobody(void *data, const char *text)
{
	(void)data, (void)text; /* it is among the warnings of the result as well */
}

static const struct approver nobody = {is_nobody_there, ask_nobody, tell_nobody, NULL};

void flow_init(struct flow *flow, const struct request *request, struct result *result)
{
	*flow = (struct flow){.request = request,
			      .result = result,
			      .approver = request->unattended ? &nobody : &terminal_approver,
			      .arena = arena_new(),
			      .entry = ENTRY_NONE,
			      .cache_slot = CACHE_SLOT_NONE,
			      .holder = HOLDER_NONE,
			      .token_holder = HOLDER_NONE,
			      .safety.holder = HOLDER_NONE,
			      .session.lock = -1,
			      .present = -1};
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
	holder_end(&flow->holder);
	session_done(&flow->session);
	flow_drop_token(flow);
	safety_done(&flow->safety);
	list_done(&flow->spent);
	verdict_done(&flow->verdict);
	approval_key_done(&flow->key);
	grants_done(&flow->grants);
	list_done(&flow->granted);
	list_done(&flow->kept);
	list_done(&flow->for_good);
	list_done(&flow->asked);
	list_done(&flow->refused);
	list_done(&flow->deferred);
	list_done(&flow->unsaid.what);
	list_done(&flow->unsaid.why);
	free(flow->question);
	queue_release(&flow->queue, /* stands= */ false);
	list_done(&flow->remarks);
	free(flow->assessor_key);
	error_free(flow->failure);
	identity_done(&flow->identity);
	audit_close(flow->audit);
	close_fd(&flow->present);
	masks_done(&flow->masks);
	list_done(&flow->mask_paths);
	list_done(&flow->caches);
	free(flow->cache_home);
	free(flow->runtime);
	free(flow->begun_runtime);
	free(flow->bundle);
	free(flow->rootfs);
	list_done(&flow->container_mounts);
	list_done(&flow->writable);
	list_done(&flow->program_rules);
	list_done(&flow->candidates);
	list_done(&flow->environment);
	buffer_done(&flow->users);
	buffer_done(&flow->groups);
	free(flow->state);
	free(flow->own_state);
	free(flow->company);
	free(flow->quarantine);
	arena_free(flow->arena);
}
