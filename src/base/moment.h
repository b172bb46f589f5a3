/* SPDX-License-Identifier: Apache-2.0 */
/* A moment that outlives the process: how much later another one is does not depend on a clock that
 * somebody sets, nor on sleep, as long as the machine was not started anew in between. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { BOOT_TEXT = 40 };

struct moment {
	int64_t wall;	      /* seconds since 1970 */
	uint64_t ns;	      /* since the machine was started, sleep included */
	char boot[BOOT_TEXT]; /* which start that was */
};

void moment_now(struct moment *ret_moment);
/* When the wall clock will show that, if nobody sets it. */
void moment_at(int64_t wall, const struct moment *now, struct moment *ret_moment);
/* 0 where it is not later. Over a start of the machine only the wall clock is left. */
uint64_t moment_ns_between(const struct moment *from, const struct moment *to);
/* What was given until then is over: by either clock, so that to set one back gives no time. Over a
 * start of the machine, too: the clock that is left then may have been set by anybody. */
bool moment_has_come(const struct moment *end, const struct moment *now);
/* What was refused until then is over: by both. */
bool moment_has_surely_come(const struct moment *end, const struct moment *now);
