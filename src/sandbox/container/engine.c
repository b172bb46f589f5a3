/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: makes the container's root out of the tree that was made for it, and becomes the
 * runtime. Binds are made here and not by the runtime: crun 1.8 leaves out what is mounted below,
 * and with it every mask. */
#include "container.h"
#include "../../base/io.h"
#include "../../base/path.h"
#include "../../sys/kernel.h"
#include "../../sys/place.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>

/* Names of runtimes, and how each is told not to look for control groups: the run has its own, and
 * the runtime is in it. */
static const struct {
	const char *name, *option;
	bool early;    /* reads its configuration from a pipe as well */
	bool done;     /* when the container stands: the rest it would only watch */
	bool covers;   /* refuses machines with both versions of cgroups, so it sees none */
	bool compiled; /* takes the filter as a program */
	bool root;     /* is root inside before it is anybody else */
	bool apart;    /* has a kernel of its own: see apart.c */
} runtimes[] = {
	{"crun", "--cgroup-manager=disabled", true, true, true, true, false, false},
	{"runc", "--rootless=true", false, false, false, false, true, false},
	{"runsc", "--ignore-cgroups", false, false, false, false, true, true},
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

bool runtime_starts_early(const char *runtime)
{
	return runtimes[runtime_kind(runtime)].early;
}

bool runtime_is_done_early(const char *runtime)
{
	return runtimes[runtime_kind(runtime)].done;
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
static int arrange(int input, int control, int program, int errors)
{
	enum { AWAY = 64 };
	int wanted[CONTAINED_END] = {input, errors, errors, control, program};

	for (int i = 0; i < CONTAINED_END; i++)
		if ((wanted[i] = fcntl(wanted[i], F_DUPFD_CLOEXEC, AWAY)) < 0)
			return -1;
	for (int i = 0; i < CONTAINED_END; i++)
		if (dup2(wanted[i], i) < 0)
			return -1;
	return sys_close_range(CONTAINED_END, ~0u, 0);
}

int engine_become(const char *runtime, int control, int program, int errors, int config,
		  struct failure *failure)
{
	char *const environment[] = {(char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
	const char *bundle[] = {"--bundle", CONTAINER_BUNDLE, "ward", NULL};
	const char *pipe[] = {"--bundle", "/", "--config", "/proc/self/fd/0", "ward", NULL};
	const char *words[16] = {
		runtime,
		"--root",
		CONTAINER_STATE,
		runtimes[runtime_kind(runtime)].option,
		"run",
		"--no-new-keyring",
		"--preserve-fds",
	};
	char preserved[16];
	size_t count = 7;

	snprintf(preserved, sizeof(preserved), "%d", CONTAINED_END - CONTAINED_CONTROL);
	words[count++] = preserved;
	for (const char **word = config < 0 ? bundle : pipe; *word; word++)
		words[count++] = *word;
	if (config < 0)
		config = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (arrange(config, control, program, errors) < 0)
		return stage_fail(failure, "handing over", "the streams");
	execve(runtime, (char *const *)words, environment);
	return stage_fail(failure, "starting", runtime);
}

/* From here on the table of fds is our own. Whoever reads the note knows that. */
static _Noreturn void start_early(const char *runtime, int control, int config,
				  const struct engine_note *note, struct failure *failure)
{
	if (sys_close_range(1u << 30, ~0u, CLOSE_RANGE_UNSHARE) < 0)
		stage_fail(failure, "leaving", "the shared table of fds");
	else if (write(control, note, sizeof(*note)) == sizeof(*note))
		engine_become(runtime, control, note->program, note->errors, config, failure);
	dprintf(note->errors, "%s %s: %s", failure->stage, failure->object,
		strerror(failure->errnum));
	_exit(1);
}

int engine_split(const char *runtime, int control, int *ret_config, struct build_report *report)
{
	struct engine_note note = {.worker = -1, .program = engine_open_program()};
	struct kernel_clone arguments = {.flags = CLONE_FILES | CLONE_PIDFD,
					 .exit_signal = SIGCHLD,
					 .pidfd = (uint64_t)(uintptr_t)&note.worker};
	pid_t engine = getpid(), worker;
	int config[2];

	note.errors = memfd_create("runtime", MFD_CLOEXEC);
	if (note.program < 0 || note.errors < 0 || pipe2(config, O_CLOEXEC) < 0)
		return stage_fail(&report->failure, "opening", "ward's own program");
	note.config = config[0];
	worker = sys_clone_any(&arguments);
	if (worker < 0)
		return stage_fail(&report->failure, "starting", "who builds the container");
	/* Else it would stand behind us where the supervisor has just become idle. */
	if (worker > 0)
		place_elsewhere(worker);
	if (worker > 0)
		start_early(runtime, control, config[0], &note, &report->failure);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != engine)
		_exit(0);
	report->errors = note.errors;
	*ret_config = config[1];
	return 0;
}

int engine_tell(const struct sandbox *sandbox, int config, struct failure *failure)
{
	int r = write_all(config, sandbox->bundle, strlen(sandbox->bundle));

	close_fd(&config);
	return r < 0 ? stage_fail(failure, "writing", "the runtime's configuration") : 0;
}
