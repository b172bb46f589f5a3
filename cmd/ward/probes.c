/* SPDX-License-Identifier: Apache-2.0 */
/* The escapes themselves, run inside the sandbox by ward's own program. */
#include "probes.h"
#include "../../src/base/macro.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

/* For what one call decides; errno says the rest. */
static int verdict(bool reached)
{
	return reached ? PROBE_OPEN : PROBE_HELD;
}

/* For what is no call but a fact. */
static bool is_fact;
static int fact(bool reached, const char *held, const char *open, const char **ret_what)
{
	is_fact = true;
	*ret_what = reached ? open : held;
	return verdict(reached);
}

static pid_t init; /* the sandbox's */

static bool can_read(const char *path)
{
	char text[64] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t length = fd >= 0 ? read(fd, text, sizeof(text)) : -1;
	int errnum = errno;

	close_fd(&fd);
	errno = errnum;
	return length > 0;
}

static int probe_environment_file(char *const targets[TARGETS], const char **ret_what)
{
	(void)targets;
	*ret_what = "reading .env in the workspace";
	return verdict(can_read(".env"));
}

static int probe_secret(char *const targets[TARGETS], const char **ret_what)
{
	*ret_what = "reading a denied file";
	return verdict(can_read(targets[TARGET_SECRET]));
}

static int probe_variable(char *const targets[TARGETS], const char **ret_what)
{
	(void)targets;
	return fact(getenv(PROBE_VARIABLE), "the variable " PROBE_VARIABLE " did not come through",
		    "the variable " PROBE_VARIABLE " came through", ret_what);
}

static int probe_state(char *const targets[TARGETS], const char **ret_what)
{
	*ret_what = "reading ward's audit log";
	return verdict(can_read(targets[TARGET_STATE]));
}

static int probe_host_tmp(char *const targets[TARGETS], const char **ret_what)
{
	*ret_what = "reading a file in the host's /tmp";
	if (!*targets[TARGET_TMP])
		return PROBE_UNTRIED;
	return verdict(can_read(targets[TARGET_TMP]));
}

static int probe_write(char *const targets[TARGETS], const char **ret_what)
{
	int fd = open(targets[TARGET_FILE], O_WRONLY | O_APPEND | O_CLOEXEC);

	*ret_what = "writing a file outside the workspace";
	return verdict(fd >= 0 && write(fd, "x", 1) == 1);
}

static int probe_create(char *const targets[TARGETS], const char **ret_what)
{
	*ret_what = "making a file outside the workspace";
	return verdict(open(targets[TARGET_NEW], O_WRONLY | O_CREAT | O_EXCL, 0600) >= 0);
}

static int probe_mode(char *const targets[TARGETS], const char **ret_what)
{
	*ret_what = "chmod outside the workspace";
	return verdict(chmod(targets[TARGET_FILE], 0640) == 0);
}

static int probe_switches(char *const targets[TARGETS], const char **ret_what)
{
	(void)targets;
	*ret_what = "opening /proc/sys/kernel/core_pattern for writing";
	return verdict(open("/proc/sys/kernel/core_pattern", O_WRONLY | O_CLOEXEC) >= 0);
}

static int probe_tcp(char *const targets[TARGETS], const char **ret_what)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				      .sin_port = htons((uint16_t)atoi(targets[TARGET_TCP]))};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	static char what[64];

	snprintf(what, sizeof(what), "connect to the host's 127.0.0.1:%.5s", targets[TARGET_TCP]);
	*ret_what = what;
	return verdict(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
}

static int probe_udp(char *const targets[TARGETS], const char **ret_what)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				      .sin_port = htons((uint16_t)atoi(targets[TARGET_UDP]))};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	/* Inside a network of its own it goes nowhere without an error: whether it came is seen
	 * outside. */
	*ret_what = "a datagram to the host's loopback";
	if (fd < 0)
		return PROBE_HELD;
	(void)sendto(fd, "x", 1, 0, (struct sockaddr *)&address, sizeof(address));
	return fact(false, "a datagram to the host's loopback: went nowhere", "", ret_what);
}

static int connect_unix(const char *name, size_t skip)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path + skip, sizeof(address.sun_path) - skip, "%s", name);
	return verdict(fd >= 0 && connect(fd, (struct sockaddr *)&address,
					  (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
						      skip + strlen(name))) == 0);
}

static int probe_unix(char *const targets[TARGETS], const char **ret_what)
{
	*ret_what = "connect to a unix socket of the host";
	return connect_unix(targets[TARGET_SOCKET], 0);
}

static int probe_abstract(char *const targets[TARGETS], const char **ret_what)
{
	*ret_what = "connect to an abstract socket of the host";
	return connect_unix(targets[TARGET_ABSTRACT], 1);
}

static int probe_odd_sockets(char *const targets[TARGETS], const char **ret_what)
{
	static const int kinds[][2] = {{AF_UNIX, SOCK_DGRAM},
				       {AF_PACKET, SOCK_RAW},
				       {AF_INET, SOCK_RAW},
				       {AF_ALG, SOCK_SEQPACKET},
				       {AF_VSOCK, SOCK_STREAM}};

	(void)targets;
	*ret_what = "unix datagrams, packets, raw, vsock and crypto sockets";
	for (size_t i = 0; i < ELEMENTS(kinds); i++)
		if (socket(kinds[i][0], kinds[i][1] | SOCK_CLOEXEC, 0) >= 0)
			return PROBE_OPEN;
	return PROBE_HELD;
}

static int probe_look(char *const targets[TARGETS], const char **ret_what)
{
	DIR *directory = opendir("/proc");
	struct dirent *entry;
	bool seen = false;

	(void)targets;
	while (directory && !seen && (entry = readdir(directory))) {
		char path[300], name[32] = "";
		int fd;

		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		(void)!read(fd, name, sizeof(name) - 1);
		close(fd);
		seen = strncmp(name, PROBE_PROCESS, strlen(PROBE_PROCESS)) == 0;
	}
	return fact(seen, "no process of the host is seen in /proc",
		    "processes of the host are seen in /proc", ret_what);
}

static int probe_signal(char *const targets[TARGETS], const char **ret_what)
{
	*ret_what = "a signal to a process of the host";
	if (atoi(targets[TARGET_PROCESS]) == getpid())
		return PROBE_UNTRIED;
	return verdict(kill(atoi(targets[TARGET_PROCESS]), SIGUSR1) == 0);
}

static int probe_trace(char *const targets[TARGETS], const char **ret_what)
{
	*ret_what = "ptrace of a process of the host";
	return verdict(ptrace(PTRACE_SEIZE, atoi(targets[TARGET_PROCESS]), 0, 0) == 0);
}

static int probe_environ(char *const targets[TARGETS], const char **ret_what)
{
	char path[64];

	*ret_what = "reading the environment of a process of the host";
	snprintf(path, sizeof(path), "/proc/%.10s/environ", targets[TARGET_PROCESS]);
	return verdict(can_read(path));
}

static int probe_init(char *const targets[TARGETS], const char **ret_what)
{
	char path[64];

	(void)targets;
	*ret_what = "opening the memory of the sandbox's init";
	snprintf(path, sizeof(path), "/proc/%d/mem", init);
	return verdict(open(path, O_RDONLY | O_CLOEXEC) >= 0);
}

static int probe_mount(char *const targets[TARGETS], const char **ret_what)
{
	char here[4096] = ".";
	bool mounted;

	(void)targets;
	*ret_what = "mount";
	(void)!getcwd(here, sizeof(here));
	mounted = mount("tmpfs", here, "tmpfs", 0, NULL) == 0;
	if (mounted) /* perhaps for all to see */
		umount2(here, MNT_DETACH);
	return verdict(mounted);
}

static int probe_namespace(char *const targets[TARGETS], const char **ret_what)
{
	(void)targets;
	*ret_what = "a user namespace of its own";
	return verdict(unshare(CLONE_NEWUSER) == 0);
}

static int probe_ring(char *const targets[TARGETS], const char **ret_what)
{
	struct io_uring_params params = {0};

	(void)targets;
	*ret_what = "io_uring_setup";
	return verdict(syscall(SYS_io_uring_setup, 1, &params) >= 0);
}

static int probe_keyring(char *const targets[TARGETS], const char **ret_what)
{
	(void)targets;
	*ret_what = "add_key";
	return verdict(syscall(SYS_add_key, "user", "ward-doctor", "x", 1,
			       -2 /* the process's keyring */) >= 0);
}

static int probe_kernel(char *const targets[TARGETS], const char **ret_what)
{
	struct perf_event_attr event = {.type = PERF_TYPE_SOFTWARE,
					.size = sizeof(event),
					.config = PERF_COUNT_SW_TASK_CLOCK,
					.exclude_kernel = 1};
	union bpf_attr map = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};

	(void)targets;
	*ret_what = "bpf, perf_event_open and userfaultfd";
	return verdict(syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof(map)) >= 0 ||
		       syscall(SYS_perf_event_open, &event, 0, -1, -1, 0) >= 0 ||
		       syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */) >= 0);
}

static int probe_setuid(char *const targets[TARGETS], const char **ret_what)
{
	(void)targets;
	*ret_what = "a set-user-id file";
	return verdict(chmod("own", 04700) == 0);
}

static int probe_privileges(char *const targets[TARGETS], const char **ret_what)
{
	(void)targets;
	return fact(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1, "no_new_privs is set",
		    "no_new_privs is not set", ret_what);
}

static int probe_capabilities(char *const targets[TARGETS], const char **ret_what)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2] = {0};

	(void)targets;
	(void)syscall(SYS_capget, &header, sets);
	return fact(sets[0].effective || sets[0].permitted || sets[0].inheritable ||
			    sets[1].effective || sets[1].permitted || sets[1].inheritable ||
			    (geteuid() == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 &&
			     prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) == 1),
		    "no capability is held, or to be had by executing a program",
		    "there are capabilities", ret_what);
}

static int probe_devices(char *const targets[TARGETS], const char **ret_what)
{
	static const char *const harmless[] = {"null",	  "zero", "full", "random",
					       "urandom", "tty",  "ptmx", "console"};
	DIR *directory = opendir("/dev");
	struct dirent *entry;

	(void)targets;
	while (directory && (entry = readdir(directory))) {
		bool known = false;
		struct stat st;

		for (size_t i = 0; i < ELEMENTS(harmless); i++)
			known |= strcmp(entry->d_name, harmless[i]) == 0;
		if (known || fstatat(dirfd(directory), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if ((S_ISBLK(st.st_mode) || S_ISCHR(st.st_mode)) &&
		    openat(dirfd(directory), entry->d_name, O_RDONLY | O_NONBLOCK | O_NOCTTY) >= 0)
			return fact(true, "", "a device of the host in /dev can be opened",
				    ret_what);
	}
	return fact(false, "no device of the host can be opened", "", ret_what);
}

static int probe_core(char *const targets[TARGETS], const char **ret_what)
{
	struct rlimit limit;

	(void)targets;
	return fact(getrlimit(RLIMIT_CORE, &limit) < 0 || limit.rlim_max > 1,
		    "core dumps are limited to a byte", "core dumps are not limited", ret_what);
}

static int probe_typing(char *const targets[TARGETS], const char **ret_what)
{
	(void)targets;
	*ret_what = "TIOCSTI";
	/* Where the filter lets it through, a file that is no terminal says so. */
	return verdict(ioctl(STDIN_FILENO, 0x5412 /* TIOCSTI */, "x") == 0 || errno == ENOTTY);
}

static int probe_leaked(char *const targets[TARGETS], const char **ret_what)
{
	*ret_what = "a directory that the caller left open";
	return verdict(fcntl(atoi(targets[TARGET_FD]), F_GETFD) >= 0);
}

static int probe_shared_memory(char *const targets[TARGETS], const char **ret_what)
{
	int id = atoi(targets[TARGET_MEMORY]);

	*ret_what = "shared memory of the host";
	if (id < 0)
		return PROBE_UNTRIED;
	return verdict(shmat(id, NULL, SHM_RDONLY) != (void *)-1);
}

#define BIT(wall) WALL_BIT(WALL_##wall)
#define ALWAYS	  WALLS_ALL

const struct probe probes[] = {
	{"secrets", BIT(MASKS) | BIT(LANDLOCK), probe_environment_file, TARGETS},
	{"secrets", BIT(MASKS) | BIT(LANDLOCK), probe_secret, TARGETS},
	{"secrets", BIT(ENVIRONMENT), probe_variable, TARGETS},
	{"ward's state", BIT(MASKS) | BIT(LANDLOCK), probe_state, TARGETS},
	{"writes outside", BIT(READ_ONLY) | BIT(LANDLOCK), probe_write, TARGET_FILE},
	{"writes outside", BIT(READ_ONLY) | BIT(LANDLOCK), probe_create, TARGET_NEW},
	{"writes outside", BIT(READ_ONLY) | BIT(NOTIFY), probe_mode, TARGETS},
	{"/tmp", BIT(TMP) | BIT(LANDLOCK), probe_host_tmp, TARGETS},
	{"kernel settings", BIT(PROC) | BIT(READ_ONLY) | BIT(LANDLOCK), probe_switches, TARGETS},
	{"network", BIT(NET_NAMESPACE) | BIT(SECCOMP), probe_tcp, TARGET_TCP},
	{"network", BIT(NET_NAMESPACE) | BIT(SECCOMP), probe_udp, TARGET_UDP},
	{"unix sockets", BIT(NOTIFY) | BIT(SECCOMP), probe_unix, TARGET_SOCKET},
	{"abstract sockets", BIT(NET_NAMESPACE) | BIT(LANDLOCK) | BIT(NOTIFY) | BIT(SECCOMP),
	 probe_abstract, TARGET_ABSTRACT},
	{"odd sockets", BIT(SECCOMP), probe_odd_sockets, TARGETS},
	{"other processes", BIT(PROC), probe_look, TARGETS},
	{"signals", BIT(PID_NAMESPACE) | BIT(LANDLOCK), probe_signal, TARGET_PROCESS},
	{"tracing", BIT(PID_NAMESPACE) | BIT(LANDLOCK), probe_trace, TARGETS},
	{"tracing", BIT(PROC) | BIT(LANDLOCK), probe_environ, TARGETS},
	{"init", BIT(INIT_HIDDEN), probe_init, TARGETS},
	{"shared memory", BIT(IPC_NAMESPACE) | BIT(SECCOMP), probe_shared_memory, TARGETS},
	{"mounts", BIT(SECCOMP) | BIT(CAPABILITIES), probe_mount, TARGETS},
	{"namespaces", BIT(SECCOMP), probe_namespace, TARGETS},
	{"io_uring", BIT(SECCOMP), probe_ring, TARGETS},
	{"keyrings", BIT(SECCOMP), probe_keyring, TARGETS},
	{"kernel interfaces", BIT(SECCOMP), probe_kernel, TARGETS},
	{"terminal", BIT(SECCOMP), probe_typing, TARGETS},
	{"set-user-id", BIT(SECCOMP), probe_setuid, TARGETS},
	{"set-user-id", BIT(NO_NEW_PRIVILEGES), probe_privileges, TARGETS},
	{"capabilities", BIT(CAPABILITIES), probe_capabilities, TARGETS},
	{"devices", BIT(DEVICES) | BIT(LANDLOCK), probe_devices, TARGETS},
	{"core dumps", ALWAYS, probe_core, TARGETS},
	{"descriptors", BIT(DESCRIPTORS), probe_leaked, TARGETS},
};
const size_t probe_count = ELEMENTS(probes);

/* Each in a process of its own: what it opens or enters must not help or hinder the next. */
int probes_run(char *const targets[TARGETS])
{
	init = getppid();
	for (size_t i = 0; i < ELEMENTS(probes); i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			const char *what = "";
			int answer = probes[i].run(targets, &what);
			const char *came = answer == PROBE_OPEN	     ? "succeeded"
					   : answer == PROBE_UNTRIED ? "cannot be tried here"
					   : strerrorname_np(errno)  ? strerrorname_np(errno)
								     : "refused";

			printf("%zu %d %s%s%s\n", i, answer, what, is_fact ? "" : ": ",
			       is_fact ? "" : came);
			fflush(stdout);
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) < 0)
			return 1;
	}
	return 0;
}
