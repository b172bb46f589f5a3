/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: what values and files of grants share. */
#pragma once

#include "grants.h"

/* A zeroed one more; borrowed until the next. */
struct grant *grants_add_empty(struct grants *grants);
/* False where it is none; grant_done() in any case. */
bool grant_from_json(const json_t *object, struct grant *ret_grant);
