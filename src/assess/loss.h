/* SPDX-License-Identifier: Apache-2.0 */
/* Work that nothing brings back: files that a plan deletes or writes anew by their names. */
#pragma once

#include "assess.h"

#include <time.h>

/* Makes a plan that nothing speaks against one that is asked about, where it deletes, or writes
 * anew, a file in a git work tree that holds something, that git has no copy of and is not told to
 * ignore, and that was there before since, when the session began: what the session made itself is
 * its own to remove. A file that the plan names more than once is one that it works on. Looks at
 * no more than some names, at the file system, and at git's index where a file is there. Both paths
 * are absolute. */
void assess_loss(struct arena *arena, const struct plan *plan, const char *workspace,
		 const char *cwd, struct timespec since, struct assessment *assessment);
