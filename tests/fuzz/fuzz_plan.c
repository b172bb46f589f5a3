/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as shell text through both readers, all the way to an assessment: no crash, no endless
 * loop, every list ends, and nothing that the lexer found is lost. */
#include "../../src/assess/assess.h"
#include "../../src/parse/lexer.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_places(struct arena *arena, const struct plan *plan, size_t size)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct command *command = &plan->commands[i];
		unsigned stage;

		if (command->span.start > command->span.end || command->span.end > size ||
		    (command->pipeline && command->stage > command->pipeline->stages))
			abort();
		if (!plan_context(arena, command))
			abort();
		(void)plan_input(command, &stage);
		for (size_t j = 0; j < command->code_count; j++)
			if (!command->codes[j].language || !command->codes[j].text)
				abort();
	}
	if (plan->opaque_count > OPAQUE_PARTS || (plan->opaque && plan->opaque_count == 0))
		abort();
	for (size_t i = 0; i < plan->opaque_count; i++)
		if (plan->opaque_parts[i].span.start > plan->opaque_parts[i].span.end ||
		    !plan->opaque_parts[i].why)
			abort();
}

static void check(const struct plan *plan)
{
	if (plan->opaque != (plan->opaque_why != NULL) ||
	    plan->opaque != (plan->opacity != OPAQUE_NOT) || plan->count > 10000)
		abort();
	for (size_t i = 0; i < plan->count; i++) {
		const struct command *command = &plan->commands[i];
		size_t words = 0;

		while (command->argv[words])
			words++;
		if (words != command->argc || (words && command->program >= words))
			abort();
		for (size_t j = 0; j < command->redirect_count; j++)
			if (!command->redirects[j].target || !command->redirects[j].operator)
				abort();
		for (size_t j = 0; j < command->wrapper_count; j++)
			if (!command->wrappers[j])
				abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_arena_ struct arena *arena = arena_new();
	_cleanup_request_ struct request request;
	struct assessment assessment;
	struct plan plan, lexed;

	lex_shell(arena, (const char *)data, size, &lexed);
	parse_shell(arena, (const char *)data, size, &plan);
	check(&plan);
	if (plan.count < lexed.count || plan.opacity < lexed.opacity)
		abort();
	request_init(&request);
	request.mode = MODE_SHELL;
	request.script = strndup((const char *)data, size);
	parse_request(arena, &request, &plan);
	check(&plan);
	check_places(arena, &plan, size);
	assess_plan(arena, &plan, &assessment);
	if (!class_name(assessment.class) || !risk_name(assessment.risk))
		abort();
	return 0;
}
