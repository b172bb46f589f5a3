/* SPDX-License-Identifier: Apache-2.0 */
/* Where programs beside ward lie, and whether they may be believed. */
#include "beside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool is_believed(const struct stat *st)
{
	struct stat own;

	if (!S_ISREG(st->st_mode) || (st->st_mode & (S_IWGRP | S_IWOTH)))
		return false;
	return st->st_uid == 0 || st->st_uid == geteuid() ||
	       (stat("/proc/self/exe", &own) == 0 && own.st_uid == st->st_uid);
}

static int try_open(const char *path, struct error **ret_error)
{
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "%s", path);
	if (!is_believed(&st)) {
		fail(ret_error, E_ENGINE, "%s is not run: others could have written it", path);
		return error_hint(ret_error, "chmod go-w %s, and its owner is root or you", path);
	}
	return STEAL_FD(fd);
}

/* Room for a path that is too long is the same as none. */
static bool own_directory(char *path, size_t room)
{
	ssize_t length = readlink("/proc/self/exe", path, room - 1);
	char *slash;

	if (length <= 0)
		return false;
	path[length] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
	return slash != NULL;
}

int beside_open(const char *name, char **ret_path, struct error **ret_error)
{
	_cleanup_free_ char *path = NULL;
	char own[PATH_MAX];
	int fd;

	if (own_directory(own, sizeof(own))) {
		if (asprintf(&path, "%s/%s", own, name) < 0)
			abort();
		if (access(path, F_OK) != 0) {
			free(path);
			path = NULL;
		}
	}
	if (!path && asprintf(&path, "%s/%s", WARD_LIBEXEC, name) < 0)
		abort();
	fd = try_open(path, ret_error);
	if (fd < 0)
		return fd;
	if (ret_path)
		*ret_path = STEAL(path);
	return fd;
}
