/* SPDX-License-Identifier: Apache-2.0 */
/* A run in a process of its own, for programs that serve several at once: a run changes the
 * identity, the signals and the fds of its process for good. The server polls runner_fd, calls
 * runner_serve when it is readable, and hears what happens by its events; questions are answered
 * whenever somebody has an answer. A run does not outlive its server. */
#pragma once

#include "../base/error.h"
#include "../request/request.h"
#include <jansson.h>

struct runner;

/* Who is asked what the run has to ask. */
enum runner_asks {
	RUNNER_ASKS_TERMINAL, /* whoever sits at the server's terminal */
	RUNNER_ASKS_NOBODY,
	RUNNER_ASKS_SERVER, /* by its events, which then have all that is about questions */
};

/* Each is called from runner_serve; any may be NULL. */
struct runner_events {
	enum runner_asks asks;
	/* Bytes of the command's stdout (1) or stderr (2), as they come. */
	void (*output)(void *data, int stream, const char *bytes, size_t length);
	void (*notice)(void *data, const char *text); /* one line for a person */
	/* A question as in docs/ask.schema.json, until it is answered or withdrawn. */
	void (*ask)(void *data, json_t *ask);
	void (*withdrawn)(void *data, const char *id);
	void *data;
};

/* The request is used until this returns. The server has no threads, and no child that it waits
 * for by number -1. */
int runner_start(const struct request *request, const struct runner_events *events,
		 struct runner **ret_runner, struct error **ret_error);
/* The same, with a file that the command reads as its standard input; borrowed. */
int runner_start_fed(const struct request *request, int input, const struct runner_events *events,
		     struct runner **ret_runner, struct error **ret_error);
int runner_fd(const struct runner *runner);
/* True when the run has ended and all its output was passed on. */
bool runner_serve(struct runner *runner);
/* As of `ward run --json`, borrowed; NULL where it ended without one (it was killed). */
json_t *runner_result(const struct runner *runner);
/* True if a question of that id stands. */
bool runner_asks(const struct runner *runner, const char *id);
/* Fails, and the question stands, where it is none of its choices. by: who says so. */
int runner_answer(struct runner *runner, const char *id, json_t *answer, const char *by,
		  struct error **ret_error);
/* The command is told to end (SIGTERM), and is ended two seconds later. */
void runner_cancel(struct runner *runner);
/* A run that goes on is ended at once. */
void runner_free(struct runner *runner);
