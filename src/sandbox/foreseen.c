/* SPDX-License-Identifier: Apache-2.0 */
/* Most sandboxes hide the same few things of the system. Init covers them before it is told what
 * this one hides, when it could only wait; what is not meant is uncovered again. A mask counts as
 * standing only where it covers exactly what was found, and is still seen there. */
#include "stage.h"
#include "../base/io.h"
#include "../sys/kernel.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

enum { FORESEEN_MOST = 16 };

struct thing {
	dev_t device;
	ino_t inode;
};

static struct foreseen {
	const char *path;
	struct thing under, mask;
	bool is_directory, meant;
} foreseen[FORESEEN_MOST];
static size_t foreseen_count;

static bool is_same(const struct stat *st, struct thing thing)
{
	return st->st_dev == thing.device && st->st_ino == thing.inode;
}

/* Attributes are given to each, because the store is still written to. */
int stage_cover_early(const char *source, int target, const char *path)
{
	int tree = sys_open_tree(AT_FDCWD, source, MOUNT_CLONE | O_CLOEXEC), r = -1;

	if (tree >= 0 &&
	    sys_mount_setattr(tree, "", AT_EMPTY_PATH, MOUNT_RDONLY | MOUNT_NODEV, 0) == 0)
		r = sys_move_mount(tree, "", target, path,
				   MOUNT_FROM_EMPTY | (*path ? MOUNT_TO_LINKS : MOUNT_TO_EMPTY));
	close_fd(&tree);
	return r;
}

/* To others than root the system closes most of it itself. */
static bool is_open_to(uid_t uid, const struct stat *st)
{
	return (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode)) &&
	       (uid == 0 || st->st_uid == uid || st->st_mode & S_IRWXO);
}

void foreseen_source(const char *path, char source[static FORESEEN_SOURCE])
{
	snprintf(source, FORESEEN_SOURCE, STORE "/foreseen%s", path);
	for (char *at = source + strlen(STORE "/foreseen"); (at = strchr(at, '/'));)
		*at = '!';
}

static bool cover(struct foreseen *item, int target)
{
	char source[FORESEEN_SOURCE];
	struct stat st;

	if (strlen(item->path) >= NAME_MAX - strlen("foreseen"))
		return false;
	foreseen_source(item->path, source);
	if ((item->is_directory ? mkdir(source, 0) : mknod(source, S_IFREG, 0)) < 0 ||
	    lstat(source, &st) < 0)
		return false;
	item->mask = (struct thing){st.st_dev, st.st_ino};
	return stage_cover_early(source, target, "") == 0;
}

void stage_foresee(const struct ground *ground, unsigned walls)
{
	const unsigned needed =
		WALL_BIT(WALL_MOUNT_NAMESPACE) | WALL_BIT(WALL_RUN) | WALL_BIT(WALL_MASKS);

	for (const char *const *path = ground->likely;
	     path && *path && (walls & needed) == needed && foreseen_count < FORESEEN_MOST;
	     path++) {
		struct foreseen item = {.path = *path};
		_cleanup_close_ int target = sys_openat2(
			AT_FDCWD, *path, O_PATH | O_CLOEXEC | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
		struct stat st;

		if (target < 0 || fstat(target, &st) < 0 || !is_open_to(ground->uid, &st))
			continue;
		item.under = (struct thing){st.st_dev, st.st_ino};
		item.is_directory = S_ISDIR(st.st_mode);
		if (cover(&item, target))
			foreseen[foreseen_count++] = item;
	}
}

static struct foreseen *find(const char *path)
{
	for (size_t i = 0; i < foreseen_count; i++)
		if (strcmp(foreseen[i].path, path) == 0)
			return &foreseen[i];
	return NULL;
}

void foreseen_mean(const char *path, bool is_directory, dev_t device, ino_t inode)
{
	struct foreseen *item = find(path);
	struct stat st;

	if (item && item->is_directory == is_directory && item->under.device == device &&
	    item->under.inode == inode)
		item->meant = lstat(path, &st) == 0 && is_same(&st, item->mask);
}

int foreseen_settle(struct failure *failure)
{
	for (size_t i = 0; i < foreseen_count; i++) {
		const struct foreseen *item = &foreseen[i];
		struct stat st;

		/* What was replaced outside has lost its mask with that. */
		if (!item->meant && lstat(item->path, &st) == 0 && is_same(&st, item->mask) &&
		    umount2(item->path, MNT_DETACH | UMOUNT_NOFOLLOW) < 0)
			return stage_fail(failure, "uncovering", item->path);
	}
	return 0;
}

bool foreseen_stands(const char *path)
{
	const struct foreseen *item = find(path);

	return item && item->meant;
}
