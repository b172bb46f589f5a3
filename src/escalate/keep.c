/* SPDX-License-Identifier: Apache-2.0 */
/* Answers made to last. */
#include "keep.h"
#include "../decide/grants.h"
#include "../decide/remember.h"

#include <string.h>

static char *copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

int answer_keep(const struct answer *answer, const struct ask *question,
		const struct approval_key *key, const char *state, const char *id,
		struct error **ret_error)
{
	struct grant grant = {
		.id = copy(id),
		.session = copy(question->session),
		.key = copy(key->text),
		.covers = copy(key->covers),
		.refusal = answer->kind != ANSWER_APPROVE,
		.by = copy(answer->by),
		.reason = copy(answer->reason),
		.command = copy(question->command),
		.agent = copy(question->agent),
		.expires = answer->expires,
		.uses = answer->kind == ANSWER_APPROVE ? answer->uses : 0,
	};
	int r;

	/* A no to what a call wanted is none to the command. */
	for (size_t i = 0;
	     (!grant.refusal || question->kind == ASK_IN_PLACE) && i < question->grants->count; i++)
		list_add(&grant.permissions, question->grants->items[i]);
	for (const char **reason = question->assessment->reasons; *reason; reason++)
		list_add(&grant.reasons, *reason);
	r = grants_add(state, &grant, ret_error);
	grant_done(&grant);
	return r;
}

int answer_keep_always(const struct answer *answer, const struct ask *question,
		       struct error **ret_error)
{
	const char *rule =
		answer->kind == ANSWER_APPROVE ? question->always_rule : question->never_rule;

	return rule ? remember_write(question->always_file, rule, ret_error)
		    : fail(ret_error, E_ENGINE, "there is no rule for this answer");
}
