/* SPDX-License-Identifier: Apache-2.0 */
/* For whoever looks at a run: that it comes near to a limit goes on record, and what only the
 * supervisor knows is told when it is asked for. */
#include "flow_state.h"
#include "record/told.h"
#include "request/text_json.h"
#include "run/watch.h"

void flow_note_near(void *data, const struct near_limit *near)
{
	struct flow *flow = data;
	json_t *body;

	if (!audit_has_room(flow->audit))
		return;
	body = json_object();
	json_put_text(body, "limit", limit_name(near->limit));
	json_put_count(body, "used", near->used);
	json_put_count(body, "most", near->most);
	(void)flow_record(flow, "run.near", body, /* ret_error= */ NULL);
}

static void add_name(void *data, const char *name, const char *address)
{
	json_object_set_new((json_t *)data, address, json_text(name));
}

/* Where the file cannot be written, whoever looks sees addresses without their names. */
void flow_tell_lookers(void *data)
{
	struct flow *flow = data;
	json_t *told = json_object(), *names = json_object();

	if (flow->observer)
		observer_named(flow->observer, add_name, names);
	json_put(told, "names", names);
	if (told_write(flow->own_state, flow->result->run, told) == 0)
		flow->told.lookers = true;
	json_decref(told);
}

void flow_forget_lookers(struct flow *flow)
{
	if (flow->told.lookers)
		told_drop(flow->own_state, flow->result->run);
}
