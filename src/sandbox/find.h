/* SPDX-License-Identifier: Apache-2.0 */
/* Which existing paths the rules about files mean, found by a bounded walk. */
#pragma once

#include "../base/error.h"
#include "../base/list.h"

/* All lists hold absolute, normalised paths or patterns. */
struct search {
	const char *workspace;
	const struct list
		*names; /* patterns for last components that are denied anywhere in the workspace */
	const struct list *not_names;	/* and those among them that are not */
	const struct list *deny;	/* paths and patterns that are denied by default */
	const struct list *deny_always; /* the same, and no exception lifts them */
	const struct list *except;	/* paths and patterns that may be read all the same */
};

/* The paths to mask, as they really are (no symlink in them), parents before children and nothing
 * below a masked directory. A workspace that cannot be walked in time is an error, not a hole. */
int find_masks(const struct search *search, struct list *ret_masks, struct error **ret_error);
