/* SPDX-License-Identifier: Apache-2.0 */
/* What happens, one object for each step (docs/events.md): read from the audit log, which is the
 * only truth. Open it at a place, take what is there by eventlog_next() until it returns 0, poll
 * eventlog_fd(), take again. A reader that goes away and comes back says where it was: there is no
 * gap and nothing comes twice. */
#pragma once

#include "../base/error.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct eventlog;

/* Events have the number of their record, and their place among those that come of it: "57.2". */
struct event_place {
	uint64_t record;
	unsigned part;
};
/* "57.2", or "57": behind all of that record. False where it is none. */
bool event_place_read(const char *text, struct event_place *ret_place);
/* The place behind all that is there now. */
int event_place_now(const char *state, struct event_place *ret_place, struct error **ret_error);
/* The place behind all that was recorded before a time ("2026-01-31T12:00:00.000Z"). */
int event_place_since(const char *state, const char *time, struct event_place *ret_place,
		      struct error **ret_error);

/* after: the last event that is known; all zero: none. Runs whose supervisor was killed are looked
 * for first, and with follow as long as it is open: their end goes on record here. Nothing there
 * yet is no failure. */
int eventlog_open(const char *state, struct event_place after, bool follow,
		  struct eventlog **ret_log, struct error **ret_error);
/* Readable when there may be more; of one that follows. */
int eventlog_fd(const struct eventlog *log);
/* 1 with the next event, which the caller frees; 0 where there is none now. */
int eventlog_next(struct eventlog *log, json_t **ret_event, struct error **ret_error);
void eventlog_close(struct eventlog *log);

/* The events that come of one record, in order: an array, empty where it is none. Caller frees. */
json_t *events_of_record(const json_t *record);
