/* SPDX-License-Identifier: Apache-2.0 */
/* Figures about questions, counted in the database. Days are those of UTC, as on record. */
#include "stats.h"
#include "../request/text_json.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

/* What is counted: ?1 the first day, ?2 the agent or NULL. What a tier has answered nobody was
 * asked; what was put off is asked again; what still stands may be answered yet. */
#define WANTED "time >= ?1 AND (?2 IS NULL OR agent = ?2)"
#define ASKED                                                                                   \
	WANTED " AND coalesce(tier, 0) = 0 AND coalesce(answer, '') <> 'defer' AND (answer IS " \
	       "NOT NULL OR (SELECT ended FROM runs WHERE id = run))"
#define SAID "answer IN ('approve', 'deny', 'abort')"
/* Each question with its place among those of its group that were answered, by time; group: an
 * expression. */
#define PLACED(group, where)                                                                \
	"(SELECT name, answer, took_ms, row_number() OVER alike AS place, count(*) OVER "   \
	"(PARTITION BY "                                                                    \
	"name, said) AS count, said FROM (SELECT " group " AS name, answer, took_ms, " SAID \
	" AS said FROM asks WHERE " ASKED where                                             \
	") WINDOW alike AS (PARTITION BY name, said ORDER "                                 \
	"BY took_ms))"
#define MEDIAN \
	"avg(CASE WHEN said AND place BETWEEN count / 2.0 AND count / 2.0 + 1 THEN took_ms END)"
/* One row for each group: name, asked, answered yes, answered no, nobody, median. */
#define FIGURES(group)                                                                       \
	"SELECT name, count(*), sum(answer = 'approve'), sum(answer IN ('deny', 'abort')), " \
	"sum(coalesce(answer, 'nobody') = 'nobody'), " MEDIAN                                \
	" FROM " PLACED(group, "") " GROUP BY name"

/* "login@pts/3" is login, wherever he sits. */
#define APPROVER                                                                                  \
	"CASE WHEN by GLOB '*@pts/[0-9]*' OR by GLOB '*@tty*' THEN substr(by, 1, instr(by, '@') " \
	"- 1) "                                                                                   \
	"ELSE by END"

struct counting {
	sqlite3 *database;
	char first[16]; /* day */
	const char *agent;
	struct error **ret_error;
};

static int fail_query(const struct counting *counting)
{
	return fail(counting->ret_error, E_ENGINE, "counting: %s",
		    sqlite3_errmsg(counting->database));
}

static int begin(const struct counting *counting, const char *query, sqlite3_stmt **ret_rows)
{
	if (sqlite3_prepare_v2(counting->database, query, -1, ret_rows, NULL) != SQLITE_OK)
		return fail_query(counting);
	sqlite3_bind_text(*ret_rows, 1, counting->first, -1, SQLITE_STATIC);
	if (counting->agent)
		sqlite3_bind_text(*ret_rows, 2, counting->agent, -1, SQLITE_STATIC);
	return 0;
}

/* Calls each with every row. */
static int count(const struct counting *counting, const char *query,
		 void (*each)(sqlite3_stmt *row, void *data), void *data)
{
	sqlite3_stmt *rows = NULL;
	int state, r = begin(counting, query, &rows);

	if (r < 0)
		return r;
	while ((state = sqlite3_step(rows)) == SQLITE_ROW)
		each(rows, data);
	if (state != SQLITE_DONE)
		r = fail_query(counting);
	sqlite3_finalize(rows);
	return r;
}

static const char *text_at(sqlite3_stmt *row, int column)
{
	return (const char *)sqlite3_column_text(row, column);
}

static json_t *share(int64_t part, int64_t whole, double scale)
{
	return whole ? json_real(scale * (double)part / (double)whole) : json_null();
}

/* The object of a name in an array, made where it is not there. The arrays are bounded by days or
 * by the queries. */
static json_t *object_of(json_t *array, const char *key, const char *name)
{
	json_t *object;
	size_t i;

	json_array_foreach (array, i, object) {
		const char *found = json_string_value(json_object_get(object, key));

		if (found && name ? strcmp(found, name) == 0 : found == name)
			return object;
	}
	object = json_object();
	json_put_text(object, key, name);
	json_put_count(object, "commands", 0);
	json_put_count(object, "asks", 0);
	json_put_count(object, "approved", 0);
	json_put_count(object, "denied", 0);
	json_put_count(object, "unanswered", 0);
	json_put(object, "median_ms", json_null());
	json_array_append_new(array, object);
	return object;
}

static void put_figures(sqlite3_stmt *row, json_t *object)
{
	json_put(object, "asks", json_integer(sqlite3_column_int64(row, 1)));
	json_put(object, "approved", json_integer(sqlite3_column_int64(row, 2)));
	json_put(object, "denied", json_integer(sqlite3_column_int64(row, 3)));
	json_put(object, "unanswered", json_integer(sqlite3_column_int64(row, 4)));
	json_put(object, "median_ms",
		 sqlite3_column_type(row, 5) == SQLITE_NULL
			 ? json_null()
			 : json_integer(sqlite3_column_int64(row, 5)));
}

struct naming {
	json_t *array;
	const char *key;
};

static void take_commands(sqlite3_stmt *row, void *data)
{
	const struct naming *naming = data;

	json_put(object_of(naming->array, naming->key, text_at(row, 0)), "commands",
		 json_integer(sqlite3_column_int64(row, 1)));
}

static void take_figures(sqlite3_stmt *row, void *data)
{
	const struct naming *naming = data;

	put_figures(row, object_of(naming->array, naming->key, text_at(row, 0)));
}

static void add_shares(json_t *object)
{
	int64_t asks = json_integer_value(json_object_get(object, "asks"));
	int64_t yes = json_integer_value(json_object_get(object, "approved"));
	int64_t no = json_integer_value(json_object_get(object, "denied"));
	json_t *commands = json_object_get(object, "commands");

	if (commands)
		json_put(object, "asks_per_100", share(asks, json_integer_value(commands), 100));
	json_put(object, "approved_share", share(yes, yes + no, 1));
}

static int count_all(const struct counting *counting, json_t *stats)
{
	json_t *one = json_array();
	struct naming naming = {one, "name"};
	int r = count(counting, "SELECT NULL, count(*) FROM runs WHERE " WANTED, take_commands,
		      &naming);

	if (r == 0)
		r = count(counting, FIGURES("NULL"), take_figures, &naming);
	if (r == 0) {
		json_t *all = object_of(one, "name", NULL);

		json_object_del(all, "name");
		add_shares(all);
		json_object_update(stats, all);
	}
	json_decref(one);
	return r;
}

/* Every day, for a plot shows those without anything, too. */
static int count_days(const struct counting *counting, json_t *stats)
{
	struct naming naming = {json_array(), "day"};
	int r = count(counting,
		      "WITH RECURSIVE days(day) AS (SELECT ?1 UNION ALL SELECT date(day, '+1 day') "
		      "FROM days WHERE day < date('now')) SELECT day, (SELECT count(*) FROM runs "
		      "WHERE time >= day AND time < date(day, '+1 day') AND (?2 IS NULL OR agent = "
		      "?2)) FROM days",
		      take_commands, &naming);

	if (r == 0)
		r = count(counting, FIGURES("substr(time, 1, 10)"), take_figures, &naming);
	json_put(stats, "by_day", naming.array);
	return r;
}

static int count_agents(const struct counting *counting, json_t *stats)
{
	struct naming naming = {json_array(), "agent"};
	json_t *object;
	size_t i;
	int r = count(counting,
		      "SELECT agent, count(*) FROM runs WHERE " WANTED
		      " GROUP BY agent ORDER BY 2 DESC LIMIT 50",
		      take_commands, &naming);

	if (r == 0)
		r = count(counting, FIGURES("agent") " ORDER BY 2 DESC LIMIT 50", take_figures,
			  &naming);
	json_array_foreach (naming.array, i, object)
		add_shares(object);
	json_put(stats, "by_agent", naming.array);
	return r;
}

/* --- those who answer --- */

struct approvers {
	json_t *array, *warnings;
};

static bool is_hasty(int64_t answers, int64_t fast)
{
	return answers >= STATS_HASTE_LEAST && fast * 100 >= answers * STATS_HASTE_SHARE;
}

static void warn(json_t *warnings, const char *by, int64_t answers, int64_t fast)
{
	char *text;

	if (asprintf(&text,
		     "%s said yes to %lld of %lld questions within two seconds: nobody reads that "
		     "fast; fewer questions (the rules below) would be answered better",
		     by, (long long)fast, (long long)answers) < 0)
		abort();
	json_array_append_new(warnings, json_text(text));
	free(text);
}

static void take_approver(sqlite3_stmt *row, void *data)
{
	const struct approvers *approvers = data;
	int64_t answers = sqlite3_column_int64(row, 1), fast = sqlite3_column_int64(row, 4);
	const char *by = text_at(row, 0);
	json_t *object = json_object();

	json_put_text(object, "by", by);
	json_put(object, "answers", json_integer(answers));
	json_put(object, "approved", json_integer(sqlite3_column_int64(row, 2)));
	json_put(object, "denied", json_integer(sqlite3_column_int64(row, 3)));
	json_put(object, "approved_in_haste", json_integer(fast));
	json_put(object, "median_ms", json_integer(sqlite3_column_int64(row, 5)));
	json_put(object, "hasty", json_boolean(is_hasty(answers, fast)));
	add_shares(object);
	json_array_append_new(approvers->array, object);
	if (is_hasty(answers, fast))
		warn(approvers->warnings, by, answers, fast);
}

static int count_approvers(const struct counting *counting, json_t *stats, json_t *warnings)
{
	struct approvers approvers = {json_array(), warnings};
	int r = count(counting,
		      "SELECT name, count(*), sum(answer = 'approve'), sum(answer <> 'approve'), "
		      "sum(answer = 'approve' AND took_ms <= 2000), " MEDIAN " FROM " PLACED(
			      APPROVER,
			      " AND " SAID
			      " AND by IS NOT NULL") " GROUP BY name ORDER BY 2 DESC LIMIT 50",
		      take_approver, &approvers);

	json_put(stats, "by_approver", approvers.array);
	return r;
}

/* --- rules --- */

static const char alike[] =
	"SELECT what, count(*), sum(coalesce(answer, '') = 'approve'), sum(coalesce(answer, '') IN "
	"('deny', 'abort')), denies, count(DISTINCT command), max(seq) FROM ask_rules JOIN asks "
	"USING (seq) WHERE " ASKED " GROUP BY what, denies HAVING count(*) > 1 AND "
	"sum(coalesce(answer, '') = CASE denies WHEN 1 THEN 'deny' ELSE 'approve' END) = count(*) "
	"ORDER BY 2 DESC, length(what), what LIMIT 200";

/* Questions that a rule that was named already would have spared. */
struct saving {
	const struct counting *counting;
	json_t *rules;
	sqlite3_stmt *asks, *mark, *newest;
	int fault;
};

static bool step(struct saving *saving, sqlite3_stmt *statement, int last)
{
	int state = sqlite3_step(statement);

	if (state != last && saving->fault == 0 && state != SQLITE_ROW && state != SQLITE_DONE)
		saving->fault = fail_query(saving->counting);
	return state == last;
}

/* Of those that it would have spared, how many no rule before it would have. */
static int64_t count_new(struct saving *saving, const char *what, int denies)
{
	int64_t found = 0;

	sqlite3_bind_text(saving->asks, 1, saving->counting->first, -1, SQLITE_STATIC);
	if (saving->counting->agent)
		sqlite3_bind_text(saving->asks, 2, saving->counting->agent, -1, SQLITE_STATIC);
	sqlite3_bind_text(saving->asks, 3, what, -1, SQLITE_STATIC);
	sqlite3_bind_int(saving->asks, 4, denies);
	if (step(saving, saving->asks, SQLITE_ROW))
		found = sqlite3_column_int64(saving->asks, 0);
	sqlite3_reset(saving->asks);
	return found;
}

static void mark_spared(struct saving *saving, const char *what, int denies)
{
	sqlite3_bind_text(saving->mark, 1, what, -1, SQLITE_STATIC);
	sqlite3_bind_int(saving->mark, 2, denies);
	step(saving, saving->mark, SQLITE_DONE);
	sqlite3_reset(saving->mark);
}

/* What the rule means beyond what was asked, in words. Caller frees. */
static char *admits(const char *covers, const char *cwd, const char *what, bool denies)
{
	const char *grants = strchr(what, 31);
	char *text = NULL;
	int r;

	if (!covers)
		r = asprintf(&text, "exactly this command in %s, and nothing else",
			     cwd ? cwd : "its directory");
	else
		r = asprintf(&text,
			     "every '%s' that nothing more speaks against, in every directory%s%s",
			     covers,
			     !denies && grants && strcmp(grants + 1, "[]") != 0 ? "; it is given "
										: "",
			     !denies && grants && strcmp(grants + 1, "[]") != 0 ? grants + 1 : "");
	if (r < 0)
		abort();
	return text;
}

static void take_rule(sqlite3_stmt *row, void *data)
{
	struct saving *saving = data;
	const char *what = text_at(row, 0);
	int denies = sqlite3_column_int(row, 4);
	int64_t asks;
	json_t *object;

	if (saving->fault < 0 || json_array_size(saving->rules) >= STATS_RULES ||
	    (asks = count_new(saving, what, denies)) < 2)
		return;
	sqlite3_bind_int64(saving->newest, 1, sqlite3_column_int64(row, 6));
	sqlite3_bind_text(saving->newest, 2, what, -1, SQLITE_STATIC);
	sqlite3_bind_int(saving->newest, 3, denies);
	if (step(saving, saving->newest, SQLITE_ROW)) {
		const char *covers = text_at(saving->newest, 3);
		_cleanup_free_ char *more =
			admits(covers, text_at(saving->newest, 2), what, denies);

		object = json_object();
		json_put_text(object, "do", denies ? "deny" : "allow");
		json_put(object, "asks", json_integer(asks));
		json_put(object, "commands", json_integer(sqlite3_column_int64(row, 5)));
		json_put_text(object, "rule", text_at(saving->newest, 0));
		json_put_text(object, "example", text_at(saving->newest, 1));
		json_put_text(object, "covers", covers);
		json_put_text(object, "admits", more);
		json_array_append_new(saving->rules, object);
		mark_spared(saving, what, denies);
	}
	sqlite3_reset(saving->newest);
}

static int count_rules(const struct counting *counting, json_t *stats)
{
	static const char asks[] =
		"SELECT count(*) FROM ask_rules JOIN asks USING (seq) WHERE " ASKED
		" AND what = ?3 AND denies = ?4 AND seq NOT IN (SELECT seq FROM temp.spared)";
	static const char mark[] = "INSERT OR IGNORE INTO temp.spared SELECT seq FROM ask_rules "
				   "WHERE what = ?1 AND denies = ?2";
	static const char newest[] = "SELECT rule, command, cwd, covers FROM ask_rules JOIN asks "
				     "USING (seq) WHERE seq = ?1 AND what = ?2 AND denies = ?3";
	struct saving saving = {.counting = counting, .rules = json_array()};
	int r = 0;

	if (sqlite3_exec(counting->database,
			 "PRAGMA temp_store = MEMORY; CREATE TEMP TABLE IF NOT EXISTS spared (seq "
			 "INTEGER PRIMARY KEY); DELETE FROM temp.spared;",
			 NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(counting->database, asks, -1, &saving.asks, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(counting->database, mark, -1, &saving.mark, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(counting->database, newest, -1, &saving.newest, NULL) != SQLITE_OK)
		r = fail_query(counting);
	if (r == 0)
		r = count(counting, alike, take_rule, &saving);
	sqlite3_finalize(saving.asks);
	sqlite3_finalize(saving.mark);
	sqlite3_finalize(saving.newest);
	json_put(stats, "rules", saving.rules);
	return r < 0 ? r : saving.fault;
}

static void take_day(sqlite3_stmt *row, void *data)
{
	struct counting *counting = data;

	snprintf(counting->first, sizeof(counting->first), "%s", text_at(row, 0));
}

int stats_json(struct store *store, unsigned days, const char *agent, json_t **ret_stats,
	       struct error **ret_error)
{
	struct counting counting = {store_database(store), "", agent, ret_error};
	json_t *stats = json_object(), *warnings = json_array();
	char query[80];
	int r;

	days = MIN(MAX(days, 1u), (unsigned)STATS_DAYS_MOST);
	snprintf(query, sizeof(query), "SELECT date('now', '-%u days')", days - 1);
	r = count(&counting, query, take_day, &counting);
	json_put_count(stats, "days", days);
	json_put_text(stats, "from", counting.first);
	json_put_text(stats, "agent", agent);
	if (r == 0)
		r = count_all(&counting, stats);
	if (r == 0)
		r = count_days(&counting, stats);
	if (r == 0)
		r = count_agents(&counting, stats);
	if (r == 0)
		r = count_approvers(&counting, stats, warnings);
	if (r == 0)
		r = count_rules(&counting, stats);
	json_put(stats, "warnings", warnings);
	if (r < 0)
		json_decref(stats);
	else
		*ret_stats = stats;
	return r;
}
