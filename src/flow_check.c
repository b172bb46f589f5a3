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
		flow.session.id = request->session ? strdup(request->session)
						   : session_default(request->agent);
		if (request->agent)
			r = session_check_agent(request->agent, ret_error);
		if (r == 0 && !session_is_name(flow.session.id))
			r = fail(ret_error, E_USAGE, "'%s' cannot be the name of a session",
				 flow.session.id);
	}
	if (r == 0)
		r = flow_look(&flow, ret_error);
	if (r == 0)
		show(&flow.plan, &flow.assessment, &flow.verdict, data);
	flow_done(&flow);
	return r;
}

void flow_warm(const struct request *request)
{
	_cleanup_free_ char *state = NULL;
	const struct policy *policy;

	if (request->workspace && state_directory(&state, NULL) == 0)
		(void)flow_load_policy(request, state, &policy, NULL);
}
