/* SPDX-License-Identifier: Apache-2.0 */
/* Noticing that a run is gone. Whoever carries one out holds it in the audit log by a lock that
 * ends with the process. Who finds a run without an end whose lock is free takes that lock, looks
 * once more, and records the end: so it is recorded once. */
#include "lost.h"
#include "audit.h"
#include "monitor.h"
#include "store.h"

#include <stdbool.h>
#include <string.h>

struct search {
	struct audit *audit;
	const char *run; /* the only one that is meant, or NULL */
	void (*alive)(void *data, const char *run, pid_t supervisor);
	void *data;
	json_t *gone; /* the first records of those that nobody holds */
};

static const char *run_of(const json_t *record)
{
	return json_string_value(json_object_get(record, "run"));
}

static int sort_out(json_t *first, void *data)
{
	struct search *search = data;
	const char *run = run_of(first);

	if (!run || (search->run && strcmp(search->run, run) != 0))
		return 0;
	if (!audit_is_held(search->audit, run))
		return json_array_append(search->gone, first);
	if (search->alive)
		search->alive(search->data, run,
			      (pid_t)json_integer_value(json_object_get(first, "pid")));
	return 0;
}

static int look(const char *state, struct search *search, struct error **ret_error)
{
	struct store *store = NULL;
	int r = store_open(state, &store, ret_error);

	search->gone = json_array();
	if (r == 0)
		r = store_open_runs(store, sort_out, search, ret_error);
	store_close(store);
	return r;
}

static int record_end(const char *state, struct audit *audit, const json_t *first,
		      struct error **ret_error)
{
	static const char *const who[] = {"agent", "session", "tool", "call_id"};
	json_t *body = json_pack("{s:s}", "why", "whoever carried it out is gone");
	json_t *followed = monitor_lost(state, run_of(first));
	int r = 0;

	for (size_t i = 0; i < ELEMENTS(who); i++)
		if (json_is_string(json_object_get(first, who[i])))
			json_object_set(body, who[i], json_object_get(first, who[i]));
	if (followed)
		r = audit_append(audit, "run.monitored", run_of(first), followed, ret_error);
	if (r == 0)
		r = audit_append(audit, "run.lost", run_of(first), body, ret_error);
	json_decref(followed);
	json_decref(body);
	return r;
}

/* Of two that notice, the second finds the end on record. */
static int end_once(const char *state, const char *run, struct error **ret_error)
{
	struct search again = {.run = run};
	int r = audit_open(state, &again.audit, ret_error);

	if (r == 0 && audit_hold(again.audit, run)) {
		r = look(state, &again, ret_error);
		if (r == 0 && json_array_size(again.gone) > 0)
			r = record_end(state, again.audit, json_array_get(again.gone, 0),
				       ret_error);
	}
	json_decref(again.gone);
	audit_close(again.audit);
	return r;
}

static int settle(const char *state, struct search *search, struct error **ret_error)
{
	int r = audit_open(state, &search->audit, ret_error);
	json_t *first;
	size_t i;

	if (r == 0)
		r = look(state, search, ret_error);
	json_array_foreach (search->gone, i, first)
		r = r == 0 ? end_once(state, run_of(first), ret_error) : r;
	json_decref(search->gone);
	audit_close(search->audit);
	return r;
}

int runs_settle(const char *state, void (*alive)(void *data, const char *run, pid_t supervisor),
		void *data, struct error **ret_error)
{
	struct search search = {.alive = alive, .data = data};

	return settle(state, &search, ret_error);
}

static void note_held(void *data, const char *run, pid_t supervisor)
{
	(void)run;
	(void)supervisor;
	*(bool *)data = true;
}

int run_settle(const char *state, const char *run, struct error **ret_error)
{
	bool held = false;
	struct search search = {.run = run, .alive = note_held, .data = &held};
	int r = settle(state, &search, ret_error);

	return r < 0 ? r : held;
}
