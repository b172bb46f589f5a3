/* SPDX-License-Identifier: Apache-2.0 */
/* Opens for reading alone, in runs in which they are shown. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct observer;
struct seccomp_notif;
struct trap;

/* Of files that were handed in, as they were then. */
struct copies {
	struct copy *items;
	size_t count;
	uint64_t bytes; /* of all that were ever made */
};
void copies_done(struct copies *copies);

void serve_read(struct observer *observer, const struct seccomp_notif *call,
		const struct trap *trap, uint64_t flags);
