/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: makes the container's root out of the tree that was made for it, and becomes the
 * runtime. Binds are made here and not by the runtime: crun 1.8 leaves out what is mounted below,
 * and with it every mask. */
#include "container.h"
#include "../../base/io.h"
#include "../../base/path.h"
#include "../../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

/* Names of runtimes, and how each is told not to look for control groups: the run has its own, and
 * the runtime is in it. */
static const struct {
	const char *name, *option;
	bool covers;   /* refuses machines with both versions of cgroups, so it sees none */
	bool compiled; /* takes the filter as a program */
	bool root;     /* is root inside before it is anybody else */
	bool apart;    /* has a kernel of its own: see apart.c */
} runtimes[] = {
	{"crun", "--cgroup-manager=disabled", true, true, false, false},
	{"runc", "--rootless=true", false, false, true, false},
	{"runsc", "--ignore-cgroups", false, false, true, true},
};

static int clone_tree(int directory, const char *path)
{
	return sys_open_tree(directory, path,
			     MOUNT_CLONE | MOUNT_AT_RECURSIVE | O_CLOEXEC |
				     (*path ? 0 : AT_EMPTY_PATH));
}

static int write_bundle(const char *text)
{
	int fd = open(CONTAINER_BUNDLE "/config.json",
		      O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600),
	    r = -1;

	if (fd >= 0 && write_all(fd, text, strlen(text)) == 0)
		r = 0;
	close_fd(&fd);
	return r;
}

static size_t runtime_kind(const char *path)
{
	for (size_t i = 0; i < ELEMENTS(runtimes); i++)
		if (strcmp(path_last(path), runtimes[i].name) == 0)
			return i;
	return 0;
}

bool runtime_takes_program(const char *runtime)
{
	return runtimes[runtime_kind(runtime)].compiled;
}

bool runtime_is_root(const char *runtime)
{
	return runtimes[runtime_kind(runtime)].root;
}

bool runtime_is_apart(const char *runtime)
{
	return runtimes[runtime_kind(runtime)].apart;
}

int engine_open_root(const struct sandbox *sandbox, struct failure *failure)
{
	int fd;

	if (!*sandbox->rootfs)
		return -1;
	fd = sys_openat2(AT_FDCWD, sandbox->rootfs, O_PATH | O_DIRECTORY | O_CLOEXEC,
			 RESOLVE_NO_SYMLINKS);
	return fd < 0 ? stage_fail(failure, "opening", sandbox->rootfs) - 1 : fd;
}

/* What the runtime needs of the engine's own tree, of which the container has another or none: maps
 * of ids are written in /proc, devices are taken from /dev. */
static int open_tree_up(const struct sandbox *sandbox, struct failure *failure)
{
	if (sys_mount_setattr(AT_FDCWD, "/proc", 0, 0, MOUNT_RDONLY) < 0)
		return stage_fail(failure, "opening", "/proc");
	/* Its own devices alone: what is mounted below has none on most machines, and that cannot
	 * be taken back here. */
	if (sys_mount_setattr(AT_FDCWD, "/dev", MOUNT_AT_RECURSIVE, MOUNT_RDONLY | MOUNT_NOSUID,
			      0) < 0 ||
	    sys_mount_setattr(AT_FDCWD, "/dev", 0, 0, MOUNT_NODEV) < 0)
		return stage_fail(failure, "opening", "/dev");
	if (runtimes[runtime_kind(sandbox->runtime)].covers &&
	    mount("tmpfs", "/sys/fs/cgroup", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		  "mode=755,size=64k") < 0 &&
	    errno != ENOENT)
		return stage_fail(failure, "covering", "/sys/fs/cgroup");
	return 0;
}

static int make_places(struct failure *failure)
{
	if (mount("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=700") < 0 ||
	    mkdir(CONTAINER_ROOT, 0755) < 0 || mkdir(CONTAINER_BUNDLE, 0700) < 0 ||
	    mkdir(CONTAINER_STATE, 0700) < 0)
		return stage_fail(failure, "making", "the bundle");
	return 0;
}

int engine_prepare(const struct sandbox *sandbox, int root, struct failure *failure)
{
	int tree = root < 0 ? clone_tree(AT_FDCWD, "/") : -1, r = -1;

	if (root < 0 && tree < 0)
		return stage_fail(failure, "cloning", "the tree");
	if (root_collect(sandbox, root < 0, failure) == 0 && make_places(failure) == 0) {
		if (root >= 0)
			r = root_assemble(sandbox, root, failure);
		else if (sys_move_mount(tree, "", AT_FDCWD, CONTAINER_ROOT, MOUNT_FROM_EMPTY) < 0)
			stage_fail(failure, "mounting", "the container's root");
		else
			r = 0;
	}
	if (r == 0)
		r = root_attach(failure);
	if (r == 0)
		r = open_tree_up(sandbox, failure);
	if (r == 0 && write_bundle(sandbox->bundle) < 0)
		r = stage_fail(failure, "writing", CONTAINER_BUNDLE "/config.json");
	close_fd(&tree);
	close_fd(&root);
	return r;
}

/* By its name where that is the same file: through the tree it lies on a read-only mount. */
int engine_open_program(void)
{
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	struct stat named, own;
	int fd = -1;

	if (length > 0) {
		path[length] = '\0';
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	}
	if (fd >= 0 && (fstat(fd, &named) < 0 || stat("/proc/self/exe", &own) < 0 ||
			named.st_dev != own.st_dev || named.st_ino != own.st_ino))
		close_fd(&fd);
	return fd >= 0 ? fd : open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
}

/* Each at its number, without close-on-exec, and nothing else. */
static int arrange(const struct sandbox *sandbox, int control, int letter, int program, int errors)
{
	enum { AWAY = 64 };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int wanted[CONTAINED_END] = {null, null, errors, control, letter, program};

	for (int i = 0; i < 3; i++)
		wanted[CONTAINED_STDIO + i] =
			sandbox->stdio[i].kind == STDIO_FD || sandbox->stdio[i].kind == STDIO_FILE
				? sandbox->stdio[i].fd
				: null;
	wanted[CONTAINED_CACHE_LOCK] = sandbox->cache_lock >= 0 ? sandbox->cache_lock : null;
	for (int i = 0; i < CONTAINED_END; i++) {
		/* One may have been closed by the caller: nothing takes its place. */
		if (wanted[i] >= 0)
			wanted[i] = fcntl(wanted[i], F_DUPFD_CLOEXEC, AWAY);
		if (wanted[i] < 0)
			wanted[i] = fcntl(null, F_DUPFD_CLOEXEC, AWAY);
	}
	for (int i = 0; i < CONTAINED_END; i++)
		if (wanted[i] < 0 || dup2(wanted[i], i) < 0)
			return -1;
	return sys_close_range(CONTAINED_END, ~0u, 0);
}

int engine_become(const struct sandbox *sandbox, int control, int letter, int program, int errors,
		  struct failure *failure)
{
	char *const environment[] = {(char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
	char preserved[16];
	const char *words[] = {sandbox->runtime,
			       "--root",
			       CONTAINER_STATE,
			       runtimes[runtime_kind(sandbox->runtime)].option,
			       "run",
			       "--no-new-keyring",
			       "--preserve-fds",
			       preserved,
			       "--bundle",
			       CONTAINER_BUNDLE,
			       "ward",
			       NULL};

	snprintf(preserved, sizeof(preserved), "%d", CONTAINED_END - CONTAINED_CONTROL);
	if (arrange(sandbox, control, letter, program, errors) < 0)
		return stage_fail(failure, "handing over", "the streams");
	execve(sandbox->runtime, (char *const *)words, environment);
	return stage_fail(failure, "starting", sandbox->runtime);
}
