/* SPDX-License-Identifier: Apache-2.0 */
/* Text laid out in lines of a given width. Whatever is added is untrusted and comes out as glyphs
 * that cannot leave their place; only lines_* itself writes control sequences, and only for style.
 */
#pragma once

#include "../base/buffer.h"
#include "../base/list.h"

/* Styles without colours: a program may have changed the palette so that a colour hides text. */
enum style { STYLE_PLAIN, STYLE_STRONG, STYLE_WARNING };
enum wrap {
	WRAP_WORDS, /* prose: breaks at a blank, which is then left out */
	WRAP_EXACT, /* commands and paths: each line is full, so nothing is lost at a break */
};
enum { LOOKALIKES_NAMED = 4 };

struct lines {
	struct list done;
	unsigned columns;
	bool styled;

	/* the line that is being written */
	struct buffer line;
	const char *next; /* what its continuations begin with */
	unsigned used, start;
	enum style style;

	/* what was met in the text, for a note on it */
	bool hidden; /* something was shown by its code */
	size_t lookalikes;
	struct list named; /* the first of them, each in words */
};

/* Begins a line with a prefix of ward's own; continuations begin with next (static text). */
void lines_begin(struct lines *lines, const char *first, const char *next);
void lines_add(struct lines *lines, enum style style, enum wrap wrap, const char *text);
/* At most `most` bytes of it, and then how much was left out. */
void lines_add_some(struct lines *lines, enum style style, enum wrap wrap, const char *text,
		    size_t length, size_t most);
/* A blank, or a new line if fewer columns are left behind it. */
void lines_keep_after_blank(struct lines *lines, unsigned width);
void lines_end(struct lines *lines);
void lines_done(struct lines *lines);
/* Columns that a text takes when it is shown; of a very long one, those of its beginning. */
unsigned lines_width(const char *text);
