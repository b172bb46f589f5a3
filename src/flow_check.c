/* SPDX-License-Identifier: Apache-2.0 */
/* The flow up to its verdict, and no further: nothing is run, nothing recorded. */
#include "flow_state.h"
#include "record/state.h"

#include <string.h>

int flow_check(const struct request *request,
	       void (*show)(const struct plan *plan, const struct assessment *assessment,
			    const struct verdict *verdict, void *data),
	       void *data, struct error **ret_error)
{
	_cleanup_result_ struct result result;
	struct flow flow;
	int r;

	result_init(&result);
	flow_init(&flow, request, &result);
	if ((r = identity_choose(request->workspace, &flow.identity, ret_error)) == 0 &&
	    (r = state_directory(&flow.state, ret_error)) == 0 &&
	    (r = flow_load_policy(request, flow.state, &flow.policy, ret_error)) == 0) {
		flow_find_state(&flow);
		r = flow_find_mode(&flow, ret_error);
		flow.session.id = request->session ? strdup(request->session)
						   : session_default(request->agent);
		if (r == 0 && request->agent)
			r = session_check_agent(request->agent, ret_error);
		if (r == 0 && !session_is_name(flow.session.id))
			r = fail(ret_error, E_USAGE, "'%s' cannot be the name of a session",
				 flow.session.id);
	}
	if (r == 0)
		r = flow_look(&flow, ret_error);
	if (r == 0 && flow.verdict.kind == VERDICT_ASK && flow_is_tiered(&flow))
		flow.verdict.tier = tier_name(flow_tier_before(&flow, &flow.verdict.wanted));
	if (r == 0 && flow.verdict.kind == VERDICT_ASK)
		flow.verdict.answered_by = flow_describe_route(&flow, &flow.verdict.wanted);
	if (r == 0)
		show(&flow.plan, &flow.assessment, &flow.verdict, data);
	flow_done(&flow);
	return r;
}

bool flow_is_routed(const struct request *request, const struct list *grants)
{
	_cleanup_result_ struct result result;
	struct flow flow;
	bool routed = true;

	result_init(&result);
	flow_init(&flow, request, &result);
	if (state_directory(&flow.state, NULL) == 0 &&
	    flow_load_policy(request, flow.state, &flow.policy, NULL) == 0) {
		routed = flow.policy->routing.rule_count > 0;
		if (routed) {
			parse_request(flow.arena, request, &flow.plan);
			assess_plan(flow.arena, &flow.plan, &flow.assessment);
			routed = flow_has_route(&flow, grants);
		}
	}
	flow_done(&flow);
	return routed;
}

void flow_warm(const struct request *request)
{
	_cleanup_free_ char *state = NULL;
	const struct policy *policy;

	if (request->workspace && state_directory(&state, NULL) == 0)
		(void)flow_load_policy(request, state, &policy, NULL);
}
