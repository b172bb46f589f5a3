/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as what is kept of an agent's trust: trust.1.jsonl, trust.jsonl and learn.jsonl. A
 * score stays in its bounds, a violation makes it no higher, what can be read can be added to, and
 * what was learnt can be withdrawn. */
#include "../../src/decide/policy.h"
#include "files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_score(const struct policy *policy)
{
	_cleanup_trust_history_ struct trust_history history = {0};
	double before, after;

	if (trust_score(place, policy, "a", &before, NULL) < 0) {
		if (before != 0 || trust_note(place, policy, "a", TRUST_TASK, "x", NULL) == 0)
			abort();
		return;
	}
	if (!(before >= 0 && before <= TRUST_MOST) || trust_read(place, "a", &history, NULL) < 0)
		abort();
	for (enum trust_kind kind = 0; kind < TRUST_KINDS; kind++)
		(void)trust_may_count(&history, kind, "key", 1800000000);
	/* Only a part of it: whatever is missing, it is no more trusted. */
	if (trust_note_by(place, policy, "a", TRUST_OVERRIDE, "x", "anna", NULL, NULL) < 0 ||
	    trust_score(place, policy, "a", &after, NULL) < 0 || after > before)
		abort();
}

static void check_learnt(const struct policy *policy)
{
	_cleanup_trust_shapes_ struct trust_shapes shapes = {0}, none = {0};
	size_t count;

	if (trust_learn_read(place, policy, "a", &shapes, NULL) < 0)
		return;
	for (size_t i = 0; i < shapes.count; i++) {
		_cleanup_free_ char *rule = trust_learn_rule(policy, "a", &shapes.items[i],
							     1800000000),
				    *admits = trust_learn_admits(policy, "a", &shapes.items[i]);

		/* It would have files changed that the input names. */
		if (shapes.items[i].file)
			return;
	}
	if (trust_learn_withdraw(place, policy, "a", "x", &count, NULL) < 0 ||
	    trust_learn_read(place, policy, "a", &none, NULL) < 0 || none.count)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct policy *policy;

	make_place();
	if (!policy) {
		policy = calloc(1, sizeof(*policy));
		trust_rules_default(&policy->trust);
		list_add(&policy->tiers.agents, "a");
		make_directory("agents/a");
	}
	put_part("agents/a/trust.1.jsonl", &data, &size);
	put_part("agents/a/trust.jsonl", &data, &size);
	put_part("agents/a/learn.jsonl", &data, &size);
	check_score(policy);
	check_learnt(policy);
	return 0;
}
