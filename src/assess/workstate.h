/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a workspace as one number: the same while nothing in it that counts has changed. */
#pragma once

#include <stdbool.h>

enum { WORKSTATE_TEXT = 65 };

/* What git tracks there, by name and content as it lies in the tree; not what a commit is called,
 * for that changes without any content. Without git: all files but those of hidden directories and
 * of the usual products. False where it is too large to be looked at, or cannot be. What lies there
 * is a stranger's: no link is followed, nothing but regular files is read. */
bool workstate_of(const char *workspace, char ret_text[static WORKSTATE_TEXT]);
