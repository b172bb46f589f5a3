/* SPDX-License-Identifier: Apache-2.0 */
/* Connects, binds and addressed sends. A connect is never let go on: between the check and the
 * kernel's own look the caller could rewrite the address, or put another socket under the same
 * number. It is made here, on a copy of the caller's socket and from a copy of the address. */
#include "observer.h"
#include "../base/path.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/un.h>

enum { BOUND_MOST = 500, WAITING_MOST = 200, OBJECT = 512 };

static const char rule_network[] = "network none";
static const char rule_unix[] = "default: no sockets of the host";
static const char rule_write[] = "default: write only in the workspace and /tmp";

static int socket_option(int fd, int option, int otherwise)
{
	socklen_t length = sizeof(otherwise);
	int value;

	return getsockopt(fd, SOL_SOCKET, option, &value, &length) == 0 ? value : otherwise;
}

/* Where an address can only mean the sandbox itself. */
static bool is_inside(const struct sockaddr *address, socklen_t length)
{
	const struct sockaddr_in *v4 = (const void *)address;
	const struct sockaddr_in6 *v6 = (const void *)address;
	uint32_t host;

	if (address->sa_family == AF_INET && length >= sizeof(*v4)) {
		host = ntohl(v4->sin_addr.s_addr);
		return host >> 24 == 127 || host == INADDR_ANY;
	}
	if (address->sa_family == AF_INET6 && length >= sizeof(*v6)) {
		if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
			return v6->sin6_addr.s6_addr[12] == 127;
		return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) ||
		       IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr);
	}
	return address->sa_family != AF_INET && address->sa_family != AF_INET6;
}

static uint16_t port_of(const struct sockaddr *address)
{
	return ntohs(address->sa_family == AF_INET6
			     ? ((const struct sockaddr_in6 *)address)->sin6_port
			     : ((const struct sockaddr_in *)address)->sin_port);
}

/* host:port, by the name that the caller asked the resolver for where there is one. */
static void describe(const struct observer *observer, const struct sockaddr *address,
		     char object[static OBJECT])
{
	const char *name = resolver_name(observer->resolver, address);
	char text[INET6_ADDRSTRLEN] = "?";

	if (name) {
		snprintf(object, OBJECT, "%s:%u", name, port_of(address));
	} else if (address->sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)address)->sin6_addr, text,
			  sizeof(text));
		snprintf(object, OBJECT, "[%s]:%u", text, port_of(address));
	} else {
		inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, text,
			  sizeof(text));
		snprintf(object, OBJECT, "%s:%u", text, port_of(address));
	}
}

/* The socket is the caller's as much as ours: by its flags, its queue or its linger time it can
 * make connect and close sleep whatever we asked for. A signal every few milliseconds ends such a
 * sleep. */
static void ignore_alarm(int signal)
{
	(void)signal;
}

static void bound_sleep(bool on)
{
	struct itimerval every = {{0, on ? 10000 : 0}, {0, on ? 10000 : 0}};
	struct sigaction action = {.sa_handler = on ? ignore_alarm : SIG_IGN};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
}

static void close_copy(int *fd)
{
	if (*fd < 0)
		return;
	bound_sleep(true);
	close_fd(fd);
	bound_sleep(false);
}

static void set_timer(struct observer *observer)
{
	struct itimerspec in_5_ms = {.it_value = {.tv_nsec = 5000000}};

	timerfd_settime(observer->timer, 0, &in_5_ms, NULL);
}

/* Takes ownership of fd and target. */
static void wait_for(struct observer *observer, uint64_t id, int fd, int target, bool again,
		     const struct sockaddr *address, socklen_t length)
{
	struct waiting *waiting = calloc(1, sizeof(*waiting));
	struct epoll_event event = {.events = EPOLLOUT | EPOLLONESHOT, .data.fd = fd};

	if (!waiting)
		abort();
	*waiting = (struct waiting){observer->waiting, id, fd, again, {0}, length, target, 0};
	memcpy(&waiting->address, address, length);
	observer->waiting = waiting;
	observer->waiting_count++;
	if (again)
		set_timer(observer);
	else
		epoll_ctl(observer->epoll, EPOLL_CTL_ADD, fd, &event);
}

bool wait_for_reader(struct observer *observer, uint64_t id, int fd, uint64_t flags)
{
	static const struct sockaddr none;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (copy < 0 || observer->waiting_count >= WAITING_MOST) {
		close_fd(&copy);
		return false;
	}
	wait_for(observer, id, /* fd= */ -1, copy, /* again= */ true, &none, sizeof(none));
	observer->waiting->flags = flags;
	return true;
}

/* Connects without blocking whatever the socket's own mode; the caller's flags are as before when
 * it returns. */
static int connect_now(int fd, int target, const struct sockaddr *address, socklen_t length,
		       bool *ret_blocking)
{
	struct sockaddr_un by_fd = {.sun_family = AF_UNIX};
	int flags = fcntl(fd, F_GETFL), r;

	if (target >= 0) {
		snprintf(by_fd.sun_path, sizeof(by_fd.sun_path), "/proc/self/fd/%d", target);
		address = (const struct sockaddr *)&by_fd;
		length = sizeof(by_fd);
	}
	*ret_blocking = !(flags & O_NONBLOCK);
	if (*ret_blocking)
		fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	bound_sleep(true);
	r = connect(fd, address, length) < 0 ? errno : 0;
	bound_sleep(false);
	if (*ret_blocking)
		fcntl(fd, F_SETFL, flags);
	if (r == EINTR) /* it did sleep: the caller plays with its flags */
		r = address->sa_family == AF_UNIX ? EAGAIN : EINPROGRESS;
	return r;
}

/* Takes ownership of fd and target. */
static void perform_connect(struct observer *observer, uint64_t id, int fd, int target,
			    const struct sockaddr *address, socklen_t length)
{
	bool blocking;
	int error = connect_now(fd, target, address, length, &blocking);
	bool again = error == EAGAIN && address->sa_family == AF_UNIX;

	if (blocking && (error == EINPROGRESS || again) && observer->waiting_count < WAITING_MOST) {
		wait_for(observer, id, fd, target, again, address, length);
		return;
	}
	answer(observer, id, error);
	close_copy(&fd);
	close_fd(&target);
}

static bool finish(struct observer *observer, struct waiting *waiting)
{
	struct epoll_event event = {.events = EPOLLOUT | EPOLLONESHOT, .data.fd = waiting->socket};
	struct sockaddr_storage peer;
	socklen_t length = sizeof(peer);
	bool blocking;
	int error;

	if (!still_waiting(observer, waiting->id))
		return true;
	if (waiting->socket < 0)
		return open_pipe(observer, waiting->id, waiting->target, waiting->flags);
	if (waiting->again) {
		error = connect_now(waiting->socket, waiting->target,
				    (const struct sockaddr *)&waiting->address, waiting->length,
				    &blocking);
		if (error == EAGAIN)
			return false;
	} else {
		error = socket_option(waiting->socket, SO_ERROR, EIO);
		if (error == 0 &&
		    getpeername(waiting->socket, (struct sockaddr *)&peer, &length) < 0) {
			epoll_ctl(observer->epoll, EPOLL_CTL_MOD, waiting->socket, &event);
			return false; /* the handshake is still under way */
		}
	}
	answer(observer, waiting->id, error);
	return true;
}

static void drop(struct observer *observer, struct waiting *waiting)
{
	observer->waiting_count--;
	close_copy(&waiting->socket);
	close_fd(&waiting->target);
	free(waiting);
}

void serve_waiting(struct observer *observer)
{
	struct waiting **link = &observer->waiting;
	uint64_t ticks;
	bool again = false;

	(void)!read(observer->timer, &ticks, sizeof(ticks));
	while (*link) {
		struct waiting *waiting = *link;

		if (finish(observer, waiting)) {
			*link = waiting->next;
			if (!waiting->again)
				epoll_ctl(observer->epoll, EPOLL_CTL_DEL, waiting->socket, NULL);
			drop(observer, waiting);
			continue;
		}
		again = again || waiting->again;
		link = &waiting->next;
	}
	if (again)
		set_timer(observer);
}

void drop_waiting(struct observer *observer)
{
	while (observer->waiting) {
		struct waiting *waiting = observer->waiting;

		observer->waiting = waiting->next;
		drop(observer, waiting);
	}
}

/* Remembered by an open fd: without it the number of a socket that was removed could come again, as
 * one of the host's. */
static void remember_bound(struct observer *observer, int directory, const char *name)
{
	struct bound bound = {.fd = openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC)};
	struct stat st;

	if (bound.fd < 0 || fstat(bound.fd, &st) < 0 || !S_ISSOCK(st.st_mode)) {
		close_fd(&bound.fd);
		return;
	}
	bound.device = st.st_dev;
	bound.inode = st.st_ino;
	if (observer->bound_count == BOUND_MOST) {
		close_fd(&observer->bound[0].fd);
		memmove(observer->bound, observer->bound + 1,
			(BOUND_MOST - 1) * sizeof(*observer->bound));
		observer->bound_count--;
	}
	if (!observer->bound)
		observer->bound = calloc(BOUND_MOST, sizeof(*observer->bound));
	if (!observer->bound)
		abort();
	observer->bound[observer->bound_count++] = bound;
}

/* The session's own /tmp and shared memory: what is there was made inside. A workspace below /tmp
 * is not part of it. */
static bool is_private(const struct observer *observer, const char *path)
{
	const struct area *area = areas_find(observer->observed->areas, path);

	return (path_is_under(path, "/dev/shm") && !observer->observed->alone) ||
	       (area && area->rule && strcmp(area->rule, AREA_PRIVATE) == 0);
}

static bool was_bound_inside(const struct observer *observer, const struct stat *st)
{
	for (size_t i = 0; i < observer->bound_count; i++)
		if (observer->bound[i].device == st->st_dev &&
		    observer->bound[i].inode == st->st_ino)
			return true;
	return false;
}

/* The host's socket at that path, if the permissions name it: an O_PATH fd; -1 none there, -2 there
 * and not allowed. */
static int allowed_host_socket(const struct observer *observer, const char *path,
			       char real[static PATH_MAX])
{
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
	char link[64];
	struct stat st;
	ssize_t length;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISSOCK(st.st_mode))
		return -1;
	/* By the name of what was opened: the way to it may have changed since. */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, real, PATH_MAX - 1);
	real[MAX(length, 0)] = '\0';
	for (size_t i = 0; i < observer->observed->sockets->count; i++)
		if (strcmp(observer->observed->sockets->items[i], real) == 0)
			return STEAL_FD(fd);
	return -2;
}

/* Takes ownership of fd. */
static void connect_unix(struct observer *observer, const struct seccomp_notif *call,
			 const struct trap *trap, int fd, const struct sockaddr_un *address,
			 socklen_t length)
{
	char path[sizeof(address->sun_path) + 1] = "", real[PATH_MAX];
	struct found found = {.fd = -1};
	int r, host;

	if (length <= offsetof(struct sockaddr_un, sun_path) || address->sun_path[0] == '\0') {
		/* An abstract name is one of the socket's own network namespace. */
		if (observer->observed->own_network ||
		    length <= offsetof(struct sockaddr_un, sun_path)) {
			perform_connect(observer, call->id, fd, -1,
					(const struct sockaddr *)address, length);
			return;
		}
		path[0] = '@';
		memcpy(path + 1, address->sun_path + 1,
		       MIN(length - offsetof(struct sockaddr_un, sun_path), sizeof(path) - 1) - 1);
		refuse(observer, call, trap, "unix", path, rule_unix, EACCES);
		close_copy(&fd);
		return;
	}
	memcpy(path, address->sun_path, length - offsetof(struct sockaddr_un, sun_path));
	r = caller_find(observer->observed->root, (pid_t)call->pid, AT_FDCWD, path, true, &found);
	if (r == 0 && !still_waiting(observer, call->id)) {
		close(found.fd);
		close_copy(&fd);
		return;
	}
	if (r == 0 && found.exists && S_ISSOCK(found.st.st_mode) &&
	    (is_private(observer, found.path) || was_bound_inside(observer, &found.st))) {
		perform_connect(observer, call->id, fd, found.fd, (const struct sockaddr *)address,
				length);
		return;
	}
	/* Hidden directories make a host's socket look absent; it is asked for by its name all the
	 * same. */
	host = allowed_host_socket(observer, path[0] == '/' ? path : found.path, real);
	if (host >= 0) {
		close_fd(&found.fd);
		perform_connect(observer, call->id, fd, host, (const struct sockaddr *)address,
				length);
		return;
	}
	if (host == -2)
		refuse(observer, call, trap, "unix", real, rule_unix, EACCES);
	else
		answer(observer, call->id, r < 0 ? -r : found.exists ? ECONNREFUSED : ENOENT);
	close_fd(&found.fd);
	close_copy(&fd);
}

static void bind_unix(struct observer *observer, const struct seccomp_notif *call,
		      const struct trap *trap, int fd, const struct sockaddr_un *address,
		      socklen_t length)
{
	char path[sizeof(address->sun_path) + 1] = "";
	struct sockaddr_un by_name = {.sun_family = AF_UNIX};
	const char *mask = NULL;
	struct found found;
	mode_t mask_before;
	int r;

	if (length <= offsetof(struct sockaddr_un, sun_path) || address->sun_path[0] == '\0') {
		answer(observer, call->id,
		       bind(fd, (const struct sockaddr *)address, length) < 0 ? errno : 0);
		return;
	}
	memcpy(path, address->sun_path, length - offsetof(struct sockaddr_un, sun_path));
	r = caller_find(observer->observed->root, (pid_t)call->pid, AT_FDCWD, path, false, &found);
	if (r < 0 || !still_waiting(observer, call->id)) {
		if (r == 0)
			close(found.fd);
		answer(observer, call->id, r < 0 ? -r : EINTR);
		return;
	}
	if (is_private(observer, found.path) && !observer->observed->alone) {
		/* Nothing to be remembered, so the walls may decide, and the socket keeps the name
		 * it was given. */
		answer_continue(observer, call->id);
	} else if (found.exists || strlen(found.name) >= sizeof(by_name.sun_path)) {
		answer(observer, call->id, found.exists ? EADDRINUSE : ENAMETOOLONG);
	} else if (!may_write(observer, found.path, &mask)) {
		refuse(observer, call, trap, "write", found.path, rule_write, EACCES);
	} else if (hold_judge(observer, found.path) >= GUARD_CONFIG ||
		   hold_judge(observer, found.path) == GUARD_HOLDER) {
		refuse(observer, call, trap, "write", found.path, rule_guarded, EACCES);
	} else if (may_not_become_repository(observer, call, trap, found.path)) {
		/* answered */
	} else {
		/* From inside the directory, with the caller's umask: the name is then all of the
		 * path. */
		strcpy(by_name.sun_path, found.name);
		mask_before = umask(caller_umask((pid_t)call->pid));
		r = fchdir(found.fd) < 0 ||
				    bind(fd, (struct sockaddr *)&by_name, sizeof(by_name)) < 0
			    ? errno
			    : 0;
		umask(mask_before);
		if (r == 0)
			remember_bound(observer, found.fd, found.name);
		(void)!chdir("/");
		answer(observer, call->id, r);
	}
	close(found.fd);
}

void serve_sockets(struct observer *observer, const struct seccomp_notif *call,
		   const struct trap *trap)
{
	/* sendto: fd, buffer, length, flags, address, length; the others: fd, address, length */
	int first = trap->kind == TRAP_SEND ? 4 : 1;
	union {
		struct sockaddr any;
		struct sockaddr_un local;
		struct sockaddr_storage room;
		char bytes[sizeof(struct sockaddr_storage)];
	} address;
	socklen_t length = (socklen_t)call->data.args[first + 1];
	char object[OBJECT];
	int fd, domain;

	if (trap->kind == TRAP_SOCKET) {
		refuse(observer, call, trap, "connect", "the network", rule_network, EACCES);
		return;
	}
	memset(&address, 0, sizeof(address));
	if (length > sizeof(address)) {
		answer(observer, call->id, EINVAL);
		return;
	}
	if (length > 0 &&
	    caller_bytes((pid_t)call->pid, call->data.args[first], &address, length) < 0) {
		answer(observer, call->id, EFAULT);
		return;
	}
	fd = caller_fd((pid_t)call->pid, (int)call->data.args[0]);
	if (fd < 0 || !still_waiting(observer, call->id)) {
		answer(observer, call->id, fd < 0 ? -fd : EINTR);
		close_copy(&fd);
		return;
	}
	domain = socket_option(fd, SO_DOMAIN, -1);
	if (domain < 0) {
		answer(observer, call->id, ENOTSOCK);
	} else if (domain == AF_UNIX && length > sizeof(address.local)) {
		answer(observer, call->id, EINVAL);
	} else if (domain == AF_UNIX && trap->kind == TRAP_BIND) {
		bind_unix(observer, call, trap, fd, &address.local, length);
	} else if (domain == AF_UNIX && trap->kind == TRAP_CONNECT &&
		   address.any.sa_family == AF_UNIX) {
		connect_unix(observer, call, trap, fd, &address.local, length);
		return; /* it owns the fd now */
	} else if (observer->observed->no_network && domain != AF_UNIX) {
		refuse(observer, call, trap, "connect", "the network", rule_network, EACCES);
	} else if (trap->kind != TRAP_BIND && observer->observed->own_network &&
		   !is_inside(&address.any, length)) {
		/* Libraries connect datagram sockets to port 0 to learn which of their own
		 * addresses would be used. */
		if (socket_option(fd, SO_TYPE, 0) == SOCK_DGRAM && port_of(&address.any) == 0) {
			answer(observer, call->id, ENETUNREACH);
		} else {
			describe(observer, &address.any, object);
			refuse(observer, call, trap, "connect", object, rule_network, EACCES);
		}
	} else if (trap->kind == TRAP_CONNECT) {
		perform_connect(observer, call->id, fd, -1, &address.any, length);
		return;
	} else {
		/* Binding and sending inside the network the sandbox has: the namespace is the
		 * wall, and there are no datagram sockets of AF_UNIX that an address could lead
		 * elsewhere. */
		answer_continue(observer, call->id);
	}
	close_copy(&fd);
}
