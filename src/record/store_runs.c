/* SPDX-License-Identifier: Apache-2.0 */
/* What the database is asked about runs. */
#include "store_parts.h"
#include "../base/id.h"

#include <string.h>

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
	_cleanup_statement_ sqlite3_stmt *rows = store_prepare(store, LIST_RUNS);
	int state, r;

	sqlite3_bind_int64(rows, 1, limit);
	while ((state = sqlite3_step(rows)) == SQLITE_ROW) {
		json_t *run = run_from_row(rows);

		r = each(run, data);
		json_decref(run);
		if (r != 0)
			return r;
	}
	return state == SQLITE_DONE ? 0 : store_fail(store, ret_error);
}

int store_open_runs(struct store *store, int (*each)(json_t *first, void *data), void *data,
		    struct error **ret_error)
{
	_cleanup_statement_ sqlite3_stmt *rows = store_prepare(store, OPEN_RUNS);
	int state, r;

	while ((state = sqlite3_step(rows)) == SQLITE_ROW) {
		json_t *first =
			json_loadb((const char *)sqlite3_column_text(rows, 0),
				   (size_t)sqlite3_column_bytes(rows, 0), JSON_ALLOW_NUL, NULL);

		r = first ? each(first, data) : 0;
		json_decref(first);
		if (r != 0)
			return r;
	}
	return state == SQLITE_DONE ? 0 : store_fail(store, ret_error);
}

/* The full id of the run that the text names. Caller frees. */
static int find_run(struct store *store, const char *id, char **ret_id, struct error **ret_error)
{
	bool last = strcmp(id, "last") == 0;
	/* A whole id is looked up, the beginning of one looked for. */
	_cleanup_statement_ sqlite3_stmt *rows = store_prepare(store, last	      ? LAST_RUN
								      : id_is_one(id) ? HAS_RUN
										      : FIND_RUNS);
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
		return store_fail(store, ret_error);
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
			return store_fail(store, ret_error);
	}
	*ret_id = STEAL(found);
	return 0;
}

/* Adds what the records of a run say to the object that a list would show. */
static int add_records(struct store *store, const char *id, json_t *run, struct error **ret_error)
{
	_cleanup_statement_ sqlite3_stmt *rows = store_prepare(store, RECORDS_OF_RUN);
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
		if (kind && strcmp(kind, "run.lost") == 0)
			json_object_set(run, "ended_at", json_object_get(record, "time"));
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
	return state == SQLITE_DONE ? 0 : store_fail(store, ret_error);
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
	row = store_prepare(store, ONE_RUN);
	sqlite3_bind_text(row, 1, full, -1, SQLITE_TRANSIENT);
	if (sqlite3_step(row) != SQLITE_ROW)
		return store_fail(store, ret_error);
	run = run_from_row(row);
	r = add_records(store, full, run, ret_error);
	if (r < 0) {
		json_decref(run);
		return r;
	}
	*ret_run = run;
	return 0;
}

json_t *store_answer(struct store *store, const char *question)
{
	_cleanup_statement_ sqlite3_stmt *rows = store_prepare(store, FIND_ANSWER);

	sqlite3_bind_text(rows, 1, question, -1, SQLITE_TRANSIENT);
	if (!*question || sqlite3_step(rows) != SQLITE_ROW)
		return NULL;
	return json_loads((const char *)sqlite3_column_text(rows, 0), 0, NULL);
}
