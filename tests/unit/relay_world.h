/* SPDX-License-Identifier: Apache-2.0 */
/* The relay between the host's network and one that the test makes, with sockets on both sides. */
#pragma once

#include "base/io.h"
#include "observe/network/pump.h"
#include "observe/network/relay.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <cmocka.h>

enum { PATIENCE_MS = 5000, LARGEST = 65507 };

/* A sandbox as far as the relay looks at one, and the relay. */
static struct {
	pid_t init;
	int puppet; /* asked for (domain, type), it sends a socket of that network */
	int epoll;
	struct relay *relay;
} world;

static inline void run_puppet(int control)
{
	int wanted[2], fds[MESSAGE_FDS];

	while (receive_message(control, wanted, sizeof(wanted), fds, -1) == 0) {
		int fd = socket(wanted[0], wanted[1] | SOCK_CLOEXEC, 0);

		send_message(control, wanted, sizeof(wanted), &fd, fd >= 0, PATIENCE_MS);
		close(fd);
	}
	_exit(0);
}

static inline void run_init(int control)
{
	struct ifreq loopback = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	char refused = 0;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		refused = 1;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (!refused && ioctl(fd, SIOCSIFFLAGS, &loopback) < 0)
		refused = 1;
	close(fd);
	if (!refused && fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run_puppet(control);
	}
	(void)!write(control, &refused, 1);
	close(control);
	while (!refused)
		pause();
	_exit(0);
}

static inline int start_world(void **state)
{
	char refused = 1;
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	world.init = fork();
	if (world.init == 0) {
		close(ends[0]);
		run_init(ends[1]);
	}
	close(ends[1]);
	world.puppet = ends[0];
	if (read(world.puppet, &refused, 1) != 1 || refused)
		world.puppet = -1;
	world.epoll = epoll_create1(EPOLL_CLOEXEC);
	world.relay = relay_new(world.epoll, world.init);
	return 0;
}

static inline int end_world(void **state)
{
	(void)state;
	relay_free(world.relay);
	close(world.epoll);
	close(world.puppet);
	kill(world.init, SIGKILL);
	waitpid(world.init, NULL, 0);
	return 0;
}

/* A socket of the network inside, non-blocking for nobody: its user sets a time-out. */
static inline int inside_socket(int domain, int type)
{
	const struct timeval patience = {PATIENCE_MS / 1000, 0};
	int wanted[2] = {domain, type}, fds[MESSAGE_FDS];

	if (world.puppet < 0)
		skip();
	assert_int_equal(send_message(world.puppet, wanted, sizeof(wanted), NULL, 0, PATIENCE_MS),
			 0);
	assert_int_equal(receive_message(world.puppet, wanted, sizeof(wanted), fds, PATIENCE_MS),
			 0);
	assert_true(fds[0] >= 0);
	setsockopt(fds[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fds[0];
}

static inline int outside_socket(int domain, int type)
{
	const struct timeval patience = {PATIENCE_MS / 1000, 0};
	int fd = socket(domain, type | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd;
}

struct place {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_storage room;
	};
	socklen_t length;
};

static inline struct place place(const char *text, uint16_t port)
{
	struct place place = {.length = sizeof(place.v4)};

	memset(&place.room, 0, sizeof(place.room));
	place.v4.sin_family = AF_INET;
	place.v4.sin_port = htons(port);
	if (inet_pton(AF_INET, text, &place.v4.sin_addr) == 1)
		return place;
	place.v6.sin6_family = AF_INET6;
	place.length = sizeof(place.v6);
	assert_int_equal(inet_pton(AF_INET6, text, &place.v6.sin6_addr), 1);
	return place;
}

static inline struct place place_of(int fd)
{
	struct place place = {.length = sizeof(place.room)};

	assert_int_equal(getsockname(fd, &place.any, &place.length), 0);
	return place;
}

static inline uint16_t port_of(int fd)
{
	return ntohs(place_of(fd).v4.sin_port);
}

/* Where the test's peers on the host hear. */
static inline int bound_outside(int type)
{
	struct place any = place("127.0.0.1", 0);
	int fd = outside_socket(AF_INET, type);

	assert_int_equal(bind(fd, &any.any, any.length), 0);
	if (type == SOCK_STREAM)
		assert_int_equal(listen(fd, 16), 0);
	return fd;
}

static inline void relay_to(const char *inside, uint16_t port, int outside)
{
	struct place from = place(inside, port), to = place_of(outside);

	assert_int_equal(relay_datagrams(world.relay, &from.any, &to.any), 0);
	assert_true(relay_has(world.relay, &from.any));
}

static inline void send_text(int fd, const char *text, const struct place *to)
{
	assert_int_equal(
		sendto(fd, text, strlen(text), 0, to ? &to->any : NULL, to ? to->length : 0),
		strlen(text));
}

static inline struct place expect_text(int fd, const char *text)
{
	struct place from = {.length = sizeof(from.room)};
	char got[100] = "";

	assert_int_equal(recvfrom(fd, got, sizeof(got) - 1, 0, &from.any, &from.length),
			 strlen(text));
	assert_string_equal(got, text);
	return from;
}

/* Serves the relay until nothing happens for a moment. */
static inline void serve(int quiet_ms)
{
	struct epoll_event events[8];
	int count;

	while ((count = epoll_wait(world.epoll, events, 8, quiet_ms)) > 0)
		for (int i = 0; i < count; i++)
			assert_true(relay_serve(world.relay, events[i].data.fd, events[i].events));
}

/* The pid of a child of ours by its name, 0 where there is none. */
static inline pid_t find_child(pid_t parent, const char *name)
{
	_cleanup_free_ char *list = NULL;
	char path[64], *rest, *pid;
	size_t length;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", parent, parent);
	assert_int_equal(read_file(AT_FDCWD, path, 1 << 16, &list, &length), 0);
	rest = list;
	while ((pid = strsep(&rest, " "))) {
		_cleanup_free_ char *comm = NULL;

		snprintf(path, sizeof(path), "/proc/%s/comm", pid);
		if (*pid && read_file(AT_FDCWD, path, 64, &comm, &length) == 0 &&
		    strncmp(comm, name, strlen(name)) == 0)
			return (pid_t)strtol(pid, NULL, 10);
	}
	return 0;
}

/* It names itself when it gets to run. */
static inline pid_t await_child(const char *name)
{
	pid_t pid = 0;

	for (int i = 0; i < PATIENCE_MS / 10 && !pid; i++) {
		pid = find_child(getpid(), name);
		if (!pid)
			usleep(10000);
	}
	return pid;
}

/* A port that was free a moment ago. */
static inline uint16_t free_port(void)
{
	int fd = bound_outside(SOCK_STREAM);
	uint16_t port = port_of(fd);

	close(fd);
	return port;
}

static inline int listen_inside(const char *address, uint16_t *ret_port)
{
	struct place any = place(address, 0);
	int fd = inside_socket(any.any.sa_family, SOCK_STREAM);

	assert_int_equal(bind(fd, &any.any, any.length), 0);
	assert_int_equal(listen(fd, 1024), 0);
	*ret_port = port_of(fd);
	return fd;
}

static inline int connect_outside(const char *address, uint16_t port)
{
	struct place to = place(address, port);
	int fd = outside_socket(to.any.sa_family, SOCK_STREAM);

	if (connect(fd, &to.any, to.length) < 0) {
		close(fd);
		return -1;
	}
	serve(20);
	return fd;
}

/* A connection through a published port: the outer end, and the inner. */
static inline void connect_through(const char *address, const char *inside, int ends[static 2])
{
	uint16_t published = free_port(), port;
	int listener = listen_inside(inside, &port);

	assert_int_equal(relay_publish(world.relay, published, port, NULL), 0);
	ends[0] = connect_outside(address, published);
	assert_true(ends[0] >= 0);
	ends[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(ends[1] >= 0);
	close(listener);
}

static inline void expect_end(int fd)
{
	char byte;

	assert_int_equal(recv(fd, &byte, 1, 0), 0);
}
