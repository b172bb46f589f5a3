/* SPDX-License-Identifier: Apache-2.0 */
/* Questions and answers as JSON, for approvers that do not sit at this terminal. */
#pragma once

#include "../base/arena.h"
#include "ask.h"
#include <jansson.h>

/* All of the question: docs/ask.schema.json. "text" is all of it but the choices, laid out for
 * people, plain; "choices" are the answers that count. */
json_t *ask_to_json(const struct ask *ask, const char *id);
int ask_kind_from_name(const char *name); /* -1: it is none */
/* The same question again, to be asked here; its texts live in the arena and in the object. Fails
 * where it is none. */
int ask_from_json(struct arena *arena, json_t *object, struct ask *ret_ask,
		  struct error **ret_error);
/* Fails where the answer is not one of the choices of that question, or not well-formed. */
int answer_from_json(json_t *object, json_t *ask, struct answer *ret_answer,
		     struct error **ret_error);
json_t *answer_to_json(const struct answer *answer);
