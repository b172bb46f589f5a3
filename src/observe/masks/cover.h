/* SPDX-License-Identifier: Apache-2.0 */
/* Putting a mask back over a name from outside: a child of the supervisor goes into the sandbox for
 * a moment. */
#pragma once

#include "../../base/list.h"
#include "../../sandbox/find.h"
#include <stdbool.h>

struct covering {
	const struct masks *masks;
	dev_t store;	  /* the file system that the masks lie on */
	int user, mounts; /* the sandbox's namespaces */
};

/* The user namespace of the sandbox with this init and another (kind: "mnt", "net"), for the caller
 * to close. 0; -EAGAIN where nobody inside could be found whose they are: the command is not there
 * yet, or not any more. */
int open_namespaces(pid_t init, const char *kind, int *ret_user, int *ret_other);

/* Covers what lies at those of the masks' paths that are marked, unless a mask stands there, and
 * pins what lies above them; waits for it, at most two seconds. 0; -ESTALE where the namespaces are
 * not the sandbox's; else -errno, and *ret_mask is the mask that could not be put back. */
int cover_again(const struct covering *covering, const bool *marked, size_t *ret_mask);
