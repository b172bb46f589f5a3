/* SPDX-License-Identifier: Apache-2.0 */
/* A YAML text as a tree in which everything knows its place. Only the plain part of the language:
 * one document, no anchors, aliases, tags or merge keys. */
#pragma once

#include "../base/arena.h"
#include "../base/error.h"
#include <stdbool.h>

enum node_kind { NODE_TEXT, NODE_LIST, NODE_MAP };

struct node {
	enum node_kind kind;
	int line, column; /* from 1 */
	const char *text; /* holds no NUL */
	bool plain;	  /* not quoted */
	struct node **items;
	size_t count, room; /* of a map: keys (always texts) and values in turn */
};

/* Lives in the arena; *ret_root is NULL where the text says nothing. name is the file's. */
int yaml_read(struct arena *arena, const char *text, size_t length, const char *name,
	      struct node **ret_root, struct error **ret_error);
/* An E_POLICY error at a place. Returns -E_POLICY. */
int yaml_fail(struct error **ret_error, const char *name, const struct node *node, const char *hint,
	      const char *format, ...) _printf_(5, 6);
const char *node_kind_name(const struct node *node);
