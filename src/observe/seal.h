/* SPDX-License-Identifier: Apache-2.0 */
/* The seal on a program that is started. Between the supervisor's look at a call of execve and the
 * kernel's, another thread can rewrite path and words. So the caller is traced from the look on;
 * the kernel stops it when the new program is loaded, before its first instruction, and there what
 * was loaded is held against what was approved. Then it is let go, untraced.
 *
 * A call that fails gives no such stop. Nobody waits for one: a caller that stops for anything
 * else, or is found outside execve a moment later, is let go as well. */
#pragma once

#include "program.h"
#include <signal.h>
#include <stdint.h>

struct seal;

struct seals {
	int signals; /* the kernel tells of stops by SIGCHLD; -1: programs are not shown */
	int timer;
	sigset_t before; /* what was blocked */
	struct seal *items;
	size_t count, room;
	pid_t command;	      /* who was the first to start a program */
	struct list unsealed; /* what cannot be sealed, and why */
};

/* -errno. */
int seals_begin(struct observer *observer);
void seals_done(struct observer *observer);

/* From here on the call may go on. -EPERM: somebody inside traces the caller; -ESRCH: it is gone.
 */
int seal_put(struct observer *observer, const struct seccomp_notif *call,
	     const struct program *program);
/* What an fd of ours has to say; false: it is none of them. */
bool seal_serve(struct observer *observer, int fd);

/* exec.c: whether a program may run that is loaded although nobody foresaw it. */
bool exec_allows(struct observer *observer, const char *exe, const struct list *argv);
/* A program as shell text: its file, then its words; and where it goes by another name, that.
 * Caller frees. */
char *exec_text(const char *real, const struct list *argv);
/* The same, not longer than is fit for a list. */
char *exec_short_text(const char *real, const struct list *argv);
