/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that a question offers: about a kind of command, or where it is none about exactly this one
 * in its directory. */
#include "flow_state.h"
#include "base/units.h"
#include "decide/exact.h"
#include "decide/remember.h"
#include "request/text_json.h"

#include <stdio.h>
#include <string.h>

void offers_done(struct offers *rules)
{
	free(rules->file);
	free(rules->always);
	free(rules->never);
	list_done(&rules->extents);
}

/* The rule that counts so far about what a new one would be about. */
static const struct rule *rule_before(const struct flow *flow, bool kind)
{
	_cleanup_circumstances_ struct circumstances circumstances;
	const struct rule *before;

	circumstances_make(flow->policy, flow->request, &flow->plan, &flow->assessment,
			   &circumstances);
	if (!kind)
		return policy_match_exactly(flow->policy, &circumstances, flow->request,
					    /* own_program= */ false);
	before = policy_match_in(flow->policy, &circumstances, &flow->plan.commands[0], 0);
	return before && strcmp(before->pattern, flow->key.covers) == 0 ? before : NULL;
}

/* Of two rules about one kind of command the one in front counts alone: a new one holds what the
 * one before it gave, too. Caller frees; NULL: it cannot be written. */
static char *make_rule(const struct flow *flow, const struct rule *about, bool kind,
		       const struct list *grants)
{
	const struct rule *before = rule_before(flow, kind);
	/* What was given under a condition is not given without it. */
	bool same = before && before->kind == VERDICT_ALLOW && !before->when && !before->unless &&
		    before->set < 0;
	const struct list *parts[] = {same ? &before->permissions : NULL, &flow->for_good, grants};
	struct rule rule = *about;
	char *text;

	/* Where it runs a rule says of its own command, by hand. */
	if (list_has(grants, "container"))
		return NULL;
	rule.kind = VERDICT_ALLOW;
	rule.permissions = (struct list){0};
	for (size_t p = 0; p < ELEMENTS(parts); p++)
		for (size_t i = 0; parts[p] && i < parts[p]->count; i++)
			if (!list_has(&rule.permissions, parts[p]->items[i]))
				list_add(&rule.permissions, parts[p]->items[i]);
	text = remember_rule(&rule);
	list_done(&rule.permissions);
	return text;
}

/* A rule that asks beats one that allows: whoever wants that no longer changes it by hand. */
static bool asks_by_rule(const struct flow *flow)
{
	_cleanup_circumstances_ struct circumstances circumstances;
	const struct rule *exact;
	bool asks;

	circumstances_make(flow->policy, flow->request, &flow->plan, &flow->assessment,
			   &circumstances);
	exact = policy_match_exactly(flow->policy, &circumstances, flow->request, false);
	asks = exact && exact->kind != VERDICT_ALLOW;
	for (size_t i = 0; i < flow->plan.count && !asks; i++) {
		const struct rule *rule =
			policy_match_in(flow->policy, &circumstances, &flow->plan.commands[i], 0);

		asks = rule && rule->kind != VERDICT_ALLOW;
	}
	return asks;
}

/* Nothing speaks against the command, and a rule that allows it would be heeded. */
static bool may_be_allowed(const struct flow *flow, const struct ask *question)
{
	/* A rule about a program is lifted by changing that rule. */
	bool program =
		question->grants->count > 0 && strncmp(question->grants->items[0], "exec ", 5) == 0;

	return flow->assessment.class == CLASS_SAFE && !program && !asks_by_rule(flow) &&
	       !flow_is_own_program(flow->request);
}

void offers_find(const struct flow *flow, bool kind, struct ask *question, struct offers *rules)
{
	bool harmless = may_be_allowed(flow, question);
	_cleanup_list_ struct list words = {0};
	_cleanup_free_ char *why = NULL;
	struct rule about = {.kind = VERDICT_DENY};
	char now[TIME_TEXT];

	if (!kind && (!exact_is_keepable(flow->request) || !exact_words(flow->request, &words)))
		return;
	time_text(now);
	if (asprintf(&why, "a person said so when asked, on %.10s", now) < 0)
		abort();
	rules->file = remember_file();
	if (!rules->file)
		return;
	about.pattern = kind ? flow->key.covers : NULL;
	about.exactly = words;
	about.in = kind ? NULL : flow->request->cwd;
	about.why = why;
	question->always_file = rules->file;
	if (harmless)
		question->always_rule = rules->always =
			make_rule(flow, &about, kind, question->grants);
	for (size_t i = 0; rules->always && i < question->extent_count; i++) {
		struct extent *extent = &question->extents[i];
		char *rule = make_rule(flow, &about, kind, extent->grants);

		if (rule) /* of paths that are not UTF-8 none can be written */
			list_take(&rules->extents, rule);
		extent->rule = rule;
	}
	if (question->kind != ASK_IN_PLACE)
		question->never_rule = rules->never = remember_rule(&about);
}

enum { RULE_MOST = 4096 };

static void add_rule(json_t *rules, const char *what, const struct list *grants, const char *rule)
{
	json_t *object;

	if (!rule || strlen(rule) > RULE_MOST)
		return;
	object = json_object();
	json_put_text(object, "do", what);
	json_put_list(object, "grants", grants);
	json_put_text(object, "rule", rule);
	json_array_append_new(rules, object);
}

void offers_note(const struct flow *flow, bool kind, const struct ask *question, json_t *body)
{
	const char *key = kind ? flow->key.text : flow->key.exact;
	const struct list none = {0};
	json_t *rules = json_array();

	if (question->extent_count == 0)
		add_rule(rules, "allow", question->grants, question->always_rule);
	for (size_t i = 0; i < question->extent_count; i++)
		add_rule(rules, "allow", question->extents[i].grants, question->extents[i].rule);
	add_rule(rules, "deny", &none, question->never_rule);
	if (json_array_size(rules) && key && strlen(key) <= RULE_MOST) {
		json_put_text(body, "key", key);
		json_put(body, "covers", json_text(kind ? flow->key.covers : NULL));
		json_put(body, "rules", rules);
	} else {
		json_decref(rules);
	}
}

char *flow_rule_hint(const struct flow *flow)
{
	_cleanup_list_ struct list words = {0};
	_cleanup_buffer_ struct buffer text = {0};
	bool whole = true;

	if (flow->key.covers && !flow_is_altered(flow->request)) {
		buffer_printf(&text, "command: %s", flow->key.covers);
		return buffer_steal(&text);
	}
	if (!exact_is_keepable(flow->request) || !exact_words(flow->request, &words))
		return strdup("command: ...");
	for (size_t i = 0; i < words.count; i++) {
		buffer_add_text(&text, i ? ", " : "exactly: [");
		whole &= remember_quote(&text, words.items[i]);
	}
	buffer_add_text(&text, "], in: ");
	whole &= remember_quote(&text, flow->request->cwd);
	return whole ? buffer_steal(&text) : strdup("command: ...");
}
