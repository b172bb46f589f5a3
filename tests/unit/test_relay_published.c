/* SPDX-License-Identifier: Apache-2.0 */
/* observe: connections from outside through a published port. */
#include "relay_world.h"

#include <errno.h>
#include <poll.h>

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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start_world, end_world)
	const struct CMUnitTest tests[] = {
		TEST(a_published_port_leads_inside_and_each_end_can_be_closed_by_itself),
		TEST(large_transfers_arrive_whole_in_both_directions_at_once),
		TEST(who_does_not_read_holds_up_who_writes_and_nobody_spins),
		TEST(a_reset_is_passed_on_as_one),
		TEST(where_nothing_listens_inside_the_connection_is_reset),
		TEST(before_anybody_is_inside_a_connection_is_reset),
		TEST(more_connections_than_can_be_carried_are_reset),
		TEST(what_was_said_last_arrives_when_the_run_is_over),
		TEST(a_port_that_is_taken_or_none_is_an_error_that_names_it),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
