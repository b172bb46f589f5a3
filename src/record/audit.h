/* SPDX-License-Identifier: Apache-2.0 */
/* The audit log: one JSON object a line, each bound to the one before by its hash. */
#pragma once

#include "../base/error.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { AUDIT_HASH_TEXT = 65 };

struct audit;

/* Opens (and on first use makes) the log in directory, which must be the caller's own with nobody
 * else writing. The fd stays usable after privileges are dropped. Room for further records is set
 * aside, so that a disk that fills up during a run cannot swallow that run's end. */
int audit_open(const char *directory, struct audit **ret_audit, struct error **ret_error);
void audit_close(struct audit *audit);

/* Appends one record: kind, run (may be NULL) and the members of body (borrowed, may be NULL), with
 * seq, time, prev and hash added. Safe against any number of writers at once, each with a struct
 * audit that it opened itself. When it returns 0 the record is in the file; on failure it is not,
 * not even in part. */
int audit_append(struct audit *audit, const char *kind, const char *run, json_t *body,
		 struct error **ret_error);

/* Whoever carries out a run holds it from its first record on: a lock that ends with the audit, and
 * with the process however that dies. False where somebody else holds it. */
bool audit_hold(struct audit *audit, const char *run);
/* True if whoever carries it out is there, or somebody else holds it. */
bool audit_is_held(struct audit *audit, const char *run);
/* True if there is room for the records that must not fail, whatever the disk. For those that could
 * wait. */
bool audit_has_room(struct audit *audit);

/* How many records there are. */
uint64_t audit_count(struct audit *audit);

/* What somebody knows of the log who has read it before. */
struct audit_seen {
	uint64_t size, records, runs;
	char first[AUDIT_HASH_TEXT]; /* the hash of its first record, by which logs are told apart
				      */
	char last[AUDIT_HASH_TEXT];  /* of the record that ended at that size */
};

struct audit_report {
	uint64_t records;
	char head[AUDIT_HASH_TEXT]; /* hash of the last record; 64 zeros for none */
	uint64_t bad_line;	    /* the first line that does not hold, from 1; 0 if all hold */
	char *fault;		    /* what is wrong there, in words; NULL if nothing */
	uint64_t torn;	 /* bytes after the last record that are no whole line: a write broke off */
	bool is_another; /* than the log that was seen */
};
/* Reads the log in directory and checks every link, the numbering and the head kept beside it: a
 * changed, removed, reordered or added record and a cut tail are faults. seen: from before the
 * call; NULL: nobody has seen it. Returns 0 with *ret_report filled also when a fault was found. */
int audit_verify(const char *directory, const struct audit_seen *seen,
		 struct audit_report *ret_report, struct error **ret_error);
void audit_report_done(struct audit_report *report);

/* Calls each for every record whose offset is at or past *offset, in order, and moves *offset on.
 * Stops early when each returns non-zero, and returns that; *offset is then still at the record
 * that stopped it. An offset past the end of the log is an error: it belongs to another log. */
int audit_read(const char *directory, uint64_t *offset, int (*each)(json_t *record, void *data),
	       void *data, struct error **ret_error);

/* The raw lines of the log from record number since (from 1) on, each without its newline, whether
 * or not they hold. Stops early when each returns non-zero, and returns that. */
int audit_read_lines(const char *directory, uint64_t since,
		     int (*each)(const char *line, size_t length, void *data), void *data,
		     struct error **ret_error);
