/* SPDX-License-Identifier: Apache-2.0 */
/* The runs under way and what they use, as `ward top` shows them: read from the log, the queue of
 * questions and the kernel when somebody looks. A supervisor is asked only for the names behind
 * addresses, and only where there is one that has none yet. */
#pragma once

#include "../base/error.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct top_wanted {
	const char *agent, *session; /* NULL: of all */
	const char *details;	     /* of this run; NULL: none; "": of all */
};

/* An object for each run of the state's owner, oldest first, as docs/top.schema.json says, but for
 * what needs two looks. Caller owns it. */
int top_read(const char *state, const struct top_wanted *wanted, json_t **ret_rows,
	     struct error **ret_error);
/* What needs two: cpu_percent of the second, elapsed_ns after the first (NULL: there was none). And
 * which limits each is near to, as "near". */
void top_compare(const json_t *before, json_t *rows, uint64_t elapsed_ns);
