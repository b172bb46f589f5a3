/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about programs while the command runs: what the policy says of each one that is started. */
#include "flow_state.h"
#include "base/path.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

bool flow_judges_programs(const struct flow *flow)
{
	return flow->verdict.level == LEVEL_RESTRICTED &&
	       policy_has_rules_for_programs(flow->policy);
}

/* The command would not run if what a rule asks about it had not been answered. Where the rule
 * matched only because a word was not known, nobody has answered for what it turned out to be. */
static bool is_answered(const struct flow *flow, const struct rule *rule)
{
	for (size_t i = 0; i < flow->plan.count; i++) {
		const struct command *command = &flow->plan.commands[i];

		if (policy_match(flow->policy, command, 0) == rule &&
		    policy_match_is_certain(flow->policy, rule, command, 0))
			return true;
	}
	return false;
}

/* Somebody was shown exactly this, in this run or for this command in the session. */
static bool is_granted(const struct flow *flow, const char *text)
{
	_cleanup_free_ char *permission = NULL;
	bool altered = flow->grants.count && flow_is_altered(flow->request);

	if (asprintf(&permission, "exec %s", text) < 0)
		abort();
	/* What is remembered holds as long as it is. */
	if (list_has(&flow->granted, permission) && !list_has(&flow->kept, permission))
		return true;
	for (size_t i = 0; i < flow->grants.count; i++) {
		const struct grant *grant = &flow->grants.items[i];

		if (!grant->refusal && (!grant->expires || time(NULL) < grant->expires) &&
		    list_has(&grant->permissions, permission) &&
		    (grant_covers(grant, flow->key.exact, &flow->assessment) ||
		     (!altered && grant_covers(grant, flow->key.text, &flow->assessment))))
			return true;
	}
	return false;
}

static enum program_word judge(void *data, const struct started *started, const char **ret_rule)
{
	struct flow *flow = data;
	/* A directory of the system may have a second name. */
	const char *short_name = strncmp(started->real, "/usr/", 5) == 0 ? started->real + 4 : NULL;
	const char *names[] = {started->real, started->path, started->argv->items[0], short_name};
	const struct rule *rule = policy_match_started(flow->policy, names, short_name ? 4 : 3,
						       started->argv->items, started->argv->count);
	size_t index;

	if (!rule)
		return PROGRAM_FREE;
	index = (size_t)(rule - flow->policy->rules);
	*ret_rule = flow->program_rules.items[index];
	if (rule->kind == VERDICT_DENY)
		return PROGRAM_DENY;
	flow_recall(flow); /* somebody may have taken it back */
	return is_answered(flow, rule) || is_granted(flow, started->text) ? PROGRAM_GIVEN
									  : PROGRAM_ASK;
}

const struct programs *flow_programs(struct flow *flow)
{
	const struct list *candidates = &flow->prepared.candidates;

	list_done(&flow->program_rules);
	list_done(&flow->candidates);
	if (!flow_judges_programs(flow))
		return NULL;
	for (size_t i = 0; i < flow->policy->rule_count; i++) {
		const struct rule *rule = &flow->policy->rules[i];

		list_add_printf(&flow->program_rules, "%s: %s%s%s", verdict_name(rule->kind),
				rule->pattern, rule->why ? ": " : "", rule->why ? rule->why : "");
	}
	for (size_t i = 0; i < candidates->count; i++)
		list_take(&flow->candidates,
			  path_resolve(flow->request->cwd, NULL, candidates->items[i]));
	flow->programs = (struct programs){.judge = judge,
					   .data = flow,
					   .candidates = &flow->candidates,
					   .argv = &flow->prepared.argv,
					   .sealed = flow->entry.walls & WALL_BIT(WALL_SEAL)};
	return &flow->programs;
}
