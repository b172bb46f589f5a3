/* SPDX-License-Identifier: Apache-2.0 */
/* A terminal while a question stands on it: its modes, bounded writing and reading, single keys.
 * For this room alone. */
#pragma once

#include "../base/buffer.h"
#include "ask.h"
#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

struct tty {
	int fd; /* borrowed; non-blocking */
	bool dumb;
	struct termios before; /* the modes to go back to */
	unsigned columns, rows;
	uint64_t deadline;		   /* monotonic, ns */
	const struct meanwhile *meanwhile; /* is served wherever this waits; may be NULL */
};

/* What came of waiting for a key. */
enum heard {
	HEARD_KEY,  /* one byte, alone */
	HEARD_TEXT, /* several at once: pasted, or an escape sequence */
	HEARD_NOTHING,
	HEARD_RESIZE,
	HEARD_STOP,	/* Ctrl-C, or a signal that ends ward is pending */
	HEARD_HANG_UP,	/* Ctrl-D, the terminal is gone or no longer ours, or the time is up */
	HEARD_OBSOLETE, /* nobody waits for the answer any more */
};

/* There is nothing more to hear. */
static inline bool is_last(enum heard heard)
{
	return heard >= HEARD_STOP;
}

enum { INPUT_ROOM = 256 };
struct input {
	char data[INPUT_ROOM];
	size_t length;
};

enum { TTY_NAME = 32 };
/* "pts/3", below /dev. */
void tty_name(int fd, char name[static TTY_NAME]);
/* Questions of several runs at one terminal take turns, so that no key answers another question
 * than the one that is read. The lock ends with its fd, which is -1 where the terminal has no name
 * to lock. HEARD_KEY: it is our turn. */
enum heard tty_await_turn(int fd, const struct meanwhile *meanwhile, uint64_t patience_ns,
			  int *ret_lock);
/* Takes the terminal's modes over; false where it has none. */
bool tty_take(struct tty *tty, int fd, const struct meanwhile *meanwhile, uint64_t patience_ns);
/* Undoes what programs do to a terminal, as far as it would hide or garble a question. */
void tty_reset(struct tty *tty);
/* Modes as they were; nobody else gets what was typed meanwhile. */
void tty_give_back(struct tty *tty);
/* Everything, or as much as the terminal takes before the deadline or a signal, and nothing from
 * the background. */
void tty_write(struct tty *tty, const char *text, size_t length);
/* Drops all input for half a second: what was typed before the question was read is no answer. */
enum heard tty_quiet(struct tty *tty);
enum heard tty_listen(struct tty *tty, struct input *ret_input);
enum { LINE_MOST = 2000 };
/* A line of text, beginning with what line holds: HEARD_KEY with the line, HEARD_NOTHING on Escape,
 * or what ended it. enter_alone: Enter counts only when pressed alone, not at the end of something
 * pasted. */
enum heard tty_edit(struct tty *tty, const char *prompt, bool enter_alone, struct buffer *line);
