/* SPDX-License-Identifier: Apache-2.0 */
/* Agents under trust: what they lack has a tier, and that says whether somebody is asked, told, or
 * neither. */
#include "flow_state.h"
#include "base/escape.h"
#include "decide/sets.h"

#include <stdio.h>
#include <string.h>

bool flow_is_tiered(const struct flow *flow)
{
	return flow->policy && tiers_bind(&flow->policy->tiers, flow->request);
}

/* On record, for whoever follows the record, and said when the command is done with the terminal.
 */
static void notice(struct flow *flow, const char *tier, const char *text)
{
	list_add(&flow->remarks, text);
	/* A notice that cannot be recorded holds nothing up: what it is about is on record itself.
	 */
	(void)flow_record(flow, "notice",
			  json_pack("{s:s, s:s, s:s?}", "tier", tier, "text", text, "agent",
				    flow->request->agent),
			  /* ret_error= */ NULL);
}

static void join(const struct list *grants, struct buffer *text)
{
	for (size_t i = 0; i < grants->count; i++) {
		buffer_add_text(text, i ? ", " : "");
		escape_for_terminal(text, grants->items[i], strlen(grants->items[i]));
	}
}

/* The very command, for a person to run it. */
static char *refusal(const struct flow *flow, const char *command)
{
	_cleanup_buffer_ struct buffer text = {0};

	buffer_add_text(&text, "no agent is given this (tier critical); a person runs it: cd ");
	escape_for_shell(&text, flow->request->cwd);
	buffer_printf(&text, " && %s", command);
	return buffer_steal(&text);
}

const char *flow_unsaid_why(const struct answer *answer)
{
	return answer->by_tier		       ? "its tier is critical, and a person runs it"
	       : answer->kind == ANSWER_NOBODY ? "nobody has answered"
	       : answer->kind == ANSWER_DEFER  ? "that is answered later"
					       : NULL;
}

/* What a model says makes it stricter, never less so. */
static enum tier raised(enum tier tier, const struct ask *question)
{
	const enum risk risk = question->assessment->risk;

	if (!opinion_raises(question->opinion))
		return tier;
	return MAX(tier, risk >= RISK_HIGH ? TIER_HIGH : TIER_MEDIUM);
}

enum tier flow_tier_of(const struct flow *flow, const struct list *grants)
{
	_cleanup_list_ struct list writable = {0};
	struct sets_places places;

	flow_places(flow, &writable, &places);
	return (enum tier)trust_tier(flow->policy, flow->trust, grants, &places);
}

/* What a command needs before it has run into any wall: to become another program by that name. */
static bool starts_what_is_never_given(const struct flow *flow)
{
	_cleanup_list_ struct list writable = {0}, needed = {0};
	struct sets_places places;

	for (size_t i = 0; i < flow->plan.count; i++) {
		const struct command *command = &flow->plan.commands[i];

		for (size_t k = 0; k < command->wrapper_count; k++)
			list_add_printf(&needed, "exec %s", command->wrappers[k]);
		for (size_t k = 0; k < command->argc && k <= command->program; k++)
			list_add_printf(&needed, "exec %s", command->argv[k]);
	}
	flow_places(flow, &writable, &places);
	for (size_t i = 0; i < needed.count; i++)
		if (tiers_never(&flow->policy->tiers, needed.items[i], &places))
			return true;
	return false;
}

void flow_refuse_never(struct flow *flow)
{
	struct verdict *verdict = &flow->verdict;
	_cleanup_free_ char *command = NULL;

	if (verdict->kind == VERDICT_DENY || !flow_is_tiered(flow) ||
	    !starts_what_is_never_given(flow))
		return;
	command = request_command_text(flow->request);
	verdict->kind = VERDICT_DENY;
	verdict->source = "trust";
	verdict->tier = tier_name(TIER_CRITICAL);
	free(verdict->reason);
	verdict->reason = refusal(flow, command);
}

enum tier flow_tier_before(const struct flow *flow, const struct list *grants)
{
	/* What is asked before it runs is asked for another reason than what it lacks. */
	return MAX(flow_tier_of(flow, grants), TIER_HIGH);
}

/* The threshold that gives what is missing; 0: none does. What is asked before it runs is asked for
 * another reason than what it lacks. */
static int unlocked_at(const struct flow *flow, const struct ask *question)
{
	_cleanup_list_ struct list writable = {0};
	struct sets_places places;

	if (question->kind == ASK_BEFORE || list_has(question->grants, "unsandboxed"))
		return 0;
	flow_places(flow, &writable, &places);
	return trust_unlocks(flow->policy, flow->trust, question->grants, &places);
}

bool flow_weigh_gap(struct flow *flow, struct ask *question, const struct approver *approver,
		    struct second *second, struct answer *ret_answer)
{
	enum tier tier;
	int at;

	if (!flow_is_tiered(flow))
		return false;
	tier = question->kind == ASK_BEFORE ? flow_tier_before(flow, question->grants)
					    : flow_tier_of(flow, question->grants);
	if (tier != TIER_CRITICAL) {
		flow_ask_opinion(flow, question, approver, second);
		tier = raised(tier, question);
	}
	question->tier = tier_name(tier);
	at = tier == TIER_CRITICAL ? 0 : unlocked_at(flow, question);
	if (at > 0) {
		*ret_answer = (struct answer){
			.kind = ANSWER_APPROVE, .by_tier = true, .extent = question->extent};
		if (asprintf(&ret_answer->by, "trust %d, unlocked from %d on",
			     trust_points(flow->trust), at) < 0)
			abort();
		return true;
	}
	if (tier == TIER_MEDIUM && approver->queued)
		question->objection_ns = tiers_objection(&flow->policy->tiers);
	if (tier == TIER_MEDIUM || tier == TIER_HIGH)
		return false;
	*ret_answer = (struct answer){
		.kind = tier == TIER_LOW ? ANSWER_APPROVE : ANSWER_DENY,
		.by_tier = true,
		.extent = question->extent,
		.reason = tier == TIER_LOW ? NULL : refusal(flow, question->command),
		.by = strdup(tier == TIER_LOW ? "tier low" : "tier critical")};
	if (!ret_answer->by)
		abort();
	return true;
}

void flow_tell_tier(struct flow *flow, const struct ask *question, const struct answer *answer,
		    const struct list *grants)
{
	_cleanup_buffer_ struct buffer text = {0};

	if (!answer->by_tier || answer->kind != ANSWER_APPROVE)
		return;
	buffer_add_text(&text, "given for this run, unasked (");
	if (strncmp(answer->by, "tier ", 5) != 0)
		buffer_printf(&text, "tier %s; ", question->tier);
	buffer_printf(&text, "%s): ", answer->by);
	join(grants, &text);
	notice(flow, question->tier, buffer_text(&text));
}

/* Inside what it holds, what is of medium risk runs at once; somebody is to know. */
void flow_notice_risk(struct flow *flow)
{
	_cleanup_free_ char *command = NULL;
	_cleanup_buffer_ struct buffer text = {0};

	if (flow->assessment.risk != RISK_MEDIUM || !flow_is_tiered(flow))
		return;
	command = request_command_text(flow->request);
	buffer_add_text(&text, "of medium risk, within what it holds: ");
	escape_for_terminal(&text, command, strlen(command));
	notice(flow, "medium", buffer_text(&text));
}
