/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that somebody wants followed: all that was let through, a line each, and all output, in
 * STATE/monitored/RUN. Bounded by the disk that it may take; what is missing is said. */
#pragma once

#include "../base/error.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct monitor;

/* most: bytes that it may take; 0: MONITOR_MOST. The oldest of more than MONITOR_RUNS go. */
enum { MONITOR_RUNS = 100 };
#define MONITOR_MOST (UINT64_C(1) << 30)
int monitor_open(const char *state, const char *run, uint64_t most, struct monitor **ret_monitor,
		 struct error **ret_error);
/* Something was opened, connected to or started. */
void monitor_saw(struct monitor *monitor, const char *program, pid_t pid, const char *operation,
		 const char *object);
void monitor_output(struct monitor *monitor, const char *data, size_t length);
/* So many bytes of output are not to be had any more. */
void monitor_miss(struct monitor *monitor, uint64_t bytes);
/* What there is, as a new object: directory, seen (how many of each operation), output_bytes,
 * missing_bytes. */
json_t *monitor_summary(const struct monitor *monitor);
/* unread: somebody is to be told, until monitor_forget(). */
void monitor_close(struct monitor *monitor, bool unread);

/* Whoever followed the run is gone with it: somebody is to be told. What there is, as a new object;
 * NULL where nobody did. */
json_t *monitor_lost(const char *state, const char *run);
/* Runs that have ended and that nobody has looked at yet, by their ids, oldest first. */
int monitor_unread(const char *state, int (*each)(const char *run, void *data), void *data);
/* Somebody has looked. */
void monitor_forget(const char *state, const char *run);
