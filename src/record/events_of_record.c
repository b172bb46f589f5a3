/* SPDX-License-Identifier: Apache-2.0 */
/* The events that come of a record. What one says is in the record itself, so that a reader can
 * begin anywhere; the order is the one in which things happened. */
#include "eventlog.h"
#include "../base/macro.h"
#include "../request/text_json.h"

#include <stdio.h>
#include <string.h>

/* The record that is read, and what has come of it so far. */
struct making {
	const json_t *record;
	json_t *events;
};

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static void copy_to(json_t *event, const char *key, const json_t *from, const char *member)
{
	json_t *value = json_object_get(from, member);

	json_put(event, key, value ? json_incref(value) : json_null());
}

static void copy_all(json_t *event, const json_t *from, const char *const *members)
{
	for (; *members; members++)
		copy_to(event, *members, from, *members);
}

/* One more, with what all of them have. Borrowed from the array. */
static json_t *add(struct making *making, const char *kind)
{
	static const char *const who[] = {"run", "agent", "session", "tool", "call_id", NULL};
	json_t *event = json_object();
	char id[48];

	snprintf(id, sizeof(id), "%lld.%zu",
		 (long long)json_integer_value(json_object_get(making->record, "seq")),
		 json_array_size(making->events) + 1);
	json_put(event, "id", json_string(id));
	copy_to(event, "time", making->record, "time");
	json_put(event, "kind", json_string(kind));
	copy_all(event, making->record, who);
	if (json_array_append_new(making->events, event) < 0)
		abort();
	return event;
}

static void add_grant_use(struct making *making, json_t *permission, const char *grant,
			  const char *how)
{
	json_t *event = add(making, "grant.used");

	json_put(event, "permission", permission ? permission : json_null());
	json_put(event, "grant", grant ? json_string(grant) : json_null());
	json_put(event, "how", json_string(how));
}

/* What a person decided is told by the answer. */
static void add_decision(struct making *making, const json_t *decision)
{
	static const char *const members[] = {"verdict", "source", "by", "scope", "grant", NULL};
	const char *stage = text_of(decision, "stage");
	json_t *event;

	if (!stage || (strcmp(stage, "assess") && strcmp(stage, "decide") &&
		       strcmp(stage, "caller") && strcmp(stage, "token")))
		return;
	if (strcmp(stage, "assess") == 0) {
		event = add(making, "assessed");
		copy_to(event, "class", decision, "verdict");
		copy_to(event, "risk", making->record, "risk");
		return;
	}
	event = add(making, strcmp(stage, "decide") == 0 ? "verdict" : stage);
	copy_all(event, decision, members);
	if (strcmp(stage, "decide") == 0) {
		copy_to(event, "rule", making->record, "rule");
		copy_to(event, "command", making->record, "command");
	}
	if (text_of(decision, "grant") && strcmp(stage, "token") != 0)
		add_grant_use(making, json_null(), text_of(decision, "grant"), "answered before");
}

/* Those of the decisions that no record before this one has told. */
static void add_decisions(struct making *making)
{
	json_t *decisions = json_object_get(making->record, "decisions");
	size_t told = (size_t)json_integer_value(json_object_get(making->record, "told"));

	for (size_t i = told; i < json_array_size(decisions); i++)
		add_decision(making, json_array_get(decisions, i));
}

static void add_denials(struct making *making, json_t *denials, size_t from, json_int_t attempt)
{
	for (size_t i = from; i < json_array_size(denials); i++) {
		json_t *denial = json_array_get(denials, i), *event;
		const char *answer = text_of(denial, "answer");
		bool granted = answer && strcmp(answer, "granted") == 0;

		event = add(making, granted ? "grant.used" : "denial");
		json_put(event, "attempt", json_integer(attempt));
		json_put(event, "denial", json_incref(denial));
		if (granted)
			json_put(event, "how", json_string("in place"));
		if (!granted && text_of(denial, "violation")) {
			event = add(making, "violation");
			copy_to(event, "violation", denial, "violation");
			json_put(event, "denial", json_incref(denial));
		}
	}
}

static void add_attempt_end(struct making *making, const json_t *result, json_int_t number)
{
	const json_t *attempt =
		json_array_get(json_object_get(result, "attempts"), (size_t)number - 1);
	json_t *event = add(making, "attempt.ended");

	json_put(event, "attempt", json_integer(number));
	copy_to(event, "level", attempt, "level");
	copy_to(event, "exit_code", attempt, "exit_code");
	copy_to(event, "walls", attempt, "walls");
	if (json_object_get(attempt, "denial_count")) /* their list was cut */
		copy_to(event, "denials", attempt, "denial_count");
	else
		json_put_count(event, "denials",
			       json_array_size(json_object_get(attempt, "denials")));
}

static void add_limit(struct making *making, const json_t *result)
{
	json_t *event;

	if (!json_is_string(json_object_get(result, "limit")))
		return;
	event = add(making, "limit");
	copy_to(event, "limit", result, "limit");
	copy_to(event, "timed_out", result, "timed_out");
}

static void from_start(struct making *making)
{
	static const char *const members[] = {"command", "argv", "cwd", "workspace", "level", NULL};
	const char *verdict = text_of(making->record, "verdict");
	json_t *given = json_object_get(making->record, "given"), *item, *event;
	size_t i;

	if (!verdict || strcmp(verdict, "allow") != 0)
		return; /* denied or deferred: its end follows */
	json_array_foreach (given, i, item)
		add_grant_use(making, json_incref(json_object_get(item, "permission")),
			      text_of(item, "grant"), "given at the start");
	event = add(making, "attempt.started");
	json_put(event, "attempt", json_integer(1));
	copy_all(event, making->record, members);
}

static void from_ask(struct making *making)
{
	static const char *const members[] = {"command", "cwd", "why", "refused", "grants", NULL};
	json_t *event = add(making, "asked");

	copy_to(event, "stage", making->record, "ask");
	copy_all(event, making->record, members);
	if (json_object_get(making->record, "opinion"))
		copy_to(event, "opinion", making->record, "opinion");
}

static void from_answer(struct making *making)
{
	static const char *const members[] = {"answer", "scope", "by", "reason",
					      "grants", "grant", NULL};
	json_t *event = add(making, "answered");

	copy_all(event, making->record, members);
	if (json_object_get(making->record, "domains"))
		copy_to(event, "domains", making->record, "domains");
}

static void from_retry(struct making *making)
{
	static const char *const members[] = {"attempt", "level", "grants", NULL};

	copy_all(add(making, "attempt.started"), making->record, members);
}

static void from_denials(struct making *making)
{
	add_denials(making, json_object_get(making->record, "denials"), 0,
		    json_integer_value(json_object_get(making->record, "attempt")));
}

/* An attempt that another may follow: what of its denials was not told yet, and its end. */
static void from_attempt(struct making *making)
{
	static const char *const members[] = {"attempt", "level", "exit_code", "walls", NULL};
	json_t *event;

	from_denials(making);
	event = add(making, "attempt.ended");
	copy_all(event, making->record, members);
	copy_to(event, "denials", making->record, "denial_count");
}

static void from_grant_end(struct making *making)
{
	static const char *const members[] = {"permission", "grant", NULL};
	const char *why = text_of(making->record, "why");

	copy_all(
		add(making, why && strcmp(why, "expired") == 0 ? "grant.expired" : "grant.revoked"),
		making->record, members);
}

static const char *how_it_ended(const json_t *result)
{
	const char *error = text_of(json_object_get(result, "error"), "kind");

	if (json_is_string(json_object_get(result, "ticket")))
		return "deferred";
	if (json_is_true(json_object_get(result, "timed_out")))
		return "timed_out";
	if (json_is_string(json_object_get(result, "limit")))
		return "limit";
	if (error && strcmp(error, "rejected") == 0)
		return "refused";
	/* A command that could not do what it wanted has ended by itself. */
	if (error && strcmp(error, "sandbox_denied") != 0)
		return "failed";
	return json_is_integer(json_object_get(result, "signal")) ? "signalled" : "exited";
}

static void from_end(struct making *making)
{
	static const char *const members[] = {
		"verdict",     "source",    "exit_code", "signal",	     "timed_out", "limit",
		"duration_ms", "resources", "error",	 "sandbox_warnings", NULL};
	const json_t *result = json_object_get(making->record, "result");
	const json_t *told = json_object_get(making->record, "told_of");
	json_t *attempts = json_object_get(result, "attempts"), *event;
	size_t count = json_array_size(attempts);
	size_t ended = (size_t)json_integer_value(json_object_get(told, "attempts"));
	size_t denials = (size_t)json_integer_value(json_object_get(told, "denials"));

	for (size_t i = ended; i < count; i++) {
		add_denials(making, json_object_get(json_array_get(attempts, i), "denials"),
			    i == ended ? denials : 0, (json_int_t)i + 1);
		if (i == count - 1)
			add_limit(making, result);
		add_attempt_end(making, result, (json_int_t)i + 1);
	}
	event = add(making, "ended");
	json_put(event, "how", json_string(how_it_ended(result)));
	copy_all(event, result, members);
	json_put(event, "attempts", json_integer((json_int_t)count));
	if (json_is_string(json_object_get(result, "ticket")))
		copy_to(event, "ticket", result, "ticket");
}

static void from_lost(struct making *making)
{
	json_t *event = add(making, "ended");

	json_put(event, "how", json_string("killed"));
	copy_to(event, "why", making->record, "why");
}

static void from_near(struct making *making)
{
	static const char *const members[] = {"limit", "used", "most", NULL};

	copy_all(add(making, "near_limit"), making->record, members);
}

/* A bad token is an attempt. */
static void from_token_refused(struct making *making)
{
	static const char *const members[] = {"violation", "token", "why", NULL};

	copy_all(add(making, "violation"), making->record, members);
}

static const struct {
	const char *kind;
	void (*make)(struct making *making);
} kinds[] = {
	{"run.start", from_start},     {"ask", from_ask},
	{"answer", from_answer},       {"run.retry", from_retry},
	{"run.denials", from_denials}, {"run.attempt", from_attempt},
	{"grant.end", from_grant_end}, {"run.end", from_end},
	{"run.lost", from_lost},       {"token.refused", from_token_refused},
	{"run.near", from_near},
};

/* What is of no run's course is told as it was recorded. */
static void from_other(struct making *making)
{
	static const char *const own[] = {"seq",     "time", "kind",	"run",	"agent",
					  "session", "tool", "call_id", "prev", "hash"};
	json_t *event = add(making, text_of(making->record, "kind")), *value;
	const char *key;

	json_object_foreach ((json_t *)making->record, key, value) {
		bool is_own = false;

		for (size_t i = 0; i < ELEMENTS(own); i++)
			is_own |= strcmp(key, own[i]) == 0;
		if (!is_own)
			json_put(event, key, json_incref(value));
	}
}

json_t *events_of_record(const json_t *record)
{
	struct making making = {record, json_array()};
	const char *kind = text_of(record, "kind");

	for (size_t i = 0; kind && i < ELEMENTS(kinds); i++) {
		if (strcmp(kind, kinds[i].kind) != 0)
			continue;
		add_decisions(&making);
		kinds[i].make(&making);
		return making.events;
	}
	if (kind)
		from_other(&making);
	return making.events;
}
