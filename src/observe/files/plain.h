/* SPDX-License-Identifier: Apache-2.0 */
/* Paths that mean what they say: no dots but ./ before them, no links on the way, nothing of /proc
 * and /dev. Nearly all are such, and they are found with half the calls. */
#pragma once

#include "../caller.h"

/* As caller_find and caller_find_name; false: not such a path, or not there, and nothing was set.
 */
bool plain_find(int root, pid_t tid, int dirfd, const char *path, bool follow,
		struct found *ret_found);
/* For who makes a new file, and takes it for new: only its directory is looked up. */
bool plain_find_new(int root, pid_t tid, int dirfd, const char *path, struct found *ret_found);
bool plain_find_name(int root, pid_t tid, int dirfd, const char *path, struct spot *ret_spot);
