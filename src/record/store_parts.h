/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the store share. */
#pragma once

#include "store.h"
#include <sqlite3.h>
#include <stdint.h>

enum { SCHEMA_VERSION = 3 };

enum statement {
	READ_META,
	WRITE_META,
	ADD_RECORD,
	ADD_RUN,
	START_RUN,
	ASK_RUN,
	END_RUN,
	LOSE_RUN,
	ADD_ASK,
	ADD_ASK_RULES,
	ANSWER_ASK,
	OPEN_RUNS,
	LIST_RUNS,
	LAST_RUN,
	FIND_RUNS,
	HAS_RUN,
	ONE_RUN,
	RECORDS_OF_RUN,
	FIND_ANSWER,
	STATEMENTS,
};

struct store {
	char *directory, *path;
	int turn; /* the directory, to be locked while the database is opened or closed */
	sqlite3 *database;
	sqlite3_stmt *prepared[STATEMENTS];
	bool damaged;	      /* an answer of SQLite showed that the file is not what ward wrote */
	unsigned patience_ms; /* to wait for others, and to take in; 0: as long as it takes */
	bool behind;	      /* which was not long enough to take in all */
};

/* store_sql.c. Every query ends in store_done(), so that no read transaction stays open between
 * calls. */
extern const char store_schema[];
sqlite3_stmt *store_prepare(struct store *store, enum statement which);
void store_done(sqlite3_stmt **statement);
#define _cleanup_statement_ _cleanup_(store_done)
int store_execute(struct store *store, const char *sql, struct error **ret_error);
/* To be called before any other call on the database, which would put its own outcome in place of
 * the failure. */
int store_fail(struct store *store, struct error **ret_error);
/* A failure that was got over is not the caller's. */
void store_forget(struct error **ret_error);

/* store_take.c: one pass over what the log has gained, in the open transaction. */
int store_take_in(struct store *store, struct error **ret_error);
/* True if the log ends where the database stopped, so that most openings write nothing. */
bool store_is_up_to_date(struct store *store);
