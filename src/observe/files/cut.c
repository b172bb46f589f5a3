/* SPDX-License-Identifier: Apache-2.0 */
/* truncate() performed for the caller, on the object that was looked at. The mount that it was
 * found on still has its say: one that is read-only is not cut by us either. */
#include "../observer.h"
#include "../../base/path.h"
#include "../../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

/* A file of any length takes no room on the disk, but the caller's own limit counts all the same.
 */
static bool is_too_long(pid_t tid, off_t length)
{
	struct rlimit limit;

	return prlimit(tid, RLIMIT_FSIZE, NULL, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	       (uint64_t)length > limit.rlim_cur;
}

static int cut(pid_t tid, const struct found *found, int fd, off_t length)
{
	_cleanup_close_ int file = -1;
	struct stat st;
	char link[64];

	if (!found->exists)
		return ENOENT;
	/* To open a device is to act on it. */
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || length < 0)
		return S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
	if (path_is_under(found->path, "/proc"))
		return EACCES; /* there we are not who the caller is */
	if (is_too_long(tid, length))
		return EFBIG;
	/* By an open that waits for nobody: truncate() would, for whoever holds a lease. */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	file = open(link, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return file < 0 || ftruncate(file, length) < 0 ? errno : 0;
}

void perform_cut(struct observer *observer, const struct seccomp_notif *call,
		 const struct found *found, int fd)
{
	answer(observer, call->id, cut((pid_t)call->pid, found, fd, (off_t)call->data.args[1]));
}
