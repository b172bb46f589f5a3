/* SPDX-License-Identifier: Apache-2.0 */
/* Inside ward policy: the sets of hosts. */
#pragma once

#include "../../src/decide/policy.h"

/* Prints one set, or all where name is NULL, with where each host comes from. */
int policy_sets(const struct policy_places *places, const char *name, bool json,
		struct error **ret_error);
/* The files about sets that are in force here and without fault are added to files. */
int policy_sets_check(const struct policy_places *places, struct list *files,
		      struct error **ret_error);
