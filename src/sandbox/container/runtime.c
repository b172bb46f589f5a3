/* SPDX-License-Identifier: Apache-2.0 */
/* Where a runtime is: as the system has it, and nobody else. */
#include "container.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Where programs of the system lie. Not PATH: a command could have put something there. */
static const char *const places[] = {"/usr/bin", "/usr/local/bin", "/usr/sbin", "/usr/local/sbin",
				     "/bin"};

static bool is_believed(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == 0 &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH)) && st.st_mode & S_IXUSR;
}

char *container_find_runtime(const char *name)
{
	char *path;

	for (size_t i = 0; i < ELEMENTS(places); i++) {
		if (asprintf(&path, "%s/%s", places[i], name) < 0)
			abort();
		if (is_believed(path))
			return path;
		free(path);
	}
	return NULL;
}
