/* SPDX-License-Identifier: Apache-2.0 */
/* An fd of ours in a caller's table. The kernel lets the caller put it there itself while we wait:
 * to it and back again. Where each sleeps on a processor of its own, and both are woken from it,
 * that takes longer than all else that is done for a call. */
#include "observer.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysinfo.h>

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

int insert_fd(struct observer *observer, const struct seccomp_notif *call, int fd, int number,
	      bool close_on_exec)
{
	struct seccomp_notif_addfd addfd = {.id = call->id,
					    .flags = SECCOMP_ADDFD_FLAG_SETFD,
					    .srcfd = (uint32_t)fd,
					    .newfd = (uint32_t)number,
					    .newfd_flags = close_on_exec ? O_CLOEXEC : 0};
	struct meeting meeting;
	/* Who comes once is best served where he is. */
	bool met = observer->together && meet((pid_t)call->pid, &meeting);
	int r = ioctl(observer->observed->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &addfd);

	r = r < 0 ? -errno : 0;
	if (met)
		part((pid_t)call->pid, &meeting);
	return r;
}
