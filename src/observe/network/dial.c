/* SPDX-License-Identifier: Apache-2.0 */
/* Connections made outside for a caller that waits. A name is looked up, its addresses are judged,
 * and tried one after the other (the next a quarter of a second later, as RFC 8305 says); the first
 * that answers is handed in. A caller that does not want to wait is handed one under way, as soon
 * as it is clear which address that should be. */
#include "network.h"
#include "../../base/ranges.h"
#include "../../base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

static const uint64_t millisecond = 1000 * 1000;
enum {
	DIALS_MOST = 1024, /* each holds two fds or more */
	TOGETHER = 3,	   /* addresses of one that are tried at the same time */
	TICK = 25,	   /* ms, at which those that wait are looked after */
	ACCEPT_MS = 20,
	NEXT_ADDRESS = 250, /* ms after which the next address is tried beside the last */
	PATIENCE = 500,	    /* ms that a caller is held who does not want to wait */
	WINNERS = 64,
};

struct dial {
	struct dial *next;
	struct seccomp_notif call;
	const struct trap *trap;
	struct target target;
	struct sockaddr_storage asked; /* the address as the caller wrote it */
	socklen_t asked_length;
	uint64_t ticket;
	const char *settling; /* the answer that it was served again with; NULL */
	int number;	      /* the caller's fd */
	int copy;	      /* of the caller's socket */
	int family;
	bool blocking;
	bool shared; /* with another process: no socket can take its place */
	bool only_v6;
	uint64_t begun, give_up; /* monotonic; 0: never */
	uint64_t next_look;	 /* for signals */

	bool connecting; /* its addresses are known */
	struct addresses addresses;
	size_t tried;
	int attempts[ADDRESSES_MOST]; /* by address; -1: none under way */
	bool watched[ADDRESSES_MOST]; /* by epoll */
	uint64_t next_try;
	int error; /* of the last that failed */
};

static void set_tick(struct observer *observer)
{
	struct itimerspec tick = {.it_value = {.tv_nsec = TICK * 1000 * 1000}};
	struct epoll_event event = {.events = EPOLLIN};

	if (observer->dial_timer < 0) {
		observer->dial_timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
		event.data.fd = observer->dial_timer;
		epoll_ctl(observer->epoll, EPOLL_CTL_ADD, observer->dial_timer, &event);
	}
	observer->ticks = timerfd_settime(observer->dial_timer, 0, &tick, NULL) == 0;
}

/* A file stays registered as long as anybody has it open, and the caller may by now. Or it has
 * closed it already, and we are the last: then closing waits as long as its linger time says. */
static void close_attempt(struct observer *observer, struct dial *dial, size_t index)
{
	if (dial->watched[index])
		epoll_ctl(observer->epoll, EPOLL_CTL_DEL, dial->attempts[index], NULL);
	dial->watched[index] = false;
	close_copy(&dial->attempts[index]);
}

static void drop(struct observer *observer, struct dial *dial)
{
	for (struct dial **link = &observer->dials; *link; link = &(*link)->next)
		if (*link == dial) {
			*link = dial->next;
			break;
		}
	observer->dial_count--;
	if (observer->lookup && !dial->connecting)
		lookup_forget(observer->lookup, dial->ticket);
	for (size_t i = 0; i < ADDRESSES_MOST; i++)
		close_attempt(observer, dial, i);
	close_copy(&dial->copy);
	free(dial);
}

/* 0 or an errno, as the call's result. */
static void finish_dial(struct observer *observer, struct dial *dial, int error)
{
	answer(observer, dial->call.id, error);
	drop(observer, dial);
}

/* The address that answered last, for those who come again and do not want to wait. */
struct winner {
	char name[TARGET_NAME];
	struct in6_addr address;
};

static struct winner *winner_of(struct observer *observer, const char *name)
{
	uint32_t hash = 5381;

	if (!observer->winners)
		observer->winners = calloc(WINNERS, sizeof(*observer->winners));
	if (!observer->winners)
		abort();
	for (const char *c = name; *c; c++)
		hash = hash * 33 ^ (uint8_t)*c;
	return &observer->winners[hash % WINNERS];
}

static void remember_winner(struct observer *observer, const struct dial *dial, size_t index)
{
	struct winner *winner;

	if (!*dial->target.name)
		return;
	winner = winner_of(observer, dial->target.name);
	strcpy(winner->name, dial->target.name);
	winner->address = dial->addresses.items[index];
}

/* Moves it to the front. True if there is one. */
static bool prefer_winner(struct observer *observer, struct dial *dial)
{
	const struct winner *winner;

	if (!*dial->target.name)
		return false;
	winner = winner_of(observer, dial->target.name);
	if (strcmp(winner->name, dial->target.name) != 0)
		return false;
	for (size_t i = 0; i < dial->addresses.count; i++)
		if (IN6_ARE_ADDR_EQUAL(&dial->addresses.items[i], &winner->address)) {
			dial->addresses.items[i] = dial->addresses.items[0];
			dial->addresses.items[0] = winner->address;
			return true;
		}
	return false;
}

static socklen_t write_address(const struct in6_addr *address, uint16_t port, int family,
			       struct sockaddr_storage *ret_address)
{
	struct sockaddr_in *v4 = (void *)ret_address;
	struct sockaddr_in6 *v6 = (void *)ret_address;

	memset(ret_address, 0, sizeof(*ret_address));
	if (family == AF_INET) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		memcpy(&v4->sin_addr, address->s6_addr + 12, 4);
		return sizeof(*v4);
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(port);
	v6->sin6_addr = *address;
	return sizeof(*v6);
}

static int family_of(const struct in6_addr *address)
{
	return IN6_IS_ADDR_V4MAPPED(address) ? AF_INET : AF_INET6;
}

/* Behind it are the host's services, and its own firewall does not stand before them. The kernel
 * says with which address it would be spoken to; nothing is sent. */
bool address_is_own(const struct in6_addr *address)
{
	struct sockaddr_storage there, here = {0};
	socklen_t length = write_address(address, /* port= */ 9, family_of(address), &there),
		  room = sizeof(here);
	_cleanup_close_ int fd = socket(there.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct in6_addr own;

	if (address_range(address) == RANGE_LOOPBACK || fd < 0 ||
	    connect(fd, (struct sockaddr *)&there, length) < 0 ||
	    getsockname(fd, (struct sockaddr *)&here, &room) < 0)
		return false; /* then it is not reached either */
	if (here.ss_family == AF_INET6)
		own = ((struct sockaddr_in6 *)&here)->sin6_addr;
	else
		own = address_map(&((struct sockaddr_in *)&here)->sin_addr);
	return IN6_ARE_ADDR_EQUAL(&own, address) || address_range(&own) == RANGE_LOOPBACK;
}

/* 0 or errno: EINPROGRESS with the attempt under way. settle: what is near is connected to, or has
 * refused, by then; who is given the socket under way hears that from it. */
static int try_address(struct observer *observer, struct dial *dial, size_t index, bool settle)
{
	struct pollfd settled = {.events = POLLOUT};
	_cleanup_close_ int fd = -1;
	struct sockaddr_storage address;
	int family = dial->family, error;
	socklen_t length;

	if (network_is_inbox(observer, &dial->addresses.items[index], dial->target.port))
		return NOT_REACHED;
	fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
	if (fd < 0 && errno == EAFNOSUPPORT &&
	    family_of(&dial->addresses.items[index]) == AF_INET) {
		/* The host has no IPv6, which the sandbox has. */
		family = AF_INET;
		fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
	}
	if (fd < 0)
		return errno;
	copy_options(dial->copy, fd, family);
	length = write_address(&dial->addresses.items[index], dial->target.port, family, &address);
	error = connect(fd, (struct sockaddr *)&address, length) < 0 ? errno : 0;
	settled.fd = fd;
	if (error == EINPROGRESS && settle && poll(&settled, 1, 0) > 0)
		error = socket_option(fd, SO_ERROR, EIO);
	if (error == 0 || error == EINPROGRESS)
		dial->attempts[index] = STEAL_FD(fd);
	return error;
}

/* Where the caller's socket must stay: it leads to the relay, which leads to ours. 0 or -errno. */
static int join(struct observer *observer, struct dial *dial, size_t index)
{
	struct relay *relay = network_relay(observer);
	_cleanup_close_ int listener = -1, inside = -1;
	struct sockaddr_storage address;
	struct pollfd accepted;
	bool blocking;
	int r;

	write_address(&dial->target.address, dial->target.port, family_of(&dial->target.address),
		      &address);
	r = relay_listen(relay, (struct sockaddr *)&address, &listener);
	if (r < 0)
		return r;
	r = connect_now(dial->copy, /* target= */ -1, (struct sockaddr *)&dial->asked,
			dial->asked_length, &blocking);
	if (r && r != EINPROGRESS)
		return -r;
	accepted = (struct pollfd){.fd = listener, .events = POLLIN};
	(void)poll(&accepted, 1, ACCEPT_MS);
	inside = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	return inside < 0 ? -ECONNREFUSED
			  : relay_join(relay, inside, dial->attempts[index],
				       lent_joined(observer, &dial->target,
						   &dial->addresses.items[index]));
}

/* Ends with the dial gone. */
static void give(struct observer *observer, struct dial *dial, size_t index, int result)
{
	const struct in6_addr *address = &dial->addresses.items[index];
	int r;

	/* The inbox marks its port before it listens: it may have begun since the port was looked
	 * at. */
	if (network_is_inbox(observer, address, dial->target.port))
		r = -NOT_REACHED;
	else if (dial->shared)
		r = join(observer, dial, index);
	else
		r = lent_stream(observer, &dial->target, address, dial->attempts[index]);
	bound_sleep(true); /* for all that is closed from here on */
	if (r == 0 && !dial->shared)
		r = hand_in(observer, &dial->call, dial->number, &dial->copy,
			    dial->attempts[index]);
	if (r == 0)
		named_note(observer, &dial->target, address);
	/* Ours goes first: the caller must be able to end the connection by closing its own. */
	close_attempt(observer, dial, index);
	bound_sleep(false);
	finish_dial(observer, dial, r < 0 ? -r : result);
}

static size_t count_under_way(const struct dial *dial)
{
	size_t count = 0;

	for (size_t i = 0; i < dial->tried; i++)
		count += dial->attempts[i] >= 0;
	return count;
}

static void watch(struct observer *observer, struct dial *dial, size_t index)
{
	struct epoll_event event = {.events = EPOLLOUT, .data.fd = dial->attempts[index]};

	dial->watched[index] =
		epoll_ctl(observer->epoll, EPOLL_CTL_ADD, dial->attempts[index], &event) == 0;
	dial->next_try = monotonic_ns() + NEXT_ADDRESS * millisecond;
}

/* Tries the next addresses until one is under way; where none is left and none is under way, it has
 * failed. clear: the first to be tried is the one, and who does not want to wait is given it. */
static void try_next(struct observer *observer, struct dial *dial, bool clear)
{
	while (dial->tried < dial->addresses.count && count_under_way(dial) < TOGETHER) {
		size_t index = dial->tried++;
		int error =
			try_address(observer, dial, index, /* settle= */ dial->blocking || !clear);

		if (error && error != EINPROGRESS) {
			dial->error = error;
			continue;
		}
		if (error == 0)
			remember_winner(observer, dial, index);
		if (!dial->blocking && (clear || error == 0))
			give(observer, dial, index, EINPROGRESS);
		else if (error == 0)
			give(observer, dial, index, 0);
		else
			watch(observer, dial, index);
		return;
	}
	if (count_under_way(dial) == 0)
		finish_dial(observer, dial, dial->error ? dial->error : ENETUNREACH);
}

/* Datagrams: the relay fixes where they go, and the caller's own socket leads to the relay. */
static void relay_dial(struct observer *observer, struct dial *dial)
{
	const struct in6_addr *address = &dial->addresses.items[0];
	struct sockaddr_storage inside, outside;
	int r;

	write_address(&dial->target.address, dial->target.port, family_of(&dial->target.address),
		      &inside);
	write_address(address, dial->target.port, family_of(address), &outside);
	r = relay_datagrams(network_relay(observer), (struct sockaddr *)&inside,
			    (struct sockaddr *)&outside);
	if (r == 0)
		lent_datagrams(observer, &dial->target, address, &inside);
	if (r < 0 || !still_waiting(observer, dial->call.id)) {
		finish_dial(observer, dial, r < 0 ? -r : EINTR);
		return;
	}
	if (dial->trap->kind != TRAP_CONNECT)
		/* Inside, every address leads to a relay or to nobody. */
		answer_continue(observer, dial->call.id);
	else
		perform_connect(observer, &dial->call, STEAL_FD(dial->copy), /* target= */ -1,
				(struct sockaddr *)&dial->asked, dial->asked_length);
	drop(observer, dial);
}

/* Its addresses are known and may be reached. */
static void connect_dial(struct observer *observer, struct dial *dial)
{
	bool clear = prefer_winner(observer, dial) || dial->addresses.count == 1;

	dial->connecting = true;
	if (dial->target.datagrams)
		relay_dial(observer, dial);
	else
		try_next(observer, dial, clear);
}

static bool is_listed_itself(const struct observer *observer, const struct in6_addr *address,
			     uint16_t port)
{
	return host_rules_exactly(observer->observed->hosts, address, port) ||
	       host_rules_exactly(&observer->permitted, address, port);
}

static bool may_lead_to(const struct observer *observer, const struct target *target,
			const struct in6_addr *address)
{
	return network_judge_address(observer, address, target->port, /* named= */ *target->name) ==
		       HOST_ALLOWED &&
	       (is_listed_itself(observer, address, target->port) || !address_is_own(address));
}

bool network_may_reach(const struct observer *observer, const struct target *target,
		       const struct in6_addr *address)
{
	if (target_is_inside(target)) /* the host's loopback in the place of its own */
		return host_rules_loopback(observer->observed->hosts, target->port) ==
			       HOST_ALLOWED ||
		       host_rules_loopback(&observer->permitted, target->port) == HOST_ALLOWED;
	return network_judge(observer, target) == HOST_ALLOWED &&
	       may_lead_to(observer, target, address);
}

void dial_recall(struct observer *observer)
{
	struct dial *next;

	for (struct dial *dial = observer->dials; dial; dial = next) {
		bool stays = target_is_inside(&dial->target) ||
			     network_judge(observer, &dial->target) == HOST_ALLOWED;

		next = dial->next;
		for (size_t i = 0; i < dial->addresses.count && stays; i++)
			stays = network_may_reach(observer, &dial->target,
						  &dial->addresses.items[i]);
		if (!stays)
			finish_dial(observer, dial, NOT_REACHED);
	}
}

/* What the socket can reach of what may be reached. */
static void choose_addresses(const struct observer *observer, const struct addresses *found,
			     struct dial *dial, const struct in6_addr **ret_refused)
{
	*ret_refused = NULL;
	for (size_t i = 0; i < found->count; i++) {
		const struct in6_addr *address = &found->items[i];
		bool v4 = IN6_IS_ADDR_V4MAPPED(address);

		if (!may_lead_to(observer, &dial->target, address))
			*ret_refused = address;
		else if (dial->target.datagrams ||
			 (dial->family == AF_INET ? v4 : !v4 || !dial->only_v6))
			dial->addresses.items[dial->addresses.count++] = *address;
	}
}

/* A name that leads to where it must not: said with the address. */
static void refuse_address(struct observer *observer, struct dial *dial,
			   const struct in6_addr *address)
{
	char warning[TARGET_OBJECT + 128];
	enum address_range range = address_range(address);
	bool denied = network_judge_address(observer, address, dial->target.port,
					    /* named= */ true) == HOST_DENIED;

	target_lead_to(&dial->target, address);
	if (denied && range != RANGE_NOWHERE)
		snprintf(warning, sizeof(warning), "denied by the list of hosts: %s",
			 dial->target.literal);
	else if (address_is_own(address))
		snprintf(warning, sizeof(warning),
			 "network: %s is an address of this host and must be listed itself",
			 dial->target.literal);
	else
		snprintf(warning, sizeof(warning),
			 "network: %s is a %s address and must be listed itself",
			 dial->target.literal, address_range_name(range));
	observer->settling = dial->settling;
	network_refuse(observer, &dial->call, dial->trap, &dial->target, warning, denied);
	observer->settling = NULL;
	drop(observer, dial);
}

static void found(void *data, uint64_t ticket, const struct addresses *addresses, int errnum)
{
	struct observer *observer = data;
	struct dial *dial = observer->dials;
	const struct in6_addr *refused;

	while (dial && dial->ticket != ticket)
		dial = dial->next;
	if (!dial)
		return;
	if (!addresses) {
		finish_dial(observer, dial, errnum == ENOENT ? EHOSTUNREACH : errnum);
		return;
	}
	choose_addresses(observer, addresses, dial, &refused);
	if (dial->addresses.count > 0)
		connect_dial(observer, dial);
	else if (refused)
		refuse_address(observer, dial, refused);
	else
		finish_dial(observer, dial, ENETUNREACH);
}

static struct dial *dial_new(struct observer *observer, const struct seccomp_notif *call,
			     const struct trap *trap, int fd, const struct target *target,
			     const struct sockaddr *asked, socklen_t asked_length)
{
	socklen_t length;
	struct dial *dial;
	int only_v6 = 0;

	if (observer->dial_count >= DIALS_MOST) {
		answer(observer, call->id, EAGAIN);
		close_copy(&fd);
		return NULL;
	}
	dial = calloc(1, sizeof(*dial));
	if (!dial)
		abort();
	*dial = (struct dial){.next = observer->dials,
			      .call = *call,
			      .trap = trap,
			      .target = *target,
			      .ticket = ++observer->dialled,
			      .settling = observer->settling,
			      .number = (int)call->data.args[0],
			      .copy = fd,
			      .family = socket_option(fd, SO_DOMAIN, AF_INET),
			      .blocking = !(fcntl(fd, F_GETFL) & O_NONBLOCK),
			      .begun = monotonic_ns()};
	memset(dial->attempts, -1, sizeof(dial->attempts));
	memcpy(&dial->asked, asked, asked_length);
	dial->asked_length = asked_length;
	dial->give_up = socket_give_up(fd, dial->begun);
	length = sizeof(only_v6);
	dial->only_v6 = dial->family == AF_INET6 &&
			getsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, &length) == 0 &&
			only_v6;
	/* What was handed in before and failed is replaced: connected itself, it would leave by the
	 * host's network. */
	dial->shared = !target->datagrams && !is_host_socket(observer, fd) &&
		       is_shared((pid_t)call->pid, observer->observed->init, dial->number, fd);
	/* It ticks as long as there is one, and once more. */
	if (!observer->ticks)
		set_tick(observer);
	observer->dials = dial;
	observer->dial_count++;
	return dial;
}

void dial_start(struct observer *observer, const struct seccomp_notif *call,
		const struct trap *trap, int fd, const struct target *target,
		const struct sockaddr *asked, socklen_t length)
{
	struct dial *dial = dial_new(observer, call, trap, fd, target, asked, length);
	const struct addresses literal = {.items = {target->address}, .count = 1};

	if (!dial)
		return;
	if (!*target->name) {
		found(observer, dial->ticket, &literal, 0);
		return;
	}
	if (!observer->lookup)
		observer->lookup = lookup_new(observer->epoll, found, observer);
	lookup_name(observer->lookup, target->name, dial->ticket);
}

void dial_loopback(struct observer *observer, const struct seccomp_notif *call,
		   const struct trap *trap, int fd, const struct target *target,
		   const struct sockaddr *asked, socklen_t length)
{
	struct dial *dial = dial_new(observer, call, trap, fd, target, asked, length);
	static const struct in6_addr v6 = IN6ADDR_LOOPBACK_INIT;
	static const struct in6_addr v4 = {
		.s6_addr = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}};

	if (!dial)
		return;
	dial->target.name[0] = '\0';
	if (dial->family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(&target->address))
		dial->addresses.items[dial->addresses.count++] = v6;
	if (!dial->only_v6)
		dial->addresses.items[dial->addresses.count++] = v4;
	connect_dial(observer, dial);
}

/* An attempt has come to its end, one way or the other. */
static void end_attempt(struct observer *observer, struct dial *dial, size_t index)
{
	int error = socket_option(dial->attempts[index], SO_ERROR, EIO);

	if (error == 0) {
		remember_winner(observer, dial, index);
		give(observer, dial, index, dial->blocking ? 0 : EINPROGRESS);
		return;
	}
	dial->error = error;
	close_attempt(observer, dial, index);
	try_next(observer, dial, /* clear= */ false);
}

/* The longer it has waited, the less often it is looked for. */
static bool is_signalled(struct dial *dial, uint64_t time)
{
	if (time < dial->next_look)
		return false;
	dial->next_look = time + (time - dial->begun) / 4;
	return caller_is_signalled((pid_t)dial->call.pid);
}

/* The caller goes on with an attempt under way. */
static void let_go(struct observer *observer, struct dial *dial, int result)
{
	for (size_t i = 0; i < dial->tried; i++)
		if (dial->attempts[i] >= 0) {
			give(observer, dial, i, result);
			return;
		}
	finish_dial(observer, dial, result == EINPROGRESS ? ETIMEDOUT : result);
}

static void tick(struct observer *observer)
{
	uint64_t time = monotonic_ns(), ticks;
	struct dial *next;

	(void)!read(observer->dial_timer, &ticks, sizeof(ticks));
	for (struct dial *dial = observer->dials; dial; dial = next) {
		next = dial->next;
		/* A look-up ends in bounded time, and until then there is nothing to go on with:
		 * the program would poll a socket that nobody connects, and take it for connected.
		 */
		if (!still_waiting(observer, dial->call.id))
			drop(observer, dial);
		else if (!dial->connecting)
			continue;
		else if (dial->blocking && is_signalled(dial, time))
			let_go(observer, dial, EINTR);
		else if ((dial->give_up && time >= dial->give_up) ||
			 (!dial->blocking && time >= dial->begun + PATIENCE * millisecond))
			let_go(observer, dial, EINPROGRESS);
		else if (dial->tried < dial->addresses.count && time >= dial->next_try)
			try_next(observer, dial, /* clear= */ false);
	}
	observer->ticks = false;
	if (observer->dials)
		set_tick(observer);
}

bool dial_serve(struct observer *observer, int fd)
{
	if (fd == observer->dial_timer) {
		tick(observer);
		return true;
	}
	for (struct dial *dial = observer->dials; dial; dial = dial->next)
		for (size_t i = 0; i < dial->tried; i++)
			if (dial->attempts[i] == fd) {
				if (still_waiting(observer, dial->call.id))
					end_attempt(observer, dial, i);
				else
					drop(observer, dial);
				return true;
			}
	return false;
}

void dial_done(struct observer *observer)
{
	while (observer->dials)
		drop(observer, observer->dials);
	lookup_free(observer->lookup);
	free(observer->winners);
	free(observer->named);
	close_fd(&observer->dial_timer);
}
