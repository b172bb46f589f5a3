/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks by system calls that a command has no need of: namespaces, mounts, and the kernel's own
 * machinery. */
#include "attack.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/user.h>

#define HIGH_BITS (0xa5ul << 32)

static int attack_unshare(char **arguments)
{
	(void)arguments;
	return verdict(syscall(SYS_unshare, HIGH_BITS | CLONE_NEWUSER) == 0, "unshare");
}

static int attack_clone(char **arguments)
{
	long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

	(void)arguments;
	if (pid == 0)
		_exit(0);
	return verdict(pid > 0, "clone");
}

static int attack_clone3(char **arguments)
{
	struct {
		uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
	} how = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
	long pid = syscall(SYS_clone3, &how, sizeof(how));

	(void)arguments;
	if (pid == 0)
		_exit(0);
	return verdict(pid > 0, "clone3");
}

static int attack_setns(char **arguments)
{
	int fd = open("/proc/self/ns/uts", O_RDONLY);

	(void)arguments;
	if (fd < 0)
		cannot_try("/proc/self/ns/uts");
	return verdict(setns(fd, CLONE_NEWUTS) == 0, "setns");
}

static int attack_hostname(char **arguments)
{
	(void)arguments;
	return verdict(sethostname("attacked", 8) == 0, "sethostname");
}

static int attack_mount(char **arguments)
{
	(void)arguments;
	mkdir("mounted", 0700);
	return verdict(mount("tmpfs", "mounted", "tmpfs", 0, NULL) == 0, "mount");
}

static int attack_remount(char **arguments)
{
	(void)arguments;
	return verdict(mount(NULL, "/usr", NULL, MS_REMOUNT | MS_BIND, NULL) == 0 ||
			       mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL) == 0,
		       "remount");
}

static int attack_set_attributes(char **arguments)
{
	struct {
		uint64_t set, clear, propagation, userns;
	} writable = {.clear = 1 /* MOUNT_ATTR_RDONLY */};

	(void)arguments;
	return verdict(syscall(442, AT_FDCWD, "/", 0, &writable, sizeof(writable)) == 0,
		       "mount_setattr");
}

static int attack_file_system(char **arguments)
{
	(void)arguments;
	return verdict(syscall(430, "tmpfs", 0) >= 0, "fsopen");
}

static int attack_clone_tree(char **arguments)
{
	(void)arguments;
	return verdict(syscall(428, AT_FDCWD, ".", 1 /* OPEN_TREE_CLONE */) >= 0, "open_tree");
}

/* Refused by rule or told that the place is wrong: only the latter has come through. */
static int attack_pivot(char **arguments)
{
	(void)arguments;
	return verdict(syscall(SYS_pivot_root, ".", ".") == 0 || errno == EINVAL || errno == EBUSY,
		       "pivot_root");
}

static int attack_chroot(char **arguments)
{
	(void)arguments;
	return verdict(chroot(".") == 0, "chroot");
}

static int attack_ring(char **arguments)
{
	struct io_uring_params parameters = {0};

	(void)arguments;
	return verdict(syscall(SYS_io_uring_setup, 4, &parameters) >= 0, "io_uring_setup");
}

/* One operation by a ring, which no filter sees. */
static int submit(struct io_uring_sqe operation)
{
	struct io_uring_params parameters = {0};
	int ring = (int)syscall(SYS_io_uring_setup, 1, &parameters), result;
	struct io_uring_sqe *entries;
	struct io_uring_cqe *done;
	unsigned *tail;
	char *queue;

	if (ring < 0)
		return -errno;
	queue = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	entries = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
	if (queue == MAP_FAILED || entries == MAP_FAILED)
		return -errno;
	entries[0] = operation;
	tail = (unsigned *)(queue + parameters.sq_off.tail);
	((unsigned *)(queue + parameters.sq_off.array))[0] = 0;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
		return -errno;
	done = (struct io_uring_cqe *)(queue + parameters.cq_off.cqes);
	result = done->res;
	close(ring);
	return result;
}

/* Arguments: a file outside. */
static int attack_ring_open(char **arguments)
{
	int fd = submit((struct io_uring_sqe){.opcode = IORING_OP_OPENAT,
					      .fd = AT_FDCWD,
					      .addr = (uintptr_t)arguments[0],
					      .open_flags = O_WRONLY | O_APPEND});

	errno = fd < 0 ? -fd : 0;
	return verdict(fd >= 0 && write(fd, "x", 1) == 1, "opening by a ring");
}

/* Arguments: a unix socket of the host. */
static int attack_ring_connect(char **arguments)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), result;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", arguments[0]);
	result = submit((struct io_uring_sqe){.opcode = IORING_OP_CONNECT,
					      .fd = fd,
					      .addr = (uintptr_t)&address,
					      .off = sizeof(address)});
	errno = result < 0 ? -result : 0;
	return verdict(result == 0, "connecting by a ring");
}

/* The rest reach the kernel if they get any answer but "you may not" and "no such call". */
static int reaches(long result, const char *what)
{
	return verdict(result >= 0 || (errno != EPERM && errno != ENOSYS && errno != EACCES), what);
}

static int attack_bpf(char **arguments)
{
	struct {
		uint32_t type, key, value, entries, flags;
	} map = {2 /* array */, 4, 4, 1, 0};

	(void)arguments;
	return reaches(syscall(SYS_bpf, 0 /* BPF_MAP_CREATE */, &map, sizeof(map)), "bpf");
}

static int attack_perf(char **arguments)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_TASK_CLOCK,
				       .exclude_kernel = 1,
				       .exclude_hv = 1};

	(void)arguments;
	return reaches(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0), "perf_event_open");
}

static int attack_keyctl(char **arguments)
{
	(void)arguments;
	return reaches(syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_SESSION_KEYRING, 1),
		       "keyctl");
}

static int attack_add_key(char **arguments)
{
	(void)arguments;
	return reaches(syscall(SYS_add_key, "user", "ward", "x", 1, KEY_SPEC_PROCESS_KEYRING),
		       "add_key");
}

static int attack_request_key(char **arguments)
{
	(void)arguments;
	return reaches(syscall(SYS_request_key, "user", "ward-none", NULL, 0), "request_key");
}

static int attack_userfaultfd(char **arguments)
{
	(void)arguments;
	return reaches(syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */), "userfaultfd");
}

static int attack_module(char **arguments)
{
	(void)arguments;
	return reaches(syscall(SYS_init_module, "x", 1, ""), "init_module");
}

static int attack_module_by_fd(char **arguments)
{
	(void)arguments;
	return reaches(syscall(SYS_finit_module, -1, "", 0), "finit_module");
}

static int attack_module_removal(char **arguments)
{
	(void)arguments;
	return reaches(syscall(SYS_delete_module, "ward_no_such_module", O_NONBLOCK),
		       "delete_module");
}

static int attack_kexec(char **arguments)
{
	(void)arguments;
	return reaches(syscall(SYS_kexec_load, 0, 1000000, NULL, 0), "kexec_load");
}

static int attack_kexec_file(char **arguments)
{
	(void)arguments;
	return reaches(syscall(SYS_kexec_file_load, -1, -1, 0, NULL, 1ul << 31), "kexec_file_load");
}

static int attack_reboot(char **arguments)
{
	(void)arguments;
	return reaches(syscall(SYS_reboot, 0, 0, 0, NULL), "reboot"); /* wrong on purpose */
}

static int attack_swap(char **arguments)
{
	(void)arguments;
	return reaches(syscall(SYS_swapoff, "no-such-swap"), "swapoff");
}

static int attack_ports(char **arguments)
{
	(void)arguments;
	return reaches(syscall(SYS_ioperm, 0x80, 1, 1), "ioperm");
}

static int attack_accounting(char **arguments)
{
	(void)arguments;
	return reaches(syscall(SYS_acct, "no-such-file"), "acct");
}

static int attack_log(char **arguments)
{
	(void)arguments;
	return reaches(syscall(SYS_syslog, 10 /* size of the buffer */, NULL, 0), "syslog");
}

static int attack_watch(char **arguments)
{
	(void)arguments;
	return reaches(syscall(SYS_fanotify_init, 0x200 /* by name */, O_RDONLY), "fanotify_init");
}

static int attack_personality(char **arguments)
{
	(void)arguments;
	return verdict(syscall(SYS_personality, READ_IMPLIES_EXEC) >= 0 &&
			       personality(0xffffffff) & READ_IMPLIES_EXEC,
		       "personality");
}

/* How a child ends that might be killed for what it does: true if it lived and said yes. */
static bool child_says_yes(bool (*act)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(act() ? 0 : 1);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		cannot_try("a child");
	errno = EPERM;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool call_as_x32(void)
{
	return syscall(0x40000000 | SYS_getpid) == getpid();
}

static bool call_as_i386(void)
{
	long result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(20 /* getpid */)
			 : "memory", "r8", "r9", "r10", "r11");
	return result == getpid();
}

static int attack_x32(char **arguments)
{
	(void)arguments;
	return verdict(child_says_yes(call_as_x32), "a call by the x32 numbers");
}

static int attack_i386(char **arguments)
{
	(void)arguments;
	return verdict(child_says_yes(call_as_i386), "a call by int 0x80");
}

/* The tracer changes the number of a call that the filter has let pass. */
static int attack_traced_call(char **arguments)
{
	struct user_regs_struct registers;
	int status;
	pid_t pid = fork();

	(void)arguments;
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(syscall(SYS_getppid, CLONE_NEWUSER) == 0 ? 0 : 1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		cannot_try("tracing a child");
	for (;;) {
		if (ptrace(PTRACE_SYSCALL, pid, 0, 0) < 0 || waitpid(pid, &status, 0) != pid)
			cannot_try("tracing a child");
		if (!WIFSTOPPED(status))
			break;
		if (ptrace(PTRACE_GETREGS, pid, 0, &registers) == 0 &&
		    registers.orig_rax == SYS_getppid && registers.rax == (unsigned long)-ENOSYS) {
			registers.orig_rax = SYS_unshare;
			ptrace(PTRACE_SETREGS, pid, 0, &registers);
		}
	}
	errno = EPERM;
	return verdict(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a call changed by a tracer");
}

static int attack_limit(char **arguments)
{
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

	(void)arguments;
	return verdict(setrlimit(RLIMIT_CORE, &limit) == 0, "raising a limit");
}

/* A program that exists in memory only is still the same prisoner. Arguments: a program, and its
 * arguments. */
static int attack_memory_program(char **arguments)
{
	char data[65536];
	ssize_t length;
	int from = open(arguments[0], O_RDONLY), to = memfd_create("program", 0);

	if (from < 0 || to < 0)
		cannot_try("a program in memory");
	while ((length = read(from, data, sizeof(data))) > 0)
		if (write(to, data, (size_t)length) != length)
			cannot_try("a program in memory");
	fexecve(to, arguments, environ);
	return verdict(false, "executing a program in memory");
}

static const struct attack attacks[] = {
	{"unshare", 0, attack_unshare},
	{"clone", 0, attack_clone},
	{"clone3", 0, attack_clone3},
	{"setns", 0, attack_setns},
	{"hostname", 0, attack_hostname},
	{"mount", 0, attack_mount},
	{"remount", 0, attack_remount},
	{"set-attributes", 0, attack_set_attributes},
	{"file-system", 0, attack_file_system},
	{"clone-tree", 0, attack_clone_tree},
	{"pivot", 0, attack_pivot},
	{"chroot", 0, attack_chroot},
	{"ring", 0, attack_ring},
	{"ring-open", 1, attack_ring_open},
	{"ring-connect", 1, attack_ring_connect},
	{"bpf", 0, attack_bpf},
	{"perf", 0, attack_perf},
	{"keyctl", 0, attack_keyctl},
	{"add-key", 0, attack_add_key},
	{"request-key", 0, attack_request_key},
	{"userfaultfd", 0, attack_userfaultfd},
	{"module", 0, attack_module},
	{"module-by-fd", 0, attack_module_by_fd},
	{"module-removal", 0, attack_module_removal},
	{"kexec", 0, attack_kexec},
	{"kexec-file", 0, attack_kexec_file},
	{"reboot", 0, attack_reboot},
	{"swap", 0, attack_swap},
	{"ports", 0, attack_ports},
	{"accounting", 0, attack_accounting},
	{"log", 0, attack_log},
	{"watch", 0, attack_watch},
	{"personality", 0, attack_personality},
	{"x32", 0, attack_x32},
	{"i386", 0, attack_i386},
	{"traced-call", 0, attack_traced_call},
	{"limit", 0, attack_limit},
	{"memory-program", 1, attack_memory_program},
};

int main(int argc, char **argv)
{
	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
