/* SPDX-License-Identifier: Apache-2.0 */
/* Reading policy files from their places: only regular files, and only from hands that may speak.
 */
#include "layer.h"
#include "../base/io.h"
#include "../base/path.h"
#include "../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void stamp_fill(struct stamp *stamp, const struct stat *st)
{
	stamp->exists = true;
	stamp->device = st->st_dev;
	stamp->inode = st->st_ino;
	stamp->size = st->st_size;
	stamp->changed = st->st_ctim;
}

bool stamp_is_same(const struct stamp *one, const struct stamp *other)
{
	return one->exists == other->exists && one->device == other->device &&
	       one->inode == other->inode && one->size == other->size &&
	       one->changed.tv_sec == other->changed.tv_sec &&
	       one->changed.tv_nsec == other->changed.tv_nsec;
}

bool stamp_is_current(const struct stamp *stamp)
{
	struct stamp now = {0};
	struct stat st;

	if (fstatat(AT_FDCWD, stamp->path, &st, stamp->follow ? 0 : AT_SYMLINK_NOFOLLOW) == 0)
		stamp_fill(&now, &st);
	else if (errno != ENOENT && errno != ENOTDIR)
		return false;
	return stamp_is_same(stamp, &now);
}

static int refuse(struct error **ret_error, const char *path, const char *hint, const char *what)
{
	fail(ret_error, E_POLICY, "%s", what);
	error_place(ret_error, path, 0, 0);
	error_hint(ret_error, "%s", hint);
	return -E_POLICY;
}

static int refuse_errno(struct error **ret_error, const char *path, int errnum)
{
	fail_errno(ret_error, E_POLICY, errnum, "the policy cannot be read");
	error_place(ret_error, path, 0, 0);
	error_hint(ret_error, "make it readable, or remove it");
	return -E_POLICY;
}

/* The machine's and the user's own files are believed in full, so nobody else may write them. */
static int check_owner(const struct policy_places *places, const char *path, const struct stat *st,
		       struct error **ret_error)
{
	_cleanup_free_ char *what = NULL, *hint = NULL;

	if (st->st_uid != 0 && st->st_uid != places->uid) {
		if (asprintf(&what, "the policy belongs to user %lu", (unsigned long)st->st_uid) <
			    0 ||
		    asprintf(&hint, "chown it to root or to user %lu, or remove it",
			     (unsigned long)places->uid) < 0)
			abort();
		return refuse(ret_error, path, hint, what);
	}
	if (st->st_mode & (S_IWGRP | S_IWOTH)) {
		if (asprintf(&what, "others may write to the policy (mode %04o)",
			     (unsigned)st->st_mode & 07777) < 0 ||
		    asprintf(&hint, "chmod go-w %s, then look at what it says", path) < 0)
			abort();
		return refuse(ret_error, path, hint, what);
	}
	return 0;
}

/* Where an open file lies, whatever links led there. */
static bool lies_in(int fd, const char *path, const char *directory)
{
	char link[32], real[PATH_MAX], top[PATH_MAX];
	_cleanup_free_ char *written = NULL;
	ssize_t length;

	if (!realpath(directory, top))
		return true;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, real, sizeof(real) - 1);
	if (length <= 0 || real[0] != '/')
		return true; /* in doubt */
	real[length] = '\0';
	written = path_normalise(path);
	return path_is_under(real, top) || path_is_under(written, top) ||
	       path_is_under(written, directory);
}

/* A FIFO must not hold ward up, a terminal not become its own. What a project includes is found
 * without a link and without leaving it: whoever wrote the project's file has no right to have
 * others read. */
static int open_policy(const struct policy_places *places, enum place place, bool included,
		       const char *path)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	_cleanup_close_ int directory = -1;

	if (place != PLACE_PROJECT)
		return open(path, flags);
	if (!included)
		return open(path, flags | O_NOFOLLOW);
	directory = open(places->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return -1;
	return sys_openat2(directory, path + strlen(places->workspace) + 1, (uint64_t)flags,
			   RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

int place_read(const struct policy_places *places, enum place place, bool included,
	       const char *path, struct stamp *ret_stamp, bool *ret_trusted, char **ret_text,
	       size_t *ret_length, struct error **ret_error)
{
	bool follow = place != PLACE_PROJECT;
	_cleanup_close_ int fd = open_policy(places, place, included, path);
	struct stamp stamp = {.follow = follow};
	_cleanup_free_ char *text = NULL;
	struct stat st;
	ssize_t length;
	int r;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR) && (place != PLACE_EXTRA || included)) {
		stamp.path = strdup(path);
		*ret_stamp = stamp;
		return 0;
	}
	if (fd < 0 && (errno == ELOOP || errno == EXDEV) && !follow)
		return refuse(ret_error, path, "put a file there, or remove the link",
			      included ? "a symbolic link leads to what the project includes"
				       : "the project's policy is a symbolic link");
	if (fd < 0 && errno == ENXIO)
		return refuse(ret_error, path, "put a file there, or remove it",
			      "the policy is not a regular file");
	if (fd < 0 || fstat(fd, &st) < 0)
		return refuse_errno(ret_error, path, errno);
	if (!S_ISREG(st.st_mode))
		return refuse(ret_error, path, "put a file there, or remove it",
			      "the policy is not a regular file");
	*ret_trusted = place != PLACE_PROJECT;
	if (place == PLACE_SYSTEM || place == PLACE_USER || place == PLACE_SESSION) {
		r = check_owner(places, path, &st, ret_error);
		if (r < 0)
			return r;
		/* The files themselves no command can reach; what they include may lie where one
		 * can. */
		if (included)
			*ret_trusted = !lies_in(fd, path, places->workspace) &&
				       !(places->state && access(places->state, F_OK) == 0 &&
					 lies_in(fd, path, places->state));
	}
	if (place == PLACE_EXTRA)
		/* What lies in ward's state may be a command's: the private /tmp of a session does.
		 */
		*ret_trusted = !places->foreign_extra &&
			       !(places->state && access(places->state, F_OK) == 0 &&
				 lies_in(fd, path, places->state)) &&
			       st.st_uid == places->uid && !(st.st_mode & (S_IWGRP | S_IWOTH)) &&
			       !lies_in(fd, path, places->workspace);
	text = malloc(MIN((size_t)st.st_size, (size_t)POLICY_LIMIT) + 2);
	if (!text)
		abort();
	length = read_all(fd, text, MIN((size_t)st.st_size, (size_t)POLICY_LIMIT) + 1);
	if (length < 0)
		return refuse_errno(ret_error, path, (int)-length);
	/* One that grows while it is read is read anew by the next request. */
	if (length > POLICY_LIMIT)
		return refuse(ret_error, path, "shorten it: a policy is written by people",
			      "the file is longer than 4 MiB");
	text[length] = '\0';
	stamp.path = strdup(path);
	stamp_fill(&stamp, &st);
	*ret_stamp = stamp;
	*ret_text = STEAL(text);
	*ret_length = (size_t)length;
	return 1;
}
