/* SPDX-License-Identifier: Apache-2.0 */
/* Opens performed for the caller: of files in a holder, and of everything once a holder was made
 * while the command ran. The fd is of what was looked at, whatever the caller's memory says by now.
 * Only files, pipes, terminals of the sandbox and its harmless devices are ever handed in. */
#include "../observer.h"
#include "plain.h"
#include "../../base/io.h"
#include "../../base/path.h"
#include "../../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

/* Never blocks, never follows, never becomes our terminal. */
#define CAREFUL (O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW)

static const char rule_process[] = "a process's own files, opened for it";

/* As the caller wants it; -errno. Takes ownership. */
static int finish(int fd, uint64_t flags)
{
	int set = fcntl(fd, F_GETFL);

	if (!(flags & O_NONBLOCK) && set >= 0)
		(void)fcntl(fd, F_SETFL, set & ~O_NONBLOCK);
	return fd;
}

/* mode: of a file without a name in the directory that fd is of. */
static int reopen(int fd, uint64_t flags, mode_t mode)
{
	char link[64];
	int opened;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	opened = open(link,
		      (int)((flags & ~(uint64_t)(O_CREAT | O_EXCL | O_NOFOLLOW)) |
			    (CAREFUL & ~O_NOFOLLOW)),
		      mode);
	return opened < 0 ? -errno : finish(opened, flags);
}

static mode_t mode_of(const struct seccomp_notif *call, const struct trap *trap)
{
	return (mode_t)call->data.args[trap->mode] & 01777;
}

mode_t creation_mode(const struct seccomp_notif *call, const struct trap *trap)
{
	return mode_of(call, trap) & ~caller_umask((pid_t)call->pid);
}

static int create(const struct seccomp_notif *call, const struct trap *trap, int parent,
		  const char *name, uint64_t flags)
{
	mode_t before = take_umask(call);
	int fd, errnum;

	/* O_NOFOLLOW would be seen in the file's flags afterwards. What is new blocks nobody. */
	fd = openat(parent, name, (int)flags | O_EXCL | O_CLOEXEC | O_NOCTTY, mode_of(call, trap));
	if (fd >= 0) {
		umask(before);
		return fd;
	}
	if (errno == EEXIST && !(flags & O_EXCL)) /* somebody else was faster */
		fd = openat(parent, name, (int)(flags | CAREFUL), mode_of(call, trap));
	errnum = errno;
	umask(before);
	return fd < 0 ? -errnum : finish(fd, flags);
}

/* The device of the caller's own terminal; 0: it has none. */
static dev_t terminal_of(pid_t tid)
{
	_cleanup_free_ char *text = NULL;
	char path[64];
	const char *at;
	unsigned device;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	if (read_file(AT_FDCWD, path, 4096, &text, NULL) < 0 || !(at = strrchr(text, ')')) ||
	    sscanf(at + 1, " %*c %*d %*d %*d %u", &device) != 1)
		return 0;
	return makedev((device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xfff00));
}

/* The same, by its name in the sandbox. */
static int open_terminal(const struct observer *observer, pid_t tid, uint64_t flags)
{
	dev_t device = terminal_of(tid);
	char path[64];
	int fd;

	if (device == 0)
		return -ENXIO;
	snprintf(path, sizeof(path), "dev/pts/%u", minor(device));
	fd = openat(observer->observed->root, path, (int)(flags & ~(uint64_t)O_CREAT) | CAREFUL);
	return fd < 0 ? -errno : finish(fd, flags);
}

/* Something that is not a regular file. */
static int open_special(const struct observer *observer, pid_t tid, const struct found *found,
			uint64_t flags)
{
	static const unsigned harmless[] = {3, 5, 7, 8, 9}; /* null, zero, full, random, urandom */
	unsigned kind = major(found->st.st_rdev), number = minor(found->st.st_rdev);

	if (S_ISDIR(found->st.st_mode)) /* a file without a name in it */
		return (flags & O_TMPFILE) == O_TMPFILE ? 0 : -EISDIR;
	if (S_ISFIFO(found->st.st_mode))
		return reopen(found->fd, flags, 0);
	if (!S_ISCHR(found->st.st_mode))
		return -ENXIO;
	if (kind == 5 && number == 0)
		return open_terminal(observer, tid, flags);
	/* Terminals of the sandbox: with mounts there are no others, without them all of the user's
	 * are there. */
	if (kind >= 136 && kind < 144)
		return observer->observed->alone && found->st.st_rdev != terminal_of(tid)
			       ? -EACCES
			       : reopen(found->fd, flags, 0);
	for (size_t i = 0; i < ELEMENTS(harmless); i++)
		if (kind == 1 && number == harmless[i])
			return reopen(found->fd, flags, 0);
	return -EACCES;
}

/* A file of a process: one by which it sets up itself, or 0. With the others it would act on more
 * than itself, and we are not who it is. */
static int open_process(const struct observer *observer, pid_t tid, const struct found *found,
			uint64_t flags)
{
	const char *name = path_last(found->path);

	if (observer->observed->closed_proc)
		return open_setting(tid, found->path, flags);
	/* Where the others in /proc are the host's, only the caller's own. */
	if (observer->observed->alone && strncmp(found->path, "/proc/", 6) == 0 &&
	    atoi(found->path + 6) != caller_group(tid))
		return 0;
	return is_own_setting(name) ? reopen(found->fd, flags, 0) : 0;
}

/* What a person granted, in the host's view. Only a file is handed in, or one without a name in a
 * directory: from a directory one could go on to everything else. */
static int open_granted(const struct observer *observer, const struct seccomp_notif *call,
			const struct trap *trap, uint64_t flags, const struct found *found)
{
	bool check = !(observer->observed->unchecked & CHECK_BIT(CHECK_KINDS));
	_cleanup_close_ int object = -1, fd = -1;
	struct stat st;
	mode_t before;

	if (!found->exists) {
		object = permit_open_parent(observer, found->path, found->fd);
		fd = object < 0 ? object : create(call, trap, object, found->name, flags);
	} else {
		object = permit_open_found(observer, found);
		if (object < 0 || fstat(object, &st) < 0)
			return object < 0 ? object : -errno;
		/* To open a device, or a pipe, is to act on it. */
		if (check && !S_ISREG(st.st_mode) &&
		    !(S_ISDIR(st.st_mode) && (flags & O_TMPFILE) == O_TMPFILE))
			return -EACCES;
		before = take_umask(call);
		fd = reopen(object, flags, mode_of(call, trap));
		umask(before);
	}
	if (fd >= 0 && (fstat(fd, &st) < 0 || (check && !S_ISREG(st.st_mode))))
		return -EACCES;
	return STEAL_FD(fd);
}

static int open_in_host(const struct observer *observer, const struct seccomp_notif *call,
			const struct trap *trap, uint64_t flags, const struct found *found)
{
	_cleanup_close_ int parent = -1;
	struct stat st;
	int fd;

	if (found->granted)
		return open_granted(observer, call, trap, flags, found);
	parent = hold_open_parent(observer, found->path, found->exists ? -1 : found->fd);
	if (parent < 0)
		return parent;
	if (!found->exists)
		return create(call, trap, parent, found->name, flags);
	fd = openat(parent, path_last(found->path),
		    (int)(flags & ~(uint64_t)(O_CREAT | O_EXCL)) | CAREFUL);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_dev != found->st.st_dev ||
	    st.st_ino != found->st.st_ino) {
		close(fd);
		return -ESTALE;
	}
	return finish(fd, flags);
}

/* A file that nobody can execute before its mode is changed, of which we are told. */
static bool is_data(mode_t mode)
{
	return !(mode & (S_IXUSR | S_IXGRP | S_IXOTH));
}

/* What is made is what the caller gets, or nothing is: it may have no room for one more fd. */
static void hand_in_new(struct observer *observer, const struct seccomp_notif *call,
			const struct trap *trap, uint64_t flags, int fd, const char *path)
{
	int r = is_data(mode_of(call, trap)) ? answer_with_data(observer, call, fd, flags)
					     : answer_with_fd(observer, call->id, fd, flags);
	_cleanup_close_ int parent = -1;
	char directory[PATH_MAX];

	if (r == 0)
		return;
	strcpy(directory, path);
	*strrchr(directory, '/') = '\0';
	parent = sys_openat2(observer->observed->root, *directory ? directory : "/",
			     O_PATH | O_DIRECTORY | O_CLOEXEC, PLAINLY);
	if (parent >= 0)
		(void)unlinkat(parent, path_last(path), 0);
	answer(observer, call->id, -r);
}

bool perform_new(struct observer *observer, const struct seccomp_notif *call,
		 const struct trap *trap, uint64_t flags, const char *path)
{
	const uint64_t known = O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND |
			       O_NONBLOCK | O_SYNC | O_DIRECT | O_LARGEFILE | O_NOFOLLOW |
			       O_NOATIME | O_CLOEXEC | O_ASYNC;
	mode_t before;
	int fd, errnum;

	if (flags & ~known) /* openat passes over them, this call does not */
		return false;
	before = take_umask(call);
	fd = sys_openat2_making(observer->observed->root, path, flags | O_CLOEXEC | O_NOCTTY,
				mode_of(call, trap), PLAINLY);
	errnum = errno;
	umask(before);
	if (fd < 0 && errnum != EEXIST)
		return false;
	if (fd < 0)
		answer(observer, call->id, EEXIST);
	else
		hand_in_new(observer, call, trap, flags, fd, path);
	return true;
}

void perform_open(struct observer *observer, const struct seccomp_notif *call,
		  const struct trap *trap, uint64_t flags, const struct found *found,
		  enum guard guard)
{
	/* Where something ordinary is made, whether a holder's mount lies over it shows by itself.
	 */
	bool ordinary = !found->exists && (guard == GUARD_FREE || guard == GUARD_OPEN);
	bool host = found->granted ||
		    (!ordinary && hold_needs_host(observer, found->fd, found->path, guard));
	mode_t before;
	int fd;

	if (found->exists && S_ISFIFO(found->st.st_mode) && (!host || found->granted) &&
	    (flags & (O_ACCMODE | O_NONBLOCK | O_EXCL)) == O_WRONLY) {
		/* Whoever opens a pipe for writing waits for a reader. */
		if (!open_pipe(observer, call->id, found->fd, flags) &&
		    !wait_for_reader(observer, call, found->fd, flags))
			answer(observer, call->id, ENXIO);
		return;
	}
	if (found->exists && (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)) {
		fd = -EEXIST;
	} else if (found->exists && S_ISLNK(found->st.st_mode)) {
		fd = -ELOOP;
	} else if (found->exists && !S_ISREG(found->st.st_mode) &&
		   !(host && observer->observed->unchecked & CHECK_BIT(CHECK_KINDS))) {
		fd = host && S_ISDIR(found->st.st_mode)
			     ? (found->granted ? open_in_host(observer, call, trap, flags, found)
					       : -EOPNOTSUPP)
			     : open_special(observer, (pid_t)call->pid, found, flags);
		if (fd == 0) { /* O_TMPFILE */
			before = take_umask(call);
			fd = reopen(found->fd, flags & ~(uint64_t)O_NOFOLLOW, mode_of(call, trap));
			umask(before);
		}
	} else if (host) {
		fd = open_in_host(observer, call, trap, flags, found);
	} else if (found->exists && path_is_under(found->path, "/proc")) {
		fd = open_process(observer, (pid_t)call->pid, found, flags);
		if (fd == 0) {
			refuse(observer, call, trap, "write", found->path, rule_process, EACCES);
			return;
		}
	} else if (found->exists) {
		fd = reopen(found->fd, flags, 0);
	} else {
		fd = create(call, trap, found->fd, found->name, flags);
		host = fd == -EROFS && hold_needs_host(observer, found->fd, found->path, guard);
		if (host)
			fd = open_in_host(observer, call, trap, flags, found);
	}
	if (fd >= 0) {
		bool data = found->exists ? S_ISREG(found->st.st_mode) && is_data(found->st.st_mode)
					  : is_data(mode_of(call, trap));

		fd = data ? answer_with_data(observer, call, fd, flags)
			  : answer_with_fd(observer, call->id, fd, flags);
		if (fd == 0)
			return;
		if (!found->exists && !host) /* without room the kernel makes no file */
			(void)unlinkat(found->fd, found->name, 0);
	}
	answer(observer, call->id, -fd);
}

void perform_draft(struct observer *observer, const struct seccomp_notif *call, uint64_t flags,
		   bool existed, struct pointer *pointer)
{
	int fd = existed && (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)
			 ? -EEXIST
			 : reopen(pointer->draft, flags, 0);

	if (fd >= 0 && !existed)
		(void)fchmod(pointer->draft, pointer->mode);
	if (fd >= 0)
		fd = answer_with_data(observer, call, fd, flags);
	if (fd < 0 && !existed) /* without room the kernel makes no file */
		pointer_unmake(observer, pointer);
	if (fd < 0)
		answer(observer, call->id, -fd);
}

/* The only kind of file that has no name to be judged by, and can be opened again. By now the
 * number may mean another one, which we must not open for the caller. */
static bool is_own_pipe(const struct observer *observer, int fd)
{
	char link[64], text[16];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return (readlink(link, text, sizeof(text)) > 6 && strncmp(text, "pipe:[", 6) == 0) ||
	       observer->observed->unchecked & CHECK_BIT(CHECK_KINDS);
}

void perform_reopen(struct observer *observer, const struct seccomp_notif *call, uint64_t flags,
		    int number)
{
	_cleanup_close_ int copy = caller_fd((pid_t)call->pid, number);
	int fd = copy < 0			      ? -ENOENT
		 : !still_waiting(observer, call->id) ? -EINTR
		 : !is_own_pipe(observer, copy)	      ? -ENXIO
						      : reopen(copy, flags, 0);

	close_fd(&copy);
	if (fd >= 0)
		fd = answer_with_fd(observer, call->id, fd, flags);
	if (fd < 0)
		answer(observer, call->id, -fd);
}

bool open_pipe(struct observer *observer, uint64_t id, int fd, uint64_t flags)
{
	int opened = reopen(fd, flags, 0);

	if (opened == -ENXIO)
		return false;
	if (opened >= 0)
		opened = answer_with_fd(observer, id, opened, flags);
	if (opened < 0)
		answer(observer, id, -opened);
	return true;
}
