/* SPDX-License-Identifier: Apache-2.0 */
/* Runs under way, one object each. */
#include "top.h"
#include "top_parts.h"
#include "../escalate/queue.h"
#include "../record/lost.h"
#include "../record/store.h"
#include "../record/told.h"
#include "../request/text_json.h"
#include "../run/look.h"
#include "../run/run.h"
#include "../run/watch.h"

#include <signal.h>
#include <string.h>

enum { RUNS_MOST = 500, PROCESSES_SHOWN = 200, DENIALS_SHOWN = 10 };

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static bool is_text(const json_t *object, const char *key, const char *text)
{
	const char *value = text_of(object, key);

	return value && text && strcmp(value, text) == 0;
}

struct reading {
	const char *state;
	const struct top_wanted *wanted;
	json_t *alive;	   /* run: the process of its supervisor */
	json_t *questions; /* run: how many wait */
	json_t *rows;
	struct top_sockets sockets;
};

static void note_alive(void *data, const char *run, pid_t supervisor)
{
	struct reading *reading = data;

	json_object_set_new(reading->alive, run, json_integer(supervisor));
}

static int is_alive(const char *run, const void *data)
{
	return json_object_get((const json_t *)data, run) != NULL;
}

static void count_question(struct reading *reading, const char *run)
{
	json_t *before = run ? json_object_get(reading->questions, run) : NULL;

	if (run)
		json_object_set_new(reading->questions, run,
				    json_integer(json_integer_value(before) + 1));
}

static void note_question(void *data, json_t *entry)
{
	struct reading *reading = data;
	json_t *also = json_object_get(entry, "also"), *other;
	size_t i;

	count_question(reading, text_of(entry, "run"));
	json_array_foreach (also, i, other)
		count_question(reading, text_of(other, "run"));
}

static int note_run(json_t *first, void *data)
{
	struct reading *reading = data;
	const struct top_wanted *wanted = reading->wanted;
	const char *run = text_of(first, "run");

	if (!run || !json_object_get(reading->alive, run) ||
	    (wanted->agent && !is_text(first, "agent", wanted->agent)) ||
	    (wanted->session && !is_text(first, "session", wanted->session)) ||
	    json_array_size(reading->rows) >= RUNS_MOST)
		return 0;
	return json_array_append_new(reading->rows, json_pack("{s:s}", "run", run)) < 0 ? -E_ENGINE
											: 0;
}

/* What a run may use, said or not. */
static json_t *limits_of(const json_t *start)
{
	const json_t *said = json_object_get(start, "limits");
	json_t *limits = json_object();
	uint64_t shares = (uint64_t)json_integer_value(json_object_get(said, "millicpus"));

	if (start && !is_text(start, "level", "none")) {
		json_put_count(limits, "memory", usage_of_machine() / 100 * WATCH_MEMORY_PERCENT);
		json_put_count(limits, "processes", WATCH_PROCESSES);
	}
	if (said)
		json_object_update(limits, (json_t *)said);
	json_object_del(limits, "millicpus");
	if (shares)
		json_put(limits, "cpu_percent", json_real((double)shares / 10));
	return limits;
}

static void add_denials(const json_t *record, json_t *all, size_t *count)
{
	json_t *denials = json_object_get(record, "denials"), *denial;
	size_t i;

	json_array_foreach (denials, i, denial) {
		if (is_text(denial, "answer", "granted"))
			continue;
		(*count)++;
		json_array_append(all, denial);
		if (json_array_size(all) > DENIALS_SHOWN)
			json_array_remove(all, 0);
	}
}

/* What the log says of it so far. */
static int read_records(struct reading *reading, struct store *store, json_t *row, bool details,
			struct error **ret_error)
{
	static const char *const members[] = {"agent", "session", "command", "cwd"};
	json_t *run = NULL, *denials = json_array(), *told = json_array(), *record;
	const json_t *start = NULL;
	size_t count = 0, i;
	int r = store_run(store, text_of(row, "run"), &run, ret_error);

	json_array_foreach (json_object_get(run, "records"), i, record) {
		if (is_text(record, "kind", "run.start"))
			start = record;
		if (is_text(record, "kind", "run.denials") ||
		    is_text(record, "kind", "run.attempt"))
			add_denials(record, denials, &count);
		if (is_text(record, "kind", "run.near"))
			json_array_append(told, json_object_get(record, "limit"));
	}
	for (i = 0; i < ELEMENTS(members); i++)
		json_object_set(row, members[i], json_object_get(run, members[i]) ?: json_null());
	json_object_set(row, "level", json_object_get(start, "level") ?: json_null());
	json_object_set(row, "since", json_object_get(run, "time") ?: json_null());
	json_put(row, "limits", limits_of(start));
	json_put_count(row, "denials", count);
	json_put(row, "near", json_incref(told));
	if (details)
		json_object_set(row, "last_denials", denials);
	json_put(row, "questions",
		 json_integer(json_integer_value(
			 json_object_get(reading->questions, text_of(row, "run")))));
	json_decref(told);
	json_decref(denials);
	json_decref(run);
	return r;
}

static json_t *process_object(const struct looked_process *process)
{
	json_t *object = json_object();
	char state[2] = {process->state};

	json_put(object, "pid", json_integer(process->pid));
	json_put(object, "parent", json_integer(process->parent));
	json_put_text(object, "state", state);
	json_put_count(object, "cpu_ms", process->cpu_ns / 1000000);
	json_put_count(object, "memory", process->memory);
	json_put_text(object, "command", process->command);
	return object;
}

/* What the kernel says of its processes. */
static void read_processes(struct reading *reading, json_t *row, bool details)
{
	pid_t supervisor =
		(pid_t)json_integer_value(json_object_get(reading->alive, text_of(row, "run")));
	pid_t init = look_init(supervisor);
	struct looked looked = {0};
	json_t *processes = json_array(), *told;
	bool nameless;

	if (init > 0)
		(void)look(init, details, &looked);
	json_put(row, "pid", json_integer(supervisor));
	json_put_count(row, "cpu_ms", looked.usage.cpu_ns / 1000000);
	json_put_count(row, "memory", looked.usage.memory);
	json_put_count(row, "processes", looked.usage.processes);
	json_put_count(row, "disk_written", looked.usage.written);
	told = looked.socket_count ? told_read(reading->state, text_of(row, "run")) : NULL;
	json_put(row, "connections",
		 top_connections(&reading->sockets, looked.sockets, looked.socket_count,
				 json_object_get(told, "names"), &nameless));
	/* For the next look. It means nothing to who does not expect it. */
	if (nameless && supervisor > 0)
		(void)kill(supervisor, RUN_TELL);
	for (size_t i = 0; details && i < MIN(looked.count, (size_t)PROCESSES_SHOWN); i++)
		json_array_append_new(processes, process_object(&looked.processes[i]));
	if (details)
		json_put(row, "process_list", json_incref(processes));
	json_decref(processes);
	json_decref(told);
	looked_done(&looked);
}

static int read_rows(struct reading *reading, struct error **ret_error)
{
	const char *details = reading->wanted->details;
	struct store *store = NULL;
	json_t *row;
	size_t i;
	int r = store_open(reading->state, &store, ret_error);

	if (r == 0)
		r = store_open_runs(store, note_run, reading, ret_error);
	json_array_foreach (reading->rows, i, row) {
		bool detailed = details && (!*details || is_text(row, "run", details));

		if (r == 0)
			r = read_records(reading, store, row, detailed, ret_error);
		if (r == 0)
			read_processes(reading, row, detailed);
	}
	store_close(store);
	return r;
}

int top_read(const char *state, const struct top_wanted *wanted, json_t **ret_rows,
	     struct error **ret_error)
{
	struct reading reading = {.state = state,
				  .wanted = wanted,
				  .alive = json_object(),
				  .questions = json_object(),
				  .rows = json_array()};
	int r = runs_settle(state, note_alive, &reading, ret_error);

	told_sweep(state, is_alive, reading.alive);
	if (r == 0)
		r = queue_list(state, note_question, &reading, ret_error);
	if (r == 0)
		r = read_rows(&reading, ret_error);
	top_sockets_done(&reading.sockets);
	json_decref(reading.alive);
	json_decref(reading.questions);
	if (r == 0)
		*ret_rows = reading.rows;
	else
		json_decref(reading.rows);
	return r;
}
