/* SPDX-License-Identifier: Apache-2.0 */
/* The seal on a program that is started. Between the supervisor's look at a call of execve and the
 * kernel's, another thread can rewrite path and words. So the caller is traced from the look on;
 * the kernel stops it when the new program is loaded, before its first instruction, and there what
 * was loaded is held against what was approved. Then it is let go, untraced.
 *
 * A call that fails gives no such stop. Nobody waits for one: a caller that stops for anything
 * else, or is found outside execve a moment later, is let go as well.
 *
 * Of one process only one thread is traced at a time. The kernel ends all other threads before it
 * loads a program, and of one that is traced it waits until the tracer has heard of it, with a lock
 * in its hands that the tracer needs to trace another. */
#pragma once

#include "program.h"
#include <signal.h>
#include <stdint.h>

struct seal;
struct trap;

/* A call that waits until another thread of its process is let go. */
struct deferred {
	struct seccomp_notif call;
	const struct trap *trap;
	pid_t group;
};

struct seals {
	int signals; /* the kernel tells of stops by SIGCHLD; -1: programs are not shown */
	int timer;
	sigset_t before; /* what was blocked */
	struct seal *items;
	size_t count, room;
	struct deferred *deferred;
	size_t deferred_count;
	pid_t command;	      /* who was the first to start a program */
	struct list unsealed; /* what cannot be sealed, and why */
};

/* -errno. */
int seals_begin(struct observer *observer);
void seals_done(struct observer *observer);

/* 0: from here on the call may go on. 1: it is served once more, later. -EPERM: it cannot be
 * traced, mostly because somebody inside does; -ESRCH: it is gone; -EAGAIN: too many wait. */
int seal_put(struct observer *observer, const struct seccomp_notif *call, const struct trap *trap,
	     const struct program *program);
/* What an fd of ours has to say; false: it is none of them. */
bool seal_serve(struct observer *observer, int fd);

/* exec.c: the rule against a program that is loaded although nobody foresaw it, or NULL. */
const char *exec_refuses(struct observer *observer, pid_t pid, const char *exe,
			 const struct list *argv);
/* A program as shell text: its file, then its words; and where it goes by another name, that.
 * Caller frees. */
char *exec_text(const char *real, const struct list *argv);
/* The same, not longer than is fit for a list. */
char *exec_short_text(const char *real, const struct list *argv);
