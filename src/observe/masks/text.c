/* SPDX-License-Identifier: Apache-2.0 */
/* What is seen of a configuration, and the configuration itself, kept the same but for credentials.
 */
#include "text.h"
#include "../../base/io.h"
#include "../../sandbox/gitconfig.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

int text_find(const struct texts *texts, const struct stat *inside)
{
	struct stat st;

	for (size_t i = 0; texts && i < texts->count; i++)
		if (fstat(texts->fds[i], &st) == 0 && st.st_dev == inside->st_dev &&
		    st.st_ino == inside->st_ino)
			return texts->fds[i];
	return -1;
}

int text_read(int fd, char **ret_text, size_t *ret_length)
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return read_file(AT_FDCWD, link, GIT_CONFIG_LIMIT, ret_text, ret_length);
}

/* Written over first and cut after, with empty lines over what is cut: a reader in between, or
 * whoever comes after we were killed there, finds the new text. */
static int overwrite(int fd, const char *text, size_t length)
{
	_cleanup_free_ char *padded = NULL;
	size_t done = 0, whole = length;
	struct stat st;

	if (fstat(fd, &st) == 0 && st.st_size > (off_t)length && st.st_size <= GIT_CONFIG_LIMIT)
		whole = (size_t)st.st_size;
	padded = malloc(whole + 1);
	if (!padded)
		abort();
	memset(padded, '\n', whole);
	memcpy(padded, text, length);
	while (done < whole) {
		ssize_t n = pwrite(fd, padded + done, whole - done, (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	return ftruncate(fd, (off_t)length) < 0 ? -errno : 0;
}

/* Shows the text without its credentials. */
static int show(int seen, const char *text, size_t length)
{
	_cleanup_free_ char *redacted = NULL;
	size_t redacted_length;
	int r = git_config_redact(text, length, &redacted, &redacted_length);

	return r < 0 ? r : overwrite(seen, redacted, redacted_length);
}

int text_restore(int seen, const char *before, size_t before_length, char **text, size_t *length)
{
	_cleanup_free_ char *shown = NULL, *expected = NULL, *restored = NULL;
	size_t shown_length, expected_length, restored_length;
	int r;

	if (!before)
		return -EBUSY; /* removed meanwhile */
	r = text_read(seen, &shown, &shown_length);
	if (r == 0)
		r = git_config_redact(before, before_length, &expected, &expected_length);
	if (r < 0)
		return -EBUSY; /* it is not what it was */
	if (shown_length != expected_length || memcmp(shown, expected, shown_length) != 0) {
		r = overwrite(seen, expected, expected_length);
		return r < 0 ? r : -EBUSY;
	}
	r = git_config_restore(before, before_length, *text, *length, &restored, &restored_length);
	if (r < 0)
		return r;
	free(*text);
	*text = STEAL(restored);
	*length = restored_length;
	return 0;
}

int text_install(int seen, int parent, const char *name, const char *before, size_t before_length,
		 const char *text, size_t length)
{
	_cleanup_close_ int fd =
		openat(parent, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	_cleanup_free_ char *redacted = NULL;
	size_t redacted_length;
	int r;

	if (fd < 0)
		return -errno;
	/* Nothing is begun that could not be finished: neither of a text of which it cannot be said
	 * what may be seen of it, nor on a full disk. */
	r = git_config_redact(text, length, &redacted, &redacted_length);
	if (r < 0)
		return r;
	if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)MAX(length, (size_t)1)) < 0 &&
	    errno != EOPNOTSUPP && errno != ENOSYS)
		return -errno;
	r = overwrite(fd, text, length);
	if (r == 0)
		r = overwrite(seen, redacted, redacted_length);
	if (r < 0)
		(void)overwrite(fd, before, before_length);
	return r;
}

void text_renew(int seen, const char *path)
{
	_cleanup_close_ int fd =
		open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	_cleanup_free_ char *text = NULL;
	size_t length;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    text_read(fd, &text, &length) < 0 || show(seen, text, length) < 0)
		(void)!ftruncate(seen, 0);
}
