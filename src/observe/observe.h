/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor's eye: every call that would leave the permissions is shown to it by the kernel,
 * and it knows exactly what was refused. It lets a call go on only where the walls alone decide;
 * what it grants it performs itself, on its own copy of the arguments, because the caller can
 * rewrite its memory after the check. */
#pragma once

#include "../base/access.h"
#include "../base/error.h"
#include "../base/list.h"
#include "../request/result.h"
#include <stdbool.h>

struct observer;

/* Borrowed; must outlive the observer. */
struct observed {
	int listener; /* seccomp notifications */
	int names;    /* the resolver's socket, -1 for none */
	int root;     /* the sandbox's root, O_PATH */
	uid_t uid;
	bool own_network; /* the sandbox has a network namespace of its own, and nothing beyond it
			     may be reached */
	const struct list *writable; /* absolute real paths, /tmp included where it is private */
	const struct list *masks;
	const struct areas *areas;  /* all of these, and what is read-only or open again in them */
	const struct list *sockets; /* host sockets that may be connected to: absolute real paths */
};

int observer_new(const struct observed *observed, struct observer **ret_observer,
		 struct error **ret_error);
void observer_free(struct observer *observer);

/* Readable when there is something to do. */
int observer_fd(const struct observer *observer);
/* Does what is to be done now, a bounded amount; never blocks. */
void observer_serve(struct observer *observer);
/* Moves what was refused so far into the attempt, each object once. */
void observer_take_denials(struct observer *observer, struct attempt *attempt);
/* How many refused objects more there were than are listed, and how many calls could not be looked
 * at, because their program kept its memory from being read: those met the walls unseen. */
void observer_unlisted(const struct observer *observer, uint64_t *ret_beyond, uint64_t *ret_unread);
