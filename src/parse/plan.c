/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a request: what it says outright, and what the shells, wrappers and evals in it go on
 * to run. */
#include "plan.h"
#include "tree.h"
#include "unwrap.h"
#include "../base/path.h"

#include <string.h>

enum {
	COMMAND_LIMIT = 10000,
	TEXT_LIMIT = 4 * 1024 * 1024, /* of all the texts inside texts together */
	NESTING_LIMIT = 64,
};

void plan_opaque(struct plan *plan, enum opacity opacity, const char *why)
{
	if (opacity > plan->opacity) {
		plan->opacity = opacity;
		plan->opaque_why = why;
	}
	plan->opaque = true;
}

/* What the commands of a plan are looked into with. */
struct following {
	struct arena *arena;
	struct plan *plan;
	size_t room, text_size;
	uint64_t time_us;
};

/* Adds what the command `by` runs; its wrappers and its own name are theirs too. */
static void append(struct following *following, size_t by, const struct command *commands,
		   size_t count, bool remote)
{
	struct plan *plan = following->plan;
	struct command outer = plan->commands[by];
	size_t fits = MIN(count, COMMAND_LIMIT - plan->count), names = outer.wrapper_count;
	const char **wrappers;

	if (fits < count)
		plan_opaque(plan, OPAQUE_UNREAD, "it holds too many commands");
	if (names >= NESTING_LIMIT)
		plan_opaque(plan, OPAQUE_UNREAD, "texts that run texts are nested too deeply");
	if (fits == 0 || names >= NESTING_LIMIT)
		return;
	if (plan->count + fits > following->room) {
		struct command *bigger;

		following->room = (plan->count + fits) * 2;
		bigger = arena_new_array(following->arena, struct command, following->room);
		memcpy(bigger, plan->commands, plan->count * sizeof(*bigger));
		plan->commands = bigger;
	}
	wrappers = arena_new_array(following->arena, const char *, names + 2);
	if (names)
		memcpy(wrappers, outer.wrappers, names * sizeof(*wrappers));
	wrappers[names++] = path_last(outer.argv[outer.program]);
	for (size_t i = 0; i < fits; i++) {
		struct command *command = &plan->commands[plan->count++];

		*command = commands[i];
		command->wrappers = wrappers;
		command->wrapper_count = names;
		command->remote = remote || outer.remote;
	}
}

/* What is appended is looked into in its turn. */
static void follow(struct following *following, size_t i)
{
	struct plan *plan = following->plan, inner;
	struct command command;
	bool remote = false;
	const char *text;
	size_t at = 0;

	unwrap_names(following->arena, plan, &plan->commands[i]);
	while (unwrap_words(following->arena, &plan->commands[i], &at, &command))
		append(following, i, &command, 1, false);
	text = unwrap_text(following->arena, plan, &plan->commands[i], &remote);
	if (!text)
		text = unwrap_input(following->arena, plan, &plan->commands[i],
				    i ? &plan->commands[i - 1] : NULL);
	if (!text)
		return;
	following->text_size += strlen(text);
	if (following->text_size > TEXT_LIMIT) {
		plan_opaque(plan, OPAQUE_UNREAD,
			    "the texts in it that run other texts are too long");
		return;
	}
	parse_shell_within(following->arena, text, strlen(text), &following->time_us, &inner);
	if (inner.opaque)
		plan_opaque(plan, inner.opacity, inner.opaque_why);
	append(following, i, inner.commands, inner.count, remote);
}

void parse_request(struct arena *arena, const struct request *request, struct plan *ret_plan)
{
	struct plan plan = {0};
	struct following following = {.arena = arena, .plan = &plan, .time_us = PARSE_TIME_US};

	if (request->mode == MODE_SHELL) {
		const char *script = request->script ? request->script : "";

		parse_shell_within(arena, script, strlen(script), &following.time_us, &plan);
	} else if (request->argv.count) {
		const struct list *argv = &request->argv;

		plan.commands = arena_new_array(arena, struct command, 1);
		plan.commands->argv = arena_new_array(arena, const char *, argv->count + 1);
		for (size_t i = 0; i < argv->count; i++)
			plan.commands->argv[i] = arena_strdup(arena, argv->items[i]);
		plan.commands->argc = argv->count;
		plan.count = 1;
	}
	following.room = plan.count;
	for (size_t i = 0; i < plan.count && following.text_size <= TEXT_LIMIT; i++)
		follow(&following, i);
	*ret_plan = plan;
}
