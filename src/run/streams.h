/* SPDX-License-Identifier: Apache-2.0 */
/* The three standard streams, between the caller of ward and the command: which of them are a
 * terminal, a pipe that ward relays, or a thing that can be handed in as it is. */
#pragma once

#include "../base/error.h"
#include "../request/request.h"
#include "../sandbox/sandbox.h"
#include "capture.h"
#include "screen.h"
#include <termios.h>

enum { PUMP_ROOM = 64 * 1024 };

/* Moves bytes from one fd to another without ever blocking on either. */
struct pump {
	int from, to; /* -1: at its end, or none */
	bool to_is_socket, discard;
	int error;		     /* errno of the write that failed; 0: none */
	bool moved;		     /* something has come through */
	struct capture *captures[2]; /* of what passes, each may be NULL */
	struct screen *screen;	     /* what it makes of the terminal it goes to, or NULL */
	size_t start, end;
	char data[PUMP_ROOM];
};

struct streams {
	struct stdio stdio[3];	/* for the sandbox */
	struct pump *output[2]; /* stdout and stderr; NULL where they are one, or the terminal */
	struct pump *input; /* the caller's input to a pipe; NULL where it is handed in or is the
			       terminal */
	struct capture captured[2], aggregated;

	/* The caller's terminal, if any stream is one. */
	int terminal;	     /* -1: none, or none is wanted */
	bool terminal_input; /* standard input is it */
	bool all_terminal; /* input and output are, so that the command gets the keyboard at once */
	bool raw;	   /* its mode is ours now */
	struct termios before; /* and was this */
	int input_file;	       /* the caller's fd whose offset is kept in step; -1 none */
	char *input_path;
	int close_after_start[3]; /* the sandbox's ends of pipes */
};

int streams_open(const struct request *request, bool stream, struct streams *ret_streams,
		 struct error **ret_error);
void streams_done(struct streams *streams);

/* One step: reads if there is room, writes if there is something. Returns true if something moved.
 */
bool pump_move(struct pump *pump);
/* What to wait for. */
bool pump_wants_read(const struct pump *pump);
bool pump_wants_write(const struct pump *pump);
/* Nothing more will come out of it. */
bool pump_finished(const struct pump *pump);
struct pump *pump_new(int from, int to);
void pump_free(struct pump *pump);

/* What standard input was before a command got it, to know whether it can be given out again. */
struct input_mark {
	struct timespec accessed;
	int waiting; /* bytes in a pipe */
	bool over;   /* nothing is in it, and nothing can come any more */
	off_t offset;
};
void input_mark(struct input_mark *ret_mark);
/* Puts it back to the mark; false where something was taken out of it that cannot be put back. */
bool input_rewind(const struct streams *streams, const struct input_mark *mark);

/* True if the caller's terminal is ours to use now: we are in its foreground. */
bool terminal_is_ours(const struct streams *streams);
/* The modes to go back to, as they are now; nothing while they are ours. */
void terminal_read_modes(struct streams *streams);
void terminal_make_raw(struct streams *streams);
void terminal_restore(struct streams *streams);
/* Copies the window size, and at the start the modes, to the pty. */
void terminal_copy_size(const struct streams *streams, int master);
void terminal_copy_modes(const struct streams *streams, int master);
/* What a pty for the command starts with. */
void terminal_describe(const struct streams *streams, struct termios *ret_modes,
		       struct winsize *ret_window);
