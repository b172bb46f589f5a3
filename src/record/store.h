/* SPDX-License-Identifier: Apache-2.0 */
/* State that is asked questions: an SQLite database (WAL) beside the audit log, brought up to date
 * from it when opened. */
#pragma once

#include "../base/error.h"
#include <jansson.h>

struct store;

/* Opens state.db in directory and takes in what the audit log has gained. The database is derived:
 * deleted, it is made anew. */
int store_open(const char *directory, struct store **ret_store, struct error **ret_error);
void store_close(struct store *store);

/* Runs, newest first, at most limit; each is called with the run's object (borrowed): id, time,
 * agent, session, command, cwd, verdict, exit_code, duration_ms, denials (how many), ended (false
 * while running or if ward was killed). */
int store_runs(struct store *store, unsigned limit, int (*each)(json_t *run, void *data),
	       void *data, struct error **ret_error);
/* The whole record of one run: "last", a full id, or a prefix that names just one. Caller owns
 * *ret_run. */
int store_run(struct store *store, const char *id, json_t **ret_run, struct error **ret_error);
