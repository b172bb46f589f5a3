/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that never count, that let through more than they seem to, or that lack something. */
#include "index.h"
#include "layer.h"
#include "../base/path.h"

#include <string.h>

/* Comparisons of words: enough for what people write, and a file made to be slow to compare costs
 * no more. REST_MOST: rules that every command is held against. */
enum { COMPARISONS = 2000000, REST_MOST = 200 };

/* What runs whatever it is told to: allowing it allows everything. */
static const char *const interpreters[] = {
	"bash", "sh",	"dash",	 "zsh",	   "ksh",   "fish",	"python3", "python", "node",
	"perl", "ruby", "php",	 "lua",	   "deno",  "bun",	"busybox", "env",    "sudo",
	"doas", "su",	"awk",	 "gawk",   "xargs", "timeout",	"nice",	   "nohup",  "setsid",
	"eval", "exec", "tclsh", "expect", "gdb",   "parallel", "watch",
};

bool policy_is_interpreter(const char *program)
{
	const char *name = path_last(program);

	for (size_t i = 0; i < ELEMENTS(interpreters); i++) {
		size_t length = strlen(interpreters[i]);

		/* python3.11 is one, too. */
		if (strncmp(name, interpreters[i], length) == 0 &&
		    strspn(name + length, "0123456789.-") == strlen(name + length))
			return true;
	}
	return false;
}

static size_t word_count(const struct rule *rule)
{
	const struct pattern *pattern = rule->compiled;

	if (!pattern)
		return rule->exactly.count;
	return 1 + pattern->operands.count + pattern->options.count + pattern->targets.count +
	       pattern->sources.count + pattern->assignments.count;
}

static bool comes_first(const struct rule *one, const struct rule *other)
{
	if (one->kind != other->kind)
		return one->kind > other->kind;
	if (one->layer != other->layer)
		return one->layer > other->layer;
	return one < other;
}

static bool is_exactly_the_same(const struct rule *general, const struct rule *special)
{
	if (general->exactly.count != special->exactly.count ||
	    (general->in && (!special->in || strcmp(general->in, special->in) != 0)))
		return false;
	for (size_t i = 0; i < general->exactly.count; i++)
		if (strcmp(general->exactly.items[i], special->exactly.items[i]) != 0)
			return false;
	return true;
}

struct covering {
	struct policy *policy;
	const struct rule *rule;  /* that is looked at */
	const struct rule *other; /* that covers it, or NULL */
	size_t left;		  /* comparisons */
};

/* What holds only at times covers nothing for good. */
static bool covers(struct covering *covering, const struct rule *other)
{
	const struct rule *rule = covering->rule;
	size_t cost = word_count(other) * word_count(rule);

	if (other == rule || other->when || other->unless || cost > covering->left)
		return false;
	covering->left -= cost;
	return rule->compiled ? pattern_covers(other->compiled, rule->compiled)
			      : is_exactly_the_same(other, rule);
}

/* Places are in the order in which rules count: none behind the rule itself covers it. */
static bool visit(void *data, size_t place, const struct rule *other)
{
	struct covering *covering = data;

	(void)place;
	if (covering->other || !comes_first(other, covering->rule))
		return false;
	if (covers(covering, other))
		covering->other = other;
	return !covering->other;
}

static void warn_covered(const struct covering *covering)
{
	const struct rule *rule = covering->rule, *other = covering->other;

	if (!other)
		return;
	list_add_printf(&covering->policy->warnings,
			"%s:%d:1: the rule for '%s' never applies: %s:%d says %s for '%s'",
			rule->file, rule->line, rule->pattern, other->file, other->line,
			verdict_name(other->kind), other->pattern);
}

static void lint_covered(struct covering *covering, const struct rule *rule)
{
	covering->rule = rule;
	covering->other = NULL;
	index_visit_program(covering->policy->index->top, rule->compiled->program, visit, covering);
	warn_covered(covering);
}

/* Those of one hash stand side by side. */
static void lint_exact(struct covering *covering)
{
	const struct policy_index *index = covering->policy->index;

	for (size_t i = 0; i < index->exact_count; i++) {
		covering->rule = &covering->policy->rules[index->exact[i]];
		covering->other = NULL;
		for (size_t k = i; k > 0 && index->exact_hashes[k - 1] == index->exact_hashes[i];
		     k--)
			(void)visit(covering, 0, &covering->policy->rules[index->exact[k - 1]]);
		for (size_t k = i + 1;
		     k < index->exact_count && index->exact_hashes[k] == index->exact_hashes[i];
		     k++)
			(void)visit(covering, 0, &covering->policy->rules[index->exact[k]]);
		warn_covered(covering);
	}
}

/* In a set that stops at the first match a rule behind one that covers it is never heard. */
static void lint_order(struct covering *covering, const struct rule *rule)
{
	const struct policy *policy = covering->policy;
	const struct rule_set *set = &policy->sets[rule->set];
	size_t own = (size_t)(rule - policy->rules);

	covering->rule = rule;
	covering->other = NULL;
	if (set->combine != COMBINE_FIRST_MATCH || own == set->otherwise)
		return;
	for (size_t i = set->first; i < own && !covering->other; i++) {
		const struct rule *other = &policy->rules[i];

		/* An allow matches less than a rule of another kind with the same words. */
		if (other->set == rule->set && i != set->otherwise &&
		    (other->kind != VERDICT_ALLOW || rule->kind == VERDICT_ALLOW) &&
		    covers(covering, other))
			covering->other = other;
	}
	warn_covered(covering);
}

static bool option_runs_text(const struct pattern *pattern)
{
	for (size_t i = 0; i < pattern->options.count; i++)
		if (parse_word_in("-c -e --eval --command -exec -i", pattern->options.items[i],
				  strlen(pattern->options.items[i])))
			return true;
	return false;
}

/* Allowing an interpreter without saying what it is to run allows anything. */
static void lint_width(struct policy *policy, const struct rule *rule)
{
	const struct pattern *pattern = rule->compiled;
	const char *found = NULL;

	if (rule->kind != VERDICT_ALLOW || rule->any || !pattern ||
	    pattern->targets.count + pattern->sources.count > 0)
		return;
	if (!pattern->program && pattern->options.count == 0) {
		list_add_printf(&policy->warnings, "%s:%d:1: this rule allows every command",
				rule->file, rule->line);
		return;
	}
	if (pattern->operands.count > 0 ? !option_runs_text(pattern)
					: pattern->options.count > 0 && !option_runs_text(pattern))
		return;
	for (size_t i = 0; i < ELEMENTS(interpreters) && !found; i++)
		if (!pattern->program || glob_matches(path_last(pattern->program), interpreters[i]))
			found = interpreters[i];
	if (found)
		list_add_printf(&policy->warnings,
				"%s:%d:1: the rule for '%s' allows %s, which runs whatever it is "
				"given; name what it is to run",
				rule->file, rule->line, rule->pattern, found);
}

/* Questions that nobody is asked. */
static void lint_questions(struct policy *policy)
{
	const struct rule *first = NULL;
	size_t count = 0;

	for (size_t i = 0; i < policy->rule_count; i++) {
		if (policy->rules[i].kind != VERDICT_ASK)
			continue;
		first = first ? first : &policy->rules[i];
		count++;
	}
	if (!first || policy->approval != APPROVAL_NEVER)
		return;
	list_add_printf(&policy->warnings,
			"%s:%d:1: approval is never, so nobody is asked: what the rule for '%s'%s "
			"asks about is refused",
			first->file, first->line, first->pattern,
			count > 1 ? " and others like it" : "");
}

/* A set that picks one of its members, and has nothing for what none of them means. */
static void lint_fallbacks(struct policy *policy)
{
	for (size_t s = 0; s < policy->set_count; s++) {
		const struct rule_set *set = &policy->sets[s];
		bool complete = set->otherwise != SIZE_MAX || set->parent >= 0 ||
				set->combine == COMBINE_DENY_OVERRIDES;

		for (size_t i = set->first; i < set->end && !complete; i++)
			complete = policy->rules[i].set == (int)s && policy->rules[i].any &&
				   !policy->rules[i].when && !policy->rules[i].unless;
		if (!complete)
			list_add_printf(&policy->warnings,
					"%s:%d:1: this set (%s) says nothing of commands that its "
					"rules do not name: it has no otherwise",
					set->file, set->line, combine_name(set->combine));
	}
}

void lint_rules(struct policy *policy)
{
	struct covering covering = {.policy = policy, .left = COMPARISONS};
	size_t rest = policy_index_rest(policy->index);

	for (size_t i = 0; i < policy->rule_count; i++) {
		const struct rule *rule = &policy->rules[i];

		if (rule->set >= 0)
			lint_order(&covering, rule);
		else if (rule->compiled)
			lint_covered(&covering, rule);
		lint_width(policy, rule);
		lint_permissions(policy, rule);
	}
	lint_exact(&covering);
	lint_questions(policy);
	lint_fallbacks(policy);
	if (rest > REST_MOST)
		list_add_printf(&policy->warnings,
				"%s:1:1: %zu rules do not begin with the name of a program: every "
				"command is held against all of them",
				policy->files.items[policy->files.count - 1], rest);
}
