/* SPDX-License-Identifier: Apache-2.0 */
/* The file system as the command sees it: the host's tree made read-only in place, the writable
 * paths attached again, and /tmp, /dev, /proc and /run replaced.
 *
 * The tree is kept rather than built anew under a pivot: one mount_setattr over everything costs a
 * tenth of a new root. What must stay writable is cloned before that and moved back over its own
 * path. */
#include "stage.h"
#include "../base/path.h"
#include "../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

enum { WRITABLE_MOST = 64 };

static const char *const devices[] = {"null", "zero", "full", "random", "urandom", "tty"};

static const struct {
	const char *name, *target;
} device_links[] = {
	{"fd", "/proc/self/fd"},       {"stdin", "/proc/self/fd/0"}, {"stdout", "/proc/self/fd/1"},
	{"stderr", "/proc/self/fd/2"}, {"ptmx", "pts/ptmx"},
};

int stage_fail(struct failure *failure, const char *stage, const char *object)
{
	failure->errnum = errno;
	snprintf(failure->stage, sizeof(failure->stage), "%s", stage);
	snprintf(failure->object, sizeof(failure->object), "%s", object);
	return -1;
}

static int clone_tree(const char *path, unsigned flags)
{
	return sys_open_tree(AT_FDCWD, path, MOUNT_CLONE | O_CLOEXEC | flags);
}

static int attach(int tree, const char *path)
{
	return sys_move_mount(tree, "", AT_FDCWD, path, MOUNT_FROM_EMPTY);
}

/* mkdir -p on a path whose first part is the private /tmp, where nothing else can be in the way. */
static int make_mount_point(const char *path, bool directory)
{
	char partial[PATH_MAX];
	int fd;

	if (strlen(path) >= sizeof(partial)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(partial, path);
	for (char *slash = partial + strlen("/tmp/"); *slash; slash++) {
		if (*slash != '/')
			continue;
		*slash = '\0';
		if (mkdir(partial, 0755) < 0 && errno != EEXIST)
			return -1;
		*slash = '/';
	}
	if (directory)
		return mkdir(partial, 0755) < 0 && errno != EEXIST ? -1 : 0;
	fd = open(partial, O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

static bool is_directory(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

/* /dev and /dev/shm are directories of the store: every further file system costs a fifth of a
 * millisecond to make and to take down again. The devices are the host's own inodes, so their
 * mounts stay read-only: writing to a device does not need more, and root must not change the mode
 * of the machine's /dev/null. */
static int build_devices(struct failure *failure)
{
	static const char root[] = STORE "/dev";
	char path[64], host[64];

	if (mkdir(root, 0755) < 0 || mkdir(STORE "/shm", 0777) < 0 ||
	    chmod(STORE "/shm", 01777) < 0 || mkdir(STORE "/dev/shm", 0755) < 0 ||
	    mkdir(STORE "/dev/pts", 0755) < 0 || mount(root, root, NULL, MS_BIND, NULL) < 0)
		return stage_fail(failure, "creating", root);
	for (size_t i = 0; i < ELEMENTS(devices); i++) {
		snprintf(path, sizeof(path), "%s/%s", root, devices[i]);
		snprintf(host, sizeof(host), "/dev/%s", devices[i]);
		if (mknod(path, S_IFREG | 0600, 0) < 0)
			return stage_fail(failure, "creating", path);
		if (mount(host, path, NULL, MS_BIND, NULL) < 0 && errno != ENOENT)
			return stage_fail(failure, "mounting", host);
	}
	for (size_t i = 0; i < ELEMENTS(device_links); i++) {
		snprintf(path, sizeof(path), "%s/%s", root, device_links[i].name);
		if (symlink(device_links[i].target, path) < 0)
			return stage_fail(failure, "linking", path);
	}
	if (sys_mount_setattr(AT_FDCWD, root, MOUNT_AT_RECURSIVE, MOUNT_RDONLY | MOUNT_NOSUID,
			      MOUNT_NODEV) < 0 ||
	    mount(root, "/dev", NULL, MS_MOVE, NULL) < 0 ||
	    mount(STORE "/shm", "/dev/shm", NULL, MS_BIND, NULL) < 0)
		return stage_fail(failure, "mounting", "/dev");
	if (mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
		  "newinstance,ptmxmode=0666,mode=0620") < 0)
		return stage_fail(failure, "mounting", "/dev/pts");
	return 0;
}

/* Real root without capabilities still owns the switches of the machine in /proc (core_pattern,
 * sysrq-trigger), so for it all of /proc is read-only. A plain user owns none of them; /proc/sys is
 * closed all the same. */
static int build_proc(const struct sandbox *sandbox, unsigned *walls, struct failure *failure)
{
	unsigned long flags =
		MS_NOSUID | MS_NODEV | MS_NOEXEC | (sandbox->uid == 0 ? MS_RDONLY : 0);

	if (mount("proc", "/proc", "proc", flags, NULL) < 0) {
		if (errno != EPERM)
			return stage_fail(failure, "mounting", "/proc");
		*walls &= ~WALL_BIT(WALL_PROC); /* inside a container the old one must do, and it is
						   read-only */
		return 0;
	}
	if (sandbox->uid != 0 && (mount("/proc/sys", "/proc/sys", NULL, MS_BIND, NULL) < 0 ||
				  sys_mount_setattr(AT_FDCWD, "/proc/sys", 0, MOUNT_RDONLY, 0) < 0))
		return stage_fail(failure, "closing", "/proc/sys");
	return 0;
}

int stage_mounts(const struct sandbox *sandbox, unsigned *walls, struct failure *failure)
{
	const struct list *writable = sandbox->writable;
	int trees[WRITABLE_MOST], tmp = -1;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return stage_fail(failure, "making private", "/");
	if (writable->count > WRITABLE_MOST) {
		errno = E2BIG;
		return stage_fail(failure, "keeping writable", "more than 64 paths");
	}
	for (size_t i = 0; i < writable->count; i++) {
		trees[i] = clone_tree(writable->items[i], MOUNT_AT_RECURSIVE);
		if (trees[i] < 0 ||
		    sys_mount_setattr(trees[i], "", AT_EMPTY_PATH | MOUNT_AT_RECURSIVE,
				      MOUNT_NOSUID | MOUNT_NODEV, 0) < 0)
			return stage_fail(failure, "keeping writable", writable->items[i]);
	}
	if (*walls & WALL_BIT(WALL_TMP)) {
		tmp = clone_tree(sandbox->tmp, 0);
		if (tmp < 0 ||
		    sys_mount_setattr(tmp, "", AT_EMPTY_PATH, MOUNT_NOSUID | MOUNT_NODEV, 0) < 0)
			return stage_fail(failure, "opening", sandbox->tmp);
	}
	if (*walls & WALL_BIT(WALL_READ_ONLY) &&
	    sys_mount_setattr(AT_FDCWD, "/", MOUNT_AT_RECURSIVE,
			      MOUNT_RDONLY | MOUNT_NOSUID | MOUNT_NODEV, 0) < 0)
		return stage_fail(failure, "making read-only", "/");

	if (tmp >= 0 && attach(tmp, "/tmp") < 0)
		return stage_fail(failure, "mounting", "/tmp");
	for (size_t i = 0; i < writable->count; i++) {
		if (tmp >= 0 && path_is_under(writable->items[i], "/tmp") &&
		    make_mount_point(writable->items[i], is_directory(trees[i])) < 0)
			return stage_fail(failure, "making room for", writable->items[i]);
		if (attach(trees[i], writable->items[i]) < 0)
			return stage_fail(failure, "keeping writable", writable->items[i]);
		close(trees[i]);
	}
	close(tmp);
	/* The store: one small file system for all that is ward's own making. It hides /run. */
	if (*walls & (WALL_BIT(WALL_DEVICES) | WALL_BIT(WALL_RUN)) &&
	    (mount("tmpfs", "/run", "tmpfs", MS_NOSUID, "mode=755") < 0 || mkdir(STORE, 0700) < 0))
		return stage_fail(failure, "mounting", "/run");
	if (*walls & WALL_BIT(WALL_DEVICES) && build_devices(failure) < 0)
		return -1;
	if (*walls & WALL_BIT(WALL_PROC) && build_proc(sandbox, walls, failure) < 0)
		return -1;
	return 0;
}
