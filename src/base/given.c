/* SPDX-License-Identifier: Apache-2.0 */
/* A list of permissions with their ends. */
#include "given.h"

#include <stdlib.h>
#include <string.h>

void givens_add(struct givens *givens, const char *permission, const char *grant,
		const struct moment *expires)
{
	struct given *given;

	givens->items = reallocarray(givens->items, givens->count + 1, sizeof(*givens->items));
	if (!givens->items)
		abort();
	given = &givens->items[givens->count++];
	*given = (struct given){.permission = strdup(permission),
				.grant = grant ? strdup(grant) : NULL};
	if (expires)
		given->expires = *expires;
	if (!given->permission || (grant && !given->grant))
		abort();
}

void givens_done(struct givens *givens)
{
	for (size_t i = 0; i < givens->count; i++) {
		free(givens->items[i].permission);
		free(givens->items[i].grant);
	}
	free(givens->items);
	*givens = (struct givens){0};
}
