/* SPDX-License-Identifier: Apache-2.0 */
/* Untrusted bytes made fit to be shown. */
#include "escape.h"

#include <string.h>

size_t utf8_decode(const char *text, size_t length, unsigned *ret_code)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned code, least;
	size_t size;

	if (length == 0)
		return 0;
	if (s[0] < 0x80) {
		*ret_code = s[0];
		return 1;
	}
	if ((s[0] & 0xe0) == 0xc0) {
		size = 2, code = s[0] & 0x1f, least = 0x80;
	} else if ((s[0] & 0xf0) == 0xe0) {
		size = 3, code = s[0] & 0x0f, least = 0x800;
	} else if ((s[0] & 0xf8) == 0xf0) {
		size = 4, code = s[0] & 0x07, least = 0x10000;
	} else {
		return 0;
	}
	if (size > length)
		return 0;
	for (size_t i = 1; i < size; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*ret_code = code;
	return size;
}

/* Code points that change how text around them looks without being seen themselves, and blanks that
 * a shell does not take for one. */
static const struct {
	unsigned first, last;
} hidden[] = {
	{0x00, 0x1f},	    {0x7f, 0xa0},	{0xad, 0xad},	    {0x34f, 0x34f},
	{0x600, 0x605},	    {0x61c, 0x61c},	{0x6dd, 0x6dd},	    {0x70f, 0x70f},
	{0x890, 0x891},	    {0x8e2, 0x8e2},	{0x115f, 0x1160},   {0x1680, 0x1680},
	{0x17b4, 0x17b5},   {0x180b, 0x180f},	{0x2000, 0x200f},   {0x2028, 0x202f},
	{0x205f, 0x206f},   {0x2800, 0x2800},	{0x3000, 0x3000},   {0x3164, 0x3164},
	{0xfe00, 0xfe0f},   {0xfeff, 0xfeff},	{0xffa0, 0xffa0},   {0xfff0, 0xfffb},
	{0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1345f}, {0x1bca0, 0x1bca3},
	{0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

bool escape_is_hidden(unsigned code)
{
	for (size_t i = 0; i < ELEMENTS(hidden); i++)
		if (code >= hidden[i].first && code <= hidden[i].last)
			return true;
	return false;
}

void escape_for_terminal(struct buffer *buffer, const char *text, size_t length)
{
	size_t size;

	for (size_t i = 0; i < length; i += size) {
		unsigned code;

		size = utf8_decode(text + i, length - i, &code);
		if (size == 0) {
			size = 1;
			buffer_printf(buffer, "\\x%02x", (unsigned char)text[i]);
		} else if (code == '\n') {
			buffer_add_text(buffer, "\\n");
		} else if (code == '\t') {
			buffer_add_text(buffer, "\\t");
		} else if (escape_is_hidden(code)) {
			buffer_printf(buffer, code < 0x100 ? "\\x%02x" : "\\u{%04x}", code);
		} else {
			buffer_add(buffer, text + i, size);
		}
	}
}

void escape_for_shell(struct buffer *buffer, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "@%+=:,./_-";

	if (*text && strspn(text, plain) == strlen(text)) {
		buffer_add_text(buffer, text);
		return;
	}
	buffer_add_char(buffer, '\'');
	for (; *text; text++) {
		if (*text == '\'')
			buffer_add_text(buffer, "'\\''");
		else
			buffer_add_char(buffer, *text);
	}
	buffer_add_char(buffer, '\'');
}

void escape_for_bash(struct buffer *buffer, const char *text)
{
	bool plain = true;

	for (const char *c = text; *c; c++)
		plain &= *c >= ' ' && *c < 0x7f;
	if (plain) {
		escape_for_shell(buffer, text);
		return;
	}
	buffer_add_text(buffer, "$'");
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '\'' || c == '\\')
			buffer_printf(buffer, "\\%c", c);
		else if (c < ' ' || c >= 0x7f)
			buffer_printf(buffer, "\\%03o", c); /* \x would swallow a digit after it */
		else
			buffer_add_char(buffer, (char)c);
	}
	buffer_add_char(buffer, '\'');
}

char *escape_to_utf8(const char *text, size_t length, bool *ret_lossy)
{
	struct buffer buffer = {0};
	bool lossy = false;
	size_t size;

	for (size_t i = 0; i < length; i += size) {
		unsigned code;

		size = utf8_decode(text + i, length - i, &code);
		if (size > 0 && code != 0) {
			buffer_add(&buffer, text + i, size);
			continue;
		}
		size = 1;
		lossy = true;
		buffer_add_text(&buffer, "\xef\xbf\xbd");
	}
	*ret_lossy = lossy;
	return buffer_steal(&buffer);
}
