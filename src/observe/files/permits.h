/* SPDX-License-Identifier: Apache-2.0 */
/* Files that were granted while the run goes on, or for a time: the walls stay as they are, and
 * what is granted the supervisor does itself, call by call. So a grant ends when it ends. */
#pragma once

#include "../../base/moment.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct observer;

/* How long a permission holds, and what it is revoked by. */
struct term {
	const char *grant;     /* the id of the answer; NULL: this run's own */
	struct moment expires; /* no wall: with the run, or when it is revoked */
};

enum permit_kind {
	PERMIT_READ,
	PERMIT_DELETE,
	PERMIT_WRITE, /* which is to delete and to read as well */
};

struct permit {
	enum permit_kind kind;
	bool tree;     /* all that lies in it, too */
	char *path;    /* absolute and real */
	char *pattern; /* of names in it, which alone are meant; NULL: the path is */
	bool early;    /* it was there at the start, and will be again: see permit_is_loose */
	size_t number; /* of what was given */
};

struct permits {
	struct permit *items;
	size_t count;
};

/* "read PATH", "delete PATH", "write PATH", the path as path_escape() writes it; with a component
 * of two stars at the end all of the directory, with a glob in the last component all names that it
 * matches. False for anything else. */
bool permits_add(struct permits *permits, const char *permission, size_t number);
void permits_done(struct permits *permits);

/* What was granted and covers the path; NULL: nothing. A tree does not open what is closed by a
 * name of its own in it, nor what nobody can grant. whole: a directory that goes with all it holds,
 * so that a grant of its name alone is not enough. */
const struct permit *permit_find(const struct observer *observer, enum permit_kind kind,
				 const char *path, bool whole);
bool permit_covers(const struct observer *observer, enum permit_kind kind, const char *path,
		   bool whole);
/* True if it may be written because a pattern means it, among others: it was not named itself. */
bool permit_is_loose(const struct observer *observer, const char *path);
/* True if no link may come to lie there, because a rule gives that very name, or a pattern of it:
 * in the next run it would open what the link leads to, and whoever writes there outside would
 * write that. */
bool permit_refuses_link(const struct observer *observer, const char *path);
/* True if no directory may be moved there, because a rule gives the name and nothing in it: one
 * that was filled elsewhere would bring along what could not be written there. */
bool permit_refuses_directory(const struct observer *observer, const char *path);
/* The innermost granted path to be written that the path is, or lies in; NULL: none. Of a pattern
 * it is the directory: what is guarded is not meant by one. */
const char *permit_tree(const struct observer *observer, const char *path, bool innermost);
/* True if nobody can grant it: ward's own files, what a rule denies, the kernel's own places. By
 * whatever mount the path leads there. */
bool permit_never(const struct observer *observer, const char *path);
/* True if its name says so. */
bool never_by_name(const struct observer *observer, const char *path);
/* True if something of that kind lies in the directory. */
bool never_below(const struct observer *observer, const char *path);
/* True for what lies on a file system that is the kernel's own. */
bool never_of_kernel(int fd);
bool never_in_kernel(const char *path);
struct never_places;
struct never_places *never_new(void);
void never_done(struct never_places *places);

/* The host's own view of the directory that a path lies in, O_PATH. like: the same directory as the
 * sandbox sees it: another one is -ESTALE. -errno. */
int permit_open_parent(const struct observer *observer, const char *path, int like);
/* The host's own view of what lies there, O_PATH, if it is the same object. same: NULL where the
 * sandbox has a mask at that name. -errno. */
struct stat;
int permit_open_object(const struct observer *observer, const char *path, const struct stat *same);
/* The same of what was found. */
struct found;
int permit_open_found(const struct observer *observer, const struct found *found);
