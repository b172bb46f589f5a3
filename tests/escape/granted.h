/* SPDX-License-Identifier: Apache-2.0 */
/* What attacks on grants share. Outside the workspace lie two directories, a and b. The person says
 * yes to the one and no to the other. */
#pragma once

#include "attack.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/* Eight at once, so that one can be said beside the other. */
static inline char *below(const char *directory, const char *name)
{
	static char paths[8][4096];
	static unsigned next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", directory, name);
	return path;
}

static inline bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return written;
}

/* Waits for the yes to all of a directory. */
static inline void be_given(const char *directory)
{
	int fd = open(directory, O_TMPFILE | O_WRONLY, 0600);

	if (fd < 0)
		cannot_try("getting the directory that a person says yes to");
	close(fd);
}

/* Gets the noes to what lies in b, so that no race has to wait for them. */
static inline void be_refused(const char *directory, bool all)
{
	int fd = open(below(directory, "b/x"), O_WRONLY);

	if (fd >= 0 ||
	    (all && (open(below(directory, "b/n"), O_WRONLY | O_CREAT, 0600) >= 0 ||
		     mkdir(below(directory, "b/n"), 0700) == 0 ||
		     unlink(below(directory, "b/x")) == 0 || rmdir(below(directory, "b/d")) == 0)))
		cannot_try("being refused what a person says no to");
}

/* What lies in b must be as it was. */
static inline uint64_t fingerprint(const char *directory)
{
	static const char *const names[] = {"b", "b/x", "b/n", "b/d"};
	uint64_t print = 0;

	for (size_t i = 0; i < ELEMENTS(names); i++) {
		struct stat st = {0};

		if (lstat(below(directory, names[i]), &st) < 0)
			st.st_mode = 0;
		for (uint64_t part = 0; part < 5; part++) {
			uint64_t parts[] = {st.st_mode, (uint64_t)st.st_size, st.st_nlink,
					    (uint64_t)st.st_mtim.tv_sec, st.st_ino};

			print = (print ^ parts[part]) * 1099511628211u + 1;
		}
	}
	return print;
}
