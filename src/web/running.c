/* SPDX-License-Identifier: Apache-2.0 */
#include "running.h"
#include "../base/io.h"
#include "session_files.h"
#include "sessions.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define SERVER_NAME "server"

enum { FILE_MOST = 4096, START_LOOKS = 100, START_MS = 20 };

/* A lock of the open file: looking whether it is held does not take it. */
static bool is_locked(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static json_t *read_server(int directory)
{
	struct stat st;

	return web_file_read(directory, SERVER_NAME, &st);
}

int web_running_take(const char *state, int *ret_lock, uint16_t *ret_last_port,
		     struct error **ret_error)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	_cleanup_close_ int directory = -1, fd = -1;
	json_int_t port;
	json_t *before;
	int r = web_directory(state, &directory, ret_error);

	if (r < 0)
		return r;
	fd = openat(directory, SERVER_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "opening %s/web/" SERVER_NAME, state);
	if (fcntl(fd, F_OFD_SETLK, &lock) < 0) {
		fail(ret_error, E_USAGE, "ward web serves already");
		return error_hint(ret_error, "`ward web link` prints a link to it");
	}
	before = read_server(directory);
	port = json_integer_value(json_object_get(before, "port"));
	json_decref(before);
	/* What is empty is not ready yet. */
	if (ftruncate(fd, 0) < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "%s/web/" SERVER_NAME, state);
	*ret_last_port = port > 0 && port <= UINT16_MAX ? (uint16_t)port : 0;
	*ret_lock = STEAL_FD(fd);
	return 0;
}

int web_running_publish(int lock, const char *url, uint16_t port, struct error **ret_error)
{
	json_t *object =
		json_pack("{s:s, s:i, s:I}", "url", url, "port", port, "pid", (json_int_t)getpid());
	_cleanup_free_ char *text = json_dumps(object, JSON_COMPACT);
	int r = text ? write_all(lock, text, strlen(text)) : -ENOMEM;

	json_decref(object);
	return r < 0 ? fail_errno(ret_error, E_ENGINE, -r, "saying where ward web serves") : 0;
}

int web_running_find(const char *state, char **ret_url, struct error **ret_error)
{
	_cleanup_close_ int directory = -1, fd = -1;
	int r = web_directory(state, &directory, ret_error);

	if (r < 0)
		return r;
	fd = openat(directory, SERVER_NAME, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	for (int i = 0; fd >= 0 && i < START_LOOKS && is_locked(fd); i++) {
		json_t *object = read_server(directory);
		const char *url = json_string_value(json_object_get(object, "url"));

		if (url)
			*ret_url = strdup(url);
		json_decref(object);
		if (url)
			return 1;
		(void)poll(NULL, 0, START_MS);
	}
	if (fd >= 0 && is_locked(fd))
		return fail(ret_error, E_ENGINE,
			    "a server holds %s/web/" SERVER_NAME " and does not say where it is",
			    state);
	return 0;
}
