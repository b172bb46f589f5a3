/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds something: whoever begins to is waited for, however many look at that moment. */
#include "../../src/base/io.h"
#include "../../src/record/holders.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { ROUNDS = 3000 };

static char place[64];

static int setup(void **state)
{
	(void)state;
	strcpy(place, "/tmp/ward-holders-XXXXXX");
	return mkdtemp(place) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return remove_tree(AT_FDCWD, place);
}

/* As `revoke` and an incident do, all the time. */
static pid_t start_looking(bool waits)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	for (int i = 0; i < 1000 * ROUNDS; i++)
		if (waits)
			(void)holders_wait(place, 0, NULL);
		else
			(void)holders_signal(place, NULL, SIGWINCH, NULL, NULL);
	_exit(0);
}

static void whoever_begins_has_a_file_that_others_find(void **state)
{
	pid_t looking[] = {start_looking(true), start_looking(false)};
	size_t nameless = 0;

	(void)state;
	signal(SIGWINCH, SIG_IGN);
	for (int i = 0; i < ROUNDS; i++) {
		struct holder holder = HOLDER_NONE;
		char run[32];
		struct stat st;

		snprintf(run, sizeof(run), "run%d", i);
		assert_int_equal(holder_begin(place, run, &holder, NULL), 0);
		assert_int_equal(fstat(holder.fd, &st), 0);
		nameless += st.st_nlink == 0;
		holder_end(&holder);
	}
	for (size_t i = 0; i < ELEMENTS(looking); i++) {
		kill(looking[i], SIGKILL);
		waitpid(looking[i], NULL, 0);
	}
	assert_int_equal(nameless, 0);
}

static void what_was_killed_is_swept_by_whoever_tells_others(void **state)
{
	struct holder holder = HOLDER_NONE;
	char path[128];
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(holder_begin(place, "killed", &holder, NULL) == 0 ? 0 : 1);
	waitpid(pid, NULL, 0);
	snprintf(path, sizeof(path), "%s/holders/killed", place);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(holders_signal(place, NULL, SIGWINCH, NULL, NULL), 0);
	assert_int_not_equal(access(path, F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(whoever_begins_has_a_file_that_others_find, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_was_killed_is_swept_by_whoever_tells_others,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
