/* SPDX-License-Identifier: Apache-2.0 */
#include "history.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char query[] =
	"SELECT command, time, verdict, exit_code, signal, timed_out, [limit], error, ended,"
	" workspace, id FROM runs WHERE does = ?1 ORDER BY seq DESC LIMIT ?2";

enum column {
	COMMAND,
	TIME,
	VERDICT,
	EXIT_CODE,
	SIGNAL,
	TIMED_OUT,
	LIMIT,
	ERROR,
	ENDED,
	WORKSPACE,
	ID,
};

static const char *text(sqlite3_stmt *row, enum column column)
{
	const char *value = (const char *)sqlite3_column_text(row, (int)column);

	return value ? value : "";
}

static bool is_refused(sqlite3_stmt *row)
{
	return strcmp(text(row, ERROR), "rejected") == 0 || strcmp(text(row, VERDICT), "deny") == 0;
}

static bool went_well(sqlite3_stmt *row)
{
	return sqlite3_column_type(row, EXIT_CODE) == SQLITE_INTEGER &&
	       sqlite3_column_int(row, EXIT_CODE) == 0 && !sqlite3_column_int(row, SIGNAL) &&
	       !sqlite3_column_int(row, TIMED_OUT) && !*text(row, LIMIT) && !*text(row, ERROR);
}

/* Caller frees. */
static char *outcome_of(sqlite3_stmt *row)
{
	char *outcome = NULL;
	int r = 0;

	if (!sqlite3_column_int(row, ENDED))
		r = asprintf(&outcome, "its end is not on record");
	else if (is_refused(row))
		r = asprintf(&outcome, "refused");
	else if (sqlite3_column_int(row, TIMED_OUT))
		r = asprintf(&outcome, "timed out");
	else if (*text(row, LIMIT))
		r = asprintf(&outcome, "ended by its limit of %s", text(row, LIMIT));
	else if (sqlite3_column_int(row, SIGNAL))
		r = asprintf(&outcome, "ended by signal %d", sqlite3_column_int(row, SIGNAL));
	else if (went_well(row))
		r = asprintf(&outcome, "went well");
	else
		r = asprintf(&outcome, "failed: exit code %d", sqlite3_column_int(row, EXIT_CODE));
	if (r < 0)
		abort();
	return outcome;
}

static char *copy(const char *value)
{
	char *result = strdup(value);

	if (!result)
		abort();
	return result;
}

static void run_done(struct history_run *run)
{
	free(run->command);
	free(run->outcome);
	free(run->date);
}

/* Kept in the order of how near they are; of those alike the latest, which comes first. */
static void keep(struct history *history, int nearness[static HISTORY_MOST], sqlite3_stmt *row,
		 int near)
{
	size_t at = history->count;

	while (at > 0 && nearness[at - 1] < near)
		at--;
	if (at == HISTORY_MOST)
		return;
	if (history->count == HISTORY_MOST)
		run_done(&history->runs[--history->count]);
	memmove(&history->runs[at + 1], &history->runs[at],
		(history->count - at) * sizeof(*history->runs));
	memmove(&nearness[at + 1], &nearness[at], (history->count - at) * sizeof(*nearness));
	history->runs[at] = (struct history_run){.command = copy(text(row, COMMAND)),
						 .outcome = outcome_of(row),
						 .date = copy(text(row, TIME))};
	nearness[at] = near;
	history->count++;
}

static void take(struct history *history, int nearness[static HISTORY_MOST], sqlite3_stmt *row,
		 const char *command, const char *workspace)
{
	bool same_place = strcmp(text(row, WORKSPACE), workspace) == 0;

	keep(history, nearness, row, same_place + 2 * (strcmp(text(row, COMMAND), command) == 0));
	if (!sqlite3_column_int(row, ENDED) || is_refused(row))
		return;
	history->ran++;
	history->succeeded += went_well(row);
}

int history_find(struct store *store, const char *does, const char *command, const char *workspace,
		 const char *except, struct history *ret_history, struct error **ret_error)
{
	struct sqlite3 *database = store_database(store);
	int nearness[HISTORY_MOST + 1] = {0}, state;
	struct history history = {0};
	sqlite3_stmt *rows = NULL;
	unsigned seen = 0;

	*ret_history = history;
	if (sqlite3_prepare_v2(database, query, -1, &rows, NULL) != SQLITE_OK)
		return fail(ret_error, E_ENGINE, "%s", sqlite3_errmsg(database));
	sqlite3_bind_text(rows, 1, does, -1, SQLITE_TRANSIENT);
	sqlite3_bind_int(rows, 2, HISTORY_LATEST + 1);
	while ((state = sqlite3_step(rows)) == SQLITE_ROW) {
		if (++seen > HISTORY_LATEST)
			history.more = true;
		else if (strcmp(text(rows, ID), except) != 0)
			take(&history, nearness, rows, command, workspace);
	}
	sqlite3_finalize(rows);
	*ret_history = history;
	return state == SQLITE_DONE ? 0 : fail(ret_error, E_ENGINE, "%s", sqlite3_errmsg(database));
}

void history_done(struct history *history)
{
	for (size_t i = 0; i < history->count; i++)
		run_done(&history->runs[i]);
	*history = (struct history){0};
}
