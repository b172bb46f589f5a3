/* SPDX-License-Identifier: Apache-2.0 */
/* observe: whose fd a number means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* the name is ward's */

#include "observe/caller.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NUMBER = 200 };

/* A process that holds one end of a pipe there and waits. tid: its number; 0: any. -1 where that is
 * not to be had. */
static pid_t start_holder(pid_t tid, int ret_pipe[static 2])
{
	struct clone_args arguments = {.exit_signal = SIGCHLD,
				       .set_tid = tid ? (uint64_t)(uintptr_t)&tid : 0,
				       .set_tid_size = tid ? 1 : 0};
	pid_t pid;

	assert_int_equal(pipe(ret_pipe), 0);
	assert_int_equal(dup2(ret_pipe[1], NUMBER), NUMBER);
	pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));
	if (pid == 0)
		for (;;)
			pause();
	close(NUMBER);
	return pid;
}

static void end_holder(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void assert_leads_to(pid_t pid, const int ends[static 2])
{
	int copy = caller_fd(pid, NUMBER);
	char got = 0;

	assert_true(copy >= 0);
	assert_int_equal(write(copy, "x", 1), 1);
	assert_int_equal(read(ends[0], &got, 1), 1);
	close(copy);
}

static void a_number_means_who_has_it_now(void **state)
{
	int first[2], second[2];
	pid_t pid = start_holder(0, first), again;

	(void)state;
	assert_true(pid > 0);
	assert_leads_to(pid, first);
	assert_leads_to(pid, first); /* by what was kept of it */
	assert_int_equal(caller_fd(pid, NUMBER + 1), -EBADF);
	end_holder(pid);
	assert_int_equal(caller_fd(pid, NUMBER), -ESRCH);

	pid = start_holder(0, second);
	assert_leads_to(pid, second);
	end_holder(pid);
	again = start_holder(pid, first);
	if (again < 0)
		skip(); /* only with a capability can a number be chosen */
	assert_int_equal(again, pid);
	assert_leads_to(again, first);
	end_holder(again);
}

static void callers_in_turn_are_told_apart(void **state)
{
	int first[2], second[2];
	pid_t one = start_holder(0, first), other = start_holder(0, second);

	(void)state;
	for (int i = 0; i < 4; i++) {
		assert_leads_to(one, first);
		assert_leads_to(other, second);
	}
	end_holder(one);
	assert_leads_to(other, second);
	end_holder(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_means_who_has_it_now),
		cmocka_unit_test(callers_in_turn_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
