/* SPDX-License-Identifier: Apache-2.0 */
/* State that is asked questions: an SQLite database (WAL) beside the audit log, brought up to date
 * from it when opened. */
#pragma once

#include "../base/error.h"
#include "audit.h"
#include <jansson.h>
#include <stdbool.h>

struct store;

/* Opens state.db in directory and takes in what the audit log has gained. The database is derived:
 * deleted, it is made anew. */
int store_open(const char *directory, struct store **ret_store, struct error **ret_error);
/* The same for somebody who waits to see a question: waits for others, and takes in, for at most so
 * many milliseconds each. What could not be taken in then the next opening takes. */
int store_open_within(const char *directory, unsigned patience_ms, struct store **ret_store,
		      struct error **ret_error);
/* What the database knows of the log from which it was made, as it stands: nothing is taken in. All
 * 0 where there is none, or it cannot be asked. */
void store_seen(const char *directory, struct audit_seen *ret_seen);
bool store_is_behind(const struct store *store);
void store_close(struct store *store);
/* For the files of this room. */
struct sqlite3 *store_database(struct store *store);

/* Runs, newest first, at most limit; each is called with the run's object (borrowed): id, time,
 * agent, session, command, cwd, verdict, exit_code, duration_ms, denials (how many), ended (false
 * while running, or where ward was killed and nobody has noticed yet: runs_settle()). */
int store_runs(struct store *store, unsigned limit, int (*each)(json_t *run, void *data),
	       void *data, struct error **ret_error);
/* The first record (borrowed) of each run whose end is not on record, oldest first. Stops early
 * when each returns non-zero, and returns that. */
int store_open_runs(struct store *store, int (*each)(json_t *first, void *data), void *data,
		    struct error **ret_error);
/* The whole record of one run: "last", a full id, or a prefix that names just one. Caller owns
 * *ret_run. */
int store_run(struct store *store, const char *id, json_t **ret_run, struct error **ret_error);
/* The record of the last answer to a question whose id begins so; NULL: none is on record. Caller
 * frees. */
json_t *store_answer(struct store *store, const char *question);
