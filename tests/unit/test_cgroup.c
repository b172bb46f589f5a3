/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox: control groups found, asked for, frozen and removed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* the name is ward's */

#include "base/io.h"
#include "base/units.h"
#include "sandbox/cgroup_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const char separate[] =
	"22 1 254:0 / / rw,relatime - ext4 /dev/root rw\n"
	"32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
	"35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 master:2 - cgroup cgroup "
	"rw,memory\n"
	"39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n"
	"40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd\n"
	"41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
static const char separate_groups[] =
	"9:name=systemd:/\n8:pids:/\n4:memory:/jobs/7\n1:cpu:/\n0::/\n";

static void separate_and_unified_hierarchies_are_found(void **state _unused_)
{
	struct hierarchies found;

	hierarchies_parse(separate, separate_groups, &found);
	assert_int_equal(found.count, 4);
	assert_int_equal(found.items[0].controllers, CGROUP_SHARE);
	assert_string_equal(found.items[0].path, "/sys/fs/cgroup/cpu");
	assert_int_equal(found.items[1].controllers, CGROUP_MEMORY);
	assert_string_equal(found.items[1].path, "/sys/fs/cgroup/memory/jobs/7");
	assert_string_equal(found.items[1].mount, "/sys/fs/cgroup/memory");
	assert_int_equal(found.items[2].controllers, CGROUP_TASKS);
	assert_true(found.items[3].unified);
	assert_string_equal(found.items[3].path, "/sys/fs/cgroup/unified");
	hierarchies_done(&found);
}

static void controllers_mounted_together_are_one_hierarchy(void **state _unused_)
{
	struct hierarchies found;

	hierarchies_parse(
		"30 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
		"31 25 0:26 / /mnt/again rw - cgroup cgroup rw,cpu,cpuacct\n",
		"3:cpu,cpuacct:/user.slice\n", &found);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.items[0].controllers, CGROUP_SHARE | CGROUP_CPU_TIME);
	assert_string_equal(found.items[0].path, "/sys/fs/cgroup/cpu,cpuacct/user.slice");
	hierarchies_done(&found);
}

static void paths_are_taken_literally(void **state _unused_)
{
	struct hierarchies found;

	hierarchies_parse("9 1 0:5 / /mnt/my\\040groups\\134\\011 rw - cgroup2 none rw\n",
			  "0::/a b:c\\040d\n", &found);
	assert_int_equal(found.count, 1);
	assert_string_equal(found.items[0].path, "/mnt/my groups\\\t/a b:c\\040d");
	hierarchies_done(&found);
}

static void a_mount_of_a_part_shows_that_part(void **state _unused_)
{
	static const char mount[] = "9 1 0:5 /outer/jail /sys/fs/cgroup rw - cgroup2 none rw\n";
	struct hierarchies found;

	hierarchies_parse(mount, "0::/outer/jail/x\n", &found);
	assert_int_equal(found.count, 1);
	assert_string_equal(found.items[0].path, "/sys/fs/cgroup/x");
	hierarchies_done(&found);
	hierarchies_parse(mount, "0::/outer/jail\n", &found);
	assert_int_equal(found.count, 1);
	assert_string_equal(found.items[0].path, "/sys/fs/cgroup");
	hierarchies_done(&found);
	/* A neighbour with the same beginning, and what lies above a namespace. */
	hierarchies_parse(mount, "0::/outer/jailer\n", &found);
	assert_int_equal(found.count, 0);
	hierarchies_parse("9 1 0:5 / /sys/fs/cgroup rw - cgroup2 none rw\n", "0::/../other\n",
			  &found);
	assert_int_equal(found.count, 0);
}

static void what_does_not_fit_is_passed_over(void **state _unused_)
{
	static const char *const mounts[] = {
		"",
		"\n\n",
		"9",
		"9 1 0:5 / /m rw",
		"9 1 0:5 / /m rw -",
		"9 1 0:5 / /m rw - cgroup2",
		"9 1 0:5 / m rw - cgroup2 none rw",
		"9 1 0:5 / /m\\000x rw - cgroup2 none rw",
		"9 1 0:5 relative /m rw - cgroup2 none rw",
		"9 1 0:5 / /m rw - ext4 - cgroup2 none rw",
	};
	static const char *const groups[] = {"",      "0::relative\n", "0:\n",
					     ":::\n", "1::/\n",	       "00::/\n"};
	struct hierarchies found;

	for (size_t i = 0; i < ELEMENTS(mounts); i++) {
		hierarchies_parse(mounts[i], "0::/\n", &found);
		assert_int_equal(found.count, 0);
	}
	for (size_t i = 0; i < ELEMENTS(groups); i++) {
		hierarchies_parse("9 1 0:5 / /m rw - cgroup2 none rw\n", groups[i], &found);
		assert_int_equal(found.count, 0);
	}
}

static void a_thousand_mounts_are_bounded(void **state _unused_)
{
	_cleanup_buffer_ struct buffer mounts = {0};
	struct hierarchies found;

	for (int i = 0; i < 1000; i++)
		buffer_printf(&mounts, "9 1 0:5 / /m%d rw - cgroup2 none rw\n", i);
	hierarchies_parse(buffer_text(&mounts), "0::/\n", &found);
	assert_int_equal(found.count, 1);
	hierarchies_done(&found);
}

static void shares_become_quotas(void **state _unused_)
{
	uint64_t quota, period;

	quota_for(500, &quota, &period);
	assert_int_equal(quota, 50000);
	assert_int_equal(period, 100000);
	quota_for(1500, &quota, &period);
	assert_int_equal(quota, 150000);
	quota_for(1, &quota, &period);
	assert_int_equal(quota, 1000);
	assert_int_equal(period, 1000000);
}

static bool holds(const struct buffer *message, const void *text, size_t length)
{
	return memmem(message->data, message->length, text, length) != NULL;
}

static void the_message_to_systemd_has_the_scope_the_process_and_the_limits(void **state _unused_)
{
	const struct limits limits = {.memory = 1 << 20, .millicpus = 500, .processes = 2};
	_cleanup_buffer_ struct buffer message = {0};
	uint32_t length, fields;
	uint64_t number = 1 << 20;
	const char *at;

	scope_message(&message, "ward-x.scope", 77, &limits);
	assert_memory_equal(message.data, "l\1\0\1", 4);
	memcpy(&length, message.data + 4, 4);
	memcpy(&fields, message.data + 12, 4);
	assert_int_equal(16 + (fields + 7) / 8 * 8 + length, message.length);
	at = message.data + 16 + (fields + 7) / 8 * 8;
	assert_memory_equal(at, "\x0c\0\0\0ward-x.scope\0", 17);
	assert_true(holds(&message, "\4\0\0\0PIDs\0\2au\0\0\0\0\4\0\0\0\x4d\0\0\0", 24));
	assert_true(holds(&message, "ssa(sv)a(sa(sv))", 17));
	at = memmem(message.data, message.length, "MemoryMax\0\1t", 13);
	assert_non_null(at);
	at = message.data + ((size_t)(at - message.data) + 13 + 7) / 8 * 8;
	assert_memory_equal(at, &number, 8);
	assert_true(holds(&message, "TasksMax", 9) && holds(&message, "CPUQuotaPerSecUSec", 19));
}

static void answers_of_a_bus_are_told_apart(void **state _unused_)
{
	static const uint8_t returned[] = {'l', 2, 1, 1, 0, 0, 0,   0, 9, 0, 0, 0,
					   8,	0, 0, 0, 5, 1, 'u', 0, 2, 0, 0, 0};
	uint8_t message[sizeof(returned)];
	size_t length;

	assert_int_equal(scope_answer(returned, sizeof(returned), 2, &length), 1);
	assert_int_equal(length, sizeof(returned));
	assert_int_equal(scope_answer(returned, sizeof(returned), 3, &length), 0);
	for (size_t i = 0; i < sizeof(returned); i++) /* not all there yet */
		assert_int_equal(scope_answer(returned, i, 2, &length), 0);
	memcpy(message, returned, sizeof(message));
	message[1] = 3; /* an error */
	assert_int_equal(scope_answer(message, sizeof(message), 2, &length), -EACCES);
	message[1] = 4; /* a signal */
	assert_int_equal(scope_answer(message, sizeof(message), 2, &length), 0);
	message[0] = 'B';
	assert_int_equal(scope_answer(message, sizeof(message), 2, &length), -EPROTO);
	memcpy(message, returned, sizeof(message));
	memset(message + 4, 0xff, 4); /* longer than anything may be */
	assert_int_equal(scope_answer(message, sizeof(message), 2, &length), -EPROTO);
}

/* --- with the groups of this machine, as root ------------------------------------------------ */

static pid_t start_spinner(int *ret_pipe)
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	pid = fork();
	if (pid == 0)
		for (;;) {
			(void)!write(ends[1], "x", 1);
			usleep(1000);
		}
	close(ends[1]);
	*ret_pipe = ends[0];
	return pid;
}

static size_t drained(int fd)
{
	char data[4096];
	size_t sum = 0;
	ssize_t n;

	while ((n = read(fd, data, sizeof(data))) > 0)
		sum += (size_t)n;
	return sum;
}

/* Of this very program: the same may run beside it, built otherwise. */
static const char *own(const char *name)
{
	static char text[64];
	static pid_t program;

	if (!program)
		program = getpid();
	snprintf(text, sizeof(text), "%s%d", name, program);
	return text;
}

static size_t groups_named(const char *run)
{
	const char *const patterns[] = {"/sys/fs/cgroup/ward-%s*", "/sys/fs/cgroup/*/ward-%s*",
					"/sys/fs/cgroup/*/*/ward-%s*",
					"/sys/fs/cgroup/*/*/*/ward-%s*"};
	size_t count = 0;

	for (size_t i = 0; i < ELEMENTS(patterns); i++) {
		char pattern[128];
		glob_t found;

		snprintf(pattern, sizeof(pattern), patterns[i], run);
		if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
			count += found.gl_pathc;
			globfree(&found);
		}
	}
	return count;
}

static void freeze_and_thaw(struct cgroup *group)
{
	int pipe;
	pid_t pid = start_spinner(&pipe);

	cgroup_add(group, pid);
	assert_true(cgroup_holds(group) & CGROUP_FREEZER);
	usleep(50000);
	assert_true(drained(pipe) > 0);
	assert_int_equal(cgroup_freeze(group), 0);
	drained(pipe);
	usleep(50000);
	assert_int_equal(drained(pipe), 0);
	assert_int_equal(cgroup_thaw(group), 0);
	usleep(50000);
	assert_true(drained(pipe) > 0);
	/* What is left inside is ended with the group, frozen or not. */
	assert_int_equal(cgroup_freeze(group), 0);
	cgroup_free(group);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(pipe);
}

static void a_run_is_frozen_and_thawed(void **state _unused_)
{
	const struct limits limits = {0};
	struct cgroup *group = cgroup_make(own("freeze"), &limits, CGROUP_FREEZER, (uid_t)-1);

	if (!group) {
		assert_int_not_equal(geteuid(), 0);
		skip();
	}
	freeze_and_thaw(group);
	assert_int_equal(groups_named(own("freeze")), 0);
}

/* The newer freezer needs no controller, so it is there beside the older one. */
static void the_unified_freezer_works_too(void **state _unused_)
{
	static const char *const places[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"};
	struct part part = PART_NONE;
	char name[32];
	int pipe = -1;
	pid_t pid;

	snprintf(name, sizeof(name), "ward-unit-%d", getpid());

	for (size_t i = 0; i < ELEMENTS(places) && part.directory < 0; i++) {
		int parent = open(places[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (parent >= 0 && faccessat(parent, "cgroup.controllers", F_OK, 0) == 0 &&
		    mkdirat(parent, name, 0755) == 0) {
			part.parent = parent;
			part.directory = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		} else {
			close_fd(&parent);
		}
	}
	if (part.directory < 0)
		skip();
	part.unified = true;
	part.powers = CGROUP_FREEZER | CGROUP_CPU_TIME;
	part.freezer = openat(part.directory, "cgroup.freeze", O_RDWR | O_CLOEXEC);
	pid = start_spinner(&pipe);
	assert_int_equal(group_write(part.directory, "cgroup.procs", "%d", pid), 0);
	assert_int_equal(part_freeze(&part, true, 1000000000), 0);
	drained(pipe);
	usleep(50000);
	assert_int_equal(drained(pipe), 0);
	assert_int_equal(part_freeze(&part, false, 1000000000), 0);
	usleep(50000);
	assert_true(drained(pipe) > 0);
	struct cgroup_usage usage = {0};
	part_usage(&part, &usage);
	assert_true(usage.cpu_ns > 0);
	part_kill(part.directory, name);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(unlinkat(part.parent, name, AT_REMOVEDIR), 0);
	part_close(&part);
	close(pipe);
}

static void cpu_time_is_counted_from_the_start(void **state _unused_)
{
	const struct limits limits = {.cpu_ns = 1};
	struct cgroup *group = cgroup_make(own("cputime"), &limits, CGROUP_CPU_TIME, (uid_t)-1);
	struct cgroup_usage usage = {0};
	pid_t pid;

	if (!group)
		skip();
	for (int round = 0; round < 2; round++) {
		uint64_t until = monotonic_ns() + 30000000000;

		pid = fork();
		if (pid == 0)
			for (;;)
				;
		cgroup_add(group, pid);
		cgroup_read(group, &usage);
		assert_true(usage.cpu_ns < 100000000);
		while (usage.cpu_ns < 100000000 && monotonic_ns() < until)
			cgroup_read(group, &usage);
		assert_true(usage.cpu_ns >= 100000000);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	cgroup_free(group);
	assert_int_equal(groups_named(own("cputime")), 0);
}

static void what_a_killed_run_left_is_swept_away(void **state _unused_)
{
	const struct limits limits = {.processes = 100};
	struct cgroup *group;
	int status;
	pid_t pid, inside;

	pid = fork();
	if (pid == 0) {
		group = cgroup_make(own("killed"), &limits, CGROUP_TASKS | CGROUP_FREEZER,
				    (uid_t)-1);
		inside = group ? fork() : -1;
		if (inside == 0)
			for (;;)
				pause();
		if (inside > 0) {
			cgroup_add(group, inside);
			(void)cgroup_freeze(
				group); /* the worst case: it cannot be ended as it is */
		}
		kill(getpid(), group ? SIGKILL : SIGTERM);
	}
	waitpid(pid, &status, 0);
	if (WTERMSIG(status) == SIGTERM)
		skip();
	assert_true(groups_named(own("killed")) > 0);
	/* A run that lives keeps its own. */
	group = cgroup_make(own("living"), &limits, CGROUP_TASKS | CGROUP_FREEZER, (uid_t)-1);
	assert_int_equal(groups_named(own("killed")), 0);
	assert_true(groups_named(own("living")) > 0);
	pid = fork();
	if (pid == 0) {
		cgroup_free(cgroup_make(own("other"), &limits, CGROUP_TASKS, (uid_t)-1));
		_exit(groups_named(own("living")) == 0);
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	cgroup_free(group);
	assert_int_equal(groups_named(own("living")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(separate_and_unified_hierarchies_are_found),
		cmocka_unit_test(controllers_mounted_together_are_one_hierarchy),
		cmocka_unit_test(paths_are_taken_literally),
		cmocka_unit_test(a_mount_of_a_part_shows_that_part),
		cmocka_unit_test(what_does_not_fit_is_passed_over),
		cmocka_unit_test(a_thousand_mounts_are_bounded),
		cmocka_unit_test(shares_become_quotas),
		cmocka_unit_test(the_message_to_systemd_has_the_scope_the_process_and_the_limits),
		cmocka_unit_test(answers_of_a_bus_are_told_apart),
		cmocka_unit_test(a_run_is_frozen_and_thawed),
		cmocka_unit_test(the_unified_freezer_works_too),
		cmocka_unit_test(cpu_time_is_counted_from_the_start),
		cmocka_unit_test(what_a_killed_run_left_is_swept_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
