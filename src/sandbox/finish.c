/* SPDX-License-Identifier: Apache-2.0 */
/* The last stages of building, the same in a sandbox of ward's own making and in a container that a
 * runtime made: what init must have open, limits, Landlock, privileges, the filter. */
#include "stage.h"
#include "../base/io.h"
#include "../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

enum { INPUT_CHUNK = 1 << 20 };

static int compare_fds(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

int stage_leave_table(unsigned walls, int *fds, size_t count, struct failure *failure)
{
	unsigned next = 3;

	if (sys_close_range(1u << 30, ~0u, CLOSE_RANGE_UNSHARE) < 0)
		return stage_fail(failure, "leaving", "the shared table of fds");
	if (walls && !(walls & WALL_BIT(WALL_DESCRIPTORS)))
		return 0;
	qsort(fds, count, sizeof(*fds), compare_fds);
	for (size_t i = 0; i < count; i++) {
		if (fds[i] < (int)next)
			continue;
		if ((unsigned)fds[i] > next)
			sys_close_range(next, (unsigned)fds[i] - 1, 0);
		next = (unsigned)fds[i] + 1;
	}
	sys_close_range(next, ~0u, 0);
	return 0;
}

/* The content of a file that cannot be reached inside (a mask covers it, it has no name any more):
 * its caller wants it read. */
static int copy_input(const struct stdio *stdio)
{
	int copy = memfd_create("stdin", MFD_CLOEXEC);
	ssize_t moved = 1;
	off_t at = 0;

	while (copy >= 0 && moved > 0 && at <= INPUT_MOST)
		moved = sendfile(copy, stdio->fd, &at, INPUT_CHUNK);
	if (moved == 0)
		return copy;
	if (moved > 0)
		errno = EFBIG;
	close_fd(&copy);
	return -1;
}

/* Standard input from a file: the same file, but through the sandbox's own, read-only mount.
 * Whatever init opens it opens before the filter: after that an open may wait for the supervisor,
 * who cannot look into init. */
static int reopen_input(const struct stdio *stdio, struct failure *failure)
{
	struct stat host, inside;
	int fd;

	if (stdio->kind == STDIO_NULL) {
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		return fd < 0 ? stage_fail(failure, "opening", "/dev/null") - 1 : fd;
	}
	if (stdio->kind != STDIO_FILE)
		return -1;
	fd = open(stdio->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &inside) < 0 || fstat(stdio->fd, &host) < 0 ||
	    inside.st_dev != host.st_dev || inside.st_ino != host.st_ino ||
	    fcntl(fd, F_SETFL, 0) < 0) {
		close_fd(&fd);
		fd = copy_input(stdio);
	}
	if (fd < 0) {
		stage_fail(failure, "opening for standard input", stdio->path);
		return -2;
	}
	lseek(fd, lseek(stdio->fd, 0, SEEK_CUR), SEEK_SET);
	return fd;
}

static int open_terminal(const struct sandbox *sandbox, unsigned walls, struct failure *failure)
{
	int master, unlock = 0;

	if (!sandbox->terminal)
		return -1;
	master = open(walls & WALL_BIT(WALL_DEVICES) ? "/dev/pts/ptmx" : "/dev/ptmx",
		      O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (master < 0 || ioctl(master, _IOW('T', 0x31, int) /* TIOCSPTLCK */, &unlock) < 0) {
		stage_fail(failure, "making", "a terminal");
		return -2;
	}
	tcsetattr(master, TCSANOW, &sandbox->modes);
	ioctl(master, TIOCSWINSZ, &sandbox->window);
	return master;
}

/* Landlock knows the writable trees by the fds that were held since they were looked at. */
static int build_landlock(const struct landlock_ground *landlock, struct writable_tree *trees,
			  struct cache_trees *caches, struct failure *failure)
{
	const struct list *writable = landlock->sandbox->writable;

	for (size_t i = 0;
	     i < writable->count && !(landlock->rung->walls & WALL_BIT(WALL_MOUNT_NAMESPACE)); i++)
		trees[i] = (struct writable_tree){-1, open(writable->items[i], O_PATH | O_CLOEXEC)};
	if (stage_landlock(landlock, failure) < 0)
		return -1;
	for (size_t i = 0; i < writable->count; i++) {
		/* In the supervisor's table as well, which must not hold on to them. */
		close_fd(&trees[i].target);
		close_fd(&trees[i].tree);
	}
	for (size_t i = 0; i < CACHES_MOST; i++)
		close_fd(&caches->trees[i]);
	return 0;
}

/* What is left must be a floor, and must be what the policy wants. */
static int check_rung(const struct sandbox *sandbox, const struct rung *rung,
		      struct failure *failure)
{
	const char *none = ladder_no_floor(rung->lost);

	errno = ENOTSUP;
	if (none)
		return stage_fail(failure, FAILED_FLOOR, none);
	if (sandbox->require & ~rung->walls) {
		unsigned wall = 0;

		while (!(sandbox->require & ~rung->walls & WALL_BIT(wall)))
			wall++;
		return stage_fail(failure, FAILED_REQUIRE, wall_name((enum wall)wall));
	}
	return 0;
}

/* What init reads of its children while it is under the filter, where an open may wait for a
 * supervisor that is gone: how many there were, or, where they do not end with it, which there are.
 */
int stage_open_tasks(const struct rung *rung)
{
	char path[64] = "/proc/sys/kernel/ns_last_pid";

	if (!(rung->walls & WALL_BIT(WALL_PID_NAMESPACE)))
		snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	return open(path, O_RDONLY | O_CLOEXEC);
}

int stage_streams(const struct sandbox *sandbox, unsigned walls, struct build_report *report)
{
	report->terminal = open_terminal(sandbox, walls, &report->failure);
	report->input = reopen_input(&sandbox->stdio[0], &report->failure);
	return report->terminal == -2 || report->input == -2 ? -1 : 0;
}

int stage_finish(const struct finish *finish, struct build_report *report)
{
	const struct sandbox *sandbox = finish->sandbox;
	struct failure *failure = &report->failure;
	struct rung *rung = &report->rung;
	struct landlock_ground landlock = {
		.sandbox = sandbox, .rung = rung, .trees = finish->trees, .caches = finish->caches};

	if (stage_streams(sandbox, rung->walls, report) < 0)
		return -1;
	report->root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (report->root < 0)
		return stage_fail(failure, "opening", "/");
	landlock.records = finish->records;
	landlock.records_end = finish->records_end;
	landlock.terminal = report->terminal;
	landlock.no_network = finish->no_network;
	stage_ask_landlock(rung);
	if (stage_limits(sandbox, rung->walls, failure) < 0 ||
	    stage_privileges(rung->walls, failure) < 0 || check_rung(sandbox, rung, failure) < 0)
		return -1;
	/* As the command will be, not as root of the namespace: a masked directory is closed to it.
	 */
	if (chdir(sandbox->cwd) < 0)
		return stage_fail(failure, "starting in", sandbox->cwd);
	if (report->tasks < 0)
		report->tasks = stage_open_tasks(rung);
	if (stage_filter(sandbox, rung, finish->no_network, finish->pass, &report->listener,
			 failure) < 0 ||
	    build_landlock(&landlock, finish->trees, finish->caches, failure) < 0)
		return -1;
	/* Notification may have been lost last. */
	return check_rung(sandbox, rung, failure);
}
