/* SPDX-License-Identifier: Apache-2.0 */
/* The child that goes in.
 *
 * It enters the user namespace, which gives it all capabilities over the sandbox's mounts and over
 * nothing else (the supervisor owns that namespace, so it needs none of its own), and the mount
 * namespace. It never enters the pid namespace: nobody inside can name it. It is not dumpable and
 * holds no descriptor but the one it reports on. What it looks at may be in motion, so it goes by
 * descriptors that hold the thing itself, and looks again when it is done. */
#include "cover.h"
#include "../network/child.h"
#include "../../base/io.h"
#include "../../base/path.h"
#include "../../sandbox/stage.h"
#include "../../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <linux/stat.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Whoever renames faster than this child looks is told of by the next event. */
enum { SECONDS = 2, LOOKS = 8, CHILDREN = 4096, STAT = 1024 };
#define DRAFT_SIZE "64k"

struct report {
	int errnum;
	unsigned mask;
	struct thing draft;
};

/* What a child is to do. */
struct task {
	const struct covering *covering;
	const bool *marked; /* NULL: a draft */
	const char *path;
	struct thing under;
};

/* The directory of a process is that of no other, also when its number has changed hands. */
static bool is_child_of(int process, pid_t init)
{
	char text[STAT], *end;
	_cleanup_close_ int fd = openat(process, "stat", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read_all(fd, text, sizeof(text) - 1);

	if (length < 0)
		return false;
	text[length] = '\0';
	end = strrchr(text, ')'); /* of its name, which is the command's to choose */
	return end && strlen(end) > 4 && strtol(end + 4, NULL, 10) == init;
}

static int open_of_process(const char *pid, pid_t init, const char *kind, int *ret_user,
			   int *ret_other)
{
	char path[64];
	_cleanup_close_ int process = -1, user = -1, other = -1;

	snprintf(path, sizeof(path), "/proc/%s", pid);
	process = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (process < 0 || !is_child_of(process, init))
		return -1;
	snprintf(path, sizeof(path), "ns/%s", kind);
	other = openat(process, path, O_RDONLY | O_CLOEXEC);
	/* Whose it is, which need not be the one that the process is in. */
	user = other < 0 ? -1 : ioctl(other, NS_GET_USERNS);
	if (user < 0)
		user = openat(process, "ns/user", O_RDONLY | O_CLOEXEC);
	if (user < 0 || other < 0)
		return -1;
	*ret_user = STEAL_FD(user);
	*ret_other = STEAL_FD(other);
	return 0;
}

/* Init is closed to us. What it started is not, and lives in the same namespaces: the filter lets
 * nobody leave them. */
int open_namespaces(pid_t init, const char *kind, int *ret_user, int *ret_other)
{
	char path[64], text[CHILDREN];
	_cleanup_close_ int list = -1;
	char *rest = text, *pid;
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", init, init);
	list = open(path, O_RDONLY | O_CLOEXEC);
	if (list < 0)
		return -errno;
	length = read_all(list, text, sizeof(text) - 1);
	if (length < 0)
		return (int)length;
	text[length] = '\0';
	while ((pid = strsep(&rest, " ")))
		if (*pid && open_of_process(pid, init, kind, ret_user, ret_other) == 0)
			return 0;
	return -EAGAIN;
}

/* EINVAL: it is our own, because the sandbox has none; then the other call has the last word. */
static int enter(const struct covering *covering)
{
	if (setns(covering->user, CLONE_NEWUSER) < 0 && errno != EINVAL)
		return -1;
	if (setns(covering->mounts, CLONE_NEWNS) < 0)
		return -1;
	close(covering->user);
	close(covering->mounts);
	return 0;
}

static int open_real(const char *path)
{
	return sys_openat2(AT_FDCWD, path, O_PATH | O_CLOEXEC | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
}

/* What is to be covered; -1 with errno 0 where there is nothing. A link is looked through to a file
 * only: whoever made the link chose what it leads to. */
static int open_fallen(const char *path, struct stat *st)
{
	int fd = open_real(path);

	if (fd >= 0 && fstat(fd, st) == 0 && !S_ISLNK(st->st_mode))
		return fd;
	if (fd < 0 && errno != ELOOP && errno != ENOENT && errno != ENOTDIR)
		return -1;
	if (fd < 0 && errno != ELOOP) {
		errno = 0;
		return -1;
	}
	close_fd(&fd);
	fd = sys_openat2(AT_FDCWD, path, O_PATH | O_CLOEXEC, RESOLVE_NO_MAGICLINKS);
	if (fd >= 0 && fstat(fd, st) == 0 && S_ISREG(st->st_mode))
		return fd;
	close_fd(&fd);
	errno = 0;
	return -1;
}

static bool is_mount(int fd)
{
	struct statx info;

	return statx(fd, "", AT_EMPTY_PATH, 0, &info) == 0 &&
	       info.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

/* As at the start: a directory above a mask must not be renamed from inside. */
static int pin_above(const struct covering *covering, const char *path)
{
	char above[PATH_MAX];

	snprintf(above, sizeof(above), "%s", path);
	for (char *slash = above + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
		_cleanup_close_ int fd = -1, tree = -1;
		bool writable = false;

		*slash = '\0';
		for (size_t i = 0; i < covering->masks->writable.count && !writable; i++)
			writable = path_is_under(above, covering->masks->writable.items[i]) &&
				   strcmp(above, covering->masks->writable.items[i]) != 0;
		if (!writable)
			continue;
		fd = open_real(above);
		if (fd < 0)
			return 0; /* then nothing can be there to be covered, or it is a link */
		if (is_mount(fd))
			continue;
		tree = sys_open_tree(fd, "",
				     MOUNT_CLONE | MOUNT_AT_RECURSIVE | AT_EMPTY_PATH | O_CLOEXEC);
		if (tree < 0 ||
		    sys_move_mount(tree, "", fd, "", MOUNT_FROM_EMPTY | MOUNT_TO_EMPTY) < 0)
			return errno == ENOENT ? 0 : -1;
	}
	return 0;
}

/* The mask of this name, or where a directory lies where a file was, or the other way round, one
 * that fits. */
static int clone_mask(const struct masks *masks, size_t mask, bool directory)
{
	char source[FORESEEN_SOURCE];
	int tree;

	if (masks->items[mask].is_directory != directory)
		for (mask = 0; mask < masks->count; mask++)
			if (mask_hides(&masks->items[mask]) &&
			    masks->items[mask].kind != MASK_TEXT &&
			    masks->items[mask].is_directory == directory)
				break;
	if (mask == masks->count) {
		errno = ENOTDIR;
		return -1;
	}
	snprintf(source, sizeof(source), STORE "/%u", masks->items[mask].number);
	tree = sys_open_tree(AT_FDCWD, source, MOUNT_CLONE | O_CLOEXEC);
	if (tree < 0 && errno == ENOENT) {
		foreseen_source(masks->items[mask].path, source);
		tree = sys_open_tree(AT_FDCWD, source, MOUNT_CLONE | O_CLOEXEC);
	}
	return tree;
}

static int cover_one(const struct covering *covering, size_t mask)
{
	const char *path = covering->masks->items[mask].path;

	for (int look = 0; look < LOOKS; look++) {
		_cleanup_close_ int target = -1, tree = -1;
		struct stat st;

		if (pin_above(covering, path) < 0)
			return -1;
		target = open_fallen(path, &st);
		if (target < 0)
			return errno ? -1 : 0;
		if (st.st_dev == covering->store)
			return 0;
		tree = clone_mask(covering->masks, mask, S_ISDIR(st.st_mode));
		if (tree < 0)
			return -1;
		/* ENOENT: gone between the look and now. */
		if (sys_move_mount(tree, "", target, "", MOUNT_FROM_EMPTY | MOUNT_TO_EMPTY) < 0 &&
		    errno != ENOENT)
			return -1;
	}
	return 0;
}

static size_t first_marked(const struct covering *covering, const bool *marked)
{
	size_t i = 0;

	while (i + 1 < covering->masks->count && !marked[i])
		i++;
	return i;
}

static int cover_marked(const struct task *task, struct report *report)
{
	for (size_t i = 0; i < task->covering->masks->count; i++) {
		report->mask = (unsigned)i;
		if (task->marked[i] && cover_one(task->covering, i) < 0)
			return -1;
	}
	return 0;
}

/* A file system in memory with room for a path and no more. A part of it can be mounted only from
 * where the whole stands: over the store, where nobody looks meanwhile. */
static int mount_room(void)
{
	_cleanup_close_ int fs = sys_fsopen("tmpfs"), mount = -1;

	if (fs < 0 || sys_fsconfig(fs, FS_STRING, "size", DRAFT_SIZE) < 0 ||
	    sys_fsconfig(fs, FS_STRING, "nr_inodes", "4") < 0 ||
	    sys_fsconfig(fs, FS_CREATE, NULL, NULL) < 0)
		return -1;
	mount = sys_fsmount(fs, MOUNT_NOSUID | MOUNT_NODEV | MOUNT_NOEXEC);
	return mount < 0 ? -1 : sys_move_mount(mount, "", AT_FDCWD, STORE, MOUNT_FROM_EMPTY);
}

static int take_draft(struct thing *ret_draft)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	umask(0);
	fd = open(STORE "/draft", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	*ret_draft = (struct thing){st.st_dev, st.st_ino};
	return sys_open_tree(AT_FDCWD, STORE "/draft", MOUNT_CLONE | O_CLOEXEC);
}

static int put_draft(const struct task *task, struct report *report)
{
	_cleanup_close_ int tree = -1, target = -1;
	struct stat st;

	if (mount_room() < 0)
		return -1;
	tree = take_draft(&report->draft);
	if (umount2(STORE, MNT_DETACH) < 0 || tree < 0)
		return -1;
	target = open_real(task->path);
	if (target < 0 || fstat(target, &st) < 0)
		return -1;
	if (st.st_dev != task->under.device || st.st_ino != task->under.inode) {
		errno = ESTALE;
		return -1;
	}
	return sys_move_mount(tree, "", target, "", MOUNT_FROM_EMPTY | MOUNT_TO_EMPTY);
}

static _Noreturn void run_child(const struct task *task, struct report *report, int pipe)
{
	const struct covering *covering = task->covering;
	int kept[] = {pipe, covering->user, covering->mounts};
	sigset_t none;
	struct stat st;
	int r;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_DUMPABLE, 0);
	signal(SIGALRM, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	alarm(SECONDS);
	close_all_but(kept, ELEMENTS(kept));
	r = enter(covering);
	/* What was entered is the sandbox, and not whoever had that process number by then. */
	if (r == 0 && (stat("/run", &st) < 0 || st.st_dev != covering->store)) {
		errno = ESTALE;
		r = -1;
	}
	if (r == 0)
		r = task->marked ? cover_marked(task, report) : put_draft(task, report);
	report->errnum = r < 0 ? errno : 0;
	_exit(write(pipe, report, sizeof(*report)) != sizeof(*report));
}

static int do_inside(const struct task *task, struct report *report)
{
	struct kernel_clone child = {0}; /* no signal at its end */
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid = sys_clone_any(&child);
	if (pid == 0)
		run_child(task, report, ends[1]);
	report->errnum = pid < 0 ? errno : ETIMEDOUT;
	close(ends[1]);
	if (pid > 0) {
		struct report said;

		if (read_all(ends[0], &said, sizeof(said)) == sizeof(said))
			*report = said;
		while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
			;
	}
	close(ends[0]);
	return -report->errnum;
}

int cover_again(const struct covering *covering, const bool *marked, size_t *ret_mask)
{
	const struct task task = {.covering = covering, .marked = marked};
	struct report report = {.mask = (unsigned)first_marked(covering, marked)};
	int r = do_inside(&task, &report);

	*ret_mask = report.mask;
	return r;
}

int cover_with_draft(const struct covering *covering, const char *path, const struct thing *under,
		     struct thing *ret_draft)
{
	const struct task task = {.covering = covering, .path = path, .under = *under};
	struct report report = {0};
	int r = do_inside(&task, &report);

	if (r == 0)
		*ret_draft = report.draft;
	return r;
}

int find_store(int root, dev_t *ret_store)
{
	/* In a root of its own the name may lead elsewhere in it. */
	_cleanup_close_ int run =
		sys_openat2(root, "run", O_PATH | O_DIRECTORY | O_CLOEXEC, RESOLVE_IN_ROOT);
	struct stat st;

	if (run < 0 || fstat(run, &st) < 0)
		return -errno;
	*ret_store = st.st_dev;
	return 0;
}
