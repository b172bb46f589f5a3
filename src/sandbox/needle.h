/* SPDX-License-Identifier: Apache-2.0 */
/* A pattern made ready to be tried on very many names. */
#pragma once

#include "../base/access.h"
#include "../base/error.h"
#include "../base/list.h"
#include <limits.h>

enum { NEEDLE_ANY_DEPTH = INT_MAX };

struct needle {
	const struct file_rule *rule;
	const char *name;      /* the last component */
	size_t prefix, suffix; /* its literal ends: most names are ruled out by them */
	size_t name_length;
	char first;	/* what the name begins with; 0: any letter */
	bool only_name; /* FIXED / ** / NAME: the name alone decides below FIXED */
	int deepest;	/* components of the deepest path that can match */
};

int needle_components(const char *path);
void needle_prepare(const struct file_rule *rule, struct needle *ret_needle);
/* 1 if the rule means the entry of the directory, 0 if not. not_names: what no default rule means.
 */
int needle_matches(const struct needle *needle, const struct list *not_names, const char *directory,
		   const char *name, size_t length, struct error **ret_error);
