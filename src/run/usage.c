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

static uint64_t kilobytes_after(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

/* What it has written to, not the files it maps. What it shares with others is counted once, as
 * much as the largest has. */
static uint64_t own_memory(int proc, const char *pid, uint64_t *shared)
{
	char path[64], text[2048];
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "%.20s/status", pid);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0; /* gone meanwhile */
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[MAX(length, 0)] = '\0';
	*shared = MAX(*shared, 1024 * kilobytes_after(text, "\nRssShmem:"));
	return 1024 * kilobytes_after(text, "\nRssAnon:");
}

int usage_count(int proc, uint64_t most, struct usage *ret_usage)
{
	int fd = openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	uint64_t shared = 0;

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
		ret_usage->memory += own_memory(proc, entry->d_name, &shared);
	}
	closedir(directory);
	ret_usage->memory += shared;
	return 0;
}
