/* SPDX-License-Identifier: Apache-2.0 */
/* The section `trust` of the policy in force, as text and as JSON. */
#include "policy_show.h"
#include "../../src/request/text_json.h"

#include <stdio.h>

/* What is never unlocked, as a file would say it. */
static void never_of(const struct tiers *tiers, struct list *ret_never)
{
	for (int group = 0; never_group_name(group); group++)
		if (!(tiers->lifted >> group & 1))
			list_add(ret_never, never_group_name(group));
	for (size_t i = 0; i < tiers->never.count; i++)
		list_add(ret_never, tiers->never.items[i]);
}

static void print_threshold(const struct trust_threshold *threshold)
{
	printf("    - at: %d\n", threshold->at);
	policy_print_list("      ", "unlocks", &threshold->unlocks);
	policy_print_list("      ", "commands", &threshold->commands);
	policy_print_list("      ", "requests", &threshold->requests);
}

void policy_print_trust(const struct policy *policy)
{
	const struct trust_rules *trust = &policy->trust;
	_cleanup_list_ struct list never = {0};

	never_of(&policy->tiers, &never);
	puts("trust:");
	policy_print_list("  ", "agents", &policy->tiers.agents);
	printf("  start: %d\n  points:\n", trust->start);
	for (enum trust_kind kind = 0; kind < TRUST_KINDS; kind++)
		printf("    %s: %d\n", trust_kind_name(kind), trust->points[kind]);
	printf("  decay: %.9g\n", trust->decay);
	puts(trust->threshold_count ? "  thresholds:" : "  thresholds: []");
	for (size_t i = 0; i < trust->threshold_count; i++)
		print_threshold(&trust->thresholds[i]);
	if (never.count)
		policy_print_list("  ", "never", &never);
	else
		puts("  never: []");
	policy_print_list("  ", "tests", &trust->tests);
	printf("  violations:\n    medium: %llu\n    within: %.17g\n    then: %s\n",
	       (unsigned long long)trust->medium, (double)trust->within_ns / 1e9,
	       trust->then == TRUST_THEN_KILL ? "kill" : "freeze");
	printf("  learn:\n    after: %llu\n    expires: %.17g\n",
	       (unsigned long long)trust->learn_after, (double)trust->learn_expires_ns / 1e9);
}

json_t *policy_trust_object(const struct policy *policy)
{
	const struct trust_rules *trust = &policy->trust;
	_cleanup_list_ struct list never = {0};
	json_t *object = json_object(), *points = json_object(), *thresholds = json_array();

	never_of(&policy->tiers, &never);
	json_put_list(object, "agents", &policy->tiers.agents);
	json_put(object, "start", json_integer(trust->start));
	for (enum trust_kind kind = 0; kind < TRUST_KINDS; kind++)
		json_put(points, trust_kind_name(kind), json_integer(trust->points[kind]));
	json_put(object, "points", points);
	json_put(object, "decay", json_real(trust->decay));
	for (size_t i = 0; i < trust->threshold_count; i++) {
		json_t *threshold = json_object();

		json_put(threshold, "at", json_integer(trust->thresholds[i].at));
		json_put_list(threshold, "unlocks", &trust->thresholds[i].unlocks);
		json_put_list(threshold, "commands", &trust->thresholds[i].commands);
		json_put_list(threshold, "requests", &trust->thresholds[i].requests);
		json_array_append_new(thresholds, threshold);
	}
	json_put(object, "thresholds", thresholds);
	json_put_list(object, "never", &never);
	json_put_list(object, "tests", &trust->tests);
	json_put(object, "violations",
		 json_pack("{s:I, s:f, s:s}", "medium", (json_int_t)trust->medium, "within_ms",
			   (double)trust->within_ns / 1e6, "then",
			   trust->then == TRUST_THEN_KILL ? "kill" : "freeze"));
	json_put(object, "learn",
		 json_pack("{s:I, s:f}", "after", (json_int_t)trust->learn_after, "expires_ms",
			   (double)trust->learn_expires_ns / 1e6));
	return object;
}
