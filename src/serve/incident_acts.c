/* SPDX-License-Identifier: Apache-2.0 */
#include "incident_acts.h"
#include "../record/audit.h"
#include "../record/holders.h"
#include "../request/text_json.h"
#include "../run/run.h"

#include <ctype.h>
#include <string.h>

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static int record(const char *state, const char *kind, const json_t *incident, const char *by,
		  const char *note, struct error **ret_error)
{
	struct audit *audit = NULL;
	json_t *body = json_object();
	int r = audit_open(state, &audit, ret_error);

	json_put_text(body, "incident", text_of(incident, "id"));
	json_put_text(body, "agent", text_of(incident, "agent"));
	json_put_text(body, "by", by);
	if (note)
		json_put_text(body, "note", note);
	if (r == 0)
		r = audit_append(audit, kind, /* run= */ NULL, body, ret_error);
	json_decref(body);
	audit_close(audit);
	return r;
}

/* Those that cannot be told look by themselves. */
static void tell_runs(const char *state, const char *agent)
{
	_cleanup_free_ char *place = agent_place(state, agent);

	(void)holders_signal(place, /* own= */ NULL, RUN_LOOK, /* each= */ NULL, /* data= */ NULL);
}

int incident_decide(const char *state, const json_t *incident, enum incident_word word,
		    const char *by, struct error **ret_error)
{
	const char *agent = text_of(incident, "agent"), *id = text_of(incident, "id");
	int r;

	if (strcmp(text_of(incident, "state"), "open") != 0)
		return fail(ret_error, E_USAGE, "the incident %s is closed", id);
	r = record(state, word == INCIDENT_RESUME ? "incident.resume" : "incident.kill", incident,
		   by, /* note= */ NULL, ret_error);
	if (r == 0)
		r = incident_answer(state, agent, id, word, by, ret_error);
	if (r == 0)
		tell_runs(state, agent);
	return r;
}

static bool is_blank(const char *text)
{
	for (; *text; text++)
		if (!isspace((unsigned char)*text))
			return false;
	return true;
}

int incident_review(const char *state, const json_t *incident, const char *by, const char *note,
		    struct error **ret_error)
{
	const char *agent = text_of(incident, "agent"), *id = text_of(incident, "id");
	int r;

	if (!note || is_blank(note) || strlen(note) > INCIDENT_NOTE_MOST) {
		fail(ret_error, E_USAGE, "to close an incident needs a note of 1 to %d bytes",
		     INCIDENT_NOTE_MOST);
		return error_hint(ret_error, "say what was found: --note 'a test that went wrong'");
	}
	r = record(state, "incident.closed", incident, by, note, ret_error);
	if (r == 0)
		r = incident_close(state, agent, id, by, note, ret_error);
	if (r == 0)
		tell_runs(state, agent);
	return r;
}
