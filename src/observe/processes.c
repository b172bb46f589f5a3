/* SPDX-License-Identifier: Apache-2.0 */
/* Signals, limits and scheduling where there is no pid namespace: every process of the user has a
 * number that can be named, and only those below init are the command's.
 *
 * Signals are sent from here, by a pidfd that was opened before its process was looked at: between
 * a look at a number and the act the number could come to mean another process. A caller's signals
 * to itself go on: it waits, so it is still there. Limits and scheduling go on as well after the
 * look; what is lost if a number changes hands in those microseconds is the speed of a process. */
#include "observer.h"
#include "../base/io.h"
#include "../sys/kernel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { GENERATIONS = 10000 };

static const char rule[] = "only the sandbox's own processes";

/* One number of /proc/PID/status; -1 where the process is gone. */
static pid_t number_of(pid_t pid, const char *name)
{
	_cleanup_free_ char *text = NULL;
	char path[64];
	const char *at;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (read_file(AT_FDCWD, path, 16384, &text, NULL) < 0)
		return -1;
	at = strstr(text, name);
	return at ? (pid_t)strtol(at + strlen(name), NULL, 10) : -1;
}

/* Below init, which takes in every orphan; not init itself. */
static bool is_inside(const struct observer *observer, pid_t pid)
{
	if (pid == observer->observed->init)
		return false;
	for (int i = 0; pid > 1 && i < GENERATIONS; i++) {
		pid = number_of(pid, "\nPPid:");
		if (pid == observer->observed->init)
			return true;
	}
	return false;
}

/* Everyone in the group; an empty group is nobody's. */
static bool group_is_inside(const struct observer *observer, pid_t group)
{
	DIR *directory = opendir("/proc");
	struct dirent *entry;
	bool inside = true, any = false;

	while (directory && inside && (entry = readdir(directory))) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		if (pid <= 0 || getpgid(pid) != group)
			continue;
		any = true;
		inside = is_inside(observer, pid);
	}
	if (directory)
		closedir(directory);
	return any && inside;
}

static pid_t pid_of_pidfd(int pidfd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	return (pid_t)proc_number(path, "Pid", 10);
}

static int send_by_pidfd(int pidfd, int signal, const siginfo_t *info)
{
	return syscall(SYS_pidfd_send_signal, pidfd, signal, info, 0) < 0 ? errno : 0;
}

/* Which process is meant, and whether it is the caller's own. */
struct target {
	pid_t pid;    /* 0: the caller's group, negative: a group, -1: all */
	pid_t thread; /* tkill, tgkill; else 0 */
	int pidfd;    /* pidfd_send_signal; else -1 */
	bool is_signal;
	int signal;
	uint64_t info; /* address of a siginfo; 0 none */
};

static struct target target_of(const struct seccomp_notif *call)
{
	const uint64_t *arguments = (const uint64_t *)call->data.args;
	struct target target = {.pid = (pid_t)arguments[0], .pidfd = -1};

	switch (call->data.nr) {
	case SYS_kill:
		target.is_signal = true;
		target.signal = (int)arguments[1];
		break;
	case SYS_tkill:
		target.is_signal = true;
		target.thread = (pid_t)arguments[0];
		target.pid = number_of(target.thread, "\nTgid:");
		target.signal = (int)arguments[1];
		break;
	case SYS_tgkill:
	case SYS_rt_tgsigqueueinfo:
		target.is_signal = true;
		target.thread = (pid_t)arguments[1];
		target.signal = (int)arguments[2];
		break;
	case SYS_rt_sigqueueinfo:
		target.is_signal = true;
		target.signal = (int)arguments[1];
		target.info = arguments[2];
		break;
	case SYS_pidfd_send_signal:
		target.is_signal = true;
		target.pidfd = caller_fd((pid_t)call->pid, (int)arguments[0]);
		target.pid = target.pidfd >= 0 ? pid_of_pidfd(target.pidfd) : -1;
		target.signal = (int)arguments[1];
		target.info = arguments[2];
		break;
	case SYS_setpriority:
	case SYS_ioprio_set:
		target.pid = number_of((pid_t)arguments[1], "\nTgid:");
		break;
	default: /* the others take a thread as well */
		target.pid = number_of((pid_t)arguments[0], "\nTgid:");
	}
	return target;
}

static int perform(const struct observer *observer, const struct seccomp_notif *call,
		   const struct target *target)
{
	_cleanup_close_ int opened = target->pidfd >= 0 ? -1 : sys_pidfd_open(target->pid);
	int pidfd = target->pidfd >= 0 ? target->pidfd : opened;
	siginfo_t info;

	if (pidfd < 0)
		return errno;
	if (!is_inside(observer, target->pid))
		return -1;
	if (call->data.nr == SYS_rt_tgsigqueueinfo)
		return EPERM;
	if (target->thread)
		return syscall(SYS_tgkill, target->pid, target->thread, target->signal) < 0 ? errno
											    : 0;
	if (target->info && caller_bytes((pid_t)call->pid, target->info, &info, sizeof(info)) < 0)
		return EFAULT;
	return send_by_pidfd(pidfd, target->signal, target->info ? &info : NULL);
}

void serve_processes(struct observer *observer, const struct seccomp_notif *call,
		     const struct trap *trap)
{
	pid_t own = number_of((pid_t)call->pid, "\nTgid:");
	struct target target = target_of(call);
	_cleanup_close_ int pidfd = target.pidfd;
	char object[64];
	int r = -1;

	if (!still_waiting(observer, call->id))
		return;
	/* tkill names no process, so that the number of a thread that ends could become another's.
	 */
	if (target.pid > 0 && own == target.pid &&
	    (call->data.nr != SYS_tkill || target.thread == (pid_t)call->pid)) {
		answer_continue(observer, call->id);
		return;
	}
	if (target.pid < 0 &&
	    (call->data.nr == SYS_tkill || call->data.nr == SYS_pidfd_send_signal)) {
		answer(observer, call->id, call->data.nr == SYS_tkill ? ESRCH : EBADF);
		return;
	}
	if (target.is_signal && target.pid > 0) {
		r = perform(observer, call, &target);
	} else if (target.is_signal && target.pid != -1) {
		pid_t group = target.pid == 0 ? getpgid((pid_t)call->pid) : -target.pid;

		if (group > 1 && group_is_inside(observer, group)) {
			answer_continue(observer, call->id);
			return;
		}
	} else if (!target.is_signal && target.pid > 0 && is_inside(observer, target.pid)) {
		answer_continue(observer, call->id);
		return;
	} else if (!target.is_signal && target.pid < 0) {
		r = ESRCH;
	}
	if (r >= 0) {
		answer(observer, call->id, r);
		return;
	}
	snprintf(object, sizeof(object), "process %d", target.pid);
	refuse(observer, call, trap, "signal", object, rule, EPERM);
}
