/* SPDX-License-Identifier: Apache-2.0 */
/* From one level to the next: restricted, container, without the sandbox. Each is a permission of
 * its own, and none gives another. */
#include "flow_state.h"

#include <string.h>

static enum level next_level(const struct flow *flow)
{
	/* The host's tree in a container would refuse the same again. */
	return approve_next(flow->verdict.approval, flow->verdict.sandbox, flow->verdict.escalation,
			    flow_describes_root(flow), flow->verdict.level);
}

const char *flow_next_permission(const struct flow *flow)
{
	enum level next = next_level(flow);

	return next == flow->verdict.level ? NULL
	       : next == LEVEL_CONTAINER   ? "container"
					   : "unsandboxed";
}

void flow_offer_level(const struct flow *flow, const struct list *missing, struct ask *question,
		      struct extents *levels)
{
	enum level next = next_level(flow);

	if (flow_retry(missing)->permission || next == flow->verdict.level)
		return; /* it is asked for by itself, or not at all */
	if (next == LEVEL_NONE) {
		question->may_unsandbox = true;
		return;
	}
	for (size_t i = 0; i < missing->count; i++)
		list_add(&levels->grants[0], missing->items[i]);
	list_add(&levels->grants[1], "container");
	levels->items[0] =
		(struct extent){.name = "what it was refused", .grants = &levels->grants[0]};
	levels->items[1] = (struct extent){.name = "in a container", .grants = &levels->grants[1]};
	question->extents = levels->items;
	question->extent_count = levels->count = 2;
}

const struct retry *flow_retry(const struct list *grants)
{
	static const struct retry retries[] = {
		{"unsandboxed", "command failed; retry without sandbox?",
		 "retrying command without sandbox"},
		{"container", "command failed; retry in a container?",
		 "retrying command in a container"},
		{NULL, "command failed; retry with what it was refused?",
		 "retrying command with more permissions"},
	};
	const struct retry *retry = retries;

	while (retry->permission && !list_has(grants, retry->permission))
		retry++;
	return retry;
}
