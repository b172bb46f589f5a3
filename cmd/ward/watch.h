/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of ward watch share: the screen, what is on it, and the mode of plain lines. */
#pragma once

#include "../../src/base/buffer.h"
#include "../../src/base/error.h"
#include "../../src/base/list.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* watch_screen.c: the terminal, taken over and given back however this ends. */
struct screen {
	unsigned rows, columns;
	struct buffer text; /* that is being drawn */
	unsigned room;	    /* lines that are left */
};

enum screen_style { STYLE_NONE, STYLE_TITLE, STYLE_CHOSEN, STYLE_ALARM };

/* False where there is no terminal to be had. */
bool screen_begin(void);
/* Those that a screen minds are blocked from here on, and read from what this gives. */
int screen_signals(void);
void screen_enter(void);
void screen_leave(void);
/* Stops as Ctrl-Z does, and comes back. */
void screen_suspend(void);
void screen_start(struct screen *screen);
/* One line, escaped and cut to the width. True where all of it stands there. */
bool screen_line(struct screen *screen, enum screen_style style, const char *format, ...)
	_printf_(3, 4);
/* As many lines as it takes, nothing cut. */
void screen_wrapped(struct screen *screen, const char *label, const char *text);
/* False where the terminal is gone. */
bool screen_finish(struct screen *screen);
/* Escape sequences would be shown there as they are. */
bool screen_is_dumb(void);
enum key { KEY_OTHER, KEY_UP, KEY_DOWN, KEY_ENTER, KEY_BACK, KEY_STOP };
/* The first key of what was typed, and how many bytes it takes. Escape is one when it is alone. */
enum key screen_key(const char *typed, size_t *ret_length);

/* watch_view.c: what there is to see. */
enum row_kind { ROW_QUESTION, ROW_RUNNING, ROW_ENDED };
struct watched {
	const char *state;
	json_t *questions; /* entries of the queue */
	json_t *running;   /* first records of runs that have not ended */
	json_t *ended;	   /* the latest that have, newest first */
	json_t *used;	   /* run: what it uses, an object */
	uint64_t counted;  /* when that was looked at */
};

int watched_read(struct watched *watched, struct error **ret_error);
void watched_done(struct watched *watched);
size_t watched_count(const struct watched *watched);
/* The row of that number, in the order of the screen. */
json_t *watched_row(const struct watched *watched, size_t number, enum row_kind *ret_kind);
/* Its question's id, or its run's. */
const char *row_id(json_t *row, enum row_kind kind);
void watched_draw(struct watched *watched, struct screen *screen, size_t chosen);
/* "5s", "3m", "2h": since a time of a record. */
enum { AGE_TEXT = 32 };
void age_of(const char *time, char ret_text[static AGE_TEXT]);
/* How dangerous a question is, at a glance: "!!! critical". */
void question_risk(json_t *entry, struct buffer *text);
/* What it wants, in a few words. */
const char *question_wants(json_t *entry);
/* All that it wants stands on the screen of a terminal: somebody sees it. */
void question_note_seen(const char *state, json_t *entry);

/* watch_run.c: one run, with what happens in it, and the end of its output where that is kept. */
struct run_view {
	char *run, *ticket;
	uint64_t offset[2];
	struct buffer tail;
};
void run_view_open(struct run_view *view, const char *run);
void run_view_close(struct run_view *view);
int run_view_draw(struct run_view *view, const char *state, struct screen *screen,
		  struct error **ret_error);
/* An event in one line for people. */
void event_words(const json_t *event, struct buffer *text);

/* watch_lines.c: what comes, a line each, for terminals that can do no more. */
int watch_lines(const char *state, struct error **ret_error);
/* Readable when questions come or go. */
int questions_watch(const char *state);
