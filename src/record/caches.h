/* SPDX-License-Identifier: Apache-2.0 */
/* What commands wrote to caches in the home directory, kept for their workspace: STATE/caches/ID
 * with a slot for each run at once. Two runs never share a slot: the kernel says nothing of what
 * two overlays with one upper directory do. */
#pragma once

#include "../base/error.h"
#include <stdbool.h>
#include <stdint.h>

struct cache_slot {
	char *path; /* holds .ward-inside-layer/ and work/ */
	int lock;   /* of whoever uses it; -1 where it is only read */
};
#define CACHE_SLOT_NONE ((struct cache_slot){.lock = -1})

/* Takes the first slot that is free, and makes it where there is none; the one of a single run at a
 * time is the first. reads: nothing is going to be written. That takes nothing, and -ENOENT means
 * that nothing was ever written. state: of whoever the command runs as. -errno where it cannot be:
 * then there is no layer. */
int cache_open(const char *state, const char *workspace, bool reads, struct cache_slot *ret_slot);
/* Gives it back. */
void cache_close(struct cache_slot *slot);

struct cache {
	const char *id;
	const char *workspace;
	bool gone;  /* there is no such directory any more */
	bool whole; /* everything could be counted */
	unsigned slots, busy;
	uint64_t bytes, files;
	int64_t used; /* the last time, in seconds since 1970 */
};

/* Each workspace's, in no order, or that of one id alone; stops early when each returns non-zero,
 * and returns that. */
int cache_list(const char *state, const char *id,
	       int (*each)(const struct cache *cache, void *data), void *data);
/* Removes it. Refused while a run uses it. */
int cache_clear(const char *state, const char *id, struct error **ret_error);
/* The id of a workspace's. Caller frees. */
char *cache_id(const char *workspace);
/* Removes what was not used for a month, or a day where the workspace is gone: a bounded part of
 * it, the next call goes on. False where something is left. */
bool cache_sweep(const char *state);
/* The same, once an hour: looking at hundreds of workspaces takes as long as a run. When it was is
 * the directory's time of access. */
void cache_sweep_at_times(const char *state);
