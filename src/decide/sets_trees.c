/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of tools that has sections in sections: TOML, and git's. Only texts are looked
 * at, each with the path of its keys; what is broken is stepped over to the end of its line. */
#include "sets_parts.h"
#include "../base/buffer.h"

#include <ctype.h>
#include <string.h>

enum { DEPTH_LIMIT = 16, KEY_LIMIT = 512 };

struct cursor {
	const char *at, *end;
	struct findings *findings;
};

static int look(const struct cursor *cursor)
{
	return cursor->at < cursor->end ? (unsigned char)*cursor->at : -1;
}

static bool skip(struct cursor *cursor, const char *text)
{
	size_t length = strlen(text);

	if ((size_t)(cursor->end - cursor->at) < length || memcmp(cursor->at, text, length) != 0)
		return false;
	cursor->at += length;
	return true;
}

static void skip_blanks(struct cursor *cursor)
{
	while (look(cursor) == ' ' || look(cursor) == '\t' || look(cursor) == '\r')
		cursor->at++;
}

static void skip_line(struct cursor *cursor)
{
	while (look(cursor) != -1 && *cursor->at++ != '\n')
		;
}

/* Blanks, line breaks and comments. */
static void skip_space(struct cursor *cursor)
{
	for (;;) {
		skip_blanks(cursor);
		if (look(cursor) == '#')
			skip_line(cursor);
		else if (look(cursor) == '\n')
			cursor->at++;
		else
			return;
	}
}

/* A string of any of the four kinds. An escape that is no plain character leaves its backslash,
 * with which no text is a URL. False at one that does not end. */
static bool toml_string(struct cursor *cursor, struct buffer *ret_text)
{
	char quote[4] = {*cursor->at, *cursor->at, *cursor->at, '\0'};
	bool escapes = quote[0] == '"';
	bool many = skip(cursor, quote);

	if (!many) {
		quote[1] = '\0';
		cursor->at++;
	}
	while (look(cursor) != -1 && (many || look(cursor) != '\n')) {
		if (skip(cursor, quote))
			return true;
		if (escapes && (skip(cursor, "\\\"") || skip(cursor, "\\\\")))
			buffer_add_char(ret_text, cursor->at[-1]);
		else
			buffer_add_char(ret_text, *cursor->at++);
	}
	return false;
}

/* A key with dots, added to path. */
static bool toml_key(struct cursor *cursor, struct buffer *path)
{
	do {
		_cleanup_buffer_ struct buffer part = {0};

		skip_blanks(cursor);
		if (look(cursor) == '"' || look(cursor) == '\'') {
			if (!toml_string(cursor, &part))
				return false;
		} else {
			while (isalnum(look(cursor)) || look(cursor) == '_' || look(cursor) == '-')
				buffer_add_char(&part, *cursor->at++);
			if (part.length == 0)
				return false;
		}
		buffer_printf(path, "%s%s", path->length ? "." : "", buffer_text(&part));
		if (path->length > KEY_LIMIT)
			return false;
		skip_blanks(cursor);
	} while (skip(cursor, "."));
	return true;
}

static bool toml_value(struct cursor *cursor, const char *path, unsigned depth);

static bool toml_pair(struct cursor *cursor, const char *table, unsigned depth)
{
	_cleanup_buffer_ struct buffer path = {0};

	buffer_add_text(&path, table);
	if (!toml_key(cursor, &path) || !skip(cursor, "="))
		return false;
	skip_blanks(cursor);
	return toml_value(cursor, buffer_text(&path), depth);
}

/* An array or an inline table, behind its opening bracket. */
static bool toml_items(struct cursor *cursor, const char *path, const char *close, unsigned depth)
{
	if (depth >= DEPTH_LIMIT)
		return false;
	for (;;) {
		skip_space(cursor);
		if (skip(cursor, close))
			return true;
		if (!(*close == ']' ? toml_value(cursor, path, depth + 1)
				    : toml_pair(cursor, path, depth + 1)))
			return false;
		skip_space(cursor);
		if (!skip(cursor, ","))
			return skip(cursor, close);
	}
}

static bool toml_value(struct cursor *cursor, const char *path, unsigned depth)
{
	const char *start = cursor->at;

	if (look(cursor) == '"' || look(cursor) == '\'') {
		_cleanup_buffer_ struct buffer text = {0};

		if (!toml_string(cursor, &text))
			return false;
		findings_take(cursor->findings, path, buffer_text(&text));
		return true;
	}
	if (skip(cursor, "["))
		return toml_items(cursor, path, "]", depth);
	if (skip(cursor, "{"))
		return toml_items(cursor, path, "}", depth);
	while (look(cursor) != -1 && !strchr(",]}#\n", look(cursor)))
		cursor->at++;
	return cursor->at > start;
}

void read_toml(const char *text, size_t length, struct findings *findings)
{
	struct cursor cursor = {.at = text, .end = text + length, .findings = findings};
	_cleanup_buffer_ struct buffer table = {0};
	bool known = true; /* the table that the lines belong to */

	for (skip_space(&cursor); look(&cursor) != -1; skip_space(&cursor)) {
		if (skip(&cursor, "[")) {
			(void)skip(&cursor, "[");
			buffer_done(&table);
			known = toml_key(&cursor, &table) && skip(&cursor, "]");
		} else if (known) {
			(void)toml_pair(&cursor, buffer_text(&table), 0);
		}
		skip_line(&cursor);
	}
}

/* `section`, `section.sub` or `section "sub"`, behind the bracket: the key begins with it. */
static bool git_header(struct cursor *cursor, struct buffer *section, struct buffer *sub)
{
	while (isalnum(look(cursor)) || look(cursor) == '-' || look(cursor) == '.')
		buffer_add_char(section, (char)tolower(*cursor->at++));
	skip_blanks(cursor);
	if (skip(cursor, "\"")) {
		while (look(cursor) != -1 && look(cursor) != '\n' && look(cursor) != '"') {
			if (skip(cursor, "\\") && (look(cursor) == -1 || look(cursor) == '\n'))
				return false;
			buffer_add_char(sub, *cursor->at++);
		}
		if (!skip(cursor, "\""))
			return false;
	}
	return skip(cursor, "]") && section->length > 0;
}

/* Behind the `=`: quotes are taken off, a backslash joins lines, # and ; outside quotes end it. */
static void git_value(struct cursor *cursor, struct buffer *value)
{
	bool quoted = false;

	skip_blanks(cursor);
	while (look(cursor) != -1 && look(cursor) != '\n') {
		if (skip(cursor, "\\\n") || skip(cursor, "\\\r\n"))
			continue;
		if (!quoted && (look(cursor) == '#' || look(cursor) == ';'))
			break;
		if (skip(cursor, "\""))
			quoted = !quoted;
		else if (skip(cursor, "\\\"") || skip(cursor, "\\\\"))
			buffer_add_char(value, cursor->at[-1]);
		else
			buffer_add_char(value, *cursor->at++);
	}
	while (value->length && isspace((unsigned char)value->data[value->length - 1]))
		value->data[--value->length] = '\0';
}

static void git_pair(struct cursor *cursor, const struct buffer *section, const struct buffer *sub)
{
	_cleanup_buffer_ struct buffer name = {0}, key = {0}, value = {0};

	while (isalnum(look(cursor)) || look(cursor) == '-')
		buffer_add_char(&name, (char)tolower(*cursor->at++));
	skip_blanks(cursor);
	if (name.length == 0 || name.length > KEY_LIMIT || !skip(cursor, "="))
		return;
	git_value(cursor, &value);
	/* Here it is the section's name that says where to. */
	if (strcmp(buffer_text(section), "url") == 0 &&
	    (strcmp(buffer_text(&name), "insteadof") == 0 ||
	     strcmp(buffer_text(&name), "pushinsteadof") == 0)) {
		findings_take(cursor->findings, "url", buffer_text(sub));
		return;
	}
	/* What the subsection is called says nothing. */
	buffer_printf(&key, "%.*s.%s", (int)strcspn(buffer_text(section), "."),
		      buffer_text(section), buffer_text(&name));
	findings_take(cursor->findings, buffer_text(&key), buffer_text(&value));
}

void read_git_config(const char *text, size_t length, struct findings *findings)
{
	struct cursor cursor = {.at = text, .end = text + length, .findings = findings};
	_cleanup_buffer_ struct buffer section = {0}, sub = {0};

	for (skip_space(&cursor); look(&cursor) != -1; skip_space(&cursor)) {
		if (look(&cursor) == ';') {
			skip_line(&cursor);
		} else if (skip(&cursor, "[")) {
			buffer_done(&section);
			buffer_done(&sub);
			if (!git_header(&cursor, &section, &sub)) {
				buffer_done(&section);
				skip_line(&cursor);
			}
		} else {
			if (section.length)
				git_pair(&cursor, &section, &sub);
			skip_line(&cursor);
		}
	}
}
