/* SPDX-License-Identifier: Apache-2.0 */
/* A server of the Model Context Protocol on two fds: tools that run commands and touch files in the
 * sandbox, and questions to the client's user. */
#pragma once

#include "../base/error.h"

/* Said by whoever starts the server; borrowed. All but profile are given. */
struct mcp_settings {
	const char *workspace; /* absolute */
	const char *profile;
	const char *agent, *session;
	const char *program; /* ward itself, as a command finds it */
};

/* Serves until the end of input, and ends what still runs then. */
int mcp_serve(int in, int out, const struct mcp_settings *settings, struct error **ret_error);
