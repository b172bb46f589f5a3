/* SPDX-License-Identifier: Apache-2.0 */
/* observe: datagrams through the relay, out and back. */
#include "relay_world.h"

#include <errno.h>
#include <poll.h>

static void expect_silence(int fd)
{
	struct pollfd quiet = {fd, POLLIN, 0};

	assert_int_equal(poll(&quiet, 1, 100), 0);
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
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
