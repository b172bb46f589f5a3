/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about programs while the command runs: what the policy says of each one that is started. */
#include "flow_state.h"
#include "base/path.h"
#include "decide/bounds.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

bool flow_judges_programs(const struct flow *flow)
{
	return flow->verdict.level != LEVEL_NONE &&
	       (flow->monitor || flow->token || policy_has_rules_for_programs(flow->policy));
}

/* The command would not run if what a rule asks about it had not been answered. Where the rule
 * matched only because a word was not known, nobody has answered for what it turned out to be. */
static bool is_answered(const struct flow *flow, const struct rule *rule)
{
	_cleanup_circumstances_ struct circumstances circumstances;

	circumstances_make(flow->policy, flow->request, &flow->plan, &flow->assessment,
			   &circumstances);
	for (size_t i = 0; i < flow->plan.count; i++) {
		const struct command *command = &flow->plan.commands[i];

		if (policy_match_in(flow->policy, &circumstances, command, 0) == rule &&
		    policy_match_is_certain_in(flow->policy, rule, &circumstances, command, 0))
			return true;
	}
	return false;
}

static bool has_ended(const struct grant *grant)
{
	struct moment now;

	moment_now(&now);
	return grant->expires.wall && moment_has_come(&grant->expires, &now);
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

		if (!grant->refusal && !has_ended(grant) &&
		    list_has(&grant->permissions, permission) &&
		    (grant_covers(grant, flow->key.exact, &flow->assessment) ||
		     (!altered && grant_covers(grant, flow->key.text, &flow->assessment))))
			return true;
	}
	return false;
}

/* What the observer keeps lives as long as the run. */
static const char *text_of(struct flow *flow, const struct rule *rule)
{
	_cleanup_free_ char *text = NULL;

	if (asprintf(&text, "%s: %s%s%s", verdict_name(rule->kind), rule->pattern,
		     rule->why ? ": " : "", rule->why ? rule->why : "") < 0)
		abort();
	for (size_t i = 0; i < flow->program_rules.count; i++)
		if (strcmp(flow->program_rules.items[i], text) == 0)
			return flow->program_rules.items[i];
	list_take(&flow->program_rules, STEAL(text));
	return flow->program_rules.items[flow->program_rules.count - 1];
}

/* The system's own programs, and what the token names. A script is judged by its file and by each
 * word that it is run by; one without a slash is no file. */
static bool is_within_token(const struct flow *flow, const struct started *started)
{
	_cleanup_free_ char *file = NULL;

	if (!strchr(started->real, '/'))
		return true;
	if (started->real[0] != '/' && !started->directory)
		return false;
	file = path_resolve(started->directory, NULL, started->real);
	return (bounds_is_program(file) &&
		!path_is_under(file, flow->verdict.permissions.workspace)) ||
	       bounds_start(&flow->bounds, file);
}

static enum program_word judge_by_rules(struct flow *flow, const struct started *started,
					const char **ret_rule)
{
	/* A directory of the system may have a second name. */
	const char *short_name = strncmp(started->real, "/usr/", 5) == 0 ? started->real + 4 : NULL;
	const char *names[] = {started->real, started->path, started->argv->items[0], short_name};
	_cleanup_circumstances_ struct circumstances circumstances;
	const struct rule *rule;

	circumstances_make(flow->policy, flow->request, /* plan= */ NULL, /* assessment= */ NULL,
			   &circumstances);
	circumstances.directory = started->directory;
	rule = policy_match_started(flow->policy, &circumstances, names, short_name ? 4 : 3,
				    started->argv->items, started->argv->count);
	if (!rule)
		return PROGRAM_FREE;
	*ret_rule = text_of(flow, rule);
	if (rule->kind == VERDICT_DENY)
		return PROGRAM_DENY;
	flow_recall(flow); /* somebody may have taken it back */
	return is_answered(flow, rule) || is_granted(flow, started->text) ? PROGRAM_GIVEN
									  : PROGRAM_ASK;
}

static enum program_word judge(void *data, const struct started *started, const char **ret_rule)
{
	struct flow *flow = data;

	if (!flow->token || is_within_token(flow, started))
		return judge_by_rules(flow, started, ret_rule);
	*ret_rule = "token: it gives no 'exec' of this";
	return PROGRAM_DENY;
}

const struct programs *flow_programs(struct flow *flow)
{
	const struct list *candidates = &flow->prepared.candidates;

	list_done(&flow->program_rules);
	list_done(&flow->candidates);
	if (!flow_judges_programs(flow))
		return NULL;
	for (size_t i = 0; i < candidates->count; i++)
		list_take(&flow->candidates,
			  path_resolve(flow->request->cwd, NULL, candidates->items[i]));
	flow->programs = (struct programs){.judge = judge,
					   .data = flow,
					   .candidates = &flow->candidates,
					   .argv = &flow->prepared.argv,
					   .directory = flow->request->cwd,
					   .sealed = flow->entry.walls & WALL_BIT(WALL_SEAL)};
	return &flow->programs;
}
