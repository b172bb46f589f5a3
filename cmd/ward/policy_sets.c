/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of hosts as text and as JSON, with where each host comes from. */
#include "policy_sets.h"
#include "output.h"
#include "../../src/base/path.h"
#include "../../src/decide/sets.h"
#include "../../src/request/text_json.h"

#include <stdio.h>

extern char **environ;

static struct sets_places places_of(const struct policy_places *places)
{
	return (struct sets_places){.workspace = places->workspace,
				    .home = places->home,
				    .config_home = places->config_home,
				    .state = places->state,
				    .environment = environ,
				    .uid = places->uid};
}

/* What the policy lets commands write here. */
static int find_writable(const struct policy_places *places, struct list *writable,
			 struct error **ret_error)
{
	_cleanup_policy_ struct policy *policy = NULL;
	int r = policy_load(places, &policy, ret_error);

	for (size_t i = 0; r == 0 && i < policy->sandbox.write.count; i++)
		list_take(writable, path_resolve(places->workspace, places->home,
						 policy->sandbox.write.items[i]));
	return r;
}

static void print_set(const struct set *set)
{
	output_text(COLOUR_BOLD, set->name);
	if (set->description) {
		fputs("  ", stdout);
		output_text(COLOUR_NONE, set->description);
	}
	putchar('\n');
	for (size_t i = 0; i < set->programs.count; i++) {
		fputs(i ? ", " : "  for ", stdout);
		output_text(COLOUR_NONE, set->programs.items[i]);
	}
	fputs(set->programs.count ? "\n" : "", stdout);
	for (size_t i = 0; i < set->count; i++) {
		const struct set_host *host = &set->hosts[i];
		int room = 40 - (int)strlen(host->pattern);

		fputs("  ", stdout);
		output_text(host->suggested ? COLOUR_YELLOW : COLOUR_NONE, host->pattern);
		printf("%*s", MAX(room, 2), "");
		output_text(COLOUR_NONE, host->origin);
		puts(host->suggested ? " (only suggested: commands can write it)" : "");
	}
}

static json_t *set_object(const struct set *set)
{
	json_t *object = json_object(), *hosts = json_array();

	json_put_text(object, "name", set->name);
	json_put_text(object, "description", set->description);
	json_put_list(object, "programs", &set->programs);
	for (size_t i = 0; i < set->count; i++) {
		json_t *host = json_object();

		json_put_text(host, "host", set->hosts[i].pattern);
		json_put_text(host, "origin", set->hosts[i].origin);
		json_put(host, "suggested", json_boolean(set->hosts[i].suggested));
		json_array_append_new(hosts, host);
	}
	json_put(object, "hosts", hosts);
	return object;
}

static bool is_meant(const struct set *set, const char *name)
{
	return !name || strcmp(set->name, name) == 0;
}

int policy_sets(const struct policy_places *places, const char *name, bool json,
		struct error **ret_error)
{
	_cleanup_list_ struct list writable = {0};
	_cleanup_sets_ struct sets sets = {0};
	struct sets_places where = places_of(places);
	int r = find_writable(places, &writable, ret_error);

	where.writable = &writable;
	if (r == 0)
		r = sets_load(&where, name, &sets, ret_error);
	if (r < 0)
		return r;
	if (json) {
		json_t *object = json_object(), *array = json_array();

		for (size_t i = 0; i < sets.count; i++)
			if (is_meant(&sets.items[i], name))
				json_array_append_new(array, set_object(&sets.items[i]));
		json_put(object, "sets", array);
		output_json(object);
		json_decref(object);
		return 0;
	}
	for (size_t i = 0; i < sets.count && !output_is_closed(); i++)
		if (is_meant(&sets.items[i], name))
			print_set(&sets.items[i]);
	return 0;
}

int policy_sets_check(const struct policy_places *places, struct list *files,
		      struct error **ret_error)
{
	struct sets_places where = places_of(places);

	return sets_check_files(&where, files, ret_error);
}
