/* SPDX-License-Identifier: Apache-2.0 */
/* The reader. Git's own knows no grammar: it takes one character after the other, and what it makes
 * of odd text is what counts, because it is git that will read it. So this goes the same way, and
 * stops at what other readers of these files might see otherwise: control characters, a carriage
 * return within a line, a setting outside of any section. */
#include "gitconfig_read.h"
#include "gitconfig.h"
#include "../base/buffer.h"

#include <string.h>

/* The last is of all keys together: a long section before many settings would fill the memory. */
enum { END = -1, SETTINGS = 1 << 16, KEYS = 16 << 20 };

struct reader {
	const char *text;
	size_t length, at;
	unsigned line;
	struct git_settings *settings;
	struct buffer key, written; /* of the section, with the dot behind it */
	size_t section, spent;
	struct git_span header;
};

static bool is_letter(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_name(int c)
{
	return is_letter(c) || (c >= '0' && c <= '9') || c == '-';
}

static bool is_blank(int c)
{
	return c == ' ' || c == '\t';
}

static char lower(int c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

/* The next character; a carriage return before a newline is no character. */
static int next(struct reader *reader)
{
	int c;

	if (reader->at < reader->length && reader->text[reader->at] == '\r')
		reader->at++;
	if (reader->at >= reader->length)
		return END;
	c = (unsigned char)reader->text[reader->at++];
	reader->line += c == '\n';
	return c;
}

static int peek(const struct reader *reader)
{
	size_t at = reader->at;

	if (at < reader->length && reader->text[at] == '\r')
		at++;
	return at < reader->length ? (unsigned char)reader->text[at] : END;
}

/* What no configuration holds, and readers might differ about. The number of its line, or 0. */
static unsigned find_oddity(const char *text, size_t length)
{
	unsigned line = 1;

	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '\r' && (i + 1 == length || text[i + 1] != '\n'))
			return line;
		if ((c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == 0x7f)
			return line;
		line += c == '\n';
	}
	return 0;
}

static void skip_line(struct reader *reader)
{
	int c;

	do
		c = next(reader);
	while (c != '\n' && c != END);
}

static struct git_setting *add_setting(struct reader *reader)
{
	struct git_settings *settings = reader->settings;

	if (settings->count == settings->room) {
		settings->room = MAX(settings->room * 2, (size_t)32);
		settings->items =
			reallocarray(settings->items, settings->room, sizeof(*settings->items));
		if (!settings->items)
			abort();
	}
	settings->items[settings->count] =
		(struct git_setting){.section = reader->section, .header = reader->header};
	return &settings->items[settings->count++];
}

static void add_key(struct reader *reader, int c)
{
	buffer_add_char(&reader->key, lower(c));
	buffer_add_char(&reader->written, (char)c);
}

/* Behind the blank in `[section "subsection"]`. */
static bool read_subsection(struct reader *reader)
{
	int c;

	do
		c = next(reader);
	while (is_blank(c));
	if (c != '"')
		return false;
	buffer_add_char(&reader->key, '.');
	buffer_add_char(&reader->written, '.');
	while ((c = next(reader)) != '"') {
		if (c == '\\')
			c = next(reader); /* any character stands for itself then */
		if (c == '\n' || c == END)
			return false;
		buffer_add_char(&reader->key, (char)c);
		buffer_add_char(&reader->written, (char)c);
	}
	return next(reader) == ']';
}

/* Behind the [. The old way to write a subsection, `[section.subsection]`, is in lower case. */
static bool read_header(struct reader *reader)
{
	int c;

	reader->header.start = reader->at - 1;
	reader->key.length = reader->written.length = 0;
	while (is_name(c = next(reader)) || c == '.')
		add_key(reader, c);
	if (c != ']' && !(is_blank(c) && read_subsection(reader)))
		return false;
	reader->header.end = reader->at;
	reader->section = strcspn(buffer_text(&reader->key), ".");
	if (reader->section == 0 || reader->key.length == 0)
		return false;
	buffer_add_char(&reader->key, '.');
	buffer_add_char(&reader->written, '.');
	return true;
}

/* Behind the =, to the end of the line. Blanks between words are kept, those around the value are
 * not; a backslash and newline join lines; `exact` is as long as `value`. */
static bool read_value(struct reader *reader, struct buffer *value, struct buffer *exact)
{
	_cleanup_buffer_ struct buffer blanks = {0};
	bool quoted = false;

	for (;;) {
		int c = next(reader);

		if (c == '\n' || c == END)
			return !quoted;
		if (!quoted && is_blank(c)) {
			if (value->length > 0)
				buffer_add_char(&blanks, (char)c);
			continue;
		}
		if (!quoted && (c == ';' || c == '#')) {
			skip_line(reader);
			return true;
		}
		for (size_t i = 0; i < blanks.length; i++) {
			buffer_add_char(value, ' ');
			buffer_add_char(exact, blanks.data[i]);
		}
		blanks.length = 0;
		if (c == '"') {
			quoted = !quoted;
			continue;
		}
		if (c == '\\') {
			static const char escapes[] = "tbn\\\"", meanings[] = "\t\b\n\\\"";
			const char *escape;

			c = next(reader);
			if (c == '\n')
				continue;
			if (c == END || !(escape = memchr(escapes, c, sizeof(escapes) - 1)))
				return false; /* git joins a last backslash with nothing; odd */
			c = meanings[escape - escapes];
		}
		buffer_add_char(value, (char)c);
		buffer_add_char(exact, (char)c);
	}
}

/* `name`, `name = value`; its first letter was seen. */
static bool read_setting(struct reader *reader, int c)
{
	_cleanup_buffer_ struct buffer value = {0}, exact = {0};
	size_t key = reader->key.length;
	struct git_setting *setting;
	size_t start;

	if (key == 0 || reader->settings->count >= SETTINGS)
		return false;
	add_key(reader, c);
	while (is_name(peek(reader)))
		add_key(reader, next(reader));
	reader->spent += reader->key.length;
	if (reader->spent > KEYS)
		return false;
	setting = add_setting(reader);
	setting->name = key;
	setting->key = strdup(reader->key.data);
	setting->written = strdup(reader->written.data);
	if (!setting->key || !setting->written)
		abort();
	reader->key.data[reader->key.length = key] = '\0';
	reader->written.data[reader->written.length = key] = '\0';
	setting->raw = (struct git_span){reader->at, reader->at};
	do
		c = next(reader);
	while (is_blank(c));
	if (c == '\n' || c == END)
		return true;
	start = reader->at;
	if (c != '=' || !read_value(reader, &value, &exact))
		return false;
	setting->raw = (struct git_span){start, reader->at};
	for (const char *end = "\n\r"; *end; end++)
		if (setting->raw.end > start && reader->text[setting->raw.end - 1] == *end)
			setting->raw.end--;
	setting->value = buffer_steal(&value);
	setting->exact = buffer_steal(&exact);
	return true;
}

static bool read_all_settings(struct reader *reader)
{
	static const char mark[] = "\xef\xbb\xbf"; /* some editors put it in front of UTF-8 */
	int c;

	if (reader->length >= 3 && memcmp(reader->text, mark, 3) == 0)
		reader->at = 3;
	while ((c = next(reader)) != END) {
		if (c == '\n' || is_blank(c))
			continue;
		if (c == '#' || c == ';') {
			skip_line(reader);
		} else if (c == '[') {
			if (!read_header(reader))
				return false;
			add_setting(reader);
		} else if (!is_letter(c) || !read_setting(reader, c)) {
			return false;
		}
	}
	return true;
}

unsigned git_settings_read(const char *text, size_t length, struct git_settings *ret_settings)
{
	struct reader reader = {
		.text = text, .length = length, .line = 1, .settings = ret_settings};
	unsigned line;
	bool ok;

	*ret_settings = (struct git_settings){0};
	if (length > GIT_CONFIG_LIMIT)
		return 1;
	line = find_oddity(text, length);
	if (line)
		return line;
	ok = read_all_settings(&reader);
	/* Where the newline itself was too much, the fault lies before it. */
	if (!ok && reader.at > 0 && reader.line > 1 && text[reader.at - 1] == '\n')
		reader.line--;
	buffer_done(&reader.key);
	buffer_done(&reader.written);
	return ok ? 0 : reader.line;
}

void git_settings_done(struct git_settings *settings)
{
	for (size_t i = 0; i < settings->count; i++) {
		free(settings->items[i].key);
		free(settings->items[i].written);
		free(settings->items[i].value);
		free(settings->items[i].exact);
	}
	free(settings->items);
	*settings = (struct git_settings){0};
}
