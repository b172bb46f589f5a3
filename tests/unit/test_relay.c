/* SPDX-License-Identifier: Apache-2.0 */
/* observe: the relay between the host's network and one that the test makes, with sockets on both
 * sides in the test's own hands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* the name is ward's */

#include "base/io.h"
#include "observe/network/child.h"
#include "observe/network/pump.h"
#include "observe/network/relay.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

enum { PATIENCE_MS = 5000, LARGEST = 65507 };

/* A sandbox as far as the relay looks at one, and the relay. */
static struct {
	pid_t init;
	int puppet; /* asked for (domain, type), it sends a socket of that network */
	int epoll;
	struct relay *relay;
} world;

static void run_puppet(int control)
{
	int wanted[2], fds[MESSAGE_FDS];

	while (receive_message(control, wanted, sizeof(wanted), fds, -1) == 0) {
		int fd = socket(wanted[0], wanted[1] | SOCK_CLOEXEC, 0);

		send_message(control, wanted, sizeof(wanted), &fd, fd >= 0, PATIENCE_MS);
		close(fd);
	}
	_exit(0);
}

static void run_init(int control)
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

static int start_world(void **state)
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

static int end_world(void **state)
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
static int inside_socket(int domain, int type)
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

static int outside_socket(int domain, int type)
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

static struct place place(const char *text, uint16_t port)
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

static struct place place_of(int fd)
{
	struct place place = {.length = sizeof(place.room)};

	assert_int_equal(getsockname(fd, &place.any, &place.length), 0);
	return place;
}

static uint16_t port_of(int fd)
{
	return ntohs(place_of(fd).v4.sin_port);
}

/* Where the test's peers on the host hear. */
static int bound_outside(int type)
{
	struct place any = place("127.0.0.1", 0);
	int fd = outside_socket(AF_INET, type);

	assert_int_equal(bind(fd, &any.any, any.length), 0);
	if (type == SOCK_STREAM)
		assert_int_equal(listen(fd, 16), 0);
	return fd;
}

static void relay_to(const char *inside, uint16_t port, int outside)
{
	struct place from = place(inside, port), to = place_of(outside);

	assert_int_equal(relay_datagrams(world.relay, &from.any, &to.any), 0);
	assert_true(relay_has(world.relay, &from.any));
}

static void send_text(int fd, const char *text, const struct place *to)
{
	assert_int_equal(
		sendto(fd, text, strlen(text), 0, to ? &to->any : NULL, to ? to->length : 0),
		strlen(text));
}

static struct place expect_text(int fd, const char *text)
{
	struct place from = {.length = sizeof(from.room)};
	char got[100] = "";

	assert_int_equal(recvfrom(fd, got, sizeof(got) - 1, 0, &from.any, &from.length),
			 strlen(text));
	assert_string_equal(got, text);
	return from;
}

static void expect_silence(int fd)
{
	struct pollfd quiet = {fd, POLLIN, 0};

	assert_int_equal(poll(&quiet, 1, 100), 0);
}

/* Serves the relay until nothing happens for a moment. */
static void serve(int quiet_ms)
{
	struct epoll_event events[8];
	int count;

	while ((count = epoll_wait(world.epoll, events, 8, quiet_ms)) > 0)
		for (int i = 0; i < count; i++)
			assert_true(relay_serve(world.relay, events[i].data.fd, events[i].events));
}

/* The pid of a child of ours by its name, 0 where there is none. */
static pid_t find_child(pid_t parent, const char *name)
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
static pid_t await_child(const char *name)
{
	pid_t pid = 0;

	for (int i = 0; i < PATIENCE_MS / 10 && !pid; i++) {
		pid = find_child(getpid(), name);
		if (!pid)
			usleep(10000);
	}
	return pid;
}

static void datagrams_go_out_and_answers_come_from_where_they_were_sent(void **state)
{
	/* A name's address, a literal one, ports of root's, IPv6, a mapped address. */
	static const struct {
		const char *inside, *sent_to;
		uint16_t port;
	} cases[] = {
		{"198.18.0.5", "198.18.0.5", 5353}, {"203.0.113.9", "203.0.113.9", 53},
		{"fd77:6172:6400::5", NULL, 443},   {"2001:db8::1", NULL, 9000},
		{"198.18.0.6", NULL, 7000},	    {"::ffff:198.18.0.7", "198.18.0.7", 7001},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		struct place to =
			place(cases[i].sent_to ? cases[i].sent_to : cases[i].inside, cases[i].port);
		int client = inside_socket(to.any.sa_family, SOCK_DGRAM);
		int server = bound_outside(SOCK_DGRAM);
		struct place sender, from;

		relay_to(cases[i].inside, cases[i].port, server);
		send_text(client, "question", &to);
		sender = expect_text(server, "question");
		send_text(server, "answer", &sender);
		from = expect_text(client, "answer");
		assert_memory_equal(&from.room, &to.room, to.length);
		/* Connected, only that address would be heard. */
		assert_int_equal(connect(client, &to.any, to.length), 0);
		send_text(client, "again", NULL);
		sender = expect_text(server, "again");
		send_text(server, "and again", &sender);
		expect_text(client, "and again");
		close(client);
		close(server);
	}
}

static void a_mapped_address_leads_to_the_same_target(void **state)
{
	struct place mapped = place("::ffff:198.18.0.5", 5353);
	int client = inside_socket(AF_INET6, SOCK_DGRAM), server = bound_outside(SOCK_DGRAM);

	(void)state;
	relay_to("198.18.0.5", 5353, server);
	assert_true(relay_has(world.relay, &mapped.any));
	send_text(client, "mapped", &mapped);
	expect_text(server, "mapped");
	close(client);
	close(server);
}

static void a_target_of_ipv6_leads_to_ipv6(void **state)
{
	struct place to = place("fd77:6172:6400::5", 5353), loopback = place("::1", 0);
	int client = inside_socket(AF_INET6, SOCK_DGRAM);
	int server = outside_socket(AF_INET6, SOCK_DGRAM);

	(void)state;
	if (bind(server, &loopback.any, loopback.length) == 0) {
		relay_to("fd77:6172:6400::5", 5353, server);
		send_text(client, "six", &to);
		loopback = expect_text(server, "six");
		send_text(server, "back", &loopback);
		expect_text(client, "back");
	}
	close(client);
	close(server);
}

static void addresses_that_are_nobodys_are_no_targets(void **state)
{
	static const struct {
		const char *text;
		uint16_t port;
	} cases[] = {{"0.0.0.0", 53}, {"224.0.0.1", 53}, {"255.255.255.255", 53}, {"::", 53},
		     {"ff02::1", 53}, {"198.18.0.5", 0}, {"::ffff:224.0.0.1", 53}};
	struct place fine = place("198.18.0.5", 53);

	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		struct place nobody = place(cases[i].text, cases[i].port);

		assert_int_equal(relay_datagrams(world.relay, &nobody.any, &fine.any),
				 -EADDRNOTAVAIL);
		assert_int_equal(relay_datagrams(world.relay, &fine.any, &nobody.any),
				 -EADDRNOTAVAIL);
		assert_false(relay_has(world.relay, &nobody.any));
	}
	assert_false(relay_has(world.relay, &fine.any));
	assert_int_equal(find_child(getpid(), "ward-"), 0); /* nobody was needed */
}

static void other_targets_inside_are_not_reached(void **state)
{
	struct place listed = place("198.18.0.5", 5353), other = place("198.18.0.6", 5353),
		     port = place("198.18.0.5", 5354);
	int client = inside_socket(AF_INET, SOCK_DGRAM), server = bound_outside(SOCK_DGRAM);

	(void)state;
	relay_to("198.18.0.5", 5353, server);
	assert_false(relay_has(world.relay, &other.any));
	assert_false(relay_has(world.relay, &port.any));
	send_text(client, "other", &other);
	send_text(client, "port", &port);
	expect_silence(server);
	send_text(client, "listed", &listed);
	expect_text(server, "listed");
	close(client);
	close(server);
}

static void each_sender_is_told_apart_and_strangers_are_not_heard(void **state)
{
	struct place to = place("198.18.0.5", 5353), first, second;
	int one = inside_socket(AF_INET, SOCK_DGRAM), two = inside_socket(AF_INET, SOCK_DGRAM);
	int server = bound_outside(SOCK_DGRAM), stranger = bound_outside(SOCK_DGRAM);

	(void)state;
	relay_to("198.18.0.5", 5353, server);
	send_text(one, "one", &to);
	first = expect_text(server, "one");
	send_text(two, "two", &to);
	second = expect_text(server, "two");
	assert_int_not_equal(first.v4.sin_port, second.v4.sin_port);
	send_text(stranger, "from elsewhere", &first);
	send_text(server, "for two", &second);
	send_text(server, "for one", &first);
	expect_text(one, "for one");
	expect_text(two, "for two");
	expect_silence(one);
	expect_silence(two);
	close(one);
	close(two);
	close(server);
	close(stranger);
}

/* Sends as if from another address, with the port that the socket has. */
static void send_as(int fd, const char *text, const char *source, const struct place *to)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(struct in_pktinfo))];
	} control = {0};
	struct in_pktinfo forged = {.ipi_spec_dst = place(source, 0).v4.sin_addr};
	struct iovec part = {(void *)text, strlen(text)};
	struct msghdr message = {.msg_name = (void *)&to->any,
				 .msg_namelen = to->length,
				 .msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};

	control.header.cmsg_level = IPPROTO_IP;
	control.header.cmsg_type = IP_PKTINFO;
	control.header.cmsg_len = CMSG_LEN(sizeof(forged));
	memcpy(CMSG_DATA(&control.header), &forged, sizeof(forged));
	assert_int_equal(sendmsg(fd, &message, 0), strlen(text));
}

static void two_targets_cannot_be_made_to_answer_each_other(void **state)
{
	struct place here = place("127.0.0.1", 5353), to = place("198.18.0.6", 5353);
	int client = inside_socket(AF_INET, SOCK_DGRAM);
	int one = bound_outside(SOCK_DGRAM), other = bound_outside(SOCK_DGRAM);

	(void)state;
	relay_to("198.18.0.5", 5353, one);
	relay_to("198.18.0.6", 5353, other);
	assert_int_equal(bind(client, &here.any, here.length), 0);
	send_as(client, "as another host", "198.18.0.7", &to);
	expect_text(other, "as another host");
	send_as(client, "as a target", "198.18.0.5", &to);
	expect_silence(other);
	close(client);
	close(one);
	close(other);
}

static void datagrams_of_any_size_keep_it(void **state)
{
	static const size_t sizes[] = {0, 1, 1500, 9000, LARGEST};
	static char sent[LARGEST], got[LARGEST + 1];
	struct place to = place("198.18.0.5", 5353);
	int client = inside_socket(AF_INET, SOCK_DGRAM), server = bound_outside(SOCK_DGRAM);

	(void)state;
	relay_to("198.18.0.5", 5353, server);
	for (size_t i = 0; i < ELEMENTS(sizes); i++) {
		struct place from = {.length = sizeof(from.room)};

		memset(sent, 'a' + (int)i, sizeof(sent));
		assert_int_equal(sendto(client, sent, sizes[i], 0, &to.any, to.length), sizes[i]);
		assert_int_equal(recvfrom(server, got, sizeof(got), 0, &from.any, &from.length),
				 sizes[i]);
		assert_memory_equal(got, sent, sizes[i]);
		assert_int_equal(sendto(server, sent, sizes[i], 0, &from.any, from.length),
				 sizes[i]);
		assert_int_equal(recv(client, got, sizeof(got), 0), sizes[i]);
		assert_memory_equal(got, sent, sizes[i]);
	}
	close(client);
	close(server);
}

static void the_sender_that_was_silent_longest_makes_room(void **state)
{
	struct place to = place("198.18.0.5", 5353), first, last, again;
	int server = bound_outside(SOCK_DGRAM), clients[SENDERS_MOST + 1];

	(void)state;
	clients[0] = inside_socket(AF_INET, SOCK_DGRAM);
	relay_to("198.18.0.5", 5353, server);
	for (int i = 0; i < SENDERS_MOST + 1; i++) {
		if (i > 0)
			clients[i] = inside_socket(AF_INET, SOCK_DGRAM);
		send_text(clients[i], "hello", &to);
		last = expect_text(server, "hello");
		if (i == 0)
			first = last;
		if (i == SENDERS_MOST - 1) { /* the second is the oldest from here on */
			send_text(clients[0], "still here", &to);
			expect_text(server, "still here");
		}
	}
	send_text(server, "to the last", &last);
	expect_text(clients[SENDERS_MOST], "to the last");
	send_text(server, "to the first", &first);
	expect_text(clients[0], "to the first");
	/* Who had to go begins anew. */
	send_text(clients[1], "back", &to);
	again = expect_text(server, "back");
	send_text(server, "welcome", &again);
	expect_text(clients[1], "welcome");
	for (int i = 0; i < SENDERS_MOST + 1; i++)
		close(clients[i]);
	close(server);
}

static void the_same_pair_again_costs_nothing_and_another_outside_takes_over(void **state)
{
	struct place to = place("198.18.0.5", 5353);
	int client = inside_socket(AF_INET, SOCK_DGRAM);
	int answered = inside_socket(AF_INET, SOCK_DGRAM);
	int old = bound_outside(SOCK_DGRAM), new = bound_outside(SOCK_DGRAM);
	struct place sender;
	pid_t factory, pump;

	(void)state;
	relay_to("198.18.0.5", 5353, old);
	factory = await_child("ward-factory");
	pump = await_child("ward-pump");
	assert_true(factory && pump);
	for (int i = 0; i < 1000; i++)
		relay_to("198.18.0.5", 5353, old);
	send_text(client, "first", &to);
	expect_text(old, "first");
	send_text(answered, "question", &to);
	sender = expect_text(old, "question");
	send_text(old, "answer", &sender);
	expect_text(answered, "answer");
	relay_to("198.18.0.5", 5353, new);
	/* Nothing says when the pump has heard of it. */
	for (int i = 0; i < 50; i++) {
		struct pollfd there = {new, POLLIN, 0};

		send_text(client, "second", &to);
		if (poll(&there, 1, 20) > 0)
			break;
	}
	expect_text(new, "second");
	/* Who is in the middle of something stays. */
	while (recv(old, &sender, sizeof(sender), MSG_DONTWAIT) >= 0)
		;
	send_text(answered, "go on", &to);
	expect_text(old, "go on");
	close(answered);
	assert_int_equal(await_child("ward-factory"), factory);
	assert_int_equal(await_child("ward-pump"), pump);
	close(client);
	close(old);
	close(new);
}

static void datagrams_to_nobody_do_not_disturb_the_next(void **state)
{
	struct place to = place("198.18.0.5", 5353), where;
	int client = inside_socket(AF_INET, SOCK_DGRAM), server = bound_outside(SOCK_DGRAM);

	(void)state;
	where = place_of(server);
	relay_to("198.18.0.5", 5353, server);
	close(server);
	send_text(client, "into the void", &to);
	usleep(50000);
	server = outside_socket(AF_INET, SOCK_DGRAM);
	assert_int_equal(bind(server, &where.any, where.length), 0);
	send_text(client, "heard", &to);
	expect_text(server, "heard");
	close(client);
	close(server);
}

static void who_is_connected_hears_that_nobody_listens_outside(void **state)
{
	static const char *const targets[] = {"198.18.0.5", "fd77:6172:6400::5"};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(targets); i++) {
		struct place to = place(targets[i], 5353);
		int client = inside_socket(to.any.sa_family, SOCK_DGRAM);
		int other = inside_socket(to.any.sa_family, SOCK_DGRAM);
		int server = bound_outside(SOCK_DGRAM);
		char byte;

		relay_to(targets[i], 5353, server);
		close(server);
		assert_int_equal(connect(client, &to.any, to.length), 0);
		assert_int_equal(connect(other, &to.any, to.length), 0);
		send_text(client, "is anybody there", NULL);
		assert_int_equal(recv(client, &byte, 1, 0), -1);
		assert_int_equal(errno, ECONNREFUSED);
		expect_silence(other);
		close(client);
		close(other);
	}
}

static void more_targets_than_there_is_room_for_are_refused(void **state)
{
	int server = bound_outside(SOCK_DGRAM), client;
	struct place to = place("198.18.0.5", 1999), outside = place_of(server);

	(void)state;
	client = inside_socket(AF_INET, SOCK_DGRAM);
	for (uint16_t i = 0; i < TARGETS_MOST; i++)
		relay_to("198.18.0.5", (uint16_t)(2000 + i), server);
	assert_int_equal(relay_datagrams(world.relay, &to.any, &outside.any), -EMFILE);
	to = place("198.18.0.5", 2000 + TARGETS_MOST - 1);
	send_text(client, "last", &to);
	expect_text(server, "last");
	close(client);
	close(server);
}

static void the_loopback_inside_is_as_before(void **state)
{
	static const char *const addresses[] = {"127.0.0.1", "127.9.9.9", "::1"};
	int server = bound_outside(SOCK_DGRAM);

	(void)state;
	for (size_t i = 0; i < ELEMENTS(addresses); i++) {
		struct place any = place(addresses[i], 0), from;
		int one = inside_socket(any.any.sa_family, SOCK_DGRAM);
		int two = inside_socket(any.any.sa_family, SOCK_DGRAM);

		relay_to("198.18.0.5", 5353, server);
		assert_int_equal(bind(one, &any.any, any.length), 0);
		any = place_of(one);
		send_text(two, "hello", &any);
		from = expect_text(one, "hello");
		send_text(one, "hello yourself", &from);
		expect_text(two, "hello yourself");
		close(one);
		close(two);
	}
	close(server);
}

static void a_sender_inside_is_not_told_that_it_is_its_target(void **state)
{
	struct place to = place("198.18.0.5", 5353), mine;
	int client = inside_socket(AF_INET, SOCK_DGRAM), server = bound_outside(SOCK_DGRAM);
	char text[INET_ADDRSTRLEN];

	(void)state;
	relay_to("198.18.0.5", 5353, server);
	assert_int_equal(connect(client, &to.any, to.length), 0);
	mine = place_of(client);
	assert_string_equal(inet_ntop(AF_INET, &mine.v4.sin_addr, text, sizeof(text)), "127.0.0.1");
	close(client);
	close(server);
}

/* A port that was free a moment ago. */
static uint16_t free_port(void)
{
	int fd = bound_outside(SOCK_STREAM);
	uint16_t port = port_of(fd);

	close(fd);
	return port;
}

static int listen_inside(const char *address, uint16_t *ret_port)
{
	struct place any = place(address, 0);
	int fd = inside_socket(any.any.sa_family, SOCK_STREAM);

	assert_int_equal(bind(fd, &any.any, any.length), 0);
	assert_int_equal(listen(fd, 1024), 0);
	*ret_port = port_of(fd);
	return fd;
}

static int connect_outside(const char *address, uint16_t port)
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
static void connect_through(const char *address, const char *inside, int ends[static 2])
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

static void expect_end(int fd)
{
	char byte;

	assert_int_equal(recv(fd, &byte, 1, 0), 0);
}

static void expect_reset(int fd)
{
	char byte;

	assert_int_equal(recv(fd, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
}

static void a_published_port_leads_inside_and_each_end_can_be_closed_by_itself(void **state)
{
	static const char *const ways[][2] = {
		{"127.0.0.1", "127.0.0.1"}, {"::1", "127.0.0.1"}, {"127.0.0.1", "::1"}};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(ways); i++) {
		int ends[2];

		connect_through(ways[i][0], ways[i][1], ends);
		for (int from = 0; from < 2; from++) {
			send_text(ends[from], "there", NULL);
			expect_text(ends[1 - from], "there");
			send_text(ends[1 - from], "and back", NULL);
			expect_text(ends[from], "and back");
		}
		shutdown(ends[i % 2], SHUT_WR);
		expect_end(ends[1 - i % 2]);
		send_text(ends[1 - i % 2], "still heard", NULL);
		expect_text(ends[i % 2], "still heard");
		shutdown(ends[1 - i % 2], SHUT_WR);
		expect_end(ends[i % 2]);
		close(ends[0]);
		close(ends[1]);
	}
}

/* Writes and reads at both ends at once, each way its own bytes. */
static void large_transfers_arrive_whole_in_both_directions_at_once(void **state)
{
	enum { TOTAL = 48 << 20, PART = 100000 };
	static uint8_t data[PART], got[PART];
	size_t sent[2] = {0}, received[2] = {0};
	bool ended[2] = {false, false};
	int ends[2];

	(void)state;
	connect_through("127.0.0.1", "127.0.0.1", ends);
	for (int i = 0; i < 2; i++)
		fcntl(ends[i], F_SETFL, O_NONBLOCK);
	while (!ended[0] || !ended[1]) {
		struct pollfd ready[2] = {{ends[0], POLLIN | (sent[0] < TOTAL ? POLLOUT : 0), 0},
					  {ends[1], POLLIN | (sent[1] < TOTAL ? POLLOUT : 0), 0}};

		assert_true(poll(ready, 2, PATIENCE_MS) > 0);
		for (int i = 0; i < 2; i++) {
			ssize_t length;

			if (ready[i].revents & POLLOUT && sent[i] < TOTAL) {
				size_t part = MIN((size_t)PART, TOTAL - sent[i]);

				for (size_t at = 0; at < part; at++)
					data[at] = (uint8_t)((sent[i] + at) * 31 + (unsigned)i);
				length = send(ends[i], data, part, MSG_NOSIGNAL);
				assert_true(length > 0 || errno == EAGAIN);
				sent[i] += (size_t)MAX(length, 0);
				if (sent[i] == TOTAL)
					shutdown(ends[i], SHUT_WR);
			}
			length = ended[i] ? -1 : recv(ends[i], got, sizeof(got), 0);
			for (ssize_t at = 0; at < length; at++)
				assert_int_equal(got[at],
						 (uint8_t)((received[i] + (size_t)at) * 31 +
							   (unsigned)(1 - i)));
			ended[i] = ended[i] || length == 0;
			received[i] += (size_t)MAX(length, 0);
		}
	}
	assert_int_equal(received[0], TOTAL);
	assert_int_equal(received[1], TOTAL);
	close(ends[0]);
	close(ends[1]);
}

/* Who does not read stops who writes, and the pump meanwhile does nothing. */
static uint64_t ticks_of(pid_t pid)
{
	_cleanup_free_ char *text = NULL;
	unsigned long user, system;
	char path[64];
	size_t length;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	assert_int_equal(read_file(AT_FDCWD, path, 4096, &text, &length), 0);
	assert_int_equal(sscanf(strrchr(text, ')') + 2,
				"%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
				&system),
			 2);
	return user + system;
}

static void who_does_not_read_holds_up_who_writes_and_nobody_spins(void **state)
{
	static char data[65536], got[65536];
	size_t sent = 0, received = 0;
	struct pollfd ready;
	uint64_t ticks;
	ssize_t length;
	int ends[2];

	(void)state;
	connect_through("127.0.0.1", "127.0.0.1", ends);
	ready = (struct pollfd){ends[0], POLLOUT, 0};
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	while (poll(&ready, 1, 200) > 0 && (length = send(ends[0], data, sizeof(data), 0)) > 0)
		sent += (size_t)length;
	assert_in_range(sent, 1 << 16, 64 << 20);
	ticks = ticks_of(await_child("ward-pump"));
	usleep(500000);
	assert_true(ticks_of(await_child("ward-pump")) - ticks <= 5);
	shutdown(ends[0], SHUT_WR);
	while ((length = recv(ends[1], got, sizeof(got), 0)) > 0)
		received += (size_t)length;
	assert_int_equal(received, sent);
	close(ends[0]);
	close(ends[1]);
}

static void a_reset_is_passed_on_as_one(void **state)
{
	const struct linger at_once = {1, 0};

	(void)state;
	for (int from = 0; from < 2; from++) {
		int ends[2];

		connect_through("127.0.0.1", "127.0.0.1", ends);
		send_text(ends[from], "hello", NULL);
		expect_text(ends[1 - from], "hello");
		setsockopt(ends[from], SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
		close(ends[from]);
		expect_reset(ends[1 - from]);
		close(ends[1 - from]);
	}
	/* Also of an end that has said all it had to say. */
	for (int from = 0; from < 2; from++) {
		int ends[2];

		connect_through("127.0.0.1", "127.0.0.1", ends);
		shutdown(ends[from], SHUT_WR);
		expect_end(ends[1 - from]);
		setsockopt(ends[from], SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
		close(ends[from]);
		usleep(50000);
		send(ends[1 - from], "x", 1, MSG_NOSIGNAL);
		usleep(50000);
		assert_int_equal(send(ends[1 - from], "x", 1, MSG_NOSIGNAL), -1);
		close(ends[1 - from]);
	}
}

static void where_nothing_listens_inside_the_connection_is_reset(void **state)
{
	uint16_t published = free_port(), port;
	int listener = listen_inside("127.0.0.1", &port), client;

	(void)state;
	close(listener);
	assert_int_equal(relay_publish(world.relay, published, port, NULL), 0);
	for (int i = 0; i < 3; i++) {
		client = connect_outside("127.0.0.1", published);
		if (client >= 0)
			expect_reset(client);
		close(client);
	}
}

static void before_anybody_is_inside_a_connection_is_reset(void **state)
{
	struct relay *early = relay_new(world.epoll, getpid());
	uint16_t published = free_port();
	struct epoll_event event;
	struct place to = place("127.0.0.1", published);
	int client = outside_socket(AF_INET, SOCK_STREAM);

	(void)state;
	assert_int_equal(relay_publish(early, published, 80, NULL), 0);
	assert_int_equal(connect(client, &to.any, to.length), 0);
	assert_int_equal(epoll_wait(world.epoll, &event, 1, PATIENCE_MS), 1);
	/* What we started ourselves is in the host's network. */
	assert_true(relay_serve(early, event.data.fd, event.events));
	expect_reset(client);
	assert_false(relay_serve(early, client, EPOLLIN));
	assert_false(relay_serve(NULL, client, EPOLLIN));
	close(client);
	relay_free(early);
}

static void more_connections_than_can_be_carried_are_reset(void **state)
{
	uint16_t published = free_port(), port;
	int listener = listen_inside("127.0.0.1", &port), clients[PAIRS_MOST + 8], held = 0;

	(void)state;
	assert_int_equal(relay_publish(world.relay, published, port, NULL), 0);
	for (int i = 0; i < PAIRS_MOST + 8; i++) {
		struct place to = place("127.0.0.1", published);

		clients[i] = outside_socket(AF_INET, SOCK_STREAM);
		assert_int_equal(connect(clients[i], &to.any, to.length), 0);
		if (i % 50 == 0)
			serve(0);
	}
	serve(100);
	for (int i = 0; i < PAIRS_MOST + 8; i++) {
		struct pollfd ended = {clients[i], POLLIN, 0};

		held += poll(&ended, 1, i < PAIRS_MOST ? 0 : 500) == 0;
	}
	assert_int_equal(held, PAIRS_MOST);
	/* Room comes back. */
	for (int i = 0; i < PAIRS_MOST + 8; i++)
		close(clients[i]);
	close(listener);
	usleep(100000);
	listener = inside_socket(AF_INET, SOCK_STREAM);
	{
		struct place again = place("127.0.0.1", port);
		int client, server;

		assert_int_equal(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, 4), 0);
		assert_int_equal(bind(listener, &again.any, again.length), 0);
		assert_int_equal(listen(listener, 16), 0);
		client = connect_outside("127.0.0.1", published);
		server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		assert_true(client >= 0 && server >= 0);
		send_text(client, "room", NULL);
		expect_text(server, "room");
		close(client);
		close(server);
	}
	close(listener);
}

static void what_was_said_last_arrives_when_the_run_is_over(void **state)
{
	enum { TOTAL = 200000 };
	static char data[TOTAL];
	size_t received = 0;
	ssize_t length;
	int ends[2];

	(void)state;
	connect_through("127.0.0.1", "127.0.0.1", ends);
	memset(data, 'x', sizeof(data));
	assert_int_equal(write_all(ends[1], data, sizeof(data)), 0);
	close(ends[1]);
	relay_free(STEAL(world.relay));
	while ((length = recv(ends[0], data, sizeof(data), 0)) > 0)
		received += (size_t)length;
	assert_int_equal(length, 0);
	assert_int_equal(received, TOTAL);
	close(ends[0]);
}

static void a_port_that_is_taken_or_none_is_an_error_that_names_it(void **state)
{
	_cleanup_error_ struct error *error = NULL, *none = NULL, *twice = NULL;
	int taken = bound_outside(SOCK_STREAM);
	uint16_t port = port_of(taken), other = free_port();
	char number[8];

	(void)state;
	snprintf(number, sizeof(number), "%u", port);
	assert_true(relay_publish(world.relay, port, 80, &error) < 0);
	assert_non_null(strstr(error->message, number));
	assert_non_null(error->hint);
	assert_int_equal(relay_publish(world.relay, 0, 80, &none), -E_USAGE);
	assert_int_equal(relay_publish(world.relay, other, 0, NULL), -E_USAGE);
	assert_int_equal(relay_publish(world.relay, other, 80, NULL), 0);
	assert_true(relay_publish(world.relay, other, 81, &twice) < 0);
	close(taken);
}

static void the_relay_goes_on_after_the_death_of_either_child(void **state)
{
	static const char *const names[] = {"ward-factory", "ward-pump"};
	struct place to = place("198.18.0.5", 5353), new = place("198.18.0.6", 5353), outside;
	int client = inside_socket(AF_INET, SOCK_DGRAM), server = bound_outside(SOCK_DGRAM);

	(void)state;
	outside = place_of(server);
	for (size_t i = 0; i < ELEMENTS(names); i++) {
		int ends[2];

		relay_to("198.18.0.5", 5353, server);
		connect_through("127.0.0.1", "127.0.0.1", ends);
		assert_int_equal(kill(await_child(names[i]), SIGKILL), 0);
		if (i == 1) /* its connections go with it */
			expect_end(ends[0]);
		serve(50);
		assert_int_equal(find_child(getpid(), names[i]), 0);
		assert_int_equal(relay_has(world.relay, &to.any), i == 0);
		assert_int_equal(relay_datagrams(world.relay, &new.any, &outside.any), 0);
		send_text(client, "on", &new);
		expect_text(server, "on");
		relay_to("198.18.0.5", 5353, server);
		send_text(client, "and on", &to);
		expect_text(server, "and on");
		close(ends[0]);
		close(ends[1]);
		connect_through("127.0.0.1", "127.0.0.1", ends);
		send_text(ends[0], "through", NULL);
		expect_text(ends[1], "through");
		close(ends[0]);
		close(ends[1]);
	}
	close(client);
	close(server);
}

static void a_child_that_does_not_answer_is_ended_and_refused(void **state)
{
	struct place new = place("198.18.0.6", 5353), outside;
	int client = inside_socket(AF_INET, SOCK_DGRAM), server = bound_outside(SOCK_DGRAM);
	struct timespec before, after;
	pid_t factory;

	(void)state;
	outside = place_of(server);
	relay_to("198.18.0.5", 5353, server);
	factory = await_child("ward-factory");
	kill(factory, SIGSTOP);
	clock_gettime(CLOCK_MONOTONIC, &before);
	assert_int_equal(relay_datagrams(world.relay, &new.any, &outside.any), -ETIMEDOUT);
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_true(after.tv_sec - before.tv_sec <= 3);
	assert_int_equal(kill(factory, 0), -1);
	assert_int_equal(relay_datagrams(world.relay, &new.any, &outside.any), 0);
	close(client);
	close(server);
}

static void what_dies_again_and_again_is_not_started_for_ever(void **state)
{
	struct place to = place("198.18.0.5", 5353), outside;
	int client = inside_socket(AF_INET, SOCK_DGRAM), server = bound_outside(SOCK_DGRAM), r = 0;

	(void)state;
	outside = place_of(server);
	for (int i = 0; i < 100 && r == 0; i++) {
		if (i > 0)
			kill(await_child("ward-pump"), SIGKILL);
		serve(20);
		r = relay_datagrams(world.relay, &to.any, &outside.any);
	}
	assert_int_equal(r, -EAGAIN);
	close(client);
	close(server);
}

static unsigned long long status_of(pid_t pid, const char *name, int base)
{
	_cleanup_free_ char *text = NULL;
	char path[64], *at;
	size_t length;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	assert_int_equal(read_file(AT_FDCWD, path, 1 << 16, &text, &length), 0);
	at = strstr(text, name);
	assert_non_null(at);
	return strtoull(at + strlen(name), NULL, base);
}

static void the_children_have_next_to_nothing(void **state)
{
	enum { NET_BIND_SERVICE = 1 << 10 };
	int client = inside_socket(AF_INET, SOCK_DGRAM), server = bound_outside(SOCK_DGRAM);
	pid_t factory, pump;

	(void)state;
	relay_to("198.18.0.5", 5353, server);
	factory = await_child("ward-factory");
	pump = await_child("ward-pump");
	assert_int_equal(status_of(factory, "CapEff:", 16), NET_BIND_SERVICE);
	assert_int_equal(status_of(factory, "CapPrm:", 16), NET_BIND_SERVICE);
	for (int i = 0; i < 2; i++) {
		pid_t pid = i ? pump : factory;

		assert_int_equal(status_of(pid, "NoNewPrivs:", 10), 1);
		assert_int_equal(status_of(pid, "PPid:", 10), getpid());
	}
	close(client);
	close(server);
}

static bool is_alive(pid_t pid)
{
	for (int i = 0; i < 200 && kill(pid, 0) == 0; i++)
		usleep(10000);
	return kill(pid, 0) == 0;
}

/* A supervisor of its own, which is killed; what it left open must close with it. */
static void both_children_end_with_the_supervisor_and_hold_nothing_of_it(void **state)
{
	int client = inside_socket(AF_INET, SOCK_DGRAM), server = bound_outside(SOCK_DGRAM);
	struct place to = place("198.18.0.5", 5353), outside = place_of(server);
	int held[2], ready[2];
	pid_t children[2] = {0}, supervisor;
	char byte;

	(void)state;
	assert_int_equal(pipe2(held, O_CLOEXEC), 0);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	supervisor = fork();
	if (supervisor == 0) {
		struct relay *relay = relay_new(world.epoll, world.init);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (relay_datagrams(relay, &to.any, &outside.any) == 0) {
			children[0] = await_child("ward-factory");
			children[1] = await_child("ward-pump");
		}
		(void)!write(ready[1], children, sizeof(children));
		pause();
		_exit(0);
	}
	close(held[1]);
	assert_int_equal(read(ready[0], children, sizeof(children)), sizeof(children));
	assert_true(children[0] > 0 && children[1] > 0);
	send_text(client, "alive", &to);
	expect_text(server, "alive");
	kill(supervisor, SIGKILL);
	waitpid(supervisor, NULL, 0);
	assert_int_equal(read(held[0], &byte, 1), 0);
	assert_false(is_alive(children[0]));
	assert_false(is_alive(children[1]));
	close(held[0]);
	close(ready[0]);
	close(ready[1]);
	close(client);
	close(server);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start_world, end_world)
	const struct CMUnitTest tests[] = {
		TEST(datagrams_go_out_and_answers_come_from_where_they_were_sent),
		TEST(a_mapped_address_leads_to_the_same_target),
		TEST(a_target_of_ipv6_leads_to_ipv6),
		TEST(addresses_that_are_nobodys_are_no_targets),
		TEST(other_targets_inside_are_not_reached),
		TEST(each_sender_is_told_apart_and_strangers_are_not_heard),
		TEST(two_targets_cannot_be_made_to_answer_each_other),
		TEST(datagrams_of_any_size_keep_it),
		TEST(the_sender_that_was_silent_longest_makes_room),
		TEST(the_same_pair_again_costs_nothing_and_another_outside_takes_over),
		TEST(datagrams_to_nobody_do_not_disturb_the_next),
		TEST(who_is_connected_hears_that_nobody_listens_outside),
		TEST(more_targets_than_there_is_room_for_are_refused),
		TEST(the_loopback_inside_is_as_before),
		TEST(a_sender_inside_is_not_told_that_it_is_its_target),
		TEST(a_published_port_leads_inside_and_each_end_can_be_closed_by_itself),
		TEST(large_transfers_arrive_whole_in_both_directions_at_once),
		TEST(who_does_not_read_holds_up_who_writes_and_nobody_spins),
		TEST(a_reset_is_passed_on_as_one),
		TEST(where_nothing_listens_inside_the_connection_is_reset),
		TEST(before_anybody_is_inside_a_connection_is_reset),
		TEST(more_connections_than_can_be_carried_are_reset),
		TEST(what_was_said_last_arrives_when_the_run_is_over),
		TEST(a_port_that_is_taken_or_none_is_an_error_that_names_it),
		TEST(the_relay_goes_on_after_the_death_of_either_child),
		TEST(a_child_that_does_not_answer_is_ended_and_refused),
		TEST(what_dies_again_and_again_is_not_started_for_ever),
		TEST(the_children_have_next_to_nothing),
		TEST(both_children_end_with_the_supervisor_and_hold_nothing_of_it),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
