/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of audit records. */
#include "events.h"
#include "../request/text_json.h"

#include <stdio.h>
#include <string.h>

/* A command line may be two megabytes long; what is cut from the record is said there. */
enum { RECORDED = 64 * 1024 };

static json_t *cut_text(const char *text, size_t *room)
{
	_cleanup_free_ char *cut = NULL;
	size_t length = strlen(text);

	if (length <= *room) {
		*room -= length;
		return json_text(text);
	}
	if (asprintf(&cut, "%.*s[... %zu more bytes]", (int)*room, text, length - *room) < 0)
		abort();
	*room = 0;
	return json_text(cut);
}

static json_t *list_value(const struct list *list)
{
	json_t *array = json_array();
	size_t room = RECORDED;

	for (size_t i = 0; list && i < list->count && room > 0; i++)
		json_array_append_new(array, cut_text(list->items[i], &room));
	return array;
}

static json_t *command_value(const struct request *request)
{
	_cleanup_free_ char *command = request_command_text(request);
	size_t room = RECORDED;

	return cut_text(command, &room);
}

json_t *event_start(const struct event_run *run)
{
	const struct request *request = run->request;
	json_t *body = json_object(), *decisions = json_array();

	for (size_t i = 0; i < run->result->decision_count; i++) {
		const struct decision *decision = &run->result->decisions[i];

		json_t *object = json_pack("{s:s, s:s, s:s}", "stage", decision->stage, "verdict",
					   decision->verdict, "source", decision->source);

		if (decision->by)
			json_object_set_new(object, "by", json_text(decision->by));
		if (decision->scope)
			json_object_set_new(object, "scope", json_text(decision->scope));
		if (decision->grant)
			json_object_set_new(object, "grant", json_text(decision->grant));
		json_array_append_new(decisions, object);
	}
	json_object_set_new(body, "command", command_value(request));
	json_object_set_new(body, "argv", list_value(run->argv));
	json_object_set_new(body, "cwd", json_text(request->cwd));
	json_object_set_new(body, "workspace", json_text(request->workspace));
	json_object_set_new(body, "does", json_text(run->does));
	json_object_set_new(body, "level", json_string(level_name(run->level)));
	json_object_set_new(body, "agent", json_text(request->agent));
	json_object_set_new(body, "session", json_text(run->session));
	json_object_set_new(body, "tool", json_text(request->tool));
	json_object_set_new(body, "call_id", json_text(request->call_id));
	json_object_set_new(body, "turn", json_text(request->turn));
	json_object_set_new(body, "reason", json_text(request->reason));
	if (request->foreign)
		json_object_set_new(body, "caller", json_text(request->caller.program));
	if (request->sandbox_warnings.count)
		json_object_set_new(body, "sandbox_warnings",
				    list_value(&request->sandbox_warnings));
	json_object_set_new(body, "verdict", json_text(run->result->verdict));
	json_object_set_new(body, "source", json_text(run->result->source));
	json_object_set_new(body, "policy",
			    run->policy && run->policy->count ? list_value(run->policy)
							      : json_string("built-in"));
	json_object_set_new(body, "rule", json_text(run->rule));
	json_object_set_new(body, "decisions", decisions);
	return body;
}

json_t *event_ask(const struct event_run *run, const char *kind, const char *why,
		  const struct list *refused, const struct list *grants)
{
	const struct request *request = run->request;

	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "ask", kind,
			 "command", command_value(request), "cwd", json_text(request->cwd),
			 "session", json_text(run->session), "agent", json_text(request->agent),
			 "tool", json_text(request->tool), "call_id", json_text(request->call_id),
			 "why", json_text(why), "refused", list_value(refused), "grants",
			 list_value(grants));
}

json_t *event_answer(const char *answer, const char *scope, const char *by, const char *reason,
		     const struct list *grants, const char *grant, const struct list *domains)
{
	json_t *body = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "answer", answer, "scope",
				 json_text(scope), "by", json_text(by), "reason", json_text(reason),
				 "grants", list_value(grants), "grant", json_text(grant));

	if (domains)
		json_object_set_new(body, "domains", list_value(domains));
	return body;
}

json_t *event_retry(unsigned attempt, enum level level, const struct list *grants)
{
	return json_pack("{s:i, s:s, s:o}", "attempt", (int)attempt, "level", level_name(level),
			 "grants", list_value(grants));
}
