/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: a workspace whose git directory lies elsewhere. */
#pragma once

#include "../base/access.h"

/* Adds what git needs to be written outside the workspace, and what stays read-only there. */
void worktree_rules(const char *workspace, struct file_rules *rules);
