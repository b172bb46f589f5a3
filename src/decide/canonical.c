/* SPDX-License-Identifier: Apache-2.0 */
/* Commands brought to one form. */
#include "canonical.h"
#include "../assess/call.h"
#include "../base/buffer.h"
#include "../base/path.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_SHELLS = 8, MOST_OPTIONS = 64 };

/* Words that the shell itself acts on where they come first. */
static const char reserved[] = "! { } [[ case coproc do done elif else esac fi for function if in "
			       "select then time until while eval exec source . builtin command "
			       "alias cd";

/* The inside of double quotes is taken as it stands, so nothing in it may be special. */
static const char *skip_quoted(const char *at, struct buffer *word)
{
	const char *end = strchr(at + 1, *at);

	if (!end)
		return NULL;
	for (const char *c = at + 1; c < end; c++)
		if (*at == '"' && strchr("$`\\!", *c))
			return NULL;
	buffer_add(word, at + 1, (size_t)(end - at - 1));
	return end + 1;
}

static bool is_plain_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       strchr("_-./:@%+,=", c);
}

/* One word from *at on; false where it holds anything that a shell would act on. */
static bool read_word(const char **at, struct list *words)
{
	_cleanup_buffer_ struct buffer word = {0};
	const char *c = *at;

	while (*c && !strchr(" \t\n", *c)) {
		if (*c == '\'' || *c == '"')
			c = skip_quoted(c, &word);
		else if (is_plain_letter(*c))
			buffer_add_char(&word, *c++);
		else
			return false;
		if (!c)
			return false;
	}
	/* x=~/y and PATH=a:~/b are expanded, NAME=VALUE is none of the command's words */
	if (words->count == 0 && strchr(buffer_text(&word), '='))
		return false;
	list_add(words, buffer_text(&word));
	*at = c;
	return true;
}

static bool split_script(const char *script, struct list *words)
{
	const char *at = script + strspn(script, " \t\n");

	while (*at && *at != '\n') {
		if (!read_word(&at, words))
			return false;
		at += strspn(at, " \t");
	}
	return at[strspn(at, " \t\n")] == '\0' && words->count > 0 &&
	       !parse_word_in(reserved, words->items[0], strlen(words->items[0]));
}

/* The text of sh -c TEXT, bash -lc TEXT; NULL where the shell is told anything else. */
static const char *shell_text(const struct list *words)
{
	static const char shells[] =
		"sh bash dash /bin/sh /bin/bash /bin/dash /usr/bin/sh /usr/bin/bash /usr/bin/dash";
	bool text = false;

	if (words->count < 3 || words->count > 4 ||
	    !parse_word_in(shells, words->items[0], strlen(words->items[0])))
		return NULL;
	for (size_t i = 1; i + 1 < words->count; i++) {
		const char *word = words->items[i];

		if (word[0] != '-' || !word[1] || strspn(word + 1, "lceu") != strlen(word + 1))
			return NULL;
		text |= strchr(word, 'c') != NULL;
	}
	return text ? words->items[words->count - 1] : NULL;
}

/* env COMMAND: as many words as can be left out. */
static size_t idle_words(const struct list *words)
{
	size_t i = 0;

	while (i + 1 < words->count &&
	       parse_word_in("env /usr/bin/env /bin/env", words->items[i],
			     strlen(words->items[i])) &&
	       words->items[i + 1][0] != '-' && !strchr(words->items[i + 1], '='))
		i++;
	return i;
}

bool canonical_words(const char *script, const struct list *argv, struct list *ret_words)
{
	_cleanup_list_ struct list words = {0};
	_cleanup_free_ char *text = script ? strdup(script) : NULL;

	for (size_t i = 0; !script && i < argv->count; i++)
		list_add(&words, argv->items[i]);
	for (size_t level = 0; level < MOST_SHELLS; level++) {
		const char *inner;

		if (text) {
			list_done(&words);
			words = (struct list){0};
			if (!split_script(text, &words))
				return false;
		}
		inner = shell_text(&words);
		if (!inner) {
			for (size_t i = idle_words(&words); i < words.count; i++)
				list_add(ret_words, words.items[i]);
			return ret_words->count > 0;
		}
		inner = strdup(inner);
		free(text);
		text = (char *)inner;
	}
	return false;
}

/* /usr/bin/git is git where that is what git leads to. */
static const char *program_name(const char *program)
{
	const char *name = path_last(program), *path = getenv("PATH");
	size_t directory = (size_t)(name - program);

	if (program[0] != '/' || !*name || !path)
		return program;
	while (*path) {
		size_t length = strcspn(path, ":");
		_cleanup_buffer_ struct buffer file = {0};

		buffer_add(&file, path, length);
		buffer_add_char(&file, '/');
		if (file.length == directory &&
		    strncmp(buffer_text(&file), program, directory) == 0)
			return name;
		buffer_add_text(&file, name);
		/* another program of that name comes first */
		if (access(buffer_text(&file), X_OK) == 0)
			return program;
		path += length + (path[length] == ':');
	}
	return program;
}

static bool is_known(const struct call *call, const struct word *word)
{
	for (size_t i = 0; i < call->depth; i++) {
		const struct tool_node *node = call->path[i];
		const uint32_t lists[] = {node->values, node->harmless, node->recursive,
					  node->plain, node->overrides};
		const struct tool_option *option;
		const struct tool_rule *rule;

		for (size_t j = 0; j < ELEMENTS(lists); j++)
			if (word_is_option(word, tool_text(lists[j]), true))
				return true;
		for (size_t j = 0; (option = tool_option(node, j)); j++)
			if (word_is_option(word, tool_text(option->names), true))
				return true;
		for (size_t j = 0; (rule = tool_rule(node, j)); j++)
			if (rule->kind == RULE_FLAGS &&
			    word_is_option(word, tool_text(rule->pattern), true))
				return true;
	}
	return false;
}

static bool overrides(const struct call *call, const struct word *word)
{
	for (size_t i = 0; i < call->depth; i++)
		if (word_is_option(word, tool_text(call->path[i]->overrides), true))
			return true;
	return false;
}

/* Options that are sorted by one name keep the order among themselves: of --x and --no-x, and of
 * those that override each other, the last one counts. */
struct said {
	char *text; /* its level, name and value */
	char *name;
};

static struct said say(const struct call *call, const struct word *word, size_t level)
{
	_cleanup_buffer_ struct buffer text = {0};
	const char *name = word->text;
	size_t length = word->length;
	struct said said;

	buffer_printf(&text, "%zu%.*s", level, (int)length, name);
	if (word->value)
		buffer_printf(&text, "=%s", word->value);
	said.text = buffer_steal(&text);
	if (length > 5 && strncmp(name, "--no-", 5) == 0)
		buffer_printf(&text, "%zu--%.*s", level, (int)length - 5, name + 5);
	else
		buffer_printf(&text, "%zu%.*s", level, overrides(call, word) ? 0 : (int)length,
			      name);
	said.name = buffer_steal(&text);
	return said;
}

/* How many verbs stand before the word: git -C x push is not git push -C x. */
static size_t level_of(const struct call *call, size_t at)
{
	size_t level = 0;

	/* a verb at that very place is passed over before the next option is read */
	while (level + 1 < call->depth && call->verbs[level + 1] <= at)
		at += call->verbs[++level] == at;
	return level;
}

static void insert(struct said *said, size_t count, struct said new, bool sorted)
{
	size_t at = count;

	for (; sorted && at > 0 && strcmp(said[at - 1].name, new.name) > 0; at--)
		said[at] = said[at - 1];
	said[at] = new;
}

struct form {
	struct said said[MOST_OPTIONS];
	size_t count;
	struct list operands;
};

/* False where an option is not known: its value could be taken for an operand. */
static bool take_apart(const struct call *call, bool kept, struct form *form)
{
	struct cursor cursor = {0};
	struct word word;

	for (;;) {
		size_t at = cursor.letters ? cursor.at - 1 : MAX(cursor.at, call->first + 1);

		if (!call_next(call, &cursor, &word))
			return true;
		if (form->count == MOST_OPTIONS)
			return false;
		if (word.is_option) {
			if (!is_known(call, &word))
				return false;
			insert(form->said, form->count++, say(call, &word, level_of(call, at)),
			       !kept);
		} else if (kept) {
			struct said operand = {0};

			if (asprintf(&operand.text, "+%s", word.text) < 0)
				abort();
			insert(form->said, form->count++, operand, false);
		} else {
			_cleanup_free_ char *text = NULL;

			if (asprintf(&text, "+%s", word.text) < 0)
				abort();
			list_add(&form->operands, text);
		}
	}
}

static void form_done(struct form *form)
{
	for (size_t i = 0; i < form->count; i++) {
		free(form->said[i].text);
		free(form->said[i].name);
	}
	list_done(&form->operands);
}

/* The options of the call are all known. */
static bool is_vetted(const struct call *call, bool *ret_kept)
{
	bool vetted = false;

	*ret_kept = false;
	for (size_t i = 0; i < call->depth; i++) {
		vetted |= call->path[i]->plain != 0;
		*ret_kept |= call->path[i]->order_kept;
	}
	return vetted && !call->other;
}

void canonical_form(const struct list *words, bool own_path, struct list *ret_form)
{
	const struct command command = {.argv = (const char **)words->items, .argc = words->count};
	struct form form = {0};
	struct call call;
	bool kept;

	bool known;

	call_read(&command, 0, words->count, &call);
	known = call.depth > 0 && is_vetted(&call, &kept) && take_apart(&call, kept, &form);
	/* so that no words as they stand look like others taken apart */
	list_add(ret_form, known ? "read" : "said");
	list_add(ret_form, own_path ? words->items[0] : program_name(words->items[0]));
	if (known) {
		for (size_t i = 1; i < call.depth; i++)
			list_add(ret_form, words->items[call.verbs[i]]);
		list_add(ret_form, "--");
		for (size_t i = 0; i < form.count; i++)
			list_add(ret_form, form.said[i].text);
		for (size_t i = 0; i < form.operands.count; i++)
			list_add(ret_form, form.operands.items[i]);
	} else {
		for (size_t i = 1; i < words->count; i++)
			list_add(ret_form, words->items[i]);
	}
	form_done(&form);
}
