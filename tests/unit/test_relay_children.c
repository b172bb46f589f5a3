/* SPDX-License-Identifier: Apache-2.0 */
/* observe: the relay's two children, what they may and how they end. */
#include "relay_world.h"

#include <errno.h>
#include <time.h>

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
		TEST(the_relay_goes_on_after_the_death_of_either_child),
		TEST(a_child_that_does_not_answer_is_ended_and_refused),
		TEST(what_dies_again_and_again_is_not_started_for_ever),
		TEST(the_children_have_next_to_nothing),
		TEST(both_children_end_with_the_supervisor_and_hold_nothing_of_it),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
