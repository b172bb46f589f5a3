/* SPDX-License-Identifier: Apache-2.0 */
/* What a score unlocks: commands, permissions, and questions. In doubt it is locked. */
#include "../base/path.h"
#include "decide.h"
#include "pattern.h"
#include "policy.h"

#include <stdlib.h>
#include <string.h>

/* No score runs what has to do with these, whatever a threshold names: a command that it means can
 * be wrapped in sudo, or read a key. */
static const char *const never_categories[] = {"privilege", "credentials", "security"};

static bool is_reached(const struct trust_threshold *threshold, double score)
{
	return trust_points(score) >= threshold->at;
}

bool trust_is_never(const struct assessment *assessment)
{
	if (assessment->class == CLASS_FORBIDDEN || assessment->risk == RISK_CRITICAL)
		return true;
	for (const char **category = assessment->categories; *category; category++)
		for (size_t i = 0; i < ELEMENTS(never_categories); i++)
			if (strncmp(*category, never_categories[i], strlen(never_categories[i])) ==
			    0)
				return true;
	return false;
}

static bool command_matches(const char *text, const struct command *command,
			    const struct circumstances *circumstances, bool generous)
{
	const struct match_how how = {.home = circumstances->home,
				      .generous = generous,
				      .guess = generous,
				      .circumstances = circumstances};
	struct pattern *pattern = NULL;
	bool matches;

	/* Checked when it was read. */
	if (pattern_compile(text, &pattern, /* ret_error= */ NULL) < 0)
		return generous;
	matches = pattern_matches(pattern, command, 0, &how);
	pattern_free(pattern);
	return matches;
}

/* The pattern of a threshold, reached or not, that means the command; NULL: none does. */
static const char *find_command(const struct policy *policy, double score, bool reached,
				const struct command *command,
				const struct circumstances *circumstances, int *ret_at)
{
	for (size_t i = 0; i < policy->trust.threshold_count; i++) {
		const struct trust_threshold *threshold = &policy->trust.thresholds[i];

		if (is_reached(threshold, score) != reached)
			continue;
		for (size_t k = 0; k < threshold->commands.count; k++)
			if (command_matches(threshold->commands.items[k], command, circumstances,
					    /* generous= */ !reached)) {
				*ret_at = threshold->at;
				return threshold->commands.items[k];
			}
	}
	return NULL;
}

void trust_weigh(const struct policy *policy, double score, const struct plan *plan,
		 const struct assessment *assessment, const struct circumstances *circumstances,
		 bool altered, struct trust_word *ret_word)
{
	bool all = plan->count > 0 && !plan->opaque && !plan->alters && !altered &&
		   !trust_is_never(assessment);
	struct trust_word word = {0};
	const char *pattern;
	int at = 0;

	*ret_word = (struct trust_word){0};
	for (size_t i = 0; i < plan->count; i++) {
		pattern = find_command(policy, score, /* reached= */ false, &plan->commands[i],
				       circumstances, &at);
		if (pattern) {
			*ret_word = (struct trust_word){TRUST_LOCKED, at, pattern};
			return;
		}
	}
	for (size_t i = 0; i < plan->count && all; i++) {
		pattern = find_command(policy, score, /* reached= */ true, &plan->commands[i],
				       circumstances, &at);
		all = pattern;
		if (pattern && at >= word.at)
			word = (struct trust_word){TRUST_UNLOCKED, at, pattern};
	}
	if (all)
		*ret_word = word;
}

static void hold(const struct list *texts, const char *home, struct permissions *permissions)
{
	for (size_t i = 0; i < texts->count; i++) {
		const char *text = texts->items[i], *space = strchr(text, ' ');
		_cleanup_free_ char *path = NULL;

		if (!space || (strncmp(text, "write ", 6) != 0 && strncmp(text, "delete ", 7) != 0))
			continue;
		path = path_resolve(permissions->workspace, home, space + strspn(space, " "));
		/* Not among what no answer opens: a person may give it. */
		file_rules_add(&permissions->rules, ACCESS_READ_ONLY, WEIGHT_SAID, path, text)
			->hold = true;
	}
}

void trust_hold(const struct policy *policy, double score, const char *home,
		struct permissions *permissions)
{
	for (size_t i = 0; i < policy->trust.threshold_count; i++) {
		const struct trust_threshold *threshold = &policy->trust.thresholds[i];

		if (!is_reached(threshold, score))
			hold(&threshold->unlocks, home, permissions);
		hold(&threshold->requests, home, permissions);
	}
}

/* The lowest threshold that holds all of it; 0: none that is reached. */
static int threshold_of(const struct policy *policy, double score, const char *permission,
			const struct sets_places *places)
{
	for (size_t i = 0; i < policy->trust.threshold_count; i++) {
		const struct trust_threshold *threshold = &policy->trust.thresholds[i];

		for (size_t k = 0; is_reached(threshold, score) && k < threshold->unlocks.count;
		     k++)
			if (tiers_within(permission, threshold->unlocks.items[k], places))
				return threshold->at;
	}
	return 0;
}

/* Something of it is asked for each time, or takes a higher score; *ret_reached: only the former.
 */
static bool is_requested(const struct policy *policy, double score, const char *permission,
			 const struct sets_places *places, bool *ret_reached)
{
	bool found = false;

	*ret_reached = true;
	for (size_t i = 0; i < policy->trust.threshold_count; i++) {
		const struct trust_threshold *threshold = &policy->trust.thresholds[i];

		for (size_t k = 0; k < threshold->requests.count; k++) {
			if (!tiers_touch(permission, threshold->requests.items[k], places))
				continue;
			found = true;
			*ret_reached &= is_reached(threshold, score);
		}
	}
	return found;
}

/* Something of it is unlocked by a threshold that is not reached. */
static bool is_withheld(const struct policy *policy, double score, const char *permission,
			const struct sets_places *places)
{
	for (size_t i = 0; i < policy->trust.threshold_count; i++) {
		const struct trust_threshold *threshold = &policy->trust.thresholds[i];

		for (size_t k = 0; !is_reached(threshold, score) && k < threshold->unlocks.count;
		     k++)
			if (tiers_touch(permission, threshold->unlocks.items[k], places))
				return true;
	}
	return false;
}

int trust_unlocks(const struct policy *policy, double score, const struct list *permissions,
		  const struct sets_places *places)
{
	int most = 0;

	for (size_t i = 0; i < permissions->count; i++) {
		const char *permission = permissions->items[i];
		int at = threshold_of(policy, score, permission, places);
		bool reached;

		if (!at || tiers_never(&policy->tiers, permission, places) ||
		    is_requested(policy, score, permission, places, &reached))
			return 0;
		most = MAX(most, at);
	}
	return most;
}

int trust_tier(const struct policy *policy, double score, const struct list *permissions,
	       const struct sets_places *places)
{
	enum tier tier = permissions->count ? TIER_LOW : TIER_HIGH, one;

	for (size_t i = 0; i < permissions->count; i++) {
		const char *permission = permissions->items[i];
		struct list alone = {.items = &permissions->items[i], .count = 1};
		bool reached;

		one = tiers_of(&policy->tiers, &alone, places);
		/* What a score withholds is no trifle, wherever it lies. */
		if (is_withheld(policy, score, permission, places))
			one = MAX(one, TIER_HIGH);
		if (is_requested(policy, score, permission, places, &reached))
			/* Critical without a score; with one it is put to a person. */
			one = reached && !tiers_never(&policy->tiers, permission, places)
				      ? TIER_HIGH
				      : TIER_CRITICAL;
		tier = MAX(tier, one);
	}
	return (int)tier;
}
