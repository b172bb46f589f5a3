/* SPDX-License-Identifier: Apache-2.0 */
/* Counting. */
#include "usage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t usage_of_machine(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Resident pages that are not shared with a file or another process. */
static uint64_t own_memory(int proc, const char *pid)
{
	unsigned long resident = 0, shared = 0;
	char path[64], text[128];
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "%.20s/statm", pid);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0; /* gone meanwhile */
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[MAX(length, 0)] = '\0';
	if (sscanf(text, "%*u %lu %lu", &resident, &shared) != 2 || shared > resident)
		return 0;
	return (uint64_t)(resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

int usage_count(int proc, uint64_t most, struct usage *ret_usage)
{
	int fd = openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	if (!directory) {
		int errnum = errno;

		close_fd(&fd);
		return -errnum;
	}
	*ret_usage = (struct usage){0};
	while (ret_usage->processes < most && (entry = readdir(directory))) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
		    strcmp(entry->d_name, "1") == 0)
			continue;
		ret_usage->processes++;
		ret_usage->memory += own_memory(proc, entry->d_name);
	}
	closedir(directory);
	return 0;
}
