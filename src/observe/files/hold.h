/* SPDX-License-Identifier: Apache-2.0 */
/* Guarded names while a command runs.
 *
 * What was there when the walls were built is held by read-only mounts. What comes into being
 * later cannot be: whoever opened the new directory before a mount lay over it would hold it from
 * below. So calls that could make a name are always performed by the supervisor, and from the
 * moment a holder was made no open that could write goes on by itself any more: the supervisor
 * performs those as well, on what it looked at. */
#pragma once

#include "../../base/list.h"
#include "../../base/guard.h"
#include "pointers.h"
#include "worktrees.h"
#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

struct observer;
struct stat;

struct holding {
	bool performing; /* no open that could write goes on by itself */
	struct made {
		dev_t device;
		ino_t inode;
	} * made; /* holders that this run made */
	size_t made_count;
	int *later; /* repositories that are looked at once more in the end */
	size_t later_count;
	struct half {
		dev_t device;
		ino_t inode;
		bool objects; /* else refs */
	} * halves;	      /* directories with one of a repository's two names: see apart.c */
	size_t half_count;
	volatile uint64_t *company; /* holders made by all runs of the user */
	uint64_t company_before;
	int company_fd; /* where there is one */
	struct worktrees worktrees;
	struct pointers pointers;
	struct list lines; /* what was done in the end, for a person */
};

void hold_begin(struct observer *observer);
/* What is in the wrong place in the end goes to quarantine. */
void hold_end(struct observer *observer);
void hold_done(struct holding *holding);

/* What a path, as seen in the sandbox, is; GUARD_FREE outside the trees that are guarded. */
enum guard hold_judge(const struct observer *observer, const char *path);
/* True while every open that could write must be performed. */
bool hold_performs(struct observer *observer);
/* Says, before it is done, that a holder is about to be made. */
void hold_announce(struct observer *observer);
/* Remembers a holder that was made. */
void hold_made(struct observer *observer, int parent, const char *name);
/* True if the path lies in a holder that this run made. */
bool hold_is_ours(const struct observer *observer, const char *path);
/* The innermost tree that is guarded and that the path lies in; NULL: none. */
const char *hold_tree(const struct observer *observer, const char *path);
/* True if the path lies in a tree that is guarded. */
bool hold_guards(const struct observer *observer, const char *path);
/* True for a file that was itself named to be writable, in a holder. */
bool hold_is_named(const struct observer *observer, const char *path);
/* True if a change of the path, whose directory parent is as the sandbox sees it, can only be made
 * in the host's view: a holder's mount lies over it there. */
bool hold_needs_host(const struct observer *observer, int parent, const char *path,
		     enum guard guard);
/* The host's own view of the directory of a path: the sandbox's mounts do not lie over it. like:
 * the same directory as the sandbox sees it, or -1. -errno. */
int hold_open_parent(const struct observer *observer, const char *path, int like);
/* True if the directory stands in a repository by its name, where configuration and hooks are
 * guarded anyway. */
bool hold_is_held(const struct observer *observer, const char *directory);
/* True if the path lies in a repository, by its name, or (itself) is one. What lies there git
 * writes to without asking whether it is a link. */
bool hold_is_in_repository(const struct observer *observer, const char *path, bool itself);
/* True if a link of that text may lead to more than lies in its own directory. */
bool hold_leads_out(const char *target);
/* Whether the directory at one path may be moved to the other, by where they stand. */
bool hold_may_move(const struct observer *observer, const char *from, const char *to);
/* True if dir has what makes git take a directory for a repository. */
bool hold_is_repository(const char *directory);
/* A directory is about to become a repository: nothing in it may run a program yet. 0, or -EACCES
 * with what does. */
int hold_adopt(struct observer *observer, const char *directory, char why[static 300]);
/* The name was made. Where another run made the other one of the two at the same time, neither saw
 * a repository coming: what runs programs in it goes to quarantine. */
void hold_look_again(struct observer *observer, const char *path);
/* True if something lies below it by a name that a rule closes: a directory that is moved there may
 * hold anything by that name. */
bool hold_closes_below(const struct observer *observer, const char *path);
/* The same for the settings of an agent, of which what runs programs stays as it was. path: for a
 * person. */
int hold_install_settings(struct observer *observer, int parent, const char *name,
			  const char *settings, mode_t mode, const char *path);
/* Installs parent/name as the configuration beside it: by a copy that nobody else has open, if
 * everything in it may be set unasked. text: the one that is seen inside in its place, else -1. 0,
 * -EACCES with the key that may not, or -errno. */
int hold_install_config(struct observer *observer, int parent, const char *name, const char *config,
			mode_t mode, int text, char why[static 300]);
/* The same for an index, in which all names must be places in the tree; and for what says where
 * conflicts are, which then says nothing. */
int hold_install_index(struct observer *observer, int parent, const char *name, const char *index,
		       const struct stat *st, char why[static 300]);
/* A regular file's text; *ret_text is NULL where there is none. -errno. */
int hold_read_text(int parent, const char *name, size_t limit, char **ret_text, size_t *ret_length);
/* Moves it out of the way, to where it can be looked at; removes it where that cannot be. text:
 * what is to be kept of it, where that is not what it holds; else NULL. stays: only the text is.
 * path: for a person. */
void hold_put_away(struct observer *observer, int parent, const char *name, const char *path,
		   const char *text, size_t length, bool stays);
