/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a run at a moment, for the record. */
#pragma once

#include <jansson.h>
#include <sys/types.h>

/* All that descends from one, itself included, parents first: pid, parent, state, name and command,
 * as many as are worth looking at. As numbers of this side's. */
json_t *process_tree(pid_t root);
