/* SPDX-License-Identifier: Apache-2.0 */
/* What several who said yes come to: never more than any of them gave. */
#include "../decide/within.h"
#include "ask_json.h"
#include "route.h"

#include <stdio.h>
#include <string.h>

static bool lies_within(const char *permission, const struct list *outer)
{
	for (size_t i = 0; i < outer->count; i++)
		if (permission_within(permission, outer->items[i]))
			return true;
	return false;
}

/* Those of either list that the other one admits. */
static void intersect(struct list *into, const struct list *other)
{
	struct list both = {0};

	for (size_t i = 0; i < into->count; i++)
		if (lies_within(into->items[i], other))
			list_add(&both, into->items[i]);
	for (size_t i = 0; i < other->count; i++)
		if (lies_within(other->items[i], into) && !list_has(&both, other->items[i]))
			list_add(&both, other->items[i]);
	list_done(into);
	*into = both;
}

/* What a yes gives: what was written in place of it, else what its extent has. */
static void gives(json_t *ask, const struct answer *answer, struct list *ret_grants)
{
	json_t *extent = json_array_get(json_object_get(ask, "extents"), answer->extent), *item;
	size_t i;

	for (size_t k = 0; k < answer->grants.count; k++)
		list_add(ret_grants, answer->grants.items[k]);
	if (answer->grants.count)
		return;
	json_array_foreach (json_object_get(extent ? extent : ask, "grants"), i, item)
		if (json_is_string(item))
			list_add(ret_grants, json_string_value(item));
}

/* 0: as often as it is wanted. */
static uint64_t fewer_uses(uint64_t one, uint64_t other)
{
	return one && other ? MIN(one, other) : one + other;
}

/* A time and a session end each in its own way: of the two nothing but once is surely both. */
static void narrow_scope(struct answer *into, const struct answer *other)
{
	if (into->scope == SCOPE_TIME && other->scope == SCOPE_TIME)
		into->seconds = MIN(into->seconds, other->seconds);
	if (into->scope == other->scope) {
		into->uses = fewer_uses(into->uses, other->uses);
		return;
	}
	if (other->scope == SCOPE_ALWAYS)
		return;
	if (into->scope == SCOPE_ALWAYS) {
		into->scope = other->scope;
		into->seconds = other->seconds;
		into->uses = other->uses;
		return;
	}
	into->scope = SCOPE_ONCE;
	into->seconds = into->uses = 0;
}

static void narrow_domains(struct answer *into, const struct answer *other)
{
	struct list both = {0};

	for (size_t i = 0; i < into->domains.count; i++)
		if (list_has(&other->domains, into->domains.items[i]))
			list_add(&both, into->domains.items[i]);
	list_done(&into->domains);
	into->domains = both;
}

static void join_words(char **into, const char *separator, const char *more)
{
	char *both = NULL;

	if (!more)
		return;
	if (asprintf(&both, "%s%s%s", *into ? *into : "", *into ? separator : "", more) < 0)
		abort();
	free(*into);
	*into = both;
}

static void join_reason(struct answer *into, const struct answer *one)
{
	_cleanup_free_ char *said = NULL;

	if (one->reason && asprintf(&said, "%s: %s", one->by, one->reason) < 0)
		abort();
	join_words(&into->reason, "; ", said);
	join_words(&into->by, ", ", one->by);
}

/* The call that waits must get what it waits for, or the same would be asked again. */
static void keep_needed(json_t *ask, bool admitted, struct list *grants)
{
	const char *kind = json_string_value(json_object_get(ask, "kind"));
	json_t *narrowest = json_array_get(json_object_get(ask, "extents"), 0);
	const char *needed = json_string_value(
		json_array_get(json_object_get(narrowest ? narrowest : ask, "grants"), 0));

	if (kind && strcmp(kind, "in_place") == 0 && needed && admitted &&
	    !lies_within(needed, grants))
		list_add(grants, needed);
}

static bool admits_needed(json_t *ask, const struct list *grants)
{
	json_t *narrowest = json_array_get(json_object_get(ask, "extents"), 0);
	const char *needed = json_string_value(
		json_array_get(json_object_get(narrowest ? narrowest : ask, "grants"), 0));

	return needed && lies_within(needed, grants);
}

int votes_agree(json_t *ask, json_t *votes, struct answer *ret_answer, struct error **ret_error)
{
	struct answer all = {.kind = ANSWER_APPROVE};
	_cleanup_list_ struct list grants = {0};
	bool edited = false, admitted = true, gave = false;
	json_t *vote;
	size_t i;
	int r = 0;

	json_array_foreach (votes, i, vote) {
		_cleanup_answer_ struct answer one = {0};
		_cleanup_list_ struct list given = {0};

		r = answer_from_json(json_object_get(vote, "answer"), ask, &one, ret_error);
		if (r == 0 && one.kind != ANSWER_APPROVE)
			r = fail(ret_error, E_INPUT, "%s has not said yes", one.by);
		if (r < 0)
			break;
		gives(ask, &one, &given);
		admitted &= admits_needed(ask, &given);
		edited |= one.grants.count > 0;
		join_reason(&all, &one);
		if (i == 0) {
			all.scope = one.scope;
			all.seconds = one.seconds;
			all.uses = one.uses;
			all.unsandboxed = one.unsandboxed;
			all.extent = one.extent;
			all.domains = one.domains;
			one.domains = (struct list){0};
			gave = given.count > 0;
			grants = given;
			given = (struct list){0};
		} else {
			narrow_scope(&all, &one);
			narrow_domains(&all, &one);
			all.unsandboxed &= one.unsandboxed;
			all.extent = MIN(all.extent, one.extent);
			intersect(&grants, &given);
		}
		all.monitor |= one.monitor;
	}
	if (r == 0 && json_array_size(votes) == 0)
		r = fail(ret_error, E_INPUT, "nobody has said yes");
	keep_needed(ask, admitted, &grants);
	/* What is kept for good is what was asked for, and not edited. */
	if (edited && all.scope == SCOPE_ALWAYS)
		all.scope = SCOPE_ONCE;
	/* A container is not part of what was missing, nor the other way round. */
	if (r == 0 && (edited || gave) && grants.count == 0)
		r = fail(ret_error, E_INPUT, "what they gave has nothing in common");
	if (r < 0) {
		answer_done(&all);
		return r;
	}
	if (edited) {
		all.grants = grants;
		grants = (struct list){0};
	}
	*ret_answer = all;
	return 0;
}
