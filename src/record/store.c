/* SPDX-License-Identifier: Apache-2.0 */
/* The database: made from the audit log, opened and closed by many at once. */
#include "state.h"
#include "store_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { BUSY_MS = 5000, TURN_MS = 10 * 1000 };

#define DATABASE_NAME "state.db"

static int read_version(struct store *store, int *ret_version, struct error **ret_error)
{
	sqlite3_stmt *statement = NULL;
	int r = 0;

	if (sqlite3_prepare_v2(store->database, "PRAGMA user_version", -1, &statement, NULL) ==
		    SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW)
		*ret_version = sqlite3_column_int(statement, 0);
	else
		r = store_fail(store, ret_error);
	sqlite3_finalize(statement);
	return r;
}

static int bring_up_to_date(struct store *store, struct error **ret_error)
{
	int version, r;

	r = read_version(store, &version, ret_error);
	if (r < 0)
		return r;
	if (version == SCHEMA_VERSION && store_is_up_to_date(store))
		return 0;
	r = store_execute(store, "BEGIN IMMEDIATE", ret_error);
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
	if (r == 0 && version < SCHEMA_VERSION)
		r = store_execute(store, store_schema, ret_error);
	if (r == 0)
		r = store_take_in(store, ret_error);
	if (r == 0)
		r = store_execute(store, "COMMIT", ret_error);
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
	int most = store->patience_ms ? (int)store->patience_ms : TURN_MS;

	for (int waited = 0; waited < most; waited++) {
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
		return store_fail(store, ret_error);
	sqlite3_busy_timeout(store->database,
			     store->patience_ms ? (int)store->patience_ms : BUSY_MS);
	r = store_execute(store, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;",
			  ret_error);
	return r < 0 ? r : bring_up_to_date(store, ret_error);
}

static void move_aside(int directory)
{
	(void)renameat(directory, DATABASE_NAME, directory, DATABASE_NAME ".corrupt");
	(void)unlinkat(directory, DATABASE_NAME "-wal", 0);
	(void)unlinkat(directory, DATABASE_NAME "-shm", 0);
}

static int open_patiently(const char *directory, unsigned patience_ms, struct store **ret_store,
			  struct error **ret_error)
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
	store->patience_ms = patience_ms;
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
		store_forget(ret_error);
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

int store_open(const char *directory, struct store **ret_store, struct error **ret_error)
{
	return open_patiently(directory, /* patience_ms= */ 0, ret_store, ret_error);
}

int store_open_within(const char *directory, unsigned patience_ms, struct store **ret_store,
		      struct error **ret_error)
{
	return open_patiently(directory, MAX(patience_ms, 1u), ret_store, ret_error);
}

static void copy_hash(char to[static AUDIT_HASH_TEXT], const char *hash)
{
	snprintf(to, AUDIT_HASH_TEXT, "%s", hash ? hash : "");
}

static void ask_seen(struct store *store, struct audit_seen *seen)
{
	static const char question[] =
		"SELECT log_offset, log_hash, (SELECT max(seq) FROM records), "
		"(SELECT count(*) FROM runs), (SELECT json FROM records WHERE seq = 1) FROM meta";
	sqlite3_stmt *statement = NULL;
	json_t *first = NULL;

	if (sqlite3_prepare_v2(store->database, question, -1, &statement, NULL) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW &&
	    (first = json_loads((const char *)sqlite3_column_text(statement, 4)
					? (const char *)sqlite3_column_text(statement, 4)
					: "",
				JSON_ALLOW_NUL, NULL))) {
		*seen = (struct audit_seen){
			.size = (uint64_t)sqlite3_column_int64(statement, 0),
			.records = (uint64_t)sqlite3_column_int64(statement, 2),
			.runs = (uint64_t)sqlite3_column_int64(statement, 3),
		};
		copy_hash(seen->last, (const char *)sqlite3_column_text(statement, 1));
		copy_hash(seen->first, json_string_value(json_object_get(first, "hash")));
	}
	json_decref(first);
	sqlite3_finalize(statement);
}

void store_seen(const char *directory, struct audit_seen *ret_seen)
{
	_cleanup_free_ char *real = realpath(directory, NULL), *path = NULL;
	struct store store = {.turn = -1};

	*ret_seen = (struct audit_seen){0};
	if (!real || asprintf(&path, "%s/" DATABASE_NAME, real) < 0)
		return;
	store.turn = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (store.turn < 0)
		return;
	take_turn(&store);
	if (sqlite3_open_v2(path, &store.database,
			    SQLITE_OPEN_READONLY | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX,
			    NULL) == SQLITE_OK) {
		sqlite3_busy_timeout(store.database, BUSY_MS);
		ask_seen(&store, ret_seen);
	}
	sqlite3_close(store.database);
	close(store.turn); /* which ends the turn */
}

bool store_is_behind(const struct store *store)
{
	return store->behind;
}

struct sqlite3 *store_database(struct store *store)
{
	return store->database;
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
