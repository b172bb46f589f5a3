/* SPDX-License-Identifier: Apache-2.0 */
/* A yes that wants the run followed: what is let through and what is printed is kept, and whoever
 * said yes is told when it has ended. */
#include "flow_state.h"
#include "record/monitor.h"

#include <stdio.h>
#include <string.h>

static void saw(void *data, const char *program, pid_t pid, const char *operation,
		const char *object)
{
	monitor_saw(((struct flow *)data)->monitor, program, pid, operation, object);
}

static void keep(void *data, const char *bytes, size_t length)
{
	monitor_output(((struct flow *)data)->monitor, bytes, length);
}

bool flow_follow(struct flow *flow)
{
	struct capture *output = &flow->streams.aggregated;

	if (!flow->monitor)
		return false;
	flow->witness = (struct witness){saw, flow};
	flow->observed.witness = &flow->witness; /* also of one that runs */
	if (!output->also)			 /* what was printed before */
		monitor_miss(flow->monitor, capture_replay(output, keep, flow));
	output->also = keep;
	output->also_data = flow;
	return true;
}

int flow_monitor(struct flow *flow, const char *by, struct error **ret_error)
{
	int r;

	if (flow->monitor)
		return 0;
	r = monitor_open(flow->own_state, flow->result->run, flow->verdict.limits.disk,
			 &flow->monitor, ret_error);
	if (r < 0)
		return r;
	flow->monitored_by = strdup(by ? by : "");
	flow->monitored_late = flow->run != NULL;
	(void)flow_follow(flow);
	return 0;
}

/* "exit code 0; 3 read, 2 written": what came of it, in a line. */
static char *tell_text(const struct flow *flow, json_t *summary)
{
	_cleanup_buffer_ struct buffer text = {0};
	json_t *count;
	const char *operation;

	buffer_printf(&text, "the run that was to be followed has ended: exit code %d",
		      flow->result->exit_code);
	json_object_foreach (json_object_get(summary, "seen"), operation, count)
		buffer_printf(&text, ", %lld x %s", (long long)json_integer_value(count),
			      operation);
	buffer_printf(&text, ", %lld bytes of output; ward show %s",
		      (long long)json_integer_value(json_object_get(summary, "output_bytes")),
		      flow->result->run);
	return buffer_steal(&text);
}

void flow_end_monitor(struct flow *flow)
{
	_cleanup_free_ char *text = NULL;
	json_t *summary;

	if (!flow->monitor)
		return;
	summary = monitor_summary(flow->monitor);
	text = tell_text(flow, summary);
	json_object_set_new(summary, "by", json_string(flow->monitored_by));
	json_object_set_new(summary, "reads", json_boolean(flow->traced));
	json_object_set_new(summary, "late", json_boolean(flow->monitored_late));
	(void)flow_record(flow, "run.monitored", summary, /* ret_error= */ NULL);
	monitor_close(flow->monitor, /* unread= */ true);
	flow->monitor = NULL;
	flow->approver->tell(flow->approver->data, text);
	free(flow->monitored_by);
	flow->monitored_by = NULL;
}
