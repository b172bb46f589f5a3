/* SPDX-License-Identifier: Apache-2.0 */
/* An fd of ours in a caller's table. The kernel lets the caller put it there itself while we wait:
 * to it and back again. Where each sleeps on a processor of its own, and both are woken from it,
 * that takes longer than all else that is done for a call.
 *
 * So who calls again and again shares our processor. That must not be seen, nor last: who asks or
 * says where it may run is shown to us, and both are free again before (insert_leave); and whoever
 * is born of it meanwhile, and is bound as it was, is found and let go. */
#include "observer.h"
#include "../base/units.h"
#include "../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>

enum {
	APART = 64,  /* how often an fd is put in its place without */
	CALLS = 64,  /* of who makes files, that are looked at together */
	ROUNDS = 16, /* of so many calls, that are made apart before it is tried again */
	BORN_MOST = 4096,
	GENERATIONS = 16,
	LOOKS = 5, /* for births under way, 10 ms to 0.9 s after a caller was let go */
};

/* One processor for both, and where they were at home before. */
struct meeting {
	cpu_set_t place, ours, theirs;
};

static bool meet(pid_t tid, struct meeting *ret_meeting)
{
	struct meeting meeting;
	int here = sched_getcpu();

	if (here < 0 || here >= CPU_SETSIZE ||
	    sched_getaffinity(0, sizeof(meeting.ours), &meeting.ours) < 0 ||
	    sched_getaffinity(tid, sizeof(meeting.theirs), &meeting.theirs) < 0)
		return false;
	CPU_ZERO(&meeting.place);
	CPU_SET(here, &meeting.place);
	if (sched_setaffinity(0, sizeof(meeting.place), &meeting.place) < 0)
		return false;
	if (sched_setaffinity(tid, sizeof(meeting.place), &meeting.place) < 0) {
		(void)sched_setaffinity(0, sizeof(meeting.ours), &meeting.ours);
		return false;
	}
	*ret_meeting = meeting;
	return true;
}

static void part(pid_t tid, struct meeting *meeting)
{
	cpu_set_t now;

	/* Somebody inside may have moved it meanwhile. */
	if (sched_getaffinity(tid, sizeof(now), &now) == 0 && CPU_EQUAL(&now, &meeting->place))
		place_send_home(tid, &meeting->theirs);
	place_send_home(0, &meeting->ours);
}

/* Worth it for one that comes again and again, and as long as nobody else wants the processor: then
 * each of us is better off with the next that is free. */
static bool is_worth_it(struct observer *observer)
{
	if (observer->apart == 0)
		return observer->together;
	observer->apart--;
	return false;
}

int insert_fd(struct observer *observer, const struct seccomp_notif *call, int fd, int number,
	      bool close_on_exec)
{
	struct seccomp_notif_addfd addfd = {.id = call->id,
					    .flags = SECCOMP_ADDFD_FLAG_SETFD,
					    .srcfd = (uint32_t)fd,
					    .newfd = (uint32_t)number,
					    .newfd_flags = close_on_exec ? O_CLOEXEC : 0};
	const uint64_t long_ns = 100000;
	bool met = is_worth_it(observer);
	uint64_t begun = monotonic_ns();
	struct meeting meeting;
	int r;

	met = met && meet((pid_t)call->pid, &meeting);
	/* Interrupted, it is not done; and it ends when the caller does. */
	do
		r = ioctl(observer->observed->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &addfd);
	while (r < 0 && errno == EINTR);
	r = r < 0 ? -errno : 0;
	if (met)
		part((pid_t)call->pid, &meeting);
	if (met && monotonic_ns() - begun > long_ns)
		observer->apart = APART;
	return r;
}

/* Who makes many files is quicker on our processor: where another is idle the kernel would wake it
 * there. Unless somebody else wants just ours. That shows by twice the time that a call can take;
 * then the other way is tried, and kept for a while if it is better. */
static bool is_better_tied(struct observer *observer)
{
	const uint64_t most_ns = 200000; /* more is somebody else's doing */
	struct pace *pace = &observer->pace;
	uint64_t time, took;

	if (!observer->together)
		return false;
	time = monotonic_ns();
	if (pace->last)
		pace->took += MIN(time - pace->last, most_ns);
	pace->last = time;
	if (++pace->calls < CALLS)
		return !pace->apart;
	took = pace->took;
	pace->calls = 0;
	pace->took = 0;
	if (!pace->apart) {
		pace->best = pace->best ? MIN(pace->best, took) : took;
		pace->tied = took;
		pace->apart = took > 2 * pace->best;
		pace->rounds = 0;
	} else if (took > pace->tied) { /* that is how long it takes now */
		pace->best = pace->tied;
		pace->apart = false;
	} else {
		pace->apart = ++pace->rounds < ROUNDS;
	}
	return !pace->apart;
}

/* The number of the task that was born last, in our namespace or below; -1: nobody tells. */
static long last_born(void)
{
	char text[32];

	return proc_read("/proc/sys/kernel/ns_last_pid", text, sizeof(text)) > 0
		       ? strtol(text, NULL, 10)
		       : -1;
}

/* Which user namespace a task is in, as text. */
static bool realm_of(pid_t tid, char realm[static REALM])
{
	char path[64];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/ns/user", tid);
	length = readlink(path, realm, REALM - 1);
	realm[MAX(length, 0)] = '\0';
	return length > 0;
}

/* One that is bound to a processor that was ours, and is the sandbox's. */
static void untie(const struct tie *tie, pid_t tid)
{
	char realm[REALM];
	cpu_set_t now, home = tie->home;

	if (sched_getaffinity(tid, sizeof(now), &now) < 0 || CPU_COUNT(&now) != 1)
		return;
	CPU_AND(&now, &now, &tie->places);
	if (CPU_COUNT(&now) == 1 && realm_of(tid, realm) && strcmp(realm, tie->realm) == 0)
		place_send_home(tid, &home);
}

static void untie_range(const struct tie *tie, long first, long last)
{
	for (long tid = first; tid <= last && tid < first + BORN_MOST; tid++)
		untie(tie, (pid_t)tid);
}

/* Whoever was born of a caller that was tied is bound as it was. Numbers are given in a row, so
 * that it is among those that were given since; and what it may have borne itself until it was
 * found is among the next. */
static void untie_born(struct tie *tie)
{
	long to;

	for (int i = 0; i < GENERATIONS && (to = last_born()) != tie->born; i++) {
		if (to < tie->born) { /* they begin anew */
			untie_range(tie, tie->born + 1, tie->born + BORN_MOST);
			tie->born = 0;
		}
		untie_range(tie, tie->born + 1, to);
		tie->born = to;
	}
}

/* A birth that is under way has no number yet, and takes the longer the larger the one that gives
 * it is: it is looked for again after a while, and then after a longer one. */
static void look_again(struct observer *observer)
{
	struct tie *tie = &observer->tie;
	struct itimerspec when = {.it_value.tv_nsec = 10000000};

	for (unsigned i = 0; i < tie->looks; i++)
		when.it_value.tv_nsec *= 4;
	if (++tie->looks < LOOKS)
		(void)timerfd_settime(tie->timer, 0, &when, NULL);
}

static bool is_looking(const struct tie *tie)
{
	return tie->looks > 0 && tie->looks < LOOKS;
}

bool insert_serve(struct observer *observer, int fd)
{
	uint64_t times;

	if (fd != observer->tie.timer || fd < 0)
		return false;
	(void)!read(fd, &times, sizeof(times));
	if (observer->tie.tid) /* when it is let go */
		return true;
	untie_born(&observer->tie);
	look_again(observer);
	return true;
}

void insert_leave(struct observer *observer)
{
	struct tie *tie = &observer->tie;

	observer->pace.last = 0;
	face_forget_working_directory();
	if (tie->tid) {
		untie(tie, tie->tid);
		untie_born(tie);
		tie->tid = 0;
		tie->looks = 0;
		look_again(observer);
	}
	place_leave(&observer->place);
}

void insert_tell(struct observer *observer, bool moves)
{
	insert_leave(observer);
	if (is_looking(&observer->tie))
		untie_born(&observer->tie);
	if (moves) {
		observer->tie.never = true;
		observer->tie.looks = LOOKS;
	}
}

static bool open_timer(struct observer *observer)
{
	struct tie *tie = &observer->tie;
	struct epoll_event event = {.events = EPOLLIN};

	if (tie->timer < 0) {
		tie->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
		event.data.fd = tie->timer;
		if (tie->timer >= 0 &&
		    epoll_ctl(observer->epoll, EPOLL_CTL_ADD, tie->timer, &event) < 0)
			close_fd(&tie->timer);
	}
	return tie->timer >= 0;
}

/* The caller, which waits, shares our processor until insert_leave. As long as nobody inside has
 * said where somebody may run, all may run where we may: who is bound to one is bound by us. */
static void tie_caller(struct observer *observer, pid_t tid)
{
	struct tie *tie = &observer->tie;
	char own[REALM];

	if (tie->tid == tid)
		return;
	insert_leave(observer);
	if (tie->never || !realm_of(tid, tie->realm))
		return;
	/* In a namespace of its own it is told from all others on the machine. */
	tie->never = observer->observed->among_all || !open_timer(observer) ||
		     !realm_of(getpid(), own) || strcmp(own, tie->realm) == 0;
	if (tie->never || !place_stay(&observer->place))
		return;
	tie->home = observer->place.home;
	if (!is_looking(tie)) {
		tie->born = last_born();
		CPU_ZERO(&tie->places);
	}
	CPU_OR(&tie->places, &tie->places, &observer->place.here);
	if (CPU_COUNT(&tie->home) < 2 || tie->born < 0 ||
	    (sched_setaffinity(tid, sizeof(observer->place.here), &observer->place.here) < 0 &&
	     errno != ESRCH)) {
		tie->never = true; /* nor will it be otherwise the next time */
		insert_leave(observer);
		return;
	}
	tie->tid = tid;
	face_keep_working_directory(tid);
}

int insert_and_send(struct observer *observer, const struct seccomp_notif *call, int fd,
		    uint64_t flags)
{
	struct seccomp_notif_addfd addfd = {.id = call->id,
					    .flags = NOTIFY_ADDFD_SEND,
					    .srcfd = (uint32_t)fd,
					    .newfd_flags = (uint32_t)(flags & O_CLOEXEC)};

	sigset_t every, before;
	int r;

	if (is_better_tied(observer))
		tie_caller(observer, (pid_t)call->pid);
	else if (observer->tie.tid)
		insert_leave(observer);
	/* Where we are interrupted the kernel has taken the call for answered and forgets the fd:
	 * the caller would be told 0, which is its standard input. */
	sigfillset(&every);
	sigprocmask(SIG_SETMASK, &every, &before);
	r = ioctl(observer->observed->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &addfd) < 0 ? -errno : 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return r;
}
