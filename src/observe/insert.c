/* SPDX-License-Identifier: Apache-2.0 */
/* An fd of ours in a caller's table. The kernel lets the caller put it there itself while we wait:
 * to it and back again. Where each sleeps on a processor of its own, and both are woken from it,
 * that takes longer than all else that is done for a call. */
#include "observer.h"
#include "../base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysinfo.h>

enum { APART = 64 }; /* how often it is then done without */

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

/* Whoever was free to run anywhere is free to do so on processors that are added later. */
static void send_home(pid_t tid, cpu_set_t *home)
{
	static int processors;

	if (!processors)
		processors = get_nprocs_conf();
	if (CPU_COUNT(home) >= processors)
		memset(home, 0xff, sizeof(*home));
	(void)sched_setaffinity(tid, sizeof(*home), home);
}

static void part(pid_t tid, struct meeting *meeting)
{
	cpu_set_t now;

	/* Somebody inside may have moved it meanwhile. */
	if (sched_getaffinity(tid, sizeof(now), &now) == 0 && CPU_EQUAL(&now, &meeting->place))
		send_home(tid, &meeting->theirs);
	send_home(0, &meeting->ours);
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
