/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that last beyond the run they were given for. Only what the answer said is kept. */
#pragma once

#include "ask.h"
#include "../decide/key.h"

/* For the session that the question names, or a time of it, under this id. */
int answer_keep(const struct answer *answer, const struct ask *question,
		const struct approval_key *key, const char *state, const char *id,
		struct error **ret_error);
/* For good: the rule that was shown, in the user's policy. */
int answer_keep_always(const struct answer *answer, const struct ask *question,
		       struct error **ret_error);
