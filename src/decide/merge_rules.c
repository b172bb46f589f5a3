/* SPDX-License-Identifier: Apache-2.0 */
/* Rules, sets of them, callers and listeners of several files, beside each other. */
#include "merge.h"

#include <stdio.h>
#include <string.h>

static void ignore_of_rule(struct policy *policy, const struct layer *layer,
			   const struct rule *rule, const char *remedy, const char *what)
{
	_cleanup_free_ char *text = NULL;

	if (asprintf(&text, "%s '%s'", what, rule->pattern) < 0)
		abort();
	merge_ignore(policy, layer, rule->line, 1, remedy, text);
}

/* In a set a rule that allows stays: it keeps the set from asking or denying, and what a set of
 * such a file allows counts for nothing. */
static bool narrow_rule(struct policy *policy, const struct layer *layer, struct rule *rule,
			const char *remedy)
{
	if (rule->kind == VERDICT_ALLOW)
		ignore_of_rule(policy, layer, rule, remedy, "the rule that allows");
	else if (rule->permissions.count > 0)
		ignore_of_rule(policy, layer, rule, remedy, "the permissions of the rule for");
	if (rule->kind != VERDICT_ALLOW && rule->sandbox == PREFERENCE_FORBID)
		ignore_of_rule(policy, layer, rule, remedy,
			       "running without the sandbox, of the rule for");
	list_done(&rule->permissions);
	if (rule->sandbox == PREFERENCE_FORBID)
		rule->sandbox = PREFERENCE_AUTO;
	return rule->kind != VERDICT_ALLOW || rule->set >= 0;
}

void merge_rules(struct policy *policy, struct layer *layer, int number, const char *remedy)
{
	size_t *places = calloc(layer->rule_count + 1, sizeof(*places));

	policy->rules = reallocarray(policy->rules, policy->rule_count + layer->rule_count + 1,
				     sizeof(*policy->rules));
	policy->sets = reallocarray(policy->sets, policy->set_count + layer->set_count + 1,
				    sizeof(*policy->sets));
	if (!places || !policy->rules || !policy->sets)
		abort();
	for (size_t i = 0; i < layer->rule_count; i++) {
		struct rule *rule = &layer->rules[i];

		places[i] = policy->rule_count;
		rule->layer = number;
		rule->trusted = layer->trusted;
		if (!layer->trusted && !narrow_rule(policy, layer, rule, remedy))
			continue;
		if (rule->set >= 0)
			rule->set += (int)policy->set_count;
		policy->rules[policy->rule_count++] = *rule;
		*rule = (struct rule){0};
	}
	places[layer->rule_count] = policy->rule_count;
	for (size_t i = 0; i < layer->set_count; i++) {
		struct rule_set *set = &layer->sets[i];

		set->layer = number;
		set->trusted = layer->trusted;
		set->first = places[set->first];
		set->end = places[set->end];
		if (set->otherwise != SIZE_MAX)
			set->otherwise = places[set->otherwise];
		if (set->parent >= 0)
			set->parent += (int)policy->set_count;
	}
	if (layer->set_count)
		memcpy(policy->sets + policy->set_count, layer->sets,
		       layer->set_count * sizeof(*layer->sets));
	policy->set_count += layer->set_count;
	layer->set_count = 0;
	free(places);
}

static void merge_caller(struct policy *policy, const struct layer *layer, struct caller_rule *rule)
{
	if (!layer->names_callers) {
		list_add_printf(
			&policy->warnings,
			"%s:%d:1: ignored: callers are named by the system's and the user's "
			"own file only",
			layer->file, rule->line);
		return;
	}
	policy->callers[policy->caller_count++] = *rule;
	*rule = (struct caller_rule){0};
}

void merge_callers(struct policy *policy, struct layer *layer)
{
	policy->callers =
		reallocarray(policy->callers, policy->caller_count + layer->caller_count + 1,
			     sizeof(*policy->callers));
	if (!policy->callers)
		abort();
	for (size_t i = 0; i < layer->caller_count; i++)
		merge_caller(policy, layer, &layer->callers[i]);
}

void merge_listeners(struct policy *policy, struct layer *layer)
{
	if (layer->listener_count == 0)
		return;
	policy->listeners =
		reallocarray(policy->listeners, policy->listener_count + layer->listener_count,
			     sizeof(*policy->listeners));
	if (!policy->listeners)
		abort();
	for (size_t i = 0; i < layer->listener_count; i++) {
		struct listener_rule *rule = &layer->listeners[i];

		if (!layer->names_callers) {
			list_add_printf(&policy->warnings,
					"%s:%d:1: ignored: programs for events are named by the "
					"system's and the user's own file only",
					layer->file, rule->line);
			continue;
		}
		policy->listeners[policy->listener_count++] = *rule;
		*rule = (struct listener_rule){0};
	}
}

/* Whoever has a channel's secret can answer by it: no command reads it, wherever it lies. */
static void deny_secret(struct policy *policy, const char *path)
{
	if (path && !list_has(&policy->sandbox.deny, path))
		list_add(&policy->sandbox.deny, path);
}

/* A project that named a channel would have ward run or post something outside the sandbox; one
 * that took some away could hide what its agent does. It has no say in this. */
void merge_notify(struct policy *policy, struct layer *layer)
{
	struct notify *notify = &policy->notify, *more = &layer->notify;

	if (layer->notify_line == 0)
		return;
	if (!layer->names_callers) {
		list_add_printf(&policy->warnings,
				"%s:%d:1: ignored: channels are named by the system's and the "
				"user's own file only",
				layer->file, layer->notify_line);
		return;
	}
	notify->channels = reallocarray(notify->channels, notify->count + more->count + 1,
					sizeof(*notify->channels));
	if (!notify->channels)
		abort();
	for (size_t i = 0; i < more->count; i++) {
		if (notify_find(notify, more->channels[i].name)) {
			list_add_printf(&policy->warnings,
					"%s:%d:1: ignored: there is a channel '%s' already",
					layer->file, more->channels[i].line,
					more->channels[i].name);
			continue;
		}
		deny_secret(policy, more->channels[i].secret_file);
		deny_secret(policy, more->channels[i].url_file);
		notify->channels[notify->count++] = more->channels[i];
		more->channels[i] = (struct notify_channel){0};
	}
	if (more->callback) {
		free(notify->callback);
		notify->callback = STEAL(more->callback);
	}
}
