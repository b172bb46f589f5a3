/* SPDX-License-Identifier: Apache-2.0 */
/* Which project files are believed: STATE/trusted, a line for each directory with the hash of its
 * file as it was when the user said so. */
#include "load.h"
#include "../base/buffer.h"
#include "../base/io.h"
#include "../base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

enum { HASH_TEXT = 2 * crypto_hash_sha256_BYTES + 1, TRUSTED_LIMIT = 4 * 1024 * 1024 };

static void hash_text(const char *text, size_t length, char ret_hash[static HASH_TEXT])
{
	unsigned char hash[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(hash, (const unsigned char *)text, length);
	sodium_bin2hex(ret_hash, HASH_TEXT, hash, sizeof(hash));
}

static int refuse(struct error **ret_error, int errnum, const char *path, const char *what)
{
	if (errnum)
		fail_errno(ret_error, E_POLICY, errnum, "%s", what);
	else
		fail(ret_error, E_POLICY, "%s", what);
	error_place(ret_error, path, 0, 0);
	error_hint(ret_error, "look at it, then remove it and say anew: ward policy trust");
	return -E_POLICY;
}

/* The list as text, "" where there is none. */
static int read_trusted(const char *path, uid_t uid, struct stamp *ret_stamp, char **ret_text,
			struct error **ret_error)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stamp stamp = {.is_trust = true};
	struct stat st;
	char *text;
	ssize_t length;

	if (fd < 0 && errno != ENOENT && errno != ENOTDIR)
		return refuse(ret_error, errno, path, "the list of what is trusted cannot be read");
	if (fd >= 0) {
		if (fstat(fd, &st) < 0)
			return refuse(ret_error, errno, path,
				      "the list of what is trusted cannot be read");
		if (!S_ISREG(st.st_mode) || (st.st_uid != uid && st.st_uid != 0) ||
		    (st.st_mode & (S_IWGRP | S_IWOTH)))
			return refuse(ret_error, 0, path,
				      "others may write to the list of what is trusted");
		if (st.st_size > TRUSTED_LIMIT)
			return refuse(ret_error, EFBIG, path,
				      "the list of what is trusted cannot be read");
		stamp.exists = true;
		stamp.device = st.st_dev;
		stamp.inode = st.st_ino;
		stamp.size = st.st_size;
		stamp.changed = st.st_ctim;
	}
	text = calloc(1, fd < 0 ? 1 : (size_t)st.st_size + 1);
	if (!text)
		abort();
	length = fd < 0 ? 0 : read_all(fd, text, (size_t)st.st_size);
	if (length < 0) {
		free(text);
		return refuse(ret_error, (int)-length, path,
			      "the list of what is trusted cannot be read");
	}
	if (ret_stamp) {
		*ret_stamp = stamp;
		ret_stamp->path = strdup(path);
	}
	*ret_text = text;
	return 0;
}

int trust_look(const char *state, uid_t uid, const char *directory, const char *text, size_t length,
	       struct stamp *ret_stamp, bool *ret_trusted, struct error **ret_error)
{
	_cleanup_free_ char *path = path_resolve(state, NULL, "trusted"), *list = NULL,
			    *wanted = NULL;
	char real[PATH_MAX], hash[HASH_TEXT], *rest, *line;
	int r = read_trusted(path, uid, ret_stamp, &list, ret_error);

	if (r < 0)
		return r;
	*ret_trusted = false;
	if (!text || !realpath(directory, real))
		return 0;
	hash_text(text, length, hash);
	if (asprintf(&wanted, "%s %s", hash, real) < 0)
		abort();
	rest = list;
	while ((line = strsep(&rest, "\n")))
		*ret_trusted |= strcmp(line, wanted) == 0;
	return 0;
}

/* The list without directory, and with line (may be NULL) at its end, in place of the old one. */
static int rewrite(const char *state, const char *directory, const char *line,
		   struct error **ret_error)
{
	_cleanup_free_ char *path = path_resolve(state, NULL, "trusted"), *list = NULL,
			    *lock_path = path_resolve(state, NULL, "trusted.lock"),
			    *new_path = path_resolve(state, NULL, "trusted.new");
	_cleanup_buffer_ struct buffer text = {0};
	_cleanup_close_ int lock = -1, fd = -1;
	char *rest, *old;
	int r;

	r = make_directories(state, 0700);
	if (r < 0)
		return refuse(ret_error, -r, state, "the state directory cannot be made");
	lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (lock < 0 || flock(lock, LOCK_EX) < 0)
		return refuse(ret_error, errno, lock_path, "the lock cannot be taken");
	r = read_trusted(path, geteuid(), NULL, &list, ret_error);
	if (r < 0)
		return r;
	rest = list;
	while ((old = strsep(&rest, "\n"))) {
		const char *space = strchr(old, ' ');

		if (space && strcmp(space + 1, directory) != 0)
			buffer_printf(&text, "%s\n", old);
	}
	if (line)
		buffer_printf(&text, "%s\n", line);
	unlink(new_path);
	fd = open(new_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return refuse(ret_error, errno, new_path, "it cannot be written");
	r = write_all(fd, buffer_text(&text), text.length);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r == 0 && rename(new_path, path) < 0)
		r = -errno;
	return r < 0 ? refuse(ret_error, -r, new_path, "it cannot be written") : 0;
}

static int real_directory(const char *directory, char ret_real[static PATH_MAX],
			  struct error **ret_error)
{
	if (!realpath(directory, ret_real)) {
		fail_errno(ret_error, E_POLICY, errno, "cannot find %s", directory);
		return error_hint(ret_error, "name the directory that holds " PROJECT_FILE);
	}
	if (strchr(ret_real, '\n')) {
		fail(ret_error, E_POLICY, "the name of %s holds a line break", ret_real);
		return error_hint(ret_error, "rename it");
	}
	return 0;
}

int policy_trust(const char *state, const char *directory, struct error **ret_error)
{
	struct policy_places places = {
		.workspace = directory, .uid = geteuid(), .home = getenv("HOME")};
	_cleanup_free_ char *path = NULL, *text = NULL, *line = NULL;
	_cleanup_sources_ struct sources sources = {0};
	char real[PATH_MAX], hash[HASH_TEXT];
	struct stamp stamp = {0};
	size_t length = 0;
	int r = real_directory(directory, real, ret_error);

	if (r < 0)
		return r;
	places.workspace = real;
	path = path_resolve(real, NULL, PROJECT_FILE);
	/* Only what makes sense is worth believing. */
	r = sources_read(&places, PLACE_PROJECT, path, &sources, &stamp, ret_error);
	free(stamp.path);
	if (r < 0)
		return r;
	if (sources.count == 0) {
		fail(ret_error, E_POLICY, "there is no %s in %s", PROJECT_FILE, real);
		return error_hint(ret_error, "name the directory of the project");
	}
	text = sources_text(&sources, &length);
	hash_text(text, length, hash);
	if (asprintf(&line, "%s %s", hash, real) < 0)
		abort();
	return rewrite(state, real, line, ret_error);
}

int policy_untrust(const char *state, const char *directory, struct error **ret_error)
{
	char real[PATH_MAX];
	int r;

	/* One that is gone can still be struck off. */
	if (!realpath(directory, real) && directory[0] == '/')
		return rewrite(state, directory, /* line= */ NULL, ret_error);
	r = real_directory(directory, real, ret_error);
	return r < 0 ? r : rewrite(state, real, /* line= */ NULL, ret_error);
}
