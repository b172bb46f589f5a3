/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that change files or names. The walls alone decide them; what is judged here is whether
 * they will refuse, so that the refusal is known exactly, and whether it is ward's or would have
 * come without it. */
#include "observer.h"
#include "../base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static const char rule_outside[] = "default: write only in the workspace and /tmp";
static const char rule_masked[] = "default: secrets are masked";
static const char rule_native[] = "the system's own file permissions";
static const char rule_set_id[] = "no set-user-id or set-group-id files";

static bool is_process_directory(const char *path)
{
	return strncmp(path, "/proc/", 6) == 0 && path[6] >= '0' && path[6] <= '9';
}

bool may_write(const struct observer *observer, const char *path, const char **ret_mask)
{
	const struct observed *observed = observer->observed;

	if (observed->tmp && path_is_under(path, observed->tmp))
		return true; /* it lies in ward's state, which is masked */
	for (size_t i = 0; i < observed->masks->count; i++) {
		if (!path_is_under(path, observed->masks->items[i]))
			continue;
		*ret_mask = observed->masks->items[i];
		return false;
	}
	for (size_t i = 0; i < observed->writable->count; i++)
		if (path_is_under(path, observed->writable->items[i]))
			return true;
	return (!observed->alone &&
		(path_is_under(path, "/dev/shm") || path_is_under(path, "/dev/pts"))) ||
	       is_process_directory(path);
}

/* Whether the user could have done it without ward: only then is the refusal ward's. */
static bool possible_outside(const struct observer *observer, enum trap_kind kind,
			     const struct found *found)
{
	char parent[PATH_MAX];
	char *slash;

	if (kind == TRAP_CHANGE)
		return found->st.st_uid == observer->observed->uid;
	if (kind == TRAP_OPEN && found->exists) /* a directory: a file without a name in it */
		return faccessat(AT_FDCWD, found->path,
				 S_ISDIR(found->st.st_mode) ? W_OK | X_OK : W_OK, AT_EACCESS) == 0;
	strcpy(parent, found->path);
	slash = strrchr(parent, '/');
	if (!slash)
		return false;
	slash[slash == parent] = '\0';
	return faccessat(AT_FDCWD, parent, W_OK | X_OK, AT_EACCESS) == 0;
}

/* Whether the kernel gets as far as asking for permission at all. */
static bool would_be_tried(enum trap_kind kind, uint64_t flags, const struct found *found)
{
	switch (kind) {
	case TRAP_OPEN:
		if (!found->exists)
			return flags & O_CREAT;
		if (S_ISDIR(found->st.st_mode))
			return (flags & O_TMPFILE) == O_TMPFILE;
		return (flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL);
	case TRAP_MAKE:
	case TRAP_LINK:
		return !found->exists;
	default:
		return found->exists;
	}
}

/* True if the call was refused and answered. */
static bool judge(struct observer *observer, const struct seccomp_notif *call,
		  const struct trap *trap, enum trap_kind kind, uint64_t flags,
		  const struct found *found)
{
	const char *operation = kind == TRAP_REMOVE ? "delete" : "write", *mask = NULL;

	if (may_write(observer, found->path, &mask) || !would_be_tried(kind, flags, found))
		return false;
	if (path_is_under(found->path, "/dev") && found->exists && kind == TRAP_OPEN)
		return false; /* a device that the sandbox has is there to be used */
	refuse(observer, call, trap, operation, found->path,
	       mask					 ? rule_masked
	       : possible_outside(observer, kind, found) ? rule_outside
							 : rule_native,
	       path_is_under(found->path, "/proc") ? EROFS : EACCES);
	return true;
}

static int argument(const struct seccomp_notif *call, int index, int otherwise)
{
	return index < 0 ? otherwise : (int)call->data.args[index];
}

/* Set-group-id on a directory only makes new files share its group; on a file it would hand out the
 * group's rights. Performed here, because after our look at the object the caller could put another
 * one in its place. */
static void set_mode(struct observer *observer, const struct seccomp_notif *call,
		     const struct trap *trap, int fd, const char *object, mode_t mode)
{
	char link[64];
	struct stat st;

	if (fstat(fd, &st) < 0) {
		answer(observer, call->id, errno);
		return;
	}
	if (!S_ISDIR(st.st_mode)) {
		refuse(observer, call, trap, "write", object, rule_set_id, EPERM);
		return;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	answer(observer, call->id, chmod(link, mode & 07777) < 0 ? errno : 0);
}

/* A change by fd: of a file that was opened for reading only, it may lie anywhere. */
static void serve_fd(struct observer *observer, const struct seccomp_notif *call,
		     const struct trap *trap)
{
	struct found found = {.fd = caller_fd((pid_t)call->pid, (int)call->data.args[0]),
			      .exists = true};
	_cleanup_close_ int fd = found.fd;
	char link[64];
	ssize_t length;

	if (fd < 0 || fstat(fd, &found.st) < 0 || !still_waiting(observer, call->id)) {
		answer(observer, call->id, fd < 0 ? -fd : EINTR);
		return;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, found.path, sizeof(found.path) - 1);
	found.path[MAX(length, 0)] = '\0';
	if (found.path[0] == '/' && found.st.st_nlink > 0 &&
	    judge(observer, call, trap, TRAP_CHANGE, 0, &found))
		return;
	if (trap->mode >= 0 && call->data.args[trap->mode] & S_ISGID)
		set_mode(observer, call, trap, fd, found.path, (mode_t)call->data.args[trap->mode]);
	else if (!serve_change(observer, call, fd))
		answer_continue(observer, call->id);
}

static bool sets_group_id(const struct seccomp_notif *call, const struct trap *trap)
{
	return trap->kind == TRAP_CHANGE && trap->mode >= 0 &&
	       call->data.args[trap->mode] & S_ISGID;
}

/* Finds one of the call's paths. 1: found; 0: the call was answered or let go on, because the
 * kernel will refuse it by itself. */
static int find(struct observer *observer, const struct seccomp_notif *call,
		const struct trap *trap, int directory, int path, bool follow, uint64_t flags,
		struct found *ret_found)
{
	char text[PATH_MAX];
	pid_t tid = (pid_t)call->pid;
	int r = caller_text(tid, call->data.args[path], text, sizeof(text));

	if (r == -EFAULT)
		observer->unread++;

	if (r == 0 && !*text && !(flags & AT_EMPTY_PATH))
		r = -ENOENT;
	if (r == 0)
		r = caller_find(observer->observed->root, tid, argument(call, directory, AT_FDCWD),
				text, follow, ret_found);
	if (r == 0 && still_waiting(observer, call->id))
		return 1;
	if (r == 0)
		close(ret_found->fd);
	/* What cannot be found from here (no such directory, a link of /proc that means the
	 * caller's own fds) meets the walls as it is. Set-group-id meets none, so without an object
	 * to look at it is refused. */
	if (sets_group_id(call, trap))
		answer(observer, call->id, r == -ENOENT ? ENOENT : EPERM);
	else if (observer->observed->alone && trap->kind == TRAP_CHANGE)
		answer(observer, call->id, r == 0 || r == -EFAULT ? EACCES : -r);
	else
		answer_continue(observer, call->id);
	return 0;
}

void serve_files(struct observer *observer, const struct seccomp_notif *call,
		 const struct trap *trap)
{
	struct found found, second;
	_cleanup_close_ int fd = -1, fd2 = -1;
	uint64_t flags = trap->flags >= 0 ? (uint32_t)call->data.args[trap->flags] : 0;
	bool follow = !trap->no_follow;

	/* utimensat and futimesat without a path are about the fd. */
	if (trap->kind == TRAP_CHANGE_BY_FD ||
	    (trap->kind == TRAP_CHANGE && trap->directory >= 0 && !call->data.args[trap->path])) {
		serve_fd(observer, call, trap);
		return;
	}
	if (trap->kind == TRAP_OPEN) {
		if (trap->flags < 0)
			flags = O_CREAT | O_WRONLY | O_TRUNC; /* creat */
		follow =
			!(flags & O_NOFOLLOW) && (flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL);
	} else if (flags & AT_SYMLINK_NOFOLLOW) {
		follow = false;
	}
	if (!find(observer, call, trap, trap->directory, trap->path, follow,
		  trap->kind == TRAP_OPEN ? 0 : flags, &found))
		return;
	fd = found.fd;
	if (trap->path2 >= 0) {
		if (!find(observer, call, trap, trap->directory2, trap->path2, false, 0, &second))
			return;
		fd2 = second.fd;
	}
	switch (trap->kind) {
	case TRAP_RENAME:
		if (!found.exists)
			break;
		if (judge(observer, call, trap, TRAP_REMOVE, flags, &found))
			return;
		if (judge(observer, call, trap, second.exists ? TRAP_REMOVE : TRAP_MAKE, flags,
			  &second))
			return;
		break;
	case TRAP_LINK: /* the source only gains a name; where it may not, the kernel says EXDEV by
			   itself */
		if (found.exists && judge(observer, call, trap, TRAP_LINK, flags, &second))
			return;
		break;
	default:
		if (judge(observer, call, trap, trap->kind, flags, &found))
			return;
		if (sets_group_id(call, trap)) {
			if (found.exists)
				set_mode(observer, call, trap, fd, found.path,
					 (mode_t)call->data.args[trap->mode]);
			else
				answer(observer, call->id, ENOENT);
			return;
		}
		if (trap->kind == TRAP_CHANGE && found.exists && serve_change(observer, call, fd))
			return;
		if (trap->kind == TRAP_CHANGE && observer->observed->alone && !found.exists) {
			answer(observer, call->id, ENOENT);
			return;
		}
	}
	answer_continue(observer, call->id);
}
