/* SPDX-License-Identifier: Apache-2.0 */
/* What a run writes, as far as ward can know it: that of tickets, and of runs that somebody wants
 * followed, is kept in files. All other output goes to whoever started the run, and nowhere else.
 */
#pragma once

#include "../base/buffer.h"
#include <jansson.h>
#include <stdbool.h>

struct run_output;

/* run: a whole id. ended: it has, with this exit code (borrowed; may be NULL). */
struct run_output *run_output_open(const char *state, const char *run, bool ended,
				   json_t *exit_code);
/* Adds the next event, if there is one now. False: it is the last. */
bool run_output_next(struct run_output *output, struct buffer *out);
/* True if that run is meant: what is left is read, and then it is over. */
bool run_output_note_end(struct run_output *output, const char *run, json_t *exit_code);
void run_output_close(struct run_output *output);
