/* SPDX-License-Identifier: Apache-2.0 */
/* What a token leaves: permissions beyond which nothing goes. */
#pragma once

#include "../base/error.h"
#include "../base/list.h"
#include <stdbool.h>

/* Whether it can stand in a token: known, without variables, which are their holder's to set, and
 * nothing that does away with the sandbox. */
int bounds_check(const char *permission, struct error **ret_error);
/* Of several lists what all of them allow, paths made absolute. A permission stays only if in each
 * of the others one has all of it: what lies within two patterns in part is within neither. So more
 * lists never give more. home may be NULL. */
int bounds_make(const struct list *lists, size_t count, const char *workspace, const char *home,
		struct list *ret_bounds, struct error **ret_error);
/* Those of the bounds whose path each list has in so many words. What ward protects is opened by
 * these alone: whoever narrows a tree to a secret in it must not get that. */
void bounds_named(const struct list *lists, size_t count, const char *workspace, const char *home,
		  const struct list *bounds, struct list *ret_named);
/* True if the bounds allow all of it; both as bounds_make() writes them. */
bool bounds_allow(const struct list *bounds, const char *permission);
/* The same for one permission as people write it. Caller frees. */
char *bounds_whole(const char *permission, const char *workspace, const char *home);
/* What the bounds say of starting this file. */
bool bounds_start(const struct list *bounds, const char *file);
/* Directories at the root in which the system keeps its programs and what they need to start. */
bool bounds_is_system(const char *path);
/* A file that is one of the system's programs: not one of the caller's that lies beside them. */
bool bounds_is_program(const char *path);
