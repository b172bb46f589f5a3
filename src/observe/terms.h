/* SPDX-License-Identifier: Apache-2.0 */
/* What answers gave, and when it ends. A permission that was given for a time, or that can be
 * revoked, is looked after at every use, and four times a second beside: the rest of the room is
 * told by what it judges with being made anew from what is left. */
#pragma once

#include "../base/error.h"
#include "../base/given.h"
#include "../base/list.h"
#include <stdbool.h>
#include <stddef.h>

struct observer;
struct term;
struct target;

struct held {
	struct given given;
	bool early;	   /* no answer, but a rule that will hold again in the next run */
	long entry;	   /* of the ledger, where its uses are counted; -1: nowhere */
	uint64_t call;	   /* the last that was counted */
	struct list files; /* that were opened for writing by it */
	bool more;	   /* than it has room for */
};

struct terms {
	struct held *items;
	size_t count;
	size_t settled; /* how many of them were noted in the ledger */
	bool ending;	/* some of them, or of what the walls gave, can end */
	int timer;	/* -1 until one can */
	struct list lines;
	struct givens ended; /* since it was last told; without a time: revoked */
	struct error *failure;
};

/* What earlier answers gave is there from the beginning. */
void terms_begin(struct observer *observer);
void terms_add(struct observer *observer, const char *permission, const struct term *term);
/* Ends what has ended by now: what was given, and all that came of it and can be taken back. */
void terms_check(struct observer *observer);
/* True if the fd is theirs, and was served. */
bool terms_serve(struct observer *observer, int fd);
void terms_done(struct observer *observer);

/* What was given since the last time came of this entry of the ledger. */
void terms_settle(struct observer *observer, long entry, uint64_t call);
/* A call that makes use of it: counted once, however often it is judged. */
void terms_use(struct observer *observer, size_t number, uint64_t call);
/* A file was opened for writing by it: a descriptor stays open when what gave it has ended. */
void terms_note_file(struct observer *observer, size_t number, const char *path);
void terms_use_target(struct observer *observer, const struct target *target, uint64_t call);
void terms_use_socket(struct observer *observer, const char *path, uint64_t call);
