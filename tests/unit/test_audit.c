/* SPDX-License-Identifier: Apache-2.0 */
/* The audit log: writing to it, and what it must survive. */
#include "../../src/record/state.h"
#include "audit_log.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

static void an_empty_log_holds(void **state)
{
	struct audit_report report;

	(void)state;
	assert_null(fault_found(&report));
	assert_int_equal(report.records, 0);
	assert_int_equal(strspn(report.head, "0"), 64);
	audit_close(must_open());
	assert_int_equal(must_hold(), 0);
}

static void a_record_has_its_members_in_order(void **state)
{
	char *log;
	size_t length;
	json_t *record;
	const char *const order[] = {"seq", "time", "kind", "run", "zeta", "alpha", "prev", "hash"};
	const char *name;
	json_t *value;
	size_t i = 0;
	struct audit *audit = must_open();

	(void)state;
	must_append(audit, "run.start", json_pack("{s:s, s:[i,i]}", "zeta", "z", "alpha", 1, 2));
	audit_close(audit);
	log = slurp("audit.log", &length);
	assert_int_equal(log[length - 1], '\n');
	record = json_loads(log, 0, NULL);
	assert_non_null(record);
	json_object_foreach (record, name, value)
		assert_string_equal(name, order[i++]);
	assert_int_equal(i, ELEMENTS(order));
	assert_int_equal(json_integer_value(json_object_get(record, "seq")), 1);
	assert_string_equal(json_string_value(json_object_get(record, "run")), "run-1");
	json_decref(record);
	free(log);
}

static void files_are_for_their_owner_alone(void **state)
{
	const char *const names[] = {"audit.log", "audit.head"};

	(void)state;
	make_log(1);
	for (size_t i = 0; i < ELEMENTS(names); i++) {
		struct stat st;

		assert_int_equal(stat(in_directory(names[i]), &st), 0);
		assert_int_equal(st.st_mode & 07777, 0600);
	}
}

static void what_does_not_fit_a_record_is_refused(void **state)
{
	struct audit *audit = must_open();
	struct error *error = NULL;
	json_t *body;
	char *big;

	(void)state;
	big = malloc(1 << 20);
	memset(big, 'x', 1 << 20);
	body = json_pack("{s:s#}", "big", big, 1 << 20);
	assert_int_equal(audit_append(audit, "test", NULL, body, &error), -E_INPUT);
	assert_non_null(strstr(error->message, "too long"));
	json_decref(body);
	body = json_pack("{s:s#}", "big", big, (1 << 20) - 400);
	must_append(audit, "test", body);
	body = json_pack("{s:s}", "prev", "mine");
	assert_int_equal(audit_append(audit, "test", NULL, body, &error), -E_INPUT);
	assert_non_null(strstr(error->message, "'prev'"));
	json_decref(body);
	assert_int_equal(audit_append(audit, "te\xffst", NULL, NULL, &error), -E_INPUT);
	error_free(error);
	audit_close(audit);
	free(big);
	assert_int_equal(must_hold(), 1);
}

static void a_directory_that_others_can_write_is_refused(void **state)
{
	struct audit *audit = NULL;
	struct error *error = NULL;

	(void)state;
	assert_int_equal(chmod(directory, 0770), 0);
	assert_int_equal(audit_open(directory, &audit, &error), -E_ENGINE);
	assert_non_null(strstr(error->message, directory));
	assert_int_equal(chmod(directory, 0700), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(directory, 12345, 0), 0);
		assert_int_equal(audit_open(directory, &audit, &error), -E_ENGINE);
		assert_non_null(strstr(error->message, "belongs to user 12345"));
	}
	error_free(error);
	assert_null(audit);
}

static void a_link_in_place_of_the_log_is_refused(void **state)
{
	struct audit *audit = NULL;
	struct error *error = NULL;

	(void)state;
	spill("elsewhere", "", 0);
	assert_int_equal(symlink("elsewhere", in_directory("audit.log")), 0);
	assert_int_equal(audit_open(directory, &audit, &error), -E_ENGINE);
	error_free(error);
}

static void must_succeed(pid_t child)
{
	int status;

	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("the child ended with %#x", (unsigned)status);
}

static void appending_works_after_privileges_are_dropped(void **state)
{
	pid_t child;

	(void)state;
	if (geteuid() != 0)
		skip();
	child = fork();
	if (child == 0) {
		struct audit *audit = must_open();

		if (setresgid(12345, 12345, 12345) < 0 || setresuid(12345, 12345, 12345) < 0)
			_exit(2);
		_exit(audit_append(audit, "test", NULL, NULL, NULL) == 0 ? 0 : 1);
	}
	must_succeed(child);
	assert_int_equal(must_hold(), 1);
}

static void twenty_writers_at_once_make_one_chain(void **state)
{
	pid_t children[20];

	(void)state;
	for (size_t i = 0; i < ELEMENTS(children); i++) {
		children[i] = fork();
		if (children[i] == 0) {
			struct audit *audit = NULL;

			if (audit_open(directory, &audit, NULL) < 0)
				_exit(1);
			for (unsigned k = 0; k < 50; k++)
				if (audit_append(audit, "test", "run", NULL, NULL) < 0)
					_exit(1);
			_exit(0);
		}
	}
	for (size_t i = 0; i < ELEMENTS(children); i++)
		must_succeed(children[i]);
	assert_int_equal(must_hold(), 1000);
}

static void a_killed_writer_leaves_a_log_that_goes_on(void **state)
{
	uint64_t last = 0, total = 0, torn = 0;

	(void)state;
	srandom(1);
	for (unsigned round = 0; round < 60; round++) {
		struct timespec pause = {.tv_nsec = random() % 5000000};
		struct audit *audit;
		uint64_t now;
		size_t length;
		int ready[2];
		pid_t child;
		char *log, byte;

		/* A new one now and then, or most of the time went into reading it. */
		if (round % 6 == 0) {
			teardown(NULL);
			setup(NULL);
			make_log(1);
			total += last;
			last = 0;
		}
		assert_int_equal(pipe(ready), 0);
		child = fork();
		assert_true(child >= 0);
		if (child == 0) {
			/* Long records, so that kills fall into a write. */
			static char text[60001];
			json_t *body;

			memset(text, 'x', sizeof(text) - 1);
			body = json_pack("{s:s}", "text", text);
			if (audit_open(directory, &audit, NULL) < 0 || write(ready[1], "", 1) != 1)
				_exit(1);
			for (;;)
				if (audit_append(audit, "test", "run", body, NULL) < 0)
					_exit(1);
		}
		assert_int_equal(read(ready[0], &byte, 1), 1);
		close(ready[0]);
		close(ready[1]);
		nanosleep(&pause, NULL);
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, NULL, 0), child);
		log = slurp("audit.log", &length);
		torn += length > 0 && log[length - 1] != '\n';
		free(log);
		now = must_hold();
		assert_true(now >= last);
		last = now;
		if (round % 3 == 0) {
			make_log(1);
			assert_true(must_hold() > last);
			last = must_hold();
		}
	}
	print_message("%llu records, %llu torn\n", (unsigned long long)(total + last),
		      (unsigned long long)torn);
}

/* In a mount namespace of its own, with a file system of one megabyte over the directory. */
static void fill_the_disk(void)
{
	static char filler[4096];
	unsigned written = 0, kept = 0;
	struct error *error = NULL;
	struct audit *audit;
	char text[20001];
	json_t *body;
	int fd, r;

	assert_int_equal(unshare(CLONE_NEWNS), 0);
	assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	assert_int_equal(mount("ward-test", directory, "tmpfs", 0, "size=1m,mode=0700"), 0);
	audit = must_open();
	must_append(audit, "test", NULL);
	fd = open(in_directory("filler"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	while (write(fd, filler, sizeof(filler)) > 0)
		written++;
	assert_int_equal(errno, ENOSPC);
	assert_true(written > 0);

	/* What was set aside is there although the disk is full; then it fails, and cleanly. */
	memset(text, 'y', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	body = json_pack("{s:s}", "text", text);
	while ((r = audit_append(audit, "test", NULL, body, &error)) == 0)
		kept++;
	assert_true(kept * sizeof(text) >= 200 * 1024);
	assert_int_equal(r, -E_ENGINE);
	assert_int_equal(error->errnum, ENOSPC);
	assert_non_null(strstr(error->message, "audit.log"));
	assert_non_null(strstr(error->hint, "free some space"));
	assert_int_equal(must_hold(), 1 + kept);
	audit_close(audit);
	audit = NULL;
	assert_int_equal(audit_open(directory, &audit, &error), -E_ENGINE);
	assert_int_equal(error->errnum, ENOSPC);

	assert_int_equal(ftruncate(fd, 0), 0);
	make_log(1);
	assert_int_equal(must_hold(), 2 + kept);
	error_free(error);
	json_decref(body);
	close(fd);
}

static void a_full_disk_fails_cleanly(void **state)
{
	pid_t child;

	(void)state;
	if (geteuid() != 0)
		skip();
	child = fork();
	if (child == 0) {
		fill_the_disk();
		_exit(0);
	}
	must_succeed(child);
}

static void waiting_for_the_lock_ends(void **state)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct error *error = NULL;
	struct audit *audit = must_open();
	struct timespec from, to;
	int fd = open(in_directory("audit.log"), O_RDWR | O_CLOEXEC);

	(void)state;
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &whole), 0);
	clock_gettime(CLOCK_MONOTONIC, &from);
	assert_int_equal(audit_append(audit, "test", NULL, NULL, &error), -E_ENGINE);
	clock_gettime(CLOCK_MONOTONIC, &to);
	assert_non_null(strstr(error->message, "lock"));
	assert_in_range(to.tv_sec - from.tv_sec, 9, 13);
	error_free(error);
	close(fd);
	must_append(audit, "test", NULL);
	audit_close(audit);
	assert_int_equal(must_hold(), 1);
}

static int count_record(json_t *record, void *data)
{
	struct count *count = data;

	assert_int_equal(json_integer_value(json_object_get(record, "seq")), count->seen + 1);
	if (count->stop_at == count->seen + 1)
		return 7;
	count->seen++;
	return 0;
}

static int count_line(const char *line, size_t length, void *data)
{
	assert_int_equal(line[0], '{');
	assert_int_equal(line[length - 1], '}');
	++*(uint64_t *)data;
	return 0;
}

static void reading_goes_on_where_it_stopped(void **state)
{
	struct count count = {.stop_at = 4};
	uint64_t offset = 0, lines = 0, past = 1 << 20;
	struct error *error = NULL;

	(void)state;
	assert_int_equal(audit_read(directory, &offset, count_record, &count, NULL), 0);
	make_log(6);
	assert_int_equal(audit_read(directory, &offset, count_record, &count, NULL), 7);
	count.stop_at = 0;
	assert_int_equal(audit_read(directory, &offset, count_record, &count, NULL), 0);
	assert_int_equal(count.seen, 6);
	make_log(3);
	assert_int_equal(audit_read(directory, &offset, count_record, &count, NULL), 0);
	assert_int_equal(count.seen, 9);
	assert_int_equal(audit_read_lines(directory, 3, count_line, &lines, NULL), 0);
	assert_int_equal(lines, 7);
	assert_int_equal(audit_read(directory, &past, count_record, &count, &error), -E_INPUT);
	error_free(error);
}

static void the_state_directory_follows_the_environment(void **state)
{
	struct error *error = NULL;
	char *path = NULL;
	struct stat st;
	static const struct {
		const char *state, *home, *path;
	} cases[] = {
		{"/a/state", "/home/x", "/a/state/ward"},
		{"relative", "/home/x", "/home/x/.local/state/ward"},
		{NULL, "/home/x/", "/home/x/.local/state/ward"},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		if (cases[i].state)
			setenv("XDG_STATE_HOME", cases[i].state, 1);
		else
			unsetenv("XDG_STATE_HOME");
		setenv("HOME", cases[i].home, 1);
		assert_int_equal(state_directory(&path, NULL), 0);
		assert_string_equal(path, cases[i].path);
		free(path);
	}
	unsetenv("HOME");
	if (geteuid() == 0) {
		assert_int_equal(state_directory(&path, NULL), 0);
		assert_string_equal(path, "/root/.local/state/ward");
		free(path);
		assert_int_equal(seteuid(54321), 0);
		assert_int_equal(state_directory(&path, &error), -E_ENGINE);
		assert_int_equal(seteuid(0), 0);
		assert_non_null(strstr(error->hint, "HOME"));
		error_free(error);
	}
	assert_int_equal(state_directory_make(in_directory("a/b"), NULL), 0);
	assert_int_equal(state_directory_make(in_directory("a/b"), NULL), 0);
	assert_int_equal(stat(in_directory("a/b"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_empty_log_holds),
		TEST(a_record_has_its_members_in_order),
		TEST(files_are_for_their_owner_alone),
		TEST(what_does_not_fit_a_record_is_refused),
		TEST(a_directory_that_others_can_write_is_refused),
		TEST(a_link_in_place_of_the_log_is_refused),
		TEST(appending_works_after_privileges_are_dropped),
		TEST(twenty_writers_at_once_make_one_chain),
		TEST(a_killed_writer_leaves_a_log_that_goes_on),
		TEST(a_full_disk_fails_cleanly),
		TEST(waiting_for_the_lock_ends),
		TEST(reading_goes_on_where_it_stopped),
		TEST(the_state_directory_follows_the_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
