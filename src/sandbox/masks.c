/* SPDX-License-Identifier: Apache-2.0 */
/* What the command must not see: /run with the machine's sockets, the denied paths, the host's
 * resolver and names.
 *
 * The masks lie in the store; each is an inode of its own with mode 000 (one shared inode would
 * make all masked files look like one and the same). The store is made read-only before the masks
 * are cloned from it, so that they inherit that. */
#include "stage.h"
#include "../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

static const char hosts[] = "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n";
static const char nameserver[] = "nameserver 127.0.0.1\noptions edns0\n";

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0444);
	ssize_t length = (ssize_t)strlen(text);

	if (fd < 0)
		return -1;
	if (write(fd, text, (size_t)length) != length) {
		close(fd);
		return -1;
	}
	close(fd);
	return 0;
}

/* A path that no symlink leads away from: what was named is what is covered. */
static int open_target(const char *path)
{
	return sys_openat2(AT_FDCWD, path, O_PATH | O_CLOEXEC | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
}

static int cover(const char *source, int target)
{
	int tree = sys_open_tree(AT_FDCWD, source, MOUNT_CLONE | O_CLOEXEC), r;

	if (tree < 0)
		return -1;
	r = sys_move_mount(tree, "", target, "", MOUNT_FROM_EMPTY | MOUNT_TO_EMPTY);
	close(tree);
	return r;
}

/* resolv.conf is often a link into /run, which is hidden by now: then its target is made there. */
static int prepare_linked_resolver(void)
{
	char target[PATH_MAX], path[PATH_MAX + 8];
	ssize_t length = readlink("/etc/resolv.conf", target, sizeof(target) - 1);

	if (length <= 0)
		return 0;
	target[length] = '\0';
	if (strncmp(target, "../run/", 7) == 0)
		snprintf(path, sizeof(path), "/run/%s", target + 7);
	else if (strncmp(target, "/run/", 5) == 0)
		snprintf(path, sizeof(path), "%s", target);
	else
		return 0;
	if (strstr(path, "/../"))
		return 0;
	for (char *slash = path + 5; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return -1;
		*slash = '/';
	}
	return write_file(path, nameserver);
}

static int cover_if_there(const char *source, const char *path)
{
	int target = open(path, O_PATH | O_CLOEXEC), r; /* the system's own links are followed */

	if (target < 0)
		return errno == ENOENT ? 0 : -1;
	r = cover(source, target);
	close(target);
	return r;
}

/* One record of the text: what to do with which path, and what must lie there. */
struct item {
	char kind; /* F: mask a file, D: mask a directory, P: pin it, R: hold a file read-only */
	dev_t device;
	ino_t inode;
	const char *path;
};

/* Reads the record at text; the one behind it starts where it returns. */
static const char *read_item(const char *text, struct item *ret_item)
{
	char *next;

	ret_item->kind = text[0];
	ret_item->device = (dev_t)strtoull(text + 2, &next, 10);
	ret_item->inode = (ino_t)strtoull(next, &next, 10);
	ret_item->path = next + 1;
	return ret_item->path + strlen(ret_item->path) + 1;
}

static bool has_moved(const struct item *item, int target, struct stat *st)
{
	if (target >= 0 && fstat(target, st) == 0 && st->st_dev == item->device &&
	    st->st_ino == item->inode)
		return false;
	errno = ESTALE;
	return true;
}

static int prepare_mask(unsigned index, const struct item *item, struct failure *failure)
{
	char source[64];
	int r;

	snprintf(source, sizeof(source), STORE "/%u", index);
	r = item->kind == 'D' ? mkdir(source, 0) : mknod(source, S_IFREG, 0);
	return r < 0 ? stage_fail(failure, "masking", item->path) : 0;
}

static int apply_mask(unsigned index, const struct item *item, struct failure *failure)
{
	int target = open_target(item->path), r = -1;
	char source[64];
	struct stat st;

	snprintf(source, sizeof(source), STORE "/%u", index);
	if (!has_moved(item, target, &st))
		r = cover(source, target);
	if (r < 0)
		stage_fail(failure, "masking", item->path);
	close_fd(&target);
	return r;
}

/* A directory above a mask, or a file to be held, becomes a mount of its own, over itself. */
static int pin(const struct item *item, struct failure *failure)
{
	int target = open_target(item->path), tree = -1, r = -1;
	struct stat st;

	if (target < 0 || (item->kind == 'R' && has_moved(item, target, &st)))
		errno = ESTALE;
	else
		tree = sys_open_tree(target, "",
				     MOUNT_CLONE | MOUNT_AT_RECURSIVE | AT_EMPTY_PATH | O_CLOEXEC);
	if (tree >= 0 &&
	    (item->kind != 'R' || sys_mount_setattr(tree, "", AT_EMPTY_PATH, MOUNT_RDONLY, 0) == 0))
		r = sys_move_mount(tree, "", target, "", MOUNT_FROM_EMPTY | MOUNT_TO_EMPTY);
	if (r < 0)
		stage_fail(failure, "holding", item->path);
	close_fd(&tree);
	close_fd(&target);
	return r;
}

int stage_masks(unsigned walls, const char *text, size_t length, struct failure *failure)
{
	bool names = walls & WALL_BIT(WALL_NET_NAMESPACE);
	const char *end = walls & WALL_BIT(WALL_MASKS) ? text + length : text;
	struct item item;
	unsigned index = 0;

	if (!(walls & WALL_BIT(WALL_RUN)))
		return walls & WALL_BIT(WALL_DEVICES) && umount2("/run", MNT_DETACH) < 0
			       ? stage_fail(failure, "uncovering", "/run")
			       : 0;
	if (names &&
	    (write_file(STORE "/hosts", hosts) < 0 ||
	     write_file(STORE "/resolv.conf", nameserver) < 0 || prepare_linked_resolver() < 0))
		return stage_fail(failure, "writing", "/etc/hosts and resolv.conf of the sandbox");
	for (const char *next = text; next < end;) {
		next = read_item(next, &item);
		if (item.kind == 'P' || item.kind == 'R'
			    ? pin(&item, failure) < 0
			    : prepare_mask(index++, &item, failure) < 0)
			return -1;
	}
	if (chmod(STORE, 0) < 0 ||
	    sys_mount_setattr(AT_FDCWD, "/run", 0, MOUNT_RDONLY | MOUNT_NODEV, 0) < 0)
		return stage_fail(failure, "closing", "/run");
	if (names && (cover_if_there(STORE "/hosts", "/etc/hosts") < 0 ||
		      cover_if_there(STORE "/resolv.conf", "/etc/resolv.conf") < 0))
		return stage_fail(failure, "covering", "/etc/hosts and resolv.conf");
	index = 0;
	for (const char *next = text; next < end;) {
		next = read_item(next, &item);
		if (item.kind != 'P' && item.kind != 'R' && apply_mask(index++, &item, failure) < 0)
			return -1;
	}
	return 0;
}
