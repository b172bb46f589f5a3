/* SPDX-License-Identifier: Apache-2.0 */
/* Putting something over a name from outside, a mask that fell or a draft: a child of the
 * supervisor goes into the sandbox for a moment. */
#pragma once

#include "../../base/list.h"
#include "../../sandbox/find.h"
#include <stdbool.h>
#include <sys/types.h>

struct covering {
	const struct masks *masks; /* NULL where none is put back */
	dev_t store;		   /* the file system that the masks lie on */
	int user, mounts;	   /* the sandbox's namespaces */
};

/* What a file is, whatever it is called. */
struct thing {
	dev_t device;
	ino_t inode;
};

/* The file system that the sandbox with this root has its masks on. 0 or -errno. */
int find_store(int root, dev_t *ret_store);
/* The user namespace of the sandbox with this init and another (kind: "mnt", "net"), for the caller
 * to close. 0; -EAGAIN where nobody inside could be found whose they are: the command is not there
 * yet, or not any more. */
int open_namespaces(pid_t init, const char *kind, int *ret_user, int *ret_other);

/* Covers what lies at those of the masks' paths that are marked, unless a mask stands there, and
 * pins what lies above them; waits for it, at most two seconds. 0; -ESTALE where the namespaces are
 * not the sandbox's; else -errno, and *ret_mask is the mask that could not be put back. */
int cover_again(const struct covering *covering, const bool *marked, size_t *ret_mask);

/* Covers the file at the path, which must be the one that is meant, with an empty one in memory
 * that has little room. 0; -ESTALE where another lies there, or the namespaces are not the
 * sandbox's; else -errno: -EPERM where nobody may go in. */
int cover_with_draft(const struct covering *covering, const char *path, const struct thing *under,
		     struct thing *ret_draft);
