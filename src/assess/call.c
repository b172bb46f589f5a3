/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of tools, read with what is known of the tools' options. */
#include "call.h"
#include "facts.h"
#include "../base/path.h"

#include <string.h>

const struct tool_node *call_node(const struct call *call)
{
	return call->path[call->depth - 1];
}

/* The name of an option as it stands in a list, up to its own "=". */
static size_t listed_length(const char *option, size_t size)
{
	const char *equals = option[0] == '-' ? memchr(option, '=', size) : NULL;

	return equals ? (size_t)(equals - option) : size;
}

static bool value_is(const struct word *word, const char *pattern, size_t size)
{
	char copy[64];

	if (!word->value || size >= sizeof(copy))
		return false;
	memcpy(copy, pattern, size);
	copy[size] = '\0';
	return match_one(copy, word->value);
}

bool word_is_option(const struct word *word, const char *options, bool exact)
{
	for (; options && *options; options += strspn(options, " ")) {
		size_t size = strcspn(options, " "), length = listed_length(options, size);
		bool same = length == word->length && memcmp(options, word->text, length) == 0;
		bool shortened = !exact && word->is_long && word->length > 3 &&
				 word->length < length &&
				 memcmp(options, word->text, word->length) == 0;

		if ((same || shortened) &&
		    (length == size || value_is(word, options + length + 1, size - length - 1)))
			return true;
		options += size;
	}
	return false;
}

static bool takes_value(const struct call *call, const struct word *word)
{
	/* docker compose -f FILE rm -f: the verb's own word counts */
	for (size_t i = call->depth; i-- > 0;) {
		const struct tool_option *option;
		const struct tool_rule *rule;

		if (word_is_option(word, tool_text(call->path[i]->values), true))
			return true;
		for (size_t j = 0; (option = tool_option(call->path[i], j)); j++)
			if (word_is_option(word, tool_text(option->names), true))
				return true;
		for (size_t j = 0; (rule = tool_rule(call->path[i], j)); j++)
			if (rule->kind == RULE_FLAGS &&
			    word_is_option(word, tool_text(rule->pattern), true))
				return false;
	}
	return false;
}

static const char *next_value(const struct call *call, struct cursor *cursor)
{
	return cursor->at < call->end ? call->command->argv[cursor->at++] : NULL;
}

static void next_letter(const struct call *call, struct cursor *cursor, struct word *word)
{
	cursor->letter[0] = '-';
	cursor->letter[1] = *cursor->letters++;
	cursor->letter[2] = '\0';
	*word = (struct word){.text = cursor->letter, .length = 2, .is_option = true};
	if (*cursor->letters == '\0')
		cursor->letters = NULL;
	if (!takes_value(call, word))
		return;
	word->value = cursor->letters ? cursor->letters : next_value(call, cursor);
	cursor->letters = NULL;
}

static void long_option(const struct call *call, struct cursor *cursor, const char *text,
			struct word *word)
{
	size_t length = strcspn(text, "=");

	*word = (struct word){
		.text = text, .length = length, .is_option = true, .is_long = length > 2};
	if (text[length] == '=')
		word->value = text + length + 1;
	else if (takes_value(call, word))
		word->value = next_value(call, cursor);
}

static bool is_verb(const struct call *call, size_t at)
{
	for (size_t i = 1; i < call->depth; i++)
		if (call->verbs[i] == at)
			return true;
	return false;
}

/* of=FILE of dd: an operand that is an option in its own way. */
static bool named_operand(const struct call *call, const char *text, struct word *word)
{
	const char *equals = strchr(text, '=');

	if (!equals)
		return false;
	*word = (struct word){.text = text,
			      .length = (size_t)(equals - text) + 1,
			      .value = equals + 1,
			      .is_option = true};
	return takes_value(call, word);
}

bool call_next(const struct call *call, struct cursor *cursor, struct word *ret_word)
{
	const struct tool_node *node = call_node(call);

	if (cursor->at == 0)
		cursor->at = call->first + 1;
	if (cursor->letters) {
		next_letter(call, cursor, ret_word);
		return true;
	}
	while (cursor->at < call->end) {
		const char *text = call->command->argv[cursor->at++];

		if (is_verb(call, cursor->at - 1))
			continue;
		if (cursor->operands_only || text[0] != '-' || text[1] == '\0') {
			if (named_operand(call, text, ret_word))
				return true;
			cursor->operands_only |= node->options_first;
			*ret_word = (struct word){.text = text, .length = strlen(text)};
			return true;
		}
		if (strcmp(text, "--") == 0) {
			cursor->operands_only = true;
			continue;
		}
		if (text[1] == '-' || call->path[0]->single_dash) {
			long_option(call, cursor, text, ret_word);
		} else {
			cursor->letters = text + 1;
			next_letter(call, cursor, ret_word);
		}
		return true;
	}
	return false;
}

/* The place of the word that could be the next verb; 0 if there is none. */
static size_t find_verb(const struct call *call)
{
	struct cursor cursor = {.at = call->verbs[call->depth - 1] + 1};
	struct word word;

	/* cargo +nightly publish */
	while (call_next(call, &cursor, &word))
		if (!word.is_option && word.text[0] != '+')
			return cursor.at - 1;
	return 0;
}

void call_read(const struct command *command, size_t first, size_t end, struct call *ret_call)
{
	struct call call = {.command = command, .first = first, .end = end};
	const struct tool_node *node = tool_find(path_last(command->argv[first]));

	call.verbs[0] = first;
	while (node) {
		size_t at;

		call.path[call.depth++] = node;
		if (node->verb_count == 0 || call.depth == CALL_DEPTH)
			break;
		at = find_verb(&call);
		call.bare = at == 0;
		if (at == 0)
			break;
		node = tool_verb(node, command->argv[at]);
		call.other = !node;
		call.verbs[call.depth] = at;
	}
	*ret_call = call;
}

bool call_takes_more(const struct call *call)
{
	const struct command *command = call->command;
	size_t count = command->wrapper_count;

	for (size_t i = 0; i < call->first; i++)
		if (strcmp(path_last(command->argv[i]), "xargs") == 0)
			return true;
	for (size_t i = 0; i < count; i++)
		if (strcmp(command->wrappers[i], "parallel") == 0)
			return true;
	if (count == 0 || match_one("find fd fdfind", command->wrappers[count - 1]))
		return false;
	for (size_t i = call->first + 1; i < call->end; i++)
		if (strcmp(command->argv[i], "{}") == 0)
			return true;
	return false;
}
