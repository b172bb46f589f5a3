/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about the commands of a plan, and about the whole of it, brought to one word. */
#include "consult.h"
#include "exact.h"

#include <string.h>

/* It is never implied: the permission names the rule's own command. */
static bool gives_level(const struct rule *rule, const char *operation)
{
	size_t length = strlen(operation);

	for (size_t i = 0; rule && rule->kind == VERDICT_ALLOW && i < rule->permissions.count;
	     i++) {
		const char *text = rule->permissions.items[i];

		if (strncmp(text, operation, length) == 0 && text[length] == ' ' &&
		    strcmp(text + length + 1, rule->pattern) == 0)
			return true;
	}
	return false;
}

/* Rules are about programs as they are commonly found. */
static bool is_altered(const struct matter *matter)
{
	return matter->altered || matter->plan->alters;
}

/* What rules want of the sandbox: one that requires it is enough; to do without it every command
 * must have one that wants so. */
static void find_preference(const struct matter *matter, struct consulted *consulted)
{
	const struct rule *exact = consulted->exact;
	size_t count = matter->plan->count, forbid = 0, out = 0, contained = 0;
	bool known = count && !matter->plan->opaque && !is_altered(matter);

	for (size_t i = 0; i < count; i++) {
		const struct rule *match = consulted->matches[i];

		if (match && match->sandbox == PREFERENCE_REQUIRE)
			consulted->required = match;
		forbid += match && match->sandbox == PREFERENCE_FORBID;
		out += gives_level(match, "unsandboxed");
		contained += gives_level(match, "container");
	}
	consulted->unsandboxed = gives_level(exact, "unsandboxed") || (known && out == count);
	consulted->container = gives_level(exact, "container") || (known && contained == count);
	if (exact && exact->sandbox == PREFERENCE_REQUIRE)
		consulted->required = exact;
	if (consulted->required)
		consulted->sandbox = PREFERENCE_REQUIRE;
	else if ((exact && exact->sandbox == PREFERENCE_FORBID) || (known && forbid == count))
		consulted->sandbox = PREFERENCE_FORBID;
}

void consult(const struct matter *matter, struct consulted *ret_consulted)
{
	const struct policy *policy = matter->policy;

	*ret_consulted = (struct consulted){0};
	if (!policy || policy->rule_count == 0)
		return;
	circumstances_make(policy, matter->request, matter->plan, matter->assessment,
			   &ret_consulted->circumstances);
	for (size_t i = 0; i < matter->granted->count; i++) {
		const char *text = matter->granted->items[i];

		/* What commands may write now cannot be relied on. */
		if (strncmp(text, "write ", 6) == 0)
			list_add(&ret_consulted->circumstances.writable, text + 6);
	}
	ret_consulted->matches =
		arena_new_array(matter->arena, const struct rule *, matter->plan->count + 1);
	for (size_t i = 0; i < matter->plan->count; i++)
		ret_consulted->matches[i] = policy_match_in(policy, &ret_consulted->circumstances,
							    &matter->plan->commands[i], 0);
	ret_consulted->exact = policy_match_exactly(policy, &ret_consulted->circumstances,
						    matter->request, matter->own_program);
	find_preference(matter, ret_consulted);
}

void consult_done(struct consulted *consulted)
{
	circumstances_done(&consulted->circumstances);
}

static bool has_text(const char *const *texts, const char *text)
{
	for (; *texts; texts++)
		if (strcmp(*texts, text) == 0)
			return true;
	return false;
}

/* True if all that speaks against the plan lies in commands that a rule allows, each by itself, or
 * that are harmless by themselves: what several of them do together nobody has allowed. */
static bool is_allowed_in_parts(const struct matter *matter, const struct consulted *consulted)
{
	const struct plan *plan = matter->plan;

	if (plan->opaque || is_altered(matter))
		return false;
	for (const char **reason = matter->assessment->reasons; *reason; reason++) {
		bool found = false;

		for (size_t i = 0; i < plan->count; i++) {
			const struct rule *match = consulted->matches[i];
			const struct plan one = {.commands = &plan->commands[i],
						 .count = 1,
						 .workspace = plan->workspace,
						 .cwd = plan->cwd};
			struct assessment alone;

			assess_plan(matter->arena, &one, &alone);
			if (!has_text(alone.reasons, *reason))
				continue;
			found = true;
			if (alone.class != CLASS_SAFE && (!match || match->kind != VERDICT_ALLOW))
				return false;
		}
		if (!found)
			return false;
	}
	return true;
}

void consult_rules(const struct matter *matter, const struct consulted *consulted,
		   struct standing *standing, const struct rule **ret_rule)
{
	bool all = matter->plan->count > 0 && !matter->plan->opaque;
	const struct rule *exact = consulted->exact, *found = exact;

	standing->certain = exact && exact->kind == VERDICT_DENY;
	for (size_t i = 0; consulted->matches && i < matter->plan->count; i++) {
		const struct rule *match = consulted->matches[i];

		all &= match != NULL;
		if (match && (!found || match->kind > found->kind))
			found = match;
		/* A word that is known only when it runs may be anything: that is no ground to
		 * refuse, but one to ask. */
		if (match && match->kind == VERDICT_DENY)
			standing->certain |= policy_match_is_certain_in(
				matter->policy, match, &consulted->circumstances,
				&matter->plan->commands[i], 0);
	}
	if (!found)
		return;
	if (found->kind == VERDICT_ALLOW && found != exact && (!all || is_altered(matter))) {
		if (is_allowed_in_parts(matter, consulted))
			standing->class = CLASS_SAFE;
		return;
	}
	standing->has_rule = true;
	standing->rule =
		found->kind == VERDICT_DENY && !standing->certain ? VERDICT_ASK : found->kind;
	*ret_rule = found;
}

/* Every command of the plan has a rule that gives it: what one may, another beside it may not. */
static bool rules_give(const struct matter *matter, const struct consulted *consulted,
		       const char *permission)
{
	for (size_t i = 0; i < matter->plan->count; i++) {
		const struct rule *match = consulted->matches[i];

		if (!match || match->kind == VERDICT_DENY ||
		    !list_has(&match->permissions, permission))
			return false;
	}
	return true;
}

/* Where it runs is not among what it may do there. */
static bool is_level(const char *permission)
{
	return parse_word_in("unsandboxed container", permission, strcspn(permission, " "));
}

void consult_permissions(const struct matter *matter, const struct consulted *consulted,
			 struct list *permissions)
{
	const struct rule *match = consulted->exact;

	for (size_t p = 0; match && p < match->permissions.count; p++)
		if (!is_level(match->permissions.items[p]))
			list_add(permissions, match->permissions.items[p]);
	if (!consulted->matches || matter->plan->count == 0 || matter->plan->opaque ||
	    is_altered(matter))
		return;
	match = consulted->matches[0];
	for (size_t p = 0; match && p < match->permissions.count; p++)
		if (!is_level(match->permissions.items[p]) &&
		    rules_give(matter, consulted, match->permissions.items[p]) &&
		    !list_has(permissions, match->permissions.items[p]))
			list_add(permissions, match->permissions.items[p]);
}
