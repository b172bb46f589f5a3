/* SPDX-License-Identifier: Apache-2.0 */
#include "told.h"
#include "../base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { TOLD_LIMIT = 1 << 20, ENTRIES_MOST = 10000 };

/* An id has no slash, and does not begin with a dot. */
static int open_place(const char *state, const char *run, int make)
{
	_cleanup_free_ char *path = NULL;
	struct stat st;
	int fd;

	if (!*run || *run == '.' || strchr(run, '/'))
		return -EINVAL;
	if (asprintf(&path, "%s/top", state) < 0)
		abort();
	if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 022))
		return fd;
	close(fd);
	return -EPERM;
}

int told_write(const char *state, const char *run, const json_t *told)
{
	_cleanup_close_ int place = open_place(state, run, /* make= */ 1), fd = -1;
	_cleanup_free_ char *text = json_dumps(told, JSON_COMPACT);
	char name[128];
	int r;

	if (place < 0 || !text)
		return place < 0 ? place : -ENOMEM;
	if (snprintf(name, sizeof(name), ".%s", run) >= (int)sizeof(name))
		return -ENAMETOOLONG;
	(void)unlinkat(place, name, 0);
	fd = openat(place, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = write_all(fd, text, strlen(text));
	if (r == 0 && renameat(place, name, place, run) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(place, name, 0);
	return r;
}

json_t *told_read(const char *state, const char *run)
{
	_cleanup_close_ int place = open_place(state, run, /* make= */ 0);
	_cleanup_free_ char *text = NULL;
	size_t length;

	if (place < 0 || read_file(place, run, TOLD_LIMIT, &text, &length) < 0)
		return NULL;
	return json_loadb(text, length, 0, NULL);
}

void told_drop(const char *state, const char *run)
{
	_cleanup_close_ int place = open_place(state, run, /* make= */ 0);

	if (place >= 0)
		(void)unlinkat(place, run, 0);
}

void told_sweep(const char *state, int (*alive)(const char *run, const void *data),
		const void *data)
{
	int place = open_place(state, "any", /* make= */ 0);
	DIR *directory = place >= 0 ? fdopendir(place) : NULL;
	struct dirent *entry;

	for (int i = 0; directory && i < ENTRIES_MOST && (entry = readdir(directory)); i++) {
		const char *run = entry->d_name + (entry->d_name[0] == '.');

		if (*run && *run != '.' && !alive(run, data))
			(void)unlinkat(dirfd(directory), entry->d_name, 0);
	}
	if (directory)
		closedir(directory);
}
