/* SPDX-License-Identifier: Apache-2.0 */
/* The answer's end. */
#include "ask.h"

void answer_done(struct answer *answer)
{
	free(answer->reason);
	free(answer->by);
	*answer = (struct answer){0};
}

int ask_terminal(const struct ask *ask, struct answer *ret_answer, struct error **ret_error)
{
	(void)ask;
	(void)ret_error;
	*ret_answer = (struct answer){.kind = ANSWER_NOBODY};
	return 0;
}
