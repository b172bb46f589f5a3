/* SPDX-License-Identifier: Apache-2.0 */
/* Where tools keep below the home directory what they can make or fetch again. Over each of these a
 * workspace gets a layer of its own: what is there is read, what is written goes to the layer. */
#pragma once

#include "decide.h"

/* The known places of which the first component is there. present: the names in home. */
void caches_note(const char *home, const struct list *present, struct list *caches);
/* Adds those of the tools that the command starts, or is likely to: they are made if they are not
 * there. */
void caches_need(const char *home, const struct matter *matter, struct permissions *permissions);
/* Adds those that the command's environment names, and drops those of which a rule says
 * something else. */
void caches_choose(const char *home, struct permissions *permissions);
