/* SPDX-License-Identifier: Apache-2.0 */
/* Files of /proc by which processes are set up, where all of /proc is read-only to them. */
#include "../observer.h"
#include "../../base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const settings[] = {
	"comm",		 "oom_score_adj", "oom_adj",  "clear_refs", "coredump_filter",
	"timerslack_ns", "autogroup",	  "loginuid",
};

bool is_own_setting(const char *name)
{
	for (size_t i = 0; i < ELEMENTS(settings); i++)
		if (strcmp(name, settings[i]) == 0)
			return true;
	return false;
}

static bool same_namespace(int one, int other)
{
	char name[64] = "", name2[64] = "-";

	return readlinkat(one, "ns/pid", name, sizeof(name) - 1) > 0 &&
	       readlinkat(other, "ns/pid", name2, sizeof(name2) - 1) > 0 &&
	       strcmp(name, name2) == 0;
}

/* Among the numbered directories there, the one that has this number in the namespace of a thread
 * of ours; -1: none. The directory of a process is that of no other, also when its number has
 * changed hands. */
static int find_inside(int of, int where, const char *field, long number)
{
	int fd = openat(where, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), found = -1;
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!entries)
		close_fd(&fd);
	while (entries && found < 0 && (entry = readdir(entries))) {
		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		found = openat(where, entry->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (found >= 0 && (proc_number_inside(found, "status", field) != number ||
				   !same_namespace(of, found)))
			close_fd(&found);
	}
	if (entries)
		closedir(entries);
	return found;
}

int open_setting(pid_t tid, const char *path, uint64_t flags)
{
	_cleanup_close_ int caller = -1, all = -1, process = -1, threads = -1, thread = -1;
	char own[64], *rest;
	long number = strtol(path + strlen("/proc/"), &rest, 10);
	int fd;

	snprintf(own, sizeof(own), "/proc/%d", caller_group(tid));
	caller = open(own, O_PATH | O_DIRECTORY | O_CLOEXEC);
	all = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	process = proc_number_inside(caller, "status", "NStgid") == number
			  ? openat(caller, ".", O_PATH | O_DIRECTORY | O_CLOEXEC)
			  : find_inside(caller, all, "NStgid", number);
	if (strncmp(rest, "/task/", 6) == 0) {
		number = strtol(rest + 6, &rest, 10);
		threads = openat(process, "task", O_PATH | O_DIRECTORY | O_CLOEXEC);
		thread = find_inside(caller, threads, "NSpid", number);
		close_fd(&process);
		process = STEAL_FD(thread);
	}
	if (process < 0 || rest[0] != '/' || !is_own_setting(rest + 1))
		return 0;
	fd = openat(process, rest + 1,
		    (int)(flags & (O_ACCMODE | O_APPEND | O_TRUNC)) | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}
