/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing whole things: files, pipes, directories. */
#pragma once

#include "macro.h"
#include <sys/types.h>

/* Writes all of it, through EINTR and short writes; 0 or -errno. */
int write_all(int fd, const void *data, size_t length);
/* Reads until length bytes or end of file; the count, or -errno. */
ssize_t read_all(int fd, void *data, size_t length);
/* A whole file of at most limit bytes, NUL-terminated; -errno, -EFBIG where it is longer. */
int read_file(int dirfd, const char *path, size_t limit, char **ret_text, size_t *ret_length);
/* mkdir -p with the mode for what is made; 0 or -errno. */
int make_directories(const char *path, mode_t mode);
/* rm -rf of dirfd/name, never across a symlink or a mount, at most a million entries; 0 or -errno.
 */
int remove_tree(int dirfd, const char *name);
/* The same, at most so many entries: -EFBIG where something is left. */
int remove_tree_part(int dirfd, const char *name, unsigned most);
