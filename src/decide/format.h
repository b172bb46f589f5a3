/* SPDX-License-Identifier: Apache-2.0 */
/* A policy file in the one form: the same keys, values and comments in the same order, indented by
 * two, one space here and none there. What it means is never changed: the result is read again and
 * held against what was read. */
#pragma once

#include "../base/buffer.h"
#include "../base/error.h"

/* Any plain YAML; whether it is a policy is not looked at. */
int policy_format(const char *text, size_t length, const char *name, struct buffer *ret_text,
		  struct error **ret_error);
