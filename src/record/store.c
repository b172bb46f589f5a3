/* SPDX-License-Identifier: Apache-2.0 */
/* The database: made from the audit log, brought up to date from it, asked about runs. */
#include "store.h"
#include "audit.h"
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SCHEMA_VERSION = 1, BUSY_MS = 5000, TURN_MS = 10 * 1000 };

#define DATABASE_NAME "state.db"

static const char schema[] =
	"CREATE TABLE meta (one INTEGER PRIMARY KEY CHECK (one = 1), log_offset INTEGER NOT NULL, "
	"log_hash TEXT NOT NULL);"
	"INSERT INTO meta VALUES (1, 0, '');"
	"CREATE TABLE records (seq INTEGER PRIMARY KEY, run TEXT, kind TEXT NOT NULL, json TEXT "
	"NOT "
	"NULL);"
	"CREATE INDEX records_of_run ON records (run, seq);"
	"CREATE TABLE runs (id TEXT PRIMARY KEY, seq INTEGER NOT NULL, time TEXT, agent TEXT, "
	"session "
	"TEXT, command TEXT,"
	" cwd TEXT, verdict TEXT, exit_code INTEGER, signal INTEGER, timed_out INTEGER, [limit] "
	"TEXT, "
	"duration_ms REAL,"
	" denials INTEGER NOT NULL DEFAULT 0, error TEXT, ended INTEGER NOT NULL DEFAULT 0);"
	"CREATE INDEX runs_by_age ON runs (seq);"
	"PRAGMA user_version = 1;";

enum statement {
	READ_META,
	WRITE_META,
	ADD_RECORD,
	ADD_RUN,
	START_RUN,
	END_RUN,
	LIST_RUNS,
	LAST_RUN,
	FIND_RUNS,
	ONE_RUN,
	RECORDS_OF_RUN,
	STATEMENTS,
};

#define RUN_COLUMNS                                                                                \
	"id, time, agent, session, command, cwd, verdict, exit_code, signal, timed_out, [limit], " \
	"duration_ms, denials, error, "                                                            \
	"ended"

static const char *const statements[STATEMENTS] = {
	[READ_META] = "SELECT log_offset, log_hash FROM meta",
	[WRITE_META] = "UPDATE meta SET log_offset = ?1, log_hash = ?2",
	[ADD_RECORD] = "INSERT INTO records VALUES (?1, ?2, ?3, ?4)",
	[ADD_RUN] = "INSERT OR IGNORE INTO runs (id, seq, time) VALUES (?1, ?2, ?3)",
	[START_RUN] =
		"UPDATE runs SET agent = ?2, session = ?3, command = ?4, cwd = ?5, verdict = ?6 "
		"WHERE id = ?1",
	[END_RUN] = "UPDATE runs SET exit_code = ?2, signal = ?3, timed_out = ?4, [limit] = ?5, "
		    "duration_ms = "
		    "?6,"
		    " denials = ?7, error = ?8, verdict = coalesce(?9, verdict), ended = 1 WHERE "
		    "id = ?1",
	[LIST_RUNS] = "SELECT " RUN_COLUMNS " FROM runs ORDER BY seq DESC LIMIT ?1",
	[LAST_RUN] = "SELECT id FROM runs ORDER BY seq DESC LIMIT 1",
	[FIND_RUNS] =
		"SELECT id FROM runs WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id = ?1 DESC, "
		"seq DESC LIMIT 2",
	[ONE_RUN] = "SELECT " RUN_COLUMNS " FROM runs WHERE id = ?1",
	[RECORDS_OF_RUN] = "SELECT json FROM records WHERE run = ?1 ORDER BY seq",
};

struct store {
	char *directory, *path;
	int turn; /* the directory, to be locked while the database is opened or closed */
	sqlite3 *database;
	sqlite3_stmt *prepared[STATEMENTS];
	bool damaged; /* an answer of SQLite showed that the file is not what ward wrote */
};

/* Every query of this file ends in done(), so that no read transaction stays open between calls. */
static sqlite3_stmt *prepare(struct store *store, enum statement which)
{
	if (!store->prepared[which])
		(void)sqlite3_prepare_v3(store->database, statements[which], -1,
					 SQLITE_PREPARE_PERSISTENT, &store->prepared[which], NULL);
	return store->prepared[which];
}

static void done(sqlite3_stmt **statement)
{
	if (!*statement)
		return;
	sqlite3_reset(*statement);
	sqlite3_clear_bindings(*statement);
}
#define _cleanup_statement_ _cleanup_(done)

/* To be called before any other call on the database, which would put its own outcome in place of
 * the failure. */
static int fail_database(struct store *store, struct error **ret_error)
{
	static const struct {
		int code;
		bool damaged;
		const char *hint;
	} known[] = {
		{SQLITE_BUSY, false, "another process is using it: try again"},
		{SQLITE_FULL, false,
		 "free some space there, or set XDG_STATE_HOME to another place"},
		{SQLITE_IOERR, false, "check the file system that holds it"},
		{SQLITE_CORRUPT, true, NULL},
		{SQLITE_NOTADB, true, NULL},
		{SQLITE_CONSTRAINT, true, NULL},
		{SQLITE_ERROR, true, NULL}, /* a table or column is missing */
	};
	const char *hint = NULL;
	int code = sqlite3_errcode(store->database) & 0xff;

	for (size_t i = 0; i < ELEMENTS(known); i++) {
		if (known[i].code != code)
			continue;
		hint = known[i].hint;
		store->damaged |= known[i].damaged;
	}
	fail(ret_error, E_ENGINE, "%s: %s (%d)", store->path, sqlite3_errmsg(store->database),
	     sqlite3_extended_errcode(store->database));
	return error_hint(ret_error, "%s",
			  hint ? hint : "it can be deleted: it is made anew from the audit log");
}

/* A failure that was got over is not the caller's. */
static void forget(struct error **ret_error)
{
	if (!ret_error)
		return;
	error_free(*ret_error);
	*ret_error = NULL;
}

static int execute(struct store *store, const char *sql, struct error **ret_error)
{
	if (sqlite3_exec(store->database, sql, NULL, NULL, NULL) != SQLITE_OK)
		return fail_database(store, ret_error);
	return 0;
}

/* -- Taking in records ---------------------------------------------------------------------------
 */

struct intake {
	struct store *store;
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
	static const char *const members[] = {"agent", "session", "command", "cwd", "verdict"};

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
	bind_text(statement, 8, json_object_get(json_object_get(result, "error"), "kind"));
	bind_text(statement, 9, json_object_get(result, "verdict"));
}

static const struct {
	const char *kind;
	enum statement statement;
	void (*bind)(sqlite3_stmt *statement, const json_t *record);
} run_kinds[] = {
	{"run.start", START_RUN, bind_start},
	{"run.end", END_RUN, bind_end},
};

static int take_run(struct store *store, const char *kind, const json_t *record,
		    struct error **ret_error)
{
	for (size_t i = 0; i < ELEMENTS(run_kinds); i++) {
		_cleanup_statement_ sqlite3_stmt *add = NULL, *change = NULL;

		if (strcmp(kind, run_kinds[i].kind) != 0)
			continue;
		add = prepare(store, ADD_RUN);
		bind_text(add, 1, json_object_get(record, "run"));
		bind_number(add, 2, json_object_get(record, "seq"));
		bind_text(add, 3, json_object_get(record, "time"));
		if (sqlite3_step(add) != SQLITE_DONE)
			return fail_database(store, ret_error);
		change = prepare(store, run_kinds[i].statement);
		bind_text(change, 1, json_object_get(record, "run"));
		run_kinds[i].bind(change, record);
		if (sqlite3_step(change) != SQLITE_DONE)
			return fail_database(store, ret_error);
	}
	return 0;
}

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
	add = prepare(store, ADD_RECORD);
	bind_number(add, 1, seq);
	bind_text(add, 2, run);
	sqlite3_bind_text(add, 3, kind, -1, SQLITE_TRANSIENT);
	sqlite3_bind_text(add, 4, text, -1, SQLITE_TRANSIENT);
	if (sqlite3_step(add) != SQLITE_DONE)
		return fail_database(store, intake->ret_error);
	strcpy(intake->hash, hash);
	return json_is_string(run) ? take_run(store, kind, record, intake->ret_error) : 0;
}

static int read_meta(struct store *store, uint64_t *ret_offset, struct intake *intake,
		     struct error **ret_error)
{
	_cleanup_statement_ sqlite3_stmt *read = prepare(store, READ_META);

	if (sqlite3_step(read) != SQLITE_ROW)
		return fail_database(store, ret_error);
	*ret_offset = (uint64_t)sqlite3_column_int64(read, 0);
	snprintf(intake->hash, sizeof(intake->hash), "%s",
		 (const char *)sqlite3_column_text(read, 1));
	return 0;
}

static int write_meta(struct store *store, uint64_t offset, const char *hash,
		      struct error **ret_error)
{
	_cleanup_statement_ sqlite3_stmt *write = prepare(store, WRITE_META);

	sqlite3_bind_int64(write, 1, (sqlite3_int64)offset);
	sqlite3_bind_text(write, 2, hash, -1, SQLITE_TRANSIENT);
	return sqlite3_step(write) == SQLITE_DONE ? 0 : fail_database(store, ret_error);
}

/* One pass over what the log has gained, in the open transaction. */
static int take_in(struct store *store, struct error **ret_error)
{
	struct intake intake = {.store = store, .ret_error = ret_error};
	uint64_t offset, begin;
	int r;

	r = read_meta(store, &offset, &intake, ret_error);
	if (r < 0)
		return r;
	begin = offset;
	r = audit_read(store->directory, &offset, take_record, &intake, ret_error);
	if (r == -E_INPUT && begin > 0) {
		/* The log is not the one this was made from: a person began a new one. */
		forget(ret_error);
		r = execute(store, "DELETE FROM records; DELETE FROM runs;", ret_error);
		if (r < 0)
			return r;
		offset = 0;
		intake = (struct intake){.store = store, .ret_error = ret_error};
		r = audit_read(store->directory, &offset, take_record, &intake, ret_error);
	}
	if (r < 0)
		return r;
	return write_meta(store, offset, intake.hash, ret_error);
}

/* True if the log ends where the database stopped, so that most openings write nothing. */
static bool is_up_to_date(struct store *store)
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
	return same;
}

/* -- Opening -------------------------------------------------------------------------------------
 */

static int read_version(struct store *store, int *ret_version, struct error **ret_error)
{
	sqlite3_stmt *statement = NULL;
	int r = 0;

	if (sqlite3_prepare_v2(store->database, "PRAGMA user_version", -1, &statement, NULL) ==
		    SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW)
		*ret_version = sqlite3_column_int(statement, 0);
	else
		r = fail_database(store, ret_error);
	sqlite3_finalize(statement);
	return r;
}

static int bring_up_to_date(struct store *store, struct error **ret_error)
{
	int version, r;

	r = read_version(store, &version, ret_error);
	if (r < 0)
		return r;
	if (version == SCHEMA_VERSION && is_up_to_date(store))
		return 0;
	r = execute(store, "BEGIN IMMEDIATE", ret_error);
	if (r < 0)
		return r;
	/* Again, now that nobody else can be making it. */
	r = read_version(store, &version, ret_error);
	if (r == 0 && version > SCHEMA_VERSION) {
		fail(ret_error, E_ENGINE,
		     "%s was made by a newer ward (schema %d; this one knows %d)", store->path,
		     version, SCHEMA_VERSION);
		r = error_hint(
			ret_error,
			"use that ward, or delete the file: it is made anew from the audit log");
	}
	if (r == 0 && version == 0)
		r = execute(store, schema, ret_error);
	if (r == 0)
		r = take_in(store, ret_error);
	if (r == 0)
		r = execute(store, "COMMIT", ret_error);
	if (r < 0)
		(void)sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
	return r;
}

static void close_database(struct store *store)
{
	for (size_t i = 0; i < STATEMENTS; i++) {
		sqlite3_finalize(store->prepared[i]);
		store->prepared[i] = NULL;
	}
	sqlite3_close(store->database);
	store->database = NULL;
}

/* Openings and closings take turns. SQLite would have them try again against each other, and gives
 * up with "busy" or an I/O error where the last to close takes its log away from one who opens.
 * Whoever waited too long, behind a stopped process perhaps, goes on with SQLite's own locks. */
static void take_turn(struct store *store)
{
	for (int waited = 0; waited < TURN_MS; waited++) {
		if (flock(store->turn, LOCK_EX | LOCK_NB) == 0 ||
		    (errno != EWOULDBLOCK && errno != EINTR))
			return;
		(void)nanosleep(&(struct timespec){.tv_nsec = 1000 * 1000}, NULL);
	}
}

static void end_turn(struct store *store)
{
	(void)flock(store->turn, LOCK_UN);
}

static int open_database(struct store *store, struct error **ret_error)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX, r;
	/* SQLite would make it readable for others; its own files beside it take over this one's
	 * mode. Closed again before SQLite opens it: a close gives up every lock that this process
	 * has on the file, SQLite's too, and another process then takes the log away under it. */
	int fd = openat(store->turn, DATABASE_NAME,
			O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

	if (fd < 0) {
		fail_errno(ret_error, E_ENGINE, errno, "cannot open %s", store->path);
		return error_hint(
			ret_error,
			"make it writable, or delete it: it is made anew from the audit log");
	}
	close(fd);
	if (sqlite3_open_v2(store->path, &store->database, flags, NULL) != SQLITE_OK)
		return fail_database(store, ret_error);
	sqlite3_busy_timeout(store->database, BUSY_MS);
	r = execute(store, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;", ret_error);
	return r < 0 ? r : bring_up_to_date(store, ret_error);
}

static void move_aside(int directory)
{
	(void)renameat(directory, DATABASE_NAME, directory, DATABASE_NAME ".corrupt");
	(void)unlinkat(directory, DATABASE_NAME "-wal", 0);
	(void)unlinkat(directory, DATABASE_NAME "-shm", 0);
}

int store_open(const char *directory, struct store **ret_store, struct error **ret_error)
{
	_cleanup_free_ char *real = realpath(directory, NULL);
	_cleanup_close_ int fd = -1;
	struct store *store;
	int r;

	r = state_directory_open(directory, &fd, ret_error);
	if (r < 0)
		return r;
	store = calloc(1, sizeof(*store));
	if (!store)
		abort();
	store->turn = STEAL_FD(fd);
	/* SQLite refuses links anywhere in a path that it must not follow; those above the
	 * directory are fine. */
	store->directory = strdup(real ? real : directory);
	if (!store->directory || asprintf(&store->path, "%s/" DATABASE_NAME, store->directory) < 0)
		abort();
	take_turn(store);
	r = open_database(store, ret_error);
	if (r < 0 && store->damaged) {
		close_database(store);
		store->damaged = false;
		forget(ret_error);
		move_aside(store->turn);
		r = open_database(store, ret_error);
	}
	end_turn(store);
	if (r < 0) {
		store_close(store);
		return r;
	}
	*ret_store = store;
	return 0;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	take_turn(store);
	close_database(store);
	close(store->turn); /* which ends the turn */
	free(store->directory);
	free(store->path);
	free(store);
}

/* -- Questions -----------------------------------------------------------------------------------
 */

/* The row as an object, members named as the columns are. */
static json_t *run_from_row(sqlite3_stmt *row)
{
	static const char *const flags[] = {"timed_out", "ended"};
	json_t *run = json_object();

	for (int i = 0; i < sqlite3_column_count(row); i++) {
		const char *name = sqlite3_column_name(row, i);
		json_t *value = NULL;

		for (size_t k = 0; k < ELEMENTS(flags); k++)
			if (strcmp(name, flags[k]) == 0)
				value = json_boolean(sqlite3_column_int(row, i));
		if (!value)
			switch (sqlite3_column_type(row, i)) {
			case SQLITE_INTEGER:
				value = json_integer(sqlite3_column_int64(row, i));
				break;
			case SQLITE_FLOAT:
				value = json_real(sqlite3_column_double(row, i));
				break;
			case SQLITE_TEXT:
				value = json_stringn((const char *)sqlite3_column_text(row, i),
						     (size_t)sqlite3_column_bytes(row, i));
				break;
			}
		if (json_object_set_new(run, name, value ? value : json_null()) < 0)
			abort();
	}
	return run;
}

int store_runs(struct store *store, unsigned limit, int (*each)(json_t *run, void *data),
	       void *data, struct error **ret_error)
{
	_cleanup_statement_ sqlite3_stmt *rows = prepare(store, LIST_RUNS);
	int state, r;

	sqlite3_bind_int64(rows, 1, limit);
	while ((state = sqlite3_step(rows)) == SQLITE_ROW) {
		json_t *run = run_from_row(rows);

		r = each(run, data);
		json_decref(run);
		if (r != 0)
			return r;
	}
	return state == SQLITE_DONE ? 0 : fail_database(store, ret_error);
}

/* The full id of the run that the text names. Caller frees. */
static int find_run(struct store *store, const char *id, char **ret_id, struct error **ret_error)
{
	bool last = strcmp(id, "last") == 0;
	_cleanup_statement_ sqlite3_stmt *rows = prepare(store, last ? LAST_RUN : FIND_RUNS);
	_cleanup_free_ char *found = NULL;
	int state;

	if (!last)
		sqlite3_bind_text(rows, 1, id, -1, SQLITE_TRANSIENT);
	state = id[0] ? sqlite3_step(rows) : SQLITE_DONE;
	if (state == SQLITE_DONE) {
		if (last)
			fail(ret_error, E_NOT_FOUND, "no run is on record yet");
		else
			fail(ret_error, E_NOT_FOUND, "no run '%s' is on record", id);
		return error_hint(ret_error, last ? "`ward run -- COMMAND` makes one"
						  : "`ward log` lists them");
	}
	if (state != SQLITE_ROW)
		return fail_database(store, ret_error);
	found = strdup((const char *)sqlite3_column_text(rows, 0));
	if (!found)
		abort();
	if (!last && strcmp(found, id) != 0) {
		state = sqlite3_step(rows);
		if (state == SQLITE_ROW) {
			fail(ret_error, E_USAGE,
			     "'%s' begins the ids of several runs, %s and %s among them", id, found,
			     (const char *)sqlite3_column_text(rows, 0));
			return error_hint(ret_error, "give more of the id");
		}
		if (state != SQLITE_DONE)
			return fail_database(store, ret_error);
	}
	*ret_id = STEAL(found);
	return 0;
}

/* Adds what the records of a run say to the object that a list would show. */
static int add_records(struct store *store, const char *id, json_t *run, struct error **ret_error)
{
	_cleanup_statement_ sqlite3_stmt *rows = prepare(store, RECORDS_OF_RUN);
	json_t *records = json_array();
	int state;

	json_object_set_new(run, "ended_at", json_null());
	json_object_set_new(run, "result", json_null());
	json_object_set_new(run, "records", records);
	sqlite3_bind_text(rows, 1, id, -1, SQLITE_TRANSIENT);
	while ((state = sqlite3_step(rows)) == SQLITE_ROW) {
		json_t *record =
			json_loadb((const char *)sqlite3_column_text(rows, 0),
				   (size_t)sqlite3_column_bytes(rows, 0), JSON_ALLOW_NUL, NULL);
		const char *kind = json_string_value(json_object_get(record, "kind"));

		if (kind && strcmp(kind, "run.start") == 0)
			json_object_update_missing(run, record);
		if (kind && strcmp(kind, "run.end") == 0) {
			json_object_set(run, "ended_at", json_object_get(record, "time"));
			json_object_set(run, "result", json_object_get(record, "result"));
		}
		json_array_append_new(records, record ? record : json_null());
	}
	/* Of one record, not of the run. */
	json_object_del(run, "run");
	json_object_del(run, "kind");
	json_object_del(run, "seq");
	json_object_del(run, "prev");
	json_object_del(run, "hash");
	return state == SQLITE_DONE ? 0 : fail_database(store, ret_error);
}

int store_run(struct store *store, const char *id, json_t **ret_run, struct error **ret_error)
{
	_cleanup_statement_ sqlite3_stmt *row = NULL;
	_cleanup_free_ char *full = NULL;
	json_t *run;
	int r;

	r = find_run(store, id, &full, ret_error);
	if (r < 0)
		return r;
	row = prepare(store, ONE_RUN);
	sqlite3_bind_text(row, 1, full, -1, SQLITE_TRANSIENT);
	if (sqlite3_step(row) != SQLITE_ROW)
		return fail_database(store, ret_error);
	run = run_from_row(row);
	r = add_records(store, full, run, ret_error);
	if (r < 0) {
		json_decref(run);
		return r;
	}
	*ret_run = run;
	return 0;
}
