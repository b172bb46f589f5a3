/* SPDX-License-Identifier: Apache-2.0 */
/* Pinned programs: found as the command would find them, and compared as files. What lies where
 * commands can write is never certain: it could be another file by the time it starts. */
#include "pin.h"
#include "pattern.h"
#include "../base/path.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HASH_TEXT = 2 * crypto_hash_sha256_BYTES + 1, HASH_LIMIT = 512 * 1024 * 1024 };

/* Commands can write there, or could make it. path: absolute. */
static bool is_writable(const struct circumstances *circumstances, const char *path)
{
	const struct request *request = circumstances->request;
	const struct list *lists[] = {&circumstances->writable, &request->write, &request->make};
	char workspace[PATH_MAX];

	if (!realpath(request->workspace, workspace) || path_is_under(path, workspace) ||
	    path_is_under(path, "/tmp") || path_is_under(path, "/var/tmp") ||
	    path_is_under(path, "/dev/shm"))
		return true;
	for (size_t l = 0; l < ELEMENTS(lists); l++)
		for (size_t i = 0; i < lists[l]->count; i++) {
			_cleanup_free_ char *pattern = path_resolve(
				request->workspace, circumstances->home, lists[l]->items[i]);
			_cleanup_free_ char *fixed = path_fixed_part(pattern);
			char real[PATH_MAX];

			if (path_is_under(path, fixed) ||
			    (realpath(fixed, real) && path_is_under(path, real)))
				return true;
		}
	return false;
}

static bool request_sets_path(const struct request *request)
{
	for (size_t i = 0; i < request->environment.count; i++)
		if (strncmp(request->environment.items[i], "PATH=", 5) == 0)
			return true;
	return request->login; /* a profile may */
}

/* The file that the name leads to, links resolved. Unknown where that may change before it starts,
 * no where there is none. */
static enum truth find_program(const struct circumstances *circumstances, const char *name,
			       char ret_real[static PATH_MAX])
{
	const struct request *request = circumstances->request;
	_cleanup_free_ char *path = NULL;
	char *rest, *directory;

	if (name[0] == '/')
		return realpath(name, ret_real) ? TRUTH_YES : TRUTH_NO;
	if (strchr(name, '/') || request_sets_path(request) || !getenv("PATH"))
		return TRUTH_UNKNOWN;
	path = strdup(getenv("PATH"));
	rest = path;
	while ((directory = strsep(&rest, ":"))) {
		_cleanup_free_ char *file = NULL;

		if (directory[0] != '/' || is_writable(circumstances, directory) ||
		    (realpath(directory, ret_real) && is_writable(circumstances, ret_real)))
			return TRUTH_UNKNOWN;
		if (asprintf(&file, "%s/%s", directory, name) < 0)
			abort();
		if (access(file, X_OK) == 0 && realpath(file, ret_real))
			return TRUTH_YES;
	}
	return TRUTH_NO;
}

static bool hash_is(int fd, const char *wanted)
{
	unsigned char hash[crypto_hash_sha256_BYTES];
	unsigned char block[16 * 1024];
	crypto_hash_sha256_state state;
	char text[HASH_TEXT];
	size_t total = 0;
	ssize_t length;

	crypto_hash_sha256_init(&state);
	while ((length = read(fd, block, sizeof(block))) > 0 && total <= HASH_LIMIT) {
		crypto_hash_sha256_update(&state, block, (unsigned long long)length);
		total += (size_t)length;
	}
	crypto_hash_sha256_final(&state, hash);
	sodium_bin2hex(text, sizeof(text), hash, sizeof(hash));
	return length == 0 && strcmp(text, wanted) == 0;
}

/* The file is what the pin says, and nobody but root and the user can change that. */
static enum truth is_pinned(const struct pin *pin, const struct circumstances *circumstances,
			    const char *real)
{
	_cleanup_close_ int fd = -1;
	char pinned[PATH_MAX];
	struct stat wanted, found;

	if (!realpath(pin->path, pinned) || stat(pinned, &wanted) < 0)
		return TRUTH_NO;
	fd = open(real, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		fd = open(real, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &found) < 0)
		return TRUTH_UNKNOWN;
	if (found.st_dev != wanted.st_dev || found.st_ino != wanted.st_ino ||
	    !S_ISREG(found.st_mode) || (pin->has_owner && found.st_uid != pin->owner))
		return TRUTH_NO;
	if ((found.st_uid != 0 && found.st_uid != circumstances->uid) ||
	    (found.st_mode & (S_IWGRP | S_IWOTH)) || is_writable(circumstances, real))
		return TRUTH_UNKNOWN;
	if (pin->sha256 && !hash_is(fd, pin->sha256))
		return TRUTH_NO;
	return TRUTH_YES;
}

enum truth pin_holds(const struct pin *pin, const struct circumstances *circumstances,
		     const struct command *command, size_t first)
{
	const struct request *request = circumstances->request;
	char real[PATH_MAX];
	enum truth found;

	if (!request || !request->workspace)
		return TRUTH_UNKNOWN;
	if (circumstances->program)
		return is_pinned(pin, circumstances, circumstances->program);
	if (first >= command->argc)
		return TRUTH_NO;
	/* A function of the script goes by its name first. */
	if (command->remote || command->calls || pattern_word_varies(command, command->argv[first]))
		return TRUTH_UNKNOWN;
	for (size_t i = 0; i < command->assignment_count; i++)
		if (strncmp(command->assignments[i], "PATH=", 5) == 0)
			return TRUTH_UNKNOWN;
	found = find_program(circumstances, command->argv[first], real);
	return found == TRUTH_YES ? is_pinned(pin, circumstances, real) : found;
}
