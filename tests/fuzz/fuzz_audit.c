/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as audit.head and audit.log: checking and reading must cope, and must agree with
 * appending. */
#include "../../src/base/io.h"
#include "../../src/record/audit.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The first bytes of the input are the head, the rest is the log: `cat audit.head audit.log` makes
 * a seed. */
enum { HEAD_LENGTH = 107 };

static char directory[64];

static void remove_directory(void)
{
	(void)remove_tree(AT_FDCWD, directory);
}

static void put(int fd, const char *name, const uint8_t *data, size_t size)
{
	_cleanup_close_ int file = openat(fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (file < 0 || write_all(file, data, size) < 0)
		abort();
}

static int look(json_t *record, void *data)
{
	++*(uint64_t *)data;
	return json_is_object(record) ? 0 : 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t head = size < HEAD_LENGTH ? size : HEAD_LENGTH;
	struct audit_report before = {0}, after = {0};
	uint64_t offset = 0, seen = 0;
	struct audit *audit = NULL;
	_cleanup_close_ int fd = -1;

	if (!directory[0]) {
		strcpy(directory, "/tmp/ward-fuzz-audit.XXXXXX");
		if (!mkdtemp(directory))
			abort();
		atexit(remove_directory);
	}
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put(fd, "audit.head", data, head);
	put(fd, "audit.log", data + head, size - head);
	if (audit_verify(directory, NULL, &before, NULL) < 0)
		abort();
	if (audit_read(directory, &offset, look, &seen, NULL) == 0 && offset > size - head)
		abort();
	/* What holds can be read in full and can be added to, and then holds still. */
	if (!before.fault) {
		if (seen > before.records)
			abort();
		if (audit_open(directory, &audit, NULL) < 0 ||
		    audit_append(audit, "fuzz", NULL, NULL, NULL) < 0)
			abort();
		audit_close(audit);
		if (audit_verify(directory, NULL, &after, NULL) < 0 || after.fault ||
		    after.records <= before.records)
			abort();
	} else if (audit_open(directory, &audit, NULL) == 0) {
		(void)audit_append(audit, "fuzz", NULL, NULL, NULL);
		audit_close(audit);
	}
	audit_report_done(&before);
	audit_report_done(&after);
	return 0;
}
