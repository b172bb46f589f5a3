/* SPDX-License-Identifier: Apache-2.0 */
/* Holding what was loaded against what was approved. */
#include "seal.h"
#include "../observer.h"
#include "../../base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

/* When a caller of which nothing was heard is looked at, at first and at the latest. */
static const uint64_t look_ns = 4000000, look_most_ns = 128000000;
/* And where another thread waits for it. */
static const uint64_t hurry_ns = 500000;

struct seal {
	pid_t tid, group;
	dev_t device;
	ino_t inode;
	struct list words;
	bool unknown; /* what is loaded cannot be foreseen */
	bool stray;   /* nobody was let go on: it is not the one that was looked at */
	char program[32];
	uint64_t wait, look; /* how long, and until when, nothing is done */
};

static const char rule_other[] = "exec: what was loaded is not what was approved";

static int watch(const struct observer *observer, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(observer->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int seals_begin(struct observer *observer)
{
	struct seals *seals = &observer->seals;
	sigset_t child;
	int r;

	seals->signals = seals->timer = -1;
	if (!observer->observed->programs)
		return 0;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &seals->before);
	seals->signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	seals->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (seals->signals < 0 || seals->timer < 0)
		return -errno;
	r = watch(observer, seals->signals);
	return r < 0 ? r : watch(observer, seals->timer);
}

static void drop(struct seals *seals, struct seal *seal)
{
	list_done(&seal->words);
	*seal = seals->items[--seals->count];
}

static struct seal *find(struct seals *seals, pid_t tid)
{
	for (size_t i = 0; i < seals->count; i++)
		if (seals->items[i].tid == tid)
			return &seals->items[i];
	return NULL;
}

static struct seal *add(struct seals *seals)
{
	if (seals->count == seals->room) {
		seals->room = MAX(seals->room * 2, (size_t)8);
		seals->items = reallocarray(seals->items, seals->room, sizeof(*seals->items));
		if (!seals->items)
			abort();
	}
	seals->items[seals->count] = (struct seal){0};
	return &seals->items[seals->count++];
}

static void set_timer(const struct seals *seals)
{
	struct itimerspec next = {0};
	uint64_t first = 0;

	for (size_t i = 0; i < seals->count; i++)
		if (seals->items[i].look && (!first || seals->items[i].look < first))
			first = seals->items[i].look;
	next.it_value.tv_sec = (time_t)(first / 1000000000);
	next.it_value.tv_nsec = (long)(first % 1000000000);
	(void)timerfd_settime(seals->timer, TFD_TIMER_ABSTIME, &next, NULL);
}

/* True if another thread of the process is in our hands; it is let go as soon as may be. */
static bool is_busy(struct seals *seals, pid_t tid, pid_t group)
{
	bool busy = false;

	for (size_t i = 0; i < seals->count; i++) {
		if (seals->items[i].group != group || seals->items[i].tid == tid)
			continue;
		busy = true;
		if (seals->items[i].look)
			seals->items[i].look = MIN(seals->items[i].look, monotonic_ns() + hurry_ns);
	}
	return busy;
}

static int defer(struct seals *seals, const struct seccomp_notif *call, const struct trap *trap,
		 pid_t group)
{
	enum { MOST = 4096 };

	if (seals->deferred_count == MOST)
		return -EAGAIN;
	seals->deferred =
		reallocarray(seals->deferred, seals->deferred_count + 1, sizeof(*seals->deferred));
	if (!seals->deferred)
		abort();
	seals->deferred[seals->deferred_count++] = (struct deferred){*call, trap, group};
	set_timer(seals);
	return 1;
}

int seal_put(struct observer *observer, const struct seccomp_notif *call, const struct trap *trap,
	     const struct program *program)
{
	struct seals *seals = &observer->seals;
	pid_t tid = (pid_t)call->pid, group = caller_group(tid);
	struct seal *seal = find(seals, tid); /* still there where the last call failed */

	if (group < 0)
		return -ESRCH;
	if (is_busy(seals, tid, group))
		return defer(seals, call, trap, group);
	/* Ward's end is the end of whoever is not sealed yet. */
	if (!seal && ptrace(PTRACE_SEIZE, tid, NULL, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) < 0)
		return errno == ESRCH ? -ESRCH : -EPERM;
	if (!seal)
		seal = add(seals);
	list_done(&seal->words);
	*seal = (struct seal){.tid = tid,
			      .group = group,
			      .device = program->loaded.st_dev,
			      .inode = program->loaded.st_ino,
			      .unknown = program->unknown,
			      .wait = look_ns,
			      .look = monotonic_ns() + look_ns};
	for (size_t i = 0; i < program->words.count; i++)
		list_add(&seal->words, program->words.items[i]);
	caller_name(tid, seal->program);
	set_timer(seals);
	/* Else the number may have come to mean another thread, of anybody. */
	seal->stray = !still_waiting(observer, call->id);
	return seal->stray ? -ESRCH : 0;
}

static bool same_words(const struct list *one, const struct list *other)
{
	if (one->count != other->count)
		return false;
	for (size_t i = 0; i < one->count; i++)
		if (strcmp(one->items[i], other->items[i]) != 0)
			return false;
	return true;
}

/* The program stands before its first instruction. */
static bool is_approved(struct observer *observer, const struct seal *seal, pid_t pid)
{
	_cleanup_list_ struct list argv = {0};
	_cleanup_free_ char *text = NULL;
	const char *rule = rule_other;
	char exe[PATH_MAX];
	struct stat st;
	int r = program_loaded(pid, exe, &st, &argv);

	if (r == -ESRCH)
		return false;
	if (r < 0)
		strcpy(exe, "a program that cannot be read");
	else if (st.st_dev == seal->device && st.st_ino == seal->inode &&
		 same_words(&argv, &seal->words))
		return true;
	if (r == 0 && seal->unknown) {
		rule = exec_refuses(observer, pid, exe, &argv);
		if (!rule)
			return true;
	}
	text = exec_short_text(exe, &argv);
	(void)ledger_add(&observer->ledger, "exec", text, "execve", rule,
			 *seal->program ? seal->program : NULL);
	return false;
}

/* Lets it go; where it was killed meanwhile its end is still to be heard of. */
static void release(struct seals *seals, struct seal *seal, pid_t pid, int signal)
{
	if (ptrace(PTRACE_DETACH, pid, NULL, signal) == 0) {
		drop(seals, seal);
		return;
	}
	seal->tid = seal->group = pid;
	seal->look = 0;
}

static void serve_loaded(struct observer *observer, pid_t pid)
{
	struct seals *seals = &observer->seals;
	unsigned long former = 0;
	struct seal *seal;

	/* A thread that starts a program takes over the number of its process. */
	if (ptrace(PTRACE_GETEVENTMSG, pid, NULL, &former) < 0)
		return; /* killed, and to be heard of again */
	seal = find(seals, (pid_t)former);
	if (!seal) { /* nobody looked at it: closed */
		kill(pid, SIGKILL);
		*add(seals) = (struct seal){.tid = pid, .group = pid};
		return;
	}
	for (size_t i = seals->count; i-- > 0;) /* all other threads are gone */
		if (seals->items[i].group == seal->group && seals->items[i].tid != (pid_t)former) {
			drop(seals, &seals->items[i]);
			seal = find(seals, (pid_t)former);
		}
	if (seal->stray || is_approved(observer, seal, pid)) {
		release(seals, seal, pid, 0);
		return;
	}
	kill(pid, SIGKILL);
	seal->tid = seal->group = pid;
	seal->look = 0;
}

/* True if there was something to be heard of the thread. */
static bool hear(struct observer *observer, pid_t pid, int *ret_errno)
{
	struct seals *seals = &observer->seals;
	struct seal *seal;
	int status;
	pid_t r = waitpid(pid, &status, __WALL | WNOHANG);

	*ret_errno = r < 0 ? errno : 0;
	if (r <= 0)
		return false;
	if (WIFSTOPPED(status) && status >> 16 == PTRACE_EVENT_EXEC) {
		serve_loaded(observer, pid);
		return true;
	}
	seal = find(seals, pid);
	if (seal && WIFSTOPPED(status)) /* the call has failed: nothing stops in the middle of it */
		release(seals, seal, pid, status >> 16 ? 0 : WSTOPSIG(status));
	else if (seal)
		drop(seals, seal);
	return true;
}

static void hear_all(struct observer *observer)
{
	struct seals *seals = &observer->seals;

	for (size_t i = 0; i < seals->count;) {
		const struct seal *seal = &seals->items[i];
		pid_t tid = seal->tid, group = seal->group;
		int gone = 0, gone_too = 0;

		/* What is heard may change the list. */
		if (hear(observer, tid, &gone) ||
		    (group != tid && hear(observer, group, &gone_too))) {
			i = 0;
			continue;
		}
		if (gone == ECHILD && (group == tid || gone_too == ECHILD))
			drop(seals, &seals->items[i]);
		else
			i++;
	}
}

/* True while the thread is, by all that can be seen, still in the call. */
static bool is_starting(pid_t tid)
{
	char path[64], text[128];
	ssize_t length = -1;
	long number;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/syscall", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		length = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	if (length <= 0)
		return false;
	text[length] = '\0';
	number = strtol(text, NULL, 10);
	return text[0] != 'r' && (number == SYS_execve || number == SYS_execveat);
}

/* Those of whom nothing was heard: the call may have failed. To be interrupted is nothing that a
 * program notices; but whatever file system a program comes from might, so not in the call. */
static void look_after(struct seals *seals)
{
	uint64_t now = monotonic_ns();

	for (size_t i = 0; i < seals->count; i++) {
		struct seal *seal = &seals->items[i];

		if (!seal->look || seal->look > now)
			continue;
		if (!is_starting(seal->tid))
			(void)ptrace(PTRACE_INTERRUPT, seal->tid, NULL, NULL);
		seal->wait = MIN(2 * seal->wait, look_most_ns);
		seal->look = now + seal->wait;
	}
}

/* One of each process that is free again. */
static void serve_deferred(struct observer *observer)
{
	struct seals *seals = &observer->seals;

	for (size_t i = 0; i < seals->deferred_count;) {
		struct deferred deferred = seals->deferred[i];
		bool waits = still_waiting(observer, deferred.call.id);

		if (waits && is_busy(seals, (pid_t)deferred.call.pid, deferred.group)) {
			i++;
			continue;
		}
		seals->deferred[i] = seals->deferred[--seals->deferred_count];
		if (waits)
			serve_call(observer, &deferred.call, deferred.trap);
	}
}

bool seal_serve(struct observer *observer, int fd)
{
	struct seals *seals = &observer->seals;
	struct signalfd_siginfo info;
	uint64_t times;

	if (fd < 0 || (fd != seals->signals && fd != seals->timer))
		return false;
	if (fd == seals->signals)
		while (read(fd, &info, sizeof(info)) == sizeof(info))
			;
	else
		(void)!read(fd, &times, sizeof(times));
	hear_all(observer);
	serve_deferred(observer);
	look_after(seals);
	set_timer(seals);
	return true;
}

void seals_done(struct observer *observer)
{
	enum { TRIES = 1000 };
	struct seals *seals = &observer->seals;
	sigset_t child;

	if (!observer->observed || !observer->observed->programs)
		return;
	/* The run is over. Whoever is traced is gone only when its tracer has heard of it, and the
	 * sandbox only when all are. */
	for (size_t i = 0; i < seals->count; i++)
		kill(seals->items[i].group, SIGKILL);
	for (int i = 0; i < TRIES && seals->count > 0; i++) {
		hear_all(observer);
		if (seals->count > 0)
			usleep(1000);
	}
	while (seals->count > 0)
		drop(seals, &seals->items[0]);
	free(seals->items);
	free(seals->deferred);
	list_done(&seals->unsealed);
	close_fd(&seals->signals);
	close_fd(&seals->timer);
	if (!sigismember(&seals->before, SIGCHLD)) {
		sigemptyset(&child);
		sigaddset(&child, SIGCHLD);
		sigprocmask(SIG_UNBLOCK, &child, NULL);
	}
}
