/* SPDX-License-Identifier: Apache-2.0 */
#include "search.h"
#include "search_index.h"
#include "../base/buffer.h"
#include "../request/text_json.h"

#include <sqlite3.h>
#include <string.h>

enum { PREPARE_ALL = -1 };

static int fail_search(struct store *store, struct error **ret_error)
{
	return fail(ret_error, E_ENGINE, "looking for runs: %s",
		    sqlite3_errmsg(store_database(store)));
}

static void finalize(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
}
#define _cleanup_statement_ _cleanup_(finalize)

static json_t *column_json(sqlite3_stmt *row, int column)
{
	json_t *text;

	switch (sqlite3_column_type(row, column)) {
	case SQLITE_INTEGER:
		return json_integer(sqlite3_column_int64(row, column));
	case SQLITE_FLOAT:
		return json_real(sqlite3_column_double(row, column));
	case SQLITE_TEXT:
		text = json_stringn((const char *)sqlite3_column_text(row, column),
				    (size_t)sqlite3_column_bytes(row, column));
		return text ? text : json_null(); /* a damaged file may hold anything */
	default:
		return json_null();
	}
}

/* % and _ are only themselves; '\\' stands before them. Caller frees. */
static char *like_pattern(const char *text)
{
	struct buffer pattern = {0};

	buffer_add_char(&pattern, '%');
	for (; *text; text++) {
		if (strchr("%_\\", *text))
			buffer_add_char(&pattern, '\\');
		buffer_add_char(&pattern, *text);
	}
	buffer_add_char(&pattern, '%');
	return buffer_steal(&pattern);
}

/* The source is in the records alone: it is looked up for the rows that are shown. */
static const char columns[] =
	"SELECT runs.seq, id, time, runs.agent, session, runs.command, verdict, exit_code, "
	"duration_ms, denials, ended, error, (SELECT coalesce(json_extract(json, "
	"'$.result.source'), json_extract(json, '$.source')) FROM records WHERE run = id AND kind "
	"IN "
	"('run.end', 'run.start') ORDER BY seq DESC LIMIT 1) FROM ";

/* Where the search begins: with what is rarest, as far as there is an index of it. */
static const char from_all[] = "runs WHERE runs.seq < ?1";
static const char from_texts[] = "search.texts CROSS JOIN runs ON runs.seq = texts.rowid WHERE "
				 "texts MATCH ?7 AND texts.rowid "
				 "< ?1";
static const char from_owners[] =
	"search.owners CROSS JOIN runs ON runs.seq = owners.seq WHERE owners.agent = ?3 AND "
	"owners.seq < ?1";

static json_t *run_row(sqlite3_stmt *row)
{
	static const char *const names[] = {"run",     "time",	  "agent",     "session",
					    "command", "verdict", "exit_code", "duration_ms",
					    "denials", "ended",	  "error",     "source"};
	json_t *run = json_object();

	for (size_t i = 0; i < ELEMENTS(names); i++)
		json_put(run, names[i], column_json(row, (int)i + 1));
	json_put(run, "ended", json_boolean(json_integer_value(json_object_get(run, "ended"))));
	return run;
}

/* The whole question. Caller frees *ret_match, which is what the index is asked for, or NULL. */
static char *make_sql(const struct search *search, char **ret_match)
{
	const struct {
		const char *value, *where;
	} terms[] = {
		{search->text, " AND runs.command LIKE ?2 ESCAPE '\\'"},
		{search->agent, " AND runs.agent = ?3"},
		{search->session, " AND session = ?4"},
		{search->verdict, " AND verdict = ?5"},
	};
	struct buffer sql = {0};

	*ret_match = search->indexed && search->text ? search_match(search->text) : NULL;
	buffer_add_text(&sql, columns);
	buffer_add_text(&sql, *ret_match			 ? from_texts
			      : search->indexed && search->agent ? from_owners
								 : from_all);
	for (size_t i = 0; i < ELEMENTS(terms); i++)
		if (terms[i].value)
			buffer_add_text(&sql, terms[i].where);
	buffer_printf(&sql, " ORDER BY %s DESC LIMIT ?6",
		      *ret_match			 ? "texts.rowid"
		      : search->indexed && search->agent ? "owners.seq"
							 : "runs.seq");
	return buffer_steal(&sql);
}

static void bind_text(sqlite3_stmt *rows, int index, const char *text)
{
	if (text)
		sqlite3_bind_text(rows, index, text, -1, SQLITE_TRANSIENT);
}

static int bind_search(struct store *store, const struct search *search, sqlite3_stmt **ret_rows)
{
	_cleanup_free_ char *match = NULL, *sql = make_sql(search, &match);
	_cleanup_free_ char *pattern = search->text ? like_pattern(search->text) : NULL;
	int r = sqlite3_prepare_v2(store_database(store), sql, PREPARE_ALL, ret_rows, NULL);

	if (r != SQLITE_OK)
		return r;
	sqlite3_bind_int64(*ret_rows, 1,
			   search->before ? (sqlite3_int64)search->before : INT64_MAX);
	bind_text(*ret_rows, 2, pattern);
	bind_text(*ret_rows, 3, search->agent);
	bind_text(*ret_rows, 4, search->session);
	bind_text(*ret_rows, 5, search->verdict);
	/* One more tells whether there is another page. */
	sqlite3_bind_int64(*ret_rows, 6, (sqlite3_int64)search->limit + 1);
	bind_text(*ret_rows, 7, match);
	return SQLITE_OK;
}

int search_runs(struct store *store, const struct search *search, json_t **ret_rows,
		uint64_t *ret_next, struct error **ret_error)
{
	_cleanup_statement_ sqlite3_stmt *rows = NULL;
	json_t *found = json_array();
	uint64_t last = 0;
	int state = bind_search(store, search, &rows);

	*ret_next = 0;
	while (state == SQLITE_OK || state == SQLITE_ROW) {
		state = sqlite3_step(rows);
		if (state != SQLITE_ROW)
			break;
		if (json_array_size(found) == search->limit) {
			*ret_next = last;
			state = SQLITE_DONE;
			break;
		}
		last = (uint64_t)sqlite3_column_int64(rows, 0);
		if (json_array_append_new(found, run_row(rows)) < 0)
			abort();
	}
	if (state != SQLITE_DONE) {
		json_decref(found);
		return fail_search(store, ret_error);
	}
	*ret_rows = found;
	return 0;
}

/* The object of that agent, which is there once. */
static json_t *agent_of(json_t *agents, json_t *name)
{
	json_t *agent;
	size_t i;

	json_array_foreach (agents, i, agent)
		if (json_equal(json_object_get(agent, "agent"), name))
			return agent;
	if (json_array_size(agents) >= SEARCH_AGENTS)
		return NULL;
	agent = json_pack("{s:O, s:i, s:n, s:[]}", "agent", name, "runs", 0, "last", "sessions");
	if (json_array_append_new(agents, agent) < 0)
		abort();
	return agent;
}

static void add_group(json_t *agents, sqlite3_stmt *row)
{
	json_t *name = column_json(row, 0), *agent = agent_of(agents, name), *sessions;
	json_int_t runs = sqlite3_column_int64(row, 2);

	json_decref(name);
	if (!agent)
		return;
	if (json_is_null(json_object_get(agent, "last")))
		json_put(agent, "last", column_json(row, 3));
	json_put(agent, "runs",
		 json_integer(json_integer_value(json_object_get(agent, "runs")) + runs));
	sessions = json_object_get(agent, "sessions");
	if (json_array_size(sessions) < SEARCH_SESSIONS &&
	    json_array_append_new(sessions,
				  json_pack("{s:o, s:I, s:o}", "session", column_json(row, 1),
					    "runs", runs, "last", column_json(row, 3))) < 0)
		abort();
}

int search_agents(struct store *store, bool indexed, json_t **ret_agents, struct error **ret_error)
{
	static const char all[] =
		"SELECT agent, session, count(*), max(time) AS last FROM runs GROUP BY agent, "
		"session ORDER BY last DESC";
	static const char groups[] =
		"SELECT nullif(agent, ''), nullif(session, ''), runs, last FROM search.groups "
		"ORDER BY last DESC";
	_cleanup_statement_ sqlite3_stmt *rows = NULL;
	json_t *agents = json_array();
	int state = sqlite3_prepare_v2(store_database(store), indexed ? groups : all, PREPARE_ALL,
				       &rows, NULL);

	while (state == SQLITE_OK || state == SQLITE_ROW) {
		state = sqlite3_step(rows);
		if (state == SQLITE_ROW)
			add_group(agents, rows);
	}
	if (state != SQLITE_DONE) {
		json_decref(agents);
		return fail_search(store, ret_error);
	}
	*ret_agents = agents;
	return 0;
}
