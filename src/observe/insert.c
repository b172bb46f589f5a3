/* SPDX-License-Identifier: Apache-2.0 */
/* An fd of ours in a caller's table. The kernel lets the caller put it there itself while we wait:
 * to it and back again. Where each sleeps on a processor of its own, and both are woken from it,
 * that takes longer than all else that is done for a call.
 *
 * Nobody may run a line of its own while it is bound to a processor for our sake: its children
 * would be bound to it for ever. So it is free again before the call is answered. */
#include "observer.h"
#include "../base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>

enum {
	APART = 64,	/* how often it is then done without */
	TRIES = 16,	/* of each way, by callers that make files */
	SETTLED = 1024, /* how often the quicker one is then taken */
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

/* Who makes many files is handed them in the quicker of two ways. At once, which is two changes of
 * processes less: where all processors are at work the two of us stay on one. Or met, for where one
 * is idle: the kernel would wake the caller there. Which it is changes from moment to moment, so
 * both are tried now and then. */
bool insert_is_better_met(struct observer *observer)
{
	const uint64_t most_ns = 200000; /* more is somebody else's doing */
	struct pace *pace = &observer->pace;
	uint64_t time;

	if (!observer->together)
		return false;
	time = monotonic_ns();
	if (pace->last)
		pace->took[pace->met] += MIN(time - pace->last, most_ns);
	pace->last = time;
	if (++pace->calls < (pace->settled ? SETTLED : TRIES))
		return pace->met;
	pace->calls = 0;
	if (pace->settled) {
		*pace = (struct pace){.last = time};
	} else if (!pace->met) {
		pace->met = true;
	} else {
		pace->met = pace->took[true] < pace->took[false];
		pace->settled = true;
	}
	return pace->met;
}

void insert_leave(struct observer *observer)
{
	observer->pace.last = 0;
	place_leave(&observer->place);
}

int insert_met(struct observer *observer, const struct seccomp_notif *call, int fd, uint64_t flags)
{
	struct seccomp_notif_addfd addfd = {.id = call->id,
					    .srcfd = (uint32_t)fd,
					    .newfd_flags = (uint32_t)(flags & O_CLOEXEC)};
	pid_t tid = (pid_t)call->pid;
	cpu_set_t theirs, now;
	bool met = place_stay(&observer->place) &&
		   sched_getaffinity(tid, sizeof(theirs), &theirs) == 0 &&
		   sched_setaffinity(tid, sizeof(observer->place.here), &observer->place.here) == 0;
	int number = ioctl(observer->observed->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &addfd);

	if (number < 0)
		number = -errno;
	if (met && sched_getaffinity(tid, sizeof(now), &now) == 0 &&
	    CPU_EQUAL(&now, &observer->place.here))
		place_send_home(tid, &theirs);
	return number;
}
