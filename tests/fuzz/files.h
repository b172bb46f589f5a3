/* SPDX-License-Identifier: Apache-2.0 */
/* What targets of files share: a directory of their own, and an input as several files, with a NUL
 * between two of them. A part that begins with 0xff is no file at all. */
#pragma once

#include "../../src/base/io.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char place[64];

static void remove_place(void)
{
	(void)remove_tree(AT_FDCWD, place);
}

/* The same one for all inputs, with what was put there before. */
static void make_place(void)
{
	if (place[0])
		return;
	/* In memory, where there is such a place: much of it is synced. */
	strcpy(place, "/dev/shm/ward-fuzz-files.XXXXXX");
	if (!mkdtemp(place) && (strcpy(place, "/tmp/ward-fuzz-files.XXXXXX"), !mkdtemp(place)))
		abort();
	atexit(remove_place);
}

static void put_file(const char *name, const void *data, size_t size)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_close_ int fd = -1;

	if (asprintf(&path, "%s/%s", place, name) < 0)
		abort();
	(void)unlink(path);
	if (size && *(const uint8_t *)data == 0xff)
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || write_all(fd, data, size) < 0)
		abort();
}

/* The next part into a file. */
static void put_part(const char *name, const uint8_t **data, size_t *size)
{
	const uint8_t *end = *size ? memchr(*data, '\0', *size) : NULL;
	size_t length = end ? (size_t)(end - *data) : *size;

	put_file(name, *data, length);
	*data += end ? length + 1 : length;
	*size -= end ? length + 1 : length;
}

static void make_directory(const char *name)
{
	_cleanup_free_ char *path = NULL;

	if (asprintf(&path, "%s/%s", place, name) < 0 || make_directories(path, 0700) < 0)
		abort();
}
