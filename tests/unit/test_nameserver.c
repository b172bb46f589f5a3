/* SPDX-License-Identifier: Apache-2.0 */
/* The name server inside: datagrams and streams of both families, and askers who mean it no good.
 */
#include "observe/network/nameserver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <cmocka.h>

enum { TRIES = 2000, CONNECTIONS_MOST = 16 };

static struct scene {
	int epoll;
	int sockets[NAME_SOCKETS];
	struct resolver *resolver;
	struct nameserver *nameserver;
} scene;

static const bool is_stream[] = {[NAMES_BY_TCP] = true, [NAMES_BY_TCP6] = true};

static socklen_t address_of(int fd, struct sockaddr_storage *ret_address)
{
	socklen_t length = sizeof(*ret_address);

	assert_int_equal(getsockname(fd, (struct sockaddr *)ret_address, &length), 0);
	return length;
}

static int set_up(_unused_ void **state)
{
	scene.epoll = epoll_create1(EPOLL_CLOEXEC);
	scene.resolver = resolver_new();
	for (int i = 0; i < NAME_SOCKETS; i++) {
		bool six = i >= NAMES_BY_UDP6;
		struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6,
					    .sin6_addr = IN6ADDR_LOOPBACK_INIT};
		struct sockaddr_in ipv4 = {.sin_family = AF_INET,
					   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		int fd = socket(six ? AF_INET6 : AF_INET,
				(is_stream[i] ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK |
					SOCK_CLOEXEC,
				0);

		if (bind(fd, six ? (void *)&ipv6 : (void *)&ipv4,
			 six ? sizeof(ipv6) : sizeof(ipv4)) < 0) {
			/* No IPv6 here: then the server does without as well. */
			close_fd(&fd);
		} else if (is_stream[i]) {
			listen(fd, 64);
		}
		scene.sockets[i] = fd;
	}
	scene.nameserver = nameserver_new(scene.epoll, scene.sockets, scene.resolver);
	return scene.nameserver ? 0 : -1;
}

static int tear_down(_unused_ void **state)
{
	nameserver_free(scene.nameserver);
	resolver_free(scene.resolver);
	for (int i = 0; i < NAME_SOCKETS; i++)
		close_fd(&scene.sockets[i]);
	close_fd(&scene.epoll);
	return 0;
}

static int connect_to(int which)
{
	struct sockaddr_storage address;
	socklen_t length = address_of(scene.sockets[which], &address);
	int fd = socket(address.ss_family,
			(is_stream[which] ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&address, length), 0);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

/* What is to be done, waiting for it so long; true if there was something. */
static bool work(int milliseconds)
{
	struct epoll_event events[8];
	int count = epoll_wait(scene.epoll, events, ELEMENTS(events), milliseconds);

	for (int i = 0; i < count; i++)
		nameserver_serve(scene.nameserver, events[i].data.fd);
	return count > 0;
}

/* All of it. On a busy machine a segment takes its time, also over loopback: quiet is what lasts.
 */
static void work_off(void)
{
	for (int i = 0; i < TRIES && work(20); i++)
		;
}

/* "name.example", of which `number` is the first label: the address of type A. */
static size_t make_query(unsigned number, uint8_t query[static 64])
{
	memset(query, 0, 64);
	query[0] = (uint8_t)(number >> 8);
	query[1] = (uint8_t)number;
	query[2] = 1;
	query[5] = 1;
	query[12] = 7;
	snprintf((char *)query + 13, 8, "name%03u", number % 1000);
	memcpy(query + 20, "\7example\0\0\1\0\1", 13);
	return 33;
}

static size_t make_framed(unsigned number, uint8_t framed[static 66])
{
	size_t length = make_query(number, framed + 2);

	framed[0] = 0;
	framed[1] = (uint8_t)length;
	return length + 2;
}

static void assert_reply(const uint8_t *reply, size_t length, unsigned number)
{
	assert_int_equal(length, 33 + 16);
	assert_int_equal(reply[0] << 8 | reply[1], number);
	assert_int_equal(reply[7], 1);
	assert_int_equal(reply[33 + 12], 198);
}

/* Reads that much, working meanwhile. False at the end of the connection. */
static bool read_whole(int fd, uint8_t *data, size_t length)
{
	size_t got = 0;

	for (int i = 0; i < TRIES && got < length; i++) {
		ssize_t more = read(fd, data + got, length - got);

		if (more == 0 || (more < 0 && errno != EAGAIN))
			return false;
		if (more > 0)
			got += (size_t)more;
		else
			work(5);
	}
	assert_int_equal(got, length);
	return true;
}

static void assert_framed_reply(int fd, unsigned number)
{
	uint8_t reply[2 + 49];

	assert_true(read_whole(fd, reply, sizeof(reply)));
	assert_int_equal(reply[0] << 8 | reply[1], 49);
	assert_reply(reply + 2, 49, number);
}

static bool is_over(int fd)
{
	uint8_t octet;
	ssize_t got;

	work_off();
	got = read(fd, &octet, 1);
	return got == 0 || (got < 0 && errno == ECONNRESET);
}

static void ask(int fd, unsigned number)
{
	uint8_t framed[66];
	size_t length = make_framed(number, framed);

	assert_int_equal(write(fd, framed, length), length);
}

static void test_datagrams_of_both_families_are_answered(_unused_ void **state)
{
	for (int i = NAMES_BY_UDP; i <= NAMES_BY_UDP6; i += NAMES_BY_UDP6 - NAMES_BY_UDP) {
		uint8_t query[64], reply[600];
		size_t length = make_query(7, query);
		_cleanup_close_ int fd = -1;

		if (scene.sockets[i] < 0)
			continue;
		fd = connect_to(i);
		assert_int_equal(write(fd, query, length), length);
		assert_int_equal(write(fd, "junk", 4), 4);
		assert_int_equal(write(fd, query, length), length);
		work_off();
		assert_reply(reply, (size_t)read(fd, reply, sizeof(reply)), 7);
		assert_reply(reply, (size_t)read(fd, reply, sizeof(reply)), 7);
	}
}

static void test_streams_of_both_families_are_answered(_unused_ void **state)
{
	for (int i = NAMES_BY_TCP; i <= NAMES_BY_TCP6; i += NAMES_BY_TCP6 - NAMES_BY_TCP) {
		_cleanup_close_ int fd = -1;

		if (scene.sockets[i] < 0)
			continue;
		fd = connect_to(i);
		for (unsigned number = 0; number < 3; number++) {
			ask(fd, number);
			assert_framed_reply(fd, number);
		}
	}
}

static void test_a_query_may_come_octet_by_octet(_unused_ void **state)
{
	_cleanup_close_ int fd = connect_to(NAMES_BY_TCP);
	uint8_t framed[66];
	size_t length = make_framed(5, framed);

	for (size_t i = 0; i < length; i++) {
		assert_int_equal(write(fd, framed + i, 1), 1);
		work_off();
	}
	assert_framed_reply(fd, 5);
}

static void test_many_queries_may_come_at_once(_unused_ void **state)
{
	_cleanup_close_ int fd = connect_to(NAMES_BY_TCP);

	for (unsigned number = 0; number < 500; number++)
		ask(fd, number);
	for (unsigned number = 0; number < 500; number++)
		assert_framed_reply(fd, number);
}

/* What is answered to the one who does not read waits in his socket; the rest is not read. */
static void test_who_asks_and_never_reads_holds_nobody_up(_unused_ void **state)
{
	_cleanup_close_ int fd = connect_to(NAMES_BY_TCP), other = -1;
	uint8_t framed[66];
	size_t length = make_framed(1, framed);
	unsigned asked = 0;
	int still = 0;

	for (int quiet = 0; quiet < 3 && asked < 1000000;) {
		if (write(fd, framed, length) == (ssize_t)length) {
			asked++;
			quiet = 0;
		} else {
			work_off();
			quiet++;
		}
	}
	assert_true(asked > 100 && asked < 1000000);
	/* Nor does it spin: the kernel may yet take a bit more, and on a busy machine it takes its
	 * time over it, but then there is nothing left to do. */
	for (int i = 0; i < 2000 && still < 20; i++)
		still = work(5) ? 0 : still + 1;
	assert_int_equal(still, 20);
	other = connect_to(NAMES_BY_TCP);
	ask(other, 9);
	assert_framed_reply(other, 9);
}

static void test_a_query_too_long_to_be_one_ends_the_connection(_unused_ void **state)
{
	_cleanup_close_ int fd = connect_to(NAMES_BY_TCP);

	assert_int_equal(write(fd, "\xff\xff", 2), 2);
	assert_true(is_over(fd));
}

static void test_what_is_no_query_gets_no_reply_and_the_next_one_does(_unused_ void **state)
{
	_cleanup_close_ int fd = connect_to(NAMES_BY_TCP);

	assert_int_equal(write(fd, "\0\0\0\3abc\0\1x", 10), 10);
	ask(fd, 4);
	assert_framed_reply(fd, 4);
}

static void test_who_leaves_in_the_middle_is_forgotten(_unused_ void **state)
{
	for (int i = 0; i < 100; i++) {
		int fd = connect_to(NAMES_BY_TCP);
		uint8_t framed[66];
		size_t length = make_framed(1, framed);

		assert_true(write(fd, framed, (size_t)i % length) >= 0);
		work_off();
		if (i % 2)
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0},
				   sizeof(struct linger)); /* with a reset */
		close_fd(&fd);
		work_off();
	}
	for (int fd = 3; fd < 200; fd++) {
		struct sockaddr_storage peer;
		socklen_t length = sizeof(peer);

		assert_true(getpeername(fd, (struct sockaddr *)&peer, &length) < 0);
	}
}

static void test_the_reply_comes_after_the_asker_has_closed_his_side(_unused_ void **state)
{
	_cleanup_close_ int fd = connect_to(NAMES_BY_TCP);

	ask(fd, 1);
	ask(fd, 2);
	shutdown(fd, SHUT_WR);
	assert_framed_reply(fd, 1);
	assert_framed_reply(fd, 2);
	assert_true(is_over(fd));
}

static void test_silent_connections_make_room_for_others(_unused_ void **state)
{
	int silent[100];
	unsigned open = 0;
	int last;

	for (size_t i = 0; i < ELEMENTS(silent); i++) {
		silent[i] = connect_to(NAMES_BY_TCP);
		work_off();
	}
	last = connect_to(NAMES_BY_TCP);
	ask(last, 3);
	assert_framed_reply(last, 3);
	for (size_t i = 0; i < ELEMENTS(silent); i++) {
		open += !is_over(silent[i]);
		close(silent[i]);
	}
	assert_int_equal(open, CONNECTIONS_MOST - 1);
	close(last);
}

static void test_who_is_slow_has_ten_seconds(_unused_ void **state)
{
	_cleanup_close_ int silent = connect_to(NAMES_BY_TCP), slow = connect_to(NAMES_BY_TCP),
			    busy = connect_to(NAMES_BY_TCP);
	time_t begin = time(NULL);
	bool over[2] = {false};

	assert_int_equal(write(slow, "\0\200", 2), 2);
	for (unsigned i = 0; i < 150 && !(over[0] && over[1]); i++) {
		ask(busy, i);
		assert_framed_reply(busy, i);
		over[0] = over[0] || is_over(silent);
		over[1] = over[1] || is_over(slow);
		(void)!send(slow, "", 1, MSG_NOSIGNAL); /* 128 seconds for one query */
		nanosleep(&(struct timespec){.tv_nsec = 100 * 1000 * 1000}, NULL);
	}
	assert_true(over[0] && over[1]);
	assert_true(time(NULL) - begin >= 8);
	ask(busy, 999);
	assert_framed_reply(busy, 999);
}

static void test_without_sockets_there_is_nothing_to_serve(_unused_ void **state)
{
	static const int none[NAME_SOCKETS] = {-1, -1, -1, -1};
	struct nameserver *nameserver = nameserver_new(scene.epoll, none, scene.resolver);

	assert_non_null(nameserver);
	assert_false(nameserver_serve(nameserver, 0));
	assert_false(nameserver_serve(nameserver, -1));
	assert_false(nameserver_serve(NULL, 0));
	nameserver_free(nameserver);
	nameserver_free(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(datagrams_of_both_families_are_answered),
		TEST(streams_of_both_families_are_answered),
		TEST(a_query_may_come_octet_by_octet),
		TEST(many_queries_may_come_at_once),
		TEST(who_asks_and_never_reads_holds_nobody_up),
		TEST(a_query_too_long_to_be_one_ends_the_connection),
		TEST(what_is_no_query_gets_no_reply_and_the_next_one_does),
		TEST(who_leaves_in_the_middle_is_forgotten),
		TEST(the_reply_comes_after_the_asker_has_closed_his_side),
		TEST(silent_connections_make_room_for_others),
		TEST(who_is_slow_has_ten_seconds),
		TEST(without_sockets_there_is_nothing_to_serve),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
