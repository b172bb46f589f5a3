/* SPDX-License-Identifier: Apache-2.0 */
/* Commands for a shell among those of line editors, and among the words of make. */
#include "unwrap.h"
#include "../base/buffer.h"
#include "../base/escape.h"

#include <string.h>

/* The next text that a script of ed, ex or vim hands to a shell: behind a ! that stands alone, or
 * behind r, w and silent. It goes to the end of its line. NULL: no more. */
const char *editor_command(struct arena *arena, const char **script)
{
	while (**script) {
		const char *at = *script + strspn(*script, " \t\n|:%$.,;0123456789"), *end;

		end = at + strcspn(at, "\n|");
		for (size_t passed = 0; *at != '!' && passed < 2; passed++) {
			size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz");
			const char *behind = at + length + (strncmp(at, "silent!", 7) == 0);

			if (!parse_word_in("r read w write sil silent exe execute", at, length))
				break;
			behind += strspn(behind, " \t\"'");
			/* w! is a way to write */
			if (*behind == '!' && behind == at + 1 && *at == 'w')
				break;
			at = behind;
		}
		*script = end;
		if (*at == '!' && at < end) {
			*script = at + strcspn(at, "\n");
			return arena_strndup(arena, at + 1, (size_t)(*script - at - 1));
		}
	}
	return NULL;
}

bool editor_text(struct texts *texts, const char *text, bool live)
{
	const char *command;

	while ((command = editor_command(texts->arena, &text)))
		if (unwrap_take(texts, command, live))
			return true;
	return false;
}

/* -c SCRIPT, with letters that take no value before it; -cSCRIPT; --cmd SCRIPT; +SCRIPT. */
const char *editor_script(const struct command *command, size_t i)
{
	const char *word = command->argv[i],
		   *next = i + 1 < command->argc ? command->argv[i + 1] : NULL;
	const char *letter;

	if (word[0] == '+')
		return word + 1;
	if (strcmp(word, "--cmd") == 0)
		return next;
	if (word[0] != '-' || word[1] == '-')
		return NULL;
	letter = word + 1 + strspn(word + 1, "eEsvRnNZ");
	if (*letter != 'c')
		return NULL;
	return letter[1] ? letter + 1 : next;
}

/* $(shell COMMAND) wherever make expands it. */
static bool expanded_text(struct texts *texts, const char *word, bool live)
{
	for (const char *at = word; (at = strstr(at, "$(shell ")) != NULL;) {
		const char *start = at + strlen("$(shell "), *end = start;

		for (int depth = 1; *end; end++) {
			depth += *end == '(';
			depth -= *end == ')';
			if (depth == 0)
				break;
		}
		at = end;
		if (unwrap_take(texts, arena_strndup(texts->arena, start, (size_t)(end - start)),
				live))
			return true;
	}
	return false;
}

/* make SHELL=TEXT; the recipes in --eval, behind a ; or on a line of their own. */
bool make_text(struct texts *texts)
{
	const struct command *command = texts->command;

	for (size_t i = texts->first + 1; i < command->argc; i++) {
		const char *word = command->argv[i], *recipe = NULL;
		bool live = unwrap_is_live(command, i);

		if (expanded_text(texts, word, live))
			return true;
		if (strncmp(word, "SHELL=", 6) == 0 && strchr(word, ' ') &&
		    unwrap_take(texts, word + 6, live))
			return true;
		if (strncmp(word, "--eval=", 7) == 0 ||
		    (i > texts->first + 1 && strcmp(command->argv[i - 1], "--eval") == 0))
			recipe = strpbrk(word, ";\n");
		if (recipe && unwrap_take(texts, recipe + 1, live))
			return true;
	}
	return false;
}

/* The words of a variable that holds options, as its program reads them: a blank ends an option
 * only where another one begins. */
char *option_words(struct arena *arena, const char *program, const char *value)
{
	_cleanup_buffer_ struct buffer text = {0};

	buffer_add_text(&text, program);
	while (*(value += strspn(value, " \t\n"))) {
		size_t length = 0;

		for (int depth = 0; value[length]; length++) {
			depth += value[length] == '(';
			depth -= value[length] == ')';
			if (depth <= 0 && value[length] == ' ' && value[length + 1] == '-')
				break;
		}
		buffer_add_text(&text, " ");
		escape_for_shell(&text, arena_strndup(arena, value, length));
		value += length;
	}
	return arena_strndup(arena, buffer_text(&text), text.length);
}
