/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of an agent, STATE/agents/NAME, and files of lines in it: opened link by link, only
 * ever appended to, under one lock. */
#include "trust_lines.h"
#include "../base/buffer.h"
#include "../base/io.h"
#include "../base/path.h"
#include "trust.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* No id of an agent that session_check_agent() takes is so long: record/incidents.h has none by its
 * hash. */
enum { FILE_MOST = 8 * 1024 * 1024, NAME_LONG = 200 };

/* An agent's name as one of a file: what is not plain as %XX, and one that is long by its hash. */
static char *file_name(const char *agent)
{
	_cleanup_buffer_ struct buffer text = {0};

	for (const unsigned char *c = (const unsigned char *)agent; *c; c++)
		if (isascii(*c) && (isalnum(*c) || *c == '-' || *c == '_' ||
				    (*c == '.' && c != (const unsigned char *)agent)))
			buffer_add_char(&text, (char)*c);
		else
			buffer_printf(&text, "%%%02X", *c);
	if (text.length > NAME_LONG) {
		unsigned char hash[crypto_hash_sha256_BYTES];
		char hex[2 * crypto_hash_sha256_BYTES + 1];

		crypto_hash_sha256(hash, (const unsigned char *)agent, strlen(agent));
		sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
		text.length = NAME_LONG / 3;
		buffer_printf(&text, "%%%s", hex); /* %xx of small letters: no other name is so */
	}
	return buffer_steal(&text);
}

char *trust_directory(const char *state, const char *agent)
{
	_cleanup_free_ char *name = file_name(agent);
	char *path = NULL;

	if (asprintf(&path, "%s/agents/%s", state, name) < 0)
		abort();
	return path;
}

int lines_refuse(struct error **ret_error, int errnum, const char *agent, const char *what)
{
	if (errnum)
		fail_errno(ret_error, E_ENGINE, errnum, "%s of the agent %s", what, agent);
	else
		fail(ret_error, E_ENGINE, "%s of the agent %s", what, agent);
	return error_hint(ret_error, "look into the directory agents of ward's state");
}

/* Opened, and of nobody else. */
static int open_own(int at, const char *name, int flags, mode_t kind, int *ret_fd)
{
	_cleanup_close_ int fd =
		openat(at, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if ((st.st_mode & S_IFMT) != kind || (st.st_uid != geteuid() && st.st_uid != 0) ||
	    (st.st_mode & (S_IWGRP | S_IWOTH)) || (kind == S_IFREG && st.st_nlink != 1))
		return -EPERM;
	*ret_fd = fd;
	fd = -1;
	return 0;
}

int trust_open_directory(const char *state, const char *agent, bool make, int *ret_fd,
			 struct error **ret_error)
{
	_cleanup_free_ char *name = file_name(agent);
	_cleanup_close_ int at = -1, agents = -1;
	int r = make ? make_directories(state, 0700) : 0;

	*ret_fd = -1;
	if (r < 0)
		return lines_refuse(ret_error, -r, agent, "cannot keep anything");
	at = open(state, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at < 0 && !make && errno == ENOENT)
		return 0;
	if (make && mkdirat(at, "agents", 0700) < 0 && errno != EEXIST)
		return lines_refuse(ret_error, errno, agent, "cannot keep anything");
	r = open_own(at, "agents", O_RDONLY | O_DIRECTORY, S_IFDIR, &agents);
	if (r == -ENOENT && !make)
		return 0;
	if (r == 0 && make && mkdirat(agents, name, 0700) < 0 && errno != EEXIST)
		r = -errno;
	if (r == 0)
		r = open_own(agents, name, O_RDONLY | O_DIRECTORY, S_IFDIR, ret_fd);
	if (r == -ENOENT && !make)
		return 0;
	return r < 0 ? lines_refuse(ret_error, -r, agent, "cannot open what is kept") : 0;
}

/* "ci%2Fone" back to "ci/one"; NULL for one that is known by its hash. */
static char *agent_of(const char *name)
{
	_cleanup_buffer_ struct buffer text = {0};

	for (const char *c = name; *c; c++) {
		char digits[3] = {0};

		if (*c != '%') {
			buffer_add_char(&text, *c);
			continue;
		}
		if (!c[1] || !c[2] || strspn(c + 1, "0123456789ABCDEF") < 2)
			return NULL;
		memcpy(digits, c + 1, 2);
		buffer_add_char(&text, (char)strtoul(digits, NULL, 16));
		c += 2;
	}
	return buffer_steal(&text);
}

static int by_name(const void *one, const void *other)
{
	return strcmp(*(char *const *)one, *(char *const *)other);
}

int trust_agents(const char *state, struct list *ret_agents, struct error **ret_error)
{
	_cleanup_free_ char *path = path_resolve(state, NULL, "agents");
	DIR *directory = opendir(path);
	const struct dirent *entry;

	if (!directory)
		return errno == ENOENT ? 0 : fail_errno(ret_error, E_ENGINE, errno, "%s", path);
	while ((entry = readdir(directory))) {
		char *agent = entry->d_name[0] == '.' ? NULL : agent_of(entry->d_name);

		if (agent)
			list_take(ret_agents, agent);
	}
	closedir(directory);
	if (ret_agents->count)
		qsort(ret_agents->items, ret_agents->count, sizeof(*ret_agents->items), by_name);
	return 0;
}

int lines_read(int directory, const char *name,
	       int (*take)(void *data, const char *line, size_t length), void *data,
	       off_t *ret_whole, bool *ret_torn)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -1;
	const char *line, *end;
	ssize_t length;
	struct stat st;
	int r = open_own(directory, name, O_RDONLY, S_IFREG, &fd);

	*ret_whole = 0;
	*ret_torn = false;
	if (r == -ENOENT)
		return 0;
	if (r < 0 || fstat(fd, &st) < 0)
		return r < 0 ? r : -errno;
	if (st.st_size > FILE_MOST)
		return -EFBIG;
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		abort();
	length = read_all(fd, text, (size_t)st.st_size);
	if (length < 0)
		return (int)length;
	for (line = text; (end = memchr(line, '\n', (size_t)(text + length - line)));
	     line = end + 1)
		if ((r = take(data, line, (size_t)(end - line))) < 0)
			return r;
	*ret_whole = line - text;
	*ret_torn = line < text + length;
	return 0;
}

/* Taken until the fd is closed. */
int lines_lock(int directory, int *ret_lock)
{
	int r = open_own(directory, "trust.lock", O_RDWR | O_CREAT, S_IFREG, ret_lock);

	while (r == 0 && flock(*ret_lock, LOCK_EX) < 0)
		if (errno != EINTR)
			r = -errno;
	return r;
}

int lines_append(int directory, const char *name, off_t whole, const char *line)
{
	_cleanup_buffer_ struct buffer bytes = {0};
	_cleanup_close_ int fd = -1;
	int r;

	buffer_printf(&bytes, "%s\n", line);
	r = open_own(directory, name, O_WRONLY | O_APPEND | O_CREAT, S_IFREG, &fd);
	/* Half a line that somebody left behind would spoil this one. */
	if (r == 0 && ftruncate(fd, whole) < 0)
		r = -errno;
	if (r == 0)
		r = write_all(fd, bytes.data, bytes.length);
	if (r == 0 && fdatasync(fd) < 0)
		r = -errno;
	/* A full disk leaves no half. */
	if (r < 0 && fd >= 0)
		(void)!ftruncate(fd, whole);
	return r;
}

int trust_lines_read(const char *state, const char *agent, const char *name,
		     int (*take)(void *data, const char *line, size_t length), void *data,
		     struct error **ret_error)
{
	_cleanup_close_ int directory = -1;
	off_t whole;
	bool torn;
	int r = trust_open_directory(state, agent, /* make= */ false, &directory, ret_error);

	if (r < 0 || directory < 0)
		return r;
	r = lines_read(directory, name, take, data, &whole, &torn);
	return r < 0 ? lines_refuse(ret_error, -r, agent, "cannot read what is kept") : 0;
}
