/* SPDX-License-Identifier: Apache-2.0 */
/* The index of a git work tree: which files git has a copy of as they are. */
#pragma once

#include "../base/macro.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct index;

/* The index of the work tree that the directory lies in; NULL where there is none, or none that can
 * be read. What is in it may be anybody's work: nothing in it is trusted. */
struct index *index_open(const char *directory);
void index_free(struct index *index);
/* The top of the work tree. */
const char *index_root(const struct index *index);
/* How many files git tracks there, and the name of one below the root. Caller frees. */
size_t index_count(const struct index *index);
char *index_name(const struct index *index, size_t number);
/* True if git has a copy of the file as it is; path is absolute and normal. */
bool index_has_copy(const struct index *index, const char *path, const struct stat *st);
/* True if git tracks a file of that name, whatever is in it now. */
bool index_tracks(const struct index *index, const char *path);
static inline void index_freep(struct index **index)
{
	index_free(*index);
}
#define _cleanup_index_ __attribute__((cleanup(index_freep)))
