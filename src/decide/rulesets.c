/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of rules as a policy file writes them: an entry of a list of rules that holds another one.
 */
#include "reading.h"

#include <stdio.h>
#include <string.h>

enum { SET_LIMIT = 1000, SET_DEPTH = 4 };

static const char *const combine_names[] = {
	[COMBINE_DENY_OVERRIDES] = "deny-overrides",
	[COMBINE_FIRST_MATCH] = "first-match",
	[COMBINE_PRIORITY] = "priority",
	[COMBINE_ALL_OF] = "all-of",
	[COMBINE_ANY_OF] = "any-of",
};

const char *combine_name(enum combine combine)
{
	return combine_names[combine];
}

void rule_set_done(struct rule_set *set)
{
	free(set->name);
	free(set->file);
	condition_free(set->when);
	condition_free(set->unless);
	*set = (struct rule_set){0};
}

bool node_is_set(const struct node *node)
{
	for (size_t i = 0; node->kind == NODE_MAP && i < node->count; i += 2)
		if (strcmp(node->items[i]->text, "rules") == 0 ||
		    strcmp(node->items[i]->text, "combine") == 0)
			return true;
	return false;
}

static struct rule_set *current(struct reading *reading)
{
	return &reading->layer->sets[reading->set];
}

int read_set_name(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	if (node->kind != NODE_TEXT || !*node->text || strlen(node->text) > 100 ||
	    node->text[strcspn(node->text, "\n\r\t\x7f")])
		return read_wrong_kind(reading, node, "a short name", "write name: releases");
	current(reading)->name = read_copy(node->text);
	return 0;
}

int read_combine(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	for (size_t i = 0; node->kind == NODE_TEXT && i < ELEMENTS(combine_names); i++) {
		if (strcmp(combine_names[i], node->text) != 0)
			continue;
		current(reading)->combine = (enum combine)i;
		return 0;
	}
	return read_wrong_kind(reading, node, "a way to combine rules",
			       "write deny-overrides, first-match, priority, all-of or any-of");
}

int read_set_priority(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_number(reading, node, &current(reading)->priority);
}

int read_set_when(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_condition(reading, node, &current(reading)->when);
}

int read_set_unless(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_condition(reading, node, &current(reading)->unless);
}

int read_set_rules(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	if (node->kind != NODE_LIST || node->count == 0)
		return read_wrong_kind(reading, node, "a list of rules",
				       "begin each rule with a dash: - command: git push");
	reading->set_rules = node;
	return 0;
}

int read_set_otherwise(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	if (node->kind == NODE_LIST)
		return read_wrong_kind(reading, node, "allow, ask or deny",
				       "write otherwise: ask, or {do: ask, why: ...}");
	reading->set_otherwise = node;
	return 0;
}

/* The rule for what no member speaks of. */
static int read_otherwise(struct reading *reading, const struct node *node)
{
	struct node key = {.kind = NODE_TEXT, .text = "do", .line = node->line};
	struct node why = {.kind = NODE_TEXT, .text = "why", .line = node->line};
	struct node text = {.kind = NODE_TEXT, .line = node->line};
	struct node *items[] = {&key, (struct node *)node, &why, &text};
	struct node rule = {.kind = NODE_MAP,
			    .line = node->line,
			    .column = node->column,
			    .items = items,
			    .count = ELEMENTS(items)};
	struct layer *layer = reading->layer;
	int r;

	text.text = "no rule of its set speaks of it";
	r = read_rule_entry(reading, node->kind == NODE_MAP ? node : &rule);
	if (r < 0)
		return r;
	if (!layer->rules[layer->rule_count - 1].any)
		return yaml_fail(reading->ret_error, layer->file, node,
				 "put the rule at the end of the list",
				 "otherwise means every command, and names none");
	current(reading)->otherwise = layer->rule_count - 1;
	return 0;
}

static int read_members(struct reading *reading, const struct node *rules)
{
	struct layer *layer = reading->layer;
	int set = reading->set, r = 0;

	for (size_t i = 0; i < rules->count && r == 0; i++) {
		size_t rule = layer->rule_count, inner = layer->set_count;

		r = node_is_set(rules->items[i]) ? read_set(reading, rules->items[i])
						 : read_rule_entry(reading, rules->items[i]);
		reading->set = set;
		if (r < 0)
			break;
		if (layer->set_count > inner)
			layer->sets[inner].position = i;
		else
			layer->rules[rule].position = i;
		if (layer->set_count == inner && layer->rules[rule].exactly.count)
			r = yaml_fail(reading->ret_error, layer->file, rules->items[i],
				      "put it beside the set",
				      "a rule for one command exactly stands in no set");
	}
	return r;
}

static int depth_of(const struct layer *layer, int set)
{
	int depth = 0;

	for (; set >= 0; set = layer->sets[set].parent)
		depth++;
	return depth;
}

int read_set(struct reading *reading, const struct node *node)
{
	struct layer *layer = reading->layer;
	const struct node *rules, *otherwise;
	int parent = reading->set, r;

	if (layer->set_count == SET_LIMIT)
		return yaml_fail(reading->ret_error, layer->file, node, "join some of them",
				 "more than %d sets of rules", SET_LIMIT);
	layer->sets = reallocarray(layer->sets, layer->set_count + 1, sizeof(*layer->sets));
	if (!layer->sets)
		abort();
	reading->set = (int)layer->set_count++;
	*current(reading) = (struct rule_set){.parent = parent,
					      .first = layer->rule_count,
					      .otherwise = SIZE_MAX,
					      .file = read_copy(layer->file),
					      .line = node->line};
	if (depth_of(layer, reading->set) > SET_DEPTH)
		return yaml_fail(reading->ret_error, layer->file, node, "make it flatter",
				 "sets of rules in more than %d sets", SET_DEPTH);
	reading->set_rules = reading->set_otherwise = NULL;
	r = read_map(reading, node, SECTION_SET, NULL);
	if (r < 0)
		return r;
	rules = reading->set_rules;
	otherwise = reading->set_otherwise;
	if (!rules)
		return yaml_fail(reading->ret_error, layer->file, node, "write rules: and a list",
				 "a set without rules");
	r = read_members(reading, rules);
	if (r == 0)
		current(reading)->member_count = rules->count;
	if (r == 0 && otherwise)
		r = read_otherwise(reading, otherwise);
	if (r == 0)
		current(reading)->end = layer->rule_count;
	reading->set = parent;
	return r;
}
