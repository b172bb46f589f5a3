/* SPDX-License-Identifier: Apache-2.0 */
/* The container's root where it is not the host's tree: a directory, with a layer in memory over it
 * so that places to mount on can be made without changing it; and what is mounted there.
 *
 * Whoever made the directory may have put links anywhere in it: every step is taken with the
 * container's root as the top, and what is mounted is a clone of the tree with its masks. */
#include "container.h"
#include "../../base/path.h"
#include "../../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define UPPER "/run/upper"
#define WORK  "/run/work"

enum { PLACES_MOST = WRITABLE_MOST + 64 };

static struct {
	const char *target;
	int tree;
	bool vital; /* without it nothing is run */
	bool exact; /* it is told of by its name, which must lead there */
} places[PLACES_MOST];
static size_t place_count;

static int collect(const char *source, const char *target, bool vital, bool read_only,
		   struct failure *failure)
{
	int tree = sys_open_tree(AT_FDCWD, source, MOUNT_CLONE | MOUNT_AT_RECURSIVE | O_CLOEXEC);

	if (tree < 0 && !vital)
		return 0;
	if (tree >= 0 && read_only &&
	    sys_mount_setattr(tree, "", AT_EMPTY_PATH | MOUNT_AT_RECURSIVE, MOUNT_RDONLY, 0) < 0)
		close_fd(&tree);
	if (tree < 0)
		return stage_fail(failure, "mounting", source);
	if (place_count == PLACES_MOST) {
		close_fd(&tree);
		errno = E2BIG;
		return stage_fail(failure, "mounting", "so many places");
	}
	places[place_count].target = target;
	places[place_count].vital = vital;
	places[place_count].exact = vital && !read_only;
	places[place_count++].tree = tree;
	return 0;
}

static bool is_collected(const char *path)
{
	for (size_t i = 0; i < place_count; i++)
		if (path_is_under(path, places[i].target))
			return true;
	return false;
}

int root_collect(const struct sandbox *sandbox, bool whole, struct failure *failure)
{
	static char targets[64][PATH_MAX];

	place_count = 0;
	if (!whole) {
		/* /run with what masks are made of: one that falls off is put back from there. */
		if (collect("/run", "/run", true, true, failure) < 0 ||
		    collect("/tmp", "/tmp", true, false, failure) < 0 ||
		    collect("/sys", "/sys", false, true, failure) < 0 ||
		    collect("/etc/hosts", "/etc/hosts", false, true, failure) < 0 ||
		    collect("/etc/resolv.conf", "/etc/resolv.conf", false, true, failure) < 0)
			return -1;
		if (*sandbox->workspace && !is_collected(sandbox->workspace) &&
		    collect(sandbox->workspace, sandbox->workspace, true, false, failure) < 0)
			return -1;
		for (size_t i = 0; i < sandbox->writable->count; i++)
			if (!is_collected(sandbox->writable->items[i]) &&
			    collect(sandbox->writable->items[i], sandbox->writable->items[i], true,
				    false, failure) < 0)
				return -1;
	}
	for (size_t i = 0; i < sandbox->mounts->count; i++) {
		const char *source = strchr(sandbox->mounts->items[i], '=');

		if (i == ELEMENTS(targets) || !source) {
			errno = E2BIG;
			return stage_fail(failure, "mounting", "more than 64 places");
		}
		snprintf(targets[i], sizeof(targets[i]), "%.*s",
			 (int)(source - sandbox->mounts->items[i]), sandbox->mounts->items[i]);
		if (collect(source + 1, targets[i], true, true, failure) < 0)
			return -1;
	}
	return 0;
}

/* Where a path leads in the root, as far as it is there; *ret_rest: what of it is not. */
static int real_part(int root, const char *path, char ret_real[static PATH_MAX],
		     const char **ret_rest)
{
	char top[PATH_MAX], partial[PATH_MAX], name[64];
	ssize_t above, length = 0;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", root);
	above = readlink(name, top, sizeof(top));
	snprintf(partial, sizeof(partial), "%s", path);
	for (;;) {
		char *slash = strrchr(partial, '/');
		int fd = sys_openat2(root, slash == partial && !partial[1] ? "." : partial + 1,
				     O_PATH | O_CLOEXEC, RESOLVE_IN_ROOT);

		if (fd >= 0) {
			snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
			length = readlink(name, ret_real, PATH_MAX);
			close(fd);
			break;
		}
		if (errno != ENOENT || !slash)
			return -1;
		slash[slash == partial] = '\0';
	}
	if (above < 0 || length < above || length == PATH_MAX ||
	    memcmp(top, ret_real, (size_t)above) != 0) {
		errno = EXDEV;
		return -1;
	}
	memmove(ret_real, ret_real + above, (size_t)(length - above));
	ret_real[length - above] = '\0';
	*ret_rest = path + (partial[1] ? strlen(partial) : 0);
	return 0;
}

/* Directories for a place that is not there, in the layer while it is still a directory of its own:
 * through the overlay a plain user could make none in what belongs to somebody else. */
static int prepare_place(int root, int upper, const char *target, bool exact)
{
	char path[2 * PATH_MAX], real[PATH_MAX];
	const char *rest;

	if (real_part(root, target, real, &rest) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s%s", real, rest);
	if (exact && strcmp(path, target) != 0) {
		errno = ELOOP;
		return -1;
	}
	if (!*rest)
		return 0;
	for (char *slash = path + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = '\0';
		if (mkdirat(upper, path + 1, 0755) < 0 && errno != EEXIST)
			return -1;
	}
	return 0;
}

static int prepare_places(int root, struct failure *failure)
{
	int upper = open(UPPER, O_PATH | O_DIRECTORY | O_CLOEXEC), r = 0;

	/* What the runtime mounts on, whatever is there: through a link runc makes the names of
	 * /dev wherever in our own tree it leads, which may be the workspace. */
	if (mkdirat(upper, "proc", 0755) < 0 || mkdirat(upper, "dev", 0755) < 0)
		r = stage_fail(failure, "making", "/proc and /dev");
	for (size_t i = 0; i < place_count && r == 0; i++)
		if (prepare_place(root, upper, places[i].target, places[i].exact) < 0 &&
		    places[i].vital)
			r = stage_fail(failure,
				       errno == ELOOP ? "mounting below a link" : "mounting",
				       places[i].target);
	close_fd(&upper);
	return r;
}

int root_assemble(const struct sandbox *sandbox, int root, struct failure *failure)
{
	char options[128];
	int r;

	snprintf(options, sizeof(options),
		 "lowerdir=/proc/self/fd/%d,upperdir=" UPPER ",workdir=" WORK ",userxattr", root);
	if (mkdir(UPPER, 0755) < 0 || mkdir(WORK, 0700) < 0)
		return stage_fail(failure, "laying a layer over", sandbox->rootfs);
	if ((r = prepare_places(root, failure)) < 0)
		return r;
	if (mount("overlay", CONTAINER_ROOT, "overlay", MS_NOSUID | MS_NODEV, options) < 0)
		return stage_fail(failure, "laying a layer over", sandbox->rootfs);
	return 0;
}

/* One name below the directory, made where it is not there. */
static int make_name(int directory, const char *name, bool is_directory)
{
	int fd;

	if (is_directory)
		return mkdirat(directory, name, 0755) < 0 && errno != EEXIST ? -1 : 0;
	fd = openat(directory, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return errno == EEXIST ? 0 : -1;
	close(fd);
	return 0;
}

/* Where a name is made. What is mounted already may be the workspace: nothing is made in that
 * through a link of whoever made the root. */
static int open_above(int top, const char *path)
{
	int above = sys_openat2(top, *path ? path + 1 : ".", O_PATH | O_DIRECTORY | O_CLOEXEC,
				RESOLVE_IN_ROOT);
	struct stat its, own;

	if (above < 0 || fstat(above, &its) < 0 || fstat(top, &own) < 0)
		close_fd(&above);
	if (above < 0 || its.st_dev == own.st_dev)
		return above;
	close_fd(&above);
	return sys_openat2(top, path + 1, O_PATH | O_DIRECTORY | O_CLOEXEC,
			   RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);
}

/* The place itself, O_PATH, with all above it; links are followed as from inside. */
static int open_place(int top, const char *path, bool is_directory)
{
	char partial[PATH_MAX];
	size_t length = 0;
	int fd = -1;

	while (path[length]) {
		int above;
		const char *name = path + length + 1;
		size_t next = length + 1 + strcspn(name, "/");

		close_fd(&fd);
		snprintf(partial, sizeof(partial), "%.*s", (int)next, path);
		fd = sys_openat2(top, partial + 1, O_PATH | O_CLOEXEC, RESOLVE_IN_ROOT);
		if (fd < 0 && errno == ENOENT) {
			char last[NAME_MAX + 1];

			snprintf(last, sizeof(last), "%.*s", (int)(next - length - 1), name);
			snprintf(partial, sizeof(partial), "%.*s", (int)length, path);
			above = open_above(top, partial);
			if (above < 0 || make_name(above, last, path[next] || is_directory) < 0) {
				close_fd(&above);
				return -1;
			}
			fd = sys_openat2(above, last, O_PATH | O_CLOEXEC | O_NOFOLLOW,
					 RESOLVE_NO_SYMLINKS);
			close_fd(&above);
		}
		if (fd < 0)
			return -1;
		length = next;
	}
	return fd;
}

static int attach(int top, const char *target, int tree)
{
	struct stat st;
	int place = fstat(tree, &st) < 0 ? -1 : open_place(top, target, S_ISDIR(st.st_mode));
	int r = place < 0 ? -1
			  : sys_move_mount(tree, "", place, "", MOUNT_FROM_EMPTY | MOUNT_TO_EMPTY);

	close_fd(&place);
	return r;
}

int root_attach(struct failure *failure)
{
	int top = open(CONTAINER_ROOT, O_PATH | O_DIRECTORY | O_CLOEXEC), r = 0;

	for (size_t i = 0; i < place_count; i++) {
		if (r == 0 && attach(top, places[i].target, places[i].tree) < 0 && places[i].vital)
			r = stage_fail(failure, "mounting", places[i].target);
		close_fd(&places[i].tree);
	}
	close_fd(&top);
	return r;
}
