/* SPDX-License-Identifier: Apache-2.0 */
/* Rules against programs as they are started, whoever starts them. */
#include "pattern.h"
#include "policy.h"

#include <string.h>

/* Allow never beats the others, and what a rule says of redirections and variables only shell text
 * shows. */
static bool is_about_programs(const struct rule *rule)
{
	const struct pattern *pattern = rule->compiled;

	return pattern && rule->kind != VERDICT_ALLOW && pattern->targets.count == 0 &&
	       pattern->assignments.count == 0 && (pattern->program || pattern->options.count);
}

bool policy_has_rules_for_programs(const struct policy *policy)
{
	for (size_t i = 0; i < policy->rule_count; i++)
		if (is_about_programs(&policy->rules[i]))
			return true;
	return false;
}

const struct rule *policy_match_started(const struct policy *policy, const char *const *names,
					size_t name_count, char *const *words, size_t count)
{
	const struct match_how how = {.home = policy->home, .generous = true, .alone = true};
	const char **argv = calloc(count + 2, sizeof(*argv));
	struct command command = {.argv = argv, .argc = MAX(count, (size_t)1)};
	const struct rule *best = NULL;

	if (!argv)
		abort();
	if (count > 1)
		memcpy(argv + 1, words + 1, (count - 1) * sizeof(*argv));
	for (size_t i = 0; i < policy->rule_count; i++) {
		const struct rule *rule = &policy->rules[i];
		bool matches = false;

		if (!is_about_programs(rule) ||
		    (best && (rule->kind < best->kind ||
			      (rule->kind == best->kind && rule->layer <= best->layer))))
			continue;
		for (size_t n = 0; n < name_count && !matches; n++) {
			argv[0] = names[n];
			matches = pattern_matches(rule->compiled, &command, 0, &how);
		}
		if (matches)
			best = rule;
	}
	free(argv);
	return best;
}
