/* SPDX-License-Identifier: Apache-2.0 */
/* Standing still by signals, with processes of the test's own: who is stopped and who is not, and
 * that nobody inside is told. */
#include "../../src/base/io.h"
#include "../../src/run/stops.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

/* Numbers of processes are few on some machines: nobody here uses up many of them. */
enum { PLACES = 64, PATIENCE_MS = 20000, CHAIN = 3000 };

/* Shared by all: who is who, and how far each has counted. */
static struct board {
	_Atomic pid_t pids[PLACES];
	_Atomic unsigned counts[PLACES];
	_Atomic bool over;	/* everybody ends */
	_Atomic unsigned told;	/* a parent was told of a stop */
	_Atomic unsigned waits; /* rounds of waiting that it made */
} * board;

static void nap(void)
{
	usleep(1000);
}

/* In the processes of the test, again and again. */
static void end_if_over(void)
{
	if (board->over)
		_exit(0);
}

static _Noreturn void count_on(int place)
{
	board->pids[place] = getpid();
	for (;;) {
		end_if_over();
		board->counts[place]++;
		usleep(200);
	}
}

static char state_of(pid_t pid)
{
	_cleanup_free_ char *text = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	return read_file(AT_FDCWD, path, 1024, &text, NULL) < 0 ? 0 : strrchr(text, ')')[2];
}

static void wait_for(int place)
{
	for (int i = 0; i < PATIENCE_MS && board->counts[place] == 0; i++)
		nap();
	assert_true(board->counts[place] > 0);
}

static bool moves(int place)
{
	unsigned before = board->counts[place];

	for (int i = 0; i < 300 && board->counts[place] == before; i++)
		nap();
	return board->counts[place] != before;
}

static bool comes_to_move(int place)
{
	unsigned before = board->counts[place];

	for (int i = 0; i < PATIENCE_MS && board->counts[place] == before; i++)
		nap();
	return board->counts[place] != before;
}

/* Stands for the sandbox's init: takes in orphans, and is itself never stopped. */
static pid_t start_init(void (*body)(void))
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	body();
	for (;;) {
		board->counts[0]++;
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (board->over && waitpid(-1, NULL, WNOHANG) < 0)
			_exit(0); /* nobody is left */
		usleep(200);
	}
}

/* No process is left behind, whatever came of it: those whose numbers are known live until now and
 * are killed, all others end when they run, and init when none is left. */
static void end_all(pid_t init)
{
	for (int i = 1; i < PLACES; i++)
		if (board->pids[i] > 1)
			kill(board->pids[i], SIGKILL);
	board->over = true;
	waitpid(init, NULL, 0);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static int set_up(void **state)
{
	(void)state;
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	return board == MAP_FAILED ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	return munmap(board, sizeof(*board));
}

static void *count_in_thread(void *place)
{
	count_on((int)(intptr_t)place);
}

/* A family: 1 is the father of 2 and 3, which has a thread 4 and a son 5 by that thread. */
static void *father_in_thread(void *nothing)
{
	(void)nothing;
	if (fork() == 0)
		count_on(5);
	return count_in_thread((void *)(intptr_t)4);
}

static void make_family(void)
{
	pthread_t thread;

	if (fork() != 0)
		return;
	if (fork() == 0)
		count_on(2);
	if (fork() == 0) {
		pthread_create(&thread, NULL, father_in_thread, NULL);
		count_on(3);
	}
	count_on(1);
}

static void all_below_init_stand_still_and_go_on(void **state)
{
	pid_t init = start_init(make_family), outside = fork();
	struct stops stops = {0};

	(void)state;
	if (outside == 0)
		count_on(10);
	for (int place = 1; place <= 5; place++)
		wait_for(place);
	wait_for(10);
	stops_begin(&stops, init);
	assert_int_equal(stops.count, 4);
	for (int place = 1; place <= 5; place++)
		assert_false(moves(place));
	assert_true(comes_to_move(0));
	assert_true(comes_to_move(10));
	stops_end(&stops);
	assert_int_equal(stops.count, 0);
	for (int place = 1; place <= 5; place++)
		assert_true(comes_to_move(place));
	end_all(init);
}

/* As a shell does it: told of children that stop. */
static void make_waiting_father(void)
{
	if (fork() != 0)
		return;
	for (int place = 2; place < 10; place++)
		if (fork() == 0)
			count_on(place);
	board->pids[1] = getpid();
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, WUNTRACED | WCONTINUED);

		if (pid > 0 && WIFSTOPPED(status))
			board->told++;
		if (pid > 0)
			board->waits++;
		board->counts[1]++;
	}
}

static void a_father_who_waits_is_told_of_no_stop(void **state)
{
	pid_t init = start_init(make_waiting_father);

	(void)state;
	for (int place = 2; place < 10; place++)
		wait_for(place);
	for (int i = 0; i < PATIENCE_MS && !board->pids[1]; i++)
		nap();
	for (int round = 0; round < 50; round++) {
		struct stops stops = {0};

		stops_begin(&stops, init);
		assert_int_equal(stops.count, 9);
		stops_end(&stops);
		for (int place = 2; place < 10; place++)
			assert_true(comes_to_move(place));
	}
	assert_int_equal(board->told, 0);
	/* It is told, for what a keyboard does. */
	kill(board->pids[2], SIGSTOP);
	for (int i = 0; i < PATIENCE_MS && !board->told; i++)
		nap();
	assert_int_equal(board->told, 1);
	end_all(init);
}

static void make_stopped_child(void)
{
	if (fork() == 0) {
		if (fork() == 0)
			count_on(2);
		board->pids[1] = getpid();
		raise(SIGSTOP);
		count_on(1);
	}
}

static void who_was_stopped_before_stays_so(void **state)
{
	pid_t init = start_init(make_stopped_child);
	struct stops stops = {0};

	(void)state;
	wait_for(2);
	for (int i = 0; i < PATIENCE_MS && (!board->pids[1] || state_of(board->pids[1]) != 'T');
	     i++)
		nap();
	stops_begin(&stops, init);
	assert_int_equal(stops.count, 2);
	assert_false(moves(2)); /* whose parent it is */
	stops_end(&stops);
	assert_true(comes_to_move(2));
	assert_int_equal(state_of(board->pids[1]), 'T');
	assert_int_equal(board->counts[1], 0);
	end_all(init);
}

/* Each generation makes the next one and ends, so that there is always one that nobody has seen. */
static void make_fleeing_chain(void)
{
	if (fork() != 0)
		return;
	for (int i = 0; i < CHAIN; i++) {
		pid_t next = fork();

		if (next > 0)
			_exit(0);
		end_if_over();
		board->counts[1]++;
		usleep(300);
	}
	count_on(1);
}

static void who_forks_and_ends_without_rest_is_caught(void **state)
{
	pid_t init = start_init(make_fleeing_chain);

	(void)state;
	wait_for(1);
	for (int round = 0; round < 3; round++) {
		struct stops stops = {0};
		int tries = 0;

		/* One such round may end before the last of them was seen, four as good as never.
		 */
		do {
			stops_end(&stops);
			stops_begin(&stops, init);
		} while (moves(1) && ++tries < 10);
		assert_true(tries < 10);
		stops_end(&stops);
		assert_true(comes_to_move(1));
	}
	end_all(init);
}

/* 1 waits in the kernel, for 2 that it has made and that shares its memory, and hears no signal;
 * its threads 3 to 6 do. */
static void make_deaf_father(void)
{
	pthread_t thread;

	if (fork() != 0)
		return;
	for (intptr_t place = 3; place <= 6; place++)
		pthread_create(&thread, NULL, count_in_thread, (void *)place);
	if (vfork() == 0)
		count_on(2);
	_exit(0);
}

static void a_thread_that_hears_nothing_does_not_keep_the_others_going(void **state)
{
	pid_t init = start_init(make_deaf_father);

	(void)state;
	for (int place = 2; place <= 6; place++)
		wait_for(place);
	for (int round = 0; round < 10; round++) {
		struct stops stops = {0};

		stops_begin(&stops, init);
		assert_int_equal(stops.count, 2);
		for (int place = 2; place <= 6; place++)
			assert_false(moves(place));
		stops_end(&stops);
		for (int place = 2; place <= 6; place++)
			assert_true(comes_to_move(place));
	}
	end_all(init);
}

static void make_traced_child(void)
{
	pid_t tracer = fork();

	if (tracer != 0)
		return;
	pid_t child = fork();

	if (child == 0)
		count_on(2);
	while (!board->counts[2])
		nap();
	board->pids[1] = getpid();
	(void)ptrace(PTRACE_SEIZE, child, 0, 0);
	board->counts[1]++;
	for (;;) {
		int status;

		end_if_over();
		if (waitpid(child, &status, WNOHANG) > 0)
			board->told++;
		board->counts[1]++;
		nap();
	}
}

static void who_is_traced_is_left_alone(void **state)
{
	pid_t init = start_init(make_traced_child);
	struct stops stops = {0};

	(void)state;
	wait_for(1);
	stops_begin(&stops, init);
	assert_false(moves(1));
	assert_true(comes_to_move(2));
	stops_end(&stops);
	assert_true(comes_to_move(1));
	assert_int_equal(board->told, 0);
	end_all(init);
}

static void who_was_killed_meanwhile_is_forgotten(void **state)
{
	pid_t init = start_init(make_family);
	struct stops stops = {0};

	(void)state;
	for (int place = 1; place <= 5; place++)
		wait_for(place);
	stops_begin(&stops, init);
	kill(board->pids[3], SIGKILL);
	for (int i = 0;
	     i < PATIENCE_MS && state_of(board->pids[3]) && state_of(board->pids[3]) != 'Z'; i++)
		nap();
	board->pids[3] = board->pids[4] = 0;
	stops_end(&stops);
	assert_true(comes_to_move(1));
	assert_true(comes_to_move(2));
	assert_true(comes_to_move(5)); /* an orphan by now */
	end_all(init);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_below_init_stand_still_and_go_on, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_father_who_waits_is_told_of_no_stop, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(who_was_stopped_before_stays_so, set_up, tear_down),
		cmocka_unit_test_setup_teardown(who_forks_and_ends_without_rest_is_caught, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			a_thread_that_hears_nothing_does_not_keep_the_others_going, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(who_is_traced_is_left_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(who_was_killed_meanwhile_is_forgotten, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
