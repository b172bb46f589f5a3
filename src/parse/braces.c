/* SPDX-License-Identifier: Apache-2.0 */
/* Braces that write a word several times. */
#include "scope.h"
#include "lexer.h"

#include <string.h>

enum { WORD_LIMIT = 4096, BRACE_LIMIT = 128, BRACE_SIZE = 64 * 1024, BRACE_DEPTH = 32 };

struct braces {
	struct arena *arena;
	struct snippet items[BRACE_LIMIT];
	size_t count, size;
	bool too_many;
};

/* The place behind the quote, escape or expansion at `at`; `at` itself where there is none. */
static size_t skip_quoted(const char *text, size_t length, size_t at)
{
	size_t start = at;

	if (text[at] == '\\')
		return MIN(at + 2, length);
	if (text[at] == '\'') {
		const char *close = memchr(text + at + 1, '\'', length - at - 1);

		return close ? (size_t)(close + 1 - text) : length;
	}
	if (text[at] == '"') {
		for (at++; at < length && text[at] != '"'; at++)
			at += text[at] == '\\';
		return MIN(at + 1, length);
	}
	if (text[at] == '`') {
		for (at++; at < length && text[at] != '`'; at++)
			at += text[at] == '\\';
		return MIN(at + 1, length);
	}
	if ((text[at] == '$' || text[at] == '<' || text[at] == '>') && at + 1 < length &&
	    strchr("({", text[at + 1])) {
		size_t depth = 0;

		for (at++; at < length; at++) {
			depth += strchr("({", text[at]) != NULL;
			depth -= strchr(")}", text[at]) != NULL;
			if (depth == 0)
				return at + 1;
		}
		return length;
	}
	return start;
}

/* The brace that closes the one at `open`, and whether there is a comma of its own between them. */
static size_t find_close(const char *text, size_t length, size_t open, bool *ret_comma)
{
	size_t depth = 0;

	*ret_comma = false;
	for (size_t at = open; at < length;) {
		size_t next = skip_quoted(text, length, at);

		if (next > at) {
			at = next;
			continue;
		}
		if (text[at] == '{')
			depth++;
		else if (text[at] == ',' && depth == 1)
			*ret_comma = true;
		else if (text[at] == '}' && --depth == 0)
			return at;
		at++;
	}
	return length;
}

static void add(struct braces *braces, struct snippet item)
{
	braces->size += item.length;
	if (braces->count >= BRACE_LIMIT || braces->size > BRACE_SIZE)
		braces->too_many = true;
	else
		braces->items[braces->count++] = item;
}

static void expand(struct braces *braces, struct snippet text, size_t from, unsigned depth);

/* before + middle + after, of which the part from `from` on may hold more braces. */
static void join(struct braces *braces, struct snippet text, size_t open, const char *middle,
		 size_t length, size_t close, unsigned depth)
{
	size_t after = text.length - close - 1, size = open + length + after;
	char *copy;

	if (braces->too_many || size > BRACE_SIZE) {
		braces->too_many = true;
		return;
	}
	braces->size += size;
	copy = arena_alloc(braces->arena, size + 1);
	memcpy(copy, text.text, open);
	memcpy(copy + open, middle, length);
	memcpy(copy + open + length, text.text + close + 1, after);
	expand(braces, (struct snippet){copy, size}, open, depth + 1);
}

/* {1..3}, {a..c} */
static bool expand_range(struct braces *braces, struct snippet text, size_t open, size_t close,
			 unsigned depth)
{
	const char *inside = arena_strndup(braces->arena, text.text + open + 1, close - open - 1);
	const char *dots = strstr(inside, "..");
	bool letters = dots == inside + 1 && strlen(inside) == 4 && is_name_start(inside[0]) &&
		       is_name_start(inside[3]);
	long from, to, step;

	if (letters) {
		from = inside[0];
		to = inside[3];
	} else {
		char *end;

		from = strtol(inside, &end, 10);
		if (end == inside || end != dots)
			return false;
		to = strtol(dots + 2, &end, 10);
		if (end == dots + 2 || *end)
			return false;
	}
	step = from <= to ? 1 : -1;
	for (long i = from; !braces->too_many; i += step) {
		char number[32];
		int length = letters ? snprintf(number, sizeof(number), "%c", (int)i)
				     : snprintf(number, sizeof(number), "%ld", i);

		join(braces, text, open, number, (size_t)length, close, depth);
		if (i == to)
			break;
	}
	return true;
}

static void expand_commas(struct braces *braces, struct snippet text, size_t open, size_t close,
			  unsigned depth)
{
	size_t start = open + 1, nested = 0;

	for (size_t at = open + 1; at <= close && !braces->too_many;) {
		size_t next = at < close ? skip_quoted(text.text, close, at) : at;

		if (next > at) {
			at = next;
			continue;
		}
		if (nested == 0 && (at == close || text.text[at] == ',')) {
			join(braces, text, open, text.text + start, at - start, close, depth);
			start = at + 1;
		}
		nested += text.text[at] == '{';
		nested -= text.text[at] == '}' && nested;
		at++;
	}
}

static void expand(struct braces *braces, struct snippet text, size_t from, unsigned depth)
{
	if (depth > BRACE_DEPTH)
		braces->too_many = true;
	for (size_t at = from; !braces->too_many && at < text.length;) {
		size_t next = skip_quoted(text.text, text.length, at), close;
		bool comma;

		if (next > at) {
			at = next;
			continue;
		}
		if (text.text[at] == '{') {
			close = find_close(text.text, text.length, at, &comma);
			if (close < text.length && comma) {
				expand_commas(braces, text, at, close, depth);
				return;
			}
			if (close < text.length && expand_range(braces, text, at, close, depth))
				return;
		}
		at++;
	}
	add(braces, text);
}

bool brace_expand(struct arena *arena, struct snippet snippet, struct snippet **ret_items,
		  size_t *ret_count)
{
	struct braces *braces;

	*ret_items = NULL;
	*ret_count = 0;
	if (!memchr(snippet.text, '{', snippet.length) ||
	    !memchr(snippet.text, '}', snippet.length))
		return false;
	if (snippet.length > WORD_LIMIT)
		return true;
	braces = arena_alloc(arena, sizeof(*braces));
	braces->arena = arena;
	expand(braces, snippet, 0, 0);
	if (braces->too_many)
		return true;
	*ret_items = braces->items;
	*ret_count = braces->count;
	return true;
}
