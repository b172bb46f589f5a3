/* SPDX-License-Identifier: Apache-2.0 */
/* What a program has made of the terminal it draws on, read from what it wrote there. A question
 * puts the terminal in order; afterwards the program must find it as it left it. */
#pragma once

#include "../base/buffer.h"
#include <stdbool.h>

struct screen {
	unsigned changed; /* modes that are not as a terminal starts, by their place in the table */
	/* the sequence that is being written */
	enum { SCREEN_TEXT, SCREEN_ESCAPE, SCREEN_SEQUENCE } state;
	size_t length;
	char sequence[48];
};

/* Takes note of what went to the terminal, in pieces as they come. */
void screen_watch(struct screen *screen, const char *data, size_t length);
/* It draws on the screen that has no past, as editors and pagers do. */
bool screen_is_owned(const struct screen *screen);
/* The sequences that make the modes as they were. */
void screen_again(const struct screen *screen, struct buffer *text);
