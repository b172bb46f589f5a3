/* SPDX-License-Identifier: Apache-2.0 */
/* Questions that another program puts to its user before it runs ward: what was asked is noted, and
 * the run that follows may use it once. Only whoever can write ward's state can note one. */
#pragma once

#include "../base/error.h"
#include "../base/id.h"
#include "../base/list.h"

enum { ASKED_SECONDS = 900 };

/* key: what exactly may run; wanted: the permissions that were part of the question; by: whose user
 * answers. */
int asked_put(const char *state, const char *key, const struct list *wanted, const char *by,
	      char ret_id[static ID_TEXT], struct error **ret_error);
/* Takes it away. True if it was about exactly this and is not too old; *ret_by is then whose user
 * has answered; caller frees. */
bool asked_take(const char *state, const char *id, const char *key, const struct list *wanted,
		char **ret_by);
