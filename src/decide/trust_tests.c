/* SPDX-License-Identifier: Apache-2.0 */
/* Which runs are tests of the policy, and nothing more: an agent chooses its commands, and with
 * them their exit codes. */
#include "pattern.h"
#include "policy.h"

#include <stdlib.h>
#include <string.h>

/* Options and words beyond those that the policy names can make of tests what passes always: make
 * -n, SHELL=true, --collect-only. So they are the very words; where the policy has patterns in
 * them, no option and no assignment but those that it names. */
static bool is_named(const struct command *command, const char *text,
		     const struct circumstances *circumstances)
{
	const struct match_how how = {
		.home = circumstances->home, .alone = true, .circumstances = circumstances};
	_cleanup_free_ char *copy = strdup(text);
	struct pattern *pattern = NULL;
	char *rest = copy, *word;
	bool matches, plain = !strpbrk(text, "*?[]{}|\\/<>\"'");
	size_t i = 0;

	while (plain && (word = strsep(&rest, " \t"))) {
		if (!*word)
			continue;
		if (i >= command->argc || strcmp(command->argv[i++], word) != 0)
			return false;
	}
	if (plain)
		return i == command->argc && i > 0;
	if (pattern_compile(text, &pattern, /* ret_error= */ NULL) < 0)
		return false;
	matches = pattern_matches(pattern, command, 0, &how);
	for (i = 1; i < command->argc && matches; i++) {
		const char *argument = command->argv[i];
		bool known = argument[0] != '-' && !strchr(argument, '=');

		for (size_t k = 0; k < pattern->options.count && !known; k++)
			known = strcmp(pattern->options.items[k], argument) == 0;
		matches = known;
	}
	pattern_free(pattern);
	return matches;
}

const char *trust_tests(const struct policy *policy, const struct request *request,
			const struct plan *plan, const struct assessment *assessment, bool altered)
{
	_cleanup_circumstances_ struct circumstances circumstances = {0};
	const struct list *tests = &policy->trust.tests;
	const struct command *command = plan->commands;

	if (tests->count == 0 || plan->count != 1 || plan->opaque || plan->alters || altered ||
	    command->wrapper_count || command->assignment_count || command->redirect_count ||
	    command->dynamic || command->unnamed || command->unseen || command->background ||
	    command->place)
		return NULL;
	circumstances_make(policy, request, plan, assessment, &circumstances);
	for (size_t i = 0; i < tests->count; i++)
		if (is_named(command, tests->items[i], &circumstances))
			return tests->items[i];
	return NULL;
}
