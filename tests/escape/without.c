/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program on a poorer machine: without FEATURE[,FEATURE...] PROGRAM ARGUMENT...
 *
 * A filter around it refuses what the features need, as a kernel without them or a container engine
 * does. What no filter can tell (a file by its name, a version by its number) a tracer changes:
 * maps, as on Ubuntu, which lets a user namespace be made and then nothing be written into it,
 * and abiN, a Landlock of that age. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CANNOT = 2, ANY = -1, TRACED = -1 };
#define NAMESPACES                                                                     \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	 CLONE_NEWPID | CLONE_NEWNET)

/* Where any of the bits is set in the argument (ANY: always), the call fails with the errno. */
static const struct feature {
	const char *name;
	int number, argument;
	uint32_t bits;
	int errnum;
} features[] = {
	{"clone3", SYS_clone3, ANY, 0, ENOSYS},
	{"userns", SYS_clone3, ANY, 0, ENOSYS},
	{"userns", SYS_clone, 0, CLONE_NEWUSER, EPERM},
	{"userns", SYS_unshare, 0, CLONE_NEWUSER, EPERM},
	{"userns-full", SYS_clone3, ANY, 0, ENOSYS},
	{"userns-full", SYS_clone, 0, CLONE_NEWUSER, ENOSPC},
	{"userns-full", SYS_unshare, 0, CLONE_NEWUSER, ENOSPC},
	{"namespaces", SYS_clone3, ANY, 0, ENOSYS},
	{"namespaces", SYS_clone, 0, NAMESPACES, EPERM},
	{"namespaces", SYS_unshare, 0, NAMESPACES, EPERM},
	{"namespaces", SYS_setns, ANY, 0, EPERM},
	{"pidns", SYS_clone3, ANY, 0, ENOSYS},
	{"pidns", SYS_clone, 0, CLONE_NEWPID, ENOSPC},
	{"mountns", SYS_unshare, 0, CLONE_NEWNS, EPERM},
	{"netns", SYS_unshare, 0, CLONE_NEWNET, ENOSPC},
	{"ipcns", SYS_unshare, 0, CLONE_NEWIPC, EINVAL},
	{"cgroupns", SYS_unshare, 0, CLONE_NEWCGROUP, EINVAL},
	{"mount", SYS_mount, ANY, 0, EACCES},
	{"mount", SYS_mount_setattr, ANY, 0, EPERM},
	{"mount", SYS_move_mount, ANY, 0, EPERM},
	{"landlock", SYS_landlock_create_ruleset, ANY, 0, ENOSYS},
	{"landlock-off", SYS_landlock_create_ruleset, ANY, 0, EOPNOTSUPP},
	{"notify", SYS_seccomp, 1, SECCOMP_FILTER_FLAG_NEW_LISTENER, EBUSY},
	{"notify-old", SYS_seccomp, 1, ~0u, EINVAL},
	{"seccomp", SYS_seccomp, ANY, 0, EINVAL},
	{"netlink", SYS_socket, 0, AF_NETLINK, EAFNOSUPPORT},
	{"maps", SYS_openat, 2, O_WRONLY | O_RDWR, TRACED},
	{"abi1", SYS_landlock_create_ruleset, 2, 1, TRACED},
	{"abi2", SYS_landlock_create_ruleset, 2, 1, TRACED},
	{"abi3", SYS_landlock_create_ruleset, 2, 1, TRACED},
	{"abi4", SYS_landlock_create_ruleset, 2, 1, TRACED},
	{"abi5", SYS_landlock_create_ruleset, 2, 1, TRACED},
};
#define FEATURES (sizeof(features) / sizeof(features[0]))

static long abi; /* the Landlock to be seen; 0: the machine's own */

static bool is_named(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = list; (at = strstr(at, name)); at++)
		if ((at == list || at[-1] == ',') && (at[length] == ',' || !at[length]))
			return true;
	return false;
}

static int cannot(const char *what)
{
	fprintf(stderr, "without: %s: %s\n", what, strerror(errno));
	return CANNOT;
}

static int refuse(const char *list)
{
	struct sock_filter program[5 * FEATURES + 1];
	struct sock_fprog filter = {.filter = program};
	unsigned short n = 0;

	for (size_t i = 0; i < FEATURES; i++) {
		const struct feature *feature = &features[i];
		uint8_t rest = feature->argument == ANY ? 1 : 3;

		if (!is_named(list, feature->name))
			continue;
		program[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
							    offsetof(struct seccomp_data, nr));
		program[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							    (uint32_t)feature->number, 0, rest);
		if (feature->argument != ANY) {
			program[n++] = (struct sock_filter)BPF_STMT(
				BPF_LD | BPF_W | BPF_ABS,
				(uint32_t)(offsetof(struct seccomp_data, args) +
					   8u * (unsigned)feature->argument));
			program[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K,
								    feature->bits, 0, 1);
		}
		program[n++] = (struct sock_filter)BPF_STMT(
			BPF_RET | BPF_K, feature->errnum == TRACED
						 ? SECCOMP_RET_TRACE
						 : SECCOMP_RET_ERRNO | (uint32_t)feature->errnum);
	}
	program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	filter.len = n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
}

static bool is_map(pid_t pid, uint64_t address)
{
	char path[64] = "";
	struct iovec here = {path, sizeof(path) - 1},
		     there = {(void *)(uintptr_t)address, sizeof(path) - 1};

	(void)!process_vm_readv(pid, &here, 1, &there, 1, 0);
	return strstr(path, "uid_map") != NULL;
}

/* The call is skipped, and has the result that the poorer machine would give. */
static void change(pid_t pid)
{
	struct user_regs_struct registers;

	if (ptrace(PTRACE_GETREGS, pid, 0, &registers) < 0)
		return;
	if (registers.orig_rax == SYS_landlock_create_ruleset && abi)
		registers.rax = (unsigned long long)abi;
	else if (registers.orig_rax == SYS_openat && is_map(pid, registers.rsi))
		registers.rax = (unsigned long long)-EPERM;
	else
		return;
	registers.orig_rax = (unsigned long long)-1;
	ptrace(PTRACE_SETREGS, pid, 0, &registers);
}

static int trace(pid_t child)
{
	const long options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			     PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
	int status, code = CANNOT;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		int signal = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;

		if (!WIFSTOPPED(status)) {
			if (pid == child)
				code = WIFEXITED(status) ? WEXITSTATUS(status)
							 : 128 + WTERMSIG(status);
			continue;
		}
		if (signal == SIGTRAP && status >> 16 == PTRACE_EVENT_SECCOMP)
			change(pid);
		if (signal == SIGSTOP || signal == SIGTRAP) {
			ptrace(PTRACE_SETOPTIONS, pid, 0, options);
			signal = 0;
		}
		ptrace(PTRACE_CONT, pid, 0, signal);
	}
	return code;
}

int main(int argc, char **argv)
{
	bool traced = false;
	pid_t child;

	if (argc < 3)
		return CANNOT;
	for (size_t i = 0; i < FEATURES; i++)
		if (features[i].errnum == TRACED && is_named(argv[1], features[i].name)) {
			traced = true;
			if (strncmp(features[i].name, "abi", 3) == 0)
				abi = features[i].name[3] - '0';
		}
	if (!traced) {
		if (refuse(argv[1]) < 0)
			return cannot("the filter");
		execv(argv[2], argv + 2);
		return cannot(argv[2]);
	}
	/* A leak checker traces as well, and only one can. */
	setenv("ASAN_OPTIONS", "exitcode=99:detect_leaks=0", 1);
	child = fork();
	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		if (refuse(argv[1]) < 0)
			_exit(cannot("the filter"));
		execv(argv[2], argv + 2);
		_exit(cannot(argv[2]));
	}
	return trace(child);
}
