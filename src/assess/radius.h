/* SPDX-License-Identifier: Apache-2.0 */
/* How much of the workspace would be gone. */
#pragma once

#include "assess.h"

/* Counts what the plan deletes by name in the workspace, for a question that is to be asked: looks
 * at the file system, follows no links, ends after a tenth of a second. Both paths are absolute.
 * What git can bring back as a whole is reversible. */
void assess_damage(const struct plan *plan, const char *workspace, const char *cwd,
		   struct assessment *assessment);
/* Whether all that speaks against the plan is that it deletes files of the workspace, and git has
 * every one of them as it is: then nothing does. Measured as by assess_damage(). */
bool assess_is_kept(const struct plan *plan, const char *workspace, const char *cwd,
		    struct assessment *assessment);
/* How much lies there now: files and bytes, and whether that is not all (links are not followed,
 * other file systems not entered, a tenth of a second at most). False where nothing does. */
bool measure_tree(const char *path, struct damage *ret_damage);
/* "12 files, 3.4 MiB". Caller frees. */
char *measure_text(const struct damage *damage);
