/* SPDX-License-Identifier: Apache-2.0 */
/* The file system as the command sees it: the host's tree made read-only in place, /dev, /proc and
 * /run replaced; then, when it is known, what is writable attached again, and /tmp replaced.
 *
 * The tree is kept rather than built anew under a pivot: one mount_setattr over everything costs a
 * tenth of a new root. What stays writable is a clone of its own part of the tree, moved over its
 * own path; the read-only flag that we set ourselves we may take away again, the host's we may
 * not. */
#include "stage.h"
#include "../base/path.h"
#include "../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

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

int stage_close(const char *path, unsigned how, uint64_t attributes)
{
	enum { TRIES = 2000, PAUSE_US = 1000 };
	int r = -1;

	for (int i = 0; i < TRIES && r < 0; i++) {
		r = sys_mount_setattr(AT_FDCWD, path, how, attributes, 0);
		if (r < 0 && errno != EBUSY)
			break;
		if (r < 0)
			usleep(PAUSE_US);
	}
	return r;
}

static int attach(int tree, const char *path)
{
	return sys_move_mount(tree, "", AT_FDCWD, path, MOUNT_FROM_EMPTY);
}

/* mkdir -p on a path whose first part is the private /tmp, where nothing else can be in the way. */
static int make_mount_point(const char *path, bool directory)
{
	char partial[PATH_MAX];
	struct stat st;
	int fd;

	if (strcmp(path, "/tmp") == 0)
		return 0; /* the workspace is /tmp itself */
	if (strlen(path) >= sizeof(partial)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(partial, path);
	if (lstat(path, &st) == 0) /* in what is shown, or writable */
		return 0;
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
	/* It outlives the mount as long as the session lasts: closed rather than empty. */
	fd = open(partial, O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0);
	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

/* The machine has 3072 for everybody (kernel.pty). */
#define TERMINALS "256"

/* /dev and /dev/shm are directories of the store: every further file system costs a fifth of a
 * millisecond to make and to take down again. What devices are mounted on is one file with many
 * names, which are made in half the time. The devices are the host's own inodes, so their
 * mounts stay read-only: writing to a device does not need more, and root must not change the mode
 * of the machine's /dev/null. */
static int build_devices(struct failure *failure)
{
	static const char root[] = STORE "/dev";
	char path[64], host[64], first[64];

	snprintf(first, sizeof(first), "%s/%s", root, devices[0]);
	if (mkdir(root, 0755) < 0 || mkdir(STORE "/shm", 0777) < 0 ||
	    chmod(STORE "/shm", 01777) < 0 || mkdir(STORE "/dev/shm", 0755) < 0 ||
	    mkdir(STORE "/dev/pts", 0755) < 0 || mount(root, root, NULL, MS_BIND, NULL) < 0)
		return stage_fail(failure, "creating", root);
	for (size_t i = 0; i < ELEMENTS(devices); i++) {
		snprintf(path, sizeof(path), "%s/%s", root, devices[i]);
		if ((i == 0 ? mknod(path, S_IFREG | 0600, 0) : link(first, path)) < 0)
			return stage_fail(failure, "creating", path);
	}
	for (size_t i = 0; i < ELEMENTS(devices); i++) {
		snprintf(path, sizeof(path), "%s/%s", root, devices[i]);
		snprintf(host, sizeof(host), "/dev/%s", devices[i]);
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
		  "newinstance,ptmxmode=0666,mode=0620,max=" TERMINALS) < 0)
		return stage_fail(failure, "mounting", "/dev/pts");
	return 0;
}

/* Real root without capabilities is still the owner of what is not a process's: switches of the
 * machine, and files whose mode is one for every /proc there is. So to root all of it is read-only,
 * and what a process sets up itself by, the supervisor opens for it. A plain user owns none of
 * them; /proc/sys is closed for everyone all the same. */
static int build_proc(const struct ground *ground, struct rung *rung, struct failure *failure)
{
	if (mount("proc", "/proc", "proc",
		  MS_NOSUID | MS_NODEV | MS_NOEXEC | (ground->uid == 0 ? MS_RDONLY : 0),
		  NULL) < 0) {
		if (!ladder_is_refusal(errno))
			return stage_fail(failure, "mounting", "/proc");
		/* Inside a container the old one must do, and it is read-only. */
		rung->walls &= ~WALL_BIT(WALL_PROC);
		rung->lost |= WALL_BIT(WALL_PROC);
		return 0;
	}
	if (ground->uid == 0)
		return 0;
	if (mount("/proc/sys", "/proc/sys", NULL, MS_BIND, NULL) < 0)
		return errno == ENOENT ? 0 : stage_fail(failure, "closing", "/proc/sys");
	return sys_mount_setattr(AT_FDCWD, "/proc/sys", 0, MOUNT_RDONLY, 0) < 0
		       ? stage_fail(failure, "closing", "/proc/sys")
		       : 0;
}

/* What the path is now, and no link on the way: between the decision and this moment another run
 * may have changed it. */
static int open_real(const char *path)
{
	return sys_openat2(AT_FDCWD, path, O_PATH | O_CLOEXEC | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
}

/* What the sandbox's own file systems cover can still be walked from here: ward's state, and with
 * it the session's /tmp, may lie there. */
static struct {
	const char *path;
	int fd;
} covered[] = {{"/run", -1}, {"/dev", -1}};

static int open_covered(const char *path)
{
	for (size_t i = 0; i < ELEMENTS(covered); i++) {
		size_t length = strlen(covered[i].path);

		if (covered[i].fd >= 0 && path_is_under(path, covered[i].path) && path[length])
			return sys_openat2(covered[i].fd, path + length + 1,
					   O_PATH | O_CLOEXEC | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
	}
	return open_real(path);
}

static int clone_fd(int fd, unsigned flags)
{
	return sys_open_tree(fd, "", MOUNT_CLONE | AT_EMPTY_PATH | O_CLOEXEC | flags);
}

/* Only the tree itself becomes writable: what is mounted below it may be anything, the kernel's own
 * file systems included. */
static int clone_writable(const char *path, struct writable_tree *ret_tree)
{
	ret_tree->target = open_real(path);
	if (ret_tree->target < 0)
		return -1;
	ret_tree->tree = clone_fd(ret_tree->target, MOUNT_AT_RECURSIVE);
	if (ret_tree->tree < 0)
		return -1;
	return sys_mount_setattr(ret_tree->tree, "", AT_EMPTY_PATH, MOUNT_NOSUID | MOUNT_NODEV,
				 MOUNT_RDONLY);
}

int stage_open_own(const char *path)
{
	int fd = open_covered(path);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())) {
		close_fd(&fd);
		errno = EPERM;
	}
	return fd;
}

static int clone_tmp(const struct sandbox *sandbox)
{
	int fd = stage_open_own(sandbox->tmp), tree = -1;

	if (fd >= 0)
		tree = clone_fd(fd, 0);
	close_fd(&fd);
	if (tree >= 0 && sys_mount_setattr(tree, "", AT_EMPTY_PATH, MOUNT_NOSUID | MOUNT_NODEV,
					   MOUNT_RDONLY) < 0)
		close_fd(&tree);
	return tree;
}

/* Below the sandbox's own /tmp, no link on the way. */
static int attach_in_tmp(int tree, const char *path)
{
	_cleanup_close_ int target = -1;
	struct stat st;

	if (fstat(tree, &st) < 0 || make_mount_point(path, S_ISDIR(st.st_mode)) < 0)
		return -1;
	target = open_real(path);
	return target < 0 ? -1
			  : sys_move_mount(tree, "", target, "", MOUNT_FROM_EMPTY | MOUNT_TO_EMPTY);
}

static int attach_writable(const char *path, bool own_tmp, struct writable_tree *tree)
{
	if (!own_tmp || !path_is_under(path, "/tmp"))
		return sys_move_mount(tree->tree, "", tree->target, "",
				      MOUNT_FROM_EMPTY | MOUNT_TO_EMPTY);
	return attach_in_tmp(tree->tree, path);
}

/* What of the host's /tmp is seen, which must be what was found there. -1 on failure. */
static int clone_shown(const char *entry)
{
	_cleanup_close_ int fd = open_real(shown_path(entry));
	unsigned long long device, inode;
	int tree;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (sscanf(entry, "%llu %llu", &device, &inode) != 2 || st.st_dev != device ||
	    st.st_ino != inode) {
		errno = ESTALE;
		return -1;
	}
	tree = clone_fd(fd, MOUNT_AT_RECURSIVE);
	if (tree >= 0 && sys_mount_setattr(tree, "", AT_EMPTY_PATH | MOUNT_AT_RECURSIVE,
					   MOUNT_RDONLY | MOUNT_NOSUID | MOUNT_NODEV, 0) < 0)
		close_fd(&tree);
	return tree;
}

/* A workspace in /tmp that is not writable is hidden by the sandbox's own /tmp, and is put back as
 * it is. Its tree, or -1 where there is nothing to be done. */
static int clone_hidden(const struct sandbox *sandbox)
{
	const char *workspace = sandbox->workspace;
	int fd, tree;

	if (!*workspace || !path_is_under(workspace, "/tmp"))
		return -1;
	for (size_t i = 0; i < sandbox->writable->count; i++)
		if (path_is_under(workspace, sandbox->writable->items[i]))
			return -1;
	fd = open_real(workspace);
	tree = fd >= 0 ? clone_fd(fd, 0) : -1;
	close_fd(&fd);
	return tree;
}

int stage_tree(const struct ground *ground, struct rung *rung, struct failure *failure)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return stage_fail(failure, "making private", "/");
	if (rung->walls & WALL_BIT(WALL_READ_ONLY) &&
	    stage_close("/", MOUNT_AT_RECURSIVE, MOUNT_RDONLY | MOUNT_NOSUID | MOUNT_NODEV) < 0)
		return stage_fail(failure, "making read-only", "/");
	for (size_t i = 0; i < ELEMENTS(covered); i++)
		covered[i].fd = open(covered[i].path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* The store: one small file system for all that is ward's own making. It hides /run. */
	if (rung->walls & (WALL_BIT(WALL_DEVICES) | WALL_BIT(WALL_RUN)) &&
	    (mount("tmpfs", "/run", "tmpfs", MS_NOSUID, "mode=755") < 0 || mkdir(STORE, 0700) < 0))
		return stage_fail(failure, "mounting", "/run");
	if (rung->walls & WALL_BIT(WALL_DEVICES) && build_devices(failure) < 0)
		return -1;
	if (rung->walls & WALL_BIT(WALL_PROC) && build_proc(ground, rung, failure) < 0)
		return -1;
	return 0;
}

/* The store is memory, and /dev/shm lies in it. */
static int bound_store(const struct sandbox *sandbox, unsigned walls)
{
	enum { OWN = 1 << 20 }; /* for what ward puts there */
	char options[64];

	if (!sandbox->memory_files || !(walls & (WALL_BIT(WALL_DEVICES) | WALL_BIT(WALL_RUN))))
		return 0;
	snprintf(options, sizeof(options), "mode=755,size=%llu",
		 (unsigned long long)sandbox->memory_files + OWN);
	return mount(NULL, "/run", NULL, MS_REMOUNT | MS_NOSUID, options);
}

int stage_writable(const struct sandbox *sandbox, unsigned walls, struct writable_tree *trees,
		   struct cache_trees *caches, struct failure *failure)
{
	const struct list *writable = sandbox->writable, *shown = sandbox->shown;
	static int trees_shown[WRITABLE_MOST];
	int tmp = -1, hidden = -1;

	if (bound_store(sandbox, walls) < 0)
		return stage_fail(failure, "limiting", "/dev/shm");
	if (writable->count > WRITABLE_MOST) {
		errno = E2BIG;
		return stage_fail(failure, "keeping writable", "more than 256 paths");
	}
	if (shown->count > WRITABLE_MOST) {
		errno = E2BIG;
		return stage_fail(failure, "showing", "more than 256 paths of /tmp");
	}
	for (size_t i = 0; i < writable->count; i++)
		if (clone_writable(writable->items[i], &trees[i]) < 0)
			return stage_fail(failure, "keeping writable", writable->items[i]);
	if (walls & WALL_BIT(WALL_TMP)) {
		tmp = clone_tmp(sandbox);
		if (tmp < 0)
			return stage_fail(failure, "opening", sandbox->tmp);
		hidden = clone_hidden(sandbox);
		for (size_t i = 0; i < shown->count; i++)
			if ((trees_shown[i] = clone_shown(shown->items[i])) < 0)
				return stage_fail(failure, "showing", shown_path(shown->items[i]));
	}
	/* Before the writable trees come: the kernel takes no layer over what was mounted since. */
	caches->standing = stage_caches(sandbox, walls, caches->trees);
	for (size_t i = 0; i < ELEMENTS(covered); i++)
		close_fd(&covered[i].fd);
	if (tmp >= 0 && attach(tmp, "/tmp") < 0)
		return stage_fail(failure, "mounting", "/tmp");
	if (hidden >= 0 && (make_mount_point(sandbox->workspace, true) < 0 ||
			    attach(hidden, sandbox->workspace) < 0))
		return stage_fail(failure, "mounting", sandbox->workspace);
	close_fd(&hidden);
	for (size_t i = 0; i < shown->count && tmp >= 0; i++) {
		if (attach_in_tmp(trees_shown[i], shown_path(shown->items[i])) < 0)
			return stage_fail(failure, "showing", shown_path(shown->items[i]));
		close_fd(&trees_shown[i]);
	}
	for (size_t i = 0; i < writable->count; i++)
		if (attach_writable(writable->items[i], tmp >= 0, &trees[i]) < 0)
			return stage_fail(failure, "keeping writable", writable->items[i]);
	close_fd(&tmp);
	return 0;
}
