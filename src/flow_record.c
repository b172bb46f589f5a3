/* SPDX-License-Identifier: Apache-2.0 */
/* The recording part of the flow: what is decided goes on record before it takes effect, what is
 * refused when it is. Each record tells what no record of the run has told before, so that events
 * are made from one without looking at others. */
#include "flow_state.h"
#include "base/macro.h"
#include "request/text_json.h"

#include <string.h>
#include <unistd.h>

/* Of what a command tried, whose names it chose itself, so much is in one record as it happens, and
 * so much in the record of its end. */
enum { DENIALS_ROOM = 256 * 1024, END_ROOM = 700 * 1024 };

struct event_run flow_event(const struct flow *flow)
{
	return (struct event_run){.request = flow->request,
				  .result = flow->result,
				  .argv = &flow->prepared.argv,
				  .session = flow->session.id,
				  .level = flow->verdict.level,
				  .policy = flow->policy ? &flow->policy->files : NULL,
				  .rule = flow->verdict.rule,
				  .does = flow->key.does};
}

static void put_if_known(json_t *body, const char *key, const char *text)
{
	if (text && !json_object_get(body, key))
		json_put(body, key, json_text(text));
}

/* Who it is about stands in each record: whoever looks for an agent's need not know its runs. */
static void put_who(const struct flow *flow, json_t *body)
{
	put_if_known(body, "agent", flow->request->agent);
	put_if_known(body, "session", flow->session.id);
	put_if_known(body, "tool", flow->request->tool);
	put_if_known(body, "call_id", flow->request->call_id);
}

static void put_decisions(const struct flow *flow, json_t *body)
{
	const struct result *result = flow->result;
	json_t *decisions;

	if (json_object_get(body, "decisions")) { /* all of them */
		if (flow->told.decisions)
			json_put_count(body, "told", flow->told.decisions);
		return;
	}
	if (flow->told.decisions >= result->decision_count)
		return;
	decisions = json_array();
	for (size_t i = flow->told.decisions; i < result->decision_count; i++)
		json_array_append_new(decisions, decision_to_json(&result->decisions[i]));
	json_put(body, "decisions", decisions);
}

/* Takes ownership of body. */
int flow_record(struct flow *flow, const char *kind, json_t *body, struct error **ret_error)
{
	int r;

	put_who(flow, body);
	put_decisions(flow, body);
	if (!flow->noted) {
		/* Whoever finds the run without an end can tell whether it goes on. */
		(void)audit_hold(flow->audit, flow->result->run);
		json_put(body, "pid", json_integer(getpid()));
		json_put(body, "risk", json_string(risk_name(flow->assessment.risk)));
	}
	r = audit_append(flow->audit, kind, flow->result->run, body, ret_error);
	json_decref(body);
	if (r < 0)
		return r;
	flow->noted = true;
	flow->told.decisions = flow->result->decision_count;
	return 0;
}

static void put_given(json_t *body, const struct givens *givens)
{
	json_t *given = json_object_get(body, "given");

	for (size_t i = 0; i < givens->count; i++) {
		if (!givens->items[i].grant) /* a rule's, which is no grant */
			continue;
		if (!given)
			json_put(body, "given", given = json_array());
		json_array_append_new(given, json_pack("{s:o, s:o}", "permission",
						       json_text(givens->items[i].permission),
						       "grant", json_text(givens->items[i].grant)));
	}
}

/* Those that somebody set: whoever looks at the run can say how near it is. */
static void put_limits(json_t *body, const struct limits *limits)
{
	const struct {
		const char *key;
		uint64_t value;
	} all[] = {{"memory", limits->memory},
		   {"millicpus", limits->millicpus},
		   {"cpu_ms", limits->cpu_ns / 1000000},
		   {"processes", limits->processes},
		   {"disk", limits->disk},
		   {"output", limits->output},
		   {"time_ms", limits->time_ns / 1000000},
		   {"idle_ms", limits->idle_ns / 1000000}};
	json_t *object = NULL;

	for (size_t i = 0; i < ELEMENTS(all); i++) {
		if (!all[i].value)
			continue;
		if (!object)
			json_put(body, "limits", object = json_object());
		json_put_count(object, all[i].key, all[i].value);
	}
}

int flow_record_start(struct flow *flow, struct error **ret_error)
{
	const struct event_run run = flow_event(flow);
	json_t *body = event_start(&run);
	int r;

	put_limits(body, &flow->verdict.limits);
	put_given(body, &flow->verdict.permissions.given);
	put_given(body, &flow->verdict.permissions.fixed);
	r = flow_record(flow, "run.start", body, ret_error);
	flow->begun = r == 0;
	return r;
}

/* What a denial takes in a record at most: a byte can become six. */
static size_t weight(const struct denial *denial)
{
	return 480 + 6 * (strlen(denial->object) + strlen(denial->rule));
}

/* Those from one on that fit into a record, at least one where there is one. */
static json_t *some_denials(const struct flow *flow, const struct denial *denials, size_t *from,
			    size_t count)
{
	json_t *array = json_array();
	size_t room = DENIALS_ROOM;

	for (; *from < count; (*from)++) {
		size_t needed = weight(&denials[*from]);
		struct denial denial;

		if (needed > room && json_array_size(array) > 0)
			break;
		room -= MIN(room, needed);
		denial = denials[*from];
		denial.violation = flow_violation(flow, &denial);
		json_array_append_new(array, denial_to_json(&denial));
	}
	return array;
}

static bool fit(const struct denial *denials, size_t from, size_t count, size_t room)
{
	size_t needed = 0;

	for (size_t i = from; i < count; i++)
		needed += weight(&denials[i]);
	return needed <= room;
}

/* What cannot be told now, because the disk is full perhaps, is told with the end. */
static void tell_denials(struct flow *flow, const struct denial *denials, size_t count,
			 size_t attempt)
{
	while (flow->told.denials < count && audit_has_room(flow->audit)) {
		size_t told = flow->told.denials;
		json_t *body = json_object();

		json_put_count(body, "attempt", attempt);
		json_put(body, "denials", some_denials(flow, denials, &told, count));
		if (flow_record(flow, "run.denials", body, /* ret_error= */ NULL) < 0)
			return;
		flow->told.denials = told;
	}
}

static void tell_ended_grants(struct flow *flow)
{
	struct givens ended = {0};

	observer_take_ended(flow->observer, &ended);
	for (size_t i = 0; i < ended.count; i++) {
		json_t *body = json_object();

		json_put_text(body, "permission", ended.items[i].permission);
		json_put_text(body, "grant", ended.items[i].grant);
		json_put_text(body, "why", ended.items[i].expires.wall ? "expired" : "revoked");
		(void)flow_record(flow, "grant.end", body, /* ret_error= */ NULL);
	}
	givens_done(&ended);
}

void flow_tell(struct flow *flow)
{
	const struct denial *denials;
	size_t count = observer_denials(flow->observer, &denials);

	if (count > flow->told.denials)
		tell_denials(flow, denials, count, flow->result->attempt_count + 1);
	if (observer_has_ended(flow->observer))
		tell_ended_grants(flow);
}

int flow_record_attempt(struct flow *flow, struct error **ret_error)
{
	size_t number = flow->result->attempt_count;
	const struct attempt *attempt = &flow->result->attempts[number - 1];
	json_t *body = json_object();
	int r;

	if (!fit(attempt->denials, flow->told.denials, attempt->denial_count, DENIALS_ROOM))
		tell_denials(flow, attempt->denials, attempt->denial_count, number);
	json_put_count(body, "attempt", number);
	json_put_text(body, "level", level_name(attempt->level));
	json_put(body, "exit_code", json_integer(attempt->exit_code));
	json_put_list(body, "walls", &attempt->walls);
	json_put(body, "denials",
		 some_denials(flow, attempt->denials, &flow->told.denials, attempt->denial_count));
	json_put_count(body, "denial_count", attempt->denial_count);
	r = flow_record(flow, "run.attempt", body, ret_error);
	flow->told.attempts = number;
	flow->told.denials = 0;
	return r;
}

/* A record has its bounds, and a command must not be able to have none of its end: what it tried is
 * told by then, and its list is cut. */
static void cut_denials(struct flow *flow, json_t *result)
{
	json_t *attempts = json_object_get(result, "attempts"), *attempt, *denials;
	size_t room = END_ROOM, left_out = 0, i;

	json_array_foreach (attempts, i, attempt) {
		const struct attempt *made = &flow->result->attempts[i];

		denials = json_object_get(attempt, "denials");
		for (size_t k = 0; k < made->denial_count; k++)
			if (room < weight(&made->denials[k])) {
				json_put_count(attempt, "denial_count", made->denial_count);
				while (json_array_size(denials) > k) {
					json_array_remove(denials, json_array_size(denials) - 1);
					left_out++;
				}
				break;
			} else {
				room -= weight(&made->denials[k]);
			}
	}
	if (left_out)
		json_array_append_new(json_object_get(result, "sandbox_warnings"),
				      json_sprintf("%zu refusals are left out of this record: "
						   "`ward events` tells them",
						   left_out));
}

/* What the events of the last attempt are: those that were not told as they happened. */
static json_t *end_body(struct flow *flow)
{
	const struct result *result = flow->result;
	const struct attempt *last =
		result->attempt_count ? &result->attempts[result->attempt_count - 1] : NULL;
	json_t *body = json_object(), *summary, *told;

	if (last && flow->told.attempts < result->attempt_count &&
	    !fit(last->denials, 0, last->denial_count, END_ROOM / 2))
		tell_denials(flow, last->denials, last->denial_count, result->attempt_count);
	summary = result_summary_to_json(result);
	cut_denials(flow, summary);
	json_put(body, "result", summary);
	if (flow->told.attempts || flow->told.denials) {
		told = json_object();
		json_put_count(told, "attempts", flow->told.attempts);
		json_put_count(told, "denials", flow->told.denials);
		json_put(body, "told_of", told);
	}
	return body;
}

void flow_record_end(struct flow *flow)
{
	struct error *error = NULL;

	if (!flow->noted)
		return;
	if (flow_record(flow, "run.end", end_body(flow), &error) < 0) {
		list_add_printf(&flow->result->warnings,
				"the end of the run could not be recorded: %s", error->message);
		if (!flow->result->error)
			flow->result->error = STEAL(error);
	}
	error_free(error);
}
