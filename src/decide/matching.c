/* SPDX-License-Identifier: Apache-2.0 */
/* What the rules say of a command: those that may match are found, tried, held against their
 * conditions, and where they stand in sets, combined. */
#include "combine.h"
#include "index.h"
#include "layer.h"
#include "matching.h"

#include <stdlib.h>
#include <string.h>

static enum truth conditions_hold(const struct condition *when, const struct condition *unless,
				  const struct matching *matching, size_t first)
{
	enum truth truth = condition_holds(when, matching->circumstances, matching->command, first);

	if (unless && truth != TRUTH_NO)
		truth = MIN(truth, (enum truth)(TRUTH_YES -
						condition_holds(unless, matching->circumstances,
								matching->command, first)));
	return truth;
}

/* In doubt a rule that allows says nothing, and one that asks or denies says it. */
static bool is_said(enum verdict_kind kind, enum truth truth)
{
	return kind == VERDICT_ALLOW ? truth == TRUTH_YES : truth != TRUTH_NO;
}

static bool pattern_tries(const struct matching *matching, const struct rule *rule, bool guess,
			  size_t *ret_at)
{
	bool generous = rule->kind != VERDICT_ALLOW;
	const struct match_how how = {.home = matching->policy->home,
				      .generous = generous,
				      .guess = guess && generous && !matching->names,
				      .alone = matching->names != NULL,
				      .circumstances = matching->circumstances};

	if (!matching->names)
		return pattern_matches_chain(rule->compiled, matching->command, matching->chains,
					     &how, ret_at);
	for (size_t n = 0; n < matching->name_count; n++) {
		/* Whoever starts a program chooses what it is called: that names it where a rule
		 * asks or denies, and where one allows only its path does. */
		if (!generous && (n > 1 || matching->names[n][0] != '/'))
			continue;
		matching->command->argv[0] = matching->names[n];
		if (pattern_matches_chain(rule->compiled, matching->command, &matching->chains[n],
					  &how, ret_at))
			return true;
	}
	return false;
}

bool matching_says(const struct matching *matching, const struct rule *rule, bool *ret_certain)
{
	size_t at = matching->chains->links[0].first;
	enum truth truth;

	if (!rule->compiled || !pattern_tries(matching, rule, /* guess= */ true, &at))
		return false;
	truth = conditions_hold(rule->when, rule->unless, matching, at);
	if (!is_said(rule->kind, truth))
		return false;
	if (ret_certain)
		*ret_certain = truth == TRUTH_YES &&
			       (!matching->command->dynamic ||
				pattern_tries(matching, rule, /* guess= */ false, &at));
	return true;
}

struct found {
	const struct matching *matching;
	const struct rule *best;
	size_t best_place;
	/* In sets: rules that say something. */
	struct said {
		const struct rule *rule;
		bool certain;
	} * said;
	size_t count, room;
};

static bool visit_top(void *data, size_t place, const struct rule *rule)
{
	struct found *found = data;

	if (found->best && place >= found->best_place)
		return false;
	if (found->matching->takes && !found->matching->takes(rule))
		return true;
	if (matching_says(found->matching, rule, /* ret_certain= */ NULL)) {
		found->best = rule;
		found->best_place = place;
		return false;
	}
	return true;
}

static bool visit_member(void *data, size_t place, const struct rule *rule)
{
	struct found *found = data;
	bool certain;

	(void)place;
	if (rule->kind != VERDICT_ALLOW && found->matching->takes && !found->matching->takes(rule))
		return true;
	if (!matching_says(found->matching, rule, &certain))
		return true;
	if (found->count == found->room) {
		found->room = MAX(found->room * 2, (size_t)16);
		found->said = reallocarray(found->said, found->room, sizeof(*found->said));
		if (!found->said)
			abort();
	}
	found->said[found->count++] = (struct said){rule, certain};
	return true;
}

static int by_rule(const void *a, const void *b)
{
	const struct said *one = a, *other = b;

	return (one->rule > other->rule) - (one->rule < other->rule);
}

static int by_position(const void *a, const void *b)
{
	const struct word_said *one = a, *other = b;

	return (one->position > other->position) - (one->position < other->position);
}

/* One rule may have been found by several of its words. */
static void sort_said(struct found *found)
{
	size_t kept = 0;

	if (found->count)
		qsort(found->said, found->count, sizeof(*found->said), by_rule);
	for (size_t i = 0; i < found->count; i++)
		if (kept == 0 || found->said[kept - 1].rule != found->said[i].rule)
			found->said[kept++] = found->said[i];
	found->count = kept;
}

/* Where in said the rules of a set begin. */
static size_t said_from(const struct found *found, const struct rule *rule)
{
	size_t low = 0, high = found->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (found->said[middle].rule < rule)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The word of a set; *ret_next: the set behind it and those in it. */
static bool ask_set(const struct found *found, size_t index, struct word_said *ret_word,
		    size_t *ret_next)
{
	const struct policy *policy = found->matching->policy;
	const struct rule_set *set = &policy->sets[index];
	size_t from = said_from(found, &policy->rules[set->first]), next = index + 1, count = 0;
	size_t to = said_from(found, &policy->rules[set->end]);
	struct word_said *words = calloc(to - from + set->member_count + 1, sizeof(*words));
	const struct word_said *word;
	enum truth truth;
	bool result = false;

	if (!words)
		abort();
	for (size_t i = from; i < to; i++) {
		const struct rule *rule = found->said[i].rule;

		if (rule->set == (int)index && (size_t)(rule - policy->rules) != set->otherwise)
			words[count++] = (struct word_said){rule->kind, found->said[i].certain,
							    rule->priority, rule->position, rule};
	}
	while (next < policy->set_count && policy->sets[next].parent >= (int)index) {
		if (ask_set(found, next, &words[count], &next))
			count++;
	}
	*ret_next = next;
	qsort(words, count, sizeof(*words), by_position);
	word = combine(set->combine, words, count, set->member_count);
	/* What no member speaks of. A word that is not certain is none to rest on. */
	for (size_t i = from; i < to; i++)
		if ((size_t)(found->said[i].rule - policy->rules) == set->otherwise &&
		    (!word || (!word->certain && found->said[i].rule->kind > word->kind))) {
			words[count] = (struct word_said){found->said[i].rule->kind,
							  found->said[i].certain, 0, 0,
							  found->said[i].rule};
			word = &words[count];
		}
	if (word) {
		truth = conditions_hold(set->when, set->unless, found->matching,
					found->matching->chains->links[0].first);
		result = is_said(word->kind, truth);
		*ret_word = *word;
		ret_word->certain &= truth == TRUTH_YES;
		ret_word->priority = set->priority;
		ret_word->position = set->position;
	}
	free(words);
	return result;
}

/* Of two rules the one that counts. */
static const struct rule *stronger(const struct rule *one, const struct rule *other)
{
	if (!one || !other)
		return one ? one : other;
	if (one->kind != other->kind)
		return one->kind > other->kind ? one : other;
	if (one->layer != other->layer)
		return one->layer > other->layer ? one : other;
	return one < other ? one : other;
}

/* What sets say stands beside the rules that are in none: none of them makes another milder. */
static const struct rule *ask_sets(struct found *found, const struct rule *best)
{
	const struct policy *policy = found->matching->policy;

	sort_said(found);
	for (size_t i = 0; i < policy->set_count;) {
		const struct rule_set *set = &policy->sets[i];
		struct word_said word;

		/* A file that may only narrow allows nothing, however it is combined. */
		if (ask_set(found, i, &word, &i) && (set->trusted || word.kind != VERDICT_ALLOW))
			best = stronger(best, word.rule);
	}
	return best;
}

static void visit_rules(const struct matching *matching, struct found *found)
{
	const struct policy *policy = matching->policy;
	size_t names = matching->names ? matching->name_count : 1;

	for (size_t n = 0; policy->index && n < names; n++) {
		const struct chain *chain = &matching->chains[n];
		const char *name = matching->names ? matching->names[n] : NULL;

		index_visit(policy->index->top, matching->command, chain, name, visit_top, found);
		if (policy->set_count)
			index_visit(policy->index->members, matching->command, chain, name,
				    visit_member, found);
	}
}

const struct rule *matching_rule(const struct matching *matching)
{
	struct found found = {.matching = matching};
	const struct rule *best;

	visit_rules(matching, &found);
	best = found.best;
	if (matching->policy->set_count)
		best = ask_sets(&found, best);
	free(found.said);
	return best;
}

const struct rule *policy_match_in(const struct policy *policy,
				   const struct circumstances *circumstances,
				   const struct command *command, size_t first)
{
	_cleanup_chain_ struct chain chain = {0};
	struct command copy = *command;
	const struct matching matching = {.policy = policy,
					  .circumstances = circumstances,
					  .command = &copy,
					  .chains = &chain};

	if (policy->rule_count == 0)
		return NULL;
	chain_make(command, first, &chain);
	return matching_rule(&matching);
}

const struct rule *policy_match(const struct policy *policy, const struct command *command,
				size_t first)
{
	return policy_match_in(policy, /* circumstances= */ NULL, command, first);
}

bool policy_match_is_certain_in(const struct policy *policy, const struct rule *rule,
				const struct circumstances *circumstances,
				const struct command *command, size_t first)
{
	_cleanup_chain_ struct chain chain;
	struct command copy = *command;
	const struct matching matching = {.policy = policy,
					  .circumstances = circumstances,
					  .command = &copy,
					  .chains = &chain};
	bool certain = false;

	chain_make(command, first, &chain);
	return matching_says(&matching, rule, &certain) && certain;
}

bool policy_match_is_certain(const struct policy *policy, const struct rule *rule,
			     const struct command *command, size_t first)
{
	return policy_match_is_certain_in(policy, rule, /* circumstances= */ NULL, command, first);
}
