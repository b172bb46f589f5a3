/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns looked for in a tree: every directory is looked at, but one that has not changed since
 * the last walk is not read again. */
#pragma once

#include "../base/access.h"
#include "../base/error.h"
#include "../base/list.h"
#include <stdint.h>

/* Borrowed. Links are not followed, but may match. */
struct walk_search {
	const char *top;		      /* a real path */
	const struct file_rule *const *rules; /* those with globs that may match below it */
	size_t rule_count;
	const struct list *not_names; /* last components that no default rule means */
	const struct list *covered;   /* directories that are not looked into: real paths */
	const struct list *reopened;  /* patterns of rules that open something */
	const char *cache;	      /* the directory of caches; NULL: none */
	uint64_t deadline;	      /* monotonic ns */
	void *data;
	int (*found)(void *data, const struct file_rule *rule, const char *path,
		     struct error **ret_error);
	/* A directory that cannot be read. */
	int (*closed)(void *data, const char *path, struct error **ret_error);
};

/* What it cost. */
struct walk_count {
	uint64_t directories, read; /* looked at, and read anew among them */
};

/* Whether something at path, above it or below it may be opened although path is denied. */
bool walk_may_be_reopened(const struct list *reopened, const char *path);
int walk_tree(const struct walk_search *search, struct walk_count *ret_count,
	      struct error **ret_error);
