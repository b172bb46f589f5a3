/* SPDX-License-Identifier: Apache-2.0 */
/* Questions of a run as forms of the client, and what comes back as answers. */
#pragma once

#include "mcp_message.h"

/* The parameters of elicitation/create; NULL where the question is too long for a form. */
json_t *mcp_ask_form(json_t *ask, enum mcp_version version);
/* What the client's result says, as an answer for the run: anything but a choice that was offered
 * is a no. result may be NULL: the client could not ask. */
json_t *mcp_ask_answer(json_t *ask, json_t *result);
