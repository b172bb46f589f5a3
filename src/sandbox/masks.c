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

static int prepare_mask(unsigned index, const char *path, struct failure *failure)
{
	char source[64];
	struct stat st;
	int fd;

	snprintf(source, sizeof(source), STORE "/%u", index);
	if (lstat(path, &st) < 0)
		return errno == ENOENT || errno == EACCES || errno == ENOTDIR
			       ? 0
			       : stage_fail(failure, "looking at", path);
	if (S_ISDIR(st.st_mode))
		return mkdir(source, 0) < 0 ? stage_fail(failure, "masking", path) : 0;
	fd = open(source, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return stage_fail(failure, "masking", path);
	close(fd);
	return 0;
}

static int apply_mask(unsigned index, const char *path, struct failure *failure)
{
	char source[64];
	int target = open_target(path), r;

	if (target < 0)
		/* It went away, or this user cannot reach it: then neither can the command. */
		return errno == ENOENT || errno == EACCES || errno == ENOTDIR
			       ? 0
			       : stage_fail(failure, "masking", path);
	snprintf(source, sizeof(source), STORE "/%u", index);
	r = cover(source, target) < 0 ? stage_fail(failure, "masking", path) : 0;
	close(target);
	return r;
}

int stage_masks(const struct sandbox *sandbox, unsigned walls, const char *text, size_t length,
		struct failure *failure)
{
	bool names = walls & WALL_BIT(WALL_NET_NAMESPACE);
	unsigned index = 0;

	(void)sandbox;
	if (!(walls & WALL_BIT(WALL_RUN)))
		return walls & WALL_BIT(WALL_DEVICES) && umount2("/run", MNT_DETACH) < 0
			       ? stage_fail(failure, "uncovering", "/run")
			       : 0;
	if (names &&
	    (write_file(STORE "/hosts", hosts) < 0 ||
	     write_file(STORE "/resolv.conf", nameserver) < 0 || prepare_linked_resolver() < 0))
		return stage_fail(failure, "writing", "/etc/hosts and resolv.conf of the sandbox");
	if (walls & WALL_BIT(WALL_MASKS))
		for (const char *path = text; path < text + length; path += strlen(path) + 1)
			if (prepare_mask(index++, path, failure) < 0)
				return -1;
	if (chmod(STORE, 0) < 0 ||
	    sys_mount_setattr(AT_FDCWD, "/run", 0, MOUNT_RDONLY | MOUNT_NODEV, 0) < 0)
		return stage_fail(failure, "closing", "/run");
	if (names && (cover_if_there(STORE "/hosts", "/etc/hosts") < 0 ||
		      cover_if_there(STORE "/resolv.conf", "/etc/resolv.conf") < 0))
		return stage_fail(failure, "covering", "/etc/hosts and resolv.conf");
	index = 0;
	if (walls & WALL_BIT(WALL_MASKS))
		for (const char *path = text; path < text + length; path += strlen(path) + 1)
			if (apply_mask(index++, path, failure) < 0)
				return -1;
	return 0;
}
