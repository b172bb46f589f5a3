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
#include "../base/guard.h"
#include "../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* The one in the other, so that they go together: each time takes the kernel a while. */
#define SLOT_PLACE STORE "/slot"
#define HOME_PLACE SLOT_PLACE "/upper"

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
	int fs = sys_fsopen("overlay"), mount = -1, errnum;

	if (fs >= 0 &&
	    (work < 0 ? set_read_only(fs, lower, upper) : set_writable(fs, lower, upper, work)) ==
		    0 &&
	    sys_fsconfig(fs, FS_FLAG, "userxattr", NULL) == 0 &&
	    sys_fsconfig(fs, FS_CREATE, NULL, NULL) == 0)
		mount = sys_fsmount(fs, MOUNT_NOSUID | MOUNT_NODEV);
	errnum = errno;
	close_fd(&fs);
	errno = errnum;
	return mount;
}

/* The slot, writable, at its place in the store; an fd of it there. */
static int put_slot(int own)
{
	int tree = sys_open_tree(own, "", MOUNT_CLONE | AT_EMPTY_PATH | O_CLOEXEC);

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
	    upper = open_directory(slot, GUARD_INSIDE_LAYER),
	    work = sandbox->caches_read_only ? -1 : open_directory(slot, "work"), overlay = -1;

	if (lower >= 0 && upper >= 0 && (work >= 0 || sandbox->caches_read_only))
		overlay = make_overlay(lower, upper, work);
	close_fd(&lower);
	close_fd(&upper);
	close_fd(&work);
	/* Only of a mount with a place a part can be cloned. */
	if (overlay >= 0 && sys_move_mount(overlay, "", AT_FDCWD, HOME_PLACE, MOUNT_FROM_EMPTY) < 0)
		close_fd(&overlay);
	return overlay;
}

/* The directory of the slot's upper one for what lies at path in the home; made where it is not
 * there and mode is given. */
static int open_upper(int slot, const char *path, mode_t mode)
{
	int at = open_directory(slot, GUARD_INSIDE_LAYER);
	char name[NAME_MAX + 1];

	while (at >= 0 && *path) {
		size_t length = strcspn(path, "/");
		int next = -1;

		snprintf(name, sizeof(name), "%.*s", (int)length, path);
		path += length + (path[length] == '/');
		if (mode && mkdirat(at, name, *path ? 0755 : mode) == 0 && !*path)
			(void)!fchmodat(at, name, mode, 0); /* whatever the umask is */
		next = open_directory(at, name);
		close_fd(&at);
		at = next;
	}
	return at;
}

/* What commands wrote to a cache: where that is nothing, who only reads sees the same without a
 * layer, for which the kernel takes half as long as for all the rest. */
static bool holds_something(const struct sandbox *sandbox, int slot, size_t number)
{
	int upper = open_upper(slot,
			       sandbox->caches->items[number] + strlen(sandbox->cache_home) + 1,
			       /* mode= */ 0),
	    directory = upper < 0 ? -1 : openat(upper, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const bool is_file = upper < 0 && errno == ENOTDIR; /* some caches are one file */
	char entries[1024] __attribute__((aligned(8)));
	/* Two have no names of their own, and nobody's is as short as theirs. */
	bool holds = is_file || (directory >= 0 && syscall(SYS_getdents64, directory, entries,
							   sizeof(entries)) > 2 * 24);

	close_fd(&directory);
	close_fd(&upper);
	return holds;
}

/* Where something is mounted in the home, the kernel makes no overlay of it: then each cache has
 * one of its own. */
static int put_alone(const struct sandbox *sandbox, int slot, size_t number)
{
	const char *path = sandbox->caches->items[number];
	int target = sys_openat2(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
				 RESOLVE_NO_SYMLINKS),
	    upper = -1, work = -1, overlay = -1;
	bool writes = !sandbox->caches_read_only;
	char name[32];
	struct stat st;

	snprintf(name, sizeof(name), "work-%zu", number);
	if (target >= 0 && fstat(target, &st) == 0 && st.st_uid == geteuid())
		upper = open_upper(slot, path + strlen(sandbox->cache_home) + 1,
				   writes ? st.st_mode & 0777 : 0);
	if (upper >= 0 && writes && (mkdirat(slot, name, 0700) == 0 || errno == EEXIST))
		work = open_directory(slot, name);
	if (upper >= 0 && (work >= 0 || !writes))
		overlay = make_overlay(target, upper, work);
	if (overlay >= 0 &&
	    sys_move_mount(overlay, "", target, "", MOUNT_FROM_EMPTY | MOUNT_TO_EMPTY) < 0)
		close_fd(&overlay);
	close_fd(&work);
	close_fd(&upper);
	close_fd(&target);
	return overlay;
}

uint64_t stage_caches(const struct sandbox *sandbox, unsigned walls, int trees[static CACHES_MOST])
{
	const size_t count = MIN(sandbox->caches->count, (size_t)CACHES_MOST);
	int own, slot = -1, overlay = -1;
	uint64_t standing = 0, wanted = 0;

	for (size_t i = 0; i < CACHES_MOST; i++)
		trees[i] = -1;
	if (count == 0 || !(walls & WALL_BIT(WALL_RUN)))
		return 0;
	own = stage_open_own(sandbox->cache_slot);
	for (size_t i = 0; own >= 0 && i < count; i++)
		if (!sandbox->caches_read_only || holds_something(sandbox, own, i))
			wanted |= UINT64_C(1) << i;
	if (wanted)
		slot = put_slot(own);
	close_fd(&own);
	if (slot >= 0)
		overlay = open_overlay(sandbox, slot);
	for (size_t i = 0; i < count && slot >= 0; i++) {
		if (!(wanted >> i & 1))
			continue;
		trees[i] = overlay >= 0 ? put_in_place(overlay, sandbox->cache_home,
						       sandbox->caches->items[i])
					: put_alone(sandbox, slot, i);
		if (trees[i] >= 0)
			standing |= UINT64_C(1) << i;
	}
	if (slot >= 0)
		(void)umount2(SLOT_PLACE, MNT_DETACH);
	close_fd(&overlay);
	close_fd(&slot);
	return standing;
}

static int try_layer(const char *path)
{
	const struct ground ground = {.uid = geteuid(), .gid = getegid()};
	struct failure failure = {0};
	int directory, overlay = -1;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return errno;
	if (stage_identity(&ground, &failure) < 0)
		return failure.errnum;
	directory = open_directory(AT_FDCWD, path); /* by a mount of our own namespace */
	overlay =
		make_overlay(open_directory(directory, "lower"), open_directory(directory, "upper"),
			     open_directory(directory, "work"));
	return overlay < 0 ? errno : 0;
}

int sandbox_try_layer(const char *directory)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(try_layer(directory));
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}
