/* SPDX-License-Identifier: Apache-2.0 */
/* The flags of `ward run` and `ward check`, turned into a request. */
#pragma once

#include "../../src/base/buffer.h"
#include "../../src/request/request.h"

/* 0 with the request filled; 1 where help was asked for; else a negative error code. Stops at the
 * first word that is no flag, or behind `--`: the rest is the command. */
int options_parse(int argc, char **argv, struct request *request, struct error **ret_error);
extern const char options_help[];

/* The words from argv[1] on as flags and nothing else, each as it is said: no command is wanted and
 * nothing is filled in. */
int options_parse_flags(int argc, char **argv, struct request *request, struct error **ret_error);
/* The way back: every flag that says something about the request, each with a blank before it,
 * quoted for bash byte by byte. What options_parse_flags reads from it is the same request. */
void options_print(const struct request *request, struct buffer *line);
