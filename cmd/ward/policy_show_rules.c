/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the policy in force, as text that can be read again, and as JSON. */
#include "policy_show.h"
#include "output.h"
#include "../../src/base/buffer.h"
#include "../../src/decide/remember.h"
#include "../../src/request/text_json.h"

#include <stdio.h>
#include <string.h>

/* Words of a command may hold line breaks, and what cannot be seen. */
static void print_escaped(const char *text)
{
	_cleanup_buffer_ struct buffer quoted = {0};

	(void)remember_quote(&quoted, text); /* it was read from YAML */
	output_text(COLOUR_NONE, buffer_text(&quoted));
}

static void print_text(int depth, const char *key, const char *text)
{
	if (!text)
		return;
	printf("%*s%s: ", depth, "", key);
	print_escaped(text);
	putchar('\n');
}

static void print_list_of(const char *key, const struct list *words)
{
	printf("%s: [", key);
	for (size_t i = 0; i < words->count; i++) {
		fputs(i ? ", " : "", stdout);
		print_escaped(words->items[i]);
	}
	putchar(']');
}

static void print_words(int depth, const char *key, const struct list *words)
{
	if (words->count == 0)
		return;
	printf("%*s", depth, "");
	print_list_of(key, words);
	putchar('\n');
}

static void times_of(const struct condition *condition, struct list *ret_times)
{
	for (size_t i = 0; i < condition->hour_count; i++) {
		const struct hours *hours = &condition->hours[i];

		list_add_printf(ret_times, "%02d:%02d-%02d:%02d", hours->from / 60,
				hours->from % 60, hours->to / 60, hours->to % 60);
	}
}

static void days_of(const struct condition *condition, struct list *ret_days)
{
	static const char *const days[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

	for (unsigned day = 0; day < ELEMENTS(days); day++)
		if (condition->days >> day & 1)
			list_add(ret_days, days[day]);
}

static void risks_of(const struct condition *condition, struct list *ret_risks)
{
	for (enum risk risk = RISK_LOW; risk <= RISK_CRITICAL; risk++)
		if (condition->risks >> risk & 1)
			list_add(ret_risks, risk_name(risk));
}

void policy_print_condition(int depth, const char *key, const struct condition *condition)
{
	_cleanup_list_ struct list times = {0}, days = {0}, risks = {0};

	if (!condition)
		return;
	times_of(condition, &times);
	days_of(condition, &days);
	risks_of(condition, &risks);
	printf("%*s%s:\n", depth, "", key);
	depth += 2;
	print_words(depth, "agent", &condition->agents);
	print_words(depth, "session", &condition->sessions);
	print_words(depth, "tool", &condition->tools);
	print_words(depth, "directory", &condition->directories);
	print_words(depth, "environment", &condition->environment);
	print_words(depth, "time", &times);
	print_words(depth, "days", &days);
	print_words(depth, "risk", &risks);
	print_words(depth, "category", &condition->categories);
	if (condition->until) {
		char until[UNTIL_TEXT];

		print_text(depth, "until", condition_until(condition, until));
	}
	if (!condition->pin.path)
		return;
	printf("%*sprogram:\n", depth, "");
	print_text(depth + 2, "path", condition->pin.path);
	if (condition->pin.has_owner)
		printf("%*sowner: %u\n", depth + 2, "", condition->pin.owner);
	print_text(depth + 2, "sha256", condition->pin.sha256);
}

static void print_why(int depth, const char *why)
{
	if (!why)
		return;
	printf("%*swhy: ", depth, "");
	policy_print_quoted(why);
	putchar('\n');
}

static void print_origin_of(const struct rule *rule)
{
	policy_print_origin(rule->file, rule->line);
}

/* The keys of a rule, which stand at depth; lead: what stands before the first. */
static void print_rule(int depth, const char *lead, const struct rule *rule)
{
	printf("%*s%s", depth - (int)strlen(lead), "", lead);
	if (rule->exactly.count) {
		print_list_of("exactly", &rule->exactly);
		print_origin_of(rule);
	} else if (!rule->any) {
		fputs("command: ", stdout);
		policy_print_quoted(rule->pattern);
		print_origin_of(rule);
	}
	printf("%*sdo: %s", rule->any ? 0 : depth, "", verdict_name(rule->kind));
	if (rule->any)
		print_origin_of(rule);
	else
		putchar('\n');
	print_text(depth, "in", rule->in);
	print_why(depth, rule->why);
	policy_print_condition(depth, "when", rule->when);
	policy_print_condition(depth, "unless", rule->unless);
	if (rule->sandbox != PREFERENCE_AUTO)
		printf("%*ssandbox: %s\n", depth, "", preference_name(rule->sandbox));
	if (rule->priority)
		printf("%*spriority: %d\n", depth, "", rule->priority);
	print_words(depth, "permissions", &rule->permissions);
}

static void print_set(const struct policy *policy, size_t index, int depth);

/* The members of a set (-1: of none) in their order; what is nested is printed by its own set. */
static void print_members(const struct policy *policy, int set, size_t from, size_t to,
			  size_t next_set, int depth)
{
	size_t otherwise = set < 0 ? SIZE_MAX : policy->sets[set].otherwise;

	for (size_t i = from; i < to;) {
		while (next_set < policy->set_count && policy->sets[next_set].parent != set &&
		       policy->sets[next_set].first < i)
			next_set++;
		if (next_set < policy->set_count && policy->sets[next_set].parent == set &&
		    policy->sets[next_set].first == i && policy->rules[i].set != set) {
			print_set(policy, next_set, depth);
			i = policy->sets[next_set++].end;
			continue;
		}
		if (i != otherwise) {
			print_rule(depth + 2, "- ", &policy->rules[i]);
		}
		i++;
	}
}

static void print_set(const struct policy *policy, size_t index, int depth)
{
	const struct rule_set *set = &policy->sets[index];

	printf("%*s- combine: %s", depth, "", combine_name(set->combine));
	policy_print_origin(set->file, set->line);
	depth += 2;
	print_text(depth, "name", set->name);
	if (set->priority)
		printf("%*spriority: %d\n", depth, "", set->priority);
	policy_print_condition(depth, "when", set->when);
	policy_print_condition(depth, "unless", set->unless);
	if (set->otherwise != SIZE_MAX) {
		printf("%*sotherwise:\n", depth, "");
		print_rule(depth + 2, "", &policy->rules[set->otherwise]);
	}
	printf("%*srules:\n", depth, "");
	print_members(policy, (int)index, set->first, set->end, index + 1, depth + 2);
}

void policy_print_rules(const struct policy *policy)
{
	if (policy->rule_count)
		puts("rules:");
	print_members(policy, -1, 0, policy->rule_count, 0, 2);
}

json_t *policy_condition_object(const struct condition *condition)
{
	_cleanup_list_ struct list times = {0}, days = {0}, risks = {0};
	const struct {
		const char *key;
		const struct list *list;
	} lists[] = {{"agent", &condition->agents},
		     {"session", &condition->sessions},
		     {"tool", &condition->tools},
		     {"directory", &condition->directories},
		     {"environment", &condition->environment},
		     {"time", &times},
		     {"days", &days},
		     {"risk", &risks},
		     {"category", &condition->categories}};
	json_t *object = json_object(), *program;
	char until[UNTIL_TEXT];

	times_of(condition, &times);
	days_of(condition, &days);
	risks_of(condition, &risks);
	for (size_t i = 0; i < ELEMENTS(lists); i++)
		if (lists[i].list->count)
			json_put_list(object, lists[i].key, lists[i].list);
	if (condition->until)
		json_put_text(object, "until", condition_until(condition, until));
	if (!condition->pin.path)
		return object;
	program = json_object();
	json_put_text(program, "path", condition->pin.path);
	if (condition->pin.has_owner)
		json_put(program, "owner", json_integer(condition->pin.owner));
	if (condition->pin.sha256)
		json_put_text(program, "sha256", condition->pin.sha256);
	json_put(object, "program", program);
	return object;
}

static void put_conditions(json_t *entry, const struct condition *when,
			   const struct condition *unless)
{
	if (when)
		json_put(entry, "when", policy_condition_object(when));
	if (unless)
		json_put(entry, "unless", policy_condition_object(unless));
}

json_t *policy_rule_object(const struct rule *rule)
{
	json_t *entry = json_object();

	if (rule->exactly.count)
		json_put_list(entry, "exactly", &rule->exactly);
	else
		json_put_text(entry, "command", rule->pattern);
	if (rule->in)
		json_put_text(entry, "in", rule->in);
	json_put_text(entry, "do", verdict_name(rule->kind));
	json_put_text(entry, "why", rule->why);
	put_conditions(entry, rule->when, rule->unless);
	if (rule->sandbox != PREFERENCE_AUTO)
		json_put_text(entry, "sandbox", preference_name(rule->sandbox));
	if (rule->priority)
		json_put(entry, "priority", json_integer(rule->priority));
	if (rule->set >= 0)
		json_put(entry, "set", json_integer(rule->set));
	json_put_list(entry, "permissions", &rule->permissions);
	json_put_text(entry, "file", rule->file);
	json_put(entry, "line", json_integer(rule->line));
	json_put(entry, "trusted", json_boolean(rule->trusted));
	return entry;
}

json_t *policy_sets_object(const struct policy *policy)
{
	json_t *sets = json_array();

	for (size_t i = 0; i < policy->set_count; i++) {
		const struct rule_set *set = &policy->sets[i];
		json_t *entry = json_object();

		json_put_text(entry, "name", set->name);
		json_put_text(entry, "combine", combine_name(set->combine));
		json_put(entry, "priority", json_integer(set->priority));
		put_conditions(entry, set->when, set->unless);
		json_put(entry, "parent",
			 set->parent < 0 ? json_null() : json_integer(set->parent));
		json_put(entry, "otherwise",
			 set->otherwise == SIZE_MAX ? json_null()
						    : json_integer((json_int_t)set->otherwise));
		json_put_text(entry, "file", set->file);
		json_put(entry, "line", json_integer(set->line));
		json_put(entry, "trusted", json_boolean(set->trusted));
		json_array_append_new(sets, entry);
	}
	return sets;
}
