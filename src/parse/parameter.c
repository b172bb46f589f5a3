/* SPDX-License-Identifier: Apache-2.0 */
/* ${...}: defaults, parts and changes of a value that is known. */
#include "scope.h"
#include "lexer.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

enum { TRIM_LIMIT = 256 };

static struct value one(const struct where *where, const char *text, bool certain)
{
	struct value value = {.items = arena_new_array(where->arena, const char *, 1),
			      .count = 1,
			      .certain = certain};

	value.items[0] = text;
	return value;
}

/* ${x:-WORD} and kin; known: *value is what x has. */
static bool with_default(const struct where *where, const char *operator, size_t length, bool known,
			 struct value *value)
{
	bool colon = operator[0] == ':';
	char sign = operator[colon];
	bool empty = known && (value->count == 0 || (colon && value->items[0][0] == '\0'));
	bool takes = sign == '+' ? !empty : !known || empty;
	struct where inside = *where;
	struct words words = {0};

	if (sign == '?')
		return known;
	if (!takes && sign == '+') {
		*value = (struct value){.certain = value->certain};
		return true;
	}
	if (!takes)
		return true;
	inside.depth++;
	expand_value(&inside, (struct snippet){operator+ colon + 1, length - colon - 1}, &words);
	if (words.count != 1 || words.unknown || words.too_much)
		return false;
	*value = one(where, words.items[0], known && value->certain && !words.unsure);
	return true;
}

/* ${x:1:2}, ${x: -3}, ${x:n:2+1}: from the end where the number is negative. */
static bool part(const struct where *where, const char *operator, struct value * value)
{
	const char *text = value->count ? value->items[0] : "", *from = operator+ 1;
	const char *colon = strchr(from, ':');
	int64_t size = (int64_t)strlen(text), start, length = size;
	bool certain, length_certain = true;

	if (strchr(from, '?') ||
	    !arithmetic_value(where, from, colon ? (size_t)(colon - from) : strlen(from), &start,
			      &certain) ||
	    (colon &&
	     !arithmetic_value(where, colon + 1, strlen(colon + 1), &length, &length_certain)))
		return false;
	if (start < 0)
		start += size;
	if (start < 0 || start > size)
		start = length = size; /* nothing is left */
	/* a negative length says where it ends */
	length = length < 0 ? size + length - start : MIN(length, size - start);
	if (length < 0)
		return false;
	*value = one(where, arena_strndup(where->arena, text + start, (size_t)length),
		     value->certain && certain && length_certain);
	return true;
}

/* ${x#PATTERN}, ${x%PATTERN} and the longest of both. */
static bool trim(const struct where *where, const char *operator, struct value * value)
{
	const char *text = value->count ? value->items[0] : "";
	bool front = operator[0] == '#', longest = operator[1] == operator[0];
	const char *pattern = operator+ 1 + longest;
	size_t size = strlen(text), best = SIZE_MAX;
	char piece[TRIM_LIMIT + 1];

	if (size > TRIM_LIMIT || strpbrk(pattern, "$`'\"\\(~"))
		return false;
	for (size_t length = 0; length <= size; length++) {
		const char *start = front ? text : text + size - length;

		memcpy(piece, start, length);
		piece[length] = '\0';
		if (fnmatch(pattern, piece, 0) == 0 && (longest || best == SIZE_MAX))
			best = length;
	}
	if (best == SIZE_MAX)
		best = 0;
	*value = one(where,
		     front ? arena_strdup(where->arena, text + best)
			   : arena_strndup(where->arena, text, size - best),
		     value->certain);
	return true;
}

/* ${x/a/b} and ${x//a/b} with plain texts. */
static bool replace(const struct where *where, const char *operator, struct value * value)
{
	bool all = operator[1] == '/';
	const char *from = operator+ 1 + all, *slash = strchr(from, '/');
	const char *to = slash ? slash + 1 : "", *at = value->count ? value->items[0] : "", *found;
	_cleanup_buffer_ struct buffer text = {0};
	char *what =
		arena_strndup(where->arena, from, slash ? (size_t)(slash - from) : strlen(from));

	if (!*what || strpbrk(operator, "$`'\"\\*?[#%(~&") || strlen(at) > TRIM_LIMIT)
		return false;
	while ((found = strstr(at, what))) {
		buffer_add(&text, at, (size_t)(found - at));
		buffer_add_text(&text, to);
		at = found + strlen(what);
		if (!all)
			break;
	}
	buffer_add_text(&text, at);
	*value = one(where, arena_strndup(where->arena, buffer_text(&text), text.length),
		     value->certain);
	return true;
}

/* ${x^^}, ${x,} */
static bool change_case(const struct where *where, const char *operator, struct value * value)
{
	bool all = operator[1] == operator[0], upper = operator[0] == '^';
	char *text = arena_strdup(where->arena, value->count ? value->items[0] : "");

	if (operator[1 + all])
		return false;
	for (char *at = text; *at && (all || at == text); at++)
		*at = (char)(upper ? toupper((unsigned char)*at) : tolower((unsigned char)*at));
	*value = one(where, text, value->certain);
	return true;
}

/* [@], [*], [3], [n+1]: which items are meant; false where that is not known. */
static bool choose(const struct where *where, const char *subscript, size_t length,
		   struct value *value)
{
	int64_t which;
	bool certain;

	if (length == 1 && (*subscript == '@' || *subscript == '*'))
		return true;
	if (!arithmetic_value(where, subscript, length, &which, &certain))
		return false;
	if (which < 0)
		which += (int64_t)value->count;
	if (which < 0 || (!value->list && which))
		return false;
	value->items += MIN((size_t)which, value->count);
	value->count = (size_t)which < value->count;
	value->list = false;
	value->certain &= certain;
	return true;
}

bool parameter_expand(const struct where *where, const char *text, size_t length,
		      struct value *ret_value)
{
	const char *copy = arena_strndup(where->arena, text, length), *at = copy;
	bool whole = false, known;
	char name[64];

	while (is_name_start(*at) || is_digit(*at))
		at++;
	at += at == copy && (*at == '@' || *at == '*');
	if (at == copy || (size_t)(at - copy) >= sizeof(name) || where->depth > 8)
		return false;
	memcpy(name, copy, (size_t)(at - copy));
	name[at - copy] = '\0';
	if (*at == '[') {
		const char *close = strrchr(at, ']');

		known = scope_value(where, name, ret_value);
		if (!close ||
		    (known && !choose(where, at + 1, (size_t)(close - at - 1), ret_value)))
			return false;
		at = close + 1;
		whole = known && ret_value->list;
	} else {
		if (is_digit(*name) && name[1])
			return false;
		known = value_of(where, name, ret_value);
	}
	if (*at == '\0')
		return known;
	if (whole || (known && ret_value->list))
		return false; /* for each of them */
	if (strchr("-=+?", *at) || (*at == ':' && at[1] && strchr("-=+?", at[1])))
		return with_default(where, at, strlen(at), known, ret_value);
	if (!known)
		return false;
	switch (*at) {
	case ':':
		return part(where, at, ret_value);
	case '#':
	case '%':
		return trim(where, at, ret_value);
	case '/':
		return replace(where, at, ret_value);
	case '^':
	case ',':
		return change_case(where, at, ret_value);
	}
	return false;
}
