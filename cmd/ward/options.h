/* SPDX-License-Identifier: Apache-2.0 */
/* The flags of `ward run` and `ward check`, turned into a request. */
#pragma once

#include "../../src/request/request.h"

/* 0 with the request filled; 1 where help was asked for; else a negative error code. Stops at the
 * first word that is no flag, or behind `--`: the rest is the command. */
int options_parse(int argc, char **argv, struct request *request, struct error **ret_error);
extern const char options_help[];
