/* SPDX-License-Identifier: Apache-2.0 */
/* Changing JSON as text: what a person wrote stays byte for byte as it is, but for the value that
 * is put in or taken out. The text has been read by jansson before, so that it is known to be
 * right. */
#pragma once

#include "../base/arena.h"
#include <jansson.h>

/* A value, and where it stands. */
struct node {
	char kind;	   /* '{', '[', '"', or 0 for any other */
	size_t start, end; /* of the value */
	size_t from;	   /* where the member begins, with its key; else start */
	const char *key;   /* of a member; NULL in an array */
	struct node *next, *first, *last;
	size_t count;
};

/* NULL where it is no JSON after all, or too deep. The nodes are the arena's. */
struct node *node_read(struct arena *arena, const char *text);
struct node *node_member(const struct node *object, const char *key);
/* The text of a string, or NULL. */
const char *node_string(struct arena *arena, const struct node *node, const char *text);

/* Each returns the new text, in which no node is where it was; caller frees. What is put in is laid
 * out as the text around it is: its step of indentation, its line ends, on one line where all is.
 */
char *text_add(const char *text, const struct node *root, const struct node *parent,
	       const char *key /* NULL in an array */, const json_t *value);
char *text_replace(const char *text, const struct node *node, const json_t *value);
char *text_remove(const char *text, const struct node *parent, const struct node *child);
