/* SPDX-License-Identifier: Apache-2.0 */
/* Masks that fell. A mount over a name falls off when somebody outside renames another file over
 * it, as editors do when they save. So the directories above the masks are watched, and what
 * appears under a masked name is covered again; where a text is seen, with that of the new file.
 *
 * A run that is over within 50 ms is not watched: to close the watch takes the kernel longer than
 * such a run. When the watch begins everything is looked at once. */
#pragma once

#include "../../base/error.h"
#include "../../base/list.h"
#include "../../sandbox/sandbox.h"
#include <stdbool.h>

struct renewal;

/* Borrowed; must outlive the renewal. */
struct renewed {
	const struct masks *masks;
	const struct texts *texts; /* of those that show one */
	int root;		   /* the sandbox's root, O_PATH */
	pid_t init;
	int epoll;    /* where its descriptors are put */
	bool waiting; /* the command waits for leave to begin: nobody sees anything yet, and nobody
			 is there to follow in */
};

int renewal_new(const struct renewed *renewed, struct renewal **ret_renewal,
		struct error **ret_error);
void renewal_free(struct renewal *renewal);

/* Does what is to be done if this descriptor, which is ready, is one of the renewal's; else false.
 */
bool renewal_serve(struct renewal *renewal, int fd);
/* Whether a mask could not be put back: the run must be ended then. */
bool renewal_failed(const struct renewal *renewal);
/* Which, and why; the caller frees it. NULL: none. */
struct error *renewal_take_failure(struct renewal *renewal);
/* What the caller of the run should know. */
void renewal_warn(const struct renewal *renewal, struct list *warnings);
