/* SPDX-License-Identifier: Apache-2.0 */
/* Processors: whoever is moved or stays is free again afterwards, and no freer than before. */
#include "sys/place.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static cpu_set_t home_of(pid_t pid)
{
	cpu_set_t home;

	assert_int_equal(sched_getaffinity(pid, sizeof(home), &home), 0);
	return home;
}

static void assert_home(pid_t pid, const cpu_set_t *expected)
{
	cpu_set_t home = home_of(pid);

	assert_true(CPU_EQUAL(&home, expected));
}

static void assert_a_child_is_as_free_as_we_are(void)
{
	cpu_set_t ours = home_of(0);
	pid_t child = fork();

	if (child == 0) {
		pause();
		_exit(0);
	}
	assert_true(child > 0);
	place_elsewhere(child);
	assert_home(child, &ours);
	assert_home(0, &ours);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void test_a_child_that_was_moved_is_as_free_as_we_are(void **state)
{
	cpu_set_t before = home_of(0), one;

	(void)state;
	assert_a_child_is_as_free_as_we_are();
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
		if (CPU_ISSET(i, &before))
			CPU_SET(i, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_a_child_is_as_free_as_we_are();
	place_send_home(0, &before);
}

static void test_a_child_that_is_gone_changes_nothing(void **state)
{
	cpu_set_t before = home_of(0);
	pid_t child = fork();

	(void)state;
	if (child == 0)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	place_elsewhere(child);
	assert_home(0, &before);
}

static void test_who_stays_is_on_one_processor_until_it_leaves(void **state)
{
	cpu_set_t before = home_of(0);
	struct stay stay = {0};

	(void)state;
	assert_true(place_stay(&stay));
	assert_int_equal(CPU_COUNT(&stay.here), 1);
	assert_home(0, &stay.here);
	assert_true(place_stay(&stay)); /* and knows its home still */
	place_leave(&stay);
	assert_home(0, &before);
	place_leave(&stay);
	assert_home(0, &before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_child_that_was_moved_is_as_free_as_we_are),
		cmocka_unit_test(test_a_child_that_is_gone_changes_nothing),
		cmocka_unit_test(test_who_stays_is_on_one_processor_until_it_leaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
