/* SPDX-License-Identifier: Apache-2.0 */
/* The second reader of shell text: the grammar of tree-sitter. It describes and is no authority:
 * shell.c holds it against the lexer. */
#pragma once

#include "plan.h"
#include <stdint.h>

/* The commands that the grammar finds, in the order of the text: words only, without redirections
 * and assignments; of a test no more than "[" or "[[". Opaque where the text does not fit the
 * grammar or takes more than *time_us, which is lessened by the time taken. */
void tree_shell(struct arena *arena, const char *text, size_t length, uint64_t *time_us,
		struct plan *ret_plan);

/* As parse_shell(), for one of several texts that share a bound on the time. */
void parse_shell_within(struct arena *arena, const char *text, size_t length, uint64_t *time_us,
			struct plan *ret_plan);
enum { PARSE_TIME_US = 1000000 };
