/* SPDX-License-Identifier: Apache-2.0 */
/* From a tree and the comments around it back to text. */
#include "format.h"
#include "remember.h"
#include "yaml.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { INDENT = 2, WIDTH = 120 };

struct comment {
	int line, column; /* from 1 */
	const char *text;
	size_t length;
	bool alone; /* on its line */
};

struct source {
	const char *text;
	size_t length;
	const char **lines; /* where each begins */
	int line_count;
	struct comment *comments;
	size_t comment_count;
};

struct writer {
	const struct source *source;
	struct buffer *text;
	size_t next;  /* comment that was not written yet */
	bool opened;  /* the last line opens a block: nothing blank follows */
	bool in_line; /* the line has begun, behind a dash */
};

/* The comments. */

static void find_lines(struct source *source)
{
	size_t count = 1;

	for (size_t i = 0; i < source->length; i++)
		count += source->text[i] == '\n';
	source->lines = calloc(count + 1, sizeof(*source->lines));
	if (!source->lines)
		abort();
	source->lines[source->line_count++] = source->text;
	for (size_t i = 0; i < source->length; i++)
		if (source->text[i] == '\n')
			source->lines[source->line_count++] = source->text + i + 1;
}

/* libyaml counts characters. */
static const char *place(const struct source *source, yaml_mark_t mark)
{
	const char *at, *end = source->text + source->length;

	if ((int)mark.line >= source->line_count)
		return end;
	at = source->lines[mark.line];
	for (size_t i = 0; i < mark.column && at < end; i++)
		for (at++; at < end && ((unsigned char)*at & 0xc0) == 0x80;)
			at++;
	return at;
}

static void add_comment(struct source *source, const char *at, int line)
{
	const char *begin = source->lines[line - 1], *end = source->text + source->length;
	size_t length = 0;
	struct comment comment = {.line = line, .text = at};

	while (at + length < end && at[length] != '\n')
		length++;
	while (length && strchr(" \t\r", at[length - 1]))
		length--;
	comment.length = length;
	comment.column = (int)(at - begin) + 1;
	comment.alone = strspn(begin, " \t") >= (size_t)(at - begin);
	source->comments =
		realloc(source->comments, (source->comment_count + 1) * sizeof(*source->comments));
	if (!source->comments)
		abort();
	source->comments[source->comment_count++] = comment;
}

/* A # behind a space or at the beginning of a line begins one, outside of values. */
static void find_comments(struct source *source, const char *from, const char *to, int *line)
{
	for (const char *at = from; at < to; at++) {
		while (*line < source->line_count && source->lines[*line] <= at)
			(*line)++;
		if (*at != '#' || (at > source->lines[*line - 1] && !strchr(" \t", at[-1])))
			continue;
		add_comment(source, at, *line);
		while (at + 1 < to && at[1] != '\n')
			at++;
	}
}

/* False where a comment stands behind the | or > of a text of several lines. */
static bool scan(struct source *source)
{
	yaml_parser_t parser;
	yaml_token_t token;
	const char *from = source->text;
	bool done = false, whole = true;
	int line = 1;

	if (!yaml_parser_initialize(&parser))
		abort();
	yaml_parser_set_input_string(&parser, (const unsigned char *)source->text, source->length);
	while (!done && yaml_parser_scan(&parser, &token)) {
		done = token.type == YAML_STREAM_END_TOKEN;
		if (token.type == YAML_SCALAR_TOKEN) {
			const char *start = place(source, token.start_mark);
			bool block = token.data.scalar.style == YAML_LITERAL_SCALAR_STYLE ||
				     token.data.scalar.style == YAML_FOLDED_SCALAR_STYLE;

			find_comments(source, from, start, &line);
			from = place(source, token.end_mark);
			whole &= !block || !memchr(start, '#', strcspn(start, "\n"));
		}
		yaml_token_delete(&token);
	}
	find_comments(source, from, source->text + source->length, &line);
	yaml_parser_delete(&parser);
	return whole && done;
}

/* Writing. */

static bool is_blank(const struct source *source, int line)
{
	const char *at = line > 0 && line <= source->line_count ? source->lines[line - 1] : "x";

	at += strspn(at, " \t\r");
	return *at == '\n';
}

static void add_indent(struct writer *writer, int indent)
{
	if (!writer->in_line)
		buffer_printf(writer->text, "%*s", indent, "");
	writer->in_line = false;
}

/* A blank line where there was one, or several. */
static void add_blank(struct writer *writer, int line)
{
	if (!writer->opened && !writer->in_line && writer->text->length &&
	    is_blank(writer->source, line - 1))
		buffer_add_char(writer->text, '\n');
	writer->opened = false;
}

static const struct comment *next_comment(const struct writer *writer)
{
	return writer->next < writer->source->comment_count
		       ? &writer->source->comments[writer->next]
		       : NULL;
}

static void add_comments(struct writer *writer, int before, int column, int indent)
{
	const struct comment *comment;

	while ((comment = next_comment(writer)) && comment->line < before &&
	       comment->column >= column) {
		if (comment->alone)
			add_blank(writer, comment->line);
		writer->opened = false;
		buffer_printf(writer->text, "%*s%.*s\n", indent, "", (int)comment->length,
			      comment->text);
		writer->next++;
	}
}

/* The end of a line, with the comment that stood there. */
static void end_line(struct writer *writer, int last)
{
	const struct comment *comment = next_comment(writer);

	if (comment && !comment->alone && comment->line <= last) {
		buffer_printf(writer->text, "  %.*s", (int)comment->length, comment->text);
		writer->next++;
	}
	buffer_add_char(writer->text, '\n');
}

static void add_scalar(struct buffer *text, const struct node *node)
{
	bool plain = true;

	if (node->plain && !strchr(node->text, '\n')) {
		buffer_add_text(text, node->text);
		return;
	}
	for (const unsigned char *c = (const unsigned char *)node->text; *c; c++)
		plain &= *c >= ' ' && *c < 0x7f;
	if (!plain) {
		(void)remember_quote(text, node->text); /* it was read from YAML */
		return;
	}
	buffer_add_char(text, '\'');
	for (const char *c = node->text; *c; c++)
		buffer_printf(text, *c == '\'' ? "''" : "%c", *c);
	buffer_add_char(text, '\'');
}

static bool is_flow(const struct source *source, const struct node *node)
{
	const yaml_mark_t mark = {.line = (size_t)node->line - 1,
				  .column = (size_t)node->column - 1};
	const char *at = place(source, mark);

	return node->kind != NODE_TEXT &&
	       (node->count == 0 || *at == (node->kind == NODE_LIST ? '[' : '{'));
}

static int last_line(const struct node *node)
{
	return node->kind == NODE_TEXT || node->count == 0
		       ? node->line
		       : last_line(node->items[node->count - 1]);
}

static bool has_comments(const struct source *source, int from, int to)
{
	for (size_t i = 0; i < source->comment_count; i++)
		if (source->comments[i].line >= from && source->comments[i].line < to)
			return true;
	return false;
}

/* All of it on one line; false where it cannot be. */
static bool add_flow(const struct source *source, struct buffer *text, const struct node *node)
{
	bool map = node->kind == NODE_MAP;

	if (node->kind == NODE_TEXT) {
		bool special = node->plain && strpbrk(node->text, ",[]{}");

		add_scalar(text, node);
		return !special;
	}
	if (!is_flow(source, node) || has_comments(source, node->line, last_line(node)))
		return false;
	buffer_add_char(text, map ? '{' : '[');
	for (size_t i = 0; i < node->count; i++) {
		if (i)
			buffer_add_text(text, map && i % 2 ? ": " : ", ");
		if (!add_flow(source, text, node->items[i]))
			return false;
	}
	buffer_add_char(text, map ? '}' : ']');
	return true;
}

static void add_block(struct writer *writer, const struct node *node, int indent, int until);

/* Behind a key or a dash. */
static void add_value(struct writer *writer, const struct node *node, const char *before,
		      int indent, int deeper, int line, int until)
{
	_cleanup_buffer_ struct buffer flow = {0};
	size_t used = writer->text->length;
	bool dash = *before == '\0';

	while (used && writer->text->data[used - 1] != '\n')
		used--;
	used = writer->text->length - used;
	if (node->kind == NODE_TEXT) {
		if (!node->plain || *node->text)
			buffer_add_text(writer->text, before);
		add_scalar(writer->text, node);
		end_line(writer, MAX(line, node->line));
	} else if (add_flow(writer->source, &flow, node) && used + flow.length + 1 <= WIDTH) {
		buffer_printf(writer->text, "%s%s", before, buffer_text(&flow));
		end_line(writer, MAX(line, last_line(node)));
	} else if (dash) {
		writer->in_line = true;
		add_block(writer, node, deeper, until);
	} else {
		/* of the key, unless the first of what it holds stands on that line, too */
		end_line(writer, node->items[0]->line > line ? line : 0);
		writer->opened = true;
		add_block(writer, node, indent + INDENT, until);
	}
}

/* The line of what comes after item i. */
static int next_line(const struct node *node, size_t i, int until)
{
	return i < node->count ? node->items[i]->line : until;
}

static void add_block(struct writer *writer, const struct node *node, int indent, int until)
{
	size_t step = node->kind == NODE_MAP ? 2 : 1;

	for (size_t i = 0; i < node->count; i += step) {
		const struct node *item = node->items[i];
		int after = next_line(node, i + step, until);

		if (!writer->in_line) {
			add_comments(writer, item->line, 0, indent);
			add_blank(writer, item->line);
		}
		add_indent(writer, indent);
		if (node->kind == NODE_LIST) {
			buffer_add_text(writer->text, "- ");
			add_value(writer, item, "", indent, indent + INDENT, item->line, after);
			continue;
		}
		add_scalar(writer->text, item);
		buffer_add_char(writer->text, ':');
		add_value(writer, node->items[i + 1], " ", indent, indent, item->line, after);
	}
	/* what is indented as the last of the block was said of the block */
	if (!is_flow(writer->source, node))
		add_comments(writer, until, node->column, indent);
}

/* The same tree: a text of several lines may have got quotes. */
static bool same(const struct node *a, const struct node *b)
{
	if (!a || !b)
		return a == b;
	if (a->kind != b->kind || a->count != b->count)
		return false;
	if (a->kind == NODE_TEXT)
		return strcmp(a->text, b->text) == 0 &&
		       (a->plain == b->plain || strchr(a->text, '\n'));
	for (size_t i = 0; i < a->count; i++)
		if (!same(a->items[i], b->items[i]))
			return false;
	return true;
}

static int write_all_of(struct source *source, const struct node *root, const char *name,
			struct buffer *ret_text, struct error **ret_error)
{
	struct writer writer = {.source = source, .text = ret_text};
	struct arena *arena = arena_new();
	struct node *again = NULL;
	int r = 0;

	if (root && root->kind != NODE_TEXT && root->count)
		add_block(&writer, root, 0, INT32_MAX);
	else if (root)
		add_value(&writer, root, "", 0, 0, root->line, INT32_MAX);
	add_comments(&writer, INT32_MAX, 0, 0);
	if (yaml_read(arena, buffer_text(ret_text), ret_text->length, name, &again, NULL) < 0 ||
	    !same(root, again)) {
		fail(ret_error, E_POLICY, "%s: it cannot be brought into form", name);
		r = error_hint(ret_error, "the file is as it was; write it more simply");
	}
	arena_free(arena);
	return r;
}

int policy_format(const char *text, size_t length, const char *name, struct buffer *ret_text,
		  struct error **ret_error)
{
	struct source source = {.text = text, .length = length};
	struct arena *arena = arena_new();
	struct node *root = NULL;
	int r = yaml_read(arena, text, length, name, &root, ret_error);

	if (r == 0) {
		find_lines(&source);
		if (!scan(&source)) {
			fail(ret_error, E_POLICY, "%s: a comment stands behind a | or >", name);
			r = error_hint(ret_error, "put it on a line of its own before that key");
		}
	}
	if (r == 0)
		r = write_all_of(&source, root, name, ret_text, ret_error);
	free(source.lines);
	free(source.comments);
	arena_free(arena);
	return r;
}
