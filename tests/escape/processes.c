/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks on other processes: ward's init inside, and the host's. */
#include "attack.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>

extern char **environ;

/* Without a pid namespace init is simply our parent. */
static const char *of_init(const char *file)
{
	static char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", getppid(), file);
	return path;
}

static bool holds(const char *path, const char *text)
{
	static char data[1 << 20];
	int fd = open(path, O_RDONLY);
	ssize_t length = fd < 0 ? -1 : read(fd, data, sizeof(data));

	close(fd);
	if (length >= 0)
		errno = ENODATA;
	return length > 0 && memmem(data, (size_t)length, text, strlen(text));
}

static int attack_environment(char **arguments)
{
	errno = ENODATA;
	for (char **variable = environ; *variable; variable++)
		if (strstr(*variable, arguments[0]))
			return verdict(true, "finding it in our environment");
	return verdict(holds("/proc/self/environ", arguments[0]), "/proc/self/environ");
}

static int attack_init_environ(char **arguments)
{
	return verdict(holds(of_init("environ"), arguments[0]), "environ of init");
}

static int attack_init_cmdline(char **arguments)
{
	return verdict(holds(of_init("cmdline"), arguments[0]), "cmdline of init");
}

/* Anywhere at all: every process that can be seen. */
static int attack_any_cmdline(char **arguments)
{
	char path[64];

	for (int pid = 1; pid < 100000; pid++) {
		snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
		if (pid != getpid() && holds(path, arguments[0]))
			return verdict(true, path);
	}
	errno = ENODATA;
	return verdict(false, "cmdline of any process");
}

static int attack_init_mem(char **arguments)
{
	(void)arguments;
	return verdict(open(of_init("mem"), O_RDONLY) >= 0, "mem of init");
}

static int attack_init_maps(char **arguments)
{
	(void)arguments;
	return verdict(holds(of_init("maps"), "r"), "maps of init");
}

static int attack_init_root(char **arguments)
{
	(void)arguments;
	return verdict(open(of_init("root"), O_PATH) >= 0, "root of init");
}

static int attack_init_cwd(char **arguments)
{
	(void)arguments;
	return verdict(open(of_init("cwd"), O_PATH) >= 0, "cwd of init");
}

static int attack_init_fd(char **arguments)
{
	char path[64];

	(void)arguments;
	for (int fd = 0; fd < 64; fd++) {
		snprintf(path, sizeof(path), "fd/%d", fd);
		if (open(of_init(path), O_RDONLY | O_NONBLOCK) >= 0 || errno == ENXIO)
			return verdict(true, "an fd of init");
	}
	return verdict(false, "an fd of init");
}

/* A running program cannot be written to; that nothing else refuses it is the attack. */
static int attack_init_exe(char **arguments)
{
	int fd = open(of_init("exe"), O_WRONLY);

	(void)arguments;
	return verdict(fd >= 0 || errno == ETXTBSY, "exe of init for writing");
}

static int attack_init_ptrace(char **arguments)
{
	(void)arguments;
	return verdict(ptrace(PTRACE_SEIZE, getppid(), 0, 0) == 0, "ptrace of init");
}

/* Init's memory is not laid out as ours; that we get as far as being told so is enough. */
static int attack_init_vm(char **arguments)
{
	char data = 'x';
	struct iovec here = {&data, 1}, there = {(void *)0x1000, 1};

	(void)arguments;
	errno = 0;
	return verdict(process_vm_writev(getppid(), &here, 1, &there, 1, 0) == 1 || errno == EFAULT,
		       "process_vm_writev to init");
}

static int attack_init_getfd(char **arguments)
{
	int pidfd = (int)syscall(SYS_pidfd_open, getppid(), 0);

	(void)arguments;
	if (pidfd < 0)
		cannot_try("pidfd_open of init");
	for (int fd = 0; fd < 64; fd++)
		if (syscall(SYS_pidfd_getfd, pidfd, fd, 0) >= 0)
			return verdict(true, "taking an fd of init");
	return verdict(false, "taking an fd of init");
}

/* Whoever makes init run last decides when it ends the others. */
static int attack_init_scheduler(char **arguments)
{
	struct sched_param none = {0};

	(void)arguments;
	return verdict(sched_setscheduler(getppid(), SCHED_BATCH, &none) == 0,
		       "the scheduler of init");
}

static int attack_init_affinity(char **arguments)
{
	cpu_set_t all;

	(void)arguments;
	CPU_ZERO(&all);
	CPU_SET(0, &all);
	return verdict(sched_setaffinity(getppid(), sizeof(all), &all) == 0, "the CPUs of init");
}

static int attack_init_priority(char **arguments)
{
	(void)arguments;
	return verdict(setpriority(PRIO_PROCESS, (id_t)getppid(), 1) == 0, "the priority of init");
}

static int attack_init_priority_by_user(char **arguments)
{
	int before = getpriority(PRIO_PROCESS, (id_t)getppid());

	(void)arguments;
	setpriority(PRIO_USER, getuid(), before + 1);
	return verdict(getpriority(PRIO_PROCESS, (id_t)getppid()) != before,
		       "the priority of all of the user's processes");
}

static int attack_init_limit(char **arguments)
{
	struct rlimit little = {16, 16};

	(void)arguments;
	return verdict(prlimit(getppid(), RLIMIT_NOFILE, &little, NULL) == 0, "a limit of init");
}

/* Pid 1 gets only what it has a handler for; it must not die of anything else either. */
static int attack_init_kill(char **arguments)
{
	int init = getppid();

	(void)arguments;
	for (int signal = 1; signal <= SIGRTMAX; signal++)
		kill(init, signal);
	usleep(50000);
	errno = EPERM;
	return verdict(getppid() != init, "ending init");
}

/* From here on a process of the host, given by its pid there. */

static int attack_kill(char **arguments)
{
	return verdict(kill(atoi(arguments[0]), 0) == 0, "kill");
}

static int attack_tgkill(char **arguments)
{
	int pid = atoi(arguments[0]);

	return verdict(syscall(SYS_tgkill, pid, pid, 0) == 0, "tgkill");
}

static int attack_sigqueue(char **arguments)
{
	return verdict(sigqueue(atoi(arguments[0]), 0, (union sigval){0}) == 0, "sigqueue");
}

static int attack_pidfd(char **arguments)
{
	int pidfd = (int)syscall(SYS_pidfd_open, atoi(arguments[0]), 0);

	return verdict(pidfd >= 0 && syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) == 0,
		       "pidfd_send_signal");
}

/* SIGIO by the owner of a pipe. */
static int attack_owner(char **arguments)
{
	int ends[2];

	if (pipe(ends) < 0)
		cannot_try("pipe");
	return verdict(fcntl(ends[0], F_SETOWN, atoi(arguments[0])) == 0 &&
			       fcntl(ends[0], F_GETOWN) == atoi(arguments[0]),
		       "F_SETOWN");
}

static int attack_prlimit(char **arguments)
{
	struct rlimit old;

	if (prlimit(atoi(arguments[0]), RLIMIT_NOFILE, NULL, &old) < 0)
		return verdict(false, "prlimit");
	return verdict(prlimit(atoi(arguments[0]), RLIMIT_NOFILE, &old, NULL) == 0, "prlimit");
}

static int attack_priority(char **arguments)
{
	errno = 0;
	return verdict(setpriority(PRIO_PROCESS, (id_t)atoi(arguments[0]), 19) == 0, "setpriority");
}

static int attack_ptrace(char **arguments)
{
	return verdict(ptrace(PTRACE_SEIZE, atoi(arguments[0]), 0, 0) == 0, "ptrace");
}

static int attack_vm(char **arguments)
{
	char data = 'x';
	struct iovec here = {&data, 1}, there = {(void *)0x1000, 1};

	errno = 0;
	return verdict(process_vm_writev(atoi(arguments[0]), &here, 1, &there, 1, 0) == 1 ||
			       errno == EFAULT,
		       "process_vm_writev");
}

static int attack_look(char **arguments)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/status", arguments[0]);
	return verdict(holds(path, arguments[1]), path);
}

static int attack_environ(char **arguments)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/environ", arguments[0]);
	return verdict(open(path, O_RDONLY) >= 0, path);
}

static int attack_root(char **arguments)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/root/etc/passwd", arguments[0]);
	return verdict(open(path, O_RDONLY) >= 0, path);
}

static int attack_mem(char **arguments)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/mem", arguments[0]);
	return verdict(open(path, O_RDWR) >= 0, path);
}

static int attack_fd(char **arguments)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/fd/0", arguments[0]);
	return verdict(open(path, O_RDONLY) >= 0, path);
}

/* The supervisor is the parent of init. */
static int attack_supervisor(char **arguments)
{
	static char text[4096];
	int fd = open(of_init("status"), O_RDONLY);
	const char *at;

	(void)arguments;
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return verdict(false, "finding the supervisor");
	at = strstr(text, "PPid:");
	errno = ESRCH;
	return verdict(at && atoi(at + 5) > 0 && kill(atoi(at + 5), SIGWINCH) == 0,
		       "a signal to the supervisor");
}

static const struct attack attacks[] = {
	{"environment", 1, attack_environment},
	{"init-environ", 1, attack_init_environ},
	{"init-cmdline", 1, attack_init_cmdline},
	{"any-cmdline", 1, attack_any_cmdline},
	{"init-mem", 0, attack_init_mem},
	{"init-maps", 0, attack_init_maps},
	{"init-root", 0, attack_init_root},
	{"init-cwd", 0, attack_init_cwd},
	{"init-fd", 0, attack_init_fd},
	{"init-exe", 0, attack_init_exe},
	{"init-ptrace", 0, attack_init_ptrace},
	{"init-vm", 0, attack_init_vm},
	{"init-getfd", 0, attack_init_getfd},
	{"init-scheduler", 0, attack_init_scheduler},
	{"init-affinity", 0, attack_init_affinity},
	{"init-priority", 0, attack_init_priority},
	{"init-priority-by-user", 0, attack_init_priority_by_user},
	{"init-limit", 0, attack_init_limit},
	{"init-kill", 0, attack_init_kill},
	{"kill", 1, attack_kill},
	{"tgkill", 1, attack_tgkill},
	{"sigqueue", 1, attack_sigqueue},
	{"pidfd", 1, attack_pidfd},
	{"owner", 1, attack_owner},
	{"prlimit", 1, attack_prlimit},
	{"priority", 1, attack_priority},
	{"ptrace", 1, attack_ptrace},
	{"vm", 1, attack_vm},
	{"look", 2, attack_look},
	{"environ", 1, attack_environ},
	{"root", 1, attack_root},
	{"mem", 1, attack_mem},
	{"fd", 1, attack_fd},
	{"supervisor", 0, attack_supervisor},
};

int main(int argc, char **argv)
{
	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
