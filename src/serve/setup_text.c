/* SPDX-License-Identifier: Apache-2.0 */
/* Where values stand in JSON text, and text with one more or one less. */
#include "setup_text.h"
#include "../base/buffer.h"

#include <stdbool.h>
#include <string.h>

enum { MOST_DEPTH = 256 };

struct reader {
	struct arena *arena;
	const char *text;
	size_t at;
};

static const char blanks[] = " \t\r\n";

static void skip_blanks(struct reader *reader)
{
	reader->at += strspn(reader->text + reader->at, blanks);
}

/* The end of a string that begins at `at`, or 0. */
static size_t string_end(const char *text, size_t at)
{
	for (at++; text[at] && text[at] != '"'; at++)
		if (text[at] == '\\' && text[at + 1])
			at++;
	return text[at] ? at + 1 : 0;
}

static const char *decode(struct arena *arena, const char *text, size_t length)
{
	json_t *value;
	char *decoded;

	if (!memchr(text, '\\', length))
		return arena_strndup(arena, text + 1, length - 2);
	value = json_loadb(text, length, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	decoded = value ? arena_strdup(arena, json_string_value(value)) : NULL;
	json_decref(value);
	return decoded;
}

static struct node *read_value(struct reader *reader, unsigned depth);

static struct node *read_child(struct reader *reader, char kind, unsigned depth)
{
	size_t from = reader->at, end;
	const char *key = NULL;
	struct node *node;

	if (kind == '{') {
		if (reader->text[from] != '"' || !(end = string_end(reader->text, from)))
			return NULL;
		key = decode(reader->arena, reader->text + from, end - from);
		reader->at = end;
		skip_blanks(reader);
		if (!key || reader->text[reader->at++] != ':')
			return NULL;
	}
	node = read_value(reader, depth);
	if (!node)
		return NULL;
	if (key)
		node->from = from;
	node->key = key;
	return node;
}

static bool read_children(struct reader *reader, struct node *node, unsigned depth)
{
	char close = node->kind == '{' ? '}' : ']';

	reader->at++;
	skip_blanks(reader);
	if (reader->text[reader->at] == close) {
		reader->at++;
		return true;
	}
	for (;;) {
		struct node *child;

		skip_blanks(reader);
		child = read_child(reader, node->kind, depth + 1);
		if (!child)
			return false;
		*(node->last ? &node->last->next : &node->first) = child;
		node->last = child;
		node->count++;
		skip_blanks(reader);
		if (reader->text[reader->at] == close) {
			reader->at++;
			return true;
		}
		if (reader->text[reader->at++] != ',')
			return false;
	}
}

static struct node *read_value(struct reader *reader, unsigned depth)
{
	struct node *node = arena_alloc(reader->arena, sizeof(*node));
	char c;

	skip_blanks(reader);
	node->start = node->from = reader->at;
	c = reader->text[reader->at];
	if (c == '{' || c == '[') {
		node->kind = c;
		if (depth > MOST_DEPTH || !read_children(reader, node, depth))
			return NULL;
	} else if (c == '"') {
		node->kind = c;
		reader->at = string_end(reader->text, reader->at);
		if (!reader->at)
			return NULL;
	} else {
		reader->at += strcspn(reader->text + reader->at, " \t\r\n,]}");
	}
	node->end = reader->at;
	return node->end > node->start ? node : NULL;
}

struct node *node_read(struct arena *arena, const char *text)
{
	struct reader reader = {.arena = arena, .text = text};

	return read_value(&reader, 0);
}

struct node *node_member(const struct node *object, const char *key)
{
	if (!object || object->kind != '{')
		return NULL;
	for (struct node *node = object->first; node; node = node->next)
		if (strcmp(node->key, key) == 0)
			return node;
	return NULL;
}

const char *node_string(struct arena *arena, const struct node *node, const char *text)
{
	return node && node->kind == '"'
		       ? decode(arena, text + node->start, node->end - node->start)
		       : NULL;
}

/* --- layout ----------------------------------------------------------------------------------- */

/* How the file is laid out. */
struct layout {
	const char *newline; /* "" where all stands on one line */
	char step[32];	     /* one level of indentation */
};

/* The blanks in front of a value, if it is the first on its line. */
static size_t indentation(const char *text, size_t at, size_t *ret_from)
{
	size_t from = at;

	while (from > 0 && (text[from - 1] == ' ' || text[from - 1] == '\t'))
		from--;
	*ret_from = from;
	return from > 0 && text[from - 1] == '\n' ? at - from : 0;
}

static bool is_on_a_line_of_its_own(const char *text, size_t at)
{
	size_t from;

	indentation(text, at, &from);
	return from > 0 && text[from - 1] == '\n';
}

static struct layout layout_of(const char *text, const struct node *root)
{
	struct layout layout = {.newline = "\n", .step = "  "};
	size_t from, length;

	if (strstr(text, "\r\n"))
		layout.newline = "\r\n";
	if (!root->first)
		return layout;
	if (!is_on_a_line_of_its_own(text, root->first->from)) {
		layout.newline = "";
		return layout;
	}
	length = indentation(text, root->first->from, &from);
	if (length > 0 && length < sizeof(layout.step)) {
		memcpy(layout.step, text + from, length);
		layout.step[length] = '\0';
	}
	return layout;
}

/* The blanks at the beginning of the line on which the value stands. */
static char *margin_of(const char *text, size_t at)
{
	while (at > 0 && text[at - 1] != '\n')
		at--;
	return strndup(text + at, strspn(text + at, " \t"));
}

/* jansson steps by one blank; a string in JSON has no newline, so every line begins with those. */
static void add_value(struct buffer *buffer, const struct layout *layout, const char *margin,
		      const json_t *value)
{
	_cleanup_free_ char *dumped =
		json_dumps(value, JSON_ENCODE_ANY | (*layout->newline ? JSON_INDENT(1) : 0));

	if (!dumped)
		abort();
	for (const char *c = dumped; *c; c++) {
		size_t depth;

		if (*c != '\n') {
			buffer_add_char(buffer, *c);
			continue;
		}
		buffer_add_text(buffer, layout->newline);
		buffer_add_text(buffer, margin);
		depth = strspn(c + 1, " ");
		for (size_t i = 0; i < depth; i++)
			buffer_add_text(buffer, layout->step);
		c += depth;
	}
}

static void add_member(struct buffer *buffer, const struct layout *layout, const char *margin,
		       const char *key, const json_t *value)
{
	if (key) {
		json_t *name = json_string(key);

		add_value(buffer, layout, margin, name);
		buffer_add_text(buffer, ": ");
		json_decref(name);
	}
	add_value(buffer, layout, margin, value);
}

char *text_add(const char *text, const struct node *root, const struct node *parent,
	       const char *key, const json_t *value)
{
	struct layout layout = layout_of(text, root);
	_cleanup_buffer_ struct buffer inner = {0};
	_cleanup_free_ char *margin = NULL;
	struct buffer new = {0};

	if (parent->last) {
		size_t from, length = indentation(text, parent->last->from, &from);

		buffer_add(&new, text, parent->last->end);
		buffer_add_char(&new, ',');
		if (is_on_a_line_of_its_own(text, parent->last->from)) {
			margin = strndup(text + from, length);
			buffer_add_text(&new, layout.newline);
			buffer_add_text(&new, margin);
		} else {
			layout.newline = "";
			buffer_add_char(&new, ' ');
		}
		add_member(&new, &layout, margin ? margin : "", key, value);
		buffer_add_text(&new, text + parent->last->end);
		return buffer_steal(&new);
	}
	margin = margin_of(text, parent->start);
	buffer_add(&new, text, parent->start + 1);
	if (*layout.newline) {
		buffer_add_text(&inner, margin);
		buffer_add_text(&inner, layout.step);
		buffer_add_text(&new, layout.newline);
		buffer_add_text(&new, buffer_text(&inner));
	}
	add_member(&new, &layout, buffer_text(&inner), key, value);
	if (*layout.newline) {
		buffer_add_text(&new, layout.newline);
		buffer_add_text(&new, margin);
	}
	buffer_add_text(&new, text + parent->end - 1);
	return buffer_steal(&new);
}

char *text_replace(const char *text, const struct node *node, const json_t *value)
{
	_cleanup_free_ char *dumped = json_dumps(value, JSON_ENCODE_ANY);
	struct buffer new = {0};

	if (!dumped)
		abort();
	buffer_add(&new, text, node->start);
	buffer_add_text(&new, dumped);
	buffer_add_text(&new, text + node->end);
	return buffer_steal(&new);
}

/* With the comma and the blanks that text_add() would put there. */
char *text_remove(const char *text, const struct node *parent, const struct node *child)
{
	const struct node *before = NULL;
	size_t from = parent->start + 1, to = parent->end - 1;
	struct buffer new = {0};

	for (const struct node *node = parent->first; node != child; node = node->next)
		before = node;
	if (before) {
		from = before->end;
		to = child->end;
	} else if (child->next) {
		from = child->from;
		to = child->next->from;
	}
	buffer_add(&new, text, from);
	buffer_add_text(&new, text + to);
	return buffer_steal(&new);
}
