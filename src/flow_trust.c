/* SPDX-License-Identifier: Apache-2.0 */
/* Scores in the flow: what an agent's score is when it asks for something, and what its asking, a
 * person's answer and tests that pass do to it. Nothing that the agent says counts. */
#include "assess/workstate.h"
#include "base/escape.h"
#include "decide/exact.h"
#include "flow_state.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

/* A score that cannot be changed holds nothing up; somebody is to know. */
static void complain(struct flow *flow, const struct error *error)
{
	if (error)
		list_add_printf(&flow->remarks, "trust: %s", error->message);
}

void flow_look_trust(struct flow *flow)
{
	_cleanup_error_ struct error *error = NULL;

	flow->under_trust = trust_binds(flow->policy, flow->request->agent);
	flow->trust = 0;
	if (flow->under_trust && trust_score(flow->own_state, flow->policy, flow->request->agent,
					     &flow->trust, &error) < 0)
		complain(flow, error);
}

static void hash_of(const char *one, const char *other, char ret_text[static 65])
{
	crypto_hash_sha256_state state;
	unsigned char hash[crypto_hash_sha256_BYTES];

	crypto_hash_sha256_init(&state);
	crypto_hash_sha256_update(&state, (const unsigned char *)one, strlen(one) + 1);
	crypto_hash_sha256_update(&state, (const unsigned char *)other, strlen(other));
	crypto_hash_sha256_final(&state, hash);
	sodium_bin2hex(ret_text, 65, hash, sizeof(hash));
}

static void note(struct flow *flow, enum trust_kind kind, const char *why, const char *by,
		 const char *key)
{
	_cleanup_error_ struct error *error = NULL;

	if (checks_switched_off() & CHECK_BIT(CHECK_ONCE))
		key = NULL;

	if (trust_note_by(flow->own_state, flow->policy, flow->request->agent, kind, why, by, key,
			  &error) < 0)
		complain(flow, error);
}

/* Approved once more: with enough of them there is a rule to propose. */
static void learn(struct flow *flow, const struct ask *question, const struct list *grants)
{
	_cleanup_list_ struct list writable = {0}, words = {0};
	_cleanup_error_ struct error *error = NULL;
	_cleanup_free_ char *proposed = NULL;
	/* A rule allows whatever words and options there are: where something speaks against the
	 * command, it is about exactly this one. */
	bool kind = flow->key.covers && !flow_is_altered(flow->request) &&
		    flow->assessment.class == CLASS_SAFE;
	struct trust_shape shape = {.covers = kind ? flow->key.covers : NULL,
				    .directory = flow->request->cwd,
				    .grants = *grants,
				    .command = (char *)question->command};
	struct sets_places places;

	if (!flow->policy->trust.learn_after || question->operation || flow->identity.changes)
		return;
	flow_places(flow, &writable, &places);
	if (!trust_may_learn(flow->policy, &flow->plan, &flow->assessment, grants, &places) ||
	    flow_is_own_program(flow->request))
		return;
	if (!kind && (!exact_is_keepable(flow->request) || !exact_words(flow->request, &words)))
		return;
	shape.words = words;
	if (trust_learn_note(flow->own_state, flow->policy, flow->request->agent,
			     kind ? flow->key.text : flow->key.exact, flow->result->run, &shape,
			     &proposed, &error) < 0)
		complain(flow, error);
	if (proposed)
		list_add_printf(&flow->remarks,
				"approved %llu times without incident; to make it a rule, see: "
				"ward trust learn %s",
				(unsigned long long)flow->policy->trust.learn_after, proposed);
}

void flow_answer_trust(struct flow *flow, const struct ask *question, const struct answer *answer,
		       const struct list *grants)
{
	_cleanup_buffer_ struct buffer why = {0};
	char key[65];

	/* Only what a person has said: not a tier, not silence. */
	if (!flow->under_trust || answer->by_tier || answer->by_default ||
	    (answer->kind != ANSWER_APPROVE && answer->kind != ANSWER_ABORT))
		return;
	escape_for_terminal(&why, question->command, strlen(question->command));
	if (answer->kind == ANSWER_ABORT) {
		note(flow, TRUST_OVERRIDE, buffer_text(&why), answer->by, /* key= */ NULL);
		return;
	}
	if (question->kind == ASK_BEFORE) {
		/* What it is like: another word in it is no other question. */
		hash_of("asked", flow->key.does ? flow->key.does : flow->key.text, key);
		note(flow, TRUST_ASKED, buffer_text(&why), answer->by, key);
	}
	learn(flow, question, grants);
}

void flow_end_trust(struct flow *flow)
{
	const struct result *result = flow->result;
	char state[WORKSTATE_TEXT], key[65];
	const char *tests;

	if (!flow->under_trust || result->error || result->timed_out || result->signal ||
	    result->exit_code != 0 || result->limit != LIMIT_NONE ||
	    flow->verdict.level != LEVEL_RESTRICTED)
		return;
	tests = trust_tests(flow->policy, flow->request, &flow->plan, &flow->assessment,
			    flow_is_altered(flow->request));
	if (!tests && checks_switched_off() & CHECK_BIT(CHECK_WORDS))
		tests = "any that end well";
	if (!tests || !workstate_of(flow->request->workspace, state))
		return;
	hash_of(tests, state, key);
	note(flow, TRUST_TESTS, tests, /* by= */ NULL, key);
	/* Nobody says it later any more. */
	for (size_t i = 0; i < flow->remarks.count; i++)
		flow_say(flow, "%s", flow->remarks.items[i]);
	list_done(&flow->remarks);
}
