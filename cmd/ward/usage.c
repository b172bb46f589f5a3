/* SPDX-License-Identifier: Apache-2.0 */
/* The shape that all help texts have: lines of usage, an empty line, words, and lists whose lines
 * are indented by two spaces, the name and what it is apart by two or more. */
#include "usage.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { INDENT = 7 /* of "usage: " */ };

static char *copy(const char *text, size_t length)
{
	char *made = strndup(text, length);

	if (!made)
		abort();
	return made;
}

const struct usage_option *usage_option(const struct usage *usage, const char *name)
{
	for (size_t i = 0; i < usage->option_count; i++)
		if (strcmp(usage->options[i].name, name) == 0)
			return &usage->options[i];
	return NULL;
}

static void add_option(struct usage *usage, char *name, char *value, const char *about,
		       size_t about_length)
{
	struct usage_option *known = (struct usage_option *)usage_option(usage, name);

	if (known) { /* the list says more than the usage */
		if (value && !known->value)
			known->value = STEAL(value);
		if (!*known->about) {
			free(known->about);
			known->about = copy(about, about_length);
		}
		free(name);
		free(value);
		return;
	}
	usage->options =
		reallocarray(usage->options, usage->option_count + 1, sizeof(*usage->options));
	if (!usage->options)
		abort();
	usage->options[usage->option_count++] =
		(struct usage_option){name, value, copy(about, about_length)};
}

static void add_verb(struct usage *usage, const char *name, size_t length, const char *about,
		     size_t about_length)
{
	char *verb = copy(name, length);

	for (size_t i = 0; i < usage->verbs.count; i++)
		if (strcmp(usage->verbs.items[i], verb) == 0) {
			if (about_length > 0 && !*usage->verbs_about.items[i]) {
				free(usage->verbs_about.items[i]);
				usage->verbs_about.items[i] = copy(about, about_length);
			}
			free(verb);
			return;
		}
	list_take(&usage->verbs, verb);
	list_take(&usage->verbs_about, copy(about, about_length));
}

static size_t word_length(const char *text)
{
	size_t length = 0;

	while (islower((unsigned char)text[length]) || (length > 0 && text[length] == '-'))
		length++;
	return length;
}

static size_t option_length(const char *text)
{
	size_t dashes = strspn(text, "-"), length = dashes;

	while (islower((unsigned char)text[length]) || (length > dashes && text[length] == '-'))
		length++;
	return dashes > 0 && dashes <= 2 && length > dashes ? length : 0;
}

/* The length up to two spaces or the end. */
static size_t field_length(const char *text, const char *end)
{
	const char *at = text;

	while (at < end && !(at[0] == ' ' && at + 1 < end && at[1] == ' '))
		at++;
	return (size_t)(at - text);
}

/* "--net none|restricted", "-f, --follow" */
static void read_names(struct usage *usage, const char *field, size_t length, const char *about,
		       size_t about_length)
{
	const char *end = field + length, *value = NULL;
	struct list names = {0};

	for (const char *at = field; at < end && !value;) {
		size_t name = option_length(at);

		if (name == 0)
			break;
		list_take(&names, copy(at, name));
		at += name;
		if (at < end && *at == ',')
			at += strspn(at, ", ");
		else if (at < end && *at == ' ')
			value = at + 1;
		else
			break;
	}
	for (size_t i = 0; i < names.count; i++)
		add_option(usage, copy(names.items[i], strlen(names.items[i])),
			   value ? copy(value, (size_t)(end - value)) : NULL, about, about_length);
	list_done(&names);
}

/* A line of a list: options, or one of the verbs that the usage names. */
static void read_item(struct usage *usage, const char *line, const char *end, bool any_verb)
{
	const char *at = line + 2;
	size_t length = word_length(at);

	if (length > 0) {
		const char *about = at + length;

		about += strspn(about, " ");
		if (about - (at + length) < 2 && !any_verb)
			return;
		for (size_t i = 0; !any_verb && i <= usage->verbs.count; i++) {
			if (i == usage->verbs.count)
				return;
			if (strlen(usage->verbs.items[i]) == length &&
			    strncmp(usage->verbs.items[i], at, length) == 0)
				break;
		}
		if (about < end)
			add_verb(usage, at, length, about, (size_t)(end - about));
		return;
	}
	while (at < end && option_length(at) > 0) { /* more than one may stand in a line */
		size_t field = field_length(at, end);
		const char *about = at + field;

		about += strspn(about, " ");
		if (about > end || (about < end && option_length(about) > 0))
			about = end;
		read_names(usage, at, field, about, (size_t)(end - about));
		if (about < end)
			return;
		at += field;
		at += strspn(at, " ");
	}
}

/* Options named in a line of usage: "[--expires 10m]". */
static void read_usage_options(struct usage *usage, const char *line, const char *end)
{
	for (const char *at = line; at < end; at++) {
		size_t length = at[-1] == ' ' || at[-1] == '[' ? option_length(at) : 0;
		const char *value = at + length, *stop;

		if (length == 0)
			continue;
		stop = value;
		if (value + 1 < end && *value == ' ' && !strchr("[-|.", value[1])) {
			stop = ++value;
			while (stop < end && !strchr(" ].", *stop))
				stop++;
		}
		add_option(usage, copy(at, length),
			   stop > value ? copy(value, (size_t)(stop - value)) : NULL, "", 0);
		at = stop - 1;
	}
}

/* One of the words in a verb's place; whether it is the given one. */
static bool read_second(struct usage *usage, const char *word, size_t length, const char *second)
{
	add_verb(usage, word, length, "", 0);
	return second && strlen(second) == length && strncmp(word, second, length) == 0;
}

/* Whether the line is about the given second word, or about none. Its own words become verbs:
 * "mint", "[list]", "task|reset", "resume ID | kill ID". */
static bool read_usage(struct usage *usage, const char *line, const char *end, const char *verb,
		       const char *second)
{
	const char *at = line + INDENT + strlen("ward ") + strlen(verb);
	bool optional, ours = false;
	size_t length;

	at += strspn(at, " ");
	optional = at < end && *at == '[';
	length = at < end ? word_length(at + optional) : 0;
	if (length == 0 || (optional && at[1 + length] != ']'))
		return true;
	at += optional;
	for (; length > 0; at += length, length = *at == '|' ? word_length(++at) : 0)
		ours |= read_second(usage, at, length, second);
	while ((at = strstr(at, " | ")) && at < end) {
		at += 3;
		length = word_length(at);
		if (length > 0)
			ours |= read_second(usage, at, length, second);
	}
	return ours;
}

void usage_read(const char *help, const char *verb, const char *second, struct usage *ret_usage)
{
	bool in_usage = false, ours = false, first_list = true;

	*ret_usage = (struct usage){0};
	for (const char *line = help, *end; *line; line = *end ? end + 1 : end) {
		end = line + strcspn(line, "\n");
		if (strncmp(line, "usage: ", INDENT) == 0)
			in_usage = true;
		if (in_usage && line == end)
			in_usage = false;
		if (in_usage && verb && end - line > INDENT) {
			if (strncmp(line + INDENT, "ward ", 5) == 0)
				ours = read_usage(ret_usage, line, end, verb, second);
			if (ours)
				read_usage_options(ret_usage, line + INDENT, end);
		} else if (!in_usage && end - line > 2 && strncmp(line, "  ", 2) == 0 &&
			   line[2] != ' ') {
			read_item(ret_usage, line, end, !verb && first_list);
		} else if (!in_usage && line == end && ret_usage->verbs.count > 0) {
			first_list = false;
		}
	}
}

void usage_done(struct usage *usage)
{
	list_done(&usage->verbs);
	list_done(&usage->verbs_about);
	for (size_t i = 0; i < usage->option_count; i++) {
		free(usage->options[i].name);
		free(usage->options[i].value);
		free(usage->options[i].about);
	}
	free(usage->options);
	*usage = (struct usage){0};
}
