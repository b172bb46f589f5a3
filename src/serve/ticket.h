/* SPDX-License-Identifier: Apache-2.0 */
/* A ticket is a request that goes on without its caller. All of it lies in STATE/tickets/ID; a
 * process of its own, the keeper, holds its lock, asks by the queue (escalate/queue.h), runs the
 * command and leaves the result there. Whoever made it may end or be killed, and so may the keeper:
 * a ticket whose command had not begun gets another one (ticket_adopt), and finds the answer that
 * was given meanwhile. One whose command had begun is lost, and starts again by a person's word
 * alone (ticket_retry). Each step is on disk before it takes effect.
 *
 * Only tickets of the calling user are seen. */
#pragma once

#include "../base/error.h"
#include "../base/id.h"
#include "../request/request.h"
#include <jansson.h>

enum {
	TICKET_PATIENCE_SECONDS = 7 * 24 * 3600, /* for an answer; and so long a result is kept */
	TICKETS_OPEN = 1200,			 /* at once; more are refused */
};

struct ticket_options {
	uint64_t patience_ns;	  /* for an answer; 0: TICKET_PATIENCE_SECONDS */
	const char *ask;	  /* its question has that id; NULL: a new one */
	const char *session;	  /* that it belongs to where the request names none; NULL: that of
				     the calling process */
	char *const *environment; /* that it runs in; NULL: ours */
	const struct list *missing; /* asked for before the start, of a command that was refused it;
				       NULL: nothing */
	const struct list *refused; /* how that is put to a person; NULL: nothing */
	ino_t inode;		    /* of the workspace, with its owner; 0: as it is now */
	uid_t owner;
	const char *program; /* ward's file; NULL: our own, and that is ward */
};

/* Makes the ticket and starts its keeper. Not before it has done so does it return 0: from then on
 * nothing but the ticket is needed. */
int ticket_start(const char *state, const struct request *request,
		 const struct ticket_options *options, char ret_ticket[static ID_TEXT],
		 struct error **ret_error);

/* {"ticket", "state": "waiting|running|done|denied|expired|lost|cancelled", "kept" (a keeper
 * lives), "run" (from its start on), "ask", "agent", "session", "command", "cwd", "since", "until",
 * "changed", "tries", "status" (the exit status of `ward run`, at its end), "truncated" (its
 * output)}; null where there is nothing to say. waiting is open, running too; the rest is the end,
 * but for lost. Caller frees. */
int ticket_status(const char *state, const char *ticket, json_t **ret_status,
		  struct error **ret_error);
/* True of a status after which nothing comes by itself. */
bool ticket_is_over(json_t *status);
/* As of `ward run --json`; fails where it is not over, or lost. Caller frees. */
int ticket_result(const char *state, const char *ticket, json_t **ret_result,
		  struct error **ret_error);
/* What its command wrote to stdout (1) or stderr (2) so far, or the lines that ward had to say (0):
 * from the offset on, as much as fits. */
enum ticket_stream { TICKET_NOTICES, TICKET_STDOUT, TICKET_STDERR };
int ticket_read_output(const char *state, const char *ticket, enum ticket_stream stream,
		       uint64_t offset, char *data, size_t room, size_t *ret_length,
		       struct error **ret_error);
/* In the order in which they were made; show owns nothing. */
int ticket_list(const char *state, void (*show)(void *data, json_t *status), void *data,
		struct error **ret_error);
/* Those that are open, without a look at the others; and how many there may be, by their names. */
int ticket_list_open(const char *state, void (*show)(void *data, json_t *status), void *data,
		     struct error **ret_error);
size_t ticket_count_open(const char *state);
/* Removes what is long over, and the oldest where there is too much. */
void ticket_sweep(const char *state);
/* Unless somebody did so a moment ago: looking through all of them takes time. */
void ticket_sweep_sometimes(const char *state);
/* The one whose id begins so; an error where there is none, or more than one. */
int ticket_find(const char *state, const char *start, char ret_ticket[static ID_TEXT],
		struct error **ret_error);

/* One that waits ends at once. A command that runs is told to end (TICKET_ASK), is ended by its
 * keeper (TICKET_END), or with it (TICKET_KILL); whoever wants to be sure goes from one to the next
 * after a while. Nothing where it is over already. */
enum ticket_force { TICKET_ASK, TICKET_END, TICKET_KILL };
int ticket_cancel(const char *state, const char *ticket, enum ticket_force force,
		  struct error **ret_error);
/* A lost one starts from its beginning, questions included. By a person's word alone. */
int ticket_retry(const char *state, const char *ticket, const char *program,
		 struct error **ret_error);
/* Tickets without a keeper get one, or their end; what is long over is removed. Costs little where
 * there are none: for whoever looks at questions or tickets, and for a daemon as it starts. */
void ticket_adopt(const char *state, const char *program);
/* Readable when something about tickets has changed (ticket NULL), or about this one, its output
 * included. What is read from it says nothing: look again. */
int ticket_watch(const char *state, const char *ticket, int *ret_fd, struct error **ret_error);

/* For runs whose questions may be answered later: what makes a ticket of them. */
struct resumption;
extern const struct resumption ticket_resumption;

/* The keeper itself, in the process that ticket_start made for it: `ward keep`. Lock: the fd that
 * it was given, or -1. */
int ticket_keep(const char *state, const char *ticket, int lock, struct error **ret_error);
