/* SPDX-License-Identifier: Apache-2.0 */
/* Questions and answers as JSON, for approvers that do not sit at this terminal. */
#pragma once

#include "ask.h"
#include <jansson.h>

/* All of the question: docs/ask.schema.json. "text" is the whole of it laid out for people, plain,
 * but for the keys of a terminal; "choices" are the answers that count. */
json_t *ask_to_json(const struct ask *ask, const char *id);
/* Fails where the answer is not one of the choices of that question, or not well-formed. */
int answer_from_json(json_t *object, json_t *ask, struct answer *ret_answer,
		     struct error **ret_error);
json_t *answer_to_json(const struct answer *answer);
