/* SPDX-License-Identifier: Apache-2.0 */
/* Laying out untrusted text. */
#include "lines.h"
#include "../base/glyph.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH_MOST = 4096 };

static void set_style(struct lines *lines, enum style style)
{
	static const char *const codes[] = {
		[STYLE_PLAIN] = "\x1b[0m",
		[STYLE_STRONG] = "\x1b[1m",
		[STYLE_WARNING] = "\x1b[7m",
	};

	if (!lines->styled || lines->style == style)
		return;
	if (lines->style != STYLE_PLAIN)
		buffer_add_text(&lines->line, codes[STYLE_PLAIN]);
	if (style != STYLE_PLAIN)
		buffer_add_text(&lines->line, codes[style]);
	lines->style = style;
}

static void add_prefix(struct lines *lines, const char *prefix)
{
	buffer_add_text(&lines->line, prefix);
	lines->used = lines->start = (unsigned)strlen(prefix);
}

void lines_begin(struct lines *lines, const char *first, const char *next)
{
	lines->next = next;
	add_prefix(lines, first);
}

void lines_end(struct lines *lines)
{
	set_style(lines, STYLE_PLAIN);
	list_take(&lines->done, buffer_steal(&lines->line));
	lines->used = lines->start = 0;
}

static void break_line(struct lines *lines)
{
	lines_end(lines);
	add_prefix(lines, lines->next);
}

static void keep(struct lines *lines, unsigned width)
{
	if (lines->used > lines->start && lines->used + width > lines->columns)
		break_line(lines);
}

void lines_keep_after_blank(struct lines *lines, unsigned width)
{
	if (lines->used + 1 + width > lines->columns) {
		break_line(lines);
		return;
	}
	buffer_add_char(&lines->line, ' ');
	lines->used++;
}

static void take_note(struct lines *lines, const struct glyph *glyph)
{
	char text[64];

	if (!glyph->is_code)
		return;
	if (!glyph->like) {
		lines->hidden |= glyph->code != '\n' && glyph->code != '\t';
		return;
	}
	snprintf(text, sizeof(text), glyph->like == '?' ? "%.*s" : "%.*s like %c", glyph->length,
		 glyph->text, glyph->like);
	if (list_has(&lines->named, text))
		return;
	lines->lookalikes++;
	if (lines->named.count < LOOKALIKES_NAMED)
		list_add(&lines->named, text);
}

/* The width of the word that starts at a glyph. */
static unsigned word_width(const struct glyph *glyphs, size_t count, unsigned most)
{
	unsigned width = 0;

	for (size_t i = 0; i < count && glyphs[i].code != ' ' && width <= most; i++)
		width += glyphs[i].width;
	return width;
}

static void add_glyphs(struct lines *lines, enum style style, enum wrap wrap, const char *text,
		       size_t length)
{
	size_t count;
	_cleanup_free_ struct glyph *glyphs = glyphs_read(text, length, &count);

	for (size_t i = 0; i < count; i++) {
		const struct glyph *glyph = &glyphs[i];

		if (wrap == WRAP_WORDS && glyph->code == ' ' && lines->used > lines->start) {
			unsigned width = word_width(glyph + 1, count - i - 1, lines->columns);

			if (lines->used + 1 + width > lines->columns &&
			    width <= lines->columns - (unsigned)strlen(lines->next)) {
				break_line(lines);
				continue;
			}
		}
		keep(lines, glyph->width);
		take_note(lines, glyph);
		set_style(lines, glyph->is_code ? STYLE_WARNING : style);
		buffer_add(&lines->line, glyph->text, glyph->length);
		lines->used += glyph->width;
	}
	set_style(lines, STYLE_PLAIN);
}

void lines_add(struct lines *lines, enum style style, enum wrap wrap, const char *text)
{
	add_glyphs(lines, style, wrap, text, strlen(text));
}

void lines_add_some(struct lines *lines, enum style style, enum wrap wrap, const char *text,
		    size_t length, size_t most)
{
	size_t shown = MIN(length, most);
	char rest[96];

	while (shown < length && shown > 0 && ((unsigned char)text[shown] & 0xc0) == 0x80)
		shown--;
	add_glyphs(lines, style, wrap, text, shown);
	if (shown == length)
		return;
	snprintf(rest, sizeof(rest), " ... %zu more bytes are not shown here: ward show has all",
		 length - shown);
	lines_add(lines, STYLE_WARNING, WRAP_WORDS, rest);
}

unsigned lines_width(const char *text)
{
	unsigned width = 0;
	size_t count;
	_cleanup_free_ struct glyph *glyphs = glyphs_read(text, strnlen(text, WIDTH_MOST), &count);

	for (size_t i = 0; i < count; i++)
		width += glyphs[i].width;
	return width;
}

void lines_done(struct lines *lines)
{
	list_done(&lines->done);
	list_done(&lines->named);
	buffer_done(&lines->line);
}
