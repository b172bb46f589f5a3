/* SPDX-License-Identifier: Apache-2.0 */
/* Questions that are one to a person: several runs of an agent want the same for the same command
 * at once. Each keeps its own file and its own answer; they are shown as one, which names the
 * others, and what is said to it goes to exactly those that it named. */
#include "ask_json.h"
#include "queue_parts.h"

#include <stdlib.h>
#include <string.h>

/* What may differ: which call it is, and what is known around it at the moment. All else is the
 * same, what their runs were started with included, or it is another question. */
static const char *const different[] = {"id",
					"text",
					"call_id",
					"turn",
					"opinion",
					"summary",
					"similar_operations",
					"historical_success_rate",
					"historical_runs",
					"history_gap"};

/* NULL: it stands for itself. Silence counts for one that was shown, and a ticket is somebody's.
 * Caller frees. */
static char *key_of(json_t *entry)
{
	json_t *ask = json_object_get(entry, "ask"), *likeness = json_object_get(entry, "likeness"),
	       *same;
	char *key;

	if (!json_is_object(ask) || !likeness || json_object_get(ask, "objection_seconds") ||
	    json_object_get(entry, "ticket"))
		return NULL;
	same = json_copy(ask);
	json_object_set(same, "likeness", likeness);
	for (size_t i = 0; i < ELEMENTS(different); i++)
		json_object_del(same, different[i]);
	key = json_dumps(same, JSON_COMPACT | JSON_SORT_KEYS);
	json_decref(same);
	return key;
}

bool alike_are(json_t *one, json_t *other)
{
	_cleanup_free_ char *a = key_of(one), *b = key_of(other);

	return a && b && strcmp(a, b) == 0;
}

static json_t *name_of(json_t *entry)
{
	return json_pack("{s:O?, s:O?, s:O?}", "id", json_object_get(entry, "id"), "run",
			 json_object_get(entry, "run"), "since", json_object_get(entry, "since"));
}

void alike_mark(json_t *entries)
{
	json_t *groups = json_object(), *entry, *group;
	const char *key;
	size_t i, k, m;
	json_t *member, *other;

	json_array_foreach (entries, i, entry) {
		_cleanup_free_ char *text = key_of(entry);

		if (!text)
			continue;
		group = json_object_get(groups, text);
		if (!group) {
			group = json_array();
			json_object_set_new(groups, text, group);
		} else {
			json_object_set_new(entry, "hidden", json_true());
		}
		json_array_append(group, entry);
	}
	json_object_foreach (groups, key, group) {
		if (json_array_size(group) < 2)
			continue;
		json_array_foreach (group, k, member) {
			json_t *also = json_array();

			json_array_foreach (group, m, other)
				if (m != k)
					json_array_append_new(also, name_of(other));
			json_object_set_new(member, "also", also);
		}
	}
	json_decref(groups);
}

bool alike_take_hidden(json_t *entry)
{
	bool hidden = json_object_get(entry, "hidden") != NULL;

	json_object_del(entry, "hidden");
	return hidden;
}

/* A rule is written once, by the run that was shown; for the others the answer holds this time. */
static json_t *answer_for_others(json_t *answer)
{
	const char *scope = json_string_value(json_object_get(answer, "scope"));
	json_t *copy = json_copy(answer);

	if (scope && strcmp(scope, "always") == 0)
		json_object_set_new(copy, "scope", json_string("once"));
	return copy;
}

void alike_answer(const char *state, json_t *entry, json_t *answer, const struct approver_id *who,
		  json_t *also)
{
	json_t *said = answer_for_others(answer), *item;
	size_t i;

	json_array_foreach (also, i, item) {
		json_t *id = json_is_object(item) ? json_object_get(item, "id") : item,
		       *other = NULL;

		/* One that is gone, was answered, or is another question has nothing to be told. */
		if (i < ALIKE_MOST && json_is_string(id) &&
		    queue_get(state, json_string_value(id), &other, NULL) == 0 &&
		    alike_are(entry, other))
			(void)queue_answer(state, other, said, who, NULL);
		json_decref(other);
	}
	json_decref(said);
}
