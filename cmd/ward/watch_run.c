/* SPDX-License-Identifier: Apache-2.0 */
/* One run on the screen of ward watch: who, what, what happened in it so far, and the end of its
 * output where a ticket keeps that. */
#include "output.h"
#include "watch.h"
#include "../../src/record/eventlog.h"
#include "../../src/record/store.h"
#include "../../src/serve/ticket.h"

#include <stdio.h>
#include <string.h>

enum { TAIL_MOST = 16 * 1024, READ_MOST = 64 * 1024 };

void run_view_open(struct run_view *view, const char *run)
{
	*view = (struct run_view){.run = strdup(run)};
}

void run_view_close(struct run_view *view)
{
	free(view->run);
	free(view->ticket);
	buffer_done(&view->tail);
	*view = (struct run_view){0};
}

static void note_ticket(void *data, json_t *status)
{
	struct run_view *view = data;
	const char *run = text_of(status, "run");

	if (!view->ticket && run && strcmp(run, view->run) == 0)
		view->ticket = strdup(text_of(status, "ticket"));
}

static void read_tail(struct run_view *view, const char *state)
{
	static const enum ticket_stream streams[] = {TICKET_STDOUT, TICKET_STDERR};
	_cleanup_free_ char *data = malloc(READ_MOST);

	if (!view->ticket)
		(void)ticket_list(state, note_ticket, view, NULL);
	for (size_t i = 0; data && view->ticket && i < ELEMENTS(streams); i++) {
		size_t got = 0;

		while (ticket_read_output(state, view->ticket, streams[i], view->offset[i], data,
					  READ_MOST, &got, NULL) == 0 &&
		       got > 0) {
			view->offset[i] += got;
			buffer_add(&view->tail, data, got);
			if (view->tail.length > TAIL_MOST) {
				size_t extra = view->tail.length - TAIL_MOST;

				memmove(view->tail.data, view->tail.data + extra, TAIL_MOST);
				view->tail.length = TAIL_MOST;
			}
		}
	}
}

static void add_words(struct buffer *text, const json_t *event, const char *const *members)
{
	for (; *members; members++) {
		json_t *value = json_object_get(event, *members);

		if (json_is_string(value) && *json_string_value(value))
			buffer_printf(text, " %s", json_string_value(value));
		else if (json_is_integer(value))
			buffer_printf(text, " %lld", (long long)json_integer_value(value));
		for (size_t i = 0; i < json_array_size(value); i++)
			buffer_printf(text, "%s %s", i ? "," : "",
				      json_string_value(json_array_get(value, i)));
	}
}

void event_words(const json_t *event, struct buffer *text)
{
	static const struct {
		const char *kind;
		const char *members[6];
	} kinds[] = {
		{"assessed", {"class", "risk"}},
		{"verdict", {"verdict", "source", "rule"}},
		{"caller", {"verdict", "source"}},
		{"asked", {"stage", "why", "grants"}},
		{"answered", {"answer", "scope", "by", "reason"}},
		{"attempt.started", {"attempt", "level", "command"}},
		{"attempt.ended", {"attempt", "exit_code"}},
		{"grant.used", {"how", "permission"}},
		{"grant.expired", {"permission"}},
		{"grant.revoked", {"permission"}},
		{"limit", {"limit"}},
		{"near_limit", {"limit", "used", "most"}},
		{"ended", {"how", "exit_code"}},
		{"events.failed", {"program", "why"}},
		{"incident.opened", {"incident", "commands"}},
		{"incident.more", {"incident", "commands"}},
		{"incident.stopped", {"incident"}},
		{"incident.resumed", {"incident"}},
		{"incident.closed", {"incident", "by", "note"}},
	};
	static const char *const denied[] = {"operation", "object", "program", NULL};
	const char *kind = text_of(event, "kind");

	buffer_add_text(text, kind);
	for (size_t i = 0; i < ELEMENTS(kinds); i++)
		if (strcmp(kind, kinds[i].kind) == 0)
			add_words(text, event, kinds[i].members);
	add_words(text, json_object_get(event, "denial"), denied);
}

static void add_events(const json_t *run, struct list *lines)
{
	json_t *record, *event;
	size_t i, k;

	json_array_foreach (json_object_get(run, "records"), i, record) {
		json_t *events = events_of_record(record);

		json_array_foreach (events, k, event) {
			_cleanup_buffer_ struct buffer words = {0};
			char when[WORDS_TEXT];

			output_time(text_of(event, "time"), "%H:%M:%S", when);
			buffer_printf(&words, "%s  ", when);
			event_words(event, &words);
			list_add(lines, buffer_text(&words));
		}
		json_decref(events);
	}
}

/* The last of them that fit. */
static void draw_last(struct screen *screen, const struct list *lines, size_t most)
{
	size_t first = lines->count > most ? lines->count - most : 0;

	for (size_t i = first; i < lines->count; i++)
		screen_line(screen, STYLE_NONE, "  %s", lines->items[i]);
}

static void split_tail(const struct run_view *view, struct list *lines)
{
	_cleanup_free_ char *copy =
		view->tail.length ? strndup(view->tail.data, view->tail.length) : NULL;
	char *rest = copy, *line;

	while ((line = strsep(&rest, "\n")))
		if (*line || rest)
			list_add(lines, line);
}

int run_view_draw(struct run_view *view, const char *state, struct screen *screen,
		  struct error **ret_error)
{
	_cleanup_list_ struct list events = {0}, output = {0};
	char outcome[WORDS_TEXT];
	struct store *store = NULL;
	json_t *run = NULL;
	size_t room;
	int r = store_open(state, &store, ret_error);

	if (r == 0)
		r = store_run(store, view->run, &run, ret_error);
	store_close(store);
	if (r < 0)
		return r;
	read_tail(view, state);
	add_events(run, &events);
	split_tail(view, &output);
	(void)output_outcome(run, outcome);
	screen_line(screen, STYLE_TITLE, "run %s   %s   q: back", view->run,
		    json_is_true(json_object_get(run, "ended")) ? outcome : "runs");
	screen_wrapped(screen, "command", text_of(run, "command"));
	screen_wrapped(screen, "in", text_of(run, "cwd"));
	screen_wrapped(screen, "agent", text_of(run, "agent"));
	screen_wrapped(screen, "session", text_of(run, "session"));
	screen_wrapped(screen, "reason", text_of(run, "reason"));
	screen_line(screen, STYLE_NONE, "%s", "");
	room = screen->room > 3 ? screen->room - 3 : 1;
	screen_line(screen, STYLE_TITLE, "what happened (%zu)", events.count);
	draw_last(screen, &events, output.count ? room / 2 : room);
	screen_line(screen, STYLE_NONE, "%s", "");
	if (view->ticket)
		screen_line(screen, STYLE_TITLE, "the end of its output (ticket %s)", view->ticket);
	else
		screen_line(screen, STYLE_NONE, "its output is its caller's, and not kept");
	draw_last(screen, &output, screen->room);
	json_decref(run);
	return 0;
}
