/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor's side of the relay: who is needed when, and who gets what. */
#include "relay.h"
#include "factory.h"
#include "pump.h"
#include "../../base/macro.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

enum {
	STARTS_MOST = 16, /* of each child: what dies more often is not started again */
	ACCEPTS = 16,	  /* in a turn */
};

struct datagram_target {
	struct sockaddr_storage inside, outside;
};

struct relay {
	int epoll;
	pid_t init;
	struct child factory, pump;
	unsigned factory_starts, pump_starts;
	struct datagram_target targets[TARGETS_MOST]; /* by their numbers in the pump */
	unsigned target_count;
	struct published published;
};

struct relay *relay_new(int epoll, pid_t init)
{
	struct relay *relay = calloc(1, sizeof(*relay));

	if (!relay)
		abort();
	relay->epoll = epoll;
	relay->init = init;
	relay->factory = relay->pump = CHILD_NONE;
	return relay;
}

void relay_free(struct relay *relay)
{
	if (!relay)
		return;
	publish_done(&relay->published);
	child_end(&relay->factory);
	pump_end(&relay->pump);
	free(relay);
}

/* Each is noticed when it ends: neither speaks unasked. */
static void watch_end(const struct relay *relay, const struct child *child)
{
	struct epoll_event event = {.events = 0, .data.fd = child->socket};

	(void)epoll_ctl(relay->epoll, EPOLL_CTL_ADD, child->socket, &event);
}

static void end_pump(struct relay *relay)
{
	child_end(&relay->pump);
	relay->target_count = 0; /* their sockets were the pump's alone */
}

static int need_factory(struct relay *relay)
{
	int r;

	if (relay->factory.pid > 0 && child_has_ended(&relay->factory))
		child_end(&relay->factory);
	if (relay->factory.pid > 0)
		return 0;
	if (relay->factory_starts >= STARTS_MOST)
		return -EAGAIN;
	r = factory_start(&relay->factory, relay->init);
	if (r != -EAGAIN) /* nobody was there to be served, and nothing was started */
		relay->factory_starts++;
	if (r == 0)
		watch_end(relay, &relay->factory);
	return r;
}

static int need_pump(struct relay *relay)
{
	int r;

	if (relay->pump.pid > 0 && child_has_ended(&relay->pump))
		end_pump(relay);
	if (relay->pump.pid > 0)
		return 0;
	if (relay->pump_starts++ >= STARTS_MOST)
		return -EAGAIN;
	r = pump_start(&relay->pump);
	if (r == 0)
		watch_end(relay, &relay->pump);
	return r;
}

/* An address as it is compared and handed on: IPv4 as such, nothing that does not belong to it. */
static int take_address(const struct sockaddr *address, struct sockaddr_storage *ret_address)
{
	const struct sockaddr_in *v4 = (const void *)address;
	const struct sockaddr_in6 *v6 = (const void *)address;
	struct sockaddr_in plain = {.sin_family = AF_INET};
	struct sockaddr_in6 plain6 = {.sin6_family = AF_INET6};

	memset(ret_address, 0, sizeof(*ret_address));
	if (address->sa_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
		plain6.sin6_port = v6->sin6_port;
		plain6.sin6_addr = v6->sin6_addr;
		plain6.sin6_scope_id = v6->sin6_scope_id;
		memcpy(ret_address, &plain6, sizeof(plain6));
		return v6->sin6_port && !IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr) &&
				       !IN6_IS_ADDR_MULTICAST(&v6->sin6_addr)
			       ? 0
			       : -EADDRNOTAVAIL;
	}
	if (address->sa_family == AF_INET6) {
		plain.sin_port = v6->sin6_port;
		memcpy(&plain.sin_addr, v6->sin6_addr.s6_addr + 12, sizeof(plain.sin_addr));
	} else if (address->sa_family == AF_INET) {
		plain.sin_port = v4->sin_port;
		plain.sin_addr = v4->sin_addr;
	} else {
		return -EAFNOSUPPORT;
	}
	memcpy(ret_address, &plain, sizeof(plain));
	/* From multicast up: nobody's own address. */
	return plain.sin_port && plain.sin_addr.s_addr != htonl(INADDR_ANY) &&
			       ntohl(plain.sin_addr.s_addr) >> 28 < 14
		       ? 0
		       : -EADDRNOTAVAIL;
}

static bool is_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* The number of the target, or one more than there is. */
static unsigned find_target(const struct relay *relay, const struct sockaddr_storage *inside)
{
	unsigned i = 0;

	while (i < relay->target_count && !is_same(&relay->targets[i].inside, inside))
		i++;
	return i;
}

int relay_datagrams(struct relay *relay, const struct sockaddr *inside,
		    const struct sockaddr *outside)
{
	struct datagram_target target;
	int fds[2] = {-1, -1}, r;
	unsigned number;

	if ((r = take_address(inside, &target.inside)) < 0 ||
	    (r = take_address(outside, &target.outside)) < 0 || (r = need_pump(relay)) < 0)
		return r;
	number = find_target(relay, &target.inside);
	if (number < relay->target_count &&
	    is_same(&relay->targets[number].outside, &target.outside))
		return 0;
	if (number == TARGETS_MOST)
		return -EMFILE;
	if (number == relay->target_count &&
	    ((r = need_factory(relay)) < 0 ||
	     (r = factory_datagrams(&relay->factory, &target.inside, fds)) < 0))
		return r;
	r = pump_datagrams(&relay->pump, number, fds[0], fds[1], &target.outside);
	close_fd(&fds[0]);
	close_fd(&fds[1]);
	if (r < 0)
		return r;
	relay->targets[number] = target;
	relay->target_count = MAX(relay->target_count, number + 1);
	return 0;
}

bool relay_has(const struct relay *relay, const struct sockaddr *inside)
{
	struct sockaddr_storage address;

	return take_address(inside, &address) == 0 && relay->pump.pid > 0 &&
	       !child_has_ended(&relay->pump) && find_target(relay, &address) < relay->target_count;
}

int relay_listen(struct relay *relay, const struct sockaddr *inside, int *ret_listener)
{
	struct sockaddr_storage address;
	int r;

	if ((r = take_address(inside, &address)) < 0 || (r = need_factory(relay)) < 0)
		return r;
	return factory_listener(&relay->factory, &address, ret_listener);
}

int relay_join(struct relay *relay, int inside, int outside, uint64_t number)
{
	int r = need_pump(relay);

	return r < 0 ? r : pump_streams(&relay->pump, inside, outside, number);
}

void relay_part(struct relay *relay, uint64_t number)
{
	if (relay && relay->pump.pid > 0 && pump_part(&relay->pump, number) < 0)
		end_pump(relay);
}

void relay_forget(struct relay *relay, const struct sockaddr *inside)
{
	struct sockaddr_storage address;
	unsigned number;

	if (!relay || relay->pump.pid <= 0 || take_address(inside, &address) < 0)
		return;
	number = find_target(relay, &address);
	if (number == relay->target_count)
		return;
	/* Its place stays taken, by an address that nobody sends to. */
	memset(&relay->targets[number], 0, sizeof(relay->targets[number]));
	if (pump_forget(&relay->pump, number) < 0)
		end_pump(relay);
}

void relay_adopt(struct relay *relay, struct published *published)
{
	for (size_t i = 0; i < published->count; i++) {
		/* By edges: a connection that we have no room to accept must not wake us without
		 * end. */
		struct epoll_event event = {.events = EPOLLIN | EPOLLET,
					    .data.fd = published->items[i].fd};

		if (relay->published.count == LISTENERS_MOST ||
		    epoll_ctl(relay->epoll, EPOLL_CTL_ADD, published->items[i].fd, &event) < 0)
			close(published->items[i].fd);
		else
			relay->published.items[relay->published.count++] = published->items[i];
	}
	published->count = 0;
}

int relay_publish(struct relay *relay, uint16_t outside, uint16_t inside, struct error **ret_error)
{
	struct published published = {0};
	int r = publish_port(outside, inside, &published, ret_error);

	relay_adopt(relay, &published);
	return r;
}

/* As if nobody listened. */
static void refuse_connection(int outer)
{
	const struct linger at_once = {.l_onoff = 1, .l_linger = 0};

	setsockopt(outer, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

static void accept_some(struct relay *relay, const struct listener *listener)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = listener->fd};

	for (int i = 0; i < ACCEPTS; i++) {
		_cleanup_close_ int inner = -1, outer = accept4(listener->fd, NULL, NULL,
								SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (outer < 0 && errno != ECONNABORTED)
			return;
		if (outer >= 0 && (need_factory(relay) < 0 || need_pump(relay) < 0 ||
				   factory_stream(&relay->factory, listener->inside, &inner) < 0 ||
				   pump_streams(&relay->pump, outer, inner, /* number= */ 0) < 0))
			refuse_connection(outer);
	}
	/* There may be more: tell us again. */
	(void)epoll_ctl(relay->epoll, EPOLL_CTL_MOD, listener->fd, &event);
}

bool relay_serve(struct relay *relay, int fd, uint32_t events)
{
	(void)events;
	if (!relay)
		return false;
	for (size_t i = 0; i < relay->published.count; i++)
		if (relay->published.items[i].fd == fd) {
			accept_some(relay, &relay->published.items[i]);
			return true;
		}
	if (fd != relay->factory.socket && fd != relay->pump.socket)
		return false;
	/* The event may be that of a child before, whose fd had the same number. */
	if (fd == relay->factory.socket && child_has_ended(&relay->factory))
		child_end(&relay->factory);
	else if (fd == relay->pump.socket && child_has_ended(&relay->pump))
		end_pump(relay);
	return true;
}
