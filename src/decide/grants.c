/* SPDX-License-Identifier: Apache-2.0 */
/* Grants as values: what they are as JSON, which one is meant, what they cover. */
#include "grants_parts.h"
#include "../request/text_json.h"

#include <string.h>

void grant_done(struct grant *grant)
{
	char *texts[] = {grant->id, grant->session, grant->key,	    grant->covers,
			 grant->by, grant->reason,  grant->command, grant->agent};

	for (size_t i = 0; i < ELEMENTS(texts); i++)
		free(texts[i]);
	list_done(&grant->permissions);
	list_done(&grant->reasons);
	*grant = (struct grant){0};
}

void grants_done(struct grants *grants)
{
	for (size_t i = 0; i < grants->count; i++)
		grant_done(&grants->items[i]);
	free(grants->items);
	*grants = (struct grants){0};
}

struct grant *grants_add_empty(struct grants *grants)
{
	if (grants->count == grants->room) {
		grants->room = MAX(grants->room * 2, (size_t)8);
		grants->items = reallocarray(grants->items, grants->room, sizeof(*grants->items));
	}
	if (!grants->items)
		abort();
	grants->items[grants->count] = (struct grant){0};
	return &grants->items[grants->count++];
}

/* -- One grant as a line ------------------------------------------------------------------------
 */

static json_t *list_value(const struct list *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(array, json_text(list->items[i]));
	return array;
}

json_t *grant_to_json(const struct grant *grant)
{
	json_t *by = grant->expires.wall ? json_pack("{s:s, s:I}", "boot", grant->expires.boot,
						     "ns", (json_int_t)grant->expires.ns)
					 : NULL;

	return json_pack("{s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:o*, "
			 "s:I, s:I, s:I}",
			 "id", json_text(grant->id), "session", json_text(grant->session), "key",
			 json_text(grant->key), "covers", json_text(grant->covers), "refusal",
			 grant->refusal, "permissions", list_value(&grant->permissions), "reasons",
			 list_value(&grant->reasons), "by", json_text(grant->by), "reason",
			 json_text(grant->reason), "command", json_text(grant->command), "agent",
			 json_text(grant->agent), "made", (json_int_t)grant->made, "expires",
			 (json_int_t)grant->expires.wall, "expires_by", by, "uses",
			 (json_int_t)grant->uses, "used", (json_int_t)grant->used, "last",
			 (json_int_t)grant->last);
}

static char *text_of(const json_t *object, const char *member)
{
	const char *text = json_string_value(json_object_get(object, member));

	return text ? strdup(text) : NULL;
}

static void list_of(const json_t *object, const char *member, struct list *list)
{
	json_t *item;
	size_t i;

	json_array_foreach (json_object_get(object, member), i, item)
		if (json_is_string(item))
			list_add(list, json_string_value(item));
}

/* By the machine's own clock, too. One that does not say so is of no start of the machine. */
static struct moment end_of(const json_t *object)
{
	const json_t *by = json_object_get(object, "expires_by");
	const char *boot = json_string_value(json_object_get(by, "boot"));
	struct moment end = {.wall = json_integer_value(json_object_get(object, "expires")),
			     .ns = (uint64_t)json_integer_value(json_object_get(by, "ns")),
			     .boot = "?"};

	if (boot && *boot && strlen(boot) < BOOT_TEXT)
		strcpy(end.boot, boot);
	return end;
}

bool grant_from_json(const json_t *object, struct grant *ret_grant)
{
	*ret_grant = (struct grant){
		.id = text_of(object, "id"),
		.session = text_of(object, "session"),
		.key = text_of(object, "key"),
		.covers = text_of(object, "covers"),
		.refusal = json_is_true(json_object_get(object, "refusal")),
		.by = text_of(object, "by"),
		.reason = text_of(object, "reason"),
		.command = text_of(object, "command"),
		.agent = text_of(object, "agent"),
		.uses = (uint64_t)json_integer_value(json_object_get(object, "uses")),
		.made = json_integer_value(json_object_get(object, "made")),
		.expires = end_of(object),
	};
	list_of(object, "permissions", &ret_grant->permissions);
	list_of(object, "reasons", &ret_grant->reasons);
	/* No number of ours is below nothing; one that wraps would be without end. */
	return ret_grant->id && ret_grant->key && ret_grant->session &&
	       ret_grant->uses <= INT64_MAX && ret_grant->expires.wall >= 0;
}

int grants_find(const struct grants *grants, const char *id, size_t *ret_at,
		struct error **ret_error)
{
	bool found = false;

	for (size_t i = 0; i < grants->count && *id; i++) {
		if (strncmp(grants->items[i].id, id, strlen(id)) != 0)
			continue;
		if (found) {
			fail(ret_error, E_USAGE, "'%s' begins the ids of several grants", id);
			return error_hint(ret_error, "give more of the id");
		}
		found = true;
		*ret_at = i;
	}
	if (found)
		return 0;
	fail(ret_error, E_NOT_FOUND, "there is no grant '%s'", id);
	return error_hint(ret_error, "`ward grants` lists them");
}

bool grant_covers(const struct grant *grant, const char *key, const struct assessment *assessment)
{
	if (strcmp(grant->key, key) != 0)
		return false;
	if (grant->refusal)
		return true;
	for (const char **reason = assessment->reasons; *reason; reason++)
		if (!list_has(&grant->reasons, *reason))
			return false;
	return true;
}
