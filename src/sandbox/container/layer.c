/* SPDX-License-Identifier: Apache-2.0 */
/* One layer of an image laid over those before it. Its names are a stranger's: each is resolved
 * with the image's root as the top, so that no link in it leads out; nothing is owned by anybody
 * else, no set-id bit is kept and no device made. */
#include "archive.h"
#include "../../base/io.h"
#include "../../base/macro.h"
#include "../../sys/kernel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WHITEOUT ".wh."
#define OPAQUE	 ".wh..wh..opq"

/* How many directories a name may lie in, and how much of it is told. */
enum { DEEPEST = 256, TOLD = 200 };

struct layer {
	int root; /* of the image */
	struct archive *archive;
	unsigned made; /* directories that no entry is for */
};

static int leads_out(struct error **ret_error, const char *path)
{
	fail(ret_error, E_INPUT, "the image names '%.*s', which leads out of it", TOLD, path);
	return error_hint(ret_error, "it was not made by a tool for images: leave it alone");
}

static int cannot(struct error **ret_error, int errnum, const char *doing, const char *path)
{
	return fail_errno(ret_error, E_INPUT, errnum, "%s %.*s of the image", doing, TOLD, path);
}

/* The path without what says nothing. False for one that is absolute or leads up. */
static bool clean(const char *path, char ret_path[static PATH_MAX])
{
	size_t length = 0;

	if (path[0] == '/')
		return false;
	ret_path[0] = '\0';
	while (*path) {
		size_t part = strcspn(path, "/");

		if (part == 2 && path[0] == '.' && path[1] == '.')
			return false;
		if (part > 0 && !(part == 1 && path[0] == '.')) {
			if (length + part + 2 > PATH_MAX || part > NAME_MAX)
				return false;
			if (length)
				ret_path[length++] = '/';
			memcpy(ret_path + length, path, part);
			ret_path[length += part] = '\0';
		}
		path += part + (path[part] == '/');
	}
	return true;
}

static int open_in(int root, const char *path, uint64_t flags)
{
	return sys_openat2(root, *path ? path : ".", (int)flags | O_PATH | O_CLOEXEC,
			   RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

/* Every directory of the path that is not there. */
static int make_above(struct layer *layer, char *path)
{
	_cleanup_close_ int above = open_in(layer->root, ".", O_DIRECTORY);
	unsigned depth = 0;

	for (char *name = path, *slash; name; name = slash) {
		int fd;

		if (++depth > DEEPEST || layer->made >= ARCHIVE_ENTRIES_MOST) {
			errno = depth > DEEPEST ? ENAMETOOLONG : E2BIG;
			return -1;
		}
		slash = strchr(name, '/');
		if (slash)
			*slash = '\0';
		fd = open_in(layer->root, path, O_DIRECTORY);
		if (fd < 0 && errno == ENOENT && mkdirat(above, name, 0755) == 0) {
			layer->made++;
			fd = open_in(layer->root, path, O_DIRECTORY);
		}
		if (slash)
			*slash++ = '/';
		if (fd < 0)
			return -1;
		close_fd(&above);
		above = fd;
	}
	return STEAL_FD(above);
}

/* The directory that the name lies in; what is missing above it is made. *ret_name: the last part,
 * in path. */
static int open_above(struct layer *layer, char *path, const char **ret_name)
{
	char *slash = strrchr(path, '/');
	int fd;

	*ret_name = slash ? slash + 1 : path;
	if (!slash)
		return open_in(layer->root, ".", O_DIRECTORY);
	*slash = '\0';
	fd = open_in(layer->root, path, O_DIRECTORY);
	if (fd < 0 && errno == ENOENT)
		fd = make_above(layer, path);
	*slash = '/';
	return fd;
}

static int remove_name(int directory, const char *name)
{
	if (unlinkat(directory, name, 0) == 0 || errno == ENOENT)
		return 0;
	return errno == EISDIR || errno == EPERM ? remove_tree(directory, name) : -errno;
}

static int make_file(struct archive *archive, int directory, const char *name, mode_t mode,
		     struct error **ret_error)
{
	_cleanup_close_ int fd = -1;
	char data[1 << 15];
	ssize_t length;
	int r;

	if ((r = remove_name(directory, name)) < 0)
		return cannot(ret_error, -r, "replacing", name);
	fd = openat(directory, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return cannot(ret_error, errno, "making", name);
	while ((length = archive_read(archive, data, sizeof(data), ret_error)) > 0)
		if ((r = write_all(fd, data, (size_t)length)) < 0)
			return cannot(ret_error, -r, "writing", name);
	if (length < 0)
		return -E_INPUT;
	return fchmod(fd, mode | S_IRUSR) < 0 ? cannot(ret_error, errno, "writing", name) : 0;
}

static int make_directory(int root, const char *path, int directory, const char *name, mode_t mode)
{
	_cleanup_close_ int there = open_in(root, path, O_DIRECTORY);

	/* A link there is kept where it leads to a directory: layers are written so. */
	if (there < 0 && unlinkat(directory, name, 0) < 0 && errno != ENOENT)
		return -errno;
	if (mkdirat(directory, name, mode | 0700) < 0 && errno != EEXIST)
		return -errno;
	return 0;
}

static int make_link(int root, int directory, const char *name, const char *to)
{
	_cleanup_close_ int target = open_in(root, to, O_NOFOLLOW);
	char path[PATH_MAX];
	struct stat st;
	ssize_t length;
	int r;

	if (target < 0 || fstat(target, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		return -EPERM;
	if ((r = remove_name(directory, name)) < 0)
		return r;
	if (S_ISLNK(st.st_mode)) {
		length = readlinkat(target, "", path, sizeof(path) - 1);
		path[MAX(length, 0)] = '\0';
		return length < 0 || symlinkat(path, directory, name) < 0 ? -errno : 0;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", target);
	return linkat(AT_FDCWD, path, directory, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

static int unpack_entry(struct layer *layer, const struct archive_entry *entry,
			struct error **ret_error)
{
	char path[PATH_MAX], link[PATH_MAX];
	_cleanup_close_ int directory = -1;
	const char *name;
	int r = 0;

	if (!clean(entry->path, path) || (entry->kind == '1' && !clean(entry->link, link)))
		return leads_out(ret_error, entry->kind == '1' ? entry->link : entry->path);
	if (!*path || entry->kind == 'V')
		return 0;
	directory = open_above(layer, path, &name);
	if (directory < 0 && errno == E2BIG)
		return fail(ret_error, E_INPUT, "the archive cannot be read: " ARCHIVE_TOO_MANY);
	if (directory < 0)
		return cannot(ret_error, errno, "making", path);
	switch (entry->kind) {
	case '0':
	case '7':
		return make_file(layer->archive, directory, name, entry->mode, ret_error);
	case '1':
		r = make_link(layer->root, directory, name, link);
		break;
	case '2':
		r = remove_name(directory, name);
		if (r == 0 && symlinkat(entry->link, directory, name) < 0)
			r = -errno;
		break;
	case '5':
		r = make_directory(layer->root, path, directory, name, entry->mode);
		break;
	default: /* devices and pipes are nobody's to bring */
		break;
	}
	return r < 0 ? cannot(ret_error, -r, "making", path) : 0;
}

static int empty_directory(int directory)
{
	int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *list = copy >= 0 ? fdopendir(copy) : NULL;
	struct dirent *entry;

	while (list && r == 0 && (entry = readdir(list)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			r = remove_name(directory, entry->d_name);
	if (list)
		closedir(list);
	else
		close_fd(&copy);
	return r;
}

/* What the layers below had, and this one says is gone. */
static int apply_whiteout(struct layer *layer, const struct archive_entry *entry,
			  struct error **ret_error)
{
	char path[PATH_MAX];
	_cleanup_close_ int directory = -1;
	const char *name;
	int r = 0;

	if (!clean(entry->path, path))
		return leads_out(ret_error, entry->path);
	directory = open_above(layer, path, &name);
	if (directory < 0)
		return cannot(ret_error, errno, "looking for", path);
	if (strcmp(name, OPAQUE) == 0)
		r = empty_directory(directory);
	else if (name[strlen(WHITEOUT)] && strcmp(name + strlen(WHITEOUT), ".") != 0 &&
		 strcmp(name + strlen(WHITEOUT), "..") != 0)
		r = remove_name(directory, name + strlen(WHITEOUT));
	return r < 0 ? cannot(ret_error, -r, "removing", path) : 0;
}

static bool is_whiteout(const struct archive_entry *entry)
{
	const char *slash = strrchr(entry->path, '/');

	return strncmp(slash ? slash + 1 : entry->path, WHITEOUT, strlen(WHITEOUT)) == 0;
}

/* One way through the archive. */
static int walk(int fd, int root, bool whiteouts, bool removing, const char *digest,
		struct error **ret_error)
{
	static struct archive_entry entry; /* too large for a comfortable stack */
	struct layer layer = {.root = root, .archive = archive_open(fd)};
	char found[65];
	int r;

	while ((r = archive_next(layer.archive, &entry, ret_error)) == 1) {
		r = whiteouts && is_whiteout(&entry)
			    ? removing ? apply_whiteout(&layer, &entry, ret_error) : 0
		    : removing ? 0
			       : unpack_entry(&layer, &entry, ret_error);
		if (r < 0)
			break;
	}
	if (r == 0)
		r = archive_end(layer.archive, found, ret_error);
	if (r == 0 && digest && strcmp(digest, found) != 0) {
		fail(ret_error, E_INPUT, "a part of the image is not what its name says: it is %s",
		     found);
		r = error_hint(ret_error, "get the image again");
	}
	archive_free(layer.archive);
	return r;
}

int layer_unpack(int fd, int root, bool whiteouts, const char *digest, struct error **ret_error)
{
	int r = 0;

	/* They mean what lies below this layer, wherever they stand in it. */
	if (whiteouts)
		r = walk(fd, root, true, /* removing= */ true, digest, ret_error);
	return r < 0 ? r : walk(fd, root, whiteouts, /* removing= */ false, digest, ret_error);
}
