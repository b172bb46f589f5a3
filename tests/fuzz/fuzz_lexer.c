/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes through the lexer alone, which is fast enough to meet many: no crash, no endless loop,
 * every list ends. */
#include "../../src/parse/lexer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_arena_ struct arena *arena = arena_new();
	struct plan plan;

	lex_shell(arena, (const char *)data, size, &plan);
	if (plan.opaque != (plan.opaque_why != NULL) || plan.count > 10000)
		abort();
	for (size_t i = 0; i < plan.count; i++) {
		const struct command *command = &plan.commands[i];
		size_t words = 0;

		while (command->argv[words])
			words++;
		if (words != command->argc)
			abort();
		for (size_t j = 0; j < command->redirect_count; j++)
			if (!command->redirects[j].target || !command->redirects[j].operator)
				abort();
	}
	return 0;
}
