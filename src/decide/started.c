/* SPDX-License-Identifier: Apache-2.0 */
/* Rules against programs as they are started, whoever starts them. */
#include "matching.h"

#include <string.h>

/* Allow never beats the others, and what a rule says of redirections and variables only shell text
 * shows. */
static bool is_about_programs(const struct rule *rule)
{
	const struct pattern *pattern = rule->compiled;

	return pattern && rule->kind != VERDICT_ALLOW && pattern->targets.count == 0 &&
	       pattern->sources.count == 0 && pattern->assignments.count == 0 &&
	       (pattern->program || pattern->options.count);
}

bool policy_has_rules_for_programs(const struct policy *policy)
{
	for (size_t i = 0; i < policy->rule_count; i++)
		if (is_about_programs(&policy->rules[i]))
			return true;
	return false;
}

/* How much is at stake is asked of the program that is started, not of what started it. */
static void weigh(struct arena *arena, const struct command *command, struct circumstances *of,
		  struct assessment *ret_assessment)
{
	const struct plan plan = {.commands = (struct command *)command, .count = 1};

	assess_plan(arena, &plan, ret_assessment);
	of->assessment = ret_assessment;
}

static bool any_weighs(const struct policy *policy)
{
	for (size_t i = 0; i < policy->rule_count; i++) {
		const struct condition *parts[] = {policy->rules[i].when, policy->rules[i].unless};

		for (size_t p = 0; p < ELEMENTS(parts); p++)
			if (parts[p] && (parts[p]->risks || parts[p]->categories.count))
				return true;
	}
	return false;
}

const struct rule *policy_match_started(const struct policy *policy,
					const struct circumstances *circumstances,
					const char *const *names, size_t name_count,
					char *const *words, size_t count)
{
	static const struct circumstances nothing;
	_cleanup_arena_ struct arena *arena = arena_new();
	const char **argv = arena_new_array(arena, const char *, count + 2);
	struct command command = {.argv = argv, .argc = MAX(count, (size_t)1)};
	struct circumstances here = circumstances ? *circumstances : nothing;
	struct matching matching = {.policy = policy,
				    .circumstances = &here,
				    .command = &command,
				    .names = names,
				    .name_count = name_count,
				    .takes = is_about_programs};
	struct assessment assessment;
	struct chain *chains = arena_new_array(arena, struct chain, name_count);
	const struct rule *rule;

	if (count > 1)
		memcpy(argv + 1, words + 1, (count - 1) * sizeof(*argv));
	argv[0] = names[0];
	here.moved = !here.directory; /* it may have gone anywhere */
	here.program = names[0];
	if (any_weighs(policy))
		weigh(arena, &command, &here, &assessment);
	for (size_t n = name_count; n > 0; n--) {
		argv[0] = names[n - 1];
		chain_make(&command, 0, &chains[n - 1]);
	}
	matching.chains = chains;
	rule = matching_rule(&matching);
	for (size_t n = 0; n < name_count; n++)
		chain_done(&chains[n]);
	return rule && rule->kind != VERDICT_ALLOW ? rule : NULL;
}
