/* SPDX-License-Identifier: Apache-2.0 */
/* Counting. */
#include "usage.h"
#include "../base/units.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* What one process had when it was looked at last. */
struct seen {
	pid_t pid;
	uint64_t start, cpu_ns;
};

enum { TEXT = 4096, CLOCK_EVERY = 256 };

/* How much of a processor it may take to look through descriptors and mappings. Who has so many of
 * them that it does not suffice could keep the next look off for as long, and anything in them. */
static const uint64_t looking_ns = 250000000;

uint64_t usage_of_machine(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

void counter_done(struct counter *counter)
{
	close_fd(&counter->proc);
	close_fd(&counter->memory);
	free(counter->seen);
	counter->seen = NULL;
}

/* A file of a process; false where it is gone meanwhile, or closed to us. */
static bool read_of(int proc, pid_t pid, const char *file, char text[static TEXT])
{
	char path[64];
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "%d/%s", pid, file);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	length = read(fd, text, TEXT - 1);
	close(fd);
	text[MAX(length, 0)] = '\0';
	return length > 0;
}

static uint64_t number_after(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

struct pids {
	pid_t *items;
	size_t count, room;
};

static void add_pid(struct pids *pids, pid_t pid)
{
	if (pids->count == pids->room) {
		pids->room = pids->room ? 2 * pids->room : 64;
		pids->items = reallocarray(pids->items, pids->room, sizeof(*pids->items));
		if (!pids->items)
			abort();
	}
	pids->items[pids->count++] = pid;
}

static int open_directory(int proc, const char *path, DIR **ret_directory)
{
	int fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), errnum;

	*ret_directory = fd >= 0 ? fdopendir(fd) : NULL;
	if (*ret_directory)
		return 0;
	errnum = errno;
	close_fd(&fd);
	return -errnum;
}

static int all_of(const struct counter *counter, uint64_t most, struct pids *pids)
{
	struct dirent *entry;
	DIR *directory;
	int r = open_directory(counter->proc, ".", &directory);

	if (r < 0)
		return r;
	while (pids->count < most && (entry = readdir(directory))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 0 && pid != counter->init)
			add_pid(pids, pid);
	}
	closedir(directory);
	return 0;
}

/* Init adopts every orphan, so all that came of the command hangs below it. Each thread has
 * children of its own. */
static int descendants_of(const struct counter *counter, uint64_t most, struct pids *pids)
{
	size_t next = 0;
	pid_t parent = counter->init;

	for (;;) {
		char path[64], text[TEXT];
		struct dirent *entry;
		DIR *directory;

		snprintf(path, sizeof(path), "%d/task", parent);
		if (open_directory(counter->proc, path, &directory) == 0) {
			while (pids->count < most && (entry = readdir(directory))) {
				snprintf(path, sizeof(path), "task/%.20s/children", entry->d_name);
				if (entry->d_name[0] == '.' ||
				    !read_of(counter->proc, parent, path, text))
					continue;
				for (char *at = text, *end;
				     strtol(at, &end, 10) > 0 && pids->count < most; at = end)
					add_pid(pids, (pid_t)strtol(at, NULL, 10));
			}
			closedir(directory);
		}
		if (next == pids->count || pids->count >= most)
			return 0;
		parent = pids->items[next++];
	}
}

static int compare_pids(const void *a, const void *b)
{
	return *(const pid_t *)a - *(const pid_t *)b;
}

/* Of the fields behind the name in /proc/PID/stat. */
struct times {
	uint64_t own_ns, reaped_ns, start;
};

static bool read_times(int proc, pid_t pid, struct times *ret_times)
{
	char text[TEXT], *at;
	unsigned long long user, system, user_reaped, system_reaped, start;
	uint64_t tick = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);

	if (!read_of(proc, pid, "stat", text) || !(at = strrchr(text, ')')) ||
	    sscanf(at + 1,
		   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu %*d %*d %*d "
		   "%*d %llu",
		   &user, &system, &user_reaped, &system_reaped, &start) != 5)
		return false;
	*ret_times =
		(struct times){(user + system) * tick, (user_reaped + system_reaped) * tick, start};
	return true;
}

/* Two sums: what the living used with all that they have reaped, and what each was seen to use. The
 * first is exact but for children that nobody waits for; the second sees those. */
static uint64_t count_cpu(struct counter *counter, const struct pids *pids)
{
	struct seen *now = calloc(pids->count + 1, sizeof(*now));
	struct times times;
	uint64_t inherited = 0, own = 0;
	size_t count = 0, old = 0;

	if (!now)
		abort();
	if (read_times(counter->proc, counter->init, &times))
		inherited = times.reaped_ns;
	for (size_t i = 0; i < pids->count; i++) {
		if (!read_times(counter->proc, pids->items[i], &times))
			continue;
		inherited += times.own_ns + times.reaped_ns;
		own += times.own_ns;
		now[count++] = (struct seen){pids->items[i], times.start, times.own_ns};
	}
	for (size_t i = 0; old < counter->count; old++) {
		const struct seen *was = &counter->seen[old];

		while (i < count && now[i].pid < was->pid)
			i++;
		if (i == count || now[i].pid != was->pid || now[i].start != was->start)
			counter->gone_ns += was->cpu_ns;
	}
	free(counter->seen);
	counter->seen = now;
	counter->count = count;
	counter->most_ns = MAX(counter->most_ns, MAX(inherited, counter->gone_ns + own));
	return counter->most_ns;
}

static uint64_t files_in_memory(const struct counter *counter)
{
	struct statvfs fs;

	if (counter->memory < 0 || fstatvfs(counter->memory, &fs) < 0)
		return 0;
	return (uint64_t)(fs.f_blocks - fs.f_bfree) * fs.f_frsize;
}

/* Files without a name, in memory, that somebody has open. Nobody needs to map them. */
struct nameless {
	struct {
		ino_t inode;
		uint64_t bytes;
	} * items;
	size_t count, room;
};

static void add_nameless(struct nameless *files, const struct stat *st)
{
	if (files->count == files->room) {
		files->room = files->room ? 2 * files->room : 64;
		files->items = reallocarray(files->items, files->room, sizeof(*files->items));
		if (!files->items)
			abort();
	}
	files->items[files->count].inode = st->st_ino;
	files->items[files->count++].bytes = (uint64_t)st->st_blocks * 512;
}

/* False when the time is over. */
static bool find_nameless(int proc, pid_t pid, uint64_t until, struct nameless *files)
{
	char path[64], target[16];
	struct dirent *entry;
	bool in_time = true;
	DIR *directory;

	snprintf(path, sizeof(path), "%d/fd", pid);
	if (open_directory(proc, path, &directory) < 0)
		return true;
	for (unsigned i = 1; in_time && (entry = readdir(directory)); i++) {
		struct stat st;

		in_time = i % CLOCK_EVERY != 0 || own_cpu_ns() < until;
		if (readlinkat(dirfd(directory), entry->d_name, target, sizeof(target)) >= 7 &&
		    memcmp(target, "/memfd:", 7) == 0 &&
		    fstatat(dirfd(directory), entry->d_name, &st, 0) == 0)
			add_nameless(files, &st);
	}
	closedir(directory);
	return in_time;
}

static int compare_inodes(const void *a, const void *b)
{
	const ino_t *one = a, *other = b; /* comes first in each */

	return *one < *other ? -1 : *one > *other;
}

/* UINT64_MAX: nobody knows. */
static uint64_t nameless_files(const struct counter *counter, const struct pids *pids)
{
	const uint64_t until = own_cpu_ns() + looking_ns;
	struct nameless files = {0};
	bool in_time = true;
	uint64_t sum = 0;

	for (size_t i = 0; in_time && i < pids->count; i++)
		in_time = find_nameless(counter->proc, pids->items[i], until, &files) &&
			  ((i + 1) % CLOCK_EVERY != 0 || own_cpu_ns() < until);
	if (files.count)
		qsort(files.items, files.count, sizeof(*files.items), compare_inodes);
	for (size_t i = 0; i < files.count; i++)
		if (i == 0 || files.items[i].inode != files.items[i - 1].inode)
			sum += files.items[i].bytes;
	free(files.items);
	return in_time ? sum : UINT64_MAX;
}

/* What they have written to, not the files they map. What is shared is counted for each of them. */
static uint64_t count_memory_roughly(const struct counter *counter, const struct pids *pids,
				     uint64_t files)
{
	uint64_t own = 0, shared = 0;
	char text[TEXT];

	for (size_t i = 0; i < pids->count; i++) {
		if (!read_of(counter->proc, pids->items[i], "status", text))
			continue;
		own += number_after(text, "\nRssAnon:") + number_after(text, "\nVmSwap:");
		shared += number_after(text, "\nRssShmem:");
	}
	return 1024 * own + MAX(1024 * shared, files);
}

/* Walks page tables, and divides what is shared among those that share it. */
static uint64_t count_memory(const struct counter *counter, const struct pids *pids, uint64_t files)
{
	const uint64_t until = own_cpu_ns() + looking_ns;
	uint64_t own = 0, shared = 0;
	char text[TEXT];

	for (size_t i = 0; i < pids->count; i++) {
		if (own_cpu_ns() > until)
			return UINT64_MAX;
		if (read_of(counter->proc, pids->items[i], "smaps_rollup", text) &&
		    strstr(text, "\nPss_Anon:")) {
			own += number_after(text, "\nPss_Anon:") + number_after(text, "\nSwapPss:");
			shared += number_after(text, "\nPss_Shmem:");
		} else if (read_of(counter->proc, pids->items[i], "status", text)) {
			own += number_after(text, "\nRssAnon:") + number_after(text, "\nVmSwap:");
			shared = MAX(shared, number_after(text, "\nRssShmem:"));
		}
	}
	return 1024 * own + MAX(1024 * shared, files);
}

static void count_bytes(const struct counter *counter, const struct pids *pids, struct usage *usage)
{
	char text[TEXT];

	for (size_t i = 0; i < pids->count; i++) {
		if (!read_of(counter->proc, pids->items[i], "io", text))
			continue;
		usage->moved += number_after(text, "rchar:") + number_after(text, "wchar:");
		usage->written += number_after(text, "\nwrite_bytes:");
	}
}

static uint64_t largest_peak(const struct counter *counter, const struct pids *pids)
{
	uint64_t most = 0;
	char text[TEXT];

	for (size_t i = 0; i < pids->count; i++)
		if (read_of(counter->proc, pids->items[i], "status", text))
			most = MAX(most, number_after(text, "\nVmHWM:"));
	return most;
}

/* In a /proc of the sandbox's own init is number 1. */
static uint64_t started(const struct counter *counter, const struct pids *pids)
{
	uint64_t most = pids->count;

	for (size_t i = 0; i < pids->count && !counter->only_it; i++)
		most = MAX(most, (uint64_t)pids->items[i] - 1);
	return most;
}

/* In doubt it is too much. */
static uint64_t memory_of(const struct counter *counter, unsigned kinds, const struct pids *pids,
			  uint64_t files, uint64_t most)
{
	uint64_t nameless = kinds & USAGE_FILES ? nameless_files(counter, pids) : 0, memory = 0;

	if (nameless == UINT64_MAX)
		return most + 1;
	if (kinds & USAGE_MEMORY)
		memory = count_memory_roughly(counter, pids, files + nameless);
	if (memory > most)
		memory = count_memory(counter, pids, files + nameless);
	return memory == UINT64_MAX ? most + 1 : memory;
}

int usage_count(struct counter *counter, unsigned kinds, uint64_t most, uint64_t memory_most,
		struct usage *ret_usage)
{
	struct pids pids = {0};
	uint64_t files = 0;
	int r = counter->only_it ? descendants_of(counter, most, &pids)
				 : all_of(counter, most, &pids);

	*ret_usage = (struct usage){.processes = pids.count, .started = started(counter, &pids)};
	if (r == 0 && pids.count < most) {
		if (pids.count)
			qsort(pids.items, pids.count, sizeof(*pids.items), compare_pids);
		if (kinds & USAGE_CPU)
			ret_usage->cpu_ns = count_cpu(counter, &pids);
		if (kinds & USAGE_PEAK)
			ret_usage->peak_kb = largest_peak(counter, &pids);
		if (kinds & USAGE_BYTES)
			count_bytes(counter, &pids, ret_usage);
		if (kinds & USAGE_MEMORY)
			files = files_in_memory(counter);
		ret_usage->memory = memory_of(counter, kinds, &pids, files, memory_most);
	}
	free(pids.items);
	return r;
}
