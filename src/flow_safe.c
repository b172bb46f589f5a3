/* SPDX-License-Identifier: Apache-2.0 */
/* Agents under trust: what they try against the rules counts, and the moment at which it is too
 * much. Then all that the agent runs stands still, whatever it was granted ends, and an incident is
 * open until a person closes it. What runs are told, and how they go on, is in flow_mode.c. */
#include "flow_state.h"
#include "base/path.h"
#include "decide/violations.h"
#include "record/process_tree.h"
#include "request/text_json.h"

#include <stdio.h>
#include <string.h>

enum { LEDGER_MOST = 200, TAIL_MOST = 4096 };

/* -- What was there at that moment ---------------------------------------------------------------
 */

static json_t *ledger(const struct flow *flow)
{
	const struct denial *denials = NULL;
	json_t *array = json_array();
	size_t count = 0;

	if (flow->observer)
		count = observer_denials(flow->observer, &denials);
	if (count == 0 && flow->result->attempt_count) {
		const struct attempt *last =
			&flow->result->attempts[flow->result->attempt_count - 1];

		denials = last->denials;
		count = last->denial_count;
	}
	for (size_t i = count > LEDGER_MOST ? count - LEDGER_MOST : 0; i < count; i++) {
		struct denial denial = denials[i];

		denial.violation = flow_violation(flow, &denial);
		json_array_append_new(array, denial_to_json(&denial));
	}
	return array;
}

static void keep_tail(void *data, const char *bytes, size_t length)
{
	struct buffer *tail = data;

	buffer_add(tail, bytes, length);
	if (tail->length > TAIL_MOST) {
		memmove(tail->data, tail->data + tail->length - TAIL_MOST, TAIL_MOST);
		tail->length = TAIL_MOST;
	}
}

static void put_output(const struct flow *flow, json_t *moment)
{
	_cleanup_buffer_ struct buffer tail = {0};
	const struct output *last = &flow->result->aggregated;

	capture_replay(&flow->streams.aggregated, keep_tail, &tail);
	if (tail.length == 0 && last->data)
		keep_tail(&tail, last->data, last->length);
	json_put_bytes(moment, "output_tail", tail.data ? tail.data : "", tail.length);
}

static json_t *moment_of(const struct flow *flow, json_t *grants)
{
	json_t *moment = json_object();

	json_put_text(moment, "run", flow->result->run);
	json_put_text(moment, "session", flow->session.id);
	json_put_text(moment, "workspace", flow->request->workspace);
	json_put_list(moment, "argv", &flow->prepared.argv);
	json_put(moment, "ledger", ledger(flow));
	put_output(flow, moment);
	json_put(moment, "processes",
		 flow->entry.init > 0 ? process_tree(flow->entry.init) : json_array());
	json_put(moment, "grants", grants);
	json_put_text(moment, "token", flow->token ? flow->powers.id : NULL);
	return moment;
}

/* -- What it was granted ends --------------------------------------------------------------------
 */

/* Leaves those of the agent; as they were, for the incident. */
static json_t *select_grants(struct grants *grants, const char *agent, struct list *ret_sessions)
{
	json_t *array = json_array();
	size_t kept = 0;

	for (size_t i = 0; i < grants->count; i++) {
		struct grant *grant = &grants->items[i];

		if (grant->refusal || !grant->agent || strcmp(grant->agent, agent) != 0) {
			grant_done(grant);
			continue;
		}
		json_array_append_new(array, grant_to_json(grant));
		if (!list_has(ret_sessions, grant->session))
			list_add(ret_sessions, grant->session);
		grants->items[kept++] = *grant;
	}
	grants->count = kept;
	return array;
}

/* Of all sessions. Nobody is waited for: what runs was told before this, and believes in none of
 * them. What cannot be read cannot be used either. */
static json_t *take_back(struct flow *flow)
{
	_cleanup_list_ struct list sessions = {0};
	struct grants grants = {0};
	uint64_t length;
	json_t *were;

	if (grants_load_all(flow->safety.state, /* spent= */ true, &grants, NULL) < 0)
		return json_array();
	were = select_grants(&grants, flow->request->agent, &sessions);
	for (size_t i = 0; i < grants.count; i++)
		(void)flow_record(flow, "grant.revoke",
				  json_pack("{s:o}", "grant", grant_to_json(&grants.items[i])),
				  /* ret_error= */ NULL);
	for (size_t i = 0; i < sessions.count; i++)
		if (!(checks_switched_off() & CHECK_BIT(CHECK_REVOKE)))
			(void)grants_revoke(flow->safety.state, sessions.items[i], &grants, &length,
					    NULL);
	grants_done(&grants);
	return were;
}

/* -- The moment ----------------------------------------------------------------------------------
 */

static void count_told(void *data, const char *run, pid_t supervisor)
{
	(void)run, (void)supervisor;
	(*(size_t *)data)++;
}

static int open_incident(struct flow *flow, json_t *violation, bool *ret_new, size_t *ret_told,
			 struct error **ret_error)
{
	const char *agent = flow->request->agent, *state = flow->safety.state;
	_cleanup_free_ char *place = agent_place(state, agent);
	struct agent_mode mode;
	int r = incident_open(state, agent, flow->result->run, violation, &mode, ret_new,
			      ret_error);

	if (r < 0) {
		/* The others read that, and end. */
		mode_leave_unsettled(state, agent, flow->result->run);
		(void)holders_signal(place, flow->result->run, RUN_LOOK, NULL, NULL);
		return r;
	}
	flow->safety.freezes = mode.freezes;
	memcpy(flow->safety.incident, mode.incident, ID_TEXT);
	if (holders_signal(place, flow->result->run, RUN_LOOK, count_told, ret_told) < 0)
		list_add(&flow->result->warnings,
			 "a run of the agent could not be told to stand still: it does when it is "
			 "next looked at");
	return mode_sync(state, agent, ret_error);
}

/* Only init is left: the command was faster than we, and there is nothing to hold. */
static void let_ended_go(struct flow *flow, const json_t *processes)
{
	size_t living = 0, i;
	json_t *process;

	json_array_foreach ((json_t *)processes, i, process) {
		const char *state = json_string_value(json_object_get(process, "state"));

		living += state && *state != 'Z' && *state != 'X';
	}
	if (flow->safety.over || living > 1 || !run_is_frozen(flow->run))
		return;
	flow->safety.over = true;
	run_thaw(flow->run);
}

static int describe(struct flow *flow, bool new, struct error **ret_error)
{
	const char *agent = flow->request->agent, *state = flow->safety.state;
	json_t *grants = take_back(flow), *moment = moment_of(flow, grants);

	let_ended_go(flow, json_object_get(moment, "processes"));
	flow_drop_own_token(flow);
	return new ? incident_add(state, agent, flow->safety.incident, moment, ret_error)
		   : incident_append(state, agent, flow->safety.incident, "moments", moment,
				     ret_error);
}

static int record_incident(struct flow *flow, json_t *violation, bool new, size_t told,
			   struct error **ret_error)
{
	json_t *body = json_object();

	json_put_text(body, "incident", flow->safety.incident);
	json_put(body, "violation", json_incref(violation));
	json_put_text(body, "workspace", flow->request->workspace);
	json_put_text(body, "commands",
		      flow->safety.over		 ? "none"
		      : run_is_frozen(flow->run) ? "frozen"
						 : "killed");
	json_put_count(body, "other_runs", told);
	/* Whatever the command's own risk is: no channel is to leave this out. */
	json_put_text(body, "risk", risk_name(RISK_CRITICAL));
	return flow_record(flow, new ? "incident.opened" : "incident.more", body, ret_error);
}

/* What runs stands still first; then everybody else is told, and only then is it written down what
 * there was. What cannot be written is a reason to end it, and is left for whoever starts the agent
 * next: an agent whose mode is nowhere would start in the normal one, and it may have filled the
 * disk itself. */
static void go_safe(struct flow *flow, const struct violation *violation)
{
	json_t *object = violation_to_json(violation);
	struct error *error = NULL;
	bool new = false;
	size_t told = 0;
	int r;

	flow_stand_still(flow);
	r = open_incident(flow, object, &new, &told, &error);
	if (r == 0)
		r = describe(flow, new, &error);
	if (r == 0)
		r = record_incident(flow, object, new, told, &error);
	json_decref(object);
	if (r < 0) {
		(void)error_wrap(&error, "agent %s was to be put in safe mode",
				 flow->request->agent);
		error_free(flow->failure);
		flow->failure = error;
		if (flow->run)
			run_end(flow->run);
		return;
	}
	free(flow->result->incident);
	flow->result->incident = strdup(flow->safety.incident);
	flow_tell_still(flow, violation);
}

/* -- What counts ---------------------------------------------------------------------------------
 */

/* True if it is too much. In doubt it is. */
static bool is_too_much(struct flow *flow, const struct violation *violation)
{
	const struct violation_limits limits = flow_violation_limits(flow);
	uint64_t count;

	if (violation->severity == SEVERITY_HIGH)
		return true;
	if (mode_count(flow->safety.state, flow->request->agent, flow->result->run,
		       violation->object, limits.within_ns, &count, NULL) < 0)
		return true;
	return count > limits.medium;
}

static void weigh(struct flow *flow, const char *why, const char *operation, const char *object,
		  const char *rule, bool told)
{
	struct violation violation;

	if (!flow->safety.bound || list_has(&flow->safety.counted, object))
		return;
	list_add(&flow->safety.counted, object);
	violation_make(why, operation, object, rule, &violation);
	if (is_too_much(flow, &violation))
		go_safe(flow, &violation);
	if (!told)
		(void)flow_record(flow, "violation", violation_to_json(&violation),
				  /* ret_error= */ NULL);
	flow_lose_trust(flow, &violation);
}

const char *flow_violation(const struct flow *flow, const struct denial *denial)
{
	const char *token;

	if (denial->answer && strcmp(denial->answer, "granted") == 0)
		return NULL;
	token = flow_token_violation(flow, denial);
	return token || !flow->safety.bound
		       ? token
		       : violation_why(denial, &flow->verdict.permissions.rules,
				       &flow->safety.refused);
}

/* What is to be ended is ended first, and hears nothing: it would have the time until its end. */
static bool hold(void *data, const struct denial *denial)
{
	struct flow *flow = data;

	if (!flow->run)
		return true;
	if (!run_is_over(flow->run) && flow_violation(flow, denial) &&
	    !list_has(&flow->safety.counted, denial->object) &&
	    (flow_violation_limits(flow).kill || !run_hold(flow->run)))
		flow_weigh_denials(flow);
	return !run_is_over(flow->run);
}

const struct warden *flow_warden(struct flow *flow)
{
	flow->warden = (struct warden){hold, flow};
	return flow->safety.bound ? &flow->warden : NULL;
}

static void weigh_denials(struct flow *flow, const struct denial *denials, size_t count)
{
	for (; flow->safety.judged < count; flow->safety.judged++) {
		const struct denial *denial = &denials[flow->safety.judged];
		const char *why = flow_violation(flow, denial);

		if (why)
			weigh(flow, why, denial->operation, denial->object, denial->rule,
			      /* told= */ true);
	}
}

void flow_weigh_denials(struct flow *flow)
{
	const struct denial *denials;

	if (!flow->safety.bound || !flow->observer)
		return;
	weigh_denials(flow, denials, observer_denials(flow->observer, &denials));
	if (flow->run)
		run_let_go(flow->run);
}

void flow_mark_violations(struct flow *flow, struct attempt *attempt)
{
	for (size_t i = 0; i < attempt->denial_count; i++)
		attempt->denials[i].violation = flow_violation(flow, &attempt->denials[i]);
	if (flow->safety.bound)
		weigh_denials(flow, attempt->denials, attempt->denial_count);
}

void flow_weigh_limit(struct flow *flow, enum run_limit limit)
{
	if (violation_is_limit(limit, flow->request))
		weigh(flow, "limit", "limit", limit_name(limit), /* rule= */ NULL,
		      /* told= */ false);
}

/* A rule that a person wrote denies the command, or a person has said no to it before. */
void flow_weigh_verdict(struct flow *flow)
{
	const struct verdict *verdict = &flow->verdict;
	_cleanup_free_ char *object = request_command_text(flow->request);

	if (verdict->kind != VERDICT_DENY)
		return;
	if (strcmp(verdict->source, "rule") == 0 && verdict->rule)
		weigh(flow, "rule", /* operation= */ NULL, object, verdict->rule,
		      /* told= */ false);
	else if (strcmp(verdict->source, "cache") == 0)
		weigh(flow, "refused", /* operation= */ NULL, object, verdict->reason,
		      /* told= */ false);
}

/* Before anything is known of its mode. Where ward would have become another user, it does so now:
 * that one's state is where the agent's runs and grants are, and nothing is run any more. */
void flow_weigh_token(struct flow *flow, const char *why)
{
	flow->safety.bound = flow_is_tiered(flow);
	flow->safety.state = flow->state;
	if (flow->safety.bound && flow->identity.changes) {
		flow_find_state(flow);
		if (identity_become(&flow->identity, /* may_return= */ false,
				    /* ret_error= */ NULL) == 0)
			flow->safety.state = flow->own_state;
	}
	weigh(flow, "token", /* operation= */ NULL, "a token", why, /* told= */ true);
}

/* -- What people say no to -----------------------------------------------------------------------
 */

bool flow_was_refused(const struct flow *flow, const char *operation, const char *object)
{
	_cleanup_free_ char *target = NULL;

	if (!flow->safety.refused.count)
		return false;
	if (asprintf(&target, "%s %s", operation, object) < 0)
		abort();
	return list_has(&flow->safety.refused, target);
}

void flow_note_no(struct flow *flow, const char *operation, const char *object)
{
	if (flow->safety.bound)
		(void)refused_note(flow->safety.state, flow->request->agent, flow->result->run,
				   operation, object, /* ret_error= */ NULL);
}

void flow_note_nos(struct flow *flow, const struct list *permissions)
{
	for (size_t i = 0; i < permissions->count; i++) {
		const char *permission = permissions->items[i], *rest = strchr(permission, ' ');
		_cleanup_free_ char *operation =
			rest ? strndup(permission, (size_t)(rest - permission)) : NULL;
		_cleanup_free_ char *path = rest && rest[1] == '/' ? path_unescape(rest + 1) : NULL;

		if (rest)
			flow_note_no(flow, operation, path ? path : rest + 1);
	}
}
