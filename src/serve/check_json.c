/* SPDX-License-Identifier: Apache-2.0 */
/* The object; its names are fixed. */
#include "check_json.h"
#include "../assess/assess_json.h"
#include "../request/text_json.h"

#include <string.h>

static json_t *texts(json_t *object, const char *const *list, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count && list[i]; i++)
		json_array_append_new(array, json_from_bytes(object, list[i], strlen(list[i])));
	return array;
}

static json_t *redirect_object(const struct redirect *redirect)
{
	json_t *object = json_object();

	json_put_text(object, "operator", redirect->operator);
	json_put(object, "fd", redirect->fd < 0 ? json_null() : json_integer(redirect->fd));
	json_put_text(object, "target", redirect->target);
	return object;
}

/* Null where the request is no text. */
static json_t *span_object(const struct span *span)
{
	json_t *object = json_object();

	if (span->line == 0) {
		json_decref(object);
		return json_null();
	}
	json_put_count(object, "start", span->start);
	json_put_count(object, "end", span->end);
	json_put_count(object, "line", span->line);
	return object;
}

static json_t *context_array(json_t *object, const struct command *command)
{
	_cleanup_arena_ struct arena *arena = arena_new();
	const char **context = plan_context(arena, command);
	size_t count = 0;

	while (context[count])
		count++;
	return texts(object, context, count);
}

static json_t *code_array(const struct command *command)
{
	json_t *array = json_array();

	for (size_t i = 0; i < command->code_count; i++) {
		json_t *object = json_object();

		json_put_text(object, "language", command->codes[i].language);
		json_put(object, "text",
			 json_from_bytes(object, command->codes[i].text,
					 strlen(command->codes[i].text)));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *opaque_object(const struct opaque_part *part)
{
	json_t *object = json_object();

	json_put_count(object, "start", part->span.start);
	json_put_count(object, "end", part->span.end);
	json_put_count(object, "line", part->span.line);
	json_put(object, "reason", json_from_bytes(object, part->why, strlen(part->why)));
	return object;
}

static json_t *command_object(const struct command *command, const char *rule)
{
	json_t *object = json_object(), *redirects = json_array();

	for (size_t i = 0; i < command->redirect_count; i++)
		json_array_append_new(redirects, redirect_object(&command->redirects[i]));
	json_put(object, "argv", texts(object, command->argv, command->argc));
	json_put(object, "wrappers", texts(object, command->wrappers, command->wrapper_count));
	json_put(object, "redirects", redirects);
	json_put_text(object, "rule", rule);
	json_put(object, "context", context_array(object, command));
	json_put(object, "span", span_object(&command->span));
	json_put(object, "code", code_array(command));
	return object;
}

/* What of the network would be open, before anybody is asked. */
static json_t *network_object(const struct verdict *verdict)
{
	json_t *object = json_object(), *allow = json_array(), *deny = json_array();
	const struct host_rules *hosts = &verdict->permissions.hosts;
	const struct list *publish = &verdict->permissions.publish;

	for (size_t i = 0; i < hosts->count; i++) {
		bool denied;
		const char *pattern = host_rules_pattern(hosts, i, &denied);

		json_array_append_new(denied ? deny : allow, json_string(pattern));
	}
	json_put_text(object, "mode", network_name(verdict_reach(verdict)));
	json_put(object, "allow", allow);
	json_put(object, "deny", deny);
	json_put(object, "publish",
		 texts(object, (const char *const *)publish->items, publish->count));
	return object;
}

json_t *check_to_json(const struct plan *plan, const struct assessment *assessment,
		      const struct verdict *verdict)
{
	json_t *object = json_object(), *commands = json_array(), *parts = json_array();

	for (size_t i = 0; i < plan->opaque_count; i++)
		json_array_append_new(parts, opaque_object(&plan->opaque_parts[i]));
	for (size_t i = 0; i < plan->count; i++)
		json_array_append_new(commands,
				      command_object(&plan->commands[i], assessment->rules[i]));
	json_put_text(object, "class", class_name(assessment->class));
	json_put_text(object, "verdict", verdict_name(verdict->kind));
	json_put_text(object, "level", level_name(verdict->level));
	json_put(object, "network", network_object(verdict));
	json_put_text(object, "source", verdict->source);
	json_put_text(object, "rule", verdict->rule);
	json_put_text(object, "reason", verdict->reason);
	json_put_text(object, "answered_by", verdict->answered_by);
	json_put_text(object, "approval", approval_name(verdict->approval));
	if (verdict->tier)
		json_put_text(object, "tier", verdict->tier);
	if (verdict->incident)
		json_put_text(object, "safe_mode", verdict->incident);
	json_put(object, "risk", assessment_to_json(assessment));
	json_put(object, "commands", commands);
	json_put(object, "opaque", json_boolean(plan->opaque));
	json_put(object, "opaque_parts", parts);
	return object;
}
