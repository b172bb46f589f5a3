/* SPDX-License-Identifier: Apache-2.0 */
/* /etc/passwd and /etc/group as a command sees them: who it is, root and nobody, and no list of
 * everybody else on the machine. */
#pragma once

#include "../base/buffer.h"
#include <sys/types.h>

/* name, home: of uid, for an account that is not in the file; may be NULL. */
struct accounts {
	uid_t uid, owner; /* who runs; whose the workspace is */
	gid_t gid, owner_group;
	const char *name, *home;
};

/* Either is empty where the host's own file cannot be read. */
void accounts_texts(const struct accounts *accounts, struct buffer *users, struct buffer *groups);
