/* SPDX-License-Identifier: Apache-2.0 */
/* What lies below a masked directory. Inside nobody can look into it, we neither through the
 * sandbox's root: it is found in the host's view, and what is found there is told to nobody before
 * a person has said yes to it. */
#pragma once

#include "../caller.h"

struct observer;
struct seccomp_notif;
struct trap;

struct hidden {
	struct found
		found;	  /* in the host's view; where it could not be found only the path holds */
	int parent;	  /* O_PATH of the directory that it lies in; -1 */
	int error;	  /* why it could not be found; 0: it was. A link on the way is one */
	bool slash;	  /* behind its name */
	const char *rule; /* the mask's */
};

/* Finds what the caller's path means; -ENOENT where it leads below no mask. */
int hidden_find(const struct observer *observer, pid_t tid, int directory, const char *text,
		struct hidden *ret_hidden);
/* The same of a path of the sandbox that is known to be masked. */
void hidden_look(const struct observer *observer, const char *path, struct hidden *ret_hidden);
void hidden_done(struct hidden *hidden);
#define _cleanup_hidden_ _cleanup_(hidden_done)

/* True if a path that is not there may only be hidden: it lies in a masked directory that shows
 * some of what it holds. */
bool below_is_in_shell(const struct observer *observer, const char *path);
/* Whether there is such a directory. */
struct observed;
bool below_has_shells(const struct observed *observed);

enum below {
	BELOW_NOT,	/* it does not lie below a mask, and nothing was answered */
	BELOW_ANSWERED, /* it was refused, or waits for an answer */
	BELOW_GRANTED,	/* a person did: found, with an fd to be closed, and granted */
};

/* For calls that open or change what the path names. */
enum below below_find(struct observer *observer, const struct seccomp_notif *call,
		      const struct trap *trap, const char *text, uint64_t flags,
		      struct found *ret_found);
/* Refuses what is not given there in place: false where the path leads below no mask. */
bool below_refuse(struct observer *observer, const struct seccomp_notif *call,
		  const struct trap *trap, const char *text);
/* For calls that shape names. directory, path: the arguments that name it. */
enum below below_find_name(struct observer *observer, const struct seccomp_notif *call,
			   const struct trap *trap, int directory, int path, const char *text,
			   struct spot *ret_spot);
