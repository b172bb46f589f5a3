/* SPDX-License-Identifier: Apache-2.0 */
/* Where in a file of grants the lines about a key stand: what a run looks up must not take longer
 * because others were granted much. Derived, and made anew whenever it is not to be trusted. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { GRANTS_INDEX_FROM = 4 * 1024 }; /* bytes; a smaller file is read as a whole */

/* The file has grown to that size; whoever calls holds its lock. */
void grants_index_extend(const char *path, int file, off_t size);
/* Offsets of lines about any of the keys, in order; *ret_covered: lines from there on are not in
 * the index. -1 where there is none to be trusted. Caller frees. */
ssize_t grants_index_find(const char *path, off_t size, const char *const *keys, size_t count,
			  uint64_t **ret_offsets, off_t *ret_covered);
