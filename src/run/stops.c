/* SPDX-License-Identifier: Apache-2.0 */
/* Standing still by signals.
 *
 * A signal must never reach a process outside, whatever the processes inside do with their numbers.
 * So a pidfd is opened first, and then it is looked whether the number is that of a child of a
 * process that is known to be inside, and still is the one that was known: if the number has
 * changed hands in between, the pidfd is that of a dead process. */
#include "stops.h"
#include "../base/io.h"
#include "../base/units.h"
#include "../sys/kernel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than that are not held; those beyond go on. */
enum {
	PROCESSES = 2048,
	LEVELS = 64,
	ROUNDS = 100,
	STAT = 1024,
	STATUS = 16384,
	CHILDREN = 1 << 20,
	LOOK_US = 300
};
static const uint64_t patience_ns = 500000000;

/* States of a thread that is stopped, gone, or waits in the kernel without hearing signals. */
#define STILL "TtZXD"

struct stopped {
	pid_t pid;
	uint64_t start; /* tells it from another with the same number */
	unsigned level; /* below init */
	bool ours;	/* it ran, and was stopped here */
};

struct standing {
	char state;
	pid_t parent;
	uint64_t start;
};

static bool read_standing(const char *path, struct standing *ret_standing)
{
	_cleanup_free_ char *text = NULL;
	unsigned long long start;
	const char *at;

	if (read_file(AT_FDCWD, path, STAT, &text, NULL) < 0 || !(at = strrchr(text, ')')) ||
	    sscanf(at + 1,
		   " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
		   "%llu",
		   &ret_standing->state, &ret_standing->parent, &start) != 3)
		return false;
	ret_standing->start = start;
	return true;
}

static bool standing_of(pid_t pid, struct standing *ret_standing)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	return read_standing(path, ret_standing);
}

static bool is_traced(pid_t pid)
{
	static const char name[] = "\nTracerPid:";
	_cleanup_free_ char *text = NULL;
	const char *at;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return read_file(AT_FDCWD, path, STATUS, &text, NULL) == 0 && (at = strstr(text, name)) &&
	       strtol(at + strlen(name), NULL, 10) > 0;
}

bool stops_are_harmless(void)
{
	/* What is asked for is known if only the filter is missing. */
	return sys_seccomp(SECCOMP_SET_MODE_FILTER,
			   SECCOMP_FILTER_FLAG_NEW_LISTENER |
				   SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
			   NULL) < 0 &&
	       errno == EFAULT;
}

static struct stopped *find(struct stops *stops, pid_t pid, uint64_t start)
{
	for (size_t i = 0; i < stops->count; i++)
		if (stops->items[i].pid == pid && stops->items[i].start == start)
			return &stops->items[i];
	return NULL;
}

static struct stopped *add(struct stops *stops, struct stopped item)
{
	if (stops->count == PROCESSES)
		return NULL;
	if (stops->count == stops->room) {
		stops->room = stops->room ? 2 * stops->room : 64;
		stops->items = reallocarray(stops->items, stops->room, sizeof(*stops->items));
		if (!stops->items)
			abort();
	}
	stops->items[stops->count] = item;
	return &stops->items[stops->count++];
}

/* No thread of it runs: each is stopped, or waits in the kernel and will be before it comes out. */
static bool stands_still(pid_t pid)
{
	struct dirent *entry;
	bool still = true;
	DIR *directory;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	directory = opendir(path);
	while (directory && still && (entry = readdir(directory))) {
		struct standing now;

		snprintf(path, sizeof(path), "/proc/%d/task/%.20s/stat", pid, entry->d_name);
		if (entry->d_name[0] != '.' && read_standing(path, &now))
			still = strchr(STILL, now.state) != NULL;
	}
	if (directory)
		closedir(directory);
	return still;
}

/* True if it ran: it was told to stop, or has ended before that and may have left another. */
static bool stop_child(struct stops *stops, pid_t pid, const struct stopped *parent)
{
	_cleanup_close_ int pidfd = sys_pidfd_open(pid);
	struct standing now, above;
	struct stopped *item;

	if (pidfd < 0 || !standing_of(pid, &now))
		return true;
	if (now.parent != parent->pid)
		return false;
	if (parent->level > 0 &&
	    (!standing_of(parent->pid, &above) || above.start != parent->start))
		return false;
	item = find(stops, pid, now.start);
	if (!item)
		item = add(stops, (struct stopped){pid, now.start, parent->level + 1, false});
	if (!item || now.state == 'T' || now.state == 't' || is_traced(pid) ||
	    (item->ours && stands_still(pid)) || sys_pidfd_send_signal(pidfd, SIGSTOP) < 0)
		return false;
	item->ours = true;
	return true;
}

/* Each thread has children of its own. Of a process that stands still they change no more. */
static bool stop_children(struct stops *stops, struct stopped parent)
{
	struct dirent *entry;
	bool any = false;
	DIR *directory;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", parent.pid);
	directory = opendir(path);
	while (directory && (entry = readdir(directory))) {
		_cleanup_free_ char *text = NULL;

		snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", parent.pid,
			 entry->d_name);
		if (entry->d_name[0] == '.' || read_file(AT_FDCWD, path, CHILDREN, &text, NULL) < 0)
			continue;
		for (char *at = text, *end; strtol(at, &end, 10) > 0; at = end)
			any |= stop_child(stops, (pid_t)strtol(at, NULL, 10), &parent);
	}
	if (directory)
		closedir(directory);
	return any;
}

/* Sound for the same reason: the pidfd comes first, then the look at where its number belongs. */
static int stop_thread(const struct stopped *item, pid_t thread)
{
	_cleanup_close_ int pidfd = sys_pidfd_open_thread(thread);
	struct standing process, now;
	char path[64];

	if (pidfd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", item->pid, thread);
	if (read_standing(path, &now) && !strchr(STILL, now.state) &&
	    standing_of(item->pid, &process) && process.start == item->start)
		sys_pidfd_send_signal(pidfd, SIGSTOP);
	return 0;
}

/* The kernel gives a signal for a process to one of its threads, and that may be one that waits for
 * us and does not hear it. Before Linux 6.9 no thread can be named safely, but other signals that
 * stop go to other threads, which then find SIGSTOP first; all of them are void when it goes on. */
static void stop_by_others(const struct stopped *item)
{
	static const int more[] = {SIGTSTP, SIGTTIN, SIGTTOU};
	_cleanup_close_ int pidfd = sys_pidfd_open(item->pid);
	struct standing now;

	if (pidfd < 0 || !standing_of(item->pid, &now) || now.start != item->start)
		return;
	for (size_t i = 0; i < ELEMENTS(more); i++)
		sys_pidfd_send_signal(pidfd, more[i]);
}

static void stop_threads(const struct stopped *item)
{
	struct dirent *entry;
	DIR *directory;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", item->pid);
	directory = opendir(path);
	while (directory && (entry = readdir(directory))) {
		pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);

		if (thread > 0 && stop_thread(item, thread) == -EINVAL) {
			stop_by_others(item);
			break;
		}
	}
	if (directory)
		closedir(directory);
}

/* Its children are stopped only when it cannot see that any more. */
static void wait_for_level(const struct stops *stops, unsigned level, uint64_t until)
{
	for (size_t i = 0; i < stops->count; i++)
		while (stops->items[i].level == level && stops->items[i].ours &&
		       !stands_still(stops->items[i].pid) && monotonic_ns() < until) {
			usleep(LOOK_US);
			stop_threads(&stops->items[i]);
		}
}

/* From init down; true if somebody ran. */
static bool stop_round(struct stops *stops, pid_t init, uint64_t until)
{
	bool any = stop_children(stops, (struct stopped){.pid = init});

	wait_for_level(stops, 1, until);
	for (unsigned level = 1; level < LEVELS; level++) {
		bool here = false, below = false;

		for (size_t i = 0; i < stops->count; i++) {
			if (stops->items[i].level != level)
				continue;
			here = true;
			below |= stop_children(stops, stops->items[i]);
		}
		if (!here)
			break;
		if (below)
			wait_for_level(stops, level + 1, until);
		any |= below;
	}
	return any;
}

void stops_begin(struct stops *stops, pid_t init)
{
	uint64_t until = monotonic_ns() + patience_ns;

	if (stops->count)
		return;
	/* Whose parent ended meanwhile has come to init, and is found there. */
	for (int round = 0; round < ROUNDS && stop_round(stops, init, until); round++)
		if (monotonic_ns() >= until)
			break;
}

static void let_go(const struct stopped *item)
{
	_cleanup_close_ int pidfd = sys_pidfd_open(item->pid);
	struct standing now;

	if (pidfd >= 0 && standing_of(item->pid, &now) && now.start == item->start)
		sys_pidfd_send_signal(pidfd, SIGCONT);
}

void stops_end(struct stops *stops)
{
	for (unsigned level = LEVELS; level > 0; level--)
		for (size_t i = 0; i < stops->count; i++)
			if (stops->items[i].ours && stops->items[i].level == level)
				let_go(&stops->items[i]);
	free(stops->items);
	*stops = (struct stops){0};
}
