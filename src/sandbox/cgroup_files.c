/* SPDX-License-Identifier: Apache-2.0 */
/* The files of one group: limits, counts, the freezer, its processes. */
#include "cgroup_parts.h"
#include "../base/io.h"
#include "../base/units.h"
#include "../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

/* pids.max counts threads, and a limit is on processes: a backstop that lets each have some. */
enum { TASKS_PER_PROCESS = 16 };

/* How long a group may take to freeze; a process inside a system call may not be able to. */

uint64_t tasks_for(uint64_t processes)
{
	return processes * TASKS_PER_PROCESS + 1; /* and init */
}

void quota_for(uint64_t millicpus, uint64_t *ret_quota, uint64_t *ret_period)
{
	/* The kernel takes no quota below a millisecond and no period above a second. */
	*ret_period = millicpus >= 10 ? 100000 : 1000000;
	*ret_quota = MAX(millicpus * *ret_period / 1000, (uint64_t)1000);
}

int group_write(int directory, const char *file, const char *format, ...)
{
	_cleanup_close_ int fd = openat(directory, file, O_WRONLY | O_CLOEXEC);
	char text[256];
	va_list arguments;
	int length;

	if (fd < 0)
		return -errno;
	va_start(arguments, format);
	length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= sizeof(text))
		return -E2BIG;
	return write(fd, text, (size_t)length) == length ? 0 : -errno;
}

int group_read(int directory, const char *file, char text[static GROUP_FILE])
{
	_cleanup_close_ int fd = openat(directory, file, O_RDONLY | O_CLOEXEC);
	ssize_t length;

	if (fd < 0)
		return -errno;
	length = read_all(fd, text, GROUP_FILE - 1);
	text[MAX(length, 0)] = '\0';
	return length < 0 ? (int)length : 0;
}

/* In the order in which they are set. */
struct setting {
	unsigned power;
	bool optional; /* without it the power is still there */
	const char *file;
	uint64_t first, second; /* second: behind a blank; 0: none */
};

void part_limit(struct part *part, const struct limits *limits)
{
	uint64_t quota, period, tasks = tasks_for(limits->processes);

	quota_for(limits->millicpus, &quota, &period);
	const struct setting legacy[] = {
		{CGROUP_MEMORY, false, "memory.limit_in_bytes", limits->memory, 0},
		{CGROUP_MEMORY, true, "memory.memsw.limit_in_bytes", limits->memory, 0},
		{CGROUP_SHARE, false, "cpu.cfs_period_us", period, 0},
		{CGROUP_SHARE, false, "cpu.cfs_quota_us", quota, 0},
		{CGROUP_SHARE, true, "cpu.shares", WEIGHT * 1024 / 100, 0},
		{CGROUP_TASKS, false, "pids.max", tasks, 0},
	};
	const struct setting unified[] = {
		{CGROUP_MEMORY, false, "memory.max", limits->memory, 0},
		{CGROUP_MEMORY, true, "memory.swap.max", 0, 0},
		{CGROUP_MEMORY, true, "memory.oom.group", 1, 0},
		{CGROUP_SHARE, false, "cpu.max", quota, period},
		{CGROUP_SHARE, true, "cpu.weight", WEIGHT, 0},
		{CGROUP_TASKS, false, "pids.max", tasks, 0},
	};
	const struct setting *settings = part->unified ? unified : legacy;

	_Static_assert(sizeof(unified) == sizeof(legacy), "one loop walks either");

	for (size_t i = 0; i < ELEMENTS(legacy); i++) {
		const struct setting *s = &settings[i];
		int r;

		if (!(part->powers & s->power))
			continue;
		r = s->second ? group_write(part->directory, s->file, "%llu %llu",
					    (unsigned long long)s->first,
					    (unsigned long long)s->second)
			      : group_write(part->directory, s->file, "%llu",
					    (unsigned long long)s->first);
		if (r < 0 && !s->optional)
			part->powers &= ~s->power;
	}
}

/* The number behind a name that begins a line or a word. */
static uint64_t number_after(const char *text, const char *name)
{
	for (const char *at = text; (at = strstr(at, name)); at++)
		if (at == text || at[-1] == '\n' || at[-1] == ' ')
			return strtoull(at + strlen(name), NULL, 10);
	return 0;
}

static uint64_t sum_after(const char *text, const char *name)
{
	uint64_t sum = 0;

	while ((text = strstr(text, name))) {
		text += strlen(name);
		sum += strtoull(text, NULL, 10);
	}
	return sum;
}

void part_usage(const struct part *part, struct cgroup_usage *usage)
{
	char text[GROUP_FILE];

	if (part->powers & CGROUP_CPU_TIME) {
		if (part->unified && group_read(part->directory, "cpu.stat", text) == 0)
			usage->cpu_ns = 1000 * number_after(text, "usage_usec ");
		if (!part->unified && group_read(part->directory, "cpuacct.usage", text) == 0)
			usage->cpu_ns = strtoull(text, NULL, 10);
	}
	if (part->powers & CGROUP_MEMORY &&
	    group_read(part->directory, part->unified ? "memory.events" : "memory.oom_control",
		       text) == 0)
		usage->killed = number_after(text, "oom_kill ");
	if (part->powers & CGROUP_DISK) {
		if (part->unified && group_read(part->directory, "io.stat", text) == 0)
			usage->written = sum_after(text, " wbytes=");
		if (!part->unified &&
		    group_read(part->directory, "blkio.throttle.io_service_bytes", text) == 0)
			usage->written = sum_after(text, " Write ");
	}
}

uint64_t part_memory(const struct part *part, uint64_t from)
{
	char text[GROUP_FILE];
	uint64_t held, files;

	if (group_read(part->directory, part->unified ? "memory.current" : "memory.usage_in_bytes",
		       text) < 0)
		return 0;
	held = strtoull(text, NULL, 10);
	if (held < from || group_read(part->directory, "memory.stat", text) < 0)
		return held;
	files = number_after(text, "inactive_file ") + number_after(text, "active_file ");
	return held - MIN(files, held);
}

uint64_t part_turned_away(const struct part *part)
{
	char text[GROUP_FILE];

	return group_read(part->directory, "pids.events", text) < 0 ? 0
								    : number_after(text, "max ");
}

static bool is_frozen(const struct part *part, bool frozen)
{
	char text[GROUP_FILE];

	if (part->unified)
		return group_read(part->directory, "cgroup.events", text) == 0 &&
		       (number_after(text, "frozen ") == 1) == frozen;
	return group_read(part->directory, "freezer.state", text) == 0 &&
	       strncmp(text, frozen ? "FROZEN" : "THAWED", 6) == 0;
}

int part_freeze(const struct part *part, bool frozen, uint64_t patience)
{
	const char *word = part->unified ? (frozen ? "1" : "0") : (frozen ? "FROZEN" : "THAWED");
	uint64_t until = monotonic_ns() + patience;

	do {
		/* The older freezer wants to be told again for processes that were busy. */
		if (pwrite(part->freezer, word, strlen(word), 0) < 0)
			return -errno;
		if (is_frozen(part, frozen))
			return 0;
		usleep(1000);
	} while (monotonic_ns() < until);
	return -ETIMEDOUT;
}

/* Between the list and the signal the number may have become somebody else's. */
static void kill_member(pid_t pid, const char *name)
{
	_cleanup_close_ int process = sys_pidfd_open(pid);
	_cleanup_free_ char *groups = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	if (process >= 0 &&
	    read_file(AT_FDCWD, path, 1 << 20, &groups, /* ret_length= */ NULL) == 0 &&
	    strstr(groups, name))
		(void)sys_pidfd_send_signal(process, SIGKILL);
}

void part_kill(int directory, const char *name)
{
	_cleanup_free_ char *text = NULL;

	if (group_write(directory, "cgroup.kill", "1") == 0 ||
	    read_file(directory, "cgroup.procs", 16 << 20, &text, /* ret_length= */ NULL) < 0)
		return;
	for (char *at = text; *at;) {
		char *end;
		long pid = strtol(at, &end, 10);

		if (end == at)
			return;
		/* 0 is a process of another pid namespace, which cannot be named from here. */
		if (pid > 1 && pid != getpid())
			kill_member((pid_t)pid, name);
		at = *end ? end + 1 : end;
	}
}

void part_close(struct part *part)
{
	close_fd(&part->parent);
	close_fd(&part->directory);
	close_fd(&part->procs);
	close_fd(&part->freezer);
}
