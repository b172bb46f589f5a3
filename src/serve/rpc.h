/* SPDX-License-Identifier: Apache-2.0 */
/* JSON-RPC 2.0 over a pair of fds, one object a line. */
#pragma once

#include "../base/error.h"
#include <stdbool.h>

/* Of a line; of runs beside each other; and of what waits until one of those has ended. */
enum { RPC_LINE = 4 * 1024 * 1024, RPC_RUNS = 64, RPC_WAITING = 16 * 1024 * 1024 };

struct rpc_options {
	bool events; /* what happens in a run is told as it happens, and its questions are put to
			whoever sends the requests, not to the terminal; requests are served
			beside each other, else one after the other */
};

/* Serves until the end of input, and of what was begun by then; with events the end of input is
 * the end of all runs, for nobody is there any more to answer. A line that is too long, not JSON or
 * not a request is answered with an error, and the next one is read. */
int rpc_serve(int in, int out, const struct rpc_options *options, struct error **ret_error);
