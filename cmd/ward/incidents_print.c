/* SPDX-License-Identifier: Apache-2.0 */
/* Incidents as text. Objects, output and names are an agent's words, and escaped. */
#include "incidents.h"
#include "output.h"
#include "../../src/base/escape.h"

#include <stdio.h>
#include <string.h>

static void cell(const char *label, const char *text)
{
	_cleanup_buffer_ struct buffer escaped = {0};

	if (!text)
		return;
	escape_for_terminal(&escaped, text, strlen(text));
	printf("  %-10s %s\n", label, buffer_text(&escaped));
}

static void when(const char *label, const char *utc)
{
	char text[WORDS_TEXT];

	if (!utc)
		return;
	output_time(utc, "%Y-%m-%d %H:%M:%S", text);
	cell(label, text);
}

static void print_violation(const char *label, const json_t *violation)
{
	_cleanup_buffer_ struct buffer text = {0};
	const char *operation = text_of(violation, "operation"), *rule = text_of(violation, "rule");
	const char *object = text_of(violation, "object"),
		   *severity = text_of(violation, "severity");

	buffer_printf(&text, "%s: ", severity ? severity : "");
	if (operation)
		buffer_printf(&text, "%s ", operation);
	buffer_add_text(&text, object ? object : "");
	if (rule)
		buffer_printf(&text, " (%s)", rule);
	cell(label, buffer_text(&text));
}

static void print_head(const json_t *incident)
{
	const char *state = text_of(incident, "state");
	bool is_open = state && strcmp(state, "open") == 0;

	output_text(is_open ? COLOUR_RED : COLOUR_NONE, text_of(incident, "id"));
	printf("  %s\n", is_open ? "open" : "closed");
	cell("agent", text_of(incident, "agent"));
	when("since", text_of(incident, "opened"));
}

void incident_print_short(const json_t *incident)
{
	print_head(incident);
	print_violation("tried", json_array_get(json_object_get(incident, "violations"), 0));
	when("closed", text_of(incident, "closed"));
	cell("note", text_of(incident, "note"));
}

static void print_lines(const char *label, const char *text)
{
	_cleanup_free_ char *copy = strdup(text ? text : "");
	char *rest = copy, *line;

	while ((line = strsep(&rest, "\n")))
		if (*line) {
			cell(label, line);
			label = "";
		}
}

/* How many of its ancestors there are; parents come before their children. */
static int depth_of(const json_t *processes, size_t at)
{
	json_int_t parent =
		json_integer_value(json_object_get(json_array_get(processes, at), "parent"));
	int depth = 0;

	while (at-- > 0) {
		const json_t *above = json_array_get(processes, at);

		if (json_integer_value(json_object_get(above, "pid")) != parent)
			continue;
		parent = json_integer_value(json_object_get(above, "parent"));
		depth++;
	}
	return depth;
}

static void print_processes(const json_t *processes)
{
	json_t *process;
	size_t i;

	json_array_foreach ((json_t *)processes, i, process) {
		_cleanup_buffer_ struct buffer text = {0};
		const char *command = text_of(process, "command"), *name = text_of(process, "name");

		buffer_printf(&text, "%lld  %*s%s",
			      (long long)json_integer_value(json_object_get(process, "pid")),
			      2 * depth_of(processes, i), "",
			      command && *command ? command
			      : name		  ? name
						  : "");
		cell(i ? "" : "processes", buffer_text(&text));
	}
}

static void print_words(const char *label, const json_t *words)
{
	_cleanup_buffer_ struct buffer text = {0};
	json_t *word;
	size_t i;

	json_array_foreach ((json_t *)words, i, word)
		buffer_printf(&text, "%s%s", i ? " " : "", json_string_value(word));
	if (text.length)
		cell(label, buffer_text(&text));
}

static void print_moment(const json_t *moment)
{
	json_t *grants = json_object_get(moment, "grants"), *grant, *denial;
	size_t i;

	cell("run", text_of(moment, "run"));
	print_words("command", json_object_get(moment, "argv"));
	cell("session", text_of(moment, "session"));
	cell("workspace", text_of(moment, "workspace"));
	json_array_foreach (json_object_get(moment, "ledger"), i, denial) {
		_cleanup_buffer_ struct buffer text = {0};
		const char *violation = text_of(denial, "violation"),
			   *rule = text_of(denial, "rule");

		buffer_printf(&text, "%s %s%s%s%s%s%s", text_of(denial, "operation"),
			      text_of(denial, "object"), rule ? " (" : "", rule ? rule : "",
			      rule ? ")" : "", violation ? ", a violation: " : "",
			      violation ? violation : "");
		cell(i ? "" : "refused", buffer_text(&text));
	}
	json_array_foreach (grants, i, grant) {
		_cleanup_buffer_ struct buffer text = {0};
		json_t *permission;
		size_t k;

		buffer_printf(&text, "%s ", text_of(grant, "id"));
		json_array_foreach (json_object_get(grant, "permissions"), k, permission)
			buffer_printf(&text, "%s%s", k ? ", " : "", json_string_value(permission));
		cell(i ? "" : "revoked", buffer_text(&text));
	}
	cell("token", text_of(moment, "token"));
	print_processes(json_object_get(moment, "processes"));
	print_lines("output", text_of(moment, "output_tail"));
}

void incident_print(const json_t *incident)
{
	json_t *violation, *item;
	const char *state = text_of(incident, "state"), *id = text_of(incident, "id");
	size_t i;

	print_head(incident);
	json_array_foreach (json_object_get(incident, "violations"), i, violation)
		print_violation(i ? "" : "tried", violation);
	print_moment(incident);
	json_array_foreach (json_object_get(incident, "moments"), i, item) {
		printf("\nand again:\n");
		print_moment(item);
	}
	json_array_foreach (json_object_get(incident, "stopped"), i, item) {
		_cleanup_buffer_ struct buffer text = {0};

		buffer_printf(&text, "%s, %s", text_of(item, "run"), text_of(item, "commands"));
		cell(i ? "" : "also", buffer_text(&text));
	}
	json_array_foreach (json_object_get(incident, "answers"), i, item) {
		_cleanup_buffer_ struct buffer text = {0};

		buffer_printf(&text, "%s, by %s", text_of(item, "answer"), text_of(item, "by"));
		cell(i ? "" : "answers", buffer_text(&text));
	}
	print_words("left out", json_object_get(incident, "left_out"));
	if (json_object_get(incident, "more"))
		printf("  %-10s %lld facts for which there was no room: ward events has them\n",
		       "and", (long long)json_integer_value(json_object_get(incident, "more")));
	when("closed", text_of(incident, "closed"));
	cell("by", text_of(incident, "by"));
	cell("note", text_of(incident, "note"));
	if (state && strcmp(state, "open") == 0)
		printf("  %-10s ward incidents resume %s, kill %s, close %s --note TEXT\n",
		       "then:", id, id, id);
}
