/* SPDX-License-Identifier: Apache-2.0 */
/* Incidents: which agents are in safe mode and why, and what the person at the browser says to it.
 */
#include "../escalate/approver.h"
#include "../request/text_json.h"
#include "../serve/incident_acts.h"
#include "web_parts.h"

#include <string.h>

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* What a list shows; the rest is asked for alone. */
static int add_open(json_t *incident, void *data)
{
	const char *state = text_of(incident, "state");
	json_t *row;

	if (!state || strcmp(state, "open") != 0)
		return 0;
	row = json_pack("{s:O?, s:O?, s:O?, s:O?, s:i}", "id", json_object_get(incident, "id"),
			"agent", json_object_get(incident, "agent"), "opened",
			json_object_get(incident, "opened"), "violations",
			json_object_get(incident, "violations"), "stopped",
			(int)json_array_size(json_object_get(incident, "stopped")));
	return row && json_array_append_new(data, row) == 0 ? 0 : -1;
}

void api_incidents(struct web_call *call, struct web_reply *reply)
{
	_cleanup_error_ struct error *error = NULL;
	json_t *rows = json_array();

	/* One that cannot be read hides no other. */
	if (incidents_each(call->web->state, add_open, rows, &error) == 0 ||
	    json_array_size(rows)) {
		reply_json(reply, 200, json_pack("{s:o}", "incidents", rows));
		return;
	}
	json_decref(rows);
	if (error)
		reply_failure(reply, 500, error);
	else
		reply_error(reply, 500, NULL, "an incident is not what ward wrote");
}

static json_t *find(struct web_call *call, struct web_reply *reply)
{
	_cleanup_error_ struct error *error = NULL;
	json_t *incident = NULL;

	if (incident_find(call->web->state, call->id, &incident, &error) < 0)
		reply_failure(reply, 404, error);
	return incident;
}

void api_incident(struct web_call *call, struct web_reply *reply)
{
	json_t *incident = find(call, reply);

	if (incident)
		reply_json(reply, 200, incident);
}

static int act(struct web_call *call, const json_t *incident, const json_t *body,
	       struct error **ret_error)
{
	_cleanup_approver_id_ struct approver_id who = approver_of_web(call->session->name);
	const char *answer = text_of(body, "answer");

	if (answer && strcmp(answer, "close") == 0)
		return incident_review(call->web->state, incident, who.by, text_of(body, "note"),
				       ret_error);
	if (answer && (strcmp(answer, "resume") == 0 || strcmp(answer, "kill") == 0))
		return incident_decide(call->web->state, incident,
				       strcmp(answer, "resume") == 0 ? INCIDENT_RESUME
								     : INCIDENT_KILL,
				       who.by, ret_error);
	return fail(ret_error, E_USAGE, "an answer is close, resume or kill");
}

void api_incident_answer(struct web_call *call, struct web_reply *reply)
{
	_cleanup_error_ struct error *error = NULL;
	json_t *body = api_body(call, reply), *incident = body ? find(call, reply) : NULL;

	if (incident && act(call, incident, body, &error) == 0)
		reply_json(reply, 200, json_object());
	else if (incident)
		reply_failure(reply, error->code == E_USAGE ? 400 : 500, error);
	json_decref(incident);
	json_decref(body);
}
