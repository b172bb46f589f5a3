/* SPDX-License-Identifier: Apache-2.0 */
/* People, groups and routes of several files. A route only ever adds to what a yes takes, so one
 * from any file is taken; a name means what the first file says that has it. */
#include "layer.h"
#include "merge.h"
#include "../base/buffer.h"

#include <stdio.h>
#include <string.h>

static struct named *find_name(const struct names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->items[i].name, name) == 0)
			return &names->items[i];
	return NULL;
}

/* Who proves himself so; NULL: nobody that a file has named. */
static const char *person_of(const struct names *people, const char *way)
{
	for (size_t i = 0; i < people->count; i++)
		if (list_has(&people->items[i].items, way))
			return people->items[i].name;
	return NULL;
}

/* "alice=user:alice,web:alice". Somebody who is named without a door is whoever is called so at any
 * that proves names; where a file says who that is, he is that one and no other. Caller frees. */
static char *expand(const struct names *people, const char *member)
{
	const char *colon = strchr(member, ':'), *person = person_of(people, member);
	const struct named *known = find_name(people, person ? person : member);
	_cleanup_buffer_ struct buffer text = {0};

	if (colon) {
		buffer_printf(&text, "%s=%s", person ? person : colon + 1, member);
	} else if (known) {
		buffer_printf(&text, "%s=", known->name);
		for (size_t i = 0; i < known->items.count; i++)
			buffer_printf(&text, "%s%s", i ? "," : "", known->items.items[i]);
	} else {
		buffer_printf(&text, "%s=user:%s,web:%s", member, member, member);
	}
	return buffer_steal(&text);
}

static void expand_all(const struct names *people, struct list *members)
{
	struct list all = {0};

	for (size_t i = 0; i < members->count; i++)
		list_take(&all, expand(people, members->items[i]));
	list_done(members);
	*members = all;
}

static void ignore_name(struct policy *policy, const struct layer *layer, const struct named *named,
			const char *section, const char *remedy)
{
	_cleanup_free_ char *what = NULL;

	if (asprintf(&what, "%s.%s", section, named->name) < 0)
		abort();
	if (!layer->trusted)
		merge_ignore(policy, layer, named->line, 1, remedy, what);
	else
		list_add_printf(&policy->warnings,
				"%s:%d:1: ignored: an earlier file says what %s is", layer->file,
				named->line, what);
}

static void merge_names(struct policy *policy, const struct layer *layer, struct names *from,
			struct names *to, const char *section, bool anybody, const char *remedy)
{
	const struct names *people = &policy->routing.people;

	if (from->count == 0)
		return;
	to->items = reallocarray(to->items, to->count + from->count, sizeof(*to->items));
	if (!to->items)
		abort();
	for (size_t i = 0; i < from->count; i++) {
		struct named *named = &from->items[i];

		if (find_name(to, named->name) || (!layer->trusted && !anybody)) {
			ignore_name(policy, layer, named, section, remedy);
			continue;
		}
		if (to == &policy->routing.groups || to == &policy->routing.owners)
			expand_all(people, &named->items);
		named->trusted = layer->trusted;
		to->items[to->count++] = *named;
		*named = (struct named){0};
	}
}

void merge_routing(struct policy *policy, struct layer *layer, const char *remedy)
{
	struct routing *from = &layer->routing, *to = &policy->routing;

	/* Who somebody is comes before the groups that he is in: it holds for this file's and for
	 * later ones', never for those of an earlier one. */
	merge_names(policy, layer, &from->people, &to->people, "people", false, remedy);
	merge_names(policy, layer, &from->owners, &to->owners, "owners", false, remedy);
	merge_names(policy, layer, &from->groups, &to->groups, "approvers", true, remedy);
	merge_names(policy, layer, &from->environments, &to->environments, "environments", true,
		    remedy);
	if (from->rule_count == 0)
		return;
	to->rules = reallocarray(to->rules, to->rule_count + from->rule_count, sizeof(*to->rules));
	if (!to->rules)
		abort();
	for (size_t i = 0; i < from->rule_count; i++) {
		from->rules[i].trusted = layer->trusted;
		to->rules[to->rule_count++] = from->rules[i];
		from->rules[i] = (struct route_rule){0};
	}
	from->rule_count = 0;
}

static void warn(struct policy *policy, const struct route_rule *rule, const char *format,
		 const char *name)
{
	_cleanup_free_ char *text = NULL;

	if (asprintf(&text, format, name) < 0)
		abort();
	list_add_printf(&policy->warnings, "%s:%d:1: %s", rule->file, rule->line, text);
}

/* How many different people there are in a step's groups, later ones included. */
static size_t count_people(const struct policy *policy, const struct route_step *step)
{
	_cleanup_list_ struct list people = {0};
	const struct list *lists[] = {&step->from, &step->then};

	for (size_t l = 0; l < ELEMENTS(lists); l++)
		for (size_t i = 0; i < lists[l]->count; i++) {
			const struct named *group =
				find_name(&policy->routing.groups, lists[l]->items[i]);

			for (size_t k = 0; group && k < group->items.count; k++) {
				_cleanup_free_ char *person = strndup(
					group->items.items[k], strcspn(group->items.items[k], "="));

				if (!list_has(&people, person))
					list_add(&people, person);
			}
		}
	return people.count;
}

/* By one way only one person can be told from others: the first that a file names it for. */
static void lint_people(struct policy *policy)
{
	const struct names *people = &policy->routing.people;

	for (size_t i = 0; i < people->count; i++)
		for (size_t k = 0; k < people->items[i].items.count; k++) {
			const char *way = people->items[i].items.items[k];

			for (size_t before = 0; before < i; before++) {
				if (!list_has(&people->items[before].items, way))
					continue;
				list_add_printf(&policy->warnings,
						"`people` has '%s' under '%s' and under '%s': "
						"whoever comes by it is taken for the first",
						way, people->items[before].name,
						people->items[i].name);
				break;
			}
		}
}

void lint_routing(struct policy *policy)
{
	lint_people(policy);
	for (size_t r = 0; r < policy->routing.rule_count; r++) {
		const struct route_rule *rule = &policy->routing.rules[r];

		for (size_t i = 0; i < rule->targets.count; i++)
			if (!find_name(&policy->routing.environments, rule->targets.items[i]))
				warn(policy, rule,
				     "no file says under `environments` what '%s' is: it is taken "
				     "to be anywhere",
				     rule->targets.items[i]);
		for (size_t s = 0; s < rule->step_count; s++) {
			const struct route_step *step = &rule->steps[s];

			for (size_t i = 0; i < step->from.count; i++)
				if (!find_name(&policy->routing.groups, step->from.items[i]))
					warn(policy, rule,
					     "no file says under `approvers` who '%s' are",
					     step->from.items[i]);
			if (count_people(policy, step) < step->need)
				warn(policy, rule,
				     "more people are needed than there are in '%s': what it is "
				     "for is never approved",
				     step->from.items[0]);
		}
	}
}
