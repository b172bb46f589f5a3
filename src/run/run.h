/* SPDX-License-Identifier: Apache-2.0 */
/* A command from its start to its end: its streams relayed, its signals passed on, its time kept.
 */
#pragma once

#include "../request/result.h"
#include "../sandbox/sandbox.h"
#include "streams.h"

/* Somebody else with something to do while the command runs. */
struct attendant {
	int fd; /* readable when there is; -1: nobody */
	void (*serve)(void *data);
	void *data;
};

struct outcome {
	int exec_error; /* errno, where it could not be executed */
	int status; /* as wait gives it; of a command that was killed with its sandbox: SIGKILL */
	bool timed_out;
	enum run_limit limit;
	double duration_ms, cpu_ms;
	uint64_t max_rss_kb, io_read, io_write, tasks;
};

/* The signals that ward passes on are blocked from here on and read by run_serve. ret_before is
 * what the command gets; returns whether SIGPIPE was ignored. */
bool run_block_signals(sigset_t *ret_before);
/* Serves until the command and everything it left behind are gone. limits are the request's. */
int run_serve(struct entry *entry, struct streams *streams, const struct limits *limits,
	      const struct attendant *attendant, struct outcome *ret_outcome,
	      struct error **ret_error);
