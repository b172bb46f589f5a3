/* SPDX-License-Identifier: Apache-2.0 */
/* Who answers the questions of a request: the routes of its policy. */
#include "flow_state.h"
#include "escalate/approver.h"
#include "escalate/route.h"

enum { PATIENCE_SECONDS = 30 * 60 };

static json_t *find(const struct flow *flow, const struct policy *policy,
		    const struct assessment *assessment, const struct list *grants)
{
	_cleanup_circumstances_ struct circumstances circumstances = {0}, raised = {0};
	_cleanup_free_ char *login = NULL;
	struct route_subject subject;

	if (policy->routing.rule_count == 0)
		return NULL;
	login = login_of(policy->uid);
	circumstances_make(policy, flow->request, &flow->plan, &flow->assessment, &circumstances);
	circumstances_make(policy, flow->request, &flow->plan, assessment, &raised);
	subject = (struct route_subject){.circumstances = &circumstances,
					 .raised = &raised,
					 .plan = &flow->plan,
					 .grants = grants,
					 .cwd = flow->request->cwd,
					 .login = login};
	return routes_for(policy, &subject);
}

/* As it would be for a question about these. */
static json_t *find_for(const struct flow *flow, const struct list *grants)
{
	struct ask question = {.grants = grants};
	struct assessment given;

	flow_weigh_grants(flow, &question, &given);
	return find(flow, flow->policy, &given, grants);
}

bool flow_has_route(const struct flow *flow, const struct list *grants)
{
	json_t *route = find_for(flow, grants);
	bool has = route;

	json_decref(route);
	return has;
}

char *flow_describe_route(const struct flow *flow, const struct list *grants)
{
	json_t *route = find_for(flow, grants);
	_cleanup_buffer_ struct buffer text = {0};

	if (!route)
		return NULL;
	route_describe(route, &text);
	json_decref(route);
	return buffer_steal(&text);
}

/* Whether the files say now that he is one of those; one who was taken out of them meanwhile is
 * not. Where ward has become somebody else it cannot read them again. */
static bool may_still(void *data, const char *way)
{
	const struct routed *routed = data;
	_cleanup_policy_ struct policy *policy = NULL;
	json_t *route;
	bool may;

	if (routed->flow->identity.changes || policy_is_current(routed->flow->policy))
		return true;
	if (flow_load_policy_anew(routed->flow->request, routed->flow->state, &policy) < 0)
		return false;
	route = find(routed->flow, policy, routed->assessment, routed->grants);
	may = !route || route_person(route, way);
	json_decref(route);
	return may;
}

void flow_route(struct flow *flow, struct ask *question, const struct list *grants,
		struct routed *routed)
{
	routed_done(routed);
	*routed = (struct routed){.flow = flow,
				  .grants = grants,
				  .assessment = question->assessment,
				  .patience_ns = flow->queue.patience_ns,
				  .route = find(flow, flow->policy, question->assessment, grants)};
	routed->vetting = (struct vetting){may_still, routed};
	question->route = routed->route;
	if (!routed->route)
		return;
	question->vetting = &routed->vetting;
	question->objection_ns = 0; /* silence is nobody's yes then */
	flow->queue.terminal = flow->approver == &terminal_approver && terminal_is_attended();
	/* A request waits as long as it says; else as long as its route takes, or, where somebody
	 * looks at it waiting, as long as any question there. */
	if (!flow->queue.patience_ns)
		flow->queue.patience_ns = route_ns(routed->route);
	if (!flow->queue.patience_ns && flow->queue.terminal)
		flow->queue.patience_ns = PATIENCE_SECONDS * 1000000000ull;
}

const struct approver *flow_routed_approver(const struct flow *flow, const struct ask *question,
					    const struct approver *approver)
{
	return !question->route || approver->queued ? approver : &flow->queued;
}

void routed_done(struct routed *routed)
{
	json_decref(routed->route);
	if (routed->flow) {
		routed->flow->queue.patience_ns = routed->patience_ns;
		routed->flow->queue.terminal = false;
	}
	*routed = (struct routed){0};
}
