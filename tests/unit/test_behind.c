/* SPDX-License-Identifier: Apache-2.0 */
/* What is closed behind us is closed: nobody holds on to it in our stead. */
#include "../../src/base/macro.h"
#include "../../src/sys/behind.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

enum { PATIENCE_MS = 20000 };

static void assert_ends(int reader)
{
	struct pollfd end = {reader, POLLIN, 0};

	assert_int_equal(poll(&end, 1, PATIENCE_MS), 1);
	assert_true(end.revents & POLLHUP);
}

static void the_last_to_hold_a_pipe_lets_go_of_it(void **state)
{
	(void)state;
	for (int round = 0; round < 100; round++) {
		_cleanup_close_ int reader = -1;
		int ends[2];

		assert_int_equal(pipe(ends), 0);
		reader = ends[0];
		close_behind(&ends[1]);
		assert_int_equal(ends[1], -1);
		assert_ends(reader);
	}
}

static void without_a_socket_it_is_closed_at_once(void **state)
{
	struct rlimit before, none;
	_cleanup_close_ int reader = -1;
	int ends[2];

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(pipe(ends), 0);
	reader = ends[0];
	none = (struct rlimit){0, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	close_behind(&ends[1]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_ends(reader);
}

static void what_is_not_open_is_left_alone(void **state)
{
	int fd = -1;

	(void)state;
	close_behind(&fd);
	assert_int_equal(fd, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_to_hold_a_pipe_lets_go_of_it),
		cmocka_unit_test(without_a_socket_it_is_closed_at_once),
		cmocka_unit_test(what_is_not_open_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
