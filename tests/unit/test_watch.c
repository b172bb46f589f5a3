/* SPDX-License-Identifier: Apache-2.0 */
/* run: limits held against a command that really runs, without the sandbox, so that any user can
 * test it; and clocks that stand still. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* the name is ward's */

#include "base/units.h"
#include "run/run.h"
#include "run/watch.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

enum { MS = 1000000 };

/* Pauses at its first call and resumes at its second. */
struct asker {
	struct run *run;
	int timer, calls;
	unsigned pause_ms;
};

static void set_timer(int timer, unsigned ms)
{
	const struct itimerspec in = {.it_value = {ms / 1000, (long)(ms % 1000) * MS}};

	assert_int_equal(timerfd_settime(timer, 0, &in, NULL), 0);
}

static void asker_begun(void *data, struct run *run)
{
	((struct asker *)data)->run = run;
}

static void asker_serve(void *data)
{
	struct asker *asker = data;
	uint64_t count;

	(void)!read(asker->timer, &count, sizeof(count));
	if (asker->calls++ == 0) {
		run_pause(asker->run);
		run_pause(asker->run); /* a second question meanwhile */
		set_timer(asker->timer, asker->pause_ms);
		return;
	}
	run_resume(asker->run);
	run_resume(asker->run);
}

/* Runs sh -c script; with pause_ms a pause of that length begins after 100 ms. */
static struct outcome run_script(const char *script, const struct limits *limits, unsigned pause_ms)
{
	const struct ground ground = {LEVEL_NONE, NETWORK_FULL, getuid(), getgid()};
	const char *const argv[] = {"sh", "-c", script, NULL};
	const char *const environment[] = {"PATH=/usr/bin:/bin", NULL};
	struct asker asker = {.pause_ms = pause_ms, .timer = timerfd_create(CLOCK_MONOTONIC, 0)};
	struct attendant attendant = {.fd = pause_ms ? asker.timer : -1,
				      .callers = -1,
				      .serve = asker_serve,
				      .data = &asker,
				      .begun = asker_begun};
	struct list writable = {0}, nothing = {0}, caches = {0}, candidates = {0};
	struct sandbox sandbox = {.cwd = "/",
				  .writable = &writable,
				  .shown = &nothing,
				  .caches = &caches,
				  .tmp = "/tmp",
				  .argv = (char *const *)argv,
				  .environment = (char *const *)environment,
				  .candidates = &candidates,
				  .time_ns = limits->time_ns};
	struct streams streams = {
		.terminal = -1, .input_file = -1, .close_after_start = {-1, -1, -1}};
	struct dispositions before;
	struct masks masks = {0};
	struct outcome outcome;
	struct entry entry;

	for (int i = 0; i < 3; i++)
		sandbox.stdio[i].kind = STDIO_NULL;
	list_add(&candidates, "/bin/sh");
	run_block_signals(&before);
	assert_int_equal(sandbox_begin(&ground, &entry, NULL), 0);
	assert_int_equal(sandbox_tell(&sandbox, &entry, &masks, NULL), 0);
	assert_int_equal(sandbox_release(&sandbox, &entry, NULL), 0);
	if (pause_ms)
		set_timer(asker.timer, 100);
	assert_int_equal(
		run_serve(&entry, &streams, limits, /* group= */ NULL, &attendant, &outcome, NULL),
		0);
	entry_done(&entry);
	close(asker.timer);
	list_done(&candidates);
	return outcome;
}

static void wall_and_idle_time_stand_still_during_a_pause(void **state _unused_)
{
	/* Longer than init's own grace. */
	const struct limits limits = {.time_ns = 400ull * MS, .idle_ns = 400ull * MS};
	struct outcome outcome = run_script("sleep 1.9", &limits, 1700);

	assert_int_equal(outcome.limit, LIMIT_NONE);
	assert_int_equal(outcome.status, 0);
}

static void time_goes_on_after_a_pause(void **state _unused_)
{
	const struct limits limits = {.time_ns = 400ull * MS};
	struct outcome outcome = run_script("sleep 60", &limits, 500);

	assert_int_equal(outcome.limit, LIMIT_TIME);
	assert_true(outcome.timed_out);
	assert_true(outcome.duration_ms >= 890);
}

static void idleness_goes_on_after_a_pause(void **state _unused_)
{
	const struct limits limits = {.idle_ns = 400ull * MS};
	struct outcome outcome = run_script("sleep 60", &limits, 500);

	assert_int_equal(outcome.limit, LIMIT_IDLE);
	assert_false(outcome.timed_out);
	assert_true(outcome.duration_ms >= 890);
}

static void without_a_pause_both_end_it(void **state _unused_)
{
	const struct limits time = {.time_ns = 300ull * MS}, idle = {.idle_ns = 300ull * MS};

	assert_int_equal(run_script("sleep 60", &time, 0).limit, LIMIT_TIME);
	assert_int_equal(run_script("sleep 60", &idle, 0).limit, LIMIT_IDLE);
}

static void who_reads_writes_or_computes_is_not_idle(void **state _unused_)
{
	const struct limits limits = {.idle_ns = 600ull * MS, .time_ns = 2000ull * MS};

	assert_int_equal(run_script("while :; do :; done", &limits, 0).limit, LIMIT_TIME);
	assert_int_equal(
		run_script("while sleep 0.2; do echo x > /dev/null; done", &limits, 0).limit,
		LIMIT_TIME);
}

static void cpu_time_counts_what_has_ended(void **state _unused_)
{
	const struct limits limits = {.cpu_ns = 300ull * MS, .time_ns = 60000ull * MS};
	struct outcome outcome = run_script(
		"while :; do sh -c 'i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done'; done",
		&limits, 0);

	assert_int_equal(outcome.limit, LIMIT_CPU);
	assert_true(outcome.cpu_ms >= 300);
}

static void processes_are_counted_below_init(void **state _unused_)
{
	const struct limits few = {.processes = 5, .time_ns = 60000ull * MS};

	assert_int_equal(
		run_script("for i in 1 2 3 4 5 6 7 8; do (setsid sleep 60 &) & done; wait; "
			   "sleep 60",
			   &few, 0)
			.limit,
		LIMIT_PROCESSES);
	assert_int_equal(run_script("sleep 0.3 & sleep 0.3 & wait", &few, 0).limit, LIMIT_NONE);
}

static void memory_that_forks_share_counts_once(void **state _unused_)
{
	const struct limits limits = {.memory = 200ull << 20, .time_ns = 60000ull * MS};
	static const char shared[] =
		"exec /usr/bin/python3 -c 'import os,time\n"
		"x = bytearray(100 << 20)\n"
		"for i in range(5): os.fork() or (time.sleep(1), os._exit(0))\n"
		"time.sleep(0.7)'";
	static const char own[] = "exec /usr/bin/python3 -c 'import os,time\n"
				  "for i in range(5):\n"
				  "  if os.fork() == 0: x = bytearray(60 << 20); time.sleep(60)\n"
				  "time.sleep(60)'";

	assert_int_equal(run_script(shared, &limits, 0).limit, LIMIT_NONE);
	assert_int_equal(run_script(own, &limits, 0).limit, LIMIT_MEMORY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wall_and_idle_time_stand_still_during_a_pause),
		cmocka_unit_test(time_goes_on_after_a_pause),
		cmocka_unit_test(idleness_goes_on_after_a_pause),
		cmocka_unit_test(without_a_pause_both_end_it),
		cmocka_unit_test(who_reads_writes_or_computes_is_not_idle),
		cmocka_unit_test(cpu_time_counts_what_has_ended),
		cmocka_unit_test(processes_are_counted_below_init),
		cmocka_unit_test(memory_that_forks_share_counts_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
