/* SPDX-License-Identifier: Apache-2.0 */
/* Which files of a work tree git is told to leave alone: .gitignore and .git/info/exclude. */
#pragma once

#include <stdbool.h>

/* True if one of them names the file, or a directory that it lies in. root is the top of the work
 * tree, path is absolute, normal and below it. The files are a stranger's: they are read within
 * bounds, and what is beyond these does not count. */
bool git_ignores(const char *root, const char *path);
