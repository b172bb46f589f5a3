/* SPDX-License-Identifier: Apache-2.0 */
/* What ward says to a call of an agent. */
#pragma once

#include "hook.h"

/* program: this ward, by its path. An error is for the caller to turn into a refusal. */
int hook_judge(const struct hook_call *call, const char *program, struct hook_answer *ret_answer,
	       struct error **ret_error);
