/* SPDX-License-Identifier: Apache-2.0 */
/* Finding, making and opening the state directory. */
#include "state.h"
#include "../base/io.h"
#include "../base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { PASSWD_LIMIT = 4 * 1024 * 1024 };

/* Read by hand because a static program cannot load the name service's modules. */
int account_find(uid_t uid, gid_t *ret_gid, char **ret_home)
{
	_cleanup_free_ char *text = NULL;
	char *rest, *line;

	if (read_file(AT_FDCWD, "/etc/passwd", PASSWD_LIMIT, &text, /* ret_length= */ NULL) < 0)
		return -ENOENT;
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		/* name:password:uid:gid:description:home:shell */
		char *fields[7] = {NULL}, *end;
		size_t count = 0;
		unsigned long number;

		while (count < ELEMENTS(fields) && (fields[count] = strsep(&line, ":")))
			count++;
		if (count < 6 || fields[2][0] < '0' || fields[2][0] > '9')
			continue;
		number = strtoul(fields[2], &end, 10);
		if (*end != '\0' || number != uid || fields[5][0] != '/')
			continue;
		if (ret_gid)
			*ret_gid = (gid_t)strtoul(fields[3], NULL, 10);
		*ret_home = strdup(fields[5]);
		return 0;
	}
	return -ENOENT;
}

/* Inside another ward's sandbox, whose store can be seen there and nowhere else, the state is
 * masked. What runs there keeps its own among its temporary files; what counts is on the outer
 * ward's record. Takes ownership of path, caller frees. */
static char *reachable(char *path)
{
	const char *tmp = getenv("TMPDIR");
	char *inside;

	if (access("/run/.ward", F_OK) < 0)
		return path;
	(void)make_directories(path, 0700);
	if (access(path, R_OK | W_OK | X_OK) == 0)
		return path;
	free(path);
	if (asprintf(&inside, "%s/ward-%lu", tmp && tmp[0] == '/' ? tmp : "/tmp",
		     (unsigned long)geteuid()) < 0)
		abort();
	return inside;
}

int state_directory(char **ret_path, struct error **ret_error)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	_cleanup_free_ char *joined = NULL, *found = NULL;
	int r;

	if (state && state[0] == '/') {
		r = asprintf(&joined, "%s/ward", state);
	} else {
		if (!home || home[0] != '/') {
			(void)account_find(geteuid(), /* ret_gid= */ NULL, &found);
			home = found;
		}
		if (!home && geteuid() == 0)
			home = "/root";
		if (!home) {
			fail(ret_error, E_ENGINE,
			     "no place for ward's state: user %lu has no home directory",
			     (unsigned long)geteuid());
			return error_hint(ret_error,
					  "set HOME or XDG_STATE_HOME to an absolute path");
		}
		r = asprintf(&joined, "%s/.local/state/ward", home);
	}
	if (r < 0)
		abort();
	*ret_path = reachable(path_normalise(joined));
	return 0;
}

int state_directory_make(const char *path, struct error **ret_error)
{
	int r;

	/* Nearly always it is there, and one call settles it. */
	if (mkdir(path, 0700) == 0 || errno == EEXIST)
		return 0;
	r = make_directories(path, 0700);
	if (r < 0) {
		fail_errno(ret_error, E_ENGINE, -r, "cannot make the state directory %s", path);
		return error_hint(ret_error,
				  "make it writable, or set XDG_STATE_HOME to another place");
	}
	return 0;
}

int state_directory_open(const char *path, int *ret_fd, struct error **ret_error)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		fail_errno(ret_error, E_ENGINE, errno, "cannot open the state directory %s", path);
		return error_hint(ret_error,
				  "make it readable, or set XDG_STATE_HOME to another place");
	}
	if (st.st_uid != geteuid()) {
		fail(ret_error, E_ENGINE,
		     "the state directory %s belongs to user %lu, not to user %lu", path,
		     (unsigned long)st.st_uid, (unsigned long)geteuid());
		return error_hint(ret_error, "set HOME or XDG_STATE_HOME to a place of your own");
	}
	if (st.st_mode & (S_IWGRP | S_IWOTH)) {
		fail(ret_error, E_ENGINE, "others may write to the state directory %s (mode %04o)",
		     path, (unsigned)st.st_mode & 07777);
		return error_hint(ret_error, "chmod 700 %s, then check it with `ward audit verify`",
				  path);
	}
	*ret_fd = STEAL_FD(fd);
	return 0;
}
