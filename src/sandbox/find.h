/* SPDX-License-Identifier: Apache-2.0 */
/* Which existing paths the rules about files mean, found by a bounded walk. */
#pragma once

#include "../base/error.h"
#include "../base/list.h"
#include <sys/types.h>

/* All lists hold absolute, normalised paths or patterns. */
struct search {
	const char *workspace;
	const struct list *writable; /* the workspace and what else is visible where it lies below
					the private /tmp */
	const struct list
		*names; /* patterns for last components that are denied anywhere in the workspace */
	const struct list *not_names;	/* and those among them that are not */
	const struct list *deny;	/* paths and patterns that are denied by default */
	const struct list *deny_always; /* the same, and no exception lifts them */
	const struct list *except;	/* paths and patterns that may be read all the same */
};

/* A path to mask, as it really is (no symlink in it), and what lay there when it was found: init
 * covers that, or nothing. */
struct mask {
	char *path;
	dev_t device;
	ino_t inode;
	bool is_directory;
};

struct masks {
	struct mask *items;
	size_t count, room;
};

/* Nothing in *ret_masks lies below another. A workspace that cannot be walked in time is an error,
 * not a hole. */
int find_masks(const struct search *search, struct masks *ret_masks, struct error **ret_error);
void masks_done(struct masks *masks);
