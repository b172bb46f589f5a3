/* SPDX-License-Identifier: Apache-2.0 */
/* The section `trust` of several files laid over each other. A file that may only narrow can make
 * trust harder to earn, easier to lose and worth less; what is never unlocked anybody may add to,
 * and the system's file alone may say anew. */
#include "merge.h"
#include "trust.h"

#include <stdio.h>
#include <string.h>

static const uint64_t second = 1000000000;

static const struct {
	int at;
	const char *unlocks[4], *commands[8], *requests[8];
} built_in[] = {
	{50,
	 {"write ./src/**"},
	 {"git commit", "git branch", "git switch -c", "git switch --create", "git checkout -b"},
	 {0}},
	{75,
	 {"deploy dev*"},
	 {"gh pr create", "gh pr edit", "gh pr comment", "glab mr create", "glab mr update",
	  "git merge"},
	 {0}},
	{90,
	 {0},
	 {0},
	 {"deploy prod*", "write ./config/staging/**", "write ./config/staging.*",
	  "write ./deploy/staging/**"}},
};

const char *trust_kind_name(enum trust_kind kind)
{
	static const char *const names[] = {[TRUST_TASK] = "task",
					    [TRUST_TESTS] = "tests",
					    [TRUST_ASKED] = "asked",
					    [TRUST_VIOLATION] = "violation",
					    [TRUST_OVERRIDE] = "override"};

	return names[kind];
}

static void add_all(struct list *list, const char *const *texts, size_t most)
{
	for (size_t i = 0; i < most && texts[i]; i++)
		list_add(list, texts[i]);
}

void trust_rules_default(struct trust_rules *rules)
{
	*rules = (struct trust_rules){
		.points = {[TRUST_TASK] = 2,
			   [TRUST_TESTS] = 1,
			   [TRUST_ASKED] = 1,
			   [TRUST_VIOLATION] = -10,
			   [TRUST_OVERRIDE] = -5},
		.decay = 0.99,
		.threshold_count = ELEMENTS(built_in),
		.medium = 3,
		.within_ns = 3600 * second,
		.learn_after = 5,
		.learn_expires_ns = 30 * 86400 * second,
	};
	for (size_t i = 0; i < ELEMENTS(built_in); i++) {
		struct trust_threshold *threshold = &rules->thresholds[i];

		threshold->at = built_in[i].at;
		add_all(&threshold->unlocks, built_in[i].unlocks, ELEMENTS(built_in[i].unlocks));
		add_all(&threshold->commands, built_in[i].commands, ELEMENTS(built_in[i].commands));
		add_all(&threshold->requests, built_in[i].requests, ELEMENTS(built_in[i].requests));
	}
}

static void thresholds_done(struct trust_rules *rules)
{
	for (size_t i = 0; i < rules->threshold_count; i++) {
		list_done(&rules->thresholds[i].unlocks);
		list_done(&rules->thresholds[i].commands);
		list_done(&rules->thresholds[i].requests);
	}
	rules->threshold_count = 0;
}

void trust_rules_done(struct trust_rules *rules)
{
	thresholds_done(rules);
	list_done(&rules->never);
	list_done(&rules->tests);
	*rules = (struct trust_rules){0};
}

static void copy_list(struct list *to, const struct list *from)
{
	for (size_t i = 0; i < from->count; i++)
		if (!list_has(to, from->items[i]))
			list_add(to, from->items[i]);
}

static void copy_thresholds(struct trust_rules *to, const struct trust_rules *from)
{
	thresholds_done(to);
	for (size_t i = 0; i < from->threshold_count; i++) {
		struct trust_threshold *threshold = &to->thresholds[to->threshold_count++];

		*threshold = (struct trust_threshold){.at = from->thresholds[i].at};
		copy_list(&threshold->unlocks, &from->thresholds[i].unlocks);
		copy_list(&threshold->commands, &from->thresholds[i].commands);
		copy_list(&threshold->requests, &from->thresholds[i].requests);
	}
}

/* What a file that may only narrow says in vain. */
static void refused(struct policy *policy, const struct layer *layer, const char *remedy,
		    const char *key)
{
	_cleanup_free_ char *what = NULL;

	if (!remedy)
		return;
	if (asprintf(&what, "trust.%s", key) < 0)
		abort();
	merge_ignore(policy, layer, layer->trust.line, 1, remedy, what);
}

static void merge_never(struct policy *policy, const struct layer *layer)
{
	struct tiers *tiers = &policy->tiers;

	if (!layer->trust.has_never)
		return;
	if (layer->of_system) {
		list_done(&tiers->never);
		tiers->lifted = ~0u;
	}
	for (size_t i = 0; i < layer->trust.never.count; i++) {
		const char *entry = layer->trust.never.items[i];
		int group = never_group(entry);

		if (group >= 0)
			tiers->lifted &= ~(1u << group);
		else if (!list_has(&tiers->never, entry))
			list_add(&tiers->never, entry);
	}
}

#define TAKE(key, field, name, narrower)                      \
	do {                                                  \
		if (!said->has.key)                           \
			break;                                \
		if (layer->trusted || (narrower))             \
			rules->field = said->field;           \
		else                                          \
			refused(policy, layer, remedy, name); \
	} while (0)

void merge_trust(struct policy *policy, const struct layer *layer, const char *remedy)
{
	const struct trust_rules *said = &layer->trust;
	struct trust_rules *rules = &policy->trust;

	TAKE(start, start, "start", said->start <= rules->start);
	TAKE(decay, decay, "decay", said->decay <= rules->decay);
	for (enum trust_kind kind = 0; kind < TRUST_KINDS; kind++)
		TAKE(points[kind], points[kind], "points",
		     said->points[kind] <= rules->points[kind]);
	TAKE(medium, medium, "violations.medium", said->medium <= rules->medium);
	TAKE(within, within_ns, "violations.within", said->within_ns >= rules->within_ns);
	TAKE(then, then, "violations.then", said->then >= rules->then);
	TAKE(after, learn_after, "learn.after",
	     !said->learn_after || (rules->learn_after && said->learn_after >= rules->learn_after));
	TAKE(expires, learn_expires_ns, "learn.expires",
	     said->learn_expires_ns <= rules->learn_expires_ns);
	if (said->has.thresholds && layer->trusted)
		copy_thresholds(rules, said);
	else if (said->has.thresholds)
		refused(policy, layer, remedy, "thresholds");
	if (said->tests.count && layer->trusted)
		copy_list(&rules->tests, &said->tests);
	else if (said->tests.count)
		refused(policy, layer, remedy, "tests");
	merge_never(policy, layer);
}

void merge_clamp_trust(struct policy *policy, const struct policy *trusted)
{
	struct trust_rules *rules = &policy->trust;
	const struct trust_rules *most = &trusted->trust;

	rules->start = MIN(rules->start, most->start);
	rules->decay = MIN(rules->decay, most->decay);
	for (enum trust_kind kind = 0; kind < TRUST_KINDS; kind++)
		rules->points[kind] = MIN(rules->points[kind], most->points[kind]);
	rules->medium = MIN(rules->medium, most->medium);
	rules->within_ns = MAX(rules->within_ns, most->within_ns);
	rules->then = MAX(rules->then, most->then);
	rules->learn_after = rules->learn_after && most->learn_after
				     ? MAX(rules->learn_after, most->learn_after)
				     : 0;
	rules->learn_expires_ns = MIN(rules->learn_expires_ns, most->learn_expires_ns);
	policy->tiers.lifted &= trusted->tiers.lifted;
}
