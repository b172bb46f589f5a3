/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of tools that is written line by line. Each reader knows what its tool takes
 * for a comment, a quote and a continuation, and steps over what it does not know. */
#include "sets_parts.h"
#include "../base/buffer.h"

#include <ctype.h>
#include <string.h>

/* Cuts the next line off, without what ends it; NULL behind the last. Caller frees. */
static char *next_line(const char **at, const char *end)
{
	const char *start = *at, *stop;
	char *line;
	size_t length;

	if (start >= end)
		return NULL;
	stop = memchr(start, '\n', (size_t)(end - start));
	stop = stop ? stop : end;
	*at = stop + 1;
	line = strndup(start, (size_t)(stop - start));
	if (!line)
		abort();
	length = strlen(line);
	if (length && line[length - 1] == '\r')
		line[length - 1] = '\0';
	return line;
}

/* Without blanks around it; in place. */
static char *trim(char *text)
{
	size_t length;

	text += strspn(text, " \t\f\v");
	length = strlen(text);
	while (length && isspace((unsigned char)text[length - 1]))
		length--;
	text[length] = '\0';
	return text;
}

/* Without a pair of quotes around it; in place. */
static char *unquote(char *text)
{
	size_t length = strlen(text);

	if (length < 2 || (text[0] != '"' && text[0] != '\'') || text[length - 1] != text[0])
		return text;
	text[length - 1] = '\0';
	return text + 1;
}

static void to_lower(char *text)
{
	for (; *text; text++)
		*text = (char)tolower((unsigned char)*text);
}

/* pip.conf, as Python's configparser takes it: lines that are indented belong to the key before. */
void read_python_ini(const char *text, size_t length, struct findings *findings)
{
	_cleanup_free_ char *key = NULL;
	char *line;

	for (const char *at = text, *end = text + length; (line = next_line(&at, end));
	     free(line)) {
		bool indented = line[0] == ' ' || line[0] == '\t';
		char *plain = trim(line), *value = strpbrk(plain, "=:");

		if (!*plain || *plain == '#' || *plain == ';')
			continue;
		if (indented && key) {
			findings_take(findings, key, plain);
			continue;
		}
		free(STEAL(key));
		if (*plain == '[' || !value)
			continue;
		*value = '\0';
		key = strdup(trim(plain));
		if (!key)
			abort();
		to_lower(key);
		for (char *c = key; *c; c++)
			*c = *c == '_' ? '-' : *c;
		findings_take(findings, key, trim(value + 1));
	}
}

void read_npmrc(const char *text, size_t length, struct findings *findings)
{
	char *line;

	for (const char *at = text, *end = text + length; (line = next_line(&at, end));
	     free(line)) {
		char *key = trim(line), *value = strchr(key, '=');

		if (!*key || strchr("#;[", *key) || !value)
			continue;
		*value++ = '\0';
		value = trim(value);
		if (*value != '"' && *value != '\'')
			value[strcspn(value, "#;")] = '\0';
		findings_take(findings, unquote(trim(key)), unquote(trim(value)));
	}
}

/* `key "value"` of yarn's first version, `key: "value"` of the later ones. */
void read_yarnrc(const char *text, size_t length, struct findings *findings)
{
	char *line;

	for (const char *at = text, *end = text + length; (line = next_line(&at, end));
	     free(line)) {
		char *key = trim(line), *value = key + strcspn(key, " \t");
		size_t size;

		if (!*key || *key == '#' || !*value)
			continue;
		*value++ = '\0';
		size = strlen(key);
		if (size && key[size - 1] == ':')
			key[size - 1] = '\0';
		findings_take(findings, unquote(key), unquote(trim(value)));
	}
}

/* NAME=VALUE, as Go's own file and .env have it. */
void read_variables(const char *text, size_t length, struct findings *findings)
{
	char *line;

	for (const char *at = text, *end = text + length; (line = next_line(&at, end));
	     free(line)) {
		char *key = trim(line), *value;

		if (strncmp(key, "export ", 7) == 0)
			key = trim(key + 7);
		value = strchr(key, '=');
		if (*key == '#' || !value)
			continue;
		*value++ = '\0';
		findings_take(findings, trim(key), unquote(trim(value)));
	}
}

/* The options that pip takes from a list of requirements. */
void read_requirements(const char *text, size_t length, struct findings *findings)
{
	char *line;

	for (const char *at = text, *end = text + length; (line = next_line(&at, end));
	     free(line)) {
		char *key = trim(line), *value = key + strcspn(key, " \t=");

		if (*key != '-' || !*value)
			continue;
		*value++ = '\0';
		value = trim(value);
		value[strcspn(value, " \t")] = '\0';
		findings_take(findings, key, value);
	}
}

/* `deb [option=value ...] URI suite component...` */
void read_apt_list(const char *text, size_t length, struct findings *findings)
{
	char *line;

	for (const char *at = text, *end = text + length; (line = next_line(&at, end));
	     free(line)) {
		char *word = trim(line), *rest;

		word[strcspn(word, "#")] = '\0';
		rest = word + strcspn(word, " \t");
		if (!*rest)
			continue;
		*rest++ = '\0';
		if (strcmp(word, "deb") != 0 && strcmp(word, "deb-src") != 0)
			continue;
		rest = trim(rest);
		if (*rest == '[') {
			rest += strcspn(rest, "]");
			rest = trim(rest + (*rest == ']'));
		}
		rest[strcspn(rest, " \t")] = '\0';
		findings_take(findings, "uris", rest);
	}
}

/* One stanza of a .sources file. */
struct stanza {
	struct buffer uris;
	bool disabled, in_uris;
};

static void stanza_end(struct stanza *stanza, struct findings *findings)
{
	if (!stanza->disabled && stanza->uris.length)
		findings_take(findings, "uris", buffer_text(&stanza->uris));
	buffer_done(&stanza->uris);
	*stanza = (struct stanza){0};
}

static void stanza_field(struct stanza *stanza, char *line)
{
	char *value = strchr(line, ':');

	stanza->in_uris = false;
	if (!value)
		return;
	*value++ = '\0';
	value = trim(value);
	if (strcasecmp(trim(line), "enabled") == 0)
		stanza->disabled =
			strcasecmp(value, "no") == 0 || strcasecmp(value, "false") == 0 ||
			strcmp(value, "0") == 0 || strcasecmp(value, "off") == 0 ||
			strcasecmp(value, "without") == 0 || strcasecmp(value, "disable") == 0;
	stanza->in_uris = strcasecmp(line, "uris") == 0;
	if (stanza->in_uris)
		buffer_printf(&stanza->uris, "%s ", value);
}

void read_apt_sources(const char *text, size_t length, struct findings *findings)
{
	struct stanza stanza = {0};
	char *line;

	for (const char *at = text, *end = text + length; (line = next_line(&at, end));
	     free(line)) {
		bool indented = line[0] == ' ' || line[0] == '\t';

		if (line[0] == '#')
			continue;
		if (!line[strspn(line, " \t")])
			stanza_end(&stanza, findings);
		else if (!indented)
			stanza_field(&stanza, line);
		else if (stanza.in_uris)
			buffer_printf(&stanza.uris, "%s ", trim(line));
	}
	stanza_end(&stanza, findings);
}
