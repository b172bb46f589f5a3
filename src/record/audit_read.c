/* SPDX-License-Identifier: Apache-2.0 */
/* Checking and reading the audit log, without changing it. */
#include "chain.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

/* Log and head as they were at one moment. */
struct snapshot {
	int log; /* -1 where there is none */
	uint64_t size;
	enum head_state state;
	struct head head;
};

static void snapshot_done(struct snapshot *snapshot)
{
	close_fd(&snapshot->log);
}
#define _cleanup_snapshot_ _cleanup_(snapshot_done)

/* 0 with -1 for a file, or a directory, that does not exist. */
static int open_to_read(const char *directory, const char *name, int *ret_fd,
			struct error **ret_error)
{
	_cleanup_free_ char *path = chain_words("%s/%s", directory, name);
	_cleanup_close_ int fd =
		open(path, O_RDONLY | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno != ENOENT)
		return fail_errno(ret_error, E_ENGINE, errno, "cannot open %s", path);
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)))
		return fail(ret_error, E_ENGINE, "%s is not a file", path);
	*ret_fd = STEAL_FD(fd);
	return 0;
}

static int snapshot_take(const char *directory, struct snapshot *ret_snapshot,
			 struct error **ret_error)
{
	_cleanup_free_ char *path = chain_words("%s/" LOG_NAME, directory);
	_cleanup_close_ int log = -1, head = -1;
	struct stat st = {0};
	int r;

	r = open_to_read(directory, LOG_NAME, &log, ret_error);
	if (r < 0)
		return r;
	if (log >= 0) {
		r = log_lock(log, F_RDLCK, path, ret_error);
		if (r < 0)
			return r;
		if (fstat(log, &st) < 0)
			return fail_errno(ret_error, E_ENGINE, errno, "cannot examine %s", path);
	}
	r = open_to_read(directory, HEAD_NAME, &head, ret_error);
	if (r < 0)
		return r;
	*ret_snapshot = (struct snapshot){.size = (uint64_t)st.st_size, .state = HEAD_MISSING};
	if (head >= 0)
		ret_snapshot->state = head_read(head, &ret_snapshot->head);
	if (log >= 0)
		log_unlock(log);
	ret_snapshot->log = STEAL_FD(log);
	return 0;
}

/* What the head has to say against a chain that holds up to its end; NULL if nothing. Caller frees.
 */
static char *head_fault(const struct snapshot *snapshot, const struct head *chain,
			uint64_t *ret_line)
{
	const struct head *head = &snapshot->head;

	*ret_line = MAX(chain->seq, (uint64_t)1);
	if (snapshot->state == HEAD_MISSING && snapshot->size == 0)
		return NULL;
	if (snapshot->state == HEAD_MISSING)
		return chain_words(HEAD_NAME " is missing, so the end of the log may be too");
	if (snapshot->state == HEAD_BAD)
		return chain_words(HEAD_NAME " is damaged, so the end of the log may be missing");
	*ret_line = chain->seq + 1;
	if (head->seq > chain->seq)
		return chain_words("the end was cut off: the log holds %" PRIu64
				   " records, but " HEAD_NAME " counts %" PRIu64,
				   chain->seq, head->seq);
	return NULL;
}

/* The same for what was seen of it before: it only grows. A log that begins otherwise is another
 * one, which people may begin. */
static char *seen_fault(const struct audit_seen *seen, const struct head *chain, uint64_t *ret_line)
{
	*ret_line = chain->seq + 1;
	if (chain->size == 0)
		return chain_words("there is no record, and state.db knows %" PRIu64
				   " runs by %" PRIu64
				   " records: the log was removed, or moved aside",
				   seen->runs, seen->records);
	if (chain->size < seen->size)
		return chain_words("the end was cut off: the log holds %" PRIu64
				   " records, but state.db knows %" PRIu64,
				   chain->seq, seen->records);
	return chain_words("record %" PRIu64 " is not where state.db knows it", seen->records);
}

static char *find_fault(const struct snapshot *snapshot, const struct audit_seen *seen,
			struct lines *lines, struct head *chain, uint64_t *ret_line, int *ret_state,
			bool *ret_is_another)
{
	bool met = !seen || seen->size == 0;
	const char *line = NULL;
	size_t length = 0;
	char *fault;

	while ((*ret_state = lines_next(lines, &line, &length)) == LINE_WHOLE) {
		*ret_line = chain->seq + 1;
		fault = chain_follow(chain, line, length);
		if (fault)
			return fault;
		if (snapshot->state == HEAD_GOOD && snapshot->head.seq == chain->seq &&
		    (snapshot->head.size != chain->size ||
		     strcmp(snapshot->head.hash, chain->hash) != 0))
			return chain_words("record %" PRIu64 " is not the one that " HEAD_NAME
					   " names",
					   chain->seq);
		if (seen && seen->size > 0 && chain->seq == 1)
			met = *ret_is_another = strcmp(seen->first, chain->hash) != 0;
		if (!met && seen->size == chain->size) {
			met = true;
			if (strcmp(seen->last, chain->hash) != 0)
				return chain_words("record %" PRIu64
						   " is not the one that state.db knows",
						   chain->seq);
		}
	}
	if (*ret_state == LINE_LONG) {
		*ret_line = chain->seq + 1;
		return chain_words("the line is too long to be a record");
	}
	/* A torn end past the head is what a writer that died leaves behind: no record, no fault.
	 */
	fault = head_fault(snapshot, chain, ret_line);
	return fault || met ? fault : seen_fault(seen, chain, ret_line);
}

int audit_verify(const char *directory, const struct audit_seen *seen,
		 struct audit_report *ret_report, struct error **ret_error)
{
	_cleanup_snapshot_ struct snapshot snapshot = {.log = -1};
	_cleanup_lines_ struct lines lines = {0};
	struct head chain = chain_start;
	bool is_another = false;
	uint64_t line = 0;
	int state = LINE_NONE, r;
	char *fault;

	r = snapshot_take(directory, &snapshot, ret_error);
	if (r < 0)
		return r;
	lines.fd = snapshot.log;
	lines.end = snapshot.size;
	fault = find_fault(&snapshot, seen, &lines, &chain, &line, &state, &is_another);
	if (state < 0) {
		free(fault);
		return fail_errno(ret_error, E_ENGINE, -state, "cannot read %s/" LOG_NAME,
				  directory);
	}
	*ret_report = (struct audit_report){.records = chain.seq, .fault = fault};
	ret_report->bad_line = fault ? line : 0;
	ret_report->torn = fault ? 0 : snapshot.size - chain.size;
	ret_report->is_another = is_another;
	memcpy(ret_report->head, chain.hash, sizeof(chain.hash));
	return 0;
}

void audit_report_done(struct audit_report *report)
{
	free(report->fault);
	*report = (struct audit_report){0};
}

/* Calls each for the whole lines from *offset on and moves it past those for which each returned 0.
 */
static int read_lines(const char *directory, uint64_t *offset,
		      int (*each)(const char *line, size_t length, void *data), void *data,
		      struct error **ret_error)
{
	_cleanup_snapshot_ struct snapshot snapshot = {.log = -1};
	_cleanup_lines_ struct lines lines = {0};
	const char *line = NULL;
	size_t length = 0;
	int state, r;

	r = snapshot_take(directory, &snapshot, ret_error);
	if (r < 0)
		return r;
	if (*offset > snapshot.size)
		return fail(ret_error, E_INPUT, "%s/" LOG_NAME " ends before byte %" PRIu64,
			    directory, *offset);
	lines.fd = snapshot.log;
	lines.offset = *offset;
	lines.end = snapshot.size;
	/* What stands past the head is not a record before a writer has taken it up. */
	if (snapshot.state == HEAD_GOOD && snapshot.head.size >= *offset)
		lines.end = MIN(snapshot.size, snapshot.head.size);
	while ((state = lines_next(&lines, &line, &length)) == LINE_WHOLE) {
		r = each(line, length, data);
		if (r != 0)
			return r;
		*offset = lines.offset;
	}
	if (state < 0)
		return fail_errno(ret_error, E_ENGINE, -state, "cannot read %s/" LOG_NAME,
				  directory);
	if (state == LINE_LONG) {
		fail(ret_error, E_INPUT,
		     "%s/" LOG_NAME ": what stands at byte %" PRIu64 " is too long to be a record",
		     directory, lines.offset);
		return error_hint(ret_error, "run `ward audit verify`");
	}
	return 0;
}

struct record_reader {
	int (*each)(json_t *record, void *data);
	void *data;
	bool unreadable;
};

static int read_record(const char *line, size_t length, void *data)
{
	struct record_reader *reader = data;
	json_t *record = json_loadb(line, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
				    /* error= */ NULL);
	int r;

	if (!json_is_object(record)) {
		json_decref(record);
		reader->unreadable = true;
		return -E_INPUT;
	}
	r = reader->each(record, reader->data);
	json_decref(record);
	return r;
}

int audit_read(const char *directory, uint64_t *offset, int (*each)(json_t *record, void *data),
	       void *data, struct error **ret_error)
{
	struct record_reader reader = {.each = each, .data = data};
	int r;

	r = read_lines(directory, offset, read_record, &reader, ret_error);
	if (reader.unreadable) {
		fail(ret_error, E_INPUT,
		     "%s/" LOG_NAME ": what stands at byte %" PRIu64 " is not a record", directory,
		     *offset);
		return error_hint(ret_error, "run `ward audit verify`");
	}
	return r;
}

struct line_reader {
	uint64_t number, since;
	int (*each)(const char *line, size_t length, void *data);
	void *data;
};

static int skip_to_line(const char *line, size_t length, void *data)
{
	struct line_reader *reader = data;

	if (++reader->number < reader->since)
		return 0;
	return reader->each(line, length, reader->data);
}

int audit_read_lines(const char *directory, uint64_t since,
		     int (*each)(const char *line, size_t length, void *data), void *data,
		     struct error **ret_error)
{
	struct line_reader reader = {.since = since, .each = each, .data = data};
	uint64_t offset = 0;

	return read_lines(directory, &offset, skip_to_line, &reader, ret_error);
}
