/* SPDX-License-Identifier: Apache-2.0 */
/* What is known around a question, as JSON and back. */
#include "../request/text_json.h"
#include "background.h"

#include <string.h>

static json_t *rollback_to_json(const struct background *background)
{
	json_t *object = json_object();

	json_put(object, "can_rollback",
		 background->can_roll_back == KNOWN_NOT
			 ? json_null()
			 : json_boolean(background->can_roll_back == KNOWN_YES));
	json_put_text(object, "time", background->rollback_time);
	json_put_list(object, "steps", &background->rollback_steps);
	return object;
}

static json_t *similar_to_json(const struct background *background)
{
	json_t *array = json_array();

	for (size_t i = 0; i < background->similar_count; i++) {
		const struct past *past = &background->similar[i];
		json_t *object = json_object();

		json_put_text(object, "description", past->description);
		json_put_text(object, "outcome", past->outcome);
		json_put_text(object, "date", past->date);
		json_array_append_new(array, object);
	}
	return array;
}

void background_to_json(const struct background *background, json_t *object)
{
	json_put_text(object, "summary", background->summary);
	json_put_list(object, "what_will_happen", &background->effects);
	json_put_list(object, "failure_modes", &background->failures);
	json_put_list(object, "affected_systems", &background->systems);
	json_put_list(object, "affected_users", &background->users);
	json_put(object, "rollback", rollback_to_json(background));
	json_put(object, "similar_operations", similar_to_json(background));
	json_put(object, "historical_success_rate",
		 background->ran
			 ? json_real((double)background->succeeded / (double)background->ran)
			 : json_null());
	json_put_count(object, "historical_runs", background->ran);
	if (background->history_gap)
		json_put_text(object, "history_gap", background->history_gap);
}

/* --- back --- */

static char *text_of(struct arena *arena, json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return arena_strdup(arena, text ? text : "unknown");
}

static void read_list(struct arena *arena, json_t *object, const char *key, struct list *ret_list)
{
	json_t *array = json_object_get(object, key), *item;
	size_t i;

	ret_list->items = arena_new_array(arena, char *, json_array_size(array) + 1);
	json_array_foreach (array, i, item)
		if (json_is_string(item))
			ret_list->items[ret_list->count++] =
				arena_strdup(arena, json_string_value(item));
}

const struct background *background_from_json(struct arena *arena, json_t *object)
{
	struct background *background = arena_alloc(arena, sizeof(*background));
	json_t *rollback = json_object_get(object, "rollback"), *item,
	       *can = json_object_get(rollback, "can_rollback");
	double rate = json_number_value(json_object_get(object, "historical_success_rate"));
	json_int_t ran = json_integer_value(json_object_get(object, "historical_runs"));
	size_t i;

	if (!json_object_get(object, "summary"))
		return NULL;
	*background = (struct background){
		.summary = text_of(arena, object, "summary"),
		.can_roll_back = json_is_true(can)    ? KNOWN_YES
				 : json_is_false(can) ? KNOWN_NO
						      : KNOWN_NOT,
		.rollback_time = text_of(arena, rollback, "time"),
		.ran = ran > 0 ? (uint64_t)ran : 0,
	};
	background->succeeded =
		rate > 0 && rate <= 1 ? (uint64_t)(rate * (double)background->ran + 0.5) : 0;
	read_list(arena, object, "what_will_happen", &background->effects);
	read_list(arena, object, "failure_modes", &background->failures);
	read_list(arena, object, "affected_systems", &background->systems);
	read_list(arena, object, "affected_users", &background->users);
	read_list(arena, rollback, "steps", &background->rollback_steps);
	json_array_foreach (json_object_get(object, "similar_operations"), i, item)
		if (background->similar_count < SIMILAR_MOST)
			background->similar[background->similar_count++] =
				(struct past){.description = text_of(arena, item, "description"),
					      .outcome = text_of(arena, item, "outcome"),
					      .date = text_of(arena, item, "date")};
	if (json_is_string(json_object_get(object, "history_gap")))
		background->history_gap = text_of(arena, object, "history_gap");
	return background;
}
