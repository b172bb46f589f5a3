/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks on the limits: leaving the control group, raising what it holds, raising what the kernel
 * holds for each process. */
#include "attack.h"

#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

static const char *const switches[] = {
	"cgroup.procs",
	"tasks",
	"release_agent",
	"notify_on_release",
	"cgroup.subtree_control",
	"cgroup.freeze",
	"freezer.state",
	"memory.limit_in_bytes",
	"memory.memsw.limit_in_bytes",
	"memory.max",
	"cpu.cfs_quota_us",
	"cpu.max",
	"pids.max",
};

static const char *wanted;
static bool opened;

static int try_file(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	int fd;

	(void)st;
	if (kind != FTW_F || strcmp(path + where->base, wanted) != 0)
		return 0;
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return 0;
	fprintf(stderr, "%s: open for writing\n", path);
	close(fd);
	opened = true;
	return 1;
}

/* Any switch of any group, our own or another. */
static int attack_group_files(char **arguments)
{
	(void)arguments;
	for (size_t i = 0; i < ELEMENTS(switches) && !opened; i++) {
		wanted = switches[i];
		nftw("/sys/fs/cgroup", try_file, 16, FTW_PHYS);
	}
	return verdict(opened, "/sys/fs/cgroup");
}

static int attack_leave_group(char **arguments)
{
	static const char *const roots[] = {
		"/sys/fs/cgroup/memory/cgroup.procs", "/sys/fs/cgroup/pids/cgroup.procs",
		"/sys/fs/cgroup/cpu/cgroup.procs",    "/sys/fs/cgroup/unified/cgroup.procs",
		"/sys/fs/cgroup/cgroup.procs",
	};
	bool left = false;

	(void)arguments;
	for (size_t i = 0; i < ELEMENTS(roots); i++) {
		int fd = open(roots[i], O_WRONLY);

		left |= fd >= 0 && write(fd, "0", 1) == 1;
	}
	return verdict(left, "cgroup.procs");
}

static int attack_mount_groups(char **arguments)
{
	(void)arguments;
	mkdir("groups", 0700);
	return verdict(mount("none", "groups", "cgroup2", 0, NULL) == 0 ||
			       mount("none", "groups", "cgroup", 0, "memory") == 0,
		       "mount");
}

/* Arguments: the number of a resource. */
static int attack_rlimit(char **arguments)
{
	__rlimit_resource_t resource = (__rlimit_resource_t)atoi(arguments[0]);
	struct rlimit limit;

	if (getrlimit(resource, &limit) < 0)
		cannot_try("getrlimit");
	if (limit.rlim_max == RLIM_INFINITY) {
		fprintf(stderr, "not limited\n");
		return SUCCEEDED;
	}
	limit.rlim_cur = ++limit.rlim_max;
	return verdict(setrlimit(resource, &limit) == 0, "setrlimit");
}

/* Takes all that is to be had and keeps it until standard input ends. Whether that leaves anything
 * to others is for them to say. */
static int attack_watchers(char **arguments)
{
	enum { MOST = 200 };
	int count = 0;
	char byte;

	(void)arguments;
	while (count < MOST && inotify_init1(IN_CLOEXEC) >= 0)
		count++;
	printf("%d\n", count);
	fflush(stdout);
	(void)!read(STDIN_FILENO, &byte, 1);
	return REFUSED;
}

static int attack_terminals(char **arguments)
{
	enum { MANY = 300 };
	int count = 0;

	(void)arguments;
	while (count < MANY && open("/dev/ptmx", O_RDWR | O_NOCTTY) >= 0)
		count++;
	fprintf(stderr, "%d terminals\n", count);
	return verdict(count == MANY, "/dev/ptmx");
}

/* What the kernel keeps for signals that wait, and for timers. Arguments: how many are too many. */
static int attack_signals(char **arguments)
{
	struct sigevent nothing = {.sigev_notify = SIGEV_NONE};
	struct rlimit limit;
	rlim_t count = 0;
	timer_t timer;

	if (getrlimit(RLIMIT_SIGPENDING, &limit) < 0)
		cannot_try("getrlimit");
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_SIGPENDING, &limit);
	while (count < 1u << 20 && timer_create(CLOCK_MONOTONIC, &nothing, &timer) == 0)
		count++;
	fprintf(stderr, "%llu of %s\n", (unsigned long long)count, arguments[0]);
	return count >= (rlim_t)atoll(arguments[0]) ? SUCCEEDED : REFUSED;
}

/* Arguments: a resource, and what is too much of it. */
static int attack_more_than(char **arguments)
{
	struct rlimit limit;

	if (getrlimit((__rlimit_resource_t)atoi(arguments[0]), &limit) < 0)
		cannot_try("getrlimit");
	return verdict(limit.rlim_max > (rlim_t)atoll(arguments[1]), "getrlimit");
}

enum { MEGABYTE = 1 << 20, KEPT_MS = 700 };

static void have_many_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		cannot_try("getrlimit");
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* In a file without a name that nobody maps, behind many others. Arguments: megabytes. */
static int attack_nameless(char **arguments)
{
	enum { OTHERS = 1100 };
	static char bytes[MEGABYTE];
	int last;

	have_many_files();
	memset(bytes, 1, sizeof(bytes));
	for (int i = 0; i < OTHERS; i++)
		if (memfd_create("other", 0) < 0)
			cannot_try("memfd_create");
	last = memfd_create("last", 0);
	for (int i = 0; i < atoi(arguments[0]); i++)
		if (write(last, bytes, sizeof(bytes)) != sizeof(bytes))
			return verdict(false, "write");
	usleep(KEPT_MS * 1000);
	return verdict(true, "memory in a file without a name");
}

/* While somebody looks through millions of descriptors. Arguments: megabytes. */
static int attack_descriptors(char **arguments)
{
	enum { PROCESSES = 100, EACH = 19000, SETTLE = 2 };
	const size_t size = (size_t)atoi(arguments[0]) * MEGABYTE;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	have_many_files();
	for (int i = 0; i < EACH && dup(STDIN_FILENO) >= 0; i++)
		;
	for (int i = 0; i < PROCESSES; i++)
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			pause();
			_exit(0);
		}
	sleep(SETTLE);
	for (size_t i = 0; i < size; i += 4096)
		memory[i] = 1;
	return verdict(true, "memory while others are looked at");
}

static const struct attack attacks[] = {
	{"group-files", 0, attack_group_files},	  {"leave-group", 0, attack_leave_group},
	{"mount-groups", 0, attack_mount_groups}, {"rlimit", 1, attack_rlimit},
	{"watchers", 0, attack_watchers},	  {"terminals", 0, attack_terminals},
	{"signals", 1, attack_signals},		  {"more-than", 2, attack_more_than},
	{"nameless", 1, attack_nameless},	  {"descriptors", 1, attack_descriptors},
};

int main(int argc, char **argv)
{
	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
