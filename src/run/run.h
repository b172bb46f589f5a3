/* SPDX-License-Identifier: Apache-2.0 */
/* A command from its start to its end: its streams relayed, its signals passed on, its time kept.
 */
#pragma once

#include "../request/result.h"
#include "../sandbox/cgroup.h"
#include "../sandbox/sandbox.h"
#include "streams.h"

struct run;
struct near_limit;

/* Somebody else with something to do while the command runs. */
struct attendant {
	int fd; /* readable when there is; -1: nobody */
	/* Readable when a caller waits to be served, as fd is then; -1: never. Who waits for this
	 * itself is woken on the caller's processor, which the caller leaves idle. */
	int callers;
	void (*serve)(void *data);
	void *data;
	/* Bytes of the disk that calls it was shown have set aside; may be NULL. */
	uint64_t (*set_aside)(void *data);
	/* It came near to a limit, each told once; may be NULL. */
	void (*near)(void *data, const struct near_limit *near);
	/* Somebody wants to see what only we know (RUN_TELL); may be NULL. */
	void (*tell)(void *data);
	/* The run, for run_pause, before anything is served; may be NULL. */
	void (*begun)(void *data, struct run *run);
	/* RUN_LOOK has come, or the run stands still and time has passed; may be NULL. */
	void (*look)(void *data);
};

struct outcome {
	int exec_error; /* errno, where it could not be executed */
	bool unmade;	/* a container's runtime could not make it */
	int status; /* as wait gives it; of a command that was killed with its sandbox: SIGKILL */
	bool timed_out;
	bool told_to_end; /* by a signal to us, whatever it made of it */
	enum run_limit limit;
	double duration_ms, cpu_ms;
	uint64_t max_rss_kb, io_read, io_write, tasks;
};

/* How it ended and what it used, into the result. */
void outcome_to_result(const struct outcome *outcome, struct result *result);

/* What the caller of ward had set, for the command to start with. */
struct dispositions {
	sigset_t mask;
	bool ignores_pipe, ignores_child;
};

/* Tells a supervisor to end its run now; what the command left is reaped and the result made. */
#define RUN_CANCEL SIGRTMIN
/* Asks it to tell what only it knows to whoever looks at the run: one that means nothing to a
 * process that does not expect it, and that does not queue up. */
#define RUN_TELL SIGURG
/* Tells it to look whether the agent may go on. */
#define RUN_LOOK (SIGRTMIN + 1)

/* The signals that ward passes on are blocked from here on and read by run_serve. */
void run_block_signals(struct dispositions *ret_before);
/* Serves until the command and everything it left behind are gone. limits are the request's; group
 * may be NULL. */
int run_serve(struct entry *entry, struct streams *streams, const struct limits *limits,
	      struct cgroup *group, const struct attendant *attendant, struct outcome *ret_outcome,
	      struct error **ret_error);

/* What is counted is held against the limits while a person is asked, too. From inside a pause. */
void run_look(struct run *run);
/* While a person is asked, wall and idle time stand still, here and in init; pauses may be nested.
 * What was printed so far is passed on before, and what is printed meanwhile is kept until after.
 * Where the command draws on the terminal, that is made again as it was, and it is told to draw
 * anew; one that owns the screen stands still meanwhile. For whoever is served by run_serve, from
 * inside it. */
void run_pause(struct run *run);
void run_resume(struct run *run);
/* Bids everything the command has started to stand still, and waits for nothing: who is inside a
 * call does not get out of it. Afterwards it is frozen, or let go. False: there is no freezer. */
bool run_hold(struct run *run);
void run_let_go(struct run *run);
/* Stops everything the command has started, by the freezer of its group: whoever forks, changes
 * session or is told to go on stays where it is. Clocks stand still, and nothing is served. Where
 * there is no freezer it is ended instead, at once. 0: it stands still; -ETIMEDOUT: all that could
 * run does, and one waits inside a call; else it is ended. */
int run_freeze(struct run *run);
bool run_is_frozen(const struct run *run);
/* It has ended, or was ended. */
bool run_is_over(const struct run *run);
void run_thaw(struct run *run);
/* Ends the command and everything it left behind, now. From inside run_serve, too. */
void run_end(struct run *run);
