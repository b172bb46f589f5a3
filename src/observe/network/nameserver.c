/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams are answered as they come. A connection has one query in hand at a time: the next is
 * read when the reply to the last has gone, so that somebody who only asks fills his own buffers
 * and none of ours. */
#include "nameserver.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>

enum {
	ROUNDS = 64, /* of work in one go */
	DATAGRAM = 1500,
	REPLY = 512, /* is always enough; see resolver.c */
	CONNECTIONS_MOST = 16,
	IDLE_SECONDS = 10,
};

struct connection {
	int fd;
	time_t since; /* when it last got on */
	size_t in_length, out_length, out_sent;
	uint8_t in[STREAM_QUERY];
	uint8_t out[STREAM_REPLY];
};

struct nameserver {
	int epoll, timer; /* the timer comes with the first connection */
	const int *sockets;
	struct resolver *resolver;
	struct connection *connections[CONNECTIONS_MOST];
	size_t count;
};

static int watch(const struct nameserver *nameserver, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(nameserver->epoll, EPOLL_CTL_ADD, fd, &event);
}

struct nameserver *nameserver_new(int epoll, const int sockets[static NAME_SOCKETS],
				  struct resolver *resolver)
{
	struct nameserver *nameserver = calloc(1, sizeof(*nameserver));

	if (!nameserver)
		abort();
	*nameserver = (struct nameserver){
		.epoll = epoll, .timer = -1, .sockets = sockets, .resolver = resolver};
	if (nameserver_watch(nameserver) < 0) {
		nameserver_free(nameserver);
		return NULL;
	}
	return nameserver;
}

int nameserver_watch(struct nameserver *nameserver)
{
	for (int i = 0; i < NAME_SOCKETS; i++)
		if (nameserver->sockets[i] >= 0 && watch(nameserver, nameserver->sockets[i]) < 0)
			return -1;
	return 0;
}

static void answer_datagrams(const struct nameserver *nameserver, int fd)
{
	uint8_t query[DATAGRAM], reply[REPLY];

	for (int i = 0; i < ROUNDS; i++) {
		struct sockaddr_storage from;
		socklen_t length = sizeof(from);
		ssize_t got = recvfrom(fd, query, sizeof(query), MSG_DONTWAIT,
				       (struct sockaddr *)&from, &length);
		size_t size;

		if (got < 0)
			return;
		size = resolver_answer(nameserver->resolver, query, (size_t)got, reply,
				       sizeof(reply));
		if (size > 0)
			(void)sendto(fd, reply, size, MSG_DONTWAIT | MSG_NOSIGNAL,
				     (struct sockaddr *)&from, length);
	}
}

static time_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec;
}

/* Closing takes it from the epoll. */
static void drop(struct nameserver *nameserver, size_t index)
{
	close(nameserver->connections[index]->fd);
	free(nameserver->connections[index]);
	nameserver->connections[index] = nameserver->connections[--nameserver->count];
}

static void drop_idle(struct nameserver *nameserver)
{
	struct itimerspec again = {.it_value.tv_sec = 1};
	uint64_t ticks;

	(void)!read(nameserver->timer, &ticks, sizeof(ticks));
	for (size_t i = nameserver->count; i-- > 0;) {
		if (now() - nameserver->connections[i]->since >= IDLE_SECONDS)
			drop(nameserver, i);
	}
	if (nameserver->count > 0)
		timerfd_settime(nameserver->timer, 0, &again, NULL);
}

static int start_timer(struct nameserver *nameserver)
{
	struct itimerspec soon = {.it_value.tv_sec = 1};

	if (nameserver->timer < 0) {
		nameserver->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
		if (nameserver->timer < 0)
			return -1;
		if (watch(nameserver, nameserver->timer) < 0) {
			close_fd(&nameserver->timer);
			return -1;
		}
	}
	return timerfd_settime(nameserver->timer, 0, &soon, NULL);
}

/* Where there are too many, the one that got on least lately makes room: who opens connections and
 * is silent keeps nobody else from asking. */
static void make_room(struct nameserver *nameserver)
{
	size_t idlest = 0;

	if (nameserver->count < CONNECTIONS_MOST)
		return;
	for (size_t i = 1; i < nameserver->count; i++) {
		if (nameserver->connections[i]->since < nameserver->connections[idlest]->since)
			idlest = i;
	}
	drop(nameserver, idlest);
}

static void take_connections(struct nameserver *nameserver, int listener)
{
	for (int i = 0; i < ROUNDS; i++) {
		_cleanup_close_ int fd =
			accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct connection *connection;

		if (fd < 0 && errno == ECONNABORTED)
			continue;
		if (fd < 0 && errno != EAGAIN) /* no fd to be had: it would be tried for ever */
			epoll_ctl(nameserver->epoll, EPOLL_CTL_DEL, listener, NULL);
		if (fd < 0)
			return;
		make_room(nameserver);
		if ((nameserver->count == 0 && start_timer(nameserver) < 0) ||
		    watch(nameserver, fd) < 0)
			continue;
		connection = calloc(1, sizeof(*connection));
		if (!connection)
			abort();
		connection->fd = STEAL_FD(fd);
		connection->since = now();
		nameserver->connections[nameserver->count++] = connection;
	}
}

ssize_t nameserver_answer(struct resolver *resolver, const uint8_t *in, size_t in_length,
			  uint8_t out[static STREAM_REPLY], size_t *ret_length)
{
	size_t length;

	*ret_length = 0;
	if (in_length < 2)
		return 0;
	length = (size_t)(in[0] << 8 | in[1]);
	if (length > STREAM_QUERY - 2)
		return -1;
	if (in_length - 2 < length)
		return 0;
	*ret_length = resolver_answer(resolver, in + 2, length, out + 2, STREAM_REPLY - 2);
	if (*ret_length > 0) {
		out[0] = (uint8_t)(*ret_length >> 8);
		out[1] = (uint8_t)*ret_length;
		*ret_length += 2;
	}
	return (ssize_t)length + 2;
}

/* One step of reading, answering or writing. 1: there may be more to do, 0: not now, -1: its end.
 */
static int step(const struct nameserver *nameserver, struct connection *connection)
{
	ssize_t used, moved;

	if (connection->out_sent < connection->out_length) {
		moved = send(connection->fd, connection->out + connection->out_sent,
			     connection->out_length - connection->out_sent,
			     MSG_DONTWAIT | MSG_NOSIGNAL);
		if (moved < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		connection->out_sent += (size_t)moved;
		connection->since = now();
		return 1;
	}
	connection->out_sent = 0;
	used = nameserver_answer(nameserver->resolver, connection->in, connection->in_length,
				 connection->out, &connection->out_length);
	if (used != 0) {
		if (used < 0)
			return -1;
		connection->in_length -= (size_t)used;
		memmove(connection->in, connection->in + used, connection->in_length);
		connection->since = now();
		return 1;
	}
	moved = recv(connection->fd, connection->in + connection->in_length,
		     sizeof(connection->in) - connection->in_length, MSG_DONTWAIT);
	if (moved < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	/* Not `since`: a query that comes octet by octet has ten seconds like any other. */
	connection->in_length += (size_t)moved;
	return moved == 0 ? -1 : 1;
}

static void serve_connection(struct nameserver *nameserver, size_t index)
{
	struct connection *connection = nameserver->connections[index];
	struct epoll_event event = {.data.fd = connection->fd};
	int r = 1;

	for (int i = 0; i < ROUNDS && r > 0; i++)
		r = step(nameserver, connection);
	if (r < 0) {
		drop(nameserver, index);
		return;
	}
	/* What is left of the work waits for nobody but us: a socket that can be written says so.
	 */
	event.events = r > 0 || connection->out_sent < connection->out_length ? EPOLLOUT : EPOLLIN;
	epoll_ctl(nameserver->epoll, EPOLL_CTL_MOD, connection->fd, &event);
}

bool nameserver_serve(struct nameserver *nameserver, int fd)
{
	if (!nameserver || fd < 0)
		return false;
	if (fd == nameserver->timer) {
		drop_idle(nameserver);
		return true;
	}
	for (size_t i = 0; i < nameserver->count; i++) {
		if (nameserver->connections[i]->fd == fd) {
			serve_connection(nameserver, i);
			return true;
		}
	}
	for (int i = 0; i < NAME_SOCKETS; i++) {
		if (nameserver->sockets[i] != fd)
			continue;
		if (i == NAMES_BY_TCP || i == NAMES_BY_TCP6)
			take_connections(nameserver, fd);
		else
			answer_datagrams(nameserver, fd);
		return true;
	}
	return false;
}

void nameserver_free(struct nameserver *nameserver)
{
	if (!nameserver)
		return;
	while (nameserver->count > 0)
		drop(nameserver, 0);
	close_fd(&nameserver->timer);
	free(nameserver);
}
