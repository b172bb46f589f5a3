/* SPDX-License-Identifier: Apache-2.0 */
/* The escapes that `ward doctor` tries, and what it lays out for them to reach. */
#pragma once

#include "../../src/sandbox/walls.h"
#include <sys/types.h>

/* What lies outside, told to the probes as words: their order on the command line. */
enum target {
	TARGET_SECRET,	 /* a file that --deny names */
	TARGET_FILE,	 /* a file outside the workspace */
	TARGET_NEW,	 /* one that is not there yet */
	TARGET_TMP,	 /* a file in the host's /tmp; "" where there is none */
	TARGET_STATE,	 /* ward's audit log */
	TARGET_SOCKET,	 /* a unix socket that listens */
	TARGET_ABSTRACT, /* the same by an abstract name */
	TARGET_TCP,	 /* ports on the host's loopback */
	TARGET_UDP,
	TARGET_PROCESS, /* a process of the same user */
	TARGET_FD,	/* a directory that was left open */
	TARGET_MEMORY,	/* a System V segment; -1 none */
	TARGETS,
};

/* The variable that must not come through. */
#define PROBE_VARIABLE "WARD_DOCTOR_TOKEN"
/* What stands in every file and variable that must not be read. */
#define PROBE_MARK "ward-doctor-planted-this"
/* The name of the process. */
#define PROBE_PROCESS "ward-doctor-vic"

struct probe {
	const char *wall; /* what is tried, in a word or two */
	unsigned walls;	  /* each of these holds it, so it must hold unless all are missing */
	/* True if it was refused; how says what happened. */
	int (*run)(char *const targets[TARGETS], const char **ret_what);
	enum target reached; /* what may show outside that it was reached; TARGETS: nothing */
};

/* Answers of a probe. */
enum { PROBE_HELD, PROBE_OPEN, PROBE_UNTRIED };

extern const struct probe probes[];
extern const size_t probe_count;

/* Inside the sandbox: tries all of them and prints a line for each, "NUMBER ANSWER HOW". */
int probes_run(char *const targets[TARGETS]);
