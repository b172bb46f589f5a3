/* SPDX-License-Identifier: Apache-2.0 */
/* Paths that mean what they say: no dots but ./ before them, no links on the way, nothing of /proc
 * and /dev. Nearly all are such, and they are found with half the calls. */
#pragma once

#include "../caller.h"

/* How the kernel is told to look such a path up: below the root, and following no link. */
#define PLAINLY (RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS)

/* The path from the root on; false where it is none of these. Nobody has looked yet what lies
 * there. */
bool plain_path(pid_t tid, int dirfd, const char *path, char ret_path[static PATH_MAX]);
/* As caller_find and caller_find_name; false: not such a path, or not there, and nothing was set.
 */
bool plain_find(int root, pid_t tid, int dirfd, const char *path, bool follow,
		struct found *ret_found);
bool plain_find_name(int root, pid_t tid, int dirfd, const char *path, struct spot *ret_spot);
