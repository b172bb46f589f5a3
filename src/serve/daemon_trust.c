/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of agents, for programs that embed ward: by the approvers' socket, never by the agents'.
 */
#include "../decide/policy.h"
#include "../record/audit.h"
#include "../record/session.h"
#include "../record/state.h"
#include "../request/text_json.h"
#include "daemon_parts.h"

#include <string.h>
#include <unistd.h>

/* The policy of whoever the daemon serves: no project has a say. */
static int load(struct client *client, struct policy **ret_policy, struct error **ret_error)
{
	struct policy_places places = {.workspace = "/",
				       .home = getenv("HOME"),
				       .config_home = getenv("XDG_CONFIG_HOME"),
				       .state = client->daemon->state,
				       .uid = geteuid()};

	if (client->peer.uid != geteuid() && client->peer.uid != 0)
		return fail(ret_error, E_REJECTED, "scores are the business of their owner");
	return policy_load(&places, ret_policy, ret_error);
}

static int agent_of(json_t *params, const struct policy *policy, const char **ret_agent,
		    struct error **ret_error)
{
	const char *agent = json_string_value(json_object_get(params, "agent"));
	int r = agent ? session_check_agent(agent, ret_error)
		      : fail(ret_error, E_INPUT, "params need agent, the name of one");

	if (r == 0 && !trust_binds(policy, agent))
		r = fail(ret_error, E_INPUT, "the policy does not put '%s' under trust", agent);
	*ret_agent = agent;
	return r;
}

static int tell_score(struct client *client, const struct policy *policy, const char *agent,
		      json_t **ret_result, struct error **ret_error)
{
	double score;
	int r = trust_score(client->daemon->state, policy, agent, &score, ret_error);

	if (r < 0)
		return r;
	*ret_result = json_pack("{s:s, s:i}", "agent", agent, "score", trust_points(score));
	return 0;
}

static int work_score(struct client *client, json_t *params, json_t **ret_result,
		      struct error **ret_error)
{
	_cleanup_policy_ struct policy *policy = NULL;
	const char *agent;
	int r = load(client, &policy, ret_error);

	if (r == 0)
		r = agent_of(params, policy, &agent, ret_error);
	return r < 0 ? r : tell_score(client, policy, agent, ret_result, ret_error);
}

/* On record before it takes effect. */
static int record(struct client *client, const char *agent, const char *kind, const char *why,
		  struct error **ret_error)
{
	struct audit *audit = NULL;
	json_t *body = json_object();
	int r = state_directory_make(client->daemon->state, ret_error);

	json_put_text(body, "agent", agent);
	json_put_text(body, "change", kind);
	json_put_text(body, "why", why);
	json_put_text(body, "by", client->by);
	if (r == 0)
		r = audit_open(client->daemon->state, &audit, ret_error);
	if (r == 0)
		r = audit_append(audit, "trust", NULL, body, ret_error);
	if (audit)
		audit_close(audit);
	json_decref(body);
	return r;
}

static int work_note(struct client *client, json_t *params, json_t **ret_result,
		     struct error **ret_error)
{
	const char *kind = json_string_value(json_object_get(params, "kind"));
	const char *why = json_string_value(json_object_get(params, "why"));
	_cleanup_policy_ struct policy *policy = NULL;
	const char *agent;
	int r = load(client, &policy, ret_error);

	if (r == 0)
		r = agent_of(params, policy, &agent, ret_error);
	if (r == 0 && (!kind || (strcmp(kind, "task") != 0 && strcmp(kind, "override") != 0)))
		r = fail(ret_error, E_INPUT, "kind is task or override");
	if (r == 0 && (!why || !*why))
		r = fail(ret_error, E_INPUT, "params need why");
	if (r == 0)
		r = record(client, agent, kind, why, ret_error);
	if (r == 0)
		r = trust_note_by(client->daemon->state, policy, agent,
				  strcmp(kind, "task") == 0 ? TRUST_TASK : TRUST_OVERRIDE, why,
				  client->by, /* key= */ NULL, ret_error);
	return r < 0 ? r : tell_score(client, policy, agent, ret_result, ret_error);
}

void method_trust_score(struct client *client, json_t *id, json_t *params)
{
	work_start(client, id, params, work_score, NULL);
}

void method_trust_note(struct client *client, json_t *id, json_t *params)
{
	work_start(client, id, params, work_note, NULL);
}
