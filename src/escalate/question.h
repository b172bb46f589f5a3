/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a question at the terminal share: its text in pieces, its choices, and the
 * dialogue on a given fd. For this room alone. */
#pragma once

#include "ask.h"
#include "lines.h"

enum { COLUMNS_LEAST = 40, COLUMNS_USUAL = 80, ROWS_USUAL = 24 };

static inline bool given(const char *text)
{
	return text && *text;
}

/* One way to answer: its key, and what it means in a few words. */
struct choice {
	char key;
	bool refuses;
	const char *name, *help;
	bool (*offered)(const struct ask *ask); /* NULL: always */
};

/* NULL where the key is none, or its choice is not offered. */
const struct choice *choice_of(const struct ask *ask, char key);
/* What a longer yes covers is short and plain enough to be named beside its key. */
bool covers_is_plain(const struct ask *ask);
/* The choices that are offered, in two rows: yes and no. */
void add_choices(struct lines *lines, const struct ask *ask);
/* Every choice that is offered, each with its meaning. */
void ask_help(const struct ask *ask, unsigned columns, bool colour, struct list *ret_lines);
/* All lines of the question but the choices. */
void ask_whole(const struct ask *ask, unsigned columns, bool colour, struct list *ret_lines);
/* The question in at most `rows` lines, choices last; long parts are cut, and say so. True where
 * part of the command, or of what a yes gives, is not there. */
bool ask_fit(const struct ask *ask, unsigned columns, unsigned rows, bool colour,
	     struct list *ret_lines);
/* A text of several lines, each in a gutter. */
void add_block(struct lines *lines, enum style style, const char *text);

/* One labelled text; nothing where there is none. */
void add_field(struct lines *lines, const char *label, enum wrap wrap, const char *text);
/* What a model says, as such; and beside a risk that it made greater, ward's own. */
void add_opinion(struct lines *lines, const struct ask *ask);
void add_own_risk(struct buffer *text, const struct ask *ask);
/* What became of the like, in a line; and all that is known around the question. */
void add_past(struct lines *lines, const struct ask *ask);
void add_details(struct lines *lines, const struct ask *ask);
void ask_details(const struct ask *ask, unsigned columns, bool colour, struct list *ret_lines);
/* The beginning of the code, or all of it. */
void add_code(struct lines *lines, const struct ask *ask, bool whole);
/* There is more of it than its beginning. */
bool code_is_long(const struct ask *ask);
/* The dialogue on an open terminal; ask_terminal without looking for one. */
void ask_on(int fd, const struct ask *ask, uint64_t patience_ns, struct answer *ret_answer);
