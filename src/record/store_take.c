/* SPDX-License-Identifier: Apache-2.0 */
/* Taking in records: the database is brought up to where the audit log ends. */
#include "audit.h"
#include "chain.h"
#include "store_parts.h"
#include "../base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct intake {
	struct store *store;
	uint64_t deadline; /* 0: none */
	unsigned count;
	char hash[AUDIT_HASH_TEXT]; /* of the last record taken in; empty before the first */
	struct error **ret_error;
};

static void bind_text(sqlite3_stmt *statement, int index, const json_t *value)
{
	if (json_is_string(value))
		sqlite3_bind_text(statement, index, json_string_value(value),
				  (int)json_string_length(value), SQLITE_TRANSIENT);
}

static void bind_number(sqlite3_stmt *statement, int index, const json_t *value)
{
	if (json_is_integer(value))
		sqlite3_bind_int64(statement, index, json_integer_value(value));
	else if (json_is_real(value))
		sqlite3_bind_double(statement, index, json_real_value(value));
	else if (json_is_boolean(value))
		sqlite3_bind_int(statement, index, json_is_true(value));
}

/* Refusals that stood: what was granted after all is not one. */
static int count_denials(const json_t *result)
{
	json_t *attempts = json_object_get(result, "attempts"), *attempt, *denial;
	int count = 0;
	size_t i, k;

	json_array_foreach (attempts, i, attempt) {
		json_array_foreach (json_object_get(attempt, "denials"), k, denial) {
			const char *answer = json_string_value(json_object_get(denial, "answer"));

			if (!answer || strcmp(answer, "granted") != 0)
				count++;
		}
	}
	return count;
}

static void bind_start(sqlite3_stmt *statement, const json_t *record)
{
	static const char *const members[] = {"agent",	 "session",   "command", "cwd",
					      "verdict", "workspace", "does"};

	for (size_t i = 0; i < ELEMENTS(members); i++)
		bind_text(statement, (int)i + 2, json_object_get(record, members[i]));
}

static void bind_end(sqlite3_stmt *statement, const json_t *record)
{
	const json_t *result = json_object_get(record, "result");
	const struct {
		const char *member;
		void (*bind)(sqlite3_stmt *statement, int index, const json_t *value);
	} columns[] = {
		{"exit_code", bind_number},   {"signal", bind_number},
		{"timed_out", bind_number},   {"limit", bind_text},
		{"duration_ms", bind_number},
	};

	for (size_t i = 0; i < ELEMENTS(columns); i++)
		columns[i].bind(statement, (int)i + 2, json_object_get(result, columns[i].member));
	sqlite3_bind_int(statement, 7, count_denials(result));
	if (json_is_string(json_object_get(result, "ticket"))) /* its answer comes later */
		sqlite3_bind_text(statement, 8, "deferred", -1, SQLITE_STATIC);
	else
		bind_text(statement, 8, json_object_get(json_object_get(result, "error"), "kind"));
	bind_text(statement, 9, json_object_get(result, "verdict"));
}

/* A run may wait for its first answer before it starts. */
static void bind_asked(sqlite3_stmt *statement, const json_t *record)
{
	static const char *const members[] = {"agent", "session", "command", "cwd"};

	for (size_t i = 0; i < ELEMENTS(members); i++)
		bind_text(statement, (int)i + 2, json_object_get(record, members[i]));
}

static void bind_ask(sqlite3_stmt *statement, const json_t *record)
{
	static const char *const members[] = {"time", "agent", "command", "cwd", "covers"};

	bind_number(statement, 2, json_object_get(record, "seq"));
	for (size_t i = 0; i < ELEMENTS(members); i++)
		bind_text(statement, (int)i + 3, json_object_get(record, members[i]));
}

static void bind_ask_rules(sqlite3_stmt *statement, const json_t *record)
{
	const json_t *rules = json_object_get(record, "rules");
	_cleanup_free_ char *text = rules ? json_dumps(rules, JSON_COMPACT) : NULL;

	bind_number(statement, 2, json_object_get(record, "seq"));
	bind_text(statement, 3, json_object_get(record, "key"));
	sqlite3_bind_text(statement, 4, text ? text : "[]", -1, SQLITE_TRANSIENT);
}

/* One question after the other is asked in a run, so it is to the last of them. */
static void bind_answer(sqlite3_stmt *statement, const json_t *record)
{
	static const char *const members[] = {"answer", "scope", "by", "source", "time"};

	for (size_t i = 0; i < ELEMENTS(members); i++)
		bind_text(statement, (int)i + 2, json_object_get(record, members[i]));
}

static void bind_lost(sqlite3_stmt *statement, const json_t *record)
{
	(void)statement;
	(void)record;
}

static const struct {
	const char *kind;
	enum statement statement;
	void (*bind)(sqlite3_stmt *statement, const json_t *record);
} run_kinds[] = {
	{"ask", ASK_RUN, bind_asked},		{"answer", ASK_RUN, bind_asked},
	{"run.start", START_RUN, bind_start},	{"run.end", END_RUN, bind_end},
	{"run.lost", LOSE_RUN, bind_lost},	{"ask", ADD_ASK, bind_ask},
	{"ask", ADD_ASK_RULES, bind_ask_rules}, {"answer", ANSWER_ASK, bind_answer},
};

static int take_run(struct store *store, const char *kind, const json_t *record,
		    struct error **ret_error)
{
	for (size_t i = 0; i < ELEMENTS(run_kinds); i++) {
		_cleanup_statement_ sqlite3_stmt *add = NULL, *change = NULL;

		if (strcmp(kind, run_kinds[i].kind) != 0)
			continue;
		add = store_prepare(store, ADD_RUN);
		bind_text(add, 1, json_object_get(record, "run"));
		bind_number(add, 2, json_object_get(record, "seq"));
		bind_text(add, 3, json_object_get(record, "time"));
		if (sqlite3_step(add) != SQLITE_DONE)
			return store_fail(store, ret_error);
		change = store_prepare(store, run_kinds[i].statement);
		bind_text(change, 1, json_object_get(record, "run"));
		run_kinds[i].bind(change, record);
		if (sqlite3_step(change) != SQLITE_DONE)
			return store_fail(store, ret_error);
	}
	return 0;
}

enum { ENOUGH = 1, RECORDS_BETWEEN = 32 };

static int take_record(json_t *record, void *data)
{
	struct intake *intake = data;
	struct store *store = intake->store;
	const char *kind = json_string_value(json_object_get(record, "kind"));
	const char *prev = json_string_value(json_object_get(record, "prev"));
	const char *hash = json_string_value(json_object_get(record, "hash"));
	json_t *run = json_object_get(record, "run"), *seq = json_object_get(record, "seq");
	_cleanup_statement_ sqlite3_stmt *add = NULL;
	_cleanup_free_ char *text = NULL;

	if (intake->deadline && intake->count++ % RECORDS_BETWEEN == RECORDS_BETWEEN - 1 &&
	    monotonic_ns() > intake->deadline)
		return ENOUGH;
	/* Cheap, and enough to notice another log; whether the chain holds is for audit_verify() to
	 * say. */
	if (!kind || !prev || !hash || strlen(hash) >= sizeof(intake->hash) ||
	    !json_is_integer(seq) || (intake->hash[0] && strcmp(prev, intake->hash) != 0)) {
		fail(intake->ret_error, E_INPUT,
		     "%s/audit.log: a record does not follow the one before it", store->directory);
		return error_hint(intake->ret_error, "run `ward audit verify`");
	}
	text = json_dumps(record, JSON_COMPACT | JSON_REAL_PRECISION(15));
	if (!text)
		abort();
	add = store_prepare(store, ADD_RECORD);
	bind_number(add, 1, seq);
	bind_text(add, 2, run);
	sqlite3_bind_text(add, 3, kind, -1, SQLITE_TRANSIENT);
	sqlite3_bind_text(add, 4, text, -1, SQLITE_TRANSIENT);
	if (sqlite3_step(add) != SQLITE_DONE)
		return store_fail(store, intake->ret_error);
	strcpy(intake->hash, hash);
	return json_is_string(run) ? take_run(store, kind, record, intake->ret_error) : 0;
}

static int read_meta(struct store *store, uint64_t *ret_offset, struct intake *intake,
		     struct error **ret_error)
{
	_cleanup_statement_ sqlite3_stmt *read = store_prepare(store, READ_META);

	if (sqlite3_step(read) != SQLITE_ROW)
		return store_fail(store, ret_error);
	*ret_offset = (uint64_t)sqlite3_column_int64(read, 0);
	snprintf(intake->hash, sizeof(intake->hash), "%s",
		 (const char *)sqlite3_column_text(read, 1));
	return 0;
}

static int write_meta(struct store *store, uint64_t offset, const char *hash,
		      struct error **ret_error)
{
	_cleanup_statement_ sqlite3_stmt *write = store_prepare(store, WRITE_META);

	sqlite3_bind_int64(write, 1, (sqlite3_int64)offset);
	sqlite3_bind_text(write, 2, hash, -1, SQLITE_TRANSIENT);
	return sqlite3_step(write) == SQLITE_DONE ? 0 : store_fail(store, ret_error);
}

/* A person may have begun a new log that has grown just as long: its head has another hash. */
static bool is_another_log(struct store *store, uint64_t offset, const char *hash)
{
	_cleanup_free_ char *path = chain_words("%s/" HEAD_NAME, store->directory);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct head head;

	return offset > 0 && fd >= 0 && head_read(fd, &head) == HEAD_GOOD && head.size == offset &&
	       strcmp(head.hash, hash) != 0;
}

int store_take_in(struct store *store, struct error **ret_error)
{
	struct intake intake = {.store = store, .ret_error = ret_error};
	uint64_t offset, begin;
	int r;

	if (store->patience_ms)
		intake.deadline = monotonic_ns() + store->patience_ms * (uint64_t)1000000;
	r = read_meta(store, &offset, &intake, ret_error);
	if (r < 0)
		return r;
	begin = offset;
	r = is_another_log(store, offset, intake.hash)
		    ? -E_INPUT
		    : audit_read(store->directory, &offset, take_record, &intake, ret_error);
	if (r == -E_INPUT && begin > 0) {
		/* The log is not the one this was made from: a person began a new one. */
		store_forget(ret_error);
		r = store_execute(store,
				  "DELETE FROM records; DELETE FROM runs; "
				  "DELETE FROM asks; DELETE FROM ask_rules;",
				  ret_error);
		if (r < 0)
			return r;
		offset = 0;
		intake = (struct intake){
			.store = store, .deadline = intake.deadline, .ret_error = ret_error};
		r = audit_read(store->directory, &offset, take_record, &intake, ret_error);
	}
	if (r < 0)
		return r;
	store->behind = r == ENOUGH; /* the next one goes on there */
	return write_meta(store, offset, intake.hash, ret_error);
}

bool store_is_up_to_date(struct store *store)
{
	struct intake intake = {0};
	uint64_t offset;
	char *path;
	struct stat st;
	bool same;

	if (read_meta(store, &offset, &intake, /* ret_error= */ NULL) < 0)
		return false;
	if (asprintf(&path, "%s/audit.log", store->directory) < 0)
		abort();
	same = stat(path, &st) == 0 ? (uint64_t)st.st_size == offset
				    : errno == ENOENT && offset == 0;
	free(path);
	return same && !is_another_log(store, offset, intake.hash);
}
