/* SPDX-License-Identifier: Apache-2.0 */
/* The audit log: what it must notice, and what it must survive. */
#include "../../src/base/io.h"
#include "../../src/record/audit.h"
#include "../../src/record/state.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <cmocka.h>

enum { HEAD_LENGTH = 107 };

static char directory[64];

static int setup(void **state)
{
	(void)state;
	strcpy(directory, "/tmp/ward-test-audit.XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return remove_tree(AT_FDCWD, directory);
}

static const char *in_directory(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static char *slurp(const char *name, size_t *ret_length)
{
	char *text = NULL;

	assert_int_equal(read_file(AT_FDCWD, in_directory(name), 1 << 30, &text, ret_length), 0);
	return text;
}

static void spill(const char *name, const char *text, size_t length)
{
	int fd = open(in_directory(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, text, length), 0);
	close(fd);
}

static struct audit *must_open(void)
{
	struct audit *audit = NULL;
	struct error *error = NULL;

	if (audit_open(directory, &audit, &error) < 0)
		fail_msg("audit_open: %s", error->message);
	return audit;
}

static void must_append(struct audit *audit, const char *kind, json_t *body)
{
	struct error *error = NULL;

	if (audit_append(audit, kind, "run-1", body, &error) < 0)
		fail_msg("audit_append: %s", error->message);
	json_decref(body);
}

static void make_log(unsigned records)
{
	struct audit *audit = must_open();

	for (unsigned i = 0; i < records; i++)
		must_append(audit, "test.made",
			    json_pack("{s:i, s:s}", "number", i, "text", "a\nb \"c\" \xc3\xa4"));
	audit_close(audit);
}

/* The fault that a check finds, or NULL; valid until the next call. */
static const char *fault_found(struct audit_report *ret_report)
{
	static struct audit_report report;
	struct error *error = NULL;

	audit_report_done(&report);
	if (audit_verify(directory, &report, &error) < 0)
		fail_msg("audit_verify: %s", error->message);
	if (ret_report)
		*ret_report = report;
	assert_true((report.fault != NULL) == (report.bad_line != 0));
	return report.fault;
}

static uint64_t must_hold(void)
{
	struct audit_report report;
	const char *fault = fault_found(&report);

	if (fault)
		fail_msg("line %llu: %s", (unsigned long long)report.bad_line, fault);
	return report.records;
}

static void must_find(const char *part, uint64_t line)
{
	struct audit_report report;
	const char *fault = fault_found(&report);

	assert_non_null(fault);
	if (!strstr(fault, part))
		fail_msg("found '%s', which does not speak of '%s'", fault, part);
	assert_int_equal(report.bad_line, line);
}

static void must_refuse_append(const char *part)
{
	struct error *error = NULL;
	struct audit *audit = must_open();
	size_t before, after;

	free(slurp("audit.log", &before));
	assert_int_equal(audit_append(audit, "test", NULL, NULL, &error), -E_ENGINE);
	assert_non_null(strstr(error->message, part));
	assert_non_null(strstr(error->message, "audit.log"));
	assert_non_null(strstr(error->hint, "ward audit verify"));
	free(slurp("audit.log", &after));
	assert_int_equal(before, after);
	error_free(error);
	audit_close(audit);
}

/* The lines of a text, cut in place; the count. */
static size_t cut_lines(char *text, char **lines, size_t room)
{
	size_t count = 0;
	char *line;

	while ((line = strsep(&text, "\n")) && *line) {
		assert_true(count < room);
		lines[count++] = line;
	}
	return count;
}

static void write_lines(char **lines, const int *order, size_t count)
{
	FILE *file = fopen(in_directory("audit.log"), "we");

	assert_non_null(file);
	for (size_t i = 0; i < count; i++)
		fprintf(file, "%s\n", lines[order[i]]);
	fclose(file);
}

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
	char *log, *last = NULL;
	json_t *record;
	const char *const order[] = {"seq", "time", "kind", "run", "zeta", "alpha", "prev", "hash"};
	const char *name;
	json_t *value;
	size_t i = 0;
	struct audit *audit = must_open();

	(void)state;
	must_append(audit, "run.start", json_pack("{s:s, s:[i,i]}", "zeta", "z", "alpha", 1, 2));
	audit_close(audit);
	log = slurp("audit.log", NULL);
	last = strchr(log, '\n');
	assert_non_null(last);
	*last = '\0';
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

static void a_changed_byte_anywhere_is_found(void **state)
{
	size_t length, head_length;
	char *log, *head;

	(void)state;
	make_log(12);
	log = slurp("audit.log", &length);
	head = slurp("audit.head", &head_length);
	assert_int_equal(head_length, HEAD_LENGTH);
	for (size_t at = 0; at < length; at++) {
		/* Another digit, another letter, a newline; each position gets one of them, the
		 * last line all. */
		const char with[] = {(char)(log[at] ^ 1), '\n', (char)(log[at] ^ 0x20)};

		for (size_t i = 0; i < sizeof(with); i++) {
			char was = log[at];
			struct audit_report report;

			if (with[i] == was || (at + 200 < length && i != at % sizeof(with)))
				continue;
			log[at] = with[i];
			spill("audit.log", log, length);
			log[at] = was;
			if (!fault_found(&report))
				fail_msg("byte %zu: '%c' for '%c' was not found", at, with[i], was);
		}
	}
	spill("audit.log", log, length);
	assert_int_equal(must_hold(), 12);
	for (size_t at = 0; at < head_length; at++) {
		head[at] ^= 1;
		spill("audit.head", head, head_length);
		head[at] ^= 1;
		if (!fault_found(NULL))
			fail_msg("byte %zu of the head: the change was not found", at);
	}
	free(log);
	free(head);
}

static void removed_swapped_and_repeated_records_are_found(void **state)
{
	static const struct {
		int order[8];
		size_t count;
		const char *part;
		uint64_t line;
	} cases[] = {
		{{1, 2, 3, 4, 5}, 5, "record 1 is missing", 1},
		{{0, 1, 3, 4, 5}, 5, "record 3 is missing", 3},
		{{0, 1, 2, 3, 4}, 5, "the end was cut off", 6},
		{{0, 2, 1, 3, 4, 5}, 6, "record 2 is missing", 2},
		{{0, 1, 1, 2, 3, 4, 5}, 7, "added or put in another order", 3},
		{{0, 1, 2, 3, 4, 5, 5}, 7, "added or put in another order", 7},
		{{0, 1, 2, 3, 5, 4}, 6, "record 5 is missing", 5},
	};
	char *log, *lines[8];

	(void)state;
	make_log(6);
	log = slurp("audit.log", NULL);
	assert_int_equal(cut_lines(log, lines, ELEMENTS(lines)), 6);
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		write_lines(lines, cases[i].order, cases[i].count);
		must_find(cases[i].part, cases[i].line);
	}
	free(log);
}

static void a_record_of_another_log_is_found(void **state)
{
	const int order[] = {0, 1, 2};
	char *first, *second, *lines[3], *others[3];

	(void)state;
	make_log(3);
	first = slurp("audit.log", NULL);
	assert_int_equal(cut_lines(first, lines, 3), 3);
	assert_int_equal(unlink(in_directory("audit.log")), 0);
	assert_int_equal(unlink(in_directory("audit.head")), 0);
	usleep(2000); /* another millisecond, or both logs would be the same */
	make_log(3);
	second = slurp("audit.log", NULL);
	assert_int_equal(cut_lines(second, others, 3), 3);
	others[1] = lines[1];
	write_lines(others, order, 3);
	must_find("does not follow", 2);
	free(first);
	free(second);
}

static void a_tail_cut_anywhere_is_found(void **state)
{
	size_t length;
	char *log;

	(void)state;
	make_log(4);
	log = slurp("audit.log", &length);
	for (size_t keep = 0; keep < length; keep++) {
		spill("audit.log", log, keep);
		assert_non_null(fault_found(NULL));
		if (keep % 50 == 0)
			must_refuse_append("nothing is added");
	}
	assert_int_equal(unlink(in_directory("audit.log")), 0);
	must_find("the end was cut off", 1);
	free(log);
}

static void a_missing_or_foreign_head_is_found_and_stops_writers(void **state)
{
	char *head, *older;
	size_t length;

	(void)state;
	make_log(3);
	older = slurp("audit.head", NULL);
	make_log(3);
	head = slurp("audit.head", &length);
	assert_int_equal(unlink(in_directory("audit.head")), 0);
	must_find("audit.head is missing", 6);
	must_refuse_append("missing");
	spill("audit.head", "", 0);
	must_find("audit.head is missing", 6);
	spill("audit.head", head, length - 1);
	must_find("audit.head is damaged", 6);
	must_refuse_append("damaged");
	/* The number of one record with the hash of another. */
	memcpy(older, head, 20);
	spill("audit.head", older, length);
	must_find("is not the one that audit.head names", 6);
	must_refuse_append("nothing is added");
	spill("audit.head", head, length);
	assert_int_equal(must_hold(), 6);
	free(head);
	free(older);
}

static void another_log_of_the_same_size_stops_writers(void **state)
{
	size_t length;
	char *log;

	(void)state;
	make_log(2);
	log = slurp("audit.log", &length);
	log[length - 10] ^= 1;
	spill("audit.log", log, length);
	must_refuse_append("not the one that audit.head names");
	free(log);
}

static void whole_records_past_the_head_are_adopted(void **state)
{
	char *head;

	(void)state;
	make_log(2);
	head = slurp("audit.head", NULL);
	make_log(3);
	spill("audit.head", head, HEAD_LENGTH);
	assert_int_equal(must_hold(), 5);
	make_log(1);
	assert_int_equal(must_hold(), 6);
	free(head);
}

static void a_false_record_past_the_head_stops_writers(void **state)
{
	size_t length;
	char *log;

	(void)state;
	make_log(2);
	log = slurp("audit.log", &length);
	log = realloc(log, length + 5);
	memcpy(log + length, "{}\n", 3);
	spill("audit.log", log, length + 3);
	must_find("not a record", 3);
	must_refuse_append("nothing is added");
	free(log);
}

static int keep_at(json_t *record, void *data)
{
	json_t **wanted = data;

	if (json_integer_value(json_object_get(record, "seq")) != json_integer_value(*wanted))
		return 0;
	json_decref(*wanted);
	*wanted = json_incref(record);
	return 1;
}

static json_t *record_at(uint64_t number)
{
	json_t *wanted = json_integer((json_int_t)number);
	uint64_t offset = 0;

	assert_int_equal(audit_read(directory, &offset, keep_at, &wanted, NULL), 1);
	return wanted;
}

static void a_torn_tail_is_cut_away_and_said(void **state)
{
	size_t length, torn;
	char *log, *next;
	json_t *record;

	(void)state;
	make_log(3);
	log = slurp("audit.log", &length);
	for (torn = 1; torn < 60; torn += 7) {
		next = malloc(length + torn);
		memcpy(next, log, length);
		memcpy(next + length, log, torn); /* the beginning of a record */
		spill("audit.log", next, length + torn);
		free(next);
		/* No fault: it never became a record. */
		assert_true(must_hold() >= 3);
		make_log(1);
		free(log);
		log = slurp("audit.log", &length);
		record = record_at(must_hold() - 1);
		assert_string_equal(json_string_value(json_object_get(record, "kind")),
				    "log.recovered");
		assert_int_equal(json_integer_value(json_object_get(record, "dropped")), torn);
		json_decref(record);
	}
	assert_int_equal(must_hold(), 3 + 2 * 9);
	free(log);
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
	uint64_t last = 0, torn = 0;

	(void)state;
	make_log(1);
	srandom(1);
	for (unsigned round = 0; round < 60; round++) {
		struct timespec pause = {.tv_nsec = random() % 5000000};
		struct audit *audit;
		uint64_t now;
		size_t length;
		int ready[2];
		pid_t child;
		char *log, byte;

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
	print_message("%llu records, %llu torn\n", (unsigned long long)last,
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

struct count {
	uint64_t seen, stop_at;
};

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

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_empty_log_holds),
		TEST(a_record_has_its_members_in_order),
		TEST(files_are_for_their_owner_alone),
		TEST(a_changed_byte_anywhere_is_found),
		TEST(removed_swapped_and_repeated_records_are_found),
		TEST(a_record_of_another_log_is_found),
		TEST(a_tail_cut_anywhere_is_found),
		TEST(a_missing_or_foreign_head_is_found_and_stops_writers),
		TEST(another_log_of_the_same_size_stops_writers),
		TEST(whole_records_past_the_head_are_adopted),
		TEST(a_false_record_past_the_head_stops_writers),
		TEST(a_torn_tail_is_cut_away_and_said),
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
