/* SPDX-License-Identifier: Apache-2.0 */
/* Modes, owners, times and attributes of files where no mount is read-only: Landlock knows nothing
 * of them, so there is no wall behind the supervisor's look. What may be changed is changed here,
 * on the object that was looked at and with a copy of the arguments. */
#include "../observer.h"
#include "../../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <utime.h>

/* Where the parts of a call stand; -1: it has none. */
struct parts {
	int number;
	int8_t mode, owner, times, name;
	uint8_t time_kind; /* how the times are written */
};

enum { NO_TIMES, SECONDS, MICROSECONDS, NANOSECONDS };

static const struct parts parts[] = {
	{SYS_chmod, 1, -1, -1, -1, NO_TIMES},
	{SYS_fchmod, 1, -1, -1, -1, NO_TIMES},
	{SYS_fchmodat, 2, -1, -1, -1, NO_TIMES},
	{452 /* fchmodat2 */, 2, -1, -1, -1, NO_TIMES},
	{SYS_chown, -1, 1, -1, -1, NO_TIMES},
	{SYS_lchown, -1, 1, -1, -1, NO_TIMES},
	{SYS_fchown, -1, 1, -1, -1, NO_TIMES},
	{SYS_fchownat, -1, 2, -1, -1, NO_TIMES},
	{SYS_utime, -1, -1, 1, -1, SECONDS},
	{SYS_utimes, -1, -1, 1, -1, MICROSECONDS},
	{SYS_futimesat, -1, -1, 2, -1, MICROSECONDS},
	{SYS_utimensat, -1, -1, 2, -1, NANOSECONDS},
	{SYS_setxattr, -1, -1, -1, 1, NO_TIMES},
	{SYS_lsetxattr, -1, -1, -1, 1, NO_TIMES},
	{SYS_fsetxattr, -1, -1, -1, 1, NO_TIMES},
	{SYS_removexattr, -1, -1, -1, 1, NO_TIMES},
	{SYS_lremovexattr, -1, -1, -1, 1, NO_TIMES},
	{SYS_fremovexattr, -1, -1, -1, 1, NO_TIMES},
};

bool change_is_given_in_place(int number)
{
	for (size_t i = 0; i < ELEMENTS(parts); i++)
		if (parts[i].number == number)
			return parts[i].owner < 0 && parts[i].name < 0;
	return true;
}

static int change_times(struct observer *observer, const struct seccomp_notif *call,
			const char *link, uint64_t address, unsigned kind)
{
	pid_t tid = (pid_t)call->pid;
	struct timespec times[2];
	struct timeval micro[2];
	struct utimbuf seconds;
	int r = 0;

	if (!address)
		return utimensat(AT_FDCWD, link, NULL, 0) < 0 ? errno : 0;
	if (kind == NANOSECONDS)
		r = caller_bytes(tid, address, times, sizeof(times));
	if (kind == MICROSECONDS)
		r = caller_bytes(tid, address, micro, sizeof(micro));
	if (kind == SECONDS)
		r = caller_bytes(tid, address, &seconds, sizeof(seconds));
	for (int i = 0; r == 0 && kind == MICROSECONDS && i < 2; i++) {
		/* So that no value comes to mean UTIME_NOW or UTIME_OMIT. */
		if (micro[i].tv_usec < 0 || micro[i].tv_usec >= 1000000)
			return EINVAL;
		times[i] = (struct timespec){micro[i].tv_sec, micro[i].tv_usec * 1000};
	}
	if (kind == SECONDS) {
		times[0] = (struct timespec){seconds.actime, 0};
		times[1] = (struct timespec){seconds.modtime, 0};
	}
	if (r < 0 || !still_waiting(observer, call->id)) /* whose memory was it, then? */
		return r < 0 ? -r : EINTR;
	return utimensat(AT_FDCWD, link, times, 0) < 0 ? errno : 0;
}

static int change_attribute(struct observer *observer, const struct seccomp_notif *call,
			    const char *link, const uint64_t *arguments, bool removes)
{
	pid_t tid = (pid_t)call->pid;
	_cleanup_free_ char *value = NULL;
	char name[XATTR_NAME_MAX + 1];
	size_t size = removes ? 0 : (size_t)arguments[2];
	int r = caller_text(tid, arguments[0], name, sizeof(name));

	if (r < 0)
		return r == -ENAMETOOLONG ? ERANGE : -r;
	if (removes && !still_waiting(observer, call->id))
		return EINTR;
	if (removes)
		return removexattr(link, name) < 0 ? errno : 0;
	if (size > XATTR_SIZE_MAX)
		return E2BIG;
	value = malloc(size + 1);
	if (!value)
		return ENOMEM;
	if (size > 0 && caller_bytes(tid, arguments[1], value, size) < 0)
		return EFAULT;
	if (!still_waiting(observer, call->id))
		return EINTR;
	return setxattr(link, name, value, size, (int)arguments[3]) < 0 ? errno : 0;
}

/* On the very file that the fd is of: the mount that it was opened through decides, as it would for
 * the caller. */
bool change_mode_by_fd(struct observer *observer, const struct seccomp_notif *call)
{
	_cleanup_close_ int fd = caller_fd((pid_t)call->pid, (int)call->data.args[0]);
	int r;

	if (fd < 0 || !still_waiting(observer, call->id))
		return false;
	r = fchmod(fd, (mode_t)call->data.args[1] & 01777) < 0 ? errno : 0;
	/* Before the caller goes on: as long as we hold it for writing, nobody can execute it. */
	close_fd(&fd);
	if (r == EROFS)
		return false;
	answer(observer, call->id, r);
	return true;
}

bool serve_change(struct observer *observer, const struct seccomp_notif *call, int fd, bool granted)
{
	const uint64_t *arguments = (const uint64_t *)call->data.args;
	const struct parts *part = NULL;
	char link[64];
	int r;

	for (size_t i = 0; i < ELEMENTS(parts); i++)
		if (parts[i].number == call->data.nr)
			part = &parts[i];
	if (!part || !(granted || observer->observed->alone))
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (part->mode >= 0)
		r = chmod(link, (mode_t)arguments[part->mode] & 07777) < 0 ? errno : 0;
	else if (part->owner >= 0)
		r = fchownat(fd, "", (uid_t)arguments[part->owner],
			     (gid_t)arguments[part->owner + 1], AT_EMPTY_PATH) < 0
			    ? errno
			    : 0;
	else if (part->times >= 0)
		r = change_times(observer, call, link, arguments[part->times], part->time_kind);
	else
		r = change_attribute(observer, call, link, &arguments[part->name],
				     call->data.nr == SYS_removexattr ||
					     call->data.nr == SYS_lremovexattr ||
					     call->data.nr == SYS_fremovexattr);
	answer(observer, call->id, r);
	return true;
}
