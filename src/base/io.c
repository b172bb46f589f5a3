/* SPDX-License-Identifier: Apache-2.0 */
/* Whole reads and writes. */
#include "io.h"
#include "path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int write_all(int fd, const void *data, size_t length)
{
	const char *next = data;

	while (length > 0) {
		ssize_t written = write(fd, next, length);

		if (written < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		next += written;
		length -= (size_t)written;
	}
	return 0;
}

ssize_t read_all(int fd, void *data, size_t length)
{
	size_t got = 0;

	while (got < length) {
		ssize_t n = read(fd, (char *)data + got, length - got);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

int read_file(int dirfd, const char *path, size_t limit, char **ret_text, size_t *ret_length)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	_cleanup_free_ char *text = NULL;
	size_t room, length = 0;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	room = st.st_size > 0 ? (size_t)st.st_size + 1 : 4096;
	for (;;) {
		ssize_t n;

		room = MIN(room, limit + 1);
		text = realloc(text, room + 1);
		if (!text)
			abort();
		n = read_all(fd, text + length, room - length);
		if (n < 0)
			return (int)n;
		length += (size_t)n;
		if (length > limit)
			return -EFBIG;
		if (length < room)
			break;
		room *= 2;
	}
	text[length] = '\0';
	*ret_text = STEAL(text);
	if (ret_length)
		*ret_length = length;
	return 0;
}

int make_directories(const char *path, mode_t mode)
{
	char partial[PATH_MAX];
	size_t length = strlen(path);

	if (length == 0 || length >= sizeof(partial))
		return -ENAMETOOLONG;
	memcpy(partial, path, length + 1);
	for (char *slash = partial + 1; *slash; slash++) {
		if (*slash != '/')
			continue;
		*slash = '\0';
		if (mkdir(partial, mode) < 0 && errno != EEXIST && errno != EROFS &&
		    errno != EACCES)
			return -errno;
		*slash = '/';
	}
	if (mkdir(partial, mode) < 0 && errno != EEXIST)
		return -errno;
	return 0;
}

/* How deep a descriptor is held open for each level; what lies deeper is moved up to the top first.
 */
enum { REMOVE_DEPTH = 256, REMOVE_MOST = 1000000 };

struct removal {
	int top; /* the directory whose entries go */
	dev_t device;
	unsigned left, moved;
};

static int remove_entries(struct removal *removal, int fd, unsigned depth);

/* A directory of ours whose mode keeps us out; by fd, because a link could take its place. */
static int open_closed_directory(int dirfd, const char *name)
{
	_cleanup_close_ int fd = openat(dirfd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char path[64];

	if (fd < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (chmod(path, 0700) < 0)
		return -1;
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int move_up(struct removal *removal, int dirfd, const char *name)
{
	char up[64];

	snprintf(up, sizeof(up), ".ward-deep-%d-%u", getpid(), removal->moved++);
	return renameat(dirfd, name, removal->top, up) < 0 ? -errno : 0;
}

static int remove_entry(struct removal *removal, int dirfd, const char *name, unsigned depth)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	int r;

	if (removal->left-- == 0)
		return -EFBIG;
	if (unlinkat(dirfd, name, 0) == 0)
		return 0;
	if (errno != EISDIR && errno != EPERM && errno != ENOTEMPTY)
		return -errno;
	if (depth >= REMOVE_DEPTH)
		return move_up(removal, dirfd, name);
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == EACCES)
		fd = open_closed_directory(dirfd, name);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_dev != removal->device)
		return -EXDEV;
	if ((st.st_mode & 0700) != 0700)
		(void)fchmod(fd, 0700);
	r = remove_entries(removal, STEAL_FD(fd), depth + 1);
	if (r < 0)
		return r;
	return unlinkat(dirfd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

static int remove_entries(struct removal *removal, int fd, unsigned depth)
{
	struct dirent *entry;
	DIR *dir = fdopendir(fd);
	int r = 0;

	if (!dir) {
		r = -errno;
		close(fd);
		return r;
	}
	while (r >= 0 && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			r = remove_entry(removal, dirfd(dir), entry->d_name, depth);
	closedir(dir);
	return r;
}

int remove_tree(int dirfd, const char *name)
{
	return remove_tree_part(dirfd, name, REMOVE_MOST);
}

int remove_tree_part(int dirfd, const char *name, unsigned most)
{
	struct removal removal = {.left = most};
	_cleanup_close_ int top = -1;
	unsigned moved;
	struct stat st;
	int r;

	top = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (top < 0 && errno == EACCES)
		top = open_closed_directory(dirfd, name);
	if (top < 0)
		return unlinkat(dirfd, name, 0) < 0 && errno != ENOENT ? -errno : 0;
	if (fstat(top, &st) < 0)
		return -errno;
	if ((st.st_mode & 0700) != 0700)
		(void)fchmod(top, 0700);
	removal.top = top;
	removal.device = st.st_dev;
	do { /* again while something was moved up */
		int again = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (again < 0)
			return -errno;
		moved = removal.moved;
		r = remove_entries(&removal, again, 0);
	} while (r == 0 && removal.moved > moved);
	if (r < 0)
		return r;
	return unlinkat(dirfd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}
