/* SPDX-License-Identifier: Apache-2.0 */
/* From libyaml's events to a tree. */
#include "yaml.h"
#include "../base/escape.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

enum { DEPTH_LIMIT = 16, NODE_LIMIT = 500000, TEXT_LIMIT = 64 * 1024 };

struct reader {
	struct arena *arena;
	yaml_parser_t parser;
	const char *name;
	unsigned depth, nodes;
	const struct node *open; /* the innermost list or map that is being read */
	int end_line, end_column;
	struct error **ret_error;
};

int yaml_fail(struct error **ret_error, const char *name, const struct node *node, const char *hint,
	      const char *format, ...)
{
	_cleanup_free_ char *message = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&message, format, args) < 0)
		abort();
	va_end(args);
	fail(ret_error, E_POLICY, "%s", message);
	error_place(ret_error, name, node->line, node->column);
	error_hint(ret_error, "%s", hint);
	return -E_POLICY;
}

const char *node_kind_name(const struct node *node)
{
	static const char *const names[] = {"a single value", "a list", "a group of keys"};

	return node->kind == NODE_TEXT && node->plain && !*node->text ? "nothing"
								      : names[node->kind];
}

static int fail_at_mark(struct reader *reader, yaml_mark_t mark, const char *hint,
			const char *message)
{
	struct node place = {.line = (int)mark.line + 1, .column = (int)mark.column + 1};

	return yaml_fail(reader->ret_error, reader->name, &place, hint, "%s", message);
}

/* libyaml names only an offset for these, and takes other encodings too. */
static int check_bytes(struct reader *reader, const char *text, size_t length)
{
	struct node place = {.line = 1, .column = 1};

	for (size_t i = 0; i < length;) {
		unsigned code;
		size_t size = utf8_decode(text + i, length - i, &code);

		if (text[i] == '\0')
			return yaml_fail(reader->ret_error, reader->name, &place,
					 "write the file as UTF-8 text", "a zero byte");
		if (size == 0)
			return yaml_fail(reader->ret_error, reader->name, &place,
					 "write the file as UTF-8 text", "byte 0x%02x is not UTF-8",
					 (unsigned char)text[i]);
		if ((code < ' ' && code != '\t' && code != '\n' && code != '\r') ||
		    (code >= 0x7f && code < 0xa0))
			return yaml_fail(reader->ret_error, reader->name, &place,
					 "remove it, or write it as an escape in double quotes",
					 "control character U+%04X", code);
		i += size;
		if (code == '\n' || (code == '\r' && !(i < length && text[i] == '\n'))) {
			place.line++;
			place.column = 1;
		} else {
			place.column++;
		}
	}
	reader->end_line = place.line;
	reader->end_column = place.column;
	return 0;
}

static int parser_failed(struct reader *reader)
{
	const yaml_parser_t *parser = &reader->parser;
	const char *problem = parser->problem ? parser->problem : "this is not YAML";
	const char *hint = "check the indentation, the quotes and the brackets around this place";
	yaml_mark_t mark = parser->problem_mark;
	_cleanup_free_ char *message = NULL;

	if (parser->error == YAML_MEMORY_ERROR)
		abort();
	if (parser->context && strstr(parser->context, "alias"))
		hint = "put a pattern that begins with * in quotes: '*.pem'";
	else if (parser->context && strstr(parser->context, "anchor"))
		hint = "put a value that begins with & in quotes";
	else if (strstr(problem, "cannot start any token"))
		hint = "indent with spaces, not with tabs; put a value that begins with @, ` or % "
		       "in quotes";
	/* The end of the file says less than where it began. */
	if (parser->context &&
	    ((mark.line == 0 && mark.column == 0) || strstr(parser->context, "simple key") ||
	     strstr(problem, "end of stream")))
		mark = parser->context_mark;
	if (asprintf(&message, "%s%s%s", parser->context ? parser->context : "",
		     parser->context ? ": " : "", problem) < 0)
		abort();
	if (reader->open && parser->context && strstr(parser->context, "flow") &&
	    ((int)mark.line + 1 > reader->end_line || ((int)mark.line + 1 == reader->end_line &&
						       (int)mark.column + 1 >= reader->end_column)))
		return yaml_fail(reader->ret_error, reader->name, reader->open,
				 "close what begins here, with ] or }", "%s", message);
	return fail_at_mark(reader, mark, hint, message);
}

static int next_event(struct reader *reader, yaml_event_t *ret_event)
{
	return yaml_parser_parse(&reader->parser, ret_event) ? 0 : parser_failed(reader);
}

static int check_properties(struct reader *reader, yaml_mark_t mark, const yaml_char_t *anchor,
			    const yaml_char_t *tag)
{
	if (anchor)
		return fail_at_mark(reader, mark,
				    "write the value out, or put it in quotes if the & is meant",
				    "anchors are not allowed");
	if (tag)
		return fail_at_mark(reader, mark,
				    "remove it, or put the value in quotes if the ! is meant",
				    "tags are not allowed");
	return 0;
}

static void add_item(struct arena *arena, struct node *node, struct node *item)
{
	if (node->count == node->room) {
		struct node **items;

		node->room = MAX(node->room * 2, (size_t)8);
		items = arena_new_array(arena, struct node *, node->room);
		if (node->count)
			memcpy(items, node->items, node->count * sizeof(*items));
		node->items = items;
	}
	node->items[node->count++] = item;
}

static int read_node(struct reader *reader, const yaml_event_t *event, struct node **ret_node);

static int read_text(struct reader *reader, const yaml_event_t *event, struct node *node)
{
	const char *text = (const char *)event->data.scalar.value;
	size_t length = event->data.scalar.length;

	if (length > TEXT_LIMIT)
		return fail_at_mark(reader, event->start_mark, "shorten it",
				    "a value of more than 64 KiB");
	if (memchr(text, '\0', length))
		return fail_at_mark(reader, event->start_mark, "remove the escape \\0",
				    "a value that holds a zero byte");
	node->text = arena_strndup(reader->arena, text, length);
	node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	return check_properties(reader, event->start_mark, event->data.scalar.anchor,
				event->data.scalar.tag);
}

/* The items of a list or a map, up to its end. */
static int read_items(struct reader *reader, struct node *node, yaml_event_type_t end)
{
	const struct node *around = reader->open;

	reader->open = node;
	if (++reader->depth > DEPTH_LIMIT)
		return yaml_fail(reader->ret_error, reader->name, node, "make it flatter",
				 "nested too deeply");
	for (;;) {
		bool is_key = node->kind == NODE_MAP && node->count % 2 == 0;
		struct node *item = NULL;
		yaml_event_t event;
		int r = next_event(reader, &event);

		if (r < 0)
			return r;
		if (event.type == end) {
			yaml_event_delete(&event);
			reader->depth--;
			reader->open = around;
			return 0;
		}
		if (is_key && event.type != YAML_SCALAR_EVENT && event.type != YAML_ALIAS_EVENT)
			r = fail_at_mark(reader, event.start_mark, "a key is a single word",
					 "a list or a group of keys stands where a key should");
		if (r == 0)
			r = read_node(reader, &event, &item);
		yaml_event_delete(&event);
		if (r < 0)
			return r;
		if (is_key && strcmp(item->text, "<<") == 0)
			return yaml_fail(reader->ret_error, reader->name, item,
					 "write the keys out", "merge keys are not allowed");
		add_item(reader->arena, node, item);
	}
}

static int read_node(struct reader *reader, const yaml_event_t *event, struct node **ret_node)
{
	struct node *node = arena_alloc(reader->arena, sizeof(*node));
	int r;

	node->line = (int)event->start_mark.line + 1;
	node->column = (int)event->start_mark.column + 1;
	if (++reader->nodes > NODE_LIMIT)
		return yaml_fail(reader->ret_error, reader->name, node, "shorten the file",
				 "more than %d values", NODE_LIMIT);
	*ret_node = node;
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return read_text(reader, event, node);
	case YAML_SEQUENCE_START_EVENT:
		node->kind = NODE_LIST;
		r = check_properties(reader, event->start_mark, event->data.sequence_start.anchor,
				     event->data.sequence_start.tag);
		return r < 0 ? r : read_items(reader, node, YAML_SEQUENCE_END_EVENT);
	case YAML_MAPPING_START_EVENT:
		node->kind = NODE_MAP;
		r = check_properties(reader, event->start_mark, event->data.mapping_start.anchor,
				     event->data.mapping_start.tag);
		return r < 0 ? r : read_items(reader, node, YAML_MAPPING_END_EVENT);
	default:
		return fail_at_mark(reader, event->start_mark,
				    "write the value out; put a pattern that begins with * in "
				    "quotes: '*.pem'",
				    "aliases are not allowed");
	}
}

static int read_stream(struct reader *reader, struct node **ret_root)
{
	struct node *root = NULL;

	for (;;) {
		yaml_event_t event;
		yaml_event_type_t type;
		int r = next_event(reader, &event);

		if (r < 0)
			return r;
		type = event.type;
		if (type == YAML_DOCUMENT_START_EVENT && root)
			r = fail_at_mark(reader, event.start_mark, "keep the first one",
					 "a second document in the file");
		else if (type != YAML_STREAM_START_EVENT && type != YAML_STREAM_END_EVENT &&
			 type != YAML_DOCUMENT_START_EVENT && type != YAML_DOCUMENT_END_EVENT)
			r = read_node(reader, &event, &root);
		yaml_event_delete(&event);
		if (r < 0)
			return r;
		if (type == YAML_STREAM_END_EVENT)
			break;
	}
	if (root && root->kind == NODE_TEXT && root->plain && !*root->text)
		root = NULL; /* only comments, or a bare --- */
	*ret_root = root;
	return 0;
}

int yaml_read(struct arena *arena, const char *text, size_t length, const char *name,
	      struct node **ret_root, struct error **ret_error)
{
	struct reader reader = {.arena = arena, .name = name, .ret_error = ret_error};
	int r;

	/* A byte order mark would count as a column. */
	if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		text += 3;
		length -= 3;
	}
	r = check_bytes(&reader, text, length);
	if (r < 0)
		return r;
	if (!yaml_parser_initialize(&reader.parser))
		abort();
	yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, length);
	r = read_stream(&reader, ret_root);
	yaml_parser_delete(&reader.parser);
	return r;
}
