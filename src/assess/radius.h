/* SPDX-License-Identifier: Apache-2.0 */
/* How much of the workspace would be gone. */
#pragma once

#include "assess.h"

/* Counts what the plan deletes by name in the workspace, for a question that is to be asked: looks
 * at the file system, follows no links, ends after a tenth of a second. Both paths are absolute.
 * What git can bring back as a whole is reversible. */
void assess_damage(const struct plan *plan, const char *workspace, const char *cwd,
		   struct assessment *assessment);
