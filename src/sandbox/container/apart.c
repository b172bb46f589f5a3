/* SPDX-License-Identifier: Apache-2.0 */
/* A container under a kernel of its own: runsc, of gVisor.
 *
 *   ward (supervisor)
 *     +-- engine: makes the tree as for any container, then namespaces for pids, network, IPC, host
 *         |   name and control groups, and waits
 *         +-- pid 1 of them: ward's init, whose command is the runtime
 *               +-- runsc
 *                     +-- gofer: opens files for the kernel, below the container's root, which is
 *                     |   the tree with its masks and read-only mounts
 *                     +-- sandbox: that kernel, a program; in it ward again, and the command
 *
 * The command makes no call of the machine's kernel, so neither Landlock nor a filter could be put
 * around it, and nothing shows what it tries. What the gofer does for it is done by names, one at a
 * time, and by a program that the command has no part in: a filter around the runtime shows each
 * call that makes or writes a file to the supervisor, so that names that run programs are guarded,
 * and what is refused to a file is known (observe/files/apart.c).
 *
 * Everything the runtime starts is in a pid namespace that ends with its pid 1, which ends with the
 * supervisor: runsc leaves a sandbox and a gofer behind where it is killed. */
#include "container.h"
#include "../bpf.h"
#include "../../base/io.h"
#include "../../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>

unsigned apart_walls(void)
{
	return (WALL_BIT(WALL_USER_NAMESPACE) | WALL_BIT(WALL_MOUNT_NAMESPACE) |
		WALL_BIT(WALL_PID_NAMESPACE) | WALL_BIT(WALL_IPC_NAMESPACE) |
		WALL_BIT(WALL_UTS_NAMESPACE) | WALL_BIT(WALL_NET_NAMESPACE) |
		WALL_BIT(WALL_CGROUP_NAMESPACE) | WALL_BIT(WALL_READ_ONLY) | WALL_BIT(WALL_MASKS) |
		WALL_BIT(WALL_DEVICES) | WALL_BIT(WALL_PROC) | WALL_BIT(WALL_TMP) |
		WALL_BIT(WALL_RUN) | WALL_BIT(WALL_NO_NEW_PRIVILEGES) |
		WALL_BIT(WALL_CAPABILITIES) | WALL_BIT(WALL_ENVIRONMENT) |
		WALL_BIT(WALL_DESCRIPTORS) | WALL_BIT(WALL_GUARD) | WALL_BIT(WALL_GVISOR)) &
	       ~walls_switched_off();
}

/* A file of ours in the container. Not a mount of the host's: ward may lie where the tree shows
 * nothing, and there is no other way to hand the runtime a program. */
static int copy_program(int program)
{
	_cleanup_close_ int copy =
		open(CONTAINER_ROOT APART_PROGRAM, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0555);
	off_t at = 0;
	struct stat st;

	if (copy < 0 || fstat(program, &st) < 0)
		return -1;
	while (at < st.st_size)
		if (sendfile(copy, program, &at, (size_t)(st.st_size - at)) <= 0)
			return -1;
	return fchmod(copy, 0555);
}

/* What the runtime starts, and the one file by which it is told how that ended. The command can
 * write it as well, and so say what it likes of its own end, in four kilobytes. */
static int lay_out(int program, int *ret_end, struct failure *failure)
{
	static const unsigned long own = MS_NOSUID | MS_NODEV;

	if (mount("tmpfs", CONTAINER_ROOT APART_PLACE, "tmpfs", own, "mode=755,nr_inodes=8") < 0 ||
	    copy_program(program) < 0 || mkdir(CONTAINER_ROOT APART_TOLD, 0755) < 0 ||
	    mount("", CONTAINER_ROOT APART_PLACE, NULL, MS_REMOUNT | MS_RDONLY | own, NULL) < 0)
		return stage_fail(failure, "laying out", "ward's own program");
	if (mount("tmpfs", CONTAINER_ROOT APART_TOLD, "tmpfs", own | MS_NOEXEC,
		  "mode=755,size=4k,nr_inodes=2") < 0 ||
	    (*ret_end = open(CONTAINER_ROOT APART_END, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
			     0600)) < 0)
		return stage_fail(failure, "laying out", "what is told of the end");
	return 0;
}

/* The runtime's own tree shows our namespaces and nothing of the machine's processes; the
 * container's is counted by. */
static int mount_own(const struct sandbox *sandbox, struct failure *failure)
{
	static const char *const places[] = {"/proc", CONTAINER_ROOT "/proc"};

	for (size_t i = 0; i < ELEMENTS(places); i++)
		if (mount("proc", places[i], "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
			return stage_fail(failure, "mounting", places[i]);
	if (sandbox->terminal && mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
				       "newinstance,ptmxmode=0666,mode=0620") < 0)
		return stage_fail(failure, "mounting", "/dev/pts");
	return 0;
}

/* Set-id bits are for nobody: the file would be one of the machine's. */
#define SETS_ID(argument)                                                               \
	{                                                                               \
		argument, BPF_ANY_BITS, S_ISUID | S_ISGID, 0, SECCOMP_RET_ERRNO | EPERM \
	}
#define WRITES(argument)                                                          \
	{                                                                         \
		argument, BPF_ANY_BITS, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 0, \
			SECCOMP_RET_USER_NOTIF                                    \
	}
#define MAKES(argument)                                          \
	{                                                        \
		argument, BPF_ANY_BITS, O_CREAT, 0, BPF_AND_NEXT \
	}

/* Whatever makes a name, or opens a file to write it, is shown: all that these programs do on the
 * machine's files. */
static int show_files(int *ret_listener, struct failure *failure)
{
	static const struct bpf_rule open_rules[] = {MAKES(1), SETS_ID(2), WRITES(1), {0}},
				     openat_rules[] = {MAKES(2), SETS_ID(3), WRITES(2), {0}},
				     mode_first[] = {SETS_ID(1), {0}},
				     mode_second[] = {SETS_ID(2), {0}};
	static const uint32_t shown = SECCOMP_RET_USER_NOTIF, free = SECCOMP_RET_ALLOW,
			      none = SECCOMP_RET_ERRNO | ENOSYS;
	/* In the order of their numbers. */
	const struct bpf_call calls[] = {
		{SYS_open, free, open_rules},	   {SYS_rename, shown, NULL},
		{SYS_mkdir, shown, mode_first},	   {SYS_creat, shown, mode_first},
		{SYS_link, shown, NULL},	   {SYS_symlink, shown, NULL},
		{SYS_chmod, free, mode_first},	   {SYS_fchmod, free, mode_first},
		{SYS_mknod, shown, mode_first},	   {SYS_openat, free, openat_rules},
		{SYS_mkdirat, shown, mode_second}, {SYS_mknodat, shown, mode_second},
		{SYS_renameat, shown, NULL},	   {SYS_linkat, shown, NULL},
		{SYS_symlinkat, shown, NULL},	   {SYS_fchmodat, free, mode_second},
		{SYS_renameat2, shown, NULL},	   {SYS_io_uring_setup, none, NULL},
		{SYS_openat2, none, NULL}, /* its flags lie in memory */
		{452, free, mode_second},  /* fchmodat2 */
	};
	static struct sock_filter program[BPF_ROOM];
	struct sock_fprog filter = {.filter = program};
	int length =
		bpf_build(AUDIT_ARCH_X86_64, calls, ELEMENTS(calls), SECCOMP_RET_ALLOW, program);

	if (length < 0) {
		errno = -length;
		return stage_fail(failure, "building", "the system-call filter");
	}
	filter.len = (unsigned short)length;
	*ret_listener = sys_seccomp(
		SECCOMP_SET_MODE_FILTER,
		SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &filter);
	if (*ret_listener < 0 && errno == EINVAL) /* before Linux 5.19 */
		*ret_listener = sys_seccomp(SECCOMP_SET_MODE_FILTER,
					    SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
	return *ret_listener < 0
		       ? stage_fail(failure, "showing to the supervisor", "the runtime's calls")
		       : 0;
}

/* Not those of the command, which are in the bundle: what the kernel of its own needs is more. */
static int limit_runtime(struct failure *failure)
{
	const struct rlimit none = {1, 1}; /* see stage_limits */

	return setrlimit(RLIMIT_CORE, &none) < 0 ? stage_fail(failure, "limiting", "core dumps")
						 : 0;
}

static int build(const struct sandbox *sandbox, int program, int *ret_end,
		 struct build_report *report)
{
	struct failure *failure = &report->failure;
	const unsigned walls = apart_walls();

	report->rung = (struct rung){.walls = walls};
	if (mount_own(sandbox, failure) < 0 || lay_out(program, ret_end, failure) < 0 ||
	    stage_streams(sandbox, walls, report) < 0)
		return -1;
	report->root = open(CONTAINER_ROOT, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (report->root < 0)
		return stage_fail(failure, "opening", CONTAINER_ROOT);
	if (limit_runtime(failure) < 0)
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return stage_fail(failure, "forbidding", "new privileges");
	return show_files(&report->listener, failure);
}

/* As the runtime's caller: its command is the runtime. */
static _Noreturn void keep(const struct sandbox *sandbox, int control, int end,
			   struct build_report *report)
{
	static char number[4] = "15";
	static char *deliver[] = {NULL,
				  (char *)"--root",
				  (char *)CONTAINER_STATE,
				  (char *)"--rootless",
				  (char *)"kill",
				  (char *)"ward",
				  number,
				  NULL};
	char *environment[] = {(char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
	char *words[] = {(char *)sandbox->runtime,
			 (char *)"--root",
			 (char *)CONTAINER_STATE,
			 (char *)"--rootless",
			 (char *)"--ignore-cgroups",
			 (char *)"--network=none",
			 (char *)"--platform=ptrace",
			 (char *)"--file-access=shared",
			 (char *)"--overlay2=none",
			 (char *)"run",
			 (char *)"--bundle",
			 (char *)CONTAINER_BUNDLE,
			 (char *)"ward",
			 NULL};
	char *runtime[] = {(char *)sandbox->runtime, NULL};
	const struct list candidates = {.items = runtime, .count = 1};
	const uint32_t no_pass[4] = {0};
	struct sandbox own = *sandbox;
	struct keeper keeper = {deliver, number, end};
	int kept[8] = {control, report->terminal,   report->input, -1, -1, -1,
		       end,	sandbox->cache_lock};

	deliver[0] = (char *)sandbox->runtime;
	own.argv = words;
	own.environment = environment;
	own.candidates = &candidates;
	own.files = 0;
	own.foreground = false;
	sigemptyset(&own.signal_mask);
	own.ignores_pipe = own.ignores_child = false;
	for (int i = 0; i < 3; i++)
		if (sandbox->stdio[i].kind == STDIO_FD)
			kept[3 + i] = sandbox->stdio[i].fd;
	if (stage_leave_table(report->rung.walls, kept, ELEMENTS(kept), &report->failure) < 0)
		_exit(1);
	prctl(PR_SET_DUMPABLE, 0);
	init_main(&own, &report->rung, no_pass,
		  &(struct init_fds){control, report->terminal, report->input, -1, &keeper});
}

static _Noreturn void lead(const struct sandbox *sandbox, int control, int program)
{
	static struct build_report report = {.listener = -1,
					     .terminal = -1,
					     .names = {-1, -1, -1, -1},
					     .network = -1,
					     .mounts = -1,
					     .input = -1,
					     .root = -1,
					     .tasks = -1};
	int end = -1, leader, failed;
	char go;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	leader = sys_pidfd_open(getpid());
	failed = build(sandbox, program, &end, &report);
	parcel_send(control, &report, leader);
	/* Until the supervisor knows who we are, and has put us where our limits are. */
	if (failed || read(control, &go, sizeof(go)) != sizeof(go))
		_exit(1);
	keep(sandbox, control, end, &report);
}

/* Away from the numbers of the standard streams. -1 stays. */
static int move_away(int fd)
{
	enum { AWAY = 64 };

	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, AWAY);
}

int apart_become(const struct sandbox *sandbox, int control, int program, int errors,
		 struct failure *failure)
{
	int null = move_away(open("/dev/null", O_RDWR | O_CLOEXEC));
	struct sandbox moved = *sandbox;
	pid_t leader;

	control = move_away(control);
	program = move_away(program);
	moved.cache_lock = move_away(sandbox->cache_lock);
	errors = move_away(errors);
	for (int i = 0; i < 3; i++) {
		moved.stdio[i].fd = move_away(sandbox->stdio[i].fd);
		/* One may have been closed by the caller: nothing takes its place. */
		if (moved.stdio[i].kind == STDIO_FD && moved.stdio[i].fd < 0)
			moved.stdio[i].fd = move_away(null);
	}
	if (dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    dup2(errors, STDERR_FILENO) < 0)
		return stage_fail(failure, "opening", "/dev/null");
	if (unshare(CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET | CLONE_NEWCGROUP) <
	    0)
		return stage_fail(failure, "making", "the namespaces");
	leader = fork();
	if (leader < 0)
		return stage_fail(failure, "starting", "the container's keeper");
	if (leader == 0)
		lead(&moved, control, program);
	/* The ends of pipes, and of the control socket, are its own. */
	sys_close_range(0, ~0u, 0);
	while (waitpid(leader, NULL, 0) < 0 && errno == EINTR)
		;
	_exit(0);
}
