/* SPDX-License-Identifier: Apache-2.0 */
#include "door.h"
#include "../base/io.h"
#include "../base/own_sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

enum { BACKLOG = 64, HANDED_FIRST = 3, HANDED_MOST = 8 };

static const char *const names[DOOR_SIDES] = {
	[DOOR_AGENT] = SOCKET_AGENT, [DOOR_APPROVER] = SOCKET_APPROVER};

/* Which of the two it is that systemd has handed over, by the name it is bound to; -1: neither. */
static int side_of(int fd)
{
	struct sockaddr_un address = {0};
	socklen_t length = sizeof(address) - 1;
	const char *name;
	int listens = 0;
	socklen_t size = sizeof(listens);

	if (getsockname(fd, (struct sockaddr *)&address, &length) < 0 ||
	    address.sun_family != AF_UNIX ||
	    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) < 0 || !listens)
		return -1;
	name = strrchr(address.sun_path, '/');
	for (int side = 0; name && side < DOOR_SIDES; side++)
		if (strcmp(name + 1, names[side]) == 0)
			return side;
	return -1;
}

/* As sd_listen_fds does it: the variables are meant for one process, and for nobody that it starts.
 * 1: both are there; 0: none was handed over. */
static int take_handed(struct door *door, struct error **ret_error)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	long many = pid && count && strtol(pid, NULL, 10) == getpid() ? strtol(count, NULL, 10) : 0;

	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	if (many <= 0)
		return 0;
	for (int fd = HANDED_FIRST; fd < HANDED_FIRST + MIN(many, (long)HANDED_MOST); fd++) {
		int side = side_of(fd);

		if (side < 0 || door->sockets[side] >= 0)
			return fail(ret_error, E_USAGE,
				    "descriptor %d that was handed over is not a listening %s or "
				    "%s",
				    fd, SOCKET_AGENT, SOCKET_APPROVER);
		door->sockets[side] = fd;
		if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
			return fail_errno(ret_error, E_ENGINE, errno, "taking a socket over");
	}
	door->handed = true;
	if (door->sockets[DOOR_AGENT] < 0 || door->sockets[DOOR_APPROVER] < 0)
		return fail(ret_error, E_USAGE, "both sockets must be handed over, not one");
	return 1;
}

static int open_directory(bool system, const char *path, int *ret_fd, struct error **ret_error)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	int r = make_directories(path, system ? 0755 : 0700);

	if (r == 0)
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (r < 0 || fd < 0 || fstat(fd, &st) < 0) {
		fail_errno(ret_error, E_ENGINE, r < 0 ? -r : errno, "the directory for sockets %s",
			   path);
		return error_hint(ret_error, "it must be writable: see XDG_RUNTIME_DIR");
	}
	/* Whoever can change names there can stand in for us. */
	if (st.st_uid != geteuid() || (st.st_mode & (system ? 022 : 077))) {
		fail(ret_error, E_ENGINE, "%s belongs to user %lu and has mode %04o", path,
		     (unsigned long)st.st_uid, (unsigned)st.st_mode & 07777);
		return error_hint(ret_error, "it must be yours alone: chmod %s %s",
				  system ? "go-w" : "700", path);
	}
	*ret_fd = STEAL_FD(fd);
	return 0;
}

/* One daemon for each directory. The lock is the process's own, which no child of it has, and goes
 * with it, however it ends. */
static int take_lock(struct door *door, int directory, struct error **ret_error)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	door->lock = openat(directory, "daemon.lock",
			    O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (door->lock < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "the lock in %s", door->directory);
	if (fcntl(door->lock, F_SETLK, &lock) == 0)
		return 0;
	if (errno != EAGAIN && errno != EACCES)
		return fail_errno(ret_error, E_ENGINE, errno, "the lock in %s", door->directory);
	lock.l_pid = 0;
	(void)fcntl(door->lock, F_GETLK, &lock);
	fail(ret_error, E_USAGE, "a daemon serves %s already: process %d", door->directory,
	     (int)lock.l_pid);
	return error_hint(ret_error, "end it first, or use it");
}

/* With the lock in hand, what has the name is a dead daemon's. Nobody connects before the mode is
 * right: it is bound under a mask that leaves nothing to others. */
static int bind_one(struct door *door, int directory, enum door_side side, mode_t mode,
		    struct error **ret_error)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), r = 0;
	mode_t before;
	struct stat st;

	/* By the directory's number: its path may be longer than an address can hold. */
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", directory,
		 names[side]);
	if (fstatat(directory, names[side], &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(st.st_mode))
		(void)unlinkat(directory, names[side], 0);
	before = umask(0177);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		r = -errno;
	umask(before);
	if (r == 0 && (fchmodat(directory, names[side], mode, 0) < 0 || listen(fd, BACKLOG) < 0))
		r = -errno;
	if (r < 0) {
		close_fd(&fd);
		return fail_errno(ret_error, E_ENGINE, -r, "the socket %s/%s", door->directory,
				  names[side]);
	}
	door->sockets[side] = fd;
	return 0;
}

/* Where they are to lie. Caller frees. */
static char *find_directory(bool system, const char *state)
{
	char *path = system ? strdup(SOCKETS_SYSTEM) : own_sockets_directory();

	return path ? path : strdup(state);
}

int door_open(bool system, const char *state, struct door *ret_door, struct error **ret_error)
{
	struct door door = {.lock = -1, .sockets = {-1, -1}};
	_cleanup_close_ int directory = -1;
	int r;

	door.directory = find_directory(system, state);
	if (!door.directory)
		abort();
	r = take_handed(&door, ret_error);
	if (r >= 0 && (r = open_directory(system, door.directory, &directory, ret_error)) == 0)
		r = take_lock(&door, directory, ret_error);
	for (int side = 0; r == 0 && !door.handed && side < DOOR_SIDES; side++)
		r = bind_one(&door, directory, side, system && side == DOOR_AGENT ? 0666 : 0600,
			     ret_error);
	if (r < 0) {
		door_close(&door);
		return r;
	}
	*ret_door = door;
	return 0;
}

void door_close(struct door *door)
{
	for (int side = 0; side < DOOR_SIDES; side++) {
		_cleanup_free_ char *path = NULL;

		if (asprintf(&path, "%s/%s", door->directory, names[side]) < 0)
			abort();
		if (door->sockets[side] >= 0 && !door->handed)
			(void)unlink(path);
		close_fd(&door->sockets[side]);
	}
	close_fd(&door->lock); /* last: the names are gone before another may make them */
	free(door->directory);
	door->directory = NULL;
}

/* The variable is meant for us, and for nobody that we start: commands have our environment. */
static const char *notify_path(void)
{
	static char *path;

	if (getenv("NOTIFY_SOCKET")) {
		free(path);
		path = strdup(getenv("NOTIFY_SOCKET"));
		unsetenv("NOTIFY_SOCKET");
	}
	return path;
}

void door_notify(const char *text)
{
	const char *path = notify_path();
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = path ? strlen(path) : 0;
	_cleanup_close_ int fd = -1;

	if (length < 2 || length >= sizeof(address.sun_path) || (path[0] != '/' && path[0] != '@'))
		return;
	memcpy(address.sun_path, path, length);
	if (path[0] == '@')
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		(void)!sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&address,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
}
