/* SPDX-License-Identifier: Apache-2.0 */
/* What the last walk of a tree saw, kept in ward's state, where no command reaches it. A cache that
 * is damaged, of another version or user, or too large is no cache; one that cannot be written is
 * not written. Neither is an error. */
#pragma once

#include "../base/buffer.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

/* One directory, followed by all those below it. */
struct record {
	uint64_t inode; /* 0: it is not known what it is */
	int64_t seconds;
	uint32_t nanoseconds; /* when it changed (ctime) */
	uint32_t end;	      /* where the last one below it ends, from the first record on */
	uint32_t names;	      /* bytes of the names in it that were found, each with its NUL */
	uint32_t name;	      /* bytes of its own name, with its NUL */
	char text[];	      /* its name, then those names; padded to a multiple of 8 */
};

struct cache {
	const char *records;
	size_t length; /* 0: there is none */
	void *map;
	size_t map_length;
};

/* key: whatever the answer depends on. */
void cache_read(const char *directory, const struct buffer *key, struct cache *ret_cache);
void cache_write(const char *directory, const struct buffer *key, const struct buffer *records);
void cache_done(struct cache *cache);

/* The record at an offset that must end before limit; NULL where there is none that is whole. */
const struct record *cache_record(const struct cache *cache, size_t offset, size_t limit);
size_t record_size(const struct record *record);

/* Whether a file system changes the ctime of a directory with its entries, always. */
bool cache_trusts_file_system(int fd);
/* Whether a directory that changed at that time and was read at the other cannot have changed again
 * with the same ctime: the clock of files is coarse, and some file systems keep whole seconds. */
bool cache_trusts_time(const struct timespec *changed, const struct timespec *read);
