/* SPDX-License-Identifier: Apache-2.0 */
/* As long as it is our parent its number is nobody else's: so it is looked at first, and then
 * whether it still is. What it executes may change between, by an exec of its own; another program
 * of the same user can do that, and the policy's reference says so. */
#include "parent.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As long as is_there says so afterwards, it was the process that is meant. */
static void look_at(int pid, struct caller *ret_caller, bool (*is_there)(int pid, int pidfd),
		    int pidfd)
{
	char directory[64], link[80], path[PATH_MAX];
	struct stat process, program;
	ssize_t length;

	*ret_caller = (struct caller){0};
	snprintf(directory, sizeof(directory), "/proc/%d", pid);
	snprintf(link, sizeof(link), "%s/exe", directory);
	length = readlink(link, path, sizeof(path) - 1);
	/* Number 1 has adopted us: whoever started us is gone. */
	if (pid <= 1 || length <= 0 || stat(directory, &process) < 0 || stat(link, &program) < 0 ||
	    !is_there(pid, pidfd))
		return;
	path[length] = '\0';
	*ret_caller = (struct caller){.program = strdup(path),
				      .device = program.st_dev,
				      .inode = program.st_ino,
				      .uid = process.st_uid};
}

static bool is_parent(int pid, int pidfd)
{
	(void)pidfd;
	return getppid() == pid;
}

static bool has_not_ended(int pid, int pidfd)
{
	struct pollfd end = {.fd = pidfd, .events = POLLIN};

	(void)pid;
	return pidfd >= 0 && poll(&end, 1, 0) == 0;
}

void parent_identify(struct caller *ret_caller)
{
	look_at(getppid(), ret_caller, is_parent, -1);
}

void peer_identify(int pid, int pidfd, struct caller *ret_caller)
{
	look_at(pid, ret_caller, has_not_ended, pidfd);
}
