/* SPDX-License-Identifier: Apache-2.0 */
/* What a supervisor tells of its run to whoever looks at it, when it is asked to: a file for the
 * run in STATE/top, written whole. Nothing is there as long as nobody looks. */
#pragma once

#include <jansson.h>

/* 0 or -errno. */
int told_write(const char *state, const char *run, const json_t *told);
/* A new object, or NULL where there is none, or where it is not for us to trust. */
json_t *told_read(const char *state, const char *run);
void told_drop(const char *state, const char *run);
/* Those of runs that are no more go: alive is asked about each. */
void told_sweep(const char *state, int (*alive)(const char *run, const void *data),
		const void *data);
