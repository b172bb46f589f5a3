/* SPDX-License-Identifier: Apache-2.0 */
/* Questions and answers as JSON. What a choice is called there is what an answer has to say: its
 * word and how long it holds. */
#include "ask_json.h"
#include "../assess/assess_json.h"
#include "../request/text_json.h"
#include "opinion.h"
#include "question.h"
#include "route.h"

#include <string.h>

enum { COLUMNS = 100, REASON_MOST = 4096, SECONDS_MOST = 366 * 24 * 3600 };

static const char *const kinds[] = {
	[ASK_BEFORE] = "before", [ASK_RETRY] = "retry", [ASK_IN_PLACE] = "in_place"};

/* The keys at a terminal, and what says the same in an answer. */
static const struct {
	char key;
	const char *choice;
} choices[] = {
	{'y', "approve once"},
	{'s', "approve session"},
	{'t', "approve time"},
	{'a', "approve always"},
	{'k', "approve monitored"},
	{'u', "approve unsandboxed"},
	{'n', "deny once"},
	{'x', "deny session"},
	{'v', "deny always"},
	{'q', "abort"},
	{'l', "defer"},
};

static const char *const words[] = {
	[ANSWER_APPROVE] = "approve",
	[ANSWER_DENY] = "deny",
	[ANSWER_ABORT] = "abort",
	[ANSWER_DEFER] = "defer",
};
static const char *const scopes[] = {[SCOPE_ONCE] = "once",
				     [SCOPE_SESSION] = "session",
				     [SCOPE_TIME] = "time",
				     [SCOPE_ALWAYS] = "always"};

static json_t *extents_to_json(const struct ask *ask)
{
	json_t *array = json_array();

	for (size_t i = 0; i < ask->extent_count; i++) {
		json_t *object = json_object();

		json_put_text(object, "name", ask->extents[i].name);
		json_put_list(object, "grants", ask->extents[i].grants);
		json_put_text(object, "rule", ask->extents[i].rule);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *choices_to_json(const struct ask *ask)
{
	json_t *array = json_array();

	for (size_t i = 0; i < ELEMENTS(choices); i++)
		if (choice_of(ask, choices[i].key))
			json_array_append_new(array, json_string(choices[i].choice));
	return array;
}

static void put_list(json_t *object, const char *key, const struct list *list)
{
	if (list)
		json_put_list(object, key, list);
}

int ask_kind_from_name(const char *name)
{
	for (size_t i = 0; i < ELEMENTS(kinds); i++)
		if (name && strcmp(name, kinds[i]) == 0)
			return (int)i;
	return -1;
}

json_t *ask_to_json(const struct ask *ask, const char *id)
{
	const struct {
		const char *key, *text;
	} texts[] = {
		{"command", ask->command},
		{"cwd", ask->cwd},
		{"workspace", ask->workspace},
		{"agent", ask->agent},
		{"session", ask->session},
		{"tool", ask->tool},
		{"call_id", ask->call_id},
		{"turn", ask->turn},
		{"reason", ask->reason},
		{"tier", ask->tier},
		{"why", ask->why},
		{"retry_reason", ask->retry_reason},
		{"covers", ask->covers},
		{"always_rule", ask->always_rule},
		{"always_file", ask->always_file},
		{"never_rule", ask->never_rule},
		{"operation", ask->operation},
		{"code", ask->code},
		{"program", ask->program},
		{"verb", ask->verb},
		{"object", ask->object},
		{"note", ask->note},
	};
	_cleanup_list_ struct list lines = {0};
	_cleanup_buffer_ struct buffer text = {0};
	json_t *object = json_object();

	json_put_text(object, "id", id);
	json_put_text(object, "kind", kinds[ask->kind]);
	for (size_t i = 0; i < ELEMENTS(texts); i++)
		if (given(texts[i].text))
			json_put_text(object, texts[i].key, texts[i].text);
	if (ask->route)
		json_object_set(object, "route", ask->route);
	if (ask->objection_ns)
		json_put_count(object, "objection_seconds", ask->objection_ns / 1000000000);
	put_list(object, "refused", ask->refused);
	put_list(object, "wants", ask->wants);
	put_list(object, "grants", ask->grants);
	put_list(object, "domains", ask->domains);
	json_put(object, "editable", json_boolean(ask_is_editable(ask)));
	json_put(object, "starts_again", json_boolean(ask->starts_again));
	json_put(object, "destroys", json_boolean(ask->destroys));
	if (ask->extent_count) {
		json_put(object, "extents", extents_to_json(ask));
		json_put_count(object, "extent", ask->extent);
	}
	if (ask->assessment)
		json_put(object, "risk", assessment_to_json(ask->assessment));
	if (ask->opinion)
		json_put(object, "opinion", opinion_to_json(ask->opinion));
	if (ask->background)
		background_to_json(ask->background, object);
	json_put(object, "choices", choices_to_json(ask));
	/* The keys of a terminal are nobody's there. */
	ask_whole(ask, COLUMNS, false, &lines);
	for (size_t i = 0; i < lines.count; i++)
		buffer_printf(&text, "%s\n", lines.items[i]);
	json_put_bytes(object, "text", buffer_text(&text), text.length);
	return object;
}

static int index_of(const char *const *names, size_t count, const char *text)
{
	for (size_t i = 0; i < count && text; i++)
		if (names[i] && strcmp(names[i], text) == 0)
			return (int)i;
	return -1;
}

static bool is_offered(json_t *ask, const char *choice)
{
	json_t *item;
	size_t i;

	json_array_foreach (json_object_get(ask, "choices"), i, item)
		if (strcmp(json_string_value(item) ? json_string_value(item) : "", choice) == 0)
			return true;
	return false;
}

static int read_domains(json_t *object, json_t *ask, struct answer *answer,
			struct error **ret_error)
{
	json_t *domains = json_object_get(object, "domains"), *item;
	_cleanup_buffer_ struct buffer line = {0};
	size_t i;

	if (!json_object_get(ask, "domains"))
		return domains ? fail(ret_error, E_INPUT, "the question is not about domains") : 0;
	if (!domains)
		domains = json_object_get(ask, "domains");
	json_array_foreach (domains, i, item) {
		if (!json_is_string(item) || strpbrk(json_string_value(item), " ,\t\n"))
			return fail(ret_error, E_INPUT, "domains is a list of hosts");
		buffer_printf(&line, "%s ", json_string_value(item));
	}
	return domains_read(buffer_text(&line), &answer->domains, ret_error);
}

/* What the chosen extent gives, and of a call that waits the least that it needs. */
static json_t *grants_of(json_t *ask, size_t extent)
{
	json_t *one = json_array_get(json_object_get(ask, "extents"), extent);

	return json_object_get(one ? one : ask, "grants");
}

static int read_grants(json_t *object, json_t *ask, struct answer *answer, struct error **ret_error)
{
	json_t *grants = json_object_get(object, "grants"), *item;
	const char *kind = json_string_value(json_object_get(ask, "kind"));
	/* Of several the others may be left out. */
	bool waits = kind && strcmp(kind, "in_place") == 0 && !json_object_get(ask, "wants");
	_cleanup_list_ struct list texts = {0}, asked = {0};
	size_t i;

	if (!grants)
		return 0;
	if (!json_is_true(json_object_get(ask, "editable")))
		return fail(ret_error, E_INPUT, "what this question asks for cannot be edited");
	json_array_foreach (grants, i, item)
		if (json_is_string(item))
			list_add(&texts, json_string_value(item));
	if (!json_is_array(grants) || texts.count != json_array_size(grants))
		return fail(ret_error, E_INPUT, "grants is a list of permissions");
	json_array_foreach (grants_of(ask, answer->extent), i, item)
		list_add(&asked, json_string_value(item) ? json_string_value(item) : "");
	return answer_edit(&texts, json_string_value(json_object_get(ask, "workspace")), &asked,
			   waits ? json_string_value(json_array_get(grants_of(ask, 0), 0)) : NULL,
			   &answer->grants, ret_error);
}

static int check_choice(json_t *ask, const struct answer *answer, struct error **ret_error)
{
	json_t *extents = json_object_get(ask, "extents");
	_cleanup_free_ char *choice = NULL;

	/* Neither is kept, as a rule or for the session. */
	if ((answer->kind == ANSWER_ABORT || answer->kind == ANSWER_DEFER) &&
	    answer->scope != SCOPE_ONCE)
		return fail(ret_error, E_INPUT, "'%s' has no scope", words[answer->kind]);
	if (answer->kind == ANSWER_ABORT || answer->kind == ANSWER_DEFER)
		choice = strdup(words[answer->kind]);
	else if (asprintf(&choice, "%s %s", words[answer->kind], scopes[answer->scope]) < 0)
		abort();
	if (answer->unsandboxed && (answer->scope != SCOPE_ONCE || answer->kind != ANSWER_APPROVE))
		return fail(ret_error, E_INPUT, "without the sandbox a yes holds once");
	if (answer->monitor && !is_offered(ask, "approve monitored"))
		return fail(ret_error, E_INPUT,
			    "'approve monitored' is no answer to this question");
	/* Later runs would not be followed, and without the sandbox there is little to see. */
	if (answer->monitor && (answer->scope != SCOPE_ONCE || answer->unsandboxed))
		return fail(ret_error, E_INPUT,
			    "a yes that wants the run followed holds once, and in the sandbox");
	if (answer->grants.count && answer->scope == SCOPE_ALWAYS)
		return fail(ret_error, E_INPUT,
			    "an edited yes holds once, for a time or for the session");
	if (!is_offered(ask, answer->unsandboxed ? "approve unsandboxed" : choice))
		return fail(ret_error, E_INPUT, "'%s' is no answer to this question",
			    answer->unsandboxed ? "approve unsandboxed" : choice);
	if (answer->kind == ANSWER_APPROVE && answer->scope == SCOPE_ALWAYS && extents &&
	    !json_is_string(json_object_get(json_array_get(extents, answer->extent), "rule")))
		return fail(ret_error, E_INPUT, "no rule can say this always");
	return 0;
}

/* A route may say how long a yes holds at most. */
static int check_time(json_t *ask, const struct answer *answer, struct error **ret_error)
{
	uint64_t most = route_grant_seconds(json_object_get(ask, "route"));

	return !most || answer->seconds <= most
		       ? 0
		       : fail(ret_error, E_INPUT, "a yes to this holds for at most %llu seconds",
			      (unsigned long long)most);
}

static int read_seconds(json_t *seconds, struct answer *answer, struct error **ret_error)
{
	if (!json_is_integer(seconds) || json_integer_value(seconds) < 1 ||
	    json_integer_value(seconds) > SECONDS_MOST)
		return fail(ret_error, E_INPUT, "an answer for a time has seconds, 1 to %d",
			    SECONDS_MOST);
	answer->seconds = (uint64_t)json_integer_value(seconds);
	return 0;
}

/* Of a yes: how long, to how much, and to which hosts. */
static int read_yes(json_t *object, json_t *ask, struct answer *answer, struct error **ret_error)
{
	json_t *extent = json_object_get(object, "extent"),
	       *seconds = json_object_get(object, "seconds"),
	       *unsandboxed = json_object_get(object, "unsandboxed"),
	       *monitor = json_object_get(object, "monitor"),
	       *uses = json_object_get(object, "uses");
	int r;
	json_int_t most = (json_int_t)json_array_size(json_object_get(ask, "extents"));

	if (unsandboxed && !json_is_boolean(unsandboxed))
		return fail(ret_error, E_INPUT, "unsandboxed is true or false");
	answer->unsandboxed = json_is_true(unsandboxed);
	if (monitor && !json_is_boolean(monitor))
		return fail(ret_error, E_INPUT, "monitor is true or false");
	answer->monitor = json_is_true(monitor);
	answer->extent = (size_t)json_integer_value(json_object_get(ask, "extent"));
	if (extent && (!json_is_integer(extent) || json_integer_value(extent) < 0 ||
		       json_integer_value(extent) >= MAX(most, 1)))
		return fail(ret_error, E_INPUT, "extent is the number of one of the extents");
	if (extent)
		answer->extent = (size_t)json_integer_value(extent);
	if (answer->scope == SCOPE_TIME && ((r = read_seconds(seconds, answer, ret_error)) < 0 ||
					    (r = check_time(ask, answer, ret_error)) < 0))
		return r;
	if (uses && (!json_is_integer(uses) || json_integer_value(uses) < 1 ||
		     (answer->scope != SCOPE_SESSION && answer->scope != SCOPE_TIME)))
		return fail(ret_error, E_INPUT,
			    "uses is 1 or more, of a yes for the session or a time");
	answer->uses = (uint64_t)json_integer_value(uses);
	r = read_grants(object, ask, answer, ret_error);
	return r < 0 ? r : read_domains(object, ask, answer, ret_error);
}

static int read_answer(json_t *object, json_t *ask, struct answer *answer, struct error **ret_error)
{
	static const char *const known[] = {"answer", "scope",	 "seconds", "unsandboxed",
					    "extent", "domains", "grants",  "monitor",
					    "reason", "by",	 "uses",    "also"};
	json_t *scope = json_object_get(object, "scope"), *value;
	const char *key, *reason = json_string_value(json_object_get(object, "reason"));
	const char *by = json_string_value(json_object_get(object, "by"));
	int kind = index_of(words, ELEMENTS(words),
			    json_string_value(json_object_get(object, "answer")));
	int how = scope ? index_of(scopes, ELEMENTS(scopes), json_string_value(scope)) : SCOPE_ONCE;
	int r;

	json_object_foreach (object, key, value)
		if (index_of(known, ELEMENTS(known), key) < 0)
			return fail(ret_error, E_INPUT, "an answer has no '%s'", key);
	/* Whom it goes to besides is for the queue to look at. */
	if (json_object_get(object, "also") && !json_is_array(json_object_get(object, "also")))
		return fail(ret_error, E_INPUT, "also is a list of ids");
	if (kind < 0)
		return fail(ret_error, E_INPUT, "an answer is approve, deny, abort or defer");
	if (how < 0)
		return fail(ret_error, E_INPUT, "scope is once, session, time or always");
	answer->kind = (enum answer_kind)kind;
	answer->scope = (enum answer_scope)how;
	if (kind == ANSWER_APPROVE && (r = read_yes(object, ask, answer, ret_error)) < 0)
		return r;
	if (kind == ANSWER_DEFER && json_object_get(object, "seconds") &&
	    (r = read_seconds(json_object_get(object, "seconds"), answer, ret_error)) < 0)
		return r;
	if (json_object_get(object, "reason") && (!reason || strlen(reason) > REASON_MOST))
		return fail(ret_error, E_INPUT, "a reason is a text of at most %d bytes",
			    REASON_MOST);
	answer->reason = reason && *reason ? strdup(reason) : NULL;
	answer->by = strdup(by && *by ? by : "caller");
	return check_choice(ask, answer, ret_error);
}

int answer_from_json(json_t *object, json_t *ask, struct answer *ret_answer,
		     struct error **ret_error)
{
	struct answer answer = {0};
	int r = json_is_object(object) ? read_answer(object, ask, &answer, ret_error)
				       : fail(ret_error, E_INPUT, "an answer is an object");

	if (r < 0) {
		answer_done(&answer);
		answer = (struct answer){.kind = ANSWER_NOBODY};
	}
	*ret_answer = answer;
	return r;
}

json_t *answer_to_json(const struct answer *answer)
{
	json_t *object = json_object();

	json_put_text(object, "answer", words[answer->kind]);
	json_put_text(object, "scope", scopes[answer->scope]);
	if (answer->scope == SCOPE_TIME || (answer->kind == ANSWER_DEFER && answer->seconds))
		json_put_count(object, "seconds", answer->seconds);
	if (answer->kind == ANSWER_APPROVE) {
		json_put(object, "unsandboxed", json_boolean(answer->unsandboxed));
		json_put_count(object, "extent", answer->extent);
		json_put(object, "monitor", json_boolean(answer->monitor));
		if (answer->uses)
			json_put_count(object, "uses", answer->uses);
	}
	if (answer->grants.count)
		json_put_list(object, "grants", &answer->grants);
	if (answer->domains.count)
		json_put_list(object, "domains", &answer->domains);
	if (answer->reason)
		json_put_text(object, "reason", answer->reason);
	json_put_text(object, "by", answer->by);
	return object;
}
