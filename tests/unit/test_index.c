/* SPDX-License-Identifier: Apache-2.0 */
/* The index of rules: whatever the rules and the commands, it finds what trying each of them finds.
 */
#include "policy_world.h"
#include "../../src/base/buffer.h"
#include "../../src/decide/index.h"
#include "../../src/decide/matching.h"

#include <stdlib.h>

static unsigned seed = 4711;

static size_t pick(size_t count)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % count;
}

static const char *const programs[] = {
	"git",	   "git|hg", "/usr/bin/git", "g*",    "/usr/*/git", "*",       "sudo", "./git",
	"kubectl", "a|b|c",  "~/bin/git",    "g[i]t", "x/y|z",	    "sub/git", "gi?",  "xargs",
};
static const char *const words[] = {
	"push",	  "pull",	 "push|pull", "p*",	"-f",	 "--force",    "origin", "main|dev",
	"**",	  "{re:v[0-9]}", "v1",	      "./push", "a/b",	 "{outside}",  "> x",	 "A=1",
	"or?gin", "~/x",	 "-",	      "--",	"push/", "> {inside}",
};
static const char *const spoken[] = {
	"git",
	"push",
	"pull",
	"sudo git",
	"/usr/bin/git",
	"./git",
	"/usr/bin/../bin/git",
	"-f",
	"-rf",
	"--for",
	"origin",
	"main",
	"v1",
	"$X",
	"*",
	"a",
	"b",
	"env",
	"xargs git",
	"timeout 5 hg",
	"./push",
	"~/x",
	"~/bin/git",
	"A=1",
	"> x",
	"{a,b}",
	"-",
	"sub//git",
	"kubectl",
	"x/y",
	"z",
	"bash -c 'git push'",
	"git$X",
	"push/../pull",
	"busybox git",
};

static void add_rules(struct buffer *text, size_t count)
{
	static const char *const kinds[] = {"allow", "ask", "deny"};

	buffer_add_text(text, "version: 1\nrules:\n");
	for (size_t i = 0; i < count; i++) {
		const char *kind = kinds[pick(3)];
		size_t length = pick(4);

		buffer_printf(text, "  - {do: %s, why: w, command: '%s", kind,
			      programs[pick(ELEMENTS(programs))]);
		for (size_t k = 0; k < length; k++) {
			const char *word = words[pick(ELEMENTS(words))];

			/* An allow behind ** is refused. */
			buffer_printf(text, " %s",
				      strcmp(word, "**") == 0 && kind[1] == 'l' ? "x" : word);
		}
		buffer_add_text(text, "'}\n");
	}
}

static const struct rule *try_each(const struct policy *policy,
				   const struct circumstances *circumstances,
				   const struct command *command)
{
	_cleanup_chain_ struct chain chain;
	struct command copy = *command;
	const struct matching matching = {.policy = policy,
					  .circumstances = circumstances,
					  .command = &copy,
					  .chains = &chain};
	const struct rule *best = NULL;

	chain_make(command, 0, &chain);
	for (size_t i = 0; i < policy->rule_count; i++) {
		const struct rule *rule = &policy->rules[i];

		if ((!best || rule->kind > best->kind) && matching_says(&matching, rule, NULL))
			best = rule;
	}
	return best;
}

static void check_command(const struct policy *policy, const struct world *world)
{
	_cleanup_arena_ struct arena *arena = arena_new();
	_cleanup_buffer_ struct buffer text = {0};
	struct request request = {
		.mode = MODE_SHELL, .workspace = world->workspace, .cwd = world->workspace};
	_cleanup_circumstances_ struct circumstances circumstances;
	size_t length = 1 + pick(6);
	struct plan plan;

	for (size_t i = 0; i < length; i++)
		buffer_printf(&text, "%s%s", i ? " " : "", spoken[pick(ELEMENTS(spoken))]);
	request.script = (char *)buffer_text(&text);
	parse_request(arena, &request, &plan);
	circumstances_make(policy, &request, &plan, NULL, &circumstances);
	for (size_t i = 0; i < plan.count; i++) {
		const struct rule *found =
			policy_match_in(policy, &circumstances, &plan.commands[i], 0);
		const struct rule *wanted = try_each(policy, &circumstances, &plan.commands[i]);

		if (found != wanted)
			fail_msg("%s: %s, not %s", buffer_text(&text),
				 found ? found->pattern : "none",
				 wanted ? wanted->pattern : "none");
	}
}

static void it_finds_what_trying_every_rule_finds(void **state)
{
	struct world *world = *state;

	for (int round = 0; round < 40; round++) {
		_cleanup_buffer_ struct buffer text = {0};
		_cleanup_policy_ struct policy *policy = NULL;

		add_rules(&text, 20 + pick(100));
		put(world->user, buffer_text(&text));
		policy = load(world);
		for (int i = 0; i < 150; i++)
			check_command(policy, world);
	}
}

/* What no word leads to is the same for all commands, and few. */
static void rules_of_many_programs_and_operands_are_found_by_their_words(void **state)
{
	struct world *world = *state;
	_cleanup_buffer_ struct buffer text = {0};
	_cleanup_policy_ struct policy *policy = NULL;

	buffer_add_text(&text, "rules:\n");
	for (int i = 0; i < 5000; i++)
		buffer_printf(&text, "  - {command: git push origin b%d, do: allow}\n", i);
	buffer_add_text(&text, "  - {command: 'g* push', do: ask, why: w}\n");
	buffer_add_text(&text, "  - {exactly: [make, test], do: deny, why: w}\n");
	put(world->user, buffer_text(&text));
	policy = load(world);
	assert_int_equal(policy_index_rest(policy->index), 1);
	assert_string_equal(match(policy, "git push origin b4711")->pattern, "g* push");
	assert_null(match(policy, "git pull origin b4711"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_finds_what_trying_every_rule_finds, make_world,
						end_world),
		cmocka_unit_test_setup_teardown(
			rules_of_many_programs_and_operands_are_found_by_their_words, make_world,
			end_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
