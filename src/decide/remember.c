/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a rule into a policy file that a person keeps by hand: nothing else in it changes. */
#include "remember.h"
#include "../base/escape.h"
#include "../base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

char *remember_file(void)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char *path = NULL;
	int r = 0;

	if (config && config[0] == '/')
		r = asprintf(&path, "%s/ward/ward.yaml", config);
	else if (home && home[0] == '/')
		r = asprintf(&path, "%s/.config/ward/ward.yaml", home);
	if (r < 0)
		abort();
	return path;
}

/* Some that can be seen end a line in YAML, or are none of its characters. */
static void add_escaped(struct buffer *text, unsigned code)
{
	if (code == '\n' || code == '\t')
		buffer_add_text(text, code == '\n' ? "\\n" : "\\t");
	else if (code < 0x100)
		buffer_printf(text, "\\x%02x", code);
	else
		buffer_printf(text, code < 0x10000 ? "\\u%04x" : "\\U%08x", code);
}

bool remember_quote(struct buffer *text, const char *value)
{
	size_t length = strlen(value), size;

	buffer_add_char(text, '"');
	for (size_t i = 0; i < length; i += size) {
		unsigned code;

		size = utf8_decode(value + i, length - i, &code);
		if (size == 0)
			return false;
		if (code == '"' || code == '\\')
			buffer_printf(text, "\\%c", (char)code);
		else if (escape_is_hidden(code) || (code & 0xfffe) == 0xfffe)
			add_escaped(text, code);
		else
			buffer_add(text, value + i, size);
	}
	buffer_add_char(text, '"');
	return true;
}

static bool add_list(struct buffer *text, const char *key, const struct list *list)
{
	bool whole = true;

	for (size_t i = 0; i < list->count; i++) {
		buffer_printf(text, "%s", i ? ", " : key);
		whole &= remember_quote(text, list->items[i]);
	}
	buffer_add_text(text, list->count ? "]\n" : "");
	return whole;
}

static bool add_text(struct buffer *text, const char *key, const char *value)
{
	bool whole;

	if (!value)
		return true;
	buffer_add_text(text, key);
	whole = remember_quote(text, value);
	buffer_add_char(text, '\n');
	return whole;
}

static bool add_when(struct buffer *text, const struct condition *when)
{
	bool whole = true;
	char until[UNTIL_TEXT];

	if (!when || (when->agents.count == 0 && !when->until))
		return true;
	buffer_add_text(text, "  when:\n");
	whole &= add_list(text, "    agent: [", &when->agents);
	if (when->until)
		whole &= add_text(text, "    until: ", condition_until(when, until));
	return whole;
}

char *remember_rule(const struct rule *rule)
{
	_cleanup_buffer_ struct buffer text = {0};
	bool whole = rule->exactly.count ? add_list(&text, "- exactly: [", &rule->exactly)
					 : add_text(&text, "- command: ", rule->pattern);

	whole &= add_text(&text, "  in: ", rule->in);
	buffer_printf(&text, "  do: %s\n", verdict_name(rule->kind));
	whole &= add_text(&text, "  why: ", rule->why);
	whole &= add_when(&text, rule->when);
	whole &= add_list(&text, "  permissions: [", &rule->permissions);
	return whole ? buffer_steal(&text) : NULL;
}

static void add_indented(struct buffer *text, const char *rule, size_t indent)
{
	while (*rule) {
		size_t length = strcspn(rule, "\n") + 1;

		buffer_printf(text, "%*s%.*s", (int)indent, "", (int)length, rule);
		rule += length;
	}
}

/* The line "rules:" at the left margin with nothing behind it but a comment; NULL: none. */
static const char *find_rules(const char *text, bool *ret_other)
{
	for (const char *line = text; line;
	     line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		const char *rest = line + strlen("rules:");

		if (strncmp(line, "rules:", strlen("rules:")) != 0)
			continue;
		rest += strspn(rest, " \t\r");
		*ret_other = *rest && *rest != '\n' && *rest != '#';
		return line;
	}
	return NULL;
}

/* How far the items of the list below are indented. */
static size_t item_indent(const char *line)
{
	while ((line = strchr(line, '\n'))) {
		size_t indent = strspn(++line, " ");

		if (line[indent] == '-')
			return indent;
		if (line[indent] != '#' && line[indent] != '\n' && line[indent] != '\r')
			break;
	}
	return 2;
}

static int insert(const char *old, const char *rule, const char *file, struct buffer *text,
		  struct error **ret_error)
{
	bool other = false;
	const char *rules = find_rules(old, &other), *end;

	if (rules && other) {
		fail(ret_error, E_POLICY, "%s: its rules are written on one line", file);
		return error_hint(ret_error, "add the rule by hand");
	}
	if (!rules) {
		buffer_add_text(text, old);
		if (text->length && text->data[text->length - 1] != '\n')
			buffer_add_char(text, '\n');
		if (!*old)
			buffer_add_text(text, "version: 1\n");
		buffer_add_text(text, "rules:\n");
		add_indented(text, rule, 2);
		return 0;
	}
	end = strchr(rules, '\n');
	buffer_add(text, old, end ? (size_t)(end + 1 - old) : strlen(old));
	if (!end)
		buffer_add_char(text, '\n');
	add_indented(text, rule, item_indent(rules));
	buffer_add_text(text, end ? end + 1 : "");
	return 0;
}

static int replace(const char *file, const struct buffer *text, struct error **ret_error)
{
	_cleanup_free_ char *temporary = NULL;
	_cleanup_close_ int fd = -1;
	int r;

	if (asprintf(&temporary, "%s.%d.new", file, getpid()) < 0)
		abort();
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "making %s", temporary);
	r = write_all(fd, text->data, text->length);
	if (r == 0 && (fsync(fd) < 0 || rename(temporary, file) < 0))
		r = -errno;
	if (r < 0) {
		unlink(temporary);
		return fail_errno(ret_error, E_ENGINE, -r, "writing %s", file);
	}
	return 0;
}

/* The text without the rule, by whatever it is indented; false where it is not there. */
static bool strike(const char *old, const char *rule, struct buffer *text)
{
	for (size_t indent = 0; indent <= 8; indent++) {
		_cleanup_buffer_ struct buffer written = {0};
		const char *found = old;

		add_indented(&written, rule, indent);
		while ((found = strstr(found, buffer_text(&written)))) {
			const char *rest = found + written.length;

			/* Whole lines, and no more of the rule behind them. */
			if ((found == old || found[-1] == '\n') && strspn(rest, " ") <= indent) {
				buffer_add(text, old, (size_t)(found - old));
				buffer_add_text(text, rest);
				return true;
			}
			found++;
		}
	}
	return false;
}

/* A list that has nothing left in it goes with its name. */
static void strike_empty(struct buffer *text)
{
	_cleanup_free_ char *old = buffer_steal(text);
	bool other = false;
	const char *rules = find_rules(old, &other), *end = rules ? strchr(rules, '\n') : NULL;

	if (!rules || other) {
		buffer_add_text(text, old);
		return;
	}
	buffer_add(text, old, (size_t)(rules - old));
	buffer_add_text(text, end ? end + 1 : "");
}

/* Changes the file: with the rule, or without it. 1: something was changed. */
static int change(const char *file, const char *rule, bool add, struct error **ret_error)
{
	_cleanup_free_ char *old = NULL, *real = realpath(file, NULL),
			    *directory = strndup(file, (size_t)(strrchr(file, '/') - file));
	_cleanup_buffer_ struct buffer text = {0};
	_cleanup_list_ struct list warnings = {0};
	_cleanup_close_ int lock = -1;
	size_t length = 0;
	int r;

	/* A link is the user's own way of keeping the file somewhere else. */
	if (real)
		file = real;
	r = make_directories(directory, 0700);
	if (r == 0) {
		lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (lock < 0 || flock(lock, LOCK_EX) < 0) /* others may be adding a rule, too */
			r = -errno;
	}
	if (r == 0)
		r = read_file(AT_FDCWD, file, POLICY_LIMIT, &old, &length);
	if (r < 0 && r != -ENOENT)
		return fail_errno(ret_error, E_ENGINE, -r, "reading %s", file);
	if (!add && !(old && strike(old, rule, &text)))
		return 0;
	r = add ? insert(old ? old : "", rule, file, &text, ret_error) : 0;
	if (!add && policy_parse(buffer_text(&text), text.length, file, NULL, &warnings, NULL) < 0)
		strike_empty(&text);
	if (r == 0)
		r = policy_parse(buffer_text(&text), text.length, file, NULL, &warnings, ret_error);
	if (r == 0)
		r = replace(file, &text, ret_error);
	return r < 0 ? r : 1;
}

int remember_write(const char *file, const char *rule, struct error **ret_error)
{
	return MIN(change(file, rule, /* add= */ true, ret_error), 0);
}

int remember_strike(const char *file, const char *rule, struct error **ret_error)
{
	return change(file, rule, /* add= */ false, ret_error);
}
