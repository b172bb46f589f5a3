/* SPDX-License-Identifier: Apache-2.0 */
#include "own_sockets.h"
#include "path.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static char *in_directory(const char *directory, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", directory, name) < 0)
		abort();
	return path;
}

/* /run/user/UID/ward. Caller frees. */
static char *usual_directory(void)
{
	char *path;

	if (asprintf(&path, "/run/user/%lu/ward", (unsigned long)geteuid()) < 0)
		abort();
	return path;
}

char *own_sockets_directory(void)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	_cleanup_free_ char *usual = usual_directory(), *parent = NULL;
	struct stat st;

	if (runtime && runtime[0] == '/')
		return in_directory(runtime, "ward");
	if (asprintf(&parent, "/run/user/%lu", (unsigned long)geteuid()) < 0)
		abort();
	if (stat(parent, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid())
		return STEAL(usual);
	return NULL;
}

static bool is_in(const char *directory, const char *path, const struct stat *st)
{
	static const char *const names[] = {SOCKET_AGENT, SOCKET_APPROVER};
	_cleanup_free_ char *real = directory ? realpath(directory, NULL) : NULL;

	if (!real)
		return false;
	if (path_is_under(path, real))
		return true;
	for (size_t i = 0; i < ELEMENTS(names); i++) {
		_cleanup_free_ char *socket = in_directory(real, names[i]);
		struct stat own;

		if (lstat(socket, &own) == 0 && own.st_dev == st->st_dev &&
		    own.st_ino == st->st_ino)
			return true;
	}
	return false;
}

/* The end of a path of theirs, wherever the environment of whoever started them led. */
static bool is_named_so(const char *path)
{
	return path_matches("/**/ward/" SOCKET_AGENT, path, NULL) ||
	       path_matches("/**/ward/" SOCKET_APPROVER, path, NULL);
}

bool is_own_socket(const char *path, const struct stat *st)
{
	_cleanup_free_ char *own = own_sockets_directory(), *usual = usual_directory();

	return is_named_so(path) || is_in(own, path, st) || is_in(usual, path, st) ||
	       is_in(SOCKETS_SYSTEM, path, st);
}

/* Begins with a NUL: no file, and no user's. */
static socklen_t port_name(uint16_t port, struct sockaddr_un *ret_address)
{
	int length;

	*ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
	length = snprintf(ret_address->sun_path + 1, sizeof(ret_address->sun_path) - 1,
			  "ward-web/%u", port);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

int own_port_mark(uint16_t port)
{
	struct sockaddr_un address;
	socklen_t length = port_name(port, &address);
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) < 0)
		return -1;
	return STEAL_FD(fd);
}

bool is_own_port(uint16_t port)
{
	struct sockaddr_un address;
	socklen_t length = port_name(port, &address);
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 || connect(fd, (struct sockaddr *)&address, length) == 0 ||
	       errno != ECONNREFUSED;
}
