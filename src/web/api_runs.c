/* SPDX-License-Identifier: Apache-2.0 */
/* Runs: what was run, one of them with all that is on record, and what it writes. */
#include "../escalate/queue.h"
#include "../record/search.h"
#include "../record/search_index.h"
#include "../record/stats.h"
#include "../request/text_json.h"
#include "query.h"
#include "run_output.h"
#include "web_parts.h"

#include <stdio.h>
#include <string.h>

enum { ROWS_USUAL = 50, ROWS_MOST = 500, INDEX_PATIENCE_MS = 150 };

/* True if there is an index of all runs; else it is looked at each of them. */
static bool is_indexed(struct web_call *call, struct store *store)
{
	bool complete = false;

	return search_attach(store, call->web->state, INDEX_PATIENCE_MS, &complete, NULL) == 0 &&
	       complete;
}

/* An empty parameter is none. */
static const char *or_none(const char *text)
{
	return text && *text ? text : NULL;
}

static void find_runs(struct web_call *call, struct search *search, struct web_reply *reply)
{
	_cleanup_error_ struct error *error = NULL;
	struct store *store = api_store(call, reply);
	json_t *rows = NULL, *body;
	uint64_t next = 0;
	char cursor[32];

	if (!store)
		return;
	search->indexed = is_indexed(call, store);
	if (search_runs(store, search, &rows, &next, &error) < 0) {
		reply_failure(reply, 500, error);
	} else {
		snprintf(cursor, sizeof(cursor), "%llu", (unsigned long long)next);
		body = json_pack("{s:o, s:o}", "rows", rows, "next",
				 next ? json_string(cursor) : json_null());
		if (store_is_behind(store))
			json_put(body, "behind", json_true());
		reply_json(reply, 200, body);
	}
	store_close(store);
}

void api_history(struct web_call *call, struct web_reply *reply)
{
	const char *query = call->request->query;
	_cleanup_free_ char *text = NULL, *agent = NULL, *session = NULL, *verdict = NULL;
	uint64_t before, limit;

	if (!query_value(query, "query", &text) || !query_value(query, "agent", &agent) ||
	    !query_value(query, "session", &session) || !query_value(query, "verdict", &verdict) ||
	    !query_number(query, "before", 1, INT64_MAX, 0, &before) ||
	    !query_number(query, "limit", 1, ROWS_MOST, ROWS_USUAL, &limit)) {
		reply_error(reply, 400, NULL,
			    "a parameter is too long, not UTF-8, or not a number as it must be");
		return;
	}
	find_runs(call,
		  &(struct search){.text = or_none(text),
				   .agent = or_none(agent),
				   .session = or_none(session),
				   .verdict = or_none(verdict),
				   .before = before,
				   .limit = (unsigned)limit},
		  reply);
}

/* The run of the path, or NULL where the reply says why not. Caller frees. */
static json_t *find_run(struct web_call *call, struct web_reply *reply)
{
	_cleanup_error_ struct error *error = NULL;
	struct store *store = api_store(call, reply);
	json_t *run = NULL;
	int r;

	if (!store)
		return NULL;
	r = store_run(store, call->id, &run, &error);
	if (r < 0)
		reply_failure(reply, r == -E_NOT_FOUND ? 404 : 500, error);
	store_close(store);
	return run;
}

void api_run(struct web_call *call, struct web_reply *reply)
{
	json_t *run = find_run(call, reply);

	if (run)
		reply_json(reply, 200, run);
}

void api_output(struct web_call *call, struct web_reply *reply)
{
	json_t *run = find_run(call, reply);
	struct run_output *output;

	if (!run)
		return;
	output = run_output_open(call->web->state, call->id,
				 json_is_true(json_object_get(run, "ended")),
				 json_object_get(run, "exit_code"));
	json_decref(run);
	reply->status = 200;
	reply->stream = stream_open(&call->web->hub, call->session->id, /* last= */ NULL, output);
	if (reply->stream)
		return;
	run_output_close(output);
	reply_error(reply, 429, "close some of its pages", "this session follows too much");
}

/* How many questions of the agent wait. */
static void count_waiting(void *data, json_t *entry)
{
	json_t *name = json_object_get(json_object_get(entry, "ask"), "agent"), *agent;
	size_t i;

	json_array_foreach (data, i, agent) {
		json_t *own = json_object_get(agent, "agent");

		if (name ? json_equal(own, name) : json_is_null(own))
			json_put(
				agent, "waiting",
				json_integer(json_integer_value(json_object_get(agent, "waiting")) +
					     1));
	}
}

void api_agents(struct web_call *call, struct web_reply *reply)
{
	_cleanup_error_ struct error *error = NULL;
	struct store *store = api_store(call, reply);
	json_t *agents = NULL, *agent;
	size_t i;

	if (!store)
		return;
	if (search_agents(store, is_indexed(call, store), &agents, &error) < 0) {
		reply_failure(reply, 500, error);
	} else {
		json_array_foreach (agents, i, agent)
			json_put(agent, "waiting", json_integer(0));
		(void)queue_list(call->web->state, count_waiting, agents, NULL);
		reply_json(reply, 200, json_pack("{s:o}", "agents", agents));
	}
	store_close(store);
}

void api_stats(struct web_call *call, struct web_reply *reply)
{
	_cleanup_error_ struct error *error = NULL;
	_cleanup_free_ char *agent = NULL;
	struct store *store;
	json_t *stats = NULL;
	uint64_t days;

	if (!query_number(call->request->query, "days", 1, STATS_DAYS_MOST, STATS_DAYS, &days) ||
	    !query_value(call->request->query, "agent", &agent)) {
		reply_error(reply, 400, NULL, "days are 1 to %d", STATS_DAYS_MOST);
		return;
	}
	store = api_store(call, reply);
	if (!store)
		return;
	if (stats_json(store, (unsigned)days, or_none(agent), &stats, &error) < 0)
		reply_failure(reply, 500, error);
	else
		reply_json(reply, 200, stats);
	store_close(store);
}
