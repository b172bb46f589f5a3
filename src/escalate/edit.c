/* SPDX-License-Identifier: Apache-2.0 */
/* One line of text, typed by the person at the terminal. */
#include "../base/glyph.h"
#include "question.h"
#include "terminal.h"

#include <string.h>

/* The line that is being typed, as far as its end fits beside the prompt. */
static void draw_line(struct tty *tty, const char *prompt, const struct buffer *line)
{
	_cleanup_buffer_ struct buffer text = {0};
	unsigned room = MAX(tty->columns, (unsigned)COLUMNS_LEAST) - (unsigned)strlen(prompt) - 1,
		 width = 0;
	size_t count, first;
	_cleanup_free_ struct glyph *glyphs = glyphs_read(buffer_text(line), line->length, &count);

	for (first = count; first > 0 && width + glyphs[first - 1].width <= room; first--)
		width += glyphs[first - 1].width;
	for (int pass = 0; pass < 2; pass++) {
		buffer_printf(&text, "\r%s", prompt);
		for (size_t i = first; i < count; i++)
			buffer_add(&text, glyphs[i].text, glyphs[i].length);
		if (pass == 0) /* over what stood there before */
			buffer_printf(&text, "%*s", (int)(room - width), "");
	}
	tty_write(tty, buffer_text(&text), text.length);
}

static void rub_out(struct buffer *line)
{
	while (line->length > 0) {
		unsigned char last = (unsigned char)line->data[--line->length];

		line->data[line->length] = '\0';
		if ((last & 0xc0) != 0x80)
			return;
	}
}

enum typed { TYPED_MORE, TYPED_LINE, TYPED_ESCAPE };

static enum typed type_into(struct buffer *line, const struct input *input, bool enter_alone)
{
	if (input->data[0] == '\x1b')
		return input->length == 1 ? TYPED_ESCAPE : TYPED_MORE;
	for (size_t i = 0; i < input->length; i++) {
		unsigned char c = (unsigned char)input->data[i];

		if ((c == '\n' || c == '\r') && (!enter_alone || input->length == 1))
			return TYPED_LINE;
		if (c == 127 || c == 8)
			rub_out(line);
		else if (c == 21) /* Ctrl-U */
			buffer_done(line);
		else if (c >= 32 && line->length < LINE_MOST)
			buffer_add_char(line, (char)c);
	}
	return TYPED_MORE;
}

enum heard tty_edit(struct tty *tty, const char *prompt, bool enter_alone, struct buffer *line)
{
	enum typed typed = TYPED_MORE;
	enum heard heard = HEARD_NOTHING;

	tty_write(tty, "\n", 1);
	while (typed == TYPED_MORE && !is_last(heard)) {
		struct input input;

		draw_line(tty, prompt, line);
		heard = tty_listen(tty, &input);
		if (heard == HEARD_KEY || heard == HEARD_TEXT)
			typed = type_into(line, &input, enter_alone);
	}
	tty_write(tty, "\n", 1);
	if (typed == TYPED_MORE)
		return heard;
	return typed == TYPED_LINE ? HEARD_KEY : HEARD_NOTHING;
}
