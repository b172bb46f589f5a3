/* SPDX-License-Identifier: Apache-2.0 */
/* Inside ward policy: files brought into the one form. */
#pragma once

#include "../../src/decide/policy.h"

enum fmt_mode { FMT_WRITE, FMT_CHECK, FMT_DIFF };

/* The project's file where none is named; "-": the standard input, to the standard output.
 * Negative, or the exit status: 1 where a file is not in form and was not written. */
int policy_fmt(const struct policy_places *places, char *const *files, size_t count,
	       enum fmt_mode mode, struct error **ret_error);
