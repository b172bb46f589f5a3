/* SPDX-License-Identifier: Apache-2.0 */
/* JSON-RPC 2.0 over a pair of fds, one object a line. */
#pragma once

#include "../base/error.h"

enum { RPC_LINE = 4 * 1024 * 1024 };

/* Serves until the end of input. A line that is too long, not JSON or not a request is answered
 * with an error, and the next one is read. */
int rpc_serve(int in, int out, struct error **ret_error);
