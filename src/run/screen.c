/* SPDX-License-Identifier: Apache-2.0 */
/* Modes of a terminal, from the sequences that set them. */
#include "screen.h"
#include "../base/macro.h"

#include <stdlib.h>
#include <string.h>

/* Those that a question undoes, in the order in which they are set again: the screen first. */
static const struct {
	unsigned number;
	bool at_first; /* how a terminal starts */
} modes[] = {
	{1049, false}, {1047, false}, {47, false},   {69, false},   {5, false},
	{7, true},     {25, true},    {9, false},    {1000, false}, {1002, false},
	{1003, false}, {1004, false}, {1005, false}, {1006, false}, {2004, false},
};

enum { ALTERNATES = 3 }; /* the first of them */

static void set_mode(struct screen *screen, unsigned number, bool on)
{
	for (size_t i = 0; i < ELEMENTS(modes); i++) {
		if (modes[i].number != number)
			continue;
		if (on != modes[i].at_first)
			screen->changed |= 1u << i;
		else
			screen->changed &= ~(1u << i);
		/* There is one such screen, and each of them leaves it. */
		if (i < ALTERNATES && !on)
			screen->changed &= ~((1u << ALTERNATES) - 1);
	}
}

/* ESC [ ? 25 ; 1049 h, of which the sequence is what stands behind the bracket. */
static void take_sequence(struct screen *screen)
{
	char *rest = screen->sequence, last = screen->sequence[screen->length - 1];

	if (rest[0] != '?' || (last != 'h' && last != 'l'))
		return;
	do {
		char *end;
		unsigned long number = strtoul(rest + 1, &end, 10);

		if (end == rest + 1 || number > 9999)
			return;
		set_mode(screen, (unsigned)number, last == 'h');
		rest = end;
	} while (*rest == ';');
}

static void watch_one(struct screen *screen, char c)
{
	if (c == '\x1b') {
		screen->state = SCREEN_ESCAPE;
	} else if (c == '\x18' || c == '\x1a') { /* gives up what was begun */
		screen->state = SCREEN_TEXT;
	} else if (screen->state == SCREEN_ESCAPE) {
		if (c == 'c') /* everything as at first */
			screen->changed = 0;
		screen->state = c == '[' ? SCREEN_SEQUENCE : SCREEN_TEXT;
		screen->length = 0;
	} else if (screen->state == SCREEN_SEQUENCE) {
		if (screen->length < sizeof(screen->sequence) - 1)
			screen->sequence[screen->length++] = c;
		else
			screen->state = SCREEN_TEXT; /* longer than any that counts */
		if (c < '@' || c > '~' || screen->state == SCREEN_TEXT)
			return;
		screen->sequence[screen->length] = '\0';
		screen->state = SCREEN_TEXT;
		take_sequence(screen);
	}
}

void screen_watch(struct screen *screen, const char *data, size_t length)
{
	const char *end = data + length;

	while (data < end) {
		if (screen->state == SCREEN_TEXT) { /* most of it */
			data = memchr(data, '\x1b', (size_t)(end - data));
			if (!data)
				return;
		}
		watch_one(screen, *data++);
	}
}

bool screen_is_owned(const struct screen *screen)
{
	return screen->changed & ((1u << ALTERNATES) - 1);
}

void screen_again(const struct screen *screen, struct buffer *text)
{
	for (size_t i = 0; i < ELEMENTS(modes); i++)
		if (screen->changed & (1u << i))
			buffer_printf(text, "\x1b[?%u%c", modes[i].number,
				      modes[i].at_first ? 'l' : 'h');
}
