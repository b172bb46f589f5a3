/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of agents: read, and answered in every way. */
#include "../../src/serve/hook.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_error_ struct error *error = NULL;
	struct hook_call call;

	if (hook_read((const char *)data, size, &call, &error) == 0)
		for (enum hook_word word = HOOK_ALLOW; word <= HOOK_SILENCE; word++) {
			struct hook_answer answer = {.word = word,
						     .reason = strdup("why"),
						     .command = strdup("ward run -c 'x'")};

			if (!call.input)
				free(STEAL(answer.command));
			free(hook_write(&call, &answer));
			hook_answer_done(&answer);
		}
	hook_call_done(&call);
	return 0;
}
