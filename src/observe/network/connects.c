/* SPDX-License-Identifier: Apache-2.0 */
/* Connects that the supervisor makes on a copy of the caller's own socket, and those among them
 * that have to wait. */
#include "sockets.h"
#include "../../base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/un.h>

enum { WAITING_MOST = 200 };

int socket_option(int fd, int option, int otherwise)
{
	socklen_t length = sizeof(otherwise);
	int value;

	return getsockopt(fd, SOL_SOCKET, option, &value, &length) == 0 ? value : otherwise;
}

/* The socket is the caller's as much as ours: by its flags, its queue or its linger time it can
 * make connect and close sleep whatever we asked for. A signal every few milliseconds ends such a
 * sleep. */
static void ignore_alarm(int signal)
{
	(void)signal;
}

uint64_t socket_give_up(int fd, uint64_t begun)
{
	struct timeval patience = {0};
	socklen_t length = sizeof(patience);

	if (getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, &length) < 0 ||
	    (!patience.tv_sec && !patience.tv_usec))
		return 0;
	return begun + ((uint64_t)patience.tv_sec * 1000000 + (uint64_t)patience.tv_usec) * 1000;
}

void connects_begin(void)
{
	struct sigaction action = {.sa_handler = ignore_alarm};

	sigaction(SIGALRM, &action, NULL);
}

void bound_sleep(bool on)
{
	static unsigned bounds;
	struct itimerval every = {{0, on ? 10000 : 0}, {0, on ? 10000 : 0}};

	if (on ? bounds++ == 0 : --bounds == 0)
		setitimer(ITIMER_REAL, &every, NULL);
}

void close_copy(int *fd)
{
	if (*fd < 0)
		return;
	bound_sleep(true);
	close_fd(fd);
	bound_sleep(false);
}

/* Soon for what is tried again, else for those whose wait may have to end early. */
static void set_timer(struct observer *observer, bool soon)
{
	struct itimerspec in = {.it_value = {.tv_nsec = soon ? 5000000 : 25000000}};

	timerfd_settime(observer->timer, 0, &in, NULL);
}

/* Takes ownership of fd and target. */
static void wait_for(struct observer *observer, const struct seccomp_notif *call, int fd,
		     int target, bool again, const struct sockaddr *address, socklen_t length)
{
	struct waiting *waiting = calloc(1, sizeof(*waiting));
	struct epoll_event event = {.events = EPOLLOUT | EPOLLONESHOT, .data.fd = fd};

	if (!waiting)
		abort();
	*waiting = (struct waiting){.next = observer->waiting,
				    .id = call->id,
				    .tid = (pid_t)call->pid,
				    .socket = fd,
				    .again = again,
				    .length = length,
				    .target = target,
				    .begun = monotonic_ns()};
	waiting->give_up = fd >= 0 ? socket_give_up(fd, waiting->begun) : 0;
	memcpy(&waiting->address, address, length);
	observer->waiting = waiting;
	observer->waiting_count++;
	set_timer(observer, again);
	if (!again)
		epoll_ctl(observer->epoll, EPOLL_CTL_ADD, fd, &event);
}

bool wait_for_reader(struct observer *observer, const struct seccomp_notif *call, int fd,
		     uint64_t flags)
{
	static const struct sockaddr none;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (copy < 0 || observer->waiting_count >= WAITING_MOST) {
		close_fd(&copy);
		return false;
	}
	wait_for(observer, call, /* fd= */ -1, copy, /* again= */ true, &none, sizeof(none));
	observer->waiting->flags = flags;
	return true;
}

/* Connects without blocking whatever the socket's own mode; the caller's flags are as before when
 * it returns. */
int connect_now(int fd, int target, const struct sockaddr *address, socklen_t length,
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

void perform_connect(struct observer *observer, const struct seccomp_notif *call, int fd,
		     int target, const struct sockaddr *address, socklen_t length)
{
	bool blocking;
	int error = connect_now(fd, target, address, length, &blocking);

	conclude_connect(observer, call, fd, target, address, length, error, blocking);
}

void conclude_connect(struct observer *observer, const struct seccomp_notif *call, int fd,
		      int target, const struct sockaddr *address, socklen_t length, int error,
		      bool blocking)
{
	bool again = error == EAGAIN && address->sa_family == AF_UNIX;

	if (blocking && (error == EINPROGRESS || again) && observer->waiting_count < WAITING_MOST) {
		wait_for(observer, call, fd, target, again, address, length);
		return;
	}
	answer(observer, call->id, error);
	close_copy(&fd);
	close_fd(&target);
}

/* A caller that blocks stops waiting when its socket's own time is up, or when a signal came. The
 * longer it has waited, the less often that is looked for. 0: it goes on waiting. */
static int has_to_end(struct waiting *waiting)
{
	uint64_t now = monotonic_ns();

	if (waiting->give_up && now >= waiting->give_up)
		return waiting->again ? EAGAIN : EINPROGRESS;
	if (now < waiting->next_look)
		return 0;
	waiting->next_look = now + (now - waiting->begun) / 4;
	return caller_is_signalled(waiting->tid) ? EINTR : 0;
}

static bool finish(struct observer *observer, struct waiting *waiting)
{
	struct epoll_event event = {.events = EPOLLOUT | EPOLLONESHOT, .data.fd = waiting->socket};
	struct pollfd settled = {.fd = waiting->socket, .events = POLLOUT};
	bool blocking;
	int error;

	if (!still_waiting(observer, waiting->id))
		return true;
	if (waiting->socket < 0 &&
	    open_pipe(observer, waiting->id, waiting->target, waiting->flags))
		return true;
	/* A second connect says how the first ended, and leaves the socket as the kernel would. */
	error = waiting->socket < 0 ? EAGAIN
		: !waiting->again && poll(&settled, 1, 0) <= 0
			? EALREADY
			: connect_now(waiting->socket, waiting->target,
				      (const struct sockaddr *)&waiting->address, waiting->length,
				      &blocking);
	if (error == EAGAIN || error == EALREADY || error == EINPROGRESS) {
		if (!waiting->again)
			epoll_ctl(observer->epoll, EPOLL_CTL_MOD, waiting->socket, &event);
		error = has_to_end(waiting);
		if (error == 0)
			return false;
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
	if (observer->waiting)
		set_timer(observer, again);
}

void waiting_end(struct observer *observer, ino_t inode)
{
	for (struct waiting **link = &observer->waiting; *link;) {
		struct waiting *waiting = *link;
		struct stat st;

		if (waiting->socket < 0 || fstat(waiting->socket, &st) < 0 || st.st_ino != inode) {
			link = &waiting->next;
			continue;
		}
		*link = waiting->next;
		answer(observer, waiting->id, EACCES);
		drop(observer, waiting);
	}
}

void drop_waiting(struct observer *observer)
{
	while (observer->waiting) {
		struct waiting *waiting = observer->waiting;

		observer->waiting = waiting->next;
		drop(observer, waiting);
	}
}
