/* SPDX-License-Identifier: Apache-2.0 */
/* How far a yes to what a call wants could reach: the thing alone, all in it, all beside it; or a
 * host, and the named set that it belongs to. */
#include "flow_state.h"
#include "base/path.h"
#include "decide/sets.h"
#include "escalate/hint.h"

#include <string.h>

enum {
	SET_SHOWN = 4,	 /* hosts of a set that are named beside it; a key shows them all */
	NAME_SHORT = 24, /* a directory that is named beside its key */
};

void extents_done(struct extents *extents)
{
	for (size_t i = 0; i < EXTENTS_MOST; i++)
		list_done(&extents->grants[i]);
	free(extents->set);
	*extents = (struct extents){0};
}

static struct list *add(struct extents *extents, const char *name)
{
	struct list *grants = &extents->grants[extents->count];

	extents->items[extents->count++] = (struct extent){.name = name, .grants = grants};
	return grants;
}

/* --- files --- */

static bool holds(const char *directory, const char *path)
{
	return path && path_is_under(path, directory);
}

/* Never a home, a whole part of the system or ward's own; and not where that would not even give
 * what is wanted, because it is closed by its own name. */
static bool is_offered(const struct flow *flow, const struct wish *wish, const char *directory)
{
	const struct list *own = &flow->verdict.permissions.own;
	const struct area *area = areas_find(&flow->masks.areas, wish->object);

	if (hint_is_broad(directory) || holds(directory, flow->identity.home) ||
	    holds(directory, flow->identity.account_home) || holds(directory, flow->state) ||
	    holds(directory, flow->own_state) || holds(directory, "/etc/ward"))
		return false;
	for (size_t i = 0; i < own->count; i++)
		if (holds(directory, own->items[i]))
			return false;
	return strncmp(wish->rule, "protected", strlen("protected")) != 0 &&
	       (!area || area->state == STATE_WRITABLE || strlen(area->path) <= strlen(directory));
}

static void find_directories(const struct flow *flow, const struct wish *wish,
			     struct extents *extents)
{
	_cleanup_free_ char *path = path_escape(wish->object), *directory = strdup(wish->object),
			    *pattern = NULL;
	char *slash = strrchr(directory, '/');
	struct list *beside;

	list_add_printf(add(extents, "this alone"), "%s %s", wish->operation, path);
	if (wish->tree) {
		extents->asked = extents->count;
		list_add_printf(add(extents, "all in it"), "%s %s/**", wish->operation, path);
	}
	if (!slash || slash == directory)
		return;
	*slash = '\0';
	pattern = path_escape(directory);
	if (strcmp(wish->operation, "read") == 0 || !is_offered(flow, wish, directory))
		return;
	beside = add(extents, "all beside it");
	list_add_printf(beside, "%s %s/**", wish->operation, pattern);
	if (strlen(pattern) <= NAME_SHORT)
		extents->items[extents->count - 1].name =
			beside->items[0] + strlen(wish->operation) + 1;
}

/* --- hosts --- */

static void add_hosts(const struct list *hosts, struct list *grants)
{
	for (size_t i = 0; i < hosts->count; i++) {
		_cleanup_free_ char *grant = NULL;

		if (asprintf(&grant, "connect %s", hosts->items[i]) < 0)
			abort();
		if (!list_has(grants, grant))
			list_add(grants, grant);
	}
}

/* All of the set, itself first. Where only the workspace says that it belongs to one, that lends it
 * no name, and what really does is not mixed with it. */
static void find_set(const struct flow *flow, const struct wish *wish, const char *permission,
		     struct extents *extents)
{
	_cleanup_list_ struct list hosts = {0}, suggested = {0}, writable = {0};
	struct sets_places places;
	struct list *grants;

	flow_places(flow, &writable, &places);
	extents->set = sets_of(wish->host, wish->port, wish->program, &places, &hosts, &suggested);
	if (!extents->set)
		return;
	if (hosts.count == 0) {
		free(extents->set);
		extents->set = strdup("named in the workspace");
	}
	list_add(add(extents, "this alone"), permission);
	grants = add(extents, extents->set);
	list_add(grants, permission);
	add_hosts(hosts.count ? &hosts : &suggested, grants);
	if (grants->count == 1) /* there is nobody else in it */
		extents_done(extents);
}

void extents_find(const struct flow *flow, const struct wish *wish, const char *permission,
		  struct extents *ret_extents)
{
	*ret_extents = (struct extents){0};
	if (wish->host && !wish->warning)
		find_set(flow, wish, permission, ret_extents);
	else if (wish->object[0] == '/' && !wish->command && !wish->protocol)
		find_directories(flow, wish, ret_extents);
}

void extents_describe_set(const struct extents *extents, struct buffer *note)
{
	const struct list *grants = &extents->grants[1];
	size_t shown = MIN(grants->count - 1, (size_t)SET_SHOWN);

	buffer_printf(note, "%s:", extents->set);
	for (size_t i = 1; i <= shown; i++)
		buffer_printf(note, "%s %s", i > 1 ? "," : "",
			      grants->items[i] + strlen("connect "));
	if (grants->count - 1 > shown)
		buffer_printf(note, " and %zu more", grants->count - 1 - shown);
}
