/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel counts for a user, and a command could take all of: of that a run has a share.
 *
 * The kernel counts in every user namespace from that of the process up to the first, and each has
 * a ceiling of its own; that of a new one is none. Most commands watch no files, so the ceilings
 * are made for the first that does, by a child that enters the namespace (observe/shares.c); or by
 * init, where nobody could do it later. */
#include "sandbox.h"
#include "../base/macro.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *of_all, *of_ours;
	unsigned part; /* of all: one in so many */
} shares[] = {
	{"/proc/sys/fs/inotify/max_user_instances", "/proc/sys/user/max_inotify_instances", 4},
	{"/proc/sys/fs/inotify/max_user_watches", "/proc/sys/user/max_inotify_watches", 2},
};

static int read_number(const char *path, long *ret_number)
{
	char text[32];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	close_fd(&fd);
	if (length < 0)
		return -1;
	text[length] = '\0';
	*ret_number = strtol(text, NULL, 10);
	return 0;
}

static int write_number(const char *path, long number)
{
	char text[32];
	int length = snprintf(text, sizeof(text), "%ld", number);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t written = fd < 0 ? -1 : write(fd, text, (size_t)length);

	close_fd(&fd);
	return written == length ? 0 : -1;
}

int shares_take(void)
{
	for (size_t i = 0; i < ELEMENTS(shares); i++) {
		long all;

		if (read_number(shares[i].of_all, &all) < 0 ||
		    write_number(shares[i].of_ours, all / shares[i].part) < 0)
			return -errno;
	}
	return 0;
}
