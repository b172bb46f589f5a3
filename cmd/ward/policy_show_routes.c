/* SPDX-License-Identifier: Apache-2.0 */
/* Who answers which questions, as a policy has it, shown to people and programs. */
#include "policy_show.h"
#include "../../src/request/text_json.h"

#include <stdio.h>
#include <string.h>

static const struct named *find(const struct names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->items[i].name, name) == 0)
			return &names->items[i];
	return NULL;
}

/* "alice=user:alice,web:alice" as somebody would write it. Caller frees. */
static char *member_text(const struct names *people, const char *member)
{
	size_t length = strcspn(member, "=");
	char *person = strndup(member, length);
	const char *ways = member + length + 1;

	/* One way and no other, unless that is all there is of him. */
	if (!strchr(ways, ',') && !find(people, person)) {
		free(person);
		return strdup(ways);
	}
	return person;
}

static void members_of(const struct names *people, const struct list *members, struct list *ret)
{
	for (size_t i = 0; i < members->count; i++)
		list_take(ret, member_text(people, members->items[i]));
}

static void print_names(const char *section, const struct names *names, const struct names *people,
			bool alone)
{
	if (names->count)
		printf("%s:\n", section);
	for (size_t i = 0; i < names->count; i++) {
		const struct named *named = &names->items[i];
		_cleanup_list_ struct list texts = {0};

		if (people)
			members_of(people, &named->items, &texts);
		else
			for (size_t k = 0; k < named->items.count; k++)
				list_add(&texts, named->items.items[k]);
		fputs("  ", stdout);
		policy_print_quoted(named->name);
		fputs(": ", stdout);
		for (size_t k = 0; k < texts.count; k++) {
			fputs(k ? ", " : alone ? "" : "[", stdout);
			policy_print_quoted(texts.items[k]);
		}
		puts(alone ? "" : "]");
	}
}

static void print_step(const struct route_step *step)
{
	printf("      - need: %u\n", step->need);
	policy_print_list("        ", "from", &step->from);
	if (step->reason)
		puts("        reason: required");
	if (step->within_ns)
		printf("        within: %.17g\n", (double)step->within_ns / 1e9);
	policy_print_list("        ", "then", &step->then);
}

static void print_rule(const struct route_rule *rule)
{
	fputs("  - name: ", stdout);
	policy_print_quoted(rule->name ? rule->name : "unnamed");
	policy_print_origin(rule->file, rule->line);
	policy_print_condition(4, "when", rule->when);
	policy_print_list("      ", "path", &rule->paths);
	policy_print_list("      ", "target", &rule->targets);
	if (rule->own != OWN_UNSAID)
		printf("    not_own: %s\n", rule->own == OWN_NOT ? "true" : "false");
	if (rule->for_ns)
		printf("    for: %.17g\n", (double)rule->for_ns / 1e9);
	puts("    steps:");
	for (size_t i = 0; i < rule->step_count; i++)
		print_step(&rule->steps[i]);
}

void policy_print_routes(const struct routing *routing)
{
	print_names("approvers", &routing->groups, &routing->people, false);
	print_names("people", &routing->people, NULL, false);
	print_names("owners", &routing->owners, &routing->people, true);
	print_names("environments", &routing->environments, NULL, false);
	if (routing->rule_count)
		puts("routes:");
	for (size_t i = 0; i < routing->rule_count; i++)
		print_rule(&routing->rules[i]);
}

static json_t *names_object(const struct names *names, const struct names *people)
{
	json_t *object = json_object();

	for (size_t i = 0; i < names->count; i++) {
		_cleanup_list_ struct list texts = {0};

		if (people)
			members_of(people, &names->items[i].items, &texts);
		json_put_list(object, names->items[i].name,
			      people ? &texts : &names->items[i].items);
	}
	return object;
}

static json_t *rule_object(const struct route_rule *rule)
{
	json_t *object = json_object(), *steps = json_array();

	if (rule->name)
		json_put_text(object, "name", rule->name);
	if (rule->when) {
		json_t *when = policy_condition_object(rule->when);

		if (rule->paths.count)
			json_put_list(when, "path", &rule->paths);
		if (rule->targets.count)
			json_put_list(when, "target", &rule->targets);
		json_put(object, "when", when);
	}
	if (rule->own != OWN_UNSAID)
		json_put(object, "not_own", json_boolean(rule->own == OWN_NOT));
	json_put(object, "for_ms", json_real((double)rule->for_ns / 1e6));
	for (size_t i = 0; i < rule->step_count; i++) {
		const struct route_step *step = &rule->steps[i];
		json_t *entry = json_object();

		json_put_list(entry, "from", &step->from);
		json_put(entry, "need", json_integer(step->need));
		json_put(entry, "reason", json_boolean(step->reason));
		json_put(entry, "within_ms", json_real((double)step->within_ns / 1e6));
		json_put_list(entry, "then", &step->then);
		json_array_append_new(steps, entry);
	}
	json_put(object, "steps", steps);
	json_put_text(object, "file", rule->file);
	json_put(object, "line", json_integer(rule->line));
	return object;
}

void policy_put_routes(json_t *object, const struct routing *routing)
{
	json_t *rules = json_array();

	json_put(object, "approvers", names_object(&routing->groups, &routing->people));
	json_put(object, "people", names_object(&routing->people, NULL));
	json_put(object, "owners", names_object(&routing->owners, &routing->people));
	json_put(object, "environments", names_object(&routing->environments, NULL));
	for (size_t i = 0; i < routing->rule_count; i++)
		json_array_append_new(rules, rule_object(&routing->rules[i]));
	json_put(object, "routes", rules);
}
