/* SPDX-License-Identifier: Apache-2.0 */
/* Channels by which people are told of questions and of what went wrong: a process of ward's own
 * (serve/deliver.c) finds out by itself what is to be told. A run only sees to it that there is
 * one, before it becomes somebody else. */
#include "flow_state.h"
#include "serve/deliver.h"

#include <inttypes.h>
#include <stdio.h>

static bool concerns(const struct notify *notify, const char *agent)
{
	for (size_t i = 0; i < notify->count; i++)
		for (unsigned notice = 1; notice < NOTICE_END; notice <<= 1)
			if (channel_wants(&notify->channels[i], notice, agent, NULL))
				return true;
	return false;
}

void flow_start_deliverer(struct flow *flow)
{
	_cleanup_free_ char *after = NULL;

	if (!concerns(&flow->policy->notify, flow->request->agent))
		return;
	if (flow->identity.changes) {
		list_add(&flow->result->warnings,
			 "nobody is told through channels: the questions of this run are those of "
			 "whoever the command runs as");
		return;
	}
	if (asprintf(&after, "%" PRIu64, audit_count(flow->audit)) < 0)
		abort();
	deliver_start(flow->state, after, &flow->present);
}
