/* SPDX-License-Identifier: Apache-2.0 */
/* The policy of a request, and what of it is about questions that nobody answers. */
#include "flow_state.h"
#include "record/session_policy.h"
#include "sandbox/walls.h"

#include <string.h>

enum { PATIENCE_SECONDS = 30 * 60 };

/* What somebody has registered for its session; NULL: nothing. Caller frees. */
static char *registered_for(const struct request *request, const char *state)
{
	_cleanup_free_ char *session = NULL;

	if (!session_policy_is_used(state))
		return NULL;
	session = request->session ? strdup(request->session) : session_default(request->agent);
	return session_policy_path(state, session);
}

/* The configuration is read once and does not change under the request. Whose word counts is
 * whoever called ward, not whoever the command will run as. */
static struct policy_places places_of(const struct request *request, const char *state,
				      const char *session, struct list *walls)
{
	wall_names(WALLS_ALL, walls);
	return (struct policy_places){
		.workspace = request->workspace,
		.home = getenv("HOME"),
		.config_home = getenv("XDG_CONFIG_HOME"),
		.state = state,
		.extra = request->policy,
		.foreign_extra = request->foreign,
		.session = session,
		.profile = request->profile,
		.uid = geteuid(),
		.walls = walls,
	};
}

int flow_load_policy(const struct request *request, const char *state,
		     const struct policy **ret_policy, struct error **ret_error)
{
	_cleanup_list_ struct list walls = {0};
	_cleanup_free_ char *session = registered_for(request, state);
	const struct policy_places places = places_of(request, state, session, &walls);

	return policy_current(&places, ret_policy, ret_error);
}

int flow_load_policy_anew(const struct request *request, const char *state,
			  struct policy **ret_policy)
{
	_cleanup_list_ struct list walls = {0};
	_cleanup_free_ char *session = registered_for(request, state);
	struct policy_places places = places_of(request, state, session, &walls);

	places.brief = true;
	return policy_load(&places, ret_policy, /* ret_error= */ NULL);
}

uint64_t flow_patience(const struct flow *flow)
{
	const struct session_asks *asks = &flow->policy->asks;

	if (flow->request->wait_ns)
		return flow->request->wait_ns;
	if (asks->registered)
		return asks->timeout_ns ? asks->timeout_ns : PATIENCE_SECONDS * 1000000000ull;
	if (!flow->policy->wait_ns && flow_is_tiered(flow))
		return tiers_answer(&flow->policy->tiers);
	/* Somebody is told of it, and may come. */
	if (!flow->policy->wait_ns && !flow->identity.changes &&
	    notify_reaches_approvers(&flow->policy->notify, flow->request->agent))
		return PATIENCE_SECONDS * 1000000000ull;
	return flow->policy->wait_ns;
}

bool flow_policy_is_stale(const struct flow *flow)
{
	_cleanup_free_ char *session = registered_for(flow->request, flow->state);

	return !policy_is_current(flow->policy) ||
	       (session != NULL) != flow->policy->asks.registered;
}

bool flow_is_queued(const struct flow *flow)
{
	return flow->policy->asks.queued && flow_may_defer(flow);
}

/* To run in the sandbox with what it holds; a permission is never given by silence. It must have
 * lasted as long as was registered, whatever the request says, and not end because its asker was
 * told to. */
void flow_answer_silence(const struct flow *flow, const struct ask *question,
			 const struct list *grants, struct answer *answer)
{
	const struct session_asks *asks = &flow->policy->asks;
	uint64_t least = asks->timeout_ns ? asks->timeout_ns : PATIENCE_SECONDS * 1000000000ull;
	char *put; /* the question, as it was put to others */

	if (answer->kind != ANSWER_NOBODY || answer->waited_ns < least || !asks->allows ||
	    grants->count || question->kind != ASK_BEFORE || flow->verdict.level == LEVEL_NONE ||
	    question->tier || question->route)
		return;
	put = STEAL(answer->question);
	answer_done(answer);
	*answer = (struct answer){.kind = ANSWER_APPROVE,
				  .scope = SCOPE_ONCE,
				  .question = put,
				  .by_default = true,
				  .by = strdup("nobody in time: the session's default")};
}
