/* SPDX-License-Identifier: Apache-2.0 */
/* Permissions that lie within others: a person may give less than was asked for, never more. */
#pragma once

#include "../base/error.h"
#include "../base/list.h"
#include <stdbool.h>

/* True if all that the inner one admits the outer one admits, too; false in doubt. Paths in both
 * are absolute and normalised. */
bool permission_within(const char *inner, const char *outer);
/* What a person wrote in place of what was asked for, made whole: a relative path is the
 * workspace's (may be NULL: none is taken), ~ is home. Fails where it is no permission, where it
 * lies within none of those, or where its path leads elsewhere by a link. Caller frees. */
int permission_narrow(const char *text, const char *workspace, const struct list *outer,
		      char **ret_permission, struct error **ret_error);
