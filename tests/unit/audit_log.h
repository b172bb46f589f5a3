/* SPDX-License-Identifier: Apache-2.0 */
/* A log of its own for each test, to write, to damage and to check. */
#pragma once

#include "../../src/base/io.h"
#include "../../src/record/audit.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static char directory[64];

static inline int setup(void **state)
{
	(void)state;
	strcpy(directory, "/tmp/ward-test-audit.XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static inline int teardown(void **state)
{
	(void)state;
	return remove_tree(AT_FDCWD, directory);
}

static inline const char *in_directory(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static inline char *slurp(const char *name, size_t *ret_length)
{
	char *text = NULL;

	assert_int_equal(read_file(AT_FDCWD, in_directory(name), 1 << 30, &text, ret_length), 0);
	return text;
}

static inline void spill(const char *name, const char *text, size_t length)
{
	int fd = open(in_directory(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, text, length), 0);
	close(fd);
}

static inline struct audit *must_open(void)
{
	struct audit *audit = NULL;
	struct error *error = NULL;

	if (audit_open(directory, &audit, &error) < 0)
		fail_msg("audit_open: %s", error->message);
	return audit;
}

static inline void must_append(struct audit *audit, const char *kind, json_t *body)
{
	struct error *error = NULL;

	if (audit_append(audit, kind, "run-1", body, &error) < 0)
		fail_msg("audit_append: %s", error->message);
	json_decref(body);
}

static inline void make_log(unsigned records)
{
	struct audit *audit = must_open();

	for (unsigned i = 0; i < records; i++)
		must_append(audit, "test.made",
			    json_pack("{s:i, s:s}", "number", i, "text", "a\nb \"c\" \xc3\xa4"));
	audit_close(audit);
}

/* The fault that a check finds, or NULL; valid until the next call. */
static inline const char *fault_found(struct audit_report *ret_report)
{
	static struct audit_report report;
	struct error *error = NULL;

	audit_report_done(&report);
	if (audit_verify(directory, NULL, &report, &error) < 0)
		fail_msg("audit_verify: %s", error->message);
	if (ret_report)
		*ret_report = report;
	assert_true((report.fault != NULL) == (report.bad_line != 0));
	return report.fault;
}

static inline uint64_t must_hold(void)
{
	struct audit_report report;
	const char *fault = fault_found(&report);

	if (fault)
		fail_msg("line %llu: %s", (unsigned long long)report.bad_line, fault);
	return report.records;
}

struct count {
	uint64_t seen, stop_at;
};

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
