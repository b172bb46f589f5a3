/* SPDX-License-Identifier: Apache-2.0 */
/* The short way to a path. It is looked up by its text, through the sandbox's root, as on the long
 * way; but the kernel is told to follow no link. What is found then lies where the text says, and
 * nobody has to ask for its canonical path. */
#include "plain.h"
#include "../face.h"
#include "../../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* Room for the longest path that a struct can hold, with a name. */
enum { LONGEST = PATH_MAX - NAME_MAX - 2 };

static bool is_plain(const char *path)
{
	const char *at = path;

	for (at += *at == '/';;) {
		size_t length = strcspn(at, "/");

		if (length == 0 || length > NAME_MAX || (length == 1 && at[0] == '.') ||
		    (length == 2 && at[0] == '.' && at[1] == '.'))
			return false;
		at += length;
		if (!*at)
			return true;
		at++;
	}
}

/* What a relative path starts from. */
static ssize_t read_start(pid_t tid, int dirfd, char *whole, size_t room)
{
	int directory = face_directory(tid);
	ssize_t length = dirfd == AT_FDCWD ? face_read_working_directory(tid, whole, room) : -1;
	char link[64];

	if (length > 0)
		return length;
	if (dirfd != AT_FDCWD)
		snprintf(link, sizeof(link), "/proc/%d/fd/%d", tid, dirfd);
	else
		snprintf(link, sizeof(link), "/proc/%d/cwd", tid);
	return directory < 0 ? readlink(link, whole, room)
			     : readlinkat(directory, strchr(link + strlen("/proc/"), '/') + 1,
					  whole, room);
}

/* What many programs write before a path, and means nothing. (Behind two slashes there would be an
 * absolute one.) */
static const char *skip_here(const char *path)
{
	while (path[0] == '.' && path[1] == '/' && path[2] != '/')
		path += 2;
	return path;
}

bool plain_path(pid_t tid, int dirfd, const char *path, char whole[static PATH_MAX])
{
	ssize_t start = 0;
	size_t length;

	path = skip_here(path);
	length = strlen(path);
	if (length >= LONGEST || !is_plain(path))
		return false;
	if (path[0] != '/') {
		start = read_start(tid, dirfd, whole, LONGEST);
		if (start <= 0 || (size_t)start + length + 1 >= LONGEST || whole[0] != '/')
			return false;
		if (start > 1)
			whole[start++] = '/';
	}
	strcpy(whole + start, path);
	return strncmp(whole, "/proc", 5) != 0 && strncmp(whole, "/dev", 4) != 0;
}

/* O_PATH, and the last component is not followed either. */
static int open_plain(int root, const char *path, int flags)
{
	return sys_openat2(root, path, O_PATH | O_NOFOLLOW | O_CLOEXEC | flags, PLAINLY);
}

/* whole is cut behind the directory and put together again. */
static int open_parent(int root, char *whole, const char **ret_name)
{
	char *slash = strrchr(whole, '/');
	int fd;

	*slash = '\0';
	fd = open_plain(root, slash == whole ? "/" : whole, O_DIRECTORY);
	*slash = '/';
	*ret_name = slash + 1;
	return fd;
}

bool plain_find(int root, pid_t tid, int dirfd, const char *path, bool follow,
		struct found *ret_found)
{
	_cleanup_close_ int parent = -1, fd = -1;
	const char *name = NULL;

	if (!plain_path(tid, dirfd, path, ret_found->path))
		return false;
	/* Who does not follow means to make something new. */
	if (!follow) {
		parent = open_parent(root, ret_found->path, &name);
		if (parent < 0)
			return false;
		fd = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	} else {
		fd = open_plain(root, ret_found->path, 0);
	}
	if (fd < 0 && errno != ENOENT)
		return false;
	if (fd < 0 && parent < 0)
		parent = open_parent(root, ret_found->path, &name);
	if (fd < 0 && parent < 0)
		return false;
	ret_found->exists = fd >= 0;
	if (fd >= 0) {
		if (fstat(fd, &ret_found->st) < 0 || (follow && S_ISLNK(ret_found->st.st_mode)))
			return false;
		ret_found->fd = STEAL_FD(fd);
		return true;
	}
	strcpy(ret_found->name, name);
	ret_found->fd = STEAL_FD(parent);
	return true;
}

bool plain_find_name(int root, pid_t tid, int dirfd, const char *path, struct spot *ret_spot)
{
	_cleanup_close_ int parent = -1;
	const char *name;

	if (!plain_path(tid, dirfd, path, ret_spot->path))
		return false;
	parent = open_parent(root, ret_spot->path, &name);
	if (parent < 0)
		return false;
	ret_spot->exists = fstatat(parent, name, &ret_spot->st, AT_SYMLINK_NOFOLLOW) == 0;
	if (!ret_spot->exists && errno != ENOENT)
		return false;
	strcpy(ret_spot->name, name);
	ret_spot->slash = false;
	ret_spot->parent = STEAL_FD(parent);
	return true;
}
