/* SPDX-License-Identifier: Apache-2.0 */
/* The audit log: what was done to it and must be noticed. */
#include "audit_log.h"

enum { HEAD_LENGTH = 107 };

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_changed_byte_anywhere_is_found),
		TEST(removed_swapped_and_repeated_records_are_found),
		TEST(a_record_of_another_log_is_found),
		TEST(a_tail_cut_anywhere_is_found),
		TEST(a_missing_or_foreign_head_is_found_and_stops_writers),
		TEST(another_log_of_the_same_size_stops_writers),
		TEST(whole_records_past_the_head_are_adopted),
		TEST(a_false_record_past_the_head_stops_writers),
		TEST(a_torn_tail_is_cut_away_and_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
