/* SPDX-License-Identifier: Apache-2.0 */
/* ward watch: questions and runs, live; a question is answered as if it had come up here. */
#include "output.h"
#include "verbs.h"
#include "watch.h"
#include "../../src/base/units.h"
#include "../../src/escalate/ask_json.h"
#include "../../src/escalate/queue.h"
#include "../../src/record/eventlog.h"
#include "../../src/record/state.h"
#include "../../src/serve/ticket.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>

static const char help[] =
	"usage: ward watch [--lines]\n"
	"\n"
	"Shows the questions that wait for an answer, the runs under way and the latest that "
	"ended, "
	"as they come.\n"
	"As long as it goes on, runs of this user that have no terminal ask here, as with --wait.\n"
	"\n"
	"  Up, Down       choose a question or a run\n"
	"  Enter          of a question: read it whole and answer it; of a run: what happened in "
	"it\n"
	"  q, Ctrl-C      back, or end; what is not answered goes on waiting, or is answered with "
	"no\n"
	"\n"
	"  --lines        a line for each thing that happens, as on a terminal that can do no "
	"more; "
	"questions\n"
	"                 are answered by ward approve and ward deny\n"
	"  --help         this text\n";

/* Ages and use are looked at so often; what happens is drawn at once, but not more often than this,
 * nor for more than a part of the time where there is much to read. */
enum { TICK_MS = 1000, REST_MS = 100, REST_MOST_MS = 2000, REST_SHARE = 4 };

struct view {
	struct watched watched;
	struct screen screen;
	struct run_view run; /* that is shown; run.run NULL: the list is */
	size_t chosen, seen;
	char *chosen_id; /* NULL: the first, whatever comes */
	struct eventlog *log;
	int questions, signals, tickets;
	int rest_ms; /* until it is drawn again */
	bool over;
};

/* The one that was chosen stays chosen when others come and go. */
static void keep_chosen(struct view *view)
{
	size_t count = watched_count(&view->watched);
	size_t asked = json_array_size(view->watched.questions);
	enum row_kind kind;

	for (size_t i = 0; view->chosen_id && i < count; i++) {
		json_t *row = watched_row(&view->watched, i, &kind);

		if (strcmp(row_id(row, kind), view->chosen_id) == 0)
			view->chosen = i;
	}
	if (!view->chosen_id)
		view->chosen = 0;
	if (view->chosen >= count)
		view->chosen = count ? count - 1 : 0;
	if (asked > view->seen) /* somebody may be looking elsewhere */
		buffer_add_text(&view->screen.text, "\a");
	view->seen = asked;
}

static void choose(struct view *view, size_t number)
{
	enum row_kind kind;
	json_t *row = watched_row(&view->watched, number, &kind);

	free(view->chosen_id);
	view->chosen_id = row && number > 0 ? strdup(row_id(row, kind)) : NULL;
	view->chosen = row ? number : 0;
}

static int draw(struct view *view, struct error **ret_error)
{
	uint64_t begun = monotonic_ns();
	int r = 0;

	screen_start(&view->screen);
	r = watched_read(&view->watched, ret_error);
	if (r < 0)
		return r;
	keep_chosen(view);
	if (view->run.run)
		r = run_view_draw(&view->run, view->watched.state, &view->screen, ret_error);
	else
		watched_draw(&view->watched, &view->screen, view->chosen);
	if (r == 0 && !screen_finish(&view->screen))
		view->over = true;
	view->rest_ms =
		(int)MIN((monotonic_ns() - begun) / 1000000 * REST_SHARE, (uint64_t)REST_MOST_MS);
	view->rest_ms = MAX(view->rest_ms, REST_MS);
	return r;
}

static void serve_nothing(void *data)
{
	(void)data;
}

struct standing {
	const char *state;
	json_t *entry;
};

static bool is_obsolete(void *data)
{
	const struct standing *standing = data;
	json_t *now = NULL;
	bool stands = queue_get(standing->state, text_of(standing->entry, "id"), &now, NULL) == 0 &&
		      queue_is_same(now, standing->entry);

	json_decref(now);
	return !stands;
}

/* The question as it would be at its own terminal. Who leaves without an answer has given none. */
static int answer_question(struct view *view, json_t *row, struct error **ret_error)
{
	json_t *entry = json_incref(row), *said;
	struct standing standing = {view->watched.state, entry};
	const struct meanwhile meanwhile = {-1, serve_nothing, is_obsolete, &standing};
	_cleanup_arena_ struct arena *arena = arena_new();
	_cleanup_approver_id_ struct approver_id who = approver_here();
	_cleanup_answer_ struct answer answer = {0};
	struct ask ask = {0};
	int r = ask_from_json(arena, json_object_get(entry, "ask"), &ask, ret_error);

	screen_leave();
	ask.others = json_array_size(json_object_get(entry, "also"));
	ask.meanwhile = &meanwhile;
	ask.goes_on = true;
	ask.said = text_of(json_object_get(entry, "progress"), "text");
	ask.wants_reason =
		json_is_true(json_object_get(json_object_get(entry, "progress"), "reason"));
	ask.no_yes = r == 0 && !queue_may_approve(view->watched.state, entry, &who);
	if (r == 0) {
		question_note_seen(view->watched.state, entry);
		r = ask_terminal(&ask, &answer, ret_error);
	}
	if (r == 0 && answer.kind != ANSWER_NOBODY && !answer.unsaid) {
		_cleanup_error_ struct error *error = NULL;

		said = answer_to_json(&answer);
		/* Another may have been faster: then that is the answer. */
		if (queue_answer(view->watched.state, entry, said, &who, &error) < 0) {
			(void)output_error("watch", error);
			(void)poll(NULL, 0, 1500);
		}
		if (text_of(entry, "ticket")) /* that nobody keeps may go on now */
			ticket_adopt(view->watched.state, NULL);
		json_decref(said);
	}
	json_decref(entry);
	screen_enter();
	return r;
}

static void open_run(struct view *view, const char *run)
{
	_cleanup_error_ struct error *error = NULL;

	run_view_open(&view->run, run);
	(void)ticket_watch(view->watched.state, NULL, &view->tickets, &error);
}

static void close_run(struct view *view)
{
	run_view_close(&view->run);
	close_fd(&view->tickets);
}

static int open_chosen(struct view *view, struct error **ret_error)
{
	enum row_kind kind;
	json_t *row = watched_row(&view->watched, view->chosen, &kind);

	if (!row)
		return 0;
	if (kind == ROW_QUESTION)
		return answer_question(view, row, ret_error);
	open_run(view, row_id(row, kind));
	return 0;
}

/* 1: what was typed behind it is for something that nobody has read yet, and is dropped. */
static int take_key(struct view *view, enum key key, struct error **ret_error)
{
	int r;

	if (key == KEY_STOP)
		screen_suspend();
	else if (key == KEY_BACK && view->run.run)
		close_run(view);
	else if (key == KEY_BACK)
		view->over = true;
	else if (key == KEY_UP && !view->run.run)
		choose(view, view->chosen - (view->chosen > 0));
	else if (key == KEY_DOWN && !view->run.run)
		choose(view, MIN(view->chosen + 1, MAX(watched_count(&view->watched), 1u) - 1));
	else if (key == KEY_ENTER && !view->run.run)
		return (r = open_chosen(view, ret_error)) < 0 ? r : 1;
	return view->over;
}

static int take_keys(struct view *view, struct error **ret_error)
{
	char typed[64];
	ssize_t got = read(STDIN_FILENO, typed, sizeof(typed) - 1);
	size_t length;
	int r = 0;

	if (got <= 0) {
		view->over = true;
		return 0;
	}
	typed[got] = '\0';
	for (const char *at = typed; *at && r == 0; at += length)
		r = take_key(view, screen_key(at, &length), ret_error);
	return MIN(r, 0);
}

static void take_signal(struct view *view)
{
	struct signalfd_siginfo signal;

	while (read(view->signals, &signal, sizeof(signal)) == sizeof(signal)) {
		if (signal.ssi_signo == SIGTSTP)
			screen_suspend();
		else if (signal.ssi_signo != SIGWINCH)
			view->over = true;
	}
}

static void drain(int fd)
{
	char data[4096];

	while (fd >= 0 && read(fd, data, sizeof(data)) > 0)
		;
}

/* All that is told of is looked at with the next drawing. The log's own reader settles runs that
 * were killed. */
static int hear(struct view *view, struct error **ret_error)
{
	json_t *event;
	int r;

	while ((r = eventlog_next(view->log, &event, ret_error)) > 0)
		json_decref(event);
	drain(view->questions);
	drain(view->tickets);
	return r;
}

static int wait_for_more(struct view *view, struct error **ret_error)
{
	struct pollfd fds[] = {
		{STDIN_FILENO, POLLIN, 0}, {view->signals, POLLIN, 0},
		{-1, POLLIN, 0},	   {-1, POLLIN, 0},
		{-1, POLLIN, 0},
	};
	bool ticks =
		json_array_size(view->watched.questions) || json_array_size(view->watched.running);
	int r = 0;

	/* A flood of events is drawn in steps; keys are heard at once. */
	if (poll(fds, 2, view->rest_ms) == 0) {
		fds[2].fd = eventlog_fd(view->log);
		fds[3].fd = view->questions;
		fds[4].fd = view->tickets;
		(void)poll(fds, ELEMENTS(fds), ticks ? MAX(TICK_MS - view->rest_ms, 0) : -1);
	}
	if (fds[1].revents)
		take_signal(view);
	if (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL))
		view->over = true;
	else if (fds[0].revents && !view->over)
		r = take_keys(view, ret_error);
	return r < 0 ? r : hear(view, ret_error);
}

static int watch(struct view *view, struct error **ret_error)
{
	int r = 0;

	view->signals = screen_signals();
	screen_enter();
	while (r == 0 && !view->over) {
		r = draw(view, ret_error);
		if (r == 0 && !view->over)
			r = wait_for_more(view, ret_error);
	}
	screen_leave();
	return r;
}

static int watch_screen(const char *state, struct error **ret_error)
{
	struct view view = {.watched.state = state, .questions = -1, .signals = -1, .tickets = -1};
	struct event_place now;
	int r = event_place_now(state, &now, ret_error);

	if (r == 0)
		r = eventlog_open(state, now, /* follow= */ true, &view.log, ret_error);
	view.questions = questions_watch(state);
	if (r == 0)
		r = watch(&view, ret_error);
	close_run(&view);
	watched_done(&view.watched);
	buffer_done(&view.screen.text);
	free(view.chosen_id);
	eventlog_close(view.log);
	close_fd(&view.questions);
	close_fd(&view.signals);
	return r;
}

int verb_watch(int argc, char **argv)
{
	_cleanup_error_ struct error *error = NULL;
	_cleanup_free_ char *state = NULL;
	_cleanup_close_ int watched = -1;
	bool lines = screen_is_dumb();
	int r;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			printf("%s", help);
			return output_end("watch", 0);
		}
		if (strcmp(argv[i], "--lines") != 0)
			return output_usage("watch", "'%s' is not --lines or --help", argv[i]);
		lines = true;
	}
	if (!lines && !screen_begin())
		return output_usage("watch", "it needs a terminal; without one: ward watch "
					     "--lines; for programs: ward events --follow");
	output_begin();
	r = state_directory(&state, &error);
	if (r == 0)
		r = state_directory_make(state, &error);
	/* Runs wait for whoever looks; a file that lines go to does not. */
	if (r == 0 && (!lines || isatty(STDOUT_FILENO)))
		r = queue_watch(state, &watched, &error);
	if (r == 0)
		r = lines ? watch_lines(state, &error) : watch_screen(state, &error);
	return r < 0 ? output_error("watch", error) : output_end("watch", 0);
}
