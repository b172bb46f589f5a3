/* SPDX-License-Identifier: Apache-2.0 */
/* Where commands stand, and what is not known of them, in words. */
#include "plan.h"

#include <string.h>

void plan_opaque(struct arena *arena, struct plan *plan, enum opacity opacity, const char *why,
		 struct span span)
{
	if (opacity > MAX(plan->opacity, OPAQUE_BODY)) {
		plan->opacity = opacity;
		plan->opaque_why = why;
		plan->opaque = true;
	}
	for (size_t i = 0; i < plan->opaque_count; i++)
		if (plan->opaque_parts[i].span.start == span.start &&
		    plan->opaque_parts[i].span.end == span.end &&
		    strcmp(plan->opaque_parts[i].why, why) == 0)
			return;
	if (!plan->opaque_parts)
		plan->opaque_parts = arena_new_array(arena, struct opaque_part, OPAQUE_PARTS);
	if (plan->opaque_count < OPAQUE_PARTS)
		plan->opaque_parts[plan->opaque_count++] = (struct opaque_part){span, opacity, why};
}

static const char *stage_text(struct arena *arena, const struct pipeline *pipeline, unsigned stage)
{
	return arena_printf(arena, "pipeline %u/%u", stage, pipeline->stages);
}

static const char *place_text(struct arena *arena, const struct spot *place)
{
	static const char *const names[] = {
		[PLACE_GROUP] = "group",
		[PLACE_SUBSHELL] = "subshell",
		[PLACE_FUNCTION] = "function",
		[PLACE_LOOP] = "loop",
		[PLACE_CONDITION] = "condition",
		[PLACE_BRANCH] = "branch",
		[PLACE_CASE] = "case",
		[PLACE_SUBSTITUTION] = "substitution",
		[PLACE_BACKQUOTES] = "backquotes",
		[PLACE_PROCESS] = "process substitution",
		[PLACE_COPROCESS] = "coprocess",
		[PLACE_TEXT] = "text of",
		[PLACE_TRAP] = "trap",
		[PLACE_ALIAS] = "alias",
		[PLACE_CALL] = "call of",
		[PLACE_INPUT] = "input of",
		[PLACE_FILE] = "file",
	};

	if (!place->name)
		return names[place->kind];
	return arena_printf(arena, "%s %s%s", names[place->kind], place->name,
			    place->kind == PLACE_FUNCTION && !place->called ? ", never called"
									    : "");
}

const char **plan_context(struct arena *arena, const struct command *command)
{
	size_t count = command->pipeline && command->pipeline->stages > 1, at;
	const struct spot *place;
	const char **texts;

	for (place = command->place; place; place = place->outer)
		count += 1 + (place->pipeline && place->pipeline->stages > 1);
	texts = arena_new_array(arena, const char *, count + 1);
	at = count;
	if (command->pipeline && command->pipeline->stages > 1)
		texts[--at] = stage_text(arena, command->pipeline, command->stage);
	for (place = command->place; place; place = place->outer) {
		texts[--at] = place_text(arena, place);
		if (place->pipeline && place->pipeline->stages > 1)
			texts[--at] = stage_text(arena, place->pipeline, place->stage);
	}
	return texts;
}

bool plan_is_stage(const struct command *command, const struct pipeline *pipeline, unsigned stage)
{
	if (command->pipeline == pipeline)
		return command->stage == stage;
	for (const struct spot *place = command->place; place; place = place->outer)
		if (place->pipeline == pipeline)
			return place->stage == stage;
	return false;
}

const struct pipeline *plan_input(const struct command *command, unsigned *ret_stage)
{
	const struct spot *place = command->place;

	if (command->pipeline && command->stage > 1) {
		*ret_stage = command->stage - 1;
		return command->pipeline;
	}
	/* a group that stands behind a pipe hands it on to what is in it */
	while (place && place->stage < 2 && place->kind <= PLACE_BACKQUOTES)
		place = place->outer;
	if (!place || place->stage < 2)
		return NULL;
	*ret_stage = place->stage - 1;
	return place->pipeline;
}
