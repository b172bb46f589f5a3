/* SPDX-License-Identifier: Apache-2.0 */
/* Files of lines in the directory of an agent, for those that keep something there. */
#pragma once

#include "../base/error.h"
#include <stdbool.h>
#include <sys/types.h>

/* An error about what is kept of an agent; errnum may be 0. */
int lines_refuse(struct error **ret_error, int errnum, const char *agent, const char *what);
/* Taken until the fd is closed; 0 or -errno. */
int lines_lock(int directory, int *ret_lock);
/* Whole lines only; 0 or -errno, that of take included. *ret_whole: how many bytes they have.
 * *ret_torn: there is half a line behind them, which was being written when its writer, or the
 * machine, stopped. */
int lines_read(int directory, const char *name,
	       int (*take)(void *data, const char *line, size_t length), void *data,
	       off_t *ret_whole, bool *ret_torn);
/* One line behind that many bytes; what lies behind them is half a line that somebody left. */
int lines_append(int directory, const char *name, off_t whole, const char *line);
