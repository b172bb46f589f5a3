/* SPDX-License-Identifier: Apache-2.0 */
/* Permissions that somebody gave, each with its end. */
#pragma once

#include "macro.h"
#include "moment.h"
#include <stdint.h>

struct given {
	char *permission; /* "OPERATION RESOURCE" */
	char *grant; /* the id of the answer, by which it can be revoked; NULL: this run's own */
	struct moment expires; /* no wall: with the run, or when it is revoked */
};

struct givens {
	struct given *items;
	size_t count;
};

/* expires: may be NULL. */
void givens_add(struct givens *givens, const char *permission, const char *grant,
		const struct moment *expires);
void givens_done(struct givens *givens);
