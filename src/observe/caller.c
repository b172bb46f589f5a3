/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the process behind a notification. */
#include "caller.h"
#include "files/plain.h"
#include "../base/io.h"
#include "../base/path.h"
#include "../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

enum { LINKS_MOST = 16, PIDFD_OF_THREAD = O_EXCL };

int caller_bytes(pid_t tid, uint64_t address, void *data, size_t length)
{
	struct iovec here = {data, length}, there = {(void *)(uintptr_t)address, length};

	return process_vm_readv(tid, &here, 1, &there, 1, 0) == (ssize_t)length ? 0 : -EFAULT;
}

int caller_memory(pid_t tid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", tid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int caller_text(pid_t tid, uint64_t address, char *text, size_t room)
{
	enum { MOSTLY = 256 }; /* and to copy a page costs as much as to ask for it */
	size_t got = 0;

	/* Page by page: the text may end just before memory that is not there. */
	while (got < room) {
		size_t part = MIN(4096 - (size_t)((address + got) & 4095),
				  MIN(room, got ? room : MOSTLY) - got);
		int r = caller_bytes(tid, address + got, text + got, part);

		if (r < 0)
			return r;
		if (memchr(text + got, '\0', part))
			return 0;
		got += part;
	}
	return -ENAMETOOLONG;
}

ssize_t proc_read(const char *path, char *text, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length;

	if (fd < 0)
		return -errno;
	length = read(fd, text, room - 1);
	close(fd);
	text[MAX(length, 0)] = '\0';
	return length;
}

long proc_number(const char *path, const char *field, int base)
{
	char text[4096];
	const char *at;
	size_t length = strlen(field);

	if (proc_read(path, text, sizeof(text)) < 0)
		return -1;
	for (at = text; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL)
		if (strncmp(at, field, length) == 0 && at[length] == ':')
			return strtol(at + length + 1, NULL, base);
	return -1;
}

pid_t caller_group(pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	return (pid_t)proc_number(path, "Tgid", 10);
}

/* The same before Linux 6.9. The number of a thread says nothing of whose it was, so that nothing
 * can be kept. */
static int fd_of_group(pid_t tid, int fd)
{
	_cleanup_close_ int pidfd = sys_pidfd_open(caller_group(tid));
	int copy = pidfd < 0 ? -1 : sys_pidfd_getfd(pidfd, fd);

	return pidfd < 0 ? -ESRCH : copy < 0 ? -errno : copy;
}

int caller_fd(pid_t tid, int fd)
{
	/* Most callers come again. What is kept means one thread for ever: when that has ended it
	 * leads to nobody, whoever has its number by then. */
	static int kept = -1;
	static pid_t last;
	int copy = -1;

	if (tid == last)
		copy = sys_pidfd_getfd(kept, fd);
	if (tid == last && (copy >= 0 || errno != ESRCH))
		return copy < 0 ? -errno : copy;
	last = 0;
	close_fd(&kept);
	kept = (int)syscall(SYS_pidfd_open, tid, PIDFD_OF_THREAD);
	if (kept < 0)
		return errno == EINVAL ? fd_of_group(tid, fd) : -ESRCH;
	last = tid;
	copy = sys_pidfd_getfd(kept, fd);
	return copy < 0 ? -errno : copy;
}

int caller_object(pid_t tid, int fd)
{
	_cleanup_close_ int copy = caller_fd(tid, fd);
	char link[64];
	int object;

	if (copy < 0)
		return copy;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", copy);
	object = open(link, O_PATH | O_CLOEXEC);
	return object < 0 ? -errno : object;
}

bool caller_is_signalled(pid_t tid)
{
	_cleanup_free_ char *text = NULL;
	unsigned long long blocked = 0, caught = 0, pending = 0, value;
	char path[64], *rest, *line;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	if (read_file(AT_FDCWD, path, 16384, &text, NULL) < 0)
		return false;
	for (rest = text; (line = strsep(&rest, "\n"));)
		if (sscanf(line, "SigBlk: %llx", &value) == 1)
			blocked = value;
		else if (sscanf(line, "SigCgt: %llx", &value) == 1)
			caught = value;
		else if (sscanf(line, "SigPnd: %llx", &value) == 1 ||
			 sscanf(line, "ShdPnd: %llx", &value) == 1)
			pending |= value;
	return pending & caught & ~blocked;
}

void caller_name(pid_t tid, char name[static 32])
{
	char path[64];
	ssize_t length = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/comm", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		length = read(fd, name, 31);
		close(fd);
	}
	name[length > 0 ? length - 1 : 0] = '\0';
}

/* The process that a path below /proc names, as text behind it; NULL for none. self is the caller.
 */
static const char *process_in(const char *path, char name[static 32])
{
	size_t length;

	if (strncmp(path, "/proc/", 6) != 0)
		return NULL;
	length = strcspn(path + 6, "/");
	if (length >= 20 || path[6 + length] != '/')
		return NULL;
	memcpy(name, path + 6, length);
	name[length] = '\0';
	if (strcmp(name, "self") == 0 || strcmp(name, "thread-self") == 0)
		strcpy(name, "self");
	else if (strspn(name, "0123456789") != length)
		return NULL;
	return path + 6 + length + 1;
}

static bool is_link_of_process(const char *part)
{
	return strncmp(part, "fd/", 3) == 0 || strcmp(part, "root") == 0 ||
	       strncmp(part, "root/", 5) == 0 || strcmp(part, "cwd") == 0 ||
	       strncmp(part, "cwd/", 4) == 0;
}

long proc_number_inside(int directory, const char *path, const char *field)
{
	_cleanup_free_ char *text = NULL;
	char *at, *end;

	if (read_file(directory, path, 16384, &text, NULL) < 0 || !(at = strstr(text, field)) ||
	    !(end = strchr(at, '\n')))
		return 0;
	*end = '\0';
	at = strrchr(at, '\t'); /* the innermost stands last */
	return at ? atol(at + 1) : 0;
}

/* Links of /proc mean a process's own root, directory and fds, and the kernel does not let us
 * follow them for it: those that a path starts with are written out. */
static int write_out_links(int root, pid_t tid, char *path, size_t room)
{
	for (int round = 0; round < LINKS_MOST; round++) {
		_cleanup_free_ char *plain = NULL;
		char name[32], link[96], target[2 * PATH_MAX];
		const char *part, *rest;
		ssize_t length = 0;

		while (path[0] == '/' && path[1] == '/')
			memmove(path, path + 1, strlen(path));
		if (strncmp(path, "/proc", 5) != 0 && strncmp(path, "/dev/fd/", 8) != 0 &&
		    strncmp(path, "/dev/../", 8) != 0 && strncmp(path, "/./", 3) != 0)
			return 0;
		plain = path_normalise(
			path); /* nothing there is a link to another place, but for those below */
		strcpy(path, plain);
		if (strncmp(path, "/dev/fd/", 8) == 0) {
			if (snprintf(target, sizeof(target), "/proc/self/fd/%s", path + 8) >=
			    (int)room)
				return -ENAMETOOLONG;
			strcpy(path, target);
		}
		part = process_in(path, name);
		if (!part)
			return 0;
		if (strcmp(name, "self") == 0 && !is_link_of_process(part)) {
			/* Any other file of the caller's own: by the number that it has inside. */
			snprintf(link, sizeof(link), "/proc/%d/status", tid);
			if (snprintf(target, sizeof(target), "/proc/%ld/%s",
				     proc_number_inside(AT_FDCWD, link, "NStgid"),
				     part) >= (int)room)
				return -ENAMETOOLONG;
			strcpy(path, target);
			return 0;
		}
		rest = part + strcspn(part, "/");
		if (strncmp(part, "fd/", 3) == 0)
			rest = part + 3 + strcspn(part + 3, "/");
		else if (strncmp(part, "root", (size_t)(rest - part)) != 0 &&
			 strncmp(part, "cwd", (size_t)(rest - part)) != 0)
			return 0;
		if (rest - part > 20 || rest == part)
			return 0;
		if (part[0] != 'r') { /* all share one root */
			if (strcmp(name, "self") == 0) {
				snprintf(link, sizeof(link), "/proc/%d/%.*s", tid,
					 (int)(rest - part), part);
				length = readlink(link, target, PATH_MAX);
			} else {
				snprintf(link, sizeof(link), "proc/%s/%.*s", name,
					 (int)(rest - part), part);
				length = readlinkat(root, link, target, PATH_MAX);
			}
			if (length <= 0 || target[0] != '/')
				return 0; /* a pipe or a socket */
		}
		if (!*rest)
			rest = length ? "" : "/";
		if ((size_t)length + strlen(rest) >= sizeof(target) ||
		    (size_t)length + strlen(rest) >= room)
			return -ENAMETOOLONG;
		strcpy(target + length, rest);
		strcpy(path, target);
	}
	return -ELOOP;
}

/* The absolute path, as the caller means it; -errno. */
static int absolute(pid_t tid, int dirfd, const char *path, char *ret, size_t room)
{
	char link[64];
	ssize_t length;

	if (path[0] == '/') {
		if (strlen(path) >= room)
			return -ENAMETOOLONG;
		strcpy(ret, path);
		return 0;
	}
	if (dirfd == AT_FDCWD)
		snprintf(link, sizeof(link), "/proc/%d/cwd", tid);
	else
		snprintf(link, sizeof(link), "/proc/%d/fd/%d", tid, dirfd);
	length = readlink(link, ret, room - 1);
	if (length < 0)
		return errno == ENOENT ? -EBADF : -errno;
	if (ret[0] != '/')
		return -ENOTDIR; /* a pipe or a socket */
	if ((size_t)length + strlen(path) + 2 > room)
		return -ENAMETOOLONG;
	ret[length] = '\0';
	if (*path) {
		strcat(ret, "/");
		strcat(ret, path);
	}
	return 0;
}

int caller_path(int root, pid_t tid, int dirfd, const char *path, char *ret, size_t room)
{
	int r = absolute(tid, dirfd, path, ret, room);

	return r < 0 ? r : write_out_links(root, tid, ret, room);
}

static int path_of(int fd, char *path, size_t room)
{
	char link[64];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, room - 1);
	if (length < 0)
		return -errno;
	if ((size_t)length == room - 1) /* cut, it would mean another place */
		return -ENAMETOOLONG;
	path[length] = '\0';
	return 0;
}

static int split(char *path, char **ret_parent, char **ret_name)
{
	size_t length = strlen(path);
	char *slash;

	while (length > 1 && path[length - 1] == '/')
		path[--length] = '\0';
	slash = strrchr(path, '/');
	if (!slash || !slash[1] || strlen(slash + 1) > NAME_MAX)
		return slash && slash[1] ? -ENAMETOOLONG : -ENOENT;
	*slash = '\0';
	*ret_name = slash + 1;
	*ret_parent = slash == path ? (char *)"/" : path;
	return 0;
}

/* Below a root the kernel gives up on a path with .. in it while anybody renames anything. */
static int look_up(int root, const char *path, int flags)
{
	enum { TRIES = 1000 };
	int fd = -1;

	for (int i = 0; i < TRIES; i++) {
		fd = sys_openat2(root, path, flags, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd;
}

int caller_find(int root, pid_t tid, int dirfd, const char *path, bool follow,
		struct found *ret_found)
{
	char whole[2 * PATH_MAX], *parent, *name;
	int r;

	ret_found->granted = false;
	if (plain_find(root, tid, dirfd, path, follow, ret_found))
		return 0;
	r = absolute(tid, dirfd, path, whole, sizeof(whole));
	if (r == 0)
		r = write_out_links(root, tid, whole, sizeof(whole));
	if (r < 0)
		return r;
	for (int links = 0; links < LINKS_MOST; links++) {
		char target[PATH_MAX];
		ssize_t length;
		int fd = look_up(root, whole, O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));

		if (fd >= 0) {
			ret_found->exists = true;
			ret_found->fd = fd;
			if (fstat(fd, &ret_found->st) < 0 ||
			    path_of(fd, ret_found->path, sizeof(ret_found->path)) < 0) {
				r = -errno;
				close(fd);
				return r;
			}
			return 0;
		}
		if (errno != ENOENT)
			return -errno;
		r = split(whole, &parent, &name);
		if (r < 0)
			return r;
		fd = look_up(root, parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		r = path_of(fd, ret_found->path, sizeof(ret_found->path) - NAME_MAX - 2);
		length = follow ? readlinkat(fd, name, target, sizeof(target) - 1) : -1;
		if (r < 0 || length < 0) {
			if (r < 0) {
				close(fd);
				return r;
			}
			ret_found->exists = false;
			ret_found->fd = fd;
			strcpy(ret_found->name, name);
			if (ret_found->path[1])
				strcat(ret_found->path, "/");
			strcat(ret_found->path, name);
			return 0;
		}
		/* A link to something that is not there yet: creating it creates the target. */
		close(fd);
		target[length] = '\0';
		if (target[0] == '/')
			strcpy(whole, target);
		else if (snprintf(whole, sizeof(whole), "%s/%s", ret_found->path, target) >=
			 (int)sizeof(whole))
			return -ENAMETOOLONG;
	}
	return -ELOOP;
}

int caller_find_name(int root, pid_t tid, int dirfd, const char *path, struct spot *ret_spot)
{
	char whole[2 * PATH_MAX], *parent, *name;
	size_t length = strlen(path);
	int r;

	ret_spot->granted = false;
	if (plain_find_name(root, tid, dirfd, path, ret_spot))
		return 0;
	r = absolute(tid, dirfd, path, whole, sizeof(whole));
	if (r == 0)
		r = write_out_links(root, tid, whole, sizeof(whole));
	if (r == 0)
		r = split(whole, &parent, &name);
	if (r == -ENOENT || (r == 0 && (strcmp(name, ".") == 0 || strcmp(name, "..") == 0))) {
		_cleanup_close_ int fd = -1;

		if (r == 0) /* the way to it must be there all the same */
			fd = look_up(root, parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
		return r == 0 && fd < 0 ? -errno : -EBUSY;
	}
	if (r < 0)
		return r;
	ret_spot->slash = length > 0 && path[length - 1] == '/';
	ret_spot->parent = look_up(root, parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (ret_spot->parent < 0)
		return -errno;
	strcpy(ret_spot->name, name);
	r = path_of(ret_spot->parent, ret_spot->path, sizeof(ret_spot->path) - NAME_MAX - 2);
	if (r < 0) {
		close(ret_spot->parent);
		return r;
	}
	if (ret_spot->path[1])
		strcat(ret_spot->path, "/");
	strcat(ret_spot->path, name);
	ret_spot->exists = fstatat(ret_spot->parent, name, &ret_spot->st, AT_SYMLINK_NOFOLLOW) == 0;
	if (!ret_spot->exists && errno != ENOENT) {
		r = -errno;
		close(ret_spot->parent);
		return r;
	}
	return 0;
}

int caller_fd_named(const char *path)
{
	static const char *const standard[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
	static const char *const before[] = {"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"};
	char *end;
	long fd;

	for (int i = 0; i < 3; i++)
		if (strcmp(path, standard[i]) == 0)
			return i;
	for (size_t i = 0; i < ELEMENTS(before); i++) {
		size_t length = strlen(before[i]);

		if (strncmp(path, before[i], length) != 0 || path[length] < '0' ||
		    path[length] > '9')
			continue;
		fd = strtol(path + length, &end, 10);
		return *end || fd > INT_MAX ? -1 : (int)fd;
	}
	return -1;
}
