/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp_ask.h"
#include "../base/buffer.h"
#include "../base/escape.h"

#include <string.h>

enum { MESSAGE_MOST = 32 << 10, HOUR = 3600, REASON_MOST = 1000 };

/* No choice of the question's own: it is one of its extents. */
#define IN_CONTAINER "approve container"

/* What a person reads, and what it says to the run. A no comes first: some forms take the first
 * choice for the one that is meant. */
static const struct {
	const char *choice, *title, *answer, *scope;
} choices[] = {
	{"deny once", "No", "deny", "once"},
	{"approve once", "Yes, for this run", "approve", "once"},
	{"approve session", "Yes, until this session ends", "approve", "session"},
	{"approve time", "Yes, for an hour", "approve", "time"},
	{"approve always", "Yes, always: writes the rule above", "approve", "always"},
	{"approve monitored", "Yes, for this run, and follow what it does", "approve", "once"},
	{IN_CONTAINER, "Yes, for this run, in a container", "approve", "once"},
	{"approve unsandboxed", "Yes, without any sandbox", "approve", "once"},
	{"deny session", "No, until this session ends", "deny", "session"},
	{"deny always", "No, never again: writes the rule above", "deny", "always"},
	{"abort", "No, and end the command", "abort", "once"},
};

static const char *text_of(json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* The extent that is a container and nothing else; -1: none. */
static json_int_t container_extent(json_t *ask)
{
	json_t *extent;
	size_t i;

	json_array_foreach (json_object_get(ask, "extents"), i, extent) {
		json_t *grants = json_object_get(extent, "grants");
		const char *grant = json_string_value(json_array_get(grants, 0));

		if (json_array_size(grants) == 1 && grant && strcmp(grant, "container") == 0)
			return (json_int_t)i;
	}
	return -1;
}

static bool is_offered(json_t *ask, const char *choice)
{
	json_t *item;
	size_t i;

	if (strcmp(choice, IN_CONTAINER) == 0)
		return container_extent(ask) >= 0 && is_offered(ask, "approve once");
	json_array_foreach (json_object_get(ask, "choices"), i, item)
		if (json_is_string(item) && strcmp(json_string_value(item), choice) == 0)
			return true;
	return false;
}

static void add_rule(struct buffer *text, const char *word, const char *rule, const char *file)
{
	if (!rule)
		return;
	buffer_printf(text, "\"%s\" would write", word);
	if (file) {
		buffer_add_text(text, " to ");
		escape_for_terminal(text, file, strlen(file));
	}
	buffer_add_text(text, ": ");
	escape_for_terminal(text, rule, strlen(rule));
	buffer_add_char(text, '\n');
}

static json_t *message_of(json_t *ask)
{
	const char *covers = text_of(ask, "covers");
	_cleanup_buffer_ struct buffer text = {0};

	buffer_add_text(&text, text_of(ask, "text") ? text_of(ask, "text") : "");
	if (covers && is_offered(ask, "approve session")) {
		buffer_add_text(&text, "A longer yes covers: ");
		escape_for_terminal(&text, covers, strlen(covers));
		buffer_add_char(&text, '\n');
	}
	if (is_offered(ask, "approve always"))
		add_rule(&text, "always", text_of(ask, "always_rule"), text_of(ask, "always_file"));
	if (is_offered(ask, "deny always"))
		add_rule(&text, "never again", text_of(ask, "never_rule"),
			 text_of(ask, "always_file"));
	/* What cannot be shown whole is not asked. */
	return text.length == 0 || text.length > MESSAGE_MOST ? NULL
							      : json_string(buffer_text(&text));
}

/* Titles are said in another way since 2025-11-25. */
static json_t *choices_schema(json_t *ask, enum mcp_version version)
{
	json_t *schema = json_pack("{s:s, s:s}", "type", "string", "title", "Answer");
	json_t *values = json_array(), *titles = json_array(), *both = json_array();

	for (size_t i = 0; i < ELEMENTS(choices); i++) {
		if (!is_offered(ask, choices[i].choice))
			continue;
		json_array_append_new(values, json_string(choices[i].choice));
		json_array_append_new(titles, json_string(choices[i].title));
		json_array_append_new(both, json_pack("{s:s, s:s}", "const", choices[i].choice,
						      "title", choices[i].title));
	}
	if (version >= MCP_2025_11_25) {
		json_object_set(schema, "oneOf", both);
	} else {
		json_object_set(schema, "enum", values);
		json_object_set(schema, "enumNames", titles);
	}
	json_decref(values);
	json_decref(titles);
	json_decref(both);
	return schema;
}

json_t *mcp_ask_form(json_t *ask, enum mcp_version version)
{
	json_t *message = message_of(ask), *form;

	if (!message)
		return NULL;
	form = json_pack("{s:o, s:{s:s, s:{s:o, s:{s:s, s:s, s:s, s:i}}, s:[s]}}", "message",
			 message, "requestedSchema", "type", "object", "properties", "answer",
			 choices_schema(ask, version), "reason", "type", "string", "title",
			 "Reason", "description", "for the agent to read; may be left empty",
			 "maxLength", REASON_MOST, "required", "answer");
	if (version >= MCP_2025_11_25)
		json_object_set_new(form, "mode", json_string("form"));
	return form;
}

static json_t *no(const char *reason)
{
	json_t *answer = json_pack("{s:s, s:s}", "answer", "deny", "scope", "once");

	if (reason)
		json_object_set_new(answer, "reason", json_string(reason));
	return answer;
}

static json_t *chosen(json_t *ask, json_t *content)
{
	const char *choice = text_of(content, "answer"), *reason = text_of(content, "reason");

	for (size_t i = 0; choice && i < ELEMENTS(choices); i++) {
		json_t *answer;

		if (strcmp(choice, choices[i].choice) != 0 || !is_offered(ask, choice))
			continue;
		answer = json_pack("{s:s, s:s}", "answer", choices[i].answer, "scope",
				   choices[i].scope);
		if (strcmp(choices[i].scope, "time") == 0)
			json_object_set_new(answer, "seconds", json_integer(HOUR));
		if (strcmp(choice, IN_CONTAINER) == 0)
			json_object_set_new(answer, "extent", json_integer(container_extent(ask)));
		if (strcmp(choice, "approve unsandboxed") == 0)
			json_object_set_new(answer, "unsandboxed", json_true());
		if (strcmp(choice, "approve monitored") == 0)
			json_object_set_new(answer, "monitor", json_true());
		if (reason && *reason && strlen(reason) <= REASON_MOST)
			json_object_set_new(answer, "reason", json_string(reason));
		return answer;
	}
	return no("the client's answer was none of the choices");
}

json_t *mcp_ask_answer(json_t *ask, json_t *result)
{
	const char *action = text_of(result, "action");

	if (action && strcmp(action, "accept") == 0)
		return chosen(ask, json_object_get(result, "content"));
	if (action && strcmp(action, "decline") == 0)
		return no(NULL);
	if (action && strcmp(action, "cancel") == 0)
		return is_offered(ask, "abort") ? json_pack("{s:s}", "answer", "abort") : no(NULL);
	return no("the client could not ask its user");
}
