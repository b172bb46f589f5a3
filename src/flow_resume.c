/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that go on without their caller: what they ask for before they start, and how their
 * keeper learns that they do. */
#include "flow_state.h"

#include <string.h>

static const struct resumption *resumption_of(const struct flow *flow)
{
	return flow->audience ? flow->audience->resumption : NULL;
}

bool flow_is_resumed(const struct flow *flow)
{
	return resumption_of(flow) && resumption_of(flow)->begin;
}

int flow_check_place(const struct flow *flow, struct error **ret_error)
{
	const struct resumption *resumption = resumption_of(flow);
	const struct identity *identity = &flow->identity;

	if (checks_switched_off() & CHECK_BIT(CHECK_PLACE) || !resumption || !resumption->inode ||
	    (resumption->inode == identity->inode && resumption->owner == identity->owner))
		return 0;
	fail(ret_error, E_REJECTED,
	     "the workspace %s is not the directory any more that the request was about",
	     flow->request->workspace);
	return error_hint(ret_error, "it was moved, replaced, or given to another user: ask again");
}

int flow_check_policy(const struct flow *flow, const struct answer *answer,
		      struct error **ret_error)
{
	const struct resumption *resumption = resumption_of(flow);

	if (answer->kind != ANSWER_APPROVE || !resumption || !resumption->stale || flow->begun ||
	    !flow_policy_is_stale(flow))
		return 0;
	resumption->stale(resumption->data);
	return fail(ret_error, E_REJECTED,
		    "the policy has changed since it was asked, and is looked at anew");
}

int flow_begin(struct flow *flow, struct error **ret_error)
{
	const struct resumption *resumption = resumption_of(flow);
	int r = flow_record_start(flow, ret_error);

	return r == 0 && resumption && resumption->begin
		       ? resumption->begin(resumption->data, flow->result->run, ret_error)
		       : r;
}

/* One question for all of it: a yes is to the command with what it was refused. */
static int ask_missing(struct flow *flow, const struct resumption *resumption,
		       struct error **ret_error)
{
	struct ask question = {
		.kind = ASK_RETRY,
		.refused = resumption->refused,
		.why = "the sandbox refused what it needs, and the answer was put off",
		.retry_reason = "run it again, with what it was refused?",
		.starts_again = true};
	_cleanup_list_ struct list grants = {0};
	_cleanup_answer_ struct answer answer = {0};
	_cleanup_(extents_done) struct extents levels = {0};
	int r;

	for (size_t i = 0; i < resumption->missing->count; i++)
		list_add(&grants, resumption->missing->items[i]);
	/* As it was when it was put: the answer says which of them it is to. */
	flow_offer_level(flow, &grants, &question, &levels);
	r = flow_put(flow, "retry", &question, &grants, &answer, ret_error);
	return r < 0 ? r : flow_take_first(flow, &answer, ret_error);
}

int flow_ask_before(struct flow *flow, struct error **ret_error)
{
	const struct resumption *resumption = resumption_of(flow);

	if (flow->verdict.kind == VERDICT_DENY)
		return 0;
	if (resumption && resumption->missing && resumption->missing->count)
		return ask_missing(flow, resumption, ret_error);
	return flow->verdict.kind == VERDICT_ASK ? flow_ask_first(flow, ret_error) : 0;
}

/* Where ward has become another user, the rest would not be the same request: whose policy it is,
 * and who may run it without the sandbox. And what the caller feeds it nobody keeps. */
bool flow_may_defer(const struct flow *flow)
{
	const struct resumption *resumption = resumption_of(flow);
	struct stat st;

	return resumption && resumption->defer && !flow->identity.changes &&
	       flow->request->mode != MODE_PATCH && flow->input.waiting <= 0 &&
	       !(fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode));
}

/* What it got in this run it needs again. */
static void add_granted(const struct flow *flow, const struct list *missing, struct list *ret_all)
{
	for (size_t i = 0; i < flow->granted.count; i++)
		list_add(ret_all, flow->granted.items[i]);
	for (size_t i = 0; i < missing->count; i++)
		if (!list_has(ret_all, missing->items[i]))
			list_add(ret_all, missing->items[i]);
}

int flow_defer(struct flow *flow, const char *question, const struct list *missing,
	       const struct list *refused, struct error **ret_error)
{
	const struct resumption *resumption = resumption_of(flow);
	_cleanup_list_ struct list all = {0};
	const struct deferred deferred = {.question = question,
					  .session = flow->session.id,
					  .patience_ns = flow->defer_seconds * 1000000000,
					  .missing = missing ? &all : NULL,
					  .refused = refused,
					  .inode = flow->identity.inode,
					  .owner = flow->identity.owner};
	int r;

	if (missing)
		add_granted(flow, missing, &all);
	r = resumption->defer(resumption->data, flow->state, flow->request, &deferred,
			      &flow->result->ticket, ret_error);
	queue_release(&flow->queue, /* stands= */ r == 0);
	if (r < 0 || missing) {
		if (r == 0)
			flow_say(flow, "what it was refused is answered later: ward wait %s",
				 flow->result->ticket);
		return r;
	}
	fail(ret_error, E_DEFERRED, "this needs a person's yes, and that comes later: ticket %s",
	     flow->result->ticket);
	return error_hint(ret_error, "ward wait %s", flow->result->ticket);
}

int flow_defer_wishes(struct flow *flow, struct error **ret_error)
{
	_cleanup_list_ struct list refused = {0};
	int r;

	if (!flow->deferred.count)
		return 0;
	for (size_t i = 0; i < flow->deferred.count; i++)
		list_add(&refused, flow->deferred.items[i]);
	r = flow_defer(flow, flow->question, &flow->deferred, &refused, ret_error);
	return r < 0 ? r : 1;
}
