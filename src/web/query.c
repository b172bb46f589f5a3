/* SPDX-License-Identifier: Apache-2.0 */
#include "query.h"
#include "../base/escape.h"
#include "../base/macro.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* One byte of a percent-encoded text, and how many characters it took; -1 where it is none. */
static int decode(const char *text, const char *end, size_t *ret_step)
{
	*ret_step = 1;
	if (*text == '+')
		return ' ';
	if (*text != '%')
		return (unsigned char)*text;
	if (end - text < 3 || hex_digit(text[1]) < 0 || hex_digit(text[2]) < 0)
		return -1;
	*ret_step = 3;
	return hex_digit(text[1]) * 16 + hex_digit(text[2]);
}

/* Caller frees; NULL where it cannot be a value. */
static char *decode_value(const char *text, size_t length)
{
	const char *end = text + length;
	_cleanup_buffer_ struct buffer value = {0};
	_cleanup_free_ char *valid = NULL;
	bool lossy = false;
	size_t step;

	for (; text < end; text += step) {
		int byte = decode(text, end, &step);

		if (byte <= 0 || value.length >= QUERY_VALUE_MOST)
			return NULL;
		buffer_add_char(&value, (char)byte);
	}
	valid = escape_to_utf8(buffer_text(&value), value.length, &lossy);
	return lossy ? NULL : STEAL(valid);
}

bool query_value(const char *query, const char *name, char **ret_value)
{
	size_t wanted = strlen(name);

	while (query && *query) {
		size_t length = strcspn(query, "&");

		if (length > wanted && query[wanted] == '=' && memcmp(query, name, wanted) == 0) {
			*ret_value = decode_value(query + wanted + 1, length - wanted - 1);
			return *ret_value != NULL;
		}
		query += length + (query[length] == '&');
	}
	return true;
}

bool query_number(const char *query, const char *name, uint64_t least, uint64_t most,
		  uint64_t missing, uint64_t *ret_number)
{
	_cleanup_free_ char *text = NULL;
	uint64_t number;

	if (!query_value(query, name, &text))
		return false;
	if (!text || !*text) {
		*ret_number = missing;
		return true;
	}
	if (strlen(text) > 18 || strspn(text, "0123456789") != strlen(text))
		return false;
	number = strtoull(text, NULL, 10);
	*ret_number = number;
	return number >= least && number <= most;
}

bool cookie_value(const char *header, const char *name, char *value, size_t room)
{
	size_t wanted = strlen(name);

	while (header && *header) {
		size_t length;

		header += strspn(header, " \t;");
		length = strcspn(header, ";");
		if (length > wanted && header[wanted] == '=' && memcmp(header, name, wanted) == 0) {
			size_t size = length - wanted - 1;

			if (size >= room)
				return false;
			memcpy(value, header + wanted + 1, size);
			value[size] = '\0';
			return true;
		}
		header += length;
	}
	return false;
}

bool media_type_is(const char *header, const char *type)
{
	size_t length = header ? strcspn(header, "; \t") : 0;

	return length == strlen(type) && strncasecmp(header, type, length) == 0;
}
