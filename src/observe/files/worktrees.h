/* SPDX-License-Identifier: Apache-2.0 */
/* Where repositories say that their files lie (core.worktree). Git writes there whatever a person
 * checks out, and what is checked out is the command's. So what is said leads to where a
 * submodule's files belong, and never into a repository, which would get hooks from there; that is
 * looked at when it is set. From then on no link may come to lie on the way: it is refused when it
 * is made, linked or moved there, alone or in a directory. What says it is not moved either. */
#pragma once

#include "../../base/list.h"
#include <limits.h>
#include <stdint.h>

struct observer;

struct worktrees {
	struct list found; /* .git of directories around what was looked at, as they are named */
	struct list elsewhere; /* absolute paths that were said at any time */
	struct way {
		char *path;		 /* no link may lie here */
		char *rest;		 /* and from here no link on that */
		char name[NAME_MAX + 1]; /* of the path, folded */
	} * ways;
	size_t count, room;
	unsigned entries; /* looked through */
	bool many;	  /* there are more than can be: no link is known to be harmless */
	bool stale;
	uint64_t looked, company; /* when, and what the others' counter was */
};

/* May the configuration of the repository say so? */
bool worktree_may_be(const struct observer *observer, const char *repository, const char *value);
/* True if worktrees of the repository would take what its configuration says to be said by them,
 * and so from where they lie. */
bool worktree_is_taken_twice(const char *repository, const char *text, size_t length);
/* The same for what is about to be such a worktree's directory. */
bool worktree_is_taken_from_above(const char *directory);
/* True if a link must not come to lie at the path; from: a directory that would, and holds one. */
bool worktrees_refuse(struct observer *observer, const char *path, const char *from);
/* True for a directory that stands in a repository, and holds what says where files lie: moved it
 * would say something else. */
bool worktrees_are_said_in(const struct observer *observer, const char *directory);
/* Whoever sets where files lie is alone; many may make links meanwhile. NULL where nobody needs to
 * wait. */
struct observer *worktrees_lock(struct observer *observer, bool alone);
void worktrees_unlock(struct observer **locked);
#define _cleanup_worktrees_ _cleanup_(worktrees_unlock)
/* A configuration is about to get this text. */
void worktrees_may_change(struct observer *observer, const char *text);
void worktrees_done(struct worktrees *worktrees);
