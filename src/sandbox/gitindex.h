/* SPDX-License-Identifier: Apache-2.0 */
/* A repository's index as bytes: whether all that it names lies in the tree that is checked out.
 * Git looks at names when they come into an index, and never again: what is in the file it writes
 * wherever it says, by `git restore .` or `git checkout .`. No file is touched here. */
#pragma once

#include <stddef.h>

/* More than that of any repository that is worked in on one machine. */
enum { GIT_INDEX_LIMIT = 256 << 20, GIT_INDEX_NAME = 256 };

/* id: the bytes of an object's name, 20 or 32. 0; -EACCES with the name, as far as there is room,
 * that is no place in the tree; -EINVAL where it cannot be read exactly as git would read it. */
int git_index_check(const char *bytes, size_t length, size_t id, char name[static GIT_INDEX_NAME]);
