/* SPDX-License-Identifier: Apache-2.0 */
/* People, groups and routes as a policy file writes them. */
#include "reading.h"
#include "routes.h"
#include "../base/units.h"

#include <string.h>

enum { ROUTES_MOST = 200, NAMES_MOST = 200, ITEMS_MOST = 200, NAME_MOST = 64 };

static const uint64_t second_ns = UINT64_C(1000000000);

static void names_done(struct names *names)
{
	for (size_t i = 0; i < names->count; i++) {
		free(names->items[i].name);
		list_done(&names->items[i].items);
	}
	free(names->items);
	*names = (struct names){0};
}

static void route_rule_done(struct route_rule *rule)
{
	free(rule->name);
	condition_free(rule->when);
	list_done(&rule->paths);
	list_done(&rule->targets);
	for (size_t i = 0; i < rule->step_count; i++) {
		list_done(&rule->steps[i].from);
		list_done(&rule->steps[i].then);
	}
	free(rule->steps);
	free(rule->file);
}

void routing_done(struct routing *routing)
{
	names_done(&routing->groups);
	names_done(&routing->people);
	names_done(&routing->owners);
	names_done(&routing->environments);
	for (size_t i = 0; i < routing->rule_count; i++)
		route_rule_done(&routing->rules[i]);
	free(routing->rules);
	*routing = (struct routing){0};
}

/* Nothing that could be taken for two names, or for none. */
static bool is_name(const char *text, size_t length)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._@+-";

	return length > 0 && length <= NAME_MOST && text[0] != '-' &&
	       strspn(text, letters) >= length;
}

bool routing_is_member(const char *text)
{
	static const char *const doors[] = {"user:", "web:"};
	const char *slash;

	if (strncmp(text, "hook:", 5) == 0) {
		slash = strchr(text + 5, '/');
		return slash && is_name(text + 5, (size_t)(slash - text - 5)) &&
		       is_name(slash + 1, strlen(slash + 1));
	}
	for (size_t i = 0; i < ELEMENTS(doors); i++)
		if (strncmp(text, doors[i], strlen(doors[i])) == 0)
			text += strlen(doors[i]);
	return is_name(text, strlen(text));
}

static int check_item(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	const char *fault;

	if (kind == ROUTE_ENVIRONMENTS) {
		fault = glob_fault(node->text);
		return !fault ? 0
			      : yaml_fail(reading->ret_error, reading->layer->file, node,
					  "put a backslash before a character that is meant as "
					  "itself",
					  "'%.100s' cannot be used: %s", node->text, fault);
	}
	if (!routing_is_member(node->text) || (kind == ROUTE_PEOPLE && !strchr(node->text, ':')))
		return yaml_fail(reading->ret_error, reading->layer->file, node,
				 kind == ROUTE_PEOPLE
					 ? "write user:LOGIN, web:NAME or hook:CHANNEL/ID"
					 : "write a name, user:LOGIN, web:NAME or hook:CHANNEL/ID",
				 "'%.100s' is nobody who could answer", node->text);
	return 0;
}

/* One text, or a list of them. */
static int read_texts(struct reading *reading, const struct node *node, enum setting_kind kind,
		      int (*check)(struct reading *, const struct node *, enum setting_kind),
		      struct list *ret_texts)
{
	const struct node *alone[] = {node};
	const struct node *const *items =
		node->kind == NODE_LIST ? (const struct node *const *)node->items : alone;
	size_t count = node->kind == NODE_LIST ? node->count : 1;

	if (node->kind == NODE_MAP || count == 0 || count > ITEMS_MOST)
		return read_wrong_kind(reading, node, "a list of names",
				       "write it in brackets: [one, another]");
	for (size_t i = 0; i < count; i++) {
		int r;

		if (items[i]->kind != NODE_TEXT || !*items[i]->text)
			return read_wrong_kind(reading, items[i], "a name",
					       "write it in brackets: [one, another]");
		r = check ? check(reading, items[i], kind) : 0;
		if (r < 0)
			return r;
		if (!list_has(ret_texts, items[i]->text))
			list_add(ret_texts, items[i]->text);
	}
	return 0;
}

static struct names *names_of(struct routing *routing, enum setting_kind kind)
{
	return kind == ROUTE_APPROVERS ? &routing->groups
	       : kind == ROUTE_PEOPLE  ? &routing->people
	       : kind == ROUTE_OWNERS  ? &routing->owners
				       : &routing->environments;
}

static int check_key(struct reading *reading, const struct node *key, enum setting_kind kind)
{
	const char *fault = kind == ROUTE_OWNERS ? glob_fault(key->text) : NULL;

	if (fault || (kind != ROUTE_OWNERS && !is_name(key->text, strlen(key->text))))
		return yaml_fail(reading->ret_error, reading->layer->file, key,
				 "write letters, digits and . _ @ + -", "'%.100s' is no name here",
				 key->text);
	return 0;
}

int read_names(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	struct names *names = names_of(&reading->layer->routing, kind);
	int r = 0;

	if (node->kind != NODE_MAP || node->count == 0)
		return read_wrong_kind(reading, node, "names, each with its list",
				       "write names with their values: security: [alice, bob]");
	if (node->count / 2 > NAMES_MOST)
		return yaml_fail(reading->ret_error, reading->layer->file, node, "remove some",
				 "more than %d names", NAMES_MOST);
	names->items = calloc(node->count / 2, sizeof(*names->items));
	if (!names->items)
		abort();
	for (size_t i = 0; i < node->count && r == 0; i += 2) {
		struct named *named = &names->items[names->count];

		for (size_t k = 0; k < names->count; k++)
			if (strcmp(names->items[k].name, node->items[i]->text) == 0)
				return yaml_fail(reading->ret_error, reading->layer->file,
						 node->items[i], "join the two",
						 "the name '%.100s' stands twice",
						 node->items[i]->text);
		names->count++;
		named->name = read_copy(node->items[i]->text);
		named->line = node->items[i]->line;
		r = check_key(reading, node->items[i], kind);
		if (r == 0)
			r = read_texts(reading, node->items[i + 1], kind, check_item,
				       &named->items);
		if (r == 0 && kind == ROUTE_OWNERS && named->items.count != 1)
			r = read_wrong_kind(reading, node->items[i + 1], "one owner",
					    "write the one who answers for the agent");
	}
	return r;
}

/* Routes. */

static struct route_rule *rule_of(struct reading *reading)
{
	return &reading->layer->routing.rules[reading->layer->routing.rule_count - 1];
}

static struct route_step *step_of(struct reading *reading)
{
	struct route_rule *rule = rule_of(reading);

	return &rule->steps[rule->step_count - 1];
}

int read_route_name(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	if (node->kind != NODE_TEXT || !*node->text || strlen(node->text) > NAME_MOST)
		return read_wrong_kind(reading, node, "a short name", "write name: production");
	rule_of(reading)->name = read_copy(node->text);
	return 0;
}

int read_route_when(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	struct route_rule *rule = rule_of(reading);

	(void)kind;
	rule->when = calloc(1, sizeof(*rule->when));
	if (!rule->when)
		abort();
	if (node->kind == NODE_MAP && node->count == 0)
		return read_wrong_kind(reading, node, "at least one condition",
				       "write risk: [high], or leave the key out");
	reading->condition = rule->when;
	return read_map(reading, node, SECTION_ROUTE_WHEN, NULL);
}

static int check_path(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return value_check(SET_READ, node->text, NULL, &(uint64_t){0}, reading->ret_error) < 0
		       ? read_place_error(reading, node)
		       : 0;
}

int read_route_paths(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	return read_texts(reading, node, kind, check_path, &rule_of(reading)->paths);
}

int read_route_targets(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	return read_texts(reading, node, kind, NULL, &rule_of(reading)->targets);
}

int read_route_own(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	bool yes = node->kind == NODE_TEXT && strcmp(node->text, "true") == 0;

	(void)kind;
	if (!yes && (node->kind != NODE_TEXT || strcmp(node->text, "false") != 0))
		return read_wrong_kind(reading, node, "true or false", "write not_own: true");
	rule_of(reading)->own = yes ? OWN_NOT : OWN_COUNTS;
	return 0;
}

static int read_time(struct reading *reading, const struct node *node, uint64_t *ret_ns)
{
	if (node->kind != NODE_TEXT || parse_duration(node->text, ret_ns, NULL) < 0 ||
	    *ret_ns < second_ns || *ret_ns > 366 * 86400 * second_ns)
		return yaml_fail(reading->ret_error, reading->layer->file, node, "write 10m",
				 "a time from 1s to 366d is wanted here");
	return 0;
}

int read_route_for(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_time(reading, node, &rule_of(reading)->for_ns);
}

int read_step_groups(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	struct route_step *step = step_of(reading);

	/* The end of a step that nobody answers is a no in any case. */
	if (kind == ROUTE_THEN && node->kind == NODE_TEXT && strcmp(node->text, "deny") == 0)
		return 0;
	return read_texts(reading, node, kind, NULL,
			  kind == ROUTE_THEN ? &step->then : &step->from);
}

int read_step_need(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	uint64_t need = 0;

	(void)kind;
	if (node->kind != NODE_TEXT || parse_count(node->text, &need, NULL) < 0 || need < 1 ||
	    need > NEED_MOST)
		return read_wrong_kind(reading, node, "a number of people, at least 1",
				       "write need: 2");
	step_of(reading)->need = (unsigned)need;
	return 0;
}

int read_step_reason(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	bool required = node->kind == NODE_TEXT && strcmp(node->text, "required") == 0;

	(void)kind;
	if (!required && (node->kind != NODE_TEXT || strcmp(node->text, "optional") != 0))
		return read_wrong_kind(reading, node, "required or optional",
				       "write reason: required");
	step_of(reading)->reason = required;
	return 0;
}

int read_step_within(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_time(reading, node, &step_of(reading)->within_ns);
}

int read_route_steps(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	struct route_rule *rule = rule_of(reading);
	int r = 0;

	(void)kind;
	if (node->kind != NODE_LIST || node->count == 0 || node->count > STEPS_MOST)
		return read_wrong_kind(reading, node, "a list of 1 to 8 steps",
				       "begin each with a dash: - from: security");
	rule->steps = calloc(node->count, sizeof(*rule->steps));
	if (!rule->steps)
		abort();
	for (size_t i = 0; i < node->count && r == 0; i++) {
		struct route_step *step = &rule->steps[rule->step_count++];

		step->need = 1;
		r = read_map(reading, node->items[i], SECTION_STEP, NULL);
		if (r == 0 && step->from.count == 0)
			r = yaml_fail(reading->ret_error, reading->layer->file, node->items[i],
				      "write from: security", "a step without those who answer");
		if (r == 0 && step->then.count && !step->within_ns)
			r = yaml_fail(reading->ret_error, reading->layer->file, node->items[i],
				      "write within: 10m",
				      "a step that goes on to others after no time");
	}
	return r;
}

int read_routes(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	struct routing *routing = &reading->layer->routing;
	int r = 0;

	(void)kind;
	if (node->kind != NODE_LIST || node->count > ROUTES_MOST)
		return read_wrong_kind(reading, node, "a list of routes",
				       "begin each with a dash: - steps: [{from: security}]");
	routing->rules = calloc(MAX(node->count, (size_t)1), sizeof(*routing->rules));
	if (!routing->rules)
		abort();
	for (size_t i = 0; i < node->count && r == 0; i++) {
		struct route_rule *rule = &routing->rules[routing->rule_count++];

		rule->file = read_copy(reading->layer->file);
		rule->line = node->items[i]->line;
		r = read_map(reading, node->items[i], SECTION_ROUTE, NULL);
		if (r == 0 && rule->step_count == 0)
			r = yaml_fail(reading->ret_error, reading->layer->file, node->items[i],
				      "write steps: [{from: security}]",
				      "a route that leads to nobody");
	}
	return r;
}
