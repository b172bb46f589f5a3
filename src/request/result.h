/* SPDX-License-Identifier: Apache-2.0 */
/* What became of a request: one shape, whatever happened. */
#pragma once

#include "request.h"
#include <time.h>

enum run_limit {
	LIMIT_NONE,
	LIMIT_MEMORY,
	LIMIT_CPU,
	LIMIT_PROCESSES,
	LIMIT_DISK,
	LIMIT_TIME,
	LIMIT_IDLE,
	LIMIT_OUTPUT,
};

/* One operation that was refused; the same object counts once, with how often it was tried. */
struct denial {
	char *operation; /* of the permission vocabulary: read, write, delete, connect, unix ... */
	char *object;	 /* the exact object: a path as opened, host:port, a socket */
	char *syscall;
	char *rule;	/* what refused it */
	char *program;	/* who tried: the name of the process, or NULL */
	char *host;	/* connect: the name that was asked for, or the address; else NULL */
	char *address;	/* connect: where it leads, as far as that is known; else NULL */
	char *protocol; /* connect: tcp or udp; else NULL */
	uint16_t port;	/* connect; else 0 */
	char *answer;	/* none, granted, denied; a constant, not freed */
	const char
		*violation; /* what it counts as against the agent ("token"); NULL: it does not */
	unsigned count;
	struct timespec first, last; /* when it was tried */
};

struct attempt {
	enum level level;
	struct list walls; /* those that stood */
	int exit_code;
	struct denial *denials;
	size_t denial_count;
	struct list masks; /* paths that answered EACCES whatever their own mode */
	bool traced;	   /* reads that met one are among the denials */
};

/* One step of deciding, in order; strings are owned, NULL becomes null. */
/* What a person, or what stands for one, has said to a question. */
struct said {
	bool given; /* there was an answer */
	bool granted, monitored;
	char *reason;	     /* owned; what he said besides, for the agent; may be NULL */
	uint64_t seconds;    /* how long it holds; 0: as its scope says */
	struct list domains; /* hosts that a yes opens */
};

struct decision {
	char *stage, *verdict, *source, *by, *scope, *grant, *time;
	struct said approval;
};

struct output {
	char *data; /* NULL while empty; bytes as they came */
	size_t length;
};

struct result {
	char *run;	/* NULL where no run was begun */
	char *incident; /* by which its agent is in safe mode; NULL: it is in none */
	char *ticket;	/* under which it goes on without its caller; NULL: it does not */
	const char *verdict, *source;
	int exit_code; /* -1 where the command did not start */
	int signal;    /* 0: none */
	bool timed_out, truncated;
	bool told_to_end; /* whoever started ward wanted it to end; not part of the JSON */
	enum run_limit limit;
	double duration_ms;
	struct output stdout_, stderr_, aggregated;
	struct decision *decisions;
	size_t decision_count;
	struct attempt *attempts;
	size_t attempt_count;
	double cpu_ms;
	uint64_t max_rss_kb, io_read_kb, io_write_kb, processes;
	struct list warnings;
	struct error *error; /* owned; NULL where there is none */
};

void result_init(struct result *result);
void result_done(struct result *result);
#define _cleanup_result_ _cleanup_(result_done)

/* Add a zeroed entry at the end; valid until the next one is added. */
struct attempt *result_add_attempt(struct result *result);
struct decision *result_add_decision(struct result *result, const char *stage, const char *verdict,
				     const char *source);
struct denial *attempt_add_denial(struct attempt *attempt);

const char *limit_name(enum run_limit limit); /* NULL for LIMIT_NONE */
/* rejected, sandbox_denied, timeout, engine. */
const char *error_kind(const struct error *error);

/* What any caller may rely on whatever happened: a success and a time-out lend their own output,
 * any other failure is given exit code -1, its message on stderr and in the aggregated output, and
 * no duration. The view borrows from the result. */
struct view {
	int exit_code;
	const char *stdout_, *stderr_, *aggregated;
	size_t stdout_length, stderr_length, aggregated_length;
	double duration_ms;
	bool timed_out, truncated;
	int signal; /* 0: none */
};
void result_view(const struct result *result, struct view *ret_view);

/* The exit status of `ward run` for it: the command's own, 128+N, 124, 125, 126, 127;
 * 75 where it goes on by a ticket. */
int result_exit_status(const struct result *result);

/* A part of it. */
json_t *denial_to_json(const struct denial *denial);
json_t *decision_to_json(const struct decision *decision);
/* The object of the design's section 7. Bytes that are not UTF-8 are shown with U+FFFD and "lossy":
 * true. */
json_t *result_to_json(const struct result *result);
/* The same without the output texts, for the record. */
json_t *result_summary_to_json(const struct result *result);
