/* SPDX-License-Identifier: Apache-2.0 */
/* Untrusted text as a row of glyphs whose width is known, for a person who must decide on it. Only
 * characters that every terminal draws alone, upright and from left to right stand for themselves;
 * all others, and those that pass for ASCII, are shown by their code. */
#pragma once

#include "macro.h"
#include <stdbool.h>

struct glyph {
	char text[12]; /* what to draw; not NUL-terminated */
	unsigned char length, width;
	char like;     /* the ASCII character that it passes for; 0: none */
	bool is_code;  /* drawn as \xNN or \u{NNNN} */
	unsigned code; /* the code point, or the byte where there is none */
};

/* Every byte of the text comes out in some glyph. Caller frees. */
struct glyph *glyphs_read(const char *text, size_t length, size_t *ret_count);
/* Columns that a character takes: 1 or 2; 0 where it is shown by its code. */
unsigned glyph_width(unsigned code);
/* The ASCII character that one of another script passes for, '?' for one of several, 0 for none. */
char glyph_lookalike(unsigned code);
