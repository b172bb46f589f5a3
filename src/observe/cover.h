/* SPDX-License-Identifier: Apache-2.0 */
/* Putting a mask back over a name from outside: a child of the supervisor goes into the sandbox for
 * a moment. */
#pragma once

#include "../base/list.h"
#include "../sandbox/find.h"
#include <stdbool.h>

struct covering {
	const struct masks *masks;
	const struct list *writable; /* as in struct observed */
	pid_t init;
	dev_t store; /* the file system that the masks lie on */
};

/* Covers what lies at those of the masks' paths that are marked, unless a mask stands there, and
 * pins what lies above them; waits for it, at most two seconds. 0; -EAGAIN where there is nobody
 * inside yet, or any more, to be followed in; else -errno, and *ret_mask is the mask that could not
 * be put back. */
int cover_again(const struct covering *covering, const bool *marked, size_t *ret_mask);
