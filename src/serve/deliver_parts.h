/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the deliverer share. STATE/notify has
 *
 *   out/ID     what is to be sent: channel, body, how often it was tried, when next
 *   dead/ID    what was given up; the same file, renamed, so that it is always in one place
 *   asks/ID    a question whose messages were all written
 *   replies/   answers that were taken (escalate/callback.c)
 *   cursor     how far the log was read
 *   lock       held by the deliverer; present: shared by those who may have something to tell
 *
 * An ID comes of what is told and the channel, so that what is found twice is told once. */
#pragma once

#include "../base/buffer.h"
#include "../base/id.h"
#include "../decide/policy.h"
#include "../sys/post.h"
#include "deliver.h"
#include <poll.h>

enum {
	OUT_MOST = 1000, /* that wait; what is more is given up at once */
	DEAD_MOST = 1000,
	COURIERS = 8,
	BODY_MOST = 1 << 20,
};

/* deliver_files.c */
struct box {
	int notify, out, dead, asks; /* directories */
};
int box_open(const char *state, struct box *ret_box, struct error **ret_error);
void box_close(struct box *box);
/* Takes job over. Nothing happens where it is there. */
int box_put(const struct box *box, json_t *job);
/* Writes it anew, whole or not at all. */
int box_update(const struct box *box, json_t *job);
void box_remove(const struct box *box, const char *id);
/* Writes it with its last words, and moves it to those that were given up. */
int box_bury(const struct box *box, json_t *job, const char *why);
/* Removes what is left of those who were killed while they wrote. */
void box_sweep(const struct box *box);
/* NULL where there is none that can be read. Caller frees. */
json_t *box_read(int directory, const char *id);
int write_file(int directory, const char *name, const char *text);

/* deliver_sources.c: what is new becomes jobs. */
struct sources {
	const char *state;
	const struct box *box;
	struct eventlog *log;
	ino_t inode;   /* of the log */
	bool more;     /* there is more to read at once */
	bool broken;   /* it cannot be read: questions are told all the same */
	int changes;   /* inotify of questions and of what is to be sent; -1: none */
	bool changed;  /* something is new; or nothing tells */
	bool unmarked; /* a question is to be looked at again */
	bool routed;   /* one may come to others by and by: time alone changes that */
	uint64_t looked_ns;
};
int sources_open(const char *state, const char *after, const struct box *box,
		 struct sources *ret_sources, struct error **ret_error);
/* -errno where something could not be written: it is read again by the next who opens it. */
int sources_look(struct sources *sources, const struct policy *policy);
void sources_close(struct sources *sources);

/* deliver_courier.c: one attempt at one job. */
enum carried { CARRIED_YET, CARRIED, CARRIED_FAILED, CARRIED_NEVER };
struct courier {
	json_t *job;	   /* borrowed; NULL: it is free */
	bool may_answer;   /* what the program says may be an answer */
	struct post *post; /* of a webhook; else a program: */
	pid_t program;
	int process, input, output;
	struct buffer text, said;
	size_t written;
	uint64_t deadline;
	char why[256];
};
/* CARRIED_YET: it is under way; else it failed at once, and why says how. */
enum carried courier_start(struct courier *courier, json_t *job, const struct policy *policy);
/* Never blocks. */
enum carried courier_look(struct courier *courier);
void courier_end(struct courier *courier);
/* What is to be polled for; and so long at most. */
size_t courier_poll(const struct courier *courier, struct pollfd ret_fds[static 3]);
int courier_milliseconds(const struct courier *courier);
