/* SPDX-License-Identifier: Apache-2.0 */
/* The workspace's own layers over the caches in the home directory: one overlay whose lower part is
 * the home as it is, of which only the caches are put in place, each over itself. One for all,
 * because making an overlay costs the kernel more than all other mounts together.
 *
 * Everything is named to the kernel by fd: no path can hold a character that means something else
 * in mount options, and none of ward's state is read in /proc/self/mountinfo. For making it, the
 * upper directory and the overlay have places in the store; they are taken away again.
 *
 * A layer is comfort. Where the kernel refuses one, the cache stays read-only as all the rest. */
#include "stage.h"
#include "../sys/kernel.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define SLOT_PLACE STORE "/slot"
#define HOME_PLACE STORE "/home"

/* "volatile" leaves a mark, so that nobody takes the layer for one that survived a loss of power.
 * Caches do not promise that. */
static void remove_mark(int work)
{
	(void)unlinkat(work, "work/incompat/volatile/dirty", 0);
	(void)unlinkat(work, "work/incompat/volatile", AT_REMOVEDIR);
	(void)unlinkat(work, "work/incompat", AT_REMOVEDIR);
}

static int set_path(int fs, const char *key, int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return sys_fsconfig(fs, FS_STRING, key, path);
}

/* Volatile, because at its end it would have the whole disk synchronised. */
static int set_writable(int fs, int lower, int upper, int work)
{
	remove_mark(work);
	return set_path(fs, "lowerdir", lower) < 0 || set_path(fs, "upperdir", upper) < 0 ||
			       set_path(fs, "workdir", work) < 0 ||
			       sys_fsconfig(fs, FS_FLAG, "volatile", NULL) < 0
		       ? -1
		       : 0;
}

/* The same view, without the dozen changes to the disk that a writable one begins with. */
static int set_read_only(int fs, int lower, int upper)
{
	char paths[128];

	snprintf(paths, sizeof(paths), "/proc/self/fd/%d:/proc/self/fd/%d", upper, lower);
	return sys_fsconfig(fs, FS_STRING, "lowerdir", paths);
}

/* A mount without a place. work: -1 for one to be read only. */
static int make_overlay(int lower, int upper, int work)
{
	int fs = sys_fsopen("overlay"), mount = -1;

	if (fs >= 0 &&
	    (work < 0 ? set_read_only(fs, lower, upper) : set_writable(fs, lower, upper, work)) ==
		    0 &&
	    sys_fsconfig(fs, FS_FLAG, "userxattr", NULL) == 0 &&
	    sys_fsconfig(fs, FS_CREATE, NULL, NULL) == 0)
		mount = sys_fsmount(fs, MOUNT_NOSUID | MOUNT_NODEV);
	close_fd(&fs);
	return mount;
}

/* The slot, writable, at its place in the store; an fd of it there. */
static int open_slot(const char *path)
{
	int fd = stage_open_own(path), tree = -1;

	if (fd >= 0)
		tree = sys_open_tree(fd, "", MOUNT_CLONE | AT_EMPTY_PATH | O_CLOEXEC);
	close_fd(&fd);
	if (tree >= 0 && (sys_mount_setattr(tree, "", AT_EMPTY_PATH, MOUNT_NOSUID | MOUNT_NODEV,
					    MOUNT_RDONLY) < 0 ||
			  mkdir(SLOT_PLACE, 0700) < 0 ||
			  sys_move_mount(tree, "", AT_FDCWD, SLOT_PLACE, MOUNT_FROM_EMPTY) < 0))
		close_fd(&tree);
	return tree;
}

static int open_directory(int at, const char *name)
{
	return openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* What lies in the overlay instead of the cache, and the cache: the same kind of thing, of this
 * user. */
static bool is_alike(int inside, int target)
{
	struct stat one, other;

	return fstat(inside, &one) == 0 && fstat(target, &other) == 0 &&
	       one.st_uid == other.st_uid && other.st_uid == geteuid() &&
	       (one.st_mode & S_IFMT) == (other.st_mode & S_IFMT) &&
	       (S_ISDIR(one.st_mode) || S_ISREG(one.st_mode));
}

static int put_in_place(int overlay, const char *home, const char *path)
{
	int target = sys_openat2(AT_FDCWD, path, O_PATH | O_NOFOLLOW | O_CLOEXEC,
				 RESOLVE_NO_SYMLINKS),
	    inside = sys_openat2(overlay, path + strlen(home) + 1, O_PATH | O_NOFOLLOW | O_CLOEXEC,
				 RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS),
	    tree = -1;

	if (target >= 0 && inside >= 0 && is_alike(inside, target))
		tree = sys_open_tree(inside, "", MOUNT_CLONE | AT_EMPTY_PATH | O_CLOEXEC);
	if (tree >= 0 &&
	    sys_move_mount(tree, "", target, "", MOUNT_FROM_EMPTY | MOUNT_TO_EMPTY) < 0)
		close_fd(&tree);
	close_fd(&inside);
	close_fd(&target);
	return tree;
}

static int open_overlay(const struct sandbox *sandbox, int slot)
{
	int lower = sys_openat2(AT_FDCWD, sandbox->cache_home,
				O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, RESOLVE_NO_SYMLINKS),
	    upper = open_directory(slot, "upper"),
	    work = sandbox->caches_read_only ? -1 : open_directory(slot, "work"), overlay = -1;

	if (lower >= 0 && upper >= 0 && (work >= 0 || sandbox->caches_read_only))
		overlay = make_overlay(lower, upper, work);
	close_fd(&lower);
	close_fd(&upper);
	close_fd(&work);
	/* Only of a mount with a place a part can be cloned. */
	if (overlay >= 0 &&
	    (mkdir(HOME_PLACE, 0700) < 0 ||
	     sys_move_mount(overlay, "", AT_FDCWD, HOME_PLACE, MOUNT_FROM_EMPTY) < 0))
		close_fd(&overlay);
	return overlay;
}

uint64_t stage_caches(const struct sandbox *sandbox, unsigned walls, int trees[static CACHES_MOST])
{
	int slot = -1, overlay = -1;
	uint64_t standing = 0;

	for (size_t i = 0; i < CACHES_MOST; i++)
		trees[i] = -1;
	if (sandbox->caches->count == 0 || !(walls & WALL_BIT(WALL_RUN)))
		return 0;
	slot = open_slot(sandbox->cache_slot);
	if (slot >= 0)
		overlay = open_overlay(sandbox, slot);
	for (size_t i = 0; overlay >= 0 && i < MIN(sandbox->caches->count, (size_t)CACHES_MOST);
	     i++) {
		trees[i] = put_in_place(overlay, sandbox->cache_home, sandbox->caches->items[i]);
		if (trees[i] >= 0)
			standing |= UINT64_C(1) << i;
	}
	if (overlay >= 0)
		(void)umount2(HOME_PLACE, MNT_DETACH);
	if (slot >= 0)
		(void)umount2(SLOT_PLACE, MNT_DETACH);
	close_fd(&overlay);
	close_fd(&slot);
	return standing;
}
