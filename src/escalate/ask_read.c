/* SPDX-License-Identifier: Apache-2.0 */
/* A question that came as JSON, to be asked at this terminal. */
#include "ask_json.h"
#include "opinion.h"

#include <string.h>

static const char *text_of(json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static struct list *list_of(struct arena *arena, json_t *array)
{
	struct list *list = arena_alloc(arena, sizeof(*list));
	json_t *item;
	size_t i;

	list->items = arena_new_array(arena, char *, json_array_size(array) + 1);
	json_array_foreach (array, i, item)
		if (json_is_string(item))
			list->items[list->count++] = arena_strdup(arena, json_string_value(item));
	return list;
}

static const struct list *list_or_null(struct arena *arena, json_t *object, const char *key)
{
	json_t *array = json_object_get(object, key);

	return json_is_array(array) ? list_of(arena, array) : NULL;
}

static const char **texts_of(struct arena *arena, json_t *object, const char *key)
{
	return (const char **)list_of(arena, json_object_get(object, key))->items;
}

static int find_name(const char *(*name_of)(int), const char *text)
{
	for (int i = 0; i < 4 && text; i++)
		if (strcmp(name_of(i), text) == 0)
			return i;
	return 0;
}

static const char *risk_of(int number)
{
	return risk_name((enum risk)number);
}

static const char *reach_of(int number)
{
	return reach_name((enum reach)number);
}

static struct assessment *assessment_from_json(struct arena *arena, json_t *risk)
{
	struct assessment *assessment = arena_alloc(arena, sizeof(*assessment));
	json_t *radius = json_object_get(risk, "blast_radius");

	assessment->risk = (enum risk)find_name(risk_of, text_of(risk, "level"));
	assessment->categories = texts_of(arena, risk, "categories");
	assessment->reasons = texts_of(arena, risk, "reasons");
	assessment->why = assessment->reasons[0];
	assessment->reversible = json_is_true(json_object_get(risk, "reversible"));
	assessment->way_back = text_of(risk, "way_back");
	assessment->unknown = text_of(risk, "unknown");
	assessment->confidence = json_number_value(json_object_get(risk, "confidence"));
	assessment->files = (enum reach)find_name(reach_of, text_of(radius, "files"));
	assessment->network = json_is_true(json_object_get(radius, "network"));
	assessment->remote = json_is_true(json_object_get(radius, "remote"));
	return assessment;
}

static void read_extents(struct arena *arena, json_t *object, struct ask *ask)
{
	json_t *array = json_object_get(object, "extents"), *item;
	size_t i;

	ask->extents = arena_new_array(arena, struct extent, json_array_size(array) + 1);
	json_array_foreach (array, i, item)
		ask->extents[ask->extent_count++] =
			(struct extent){.name = text_of(item, "name"),
					.grants = list_of(arena, json_object_get(item, "grants")),
					.rule = text_of(item, "rule")};
	ask->extent = (size_t)json_integer_value(json_object_get(object, "extent"));
}

static bool is_choice(json_t *object, const char *choice)
{
	json_t *item;
	size_t i;

	json_array_foreach (json_object_get(object, "choices"), i, item)
		if (json_is_string(item) && strcmp(json_string_value(item), choice) == 0)
			return true;
	return false;
}

int ask_from_json(struct arena *arena, json_t *object, struct ask *ret_ask,
		  struct error **ret_error)
{
	struct ask ask = {0};
	const struct {
		const char *key, **text;
	} texts[] = {
		{"command", &ask.command},
		{"cwd", &ask.cwd},
		{"workspace", &ask.workspace},
		{"agent", &ask.agent},
		{"session", &ask.session},
		{"tool", &ask.tool},
		{"call_id", &ask.call_id},
		{"turn", &ask.turn},
		{"reason", &ask.reason},
		{"tier", &ask.tier},
		{"why", &ask.why},
		{"retry_reason", &ask.retry_reason},
		{"covers", &ask.covers},
		{"always_rule", &ask.always_rule},
		{"always_file", &ask.always_file},
		{"never_rule", &ask.never_rule},
		{"operation", &ask.operation},
		{"code", &ask.code},
		{"program", &ask.program},
		{"verb", &ask.verb},
		{"object", &ask.object},
		{"note", &ask.note},
	};
	int kind = ask_kind_from_name(text_of(object, "kind"));

	for (size_t i = 0; i < ELEMENTS(texts); i++)
		*texts[i].text = text_of(object, texts[i].key);
	ask.kind = (enum ask_kind)kind;
	ask.refused = list_or_null(arena, object, "refused");
	ask.wants = list_or_null(arena, object, "wants");
	ask.grants = list_of(arena, json_object_get(object, "grants"));
	ask.domains = list_or_null(arena, object, "domains");
	ask.starts_again = json_is_true(json_object_get(object, "starts_again"));
	ask.destroys = json_is_true(json_object_get(object, "destroys"));
	ask.may_unsandbox = is_choice(object, "approve unsandboxed");
	ask.may_defer = is_choice(object, "defer");
	ask.route = json_object_get(object, "route");
	ask.background = background_from_json(arena, object);
	if (json_is_object(json_object_get(object, "opinion")))
		ask.opinion = opinion_from_json(arena, json_object_get(object, "opinion"));
	read_extents(arena, object, &ask);
	if (json_is_object(json_object_get(object, "risk")))
		ask.assessment = assessment_from_json(arena, json_object_get(object, "risk"));
	if (kind < 0 || !ask.command || !ask.cwd || (ask.kind == ASK_IN_PLACE && !ask.object) ||
	    ask.extent >= ask.extent_count + !ask.extent_count)
		return fail(ret_error, E_INPUT, "this is no question");
	*ret_ask = ask;
	return 0;
}
