/* SPDX-License-Identifier: Apache-2.0 */
/* As long as it is our parent its number is nobody else's: so it is looked at first, and then
 * whether it still is. What it executes may change between, by an exec of its own; another program
 * of the same user can do that, and the policy's reference says so. */
#include "parent.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void parent_identify(struct caller *ret_caller)
{
	pid_t parent = getppid();
	char directory[64], link[80], path[PATH_MAX];
	struct stat process, program;
	ssize_t length;

	*ret_caller = (struct caller){0};
	snprintf(directory, sizeof(directory), "/proc/%d", parent);
	snprintf(link, sizeof(link), "%s/exe", directory);
	length = readlink(link, path, sizeof(path) - 1);
	/* Number 1 has adopted us: whoever started us is gone. */
	if (parent <= 1 || length <= 0 || stat(directory, &process) < 0 ||
	    stat(link, &program) < 0 || getppid() != parent)
		return;
	path[length] = '\0';
	*ret_caller = (struct caller){.program = strdup(path),
				      .device = program.st_dev,
				      .inode = program.st_ino,
				      .uid = process.st_uid};
}
