/* SPDX-License-Identifier: Apache-2.0 */
/* What the database is asked and told, in SQL, and what its failures mean. */
#include "store_parts.h"

#include <stdio.h>
#include <string.h>

const char store_schema[] =
	/* What another version made is made anew: all of it is in the log. */
	"DROP TABLE IF EXISTS meta; DROP TABLE IF EXISTS records; DROP TABLE IF EXISTS runs;"
	"DROP TABLE IF EXISTS asks; DROP TABLE IF EXISTS ask_rules;"
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
	" denials INTEGER NOT NULL DEFAULT 0, error TEXT, ended INTEGER NOT NULL DEFAULT 0,"
	" workspace TEXT, does TEXT);"
	"CREATE INDEX runs_by_age ON runs (seq);"
	"CREATE INDEX runs_alike ON runs (does, seq);"
	"CREATE INDEX runs_by_time ON runs (time, agent);"
	/* Questions, each with its answer once there is one, and the rules that would have spared
	 * it. */
	"CREATE TABLE asks (seq INTEGER PRIMARY KEY, run TEXT NOT NULL, time TEXT NOT NULL, agent "
	"TEXT, command TEXT, cwd TEXT, covers TEXT, answer TEXT, scope TEXT, by TEXT, tier "
	"INTEGER, took_ms INTEGER);"
	"CREATE INDEX asks_of_run ON asks (run, seq);"
	"CREATE INDEX asks_by_time ON asks (time);"
	"CREATE TABLE ask_rules (seq INTEGER NOT NULL, what TEXT NOT NULL, denies INTEGER NOT "
	"NULL, rule TEXT NOT NULL);"
	"CREATE INDEX ask_rules_alike ON ask_rules (what, seq);"
	"PRAGMA user_version = 3;";

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
		"UPDATE runs SET agent = ?2, session = ?3, command = ?4, cwd = ?5, verdict = ?6, "
		"workspace = ?7, does = ?8 WHERE id = ?1",
	[ASK_RUN] = "UPDATE runs SET agent = coalesce(agent, ?2), session = coalesce(session, ?3), "
		    "command = coalesce(command, ?4), cwd = coalesce(cwd, ?5), verdict = "
		    "coalesce(verdict, 'ask') WHERE id = ?1",
	[LOSE_RUN] = "UPDATE runs SET error = 'killed', ended = 1 WHERE id = ?1 AND ended = 0",
	[ADD_ASK] =
		"INSERT OR IGNORE INTO asks (run, seq, time, agent, command, cwd, covers) VALUES "
		"(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[ADD_ASK_RULES] =
		"INSERT INTO ask_rules SELECT ?2, ?3 || char(31) || json_extract(value, "
		"'$.grants'), "
		"json_extract(value, '$.do') = 'deny', json_extract(value, '$.rule') FROM "
		"json_each(?4) WHERE ?1 IS NOT NULL AND ?3 IS NOT NULL",
	[ANSWER_ASK] =
		"UPDATE asks SET answer = ?2, scope = ?3, by = ?4, tier = ?5 = 'trust', "
		"took_ms = max(0, round((julianday(?6) - julianday(time)) * 86400000)) WHERE "
		"seq = (SELECT max(seq) FROM asks WHERE run = ?1) AND answer IS NULL",
	[OPEN_RUNS] = "SELECT (SELECT json FROM records WHERE run = id ORDER BY records.seq LIMIT "
		      "1) FROM runs WHERE ended = 0 ORDER BY seq",
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
	[HAS_RUN] = "SELECT id FROM runs WHERE id = ?1",
	[ONE_RUN] = "SELECT " RUN_COLUMNS " FROM runs WHERE id = ?1",
	[RECORDS_OF_RUN] = "SELECT json FROM records WHERE run = ?1 ORDER BY seq",
	[FIND_ANSWER] = "SELECT json FROM records WHERE kind = 'answer' AND "
			"substr(json_extract(json, '$.question'), 1, length(?1)) = ?1 ORDER BY seq "
			"DESC LIMIT 1",
};

sqlite3_stmt *store_prepare(struct store *store, enum statement which)
{
	if (!store->prepared[which])
		(void)sqlite3_prepare_v3(store->database, statements[which], -1,
					 SQLITE_PREPARE_PERSISTENT, &store->prepared[which], NULL);
	return store->prepared[which];
}

void store_done(sqlite3_stmt **statement)
{
	if (!*statement)
		return;
	sqlite3_reset(*statement);
	sqlite3_clear_bindings(*statement);
}

int store_fail(struct store *store, struct error **ret_error)
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

void store_forget(struct error **ret_error)
{
	if (!ret_error)
		return;
	error_free(*ret_error);
	*ret_error = NULL;
}

int store_execute(struct store *store, const char *sql, struct error **ret_error)
{
	if (sqlite3_exec(store->database, sql, NULL, NULL, NULL) != SQLITE_OK)
		return store_fail(store, ret_error);
	return 0;
}
