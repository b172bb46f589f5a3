/* SPDX-License-Identifier: Apache-2.0 */
/* Who the command runs as. Started by root in somebody else's workspace, ward becomes that
 * somebody. */
#pragma once

#include "../base/error.h"
#include "../base/list.h"
#include <stdbool.h>
#include <sys/types.h>

struct identity {
	uid_t uid;
	gid_t gid;
	char *name,
		*home; /* of the account; home is $HOME where nothing changes; either may be NULL */
	char *account_home; /* of the account, whatever $HOME says; may be NULL */
	bool changes;	    /* we are root and will not be */
	/* The workspace that it was chosen by: what has its name later may be another. */
	dev_t device;
	ino_t inode;
	uid_t owner;
};

int identity_choose(const char *workspace, struct identity *ret_identity, struct error **ret_error);
/* Before a sandbox is begun that is to stand with our rights: groups that root can give up. */
int identity_leave_groups(struct error **ret_error);
/* Becomes it for good: groups, ids, no capabilities left but the one that the kernel wants to see
 * in whoever maps uid 0 into a new namespace. */
int identity_become(const struct identity *identity, bool may_return, struct error **ret_error);
/* Before init is made without a user namespace: takes up what namespaces and mounts need, where we
 * were root; true if we hold it. */
bool identity_raise(void);
/* When init is there: not in effect any more, and to be had again until a sandbox stands. */
void identity_lower(void);
/* After the sandbox was started: none left at all. */
int identity_give_up(struct error **ret_error);
/* Before another sandbox is begun. */
int identity_prepare(struct error **ret_error);
/* What identity_become took is taken up again, for a command that a person lets run without the
 * sandbox; nothing where it may not return. */
int identity_return(struct error **ret_error);
/* A line for each group beyond the user's own that gives power over the machine: a plain user
 * cannot give groups up. */
void identity_kept_groups(struct list *lines);
void identity_done(struct identity *identity);
