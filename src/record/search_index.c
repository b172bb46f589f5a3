/* SPDX-License-Identifier: Apache-2.0 */
#include "search_index.h"
#include "../base/buffer.h"
#include "../base/escape.h"
#include "../base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

enum { INDEX_VERSION = 1, PARTS_MOST = 24 };

/* Only which runs have a part is kept, not where in them: what is found is held against the command
 * itself. */
static const char schema[] =
	"DROP TABLE IF EXISTS search.meta; DROP TABLE IF EXISTS search.texts;"
	"DROP TABLE IF EXISTS search.owners; DROP TABLE IF EXISTS search.groups;"
	"CREATE TABLE search.meta (one INTEGER PRIMARY KEY CHECK (one = 1), first TEXT, last "
	"INTEGER);"
	"INSERT INTO search.meta VALUES (1, (SELECT json_extract(json, '$.hash') FROM records "
	"ORDER "
	"BY seq LIMIT 1), 0);"
	"CREATE VIRTUAL TABLE search.texts USING fts5(command, content = '', detail = none, "
	"tokenize = 'trigram');"
	"CREATE TABLE search.owners (agent TEXT, seq INTEGER, PRIMARY KEY (agent, seq)) WITHOUT "
	"ROWID;"
	"CREATE TABLE search.groups (agent TEXT, session TEXT, runs INTEGER, last TEXT, PRIMARY "
	"KEY "
	"(agent, session)) WITHOUT ROWID;"
	"PRAGMA search.user_version = 1;";

/* Those that come next, ?1 being the last that is there. */
#define BATCH \
	"(SELECT * FROM runs WHERE seq > (SELECT last FROM search.meta) ORDER BY seq LIMIT 1000)"
static const char take_batch[] =
	"INSERT INTO search.texts (rowid, command) SELECT seq, coalesce(command, '') FROM " BATCH
	";"
	"INSERT INTO search.owners SELECT coalesce(agent, ''), seq FROM " BATCH ";"
	"INSERT INTO search.groups SELECT coalesce(agent, ''), coalesce(session, ''), count(*), "
	"max(time) FROM " BATCH " WHERE true GROUP BY 1, 2 ON CONFLICT DO UPDATE SET runs = runs + "
	"excluded.runs, last = max(last, excluded.last);"
	"UPDATE search.meta SET last = coalesce((SELECT max(seq) FROM " BATCH "), last);";

static int fail_index(struct store *store, struct error **ret_error)
{
	return fail(ret_error, E_ENGINE, "the index of runs: %s",
		    sqlite3_errmsg(store_database(store)));
}

static int execute(struct store *store, const char *sql, struct error **ret_error)
{
	if (sqlite3_exec(store_database(store), sql, NULL, NULL, NULL) != SQLITE_OK)
		return fail_index(store, ret_error);
	return 0;
}

/* The one number that the query gives; -1 where there is none. */
static int64_t ask_number(struct store *store, const char *sql)
{
	sqlite3_stmt *row = NULL;
	int64_t number = -1;

	if (sqlite3_prepare_v2(store_database(store), sql, -1, &row, NULL) == SQLITE_OK &&
	    sqlite3_step(row) == SQLITE_ROW)
		number = sqlite3_column_int64(row, 0);
	sqlite3_finalize(row);
	return number;
}

/* Made from the log that the store is made from, and by this version. */
static bool is_of_this_log(struct store *store)
{
	return ask_number(store, "PRAGMA search.user_version") == INDEX_VERSION &&
	       ask_number(store,
			  "SELECT first IS (SELECT json_extract(json, '$.hash') FROM records "
			  "ORDER BY seq LIMIT 1) FROM search.meta") == 1;
}

static bool is_complete(struct store *store)
{
	return ask_number(store,
			  "SELECT (SELECT last FROM search.meta) >= coalesce((SELECT max(seq) "
			  "FROM runs), 0)") == 1;
}

static int take_some(struct store *store, struct error **ret_error)
{
	int r = execute(store, "BEGIN IMMEDIATE", ret_error);

	if (r < 0)
		return r;
	if (!is_of_this_log(store))
		r = execute(store, schema, ret_error);
	if (r == 0)
		r = execute(store, take_batch, ret_error);
	if (r == 0)
		r = execute(store, "COMMIT", ret_error);
	if (r < 0)
		(void)sqlite3_exec(store_database(store), "ROLLBACK", NULL, NULL, NULL);
	return r;
}

static int attach(struct store *store, const char *state, struct error **ret_error)
{
	_cleanup_free_ char *path = NULL;
	sqlite3_stmt *statement = NULL;
	int fd, r;

	if (asprintf(&path, "%s/search.db", state) < 0)
		abort();
	/* SQLite would make it readable for others. */
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "cannot open %s", path);
	close(fd);
	if (sqlite3_prepare_v2(store_database(store), "ATTACH ?1 AS search", -1, &statement,
			       NULL) == SQLITE_OK)
		sqlite3_bind_text(statement, 1, path, -1, SQLITE_STATIC);
	r = statement && sqlite3_step(statement) == SQLITE_DONE ? 0 : -E_ENGINE;
	if (r < 0)
		fail_index(store, ret_error);
	sqlite3_finalize(statement);
	return r < 0 ? r
		     : execute(store,
			       "PRAGMA search.journal_mode = WAL; PRAGMA search.synchronous = OFF;",
			       ret_error);
}

int search_attach(struct store *store, const char *state, unsigned patience_ms, bool *ret_complete,
		  struct error **ret_error)
{
	uint64_t end = monotonic_ns() + patience_ms * (uint64_t)1000000;
	int r = attach(store, state, ret_error);

	while (r == 0) {
		*ret_complete = is_of_this_log(store) && is_complete(store);
		if (*ret_complete || monotonic_ns() >= end)
			break;
		r = take_some(store, ret_error);
	}
	return r;
}

char *search_match(const char *text)
{
	struct buffer match = {0};
	size_t length = strlen(text), starts[3] = {0}, count = 0, parts = 0, at = 0;
	unsigned code;

	while (at < length && parts < PARTS_MOST) {
		size_t step = utf8_decode(text + at, length - at, &code);

		if (step == 0)
			break;
		starts[count++ % 3] = at;
		at += step;
		if (count < 3)
			continue;
		buffer_add_text(&match, parts++ ? " AND \"" : "\"");
		for (size_t i = starts[count % 3]; i < at; i++) {
			if (text[i] == '"')
				buffer_add_char(&match, '"');
			buffer_add_char(&match, text[i]);
		}
		buffer_add_char(&match, '"');
	}
	if (parts == 0) {
		buffer_done(&match);
		return NULL;
	}
	return buffer_steal(&match);
}
