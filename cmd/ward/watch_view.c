/* SPDX-License-Identifier: Apache-2.0 */
/* What ward watch shows: questions that wait, runs under way with what they use, the latest that
 * ended. */
#include "output.h"
#include "watch.h"
#include "../../src/base/units.h"
#include "../../src/escalate/queue.h"
#include "../../src/record/incidents.h"
#include "../../src/record/monitor.h"
#include "../../src/record/store.h"
#include "../../src/run/usage.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { QUESTIONS_MOST = 1000, RUNS_MOST = 1000, ENDED_MOST = 100, COUNTED_MOST = 20 };

static const uint64_t count_every_ns = 900 * UINT64_C(1000000);

static void note_question(void *data, json_t *entry)
{
	json_t *array = data;

	if (json_array_size(array) < QUESTIONS_MOST)
		json_array_append(array, entry);
}

static int note_running(json_t *first, void *data)
{
	json_t *array = data;

	if (json_array_size(array) < RUNS_MOST)
		json_array_append(array, first);
	return 0;
}

static int note_ended(json_t *run, void *data)
{
	if (json_is_true(json_object_get(run, "ended")))
		json_array_append((json_t *)data, run);
	return 0;
}

int watched_read(struct watched *watched, struct error **ret_error)
{
	struct store *store = NULL;
	int r;

	json_decref(watched->questions);
	json_decref(watched->running);
	json_decref(watched->ended);
	watched->questions = json_array();
	watched->running = json_array();
	watched->ended = json_array();
	r = queue_list(watched->state, note_question, watched->questions, ret_error);
	if (r == 0)
		r = store_open(watched->state, &store, ret_error);
	if (r == 0)
		r = store_open_runs(store, note_running, watched->running, ret_error);
	if (r == 0)
		r = store_runs(store, ENDED_MOST, note_ended, watched->ended, ret_error);
	store_close(store);
	return r;
}

void watched_done(struct watched *watched)
{
	json_decref(watched->questions);
	json_decref(watched->running);
	json_decref(watched->ended);
	json_decref(watched->used);
}

size_t watched_count(const struct watched *watched)
{
	return json_array_size(watched->questions) + json_array_size(watched->running) +
	       json_array_size(watched->ended);
}

json_t *watched_row(const struct watched *watched, size_t number, enum row_kind *ret_kind)
{
	json_t *const parts[] = {watched->questions, watched->running, watched->ended};

	for (enum row_kind kind = ROW_QUESTION; kind <= ROW_ENDED; kind++) {
		size_t count = json_array_size(parts[kind]);

		*ret_kind = kind;
		if (number < count)
			return json_array_get(parts[kind], number);
		number -= count;
	}
	return NULL;
}

const char *row_id(json_t *row, enum row_kind kind)
{
	return text_of(row, kind == ROW_RUNNING ? "run" : "id");
}

void question_risk(json_t *entry, struct buffer *text)
{
	static const struct {
		const char *level, *mark;
	} marks[] = {{"low", "   "}, {"medium", "!  "}, {"high", "!! "}, {"critical", "!!!"}};
	const char *level =
		text_of(json_object_get(json_object_get(entry, "ask"), "risk"), "level");

	for (size_t i = 0; i < ELEMENTS(marks); i++)
		if (level && strcmp(level, marks[i].level) == 0)
			buffer_printf(text, "%s %s", marks[i].mark, level);
}

const char *question_wants(json_t *entry)
{
	json_t *grants = json_object_get(json_object_get(entry, "ask"), "grants");
	const char *wants = json_string_value(json_array_get(grants, 0));

	return wants ? wants : "to run";
}

void age_of(const char *time, char ret_text[static AGE_TEXT])
{
	struct tm parts = {0};
	struct timespec now;
	long long seconds = 0;

	clock_gettime(CLOCK_REALTIME, &now);
	if (time && strptime(time, "%Y-%m-%dT%H:%M:%S", &parts))
		seconds = (long long)now.tv_sec - (long long)timegm(&parts);
	seconds = MAX(seconds, 0);
	if (seconds < 100)
		snprintf(ret_text, AGE_TEXT, "%llds", seconds);
	else if (seconds < 100 * 60)
		snprintf(ret_text, AGE_TEXT, "%lldm", seconds / 60);
	else
		snprintf(ret_text, AGE_TEXT, "%lldh", seconds / 3600);
}

/* True where all that it wants stands there. */
static bool draw_question(struct screen *screen, json_t *entry, bool chosen)
{
	json_t *ask = json_object_get(entry, "ask");
	bool whole = json_array_size(json_object_get(ask, "grants")) <= 1;
	json_t *progress = json_object_get(entry, "progress");
	const char *agent = text_of(ask, "agent");
	_cleanup_buffer_ struct buffer risk = {0};
	char age[AGE_TEXT], said[64] = "";

	age_of(text_of(entry, "since"), age);
	question_risk(entry, &risk);
	if (progress) /* several must answer it */
		snprintf(said, sizeof(said), "  [%lld of %lld]",
			 (long long)json_integer_value(json_object_get(progress, "have")),
			 (long long)json_integer_value(json_object_get(progress, "need")));
	whole &= screen_line(screen,
			     chosen					 ? STYLE_CHOSEN
			     : strncmp(buffer_text(&risk), "!!", 2) == 0 ? STYLE_ALARM
									 : STYLE_NONE,
			     "%s %4s  %-12s  %s%s%s%s  |  %s", chosen ? ">" : " ", age,
			     buffer_text(&risk), agent ? agent : "", agent ? ": " : "",
			     question_wants(entry), said, text_of(ask, "command"));
	return whole;
}

/* What the processes below its supervisor use. */
static void count_one(struct watched *watched, json_t *first)
{
	pid_t supervisor = (pid_t)json_integer_value(json_object_get(first, "pid"));
	struct counter counter = {.proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
				  .memory = -1,
				  .init = supervisor,
				  .only_it = true};
	struct usage usage = {0};

	if (supervisor > 0 && counter.proc >= 0 &&
	    usage_count(&counter, USAGE_MEMORY | USAGE_CPU, RUNS_MOST, UINT64_MAX, &usage) == 0)
		json_object_set_new(watched->used, text_of(first, "run"),
				    json_pack("{s:I, s:I, s:I}", "memory", (json_int_t)usage.memory,
					      "cpu_ms", (json_int_t)(usage.cpu_ns / 1000000),
					      "processes", (json_int_t)usage.processes));
	counter_done(&counter);
	close_fd(&counter.proc);
}

/* At most once a second, and only of what is shown: each is a walk over all processes. */
static void count_all(struct watched *watched)
{
	json_t *first;
	size_t i;

	if (watched->used && monotonic_ns() < watched->counted + count_every_ns)
		return;
	json_decref(watched->used);
	watched->used = json_object();
	watched->counted = monotonic_ns();
	json_array_foreach (watched->running, i, first)
		if (i < COUNTED_MOST)
			count_one(watched, first);
}

static const char *state_of(const struct watched *watched, const char *run)
{
	json_t *entry;
	size_t i;

	json_array_foreach (watched->questions, i, entry)
		if (run && text_of(entry, "run") && strcmp(text_of(entry, "run"), run) == 0)
			return "asks";
	return "runs";
}

static void draw_running(struct watched *watched, struct screen *screen, json_t *first, bool chosen)
{
	const char *agent = text_of(first, "agent"), *run = text_of(first, "run");
	json_t *used = json_object_get(watched->used, run);
	char age[AGE_TEXT], memory[SIZE_TEXT] = "", cpu[WORDS_TEXT] = "";

	age_of(text_of(first, "time"), age);
	if (used) {
		size_text((uint64_t)json_integer_value(json_object_get(used, "memory")), memory);
		output_duration((double)json_integer_value(json_object_get(used, "cpu_ms")), cpu);
	}
	screen_line(screen, chosen ? STYLE_CHOSEN : STYLE_NONE, "%s %4s  %s  %8s %9s  %s%s%s",
		    chosen ? ">" : " ", age, state_of(watched, run), cpu, memory,
		    agent ? agent : "", agent ? ": " : "", text_of(first, "command"));
}

static void draw_ended(struct screen *screen, json_t *run, bool chosen)
{
	char when[WORDS_TEXT], outcome[WORDS_TEXT];
	const char *agent = text_of(run, "agent");

	output_time(text_of(run, "time"), "%H:%M:%S", when);
	(void)output_outcome(run, outcome);
	screen_line(screen, chosen ? STYLE_CHOSEN : STYLE_NONE, "%s %s  %-8s %s%s%s",
		    chosen ? ">" : " ", when, outcome, agent ? agent : "", agent ? ": " : "",
		    text_of(run, "command"));
}

void question_note_seen(const char *state, json_t *entry)
{
	_cleanup_free_ char *by = NULL;

	if (!json_object_get(json_object_get(entry, "ask"), "objection_seconds"))
		return;
	by = approver_name();
	(void)queue_note_seen(state, entry, by, NULL);
}

static int draw_followed(const char *run, void *data)
{
	screen_line(data, STYLE_NONE, "  a run that was to be followed has ended: ward show %s",
		    run);
	return 0;
}

static int draw_incident(json_t *incident, void *data)
{
	const char *state = text_of(incident, "state"), *agent = text_of(incident, "agent");

	if (state && agent && strcmp(state, "open") == 0)
		screen_line(data, STYLE_NONE, "  agent %s is in safe mode: ward incidents show %s",
			    agent, text_of(incident, "id"));
	return 0;
}

/* The rows of one kind in so many lines: those around the chosen one, and how many are not there.
 */
static void draw_part(struct watched *watched, struct screen *screen, json_t *part,
		      enum row_kind kind, size_t base, size_t chosen, size_t lines)
{
	size_t count = json_array_size(part), first = 0, shown;
	bool cut = count > lines;

	if (cut && lines > 0)
		lines--;
	if (chosen >= base && chosen - base >= lines)
		first = MIN(chosen - base - lines + 1, count > lines ? count - lines : 0);
	shown = MIN(lines, count - MIN(first, count));
	for (size_t i = first; i < first + shown; i++) {
		json_t *row = json_array_get(part, i);
		bool is_chosen = chosen == base + i;

		if (kind == ROW_QUESTION) {
			if (draw_question(screen, row, is_chosen))
				question_note_seen(watched->state, row);
		} else if (kind == ROW_RUNNING) {
			draw_running(watched, screen, row, is_chosen);
		} else {
			draw_ended(screen, row, is_chosen);
		}
	}
	if (cut)
		screen_line(screen, STYLE_NONE, "  ... %zu more", count - shown);
}

void watched_draw(struct watched *watched, struct screen *screen, size_t chosen)
{
	size_t questions = json_array_size(watched->questions);
	size_t running = json_array_size(watched->running), room, first, second;

	count_all(watched);
	screen_line(screen, STYLE_TITLE,
		    "ward watch: %zu question%s   %zu running   Up, Down, Enter: see and answer   "
		    "q: end",
		    questions, questions == 1 ? "" : "s", running);
	screen_line(screen, STYLE_NONE, "%s", "");
	room = screen->room > 5 ? screen->room - 5 : 3;
	first = MIN(MAX(questions, (size_t)1), MAX(room / 2, (size_t)1));
	second = MIN(MAX(running, (size_t)1), MAX((room - first) / 2, (size_t)1));
	if (questions == 0)
		screen_line(screen, STYLE_NONE, "  nothing waits for an answer");
	draw_part(watched, screen, watched->questions, ROW_QUESTION, 0, chosen, first);
	(void)incidents_each(watched->state, draw_incident, screen, NULL);
	(void)monitor_unread(watched->state, draw_followed, screen);
	screen_line(screen, STYLE_NONE, "%s", "");
	screen_line(screen, STYLE_TITLE, "   age  state      cpu    memory  running");
	if (running == 0)
		screen_line(screen, STYLE_NONE, "  nothing runs");
	draw_part(watched, screen, watched->running, ROW_RUNNING, questions, chosen, second);
	screen_line(screen, STYLE_NONE, "%s", "");
	screen_line(screen, STYLE_TITLE, "  time      exit     ended");
	draw_part(watched, screen, watched->ended, ROW_ENDED, questions + running, chosen,
		  screen->room);
}
