/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a policy file: taken, or refused with a message, a place and a way on. What is taken
 * is held against some commands, with and without its index. */
#include "../../src/decide/index.h"
#include "../../src/decide/layer.h"
#include "../../src/decide/matching.h"

#include <stdint.h>

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Rules that stand in no set, each by itself. */
static const struct rule *try_each(const struct policy *policy, struct command *command)
{
	_cleanup_chain_ struct chain chain;
	const struct matching matching = {.policy = policy, .command = command, .chains = &chain};
	const struct rule *best = NULL;

	chain_make(command, 0, &chain);
	for (size_t i = 0; i < policy->rule_count; i++)
		if (policy->rules[i].set < 0 && (!best || policy->rules[i].kind > best->kind) &&
		    matching_says(&matching, &policy->rules[i], NULL))
			best = &policy->rules[i];
	return best;
}

static void match(const char *text, size_t length)
{
	static const char *const scripts[] = {"git push origin main", "a b $X > c",
					      "env A=1 rm -rf /*", "a aacc1 /etc", "xargs git"};
	struct layer *layer = NULL;
	struct policy policy = {0};

	if (layer_parse(text, length, "fuzz.yaml", NULL, "/home/user", &layer, NULL) < 0)
		abort();
	policy.rules = layer->rules;
	policy.rule_count = layer->rule_count;
	policy.sets = layer->sets;
	policy.set_count = layer->set_count;
	policy_index_make(&policy);
	for (size_t i = 0; i < ELEMENTS(scripts); i++) {
		_cleanup_arena_ struct arena *arena = arena_new();
		struct plan plan;

		parse_shell(arena, scripts[i], strlen(scripts[i]), &plan);
		for (size_t k = 0; k < plan.count; k++) {
			const struct rule *found = policy_match(&policy, &plan.commands[k], 0);

			if (!policy.set_count && found != try_each(&policy, &plan.commands[k]))
				abort();
		}
	}
	policy_index_free(policy.index);
	layer_free(layer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *const names[] = {"userns", "landlock", "seccomp"};
	const struct list walls = {.items = (char **)names, .count = ELEMENTS(names)};
	_cleanup_error_ struct error *error = NULL;
	_cleanup_list_ struct list warnings = {0};

	if (policy_parse((const char *)data, size, "fuzz.yaml", &walls, &warnings, &error) == 0) {
		match((const char *)data, size);
		return 0;
	}
	if (!error || error->code != E_POLICY || !error->message || !error->hint || !error->file)
		abort();
	if (size <= POLICY_LIMIT && (error->line < 1 || error->column < 1))
		abort();
	return 0;
}
