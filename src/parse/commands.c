/* SPDX-License-Identifier: Apache-2.0 */
/* Whole commands with their words, assignments and redirections expanded. */
#include "scope.h"

#include <string.h>

static bool has_source(const struct command *command, size_t i)
{
	return command->sources && command->sources[i].text;
}

static void expand_redirects(const struct where *where, struct command *command)
{
	struct redirect *redirects =
		arena_new_array(where->arena, struct redirect, command->redirect_count + 1);

	if (command->redirect_count)
		memcpy(redirects, command->redirects, command->redirect_count * sizeof(*redirects));
	command->redirects = redirects;
	for (size_t i = 0; i < command->redirect_count; i++) {
		struct redirect *redirect = &command->redirects[i];
		struct words words = {0};

		if (!redirect->source.text)
			continue;
		if (strncmp(redirect->operator, "<<", 2) == 0 && redirect->operator[2] != '<')
			expand_body(where, redirect->source, &words);
		else
			expand_value(where, redirect->source, &words);
		if (words.count != 1 || words.unknown || words.unsure || words.too_much ||
		    words.pattern)
			continue;
		redirect->target = words.items[0];
		redirect->source.text = NULL;
	}
}

/* x=$y command: as far as it is sure. Others may hold the same lists. */
static void expand_assignments(const struct where *where, struct command *command)
{
	size_t count = command->assignment_count;
	const char **assignments = arena_new_array(where->arena, const char *, count + 1);
	struct snippet *sources = arena_new_array(where->arena, struct snippet, count + 1);

	for (size_t i = 0; i < count; i++) {
		struct snippet source = command->assignment_sources[i];
		const char *equals = source.text ? memchr(source.text, '=', source.length) : NULL;
		struct words words = {0};

		assignments[i] = command->assignments[i];
		sources[i] = source;
		if (!equals || (size_t)(equals + 1 - source.text) == source.length ||
		    equals[1] == '(')
			continue;
		equals++;
		expand_value(
			where,
			(struct snippet){equals, source.length - (size_t)(equals - source.text)},
			&words);
		if (words.count != 1 || words.unknown || words.unsure || words.too_much ||
		    words.pattern)
			continue;
		assignments[i] = arena_printf(where->arena, "%.*s%s", (int)(equals - source.text),
					      source.text, words.items[0]);
		sources[i] = (struct snippet){0};
	}
	command->assignments = assignments;
	command->assignment_sources = sources;
}

void expand_command(const struct where *where, const struct command *command,
		    struct command *ret_command, struct words *ret_words)
{
	struct command expanded = *command;
	struct words words = {0};
	size_t first = 0;

	for (size_t i = 0; i < command->argc; i++) {
		if (has_source(command, i))
			expand_word(where, command->sources[i], &words);
		else
			words_add(where->arena, &words, command->argv[i], false);
		if (i == 0)
			first = words.count;
	}
	if (words.too_much || words.count == 0) {
		*ret_words = words;
		ret_words->too_much = true;
		*ret_command = *command;
		return;
	}
	expanded.argv = words.items; /* there is room for the end of the list */
	expanded.argc = words.count;
	expanded.sources = arena_new_array(where->arena, struct snippet, words.count + 1);
	for (size_t i = 0; i < words.count; i++)
		if (words.live[i])
			expanded.sources[i] =
				(struct snippet){words.items[i], strlen(words.items[i])};
	expanded.dynamic = words.unknown || words.pattern;
	expanded.unnamed = command->unnamed && first > 0 && words.live[0];
	/* a name that only its directory is not known of */
	if (words.items[0][0] != '~' && strpbrk(words.items[0], "*?[") && command->unnamed)
		expanded.unnamed = true;
	expand_redirects(where, &expanded);
	for (size_t i = 0; i < expanded.redirect_count; i++)
		expanded.dynamic |= expanded.redirects[i].source.text != NULL;
	if (command->assignment_sources)
		expand_assignments(where, &expanded);
	for (size_t i = 0; command->assignment_sources && i < command->assignment_count; i++)
		expanded.dynamic |= expanded.assignment_sources[i].text != NULL;
	*ret_command = expanded;
	*ret_words = words;
}

static bool is_table(const char *word)
{
	static const char *const tables[] = {"BASH_ALIASES", "BASH_CMDS", "BASH_FUNC_"};

	for (size_t i = 0; i < ELEMENTS(tables); i++)
		if (strncmp(word, tables[i], strlen(tables[i])) == 0)
			return true;
	return false;
}

bool command_renames(const struct command *command)
{
	static const char prompt[] = "@P}";

	for (size_t i = 0; i < command->assignment_count; i++)
		if (is_table(command->assignments[i]))
			return true;
	for (size_t i = 0; i < command->argc; i++)
		if (is_table(command->argv[i]) ||
		    (has_source(command, i) &&
		     memmem(command->sources[i].text, command->sources[i].length, prompt,
			    strlen(prompt))))
			return true;
	return false;
}
