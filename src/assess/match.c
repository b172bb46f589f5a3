/* SPDX-License-Identifier: Apache-2.0 */
/* Words held against lists of words, globs and flags. */
#include "facts.h"
#include "../base/path.h"

#include <fnmatch.h>
#include <string.h>

bool match_one(const char *patterns, const char *word)
{
	size_t size = strlen(word);
	char pattern[64];

	for (; *patterns; patterns += strspn(patterns, " ")) {
		size_t length = strcspn(patterns, " "), plain = strcspn(patterns, " *?[");

		if (plain == length
			    ? size == length && memcmp(patterns, word, length) == 0
			    : length < sizeof(pattern) && strncmp(patterns, word, plain) == 0) {
			if (plain == length)
				return true;
			memcpy(pattern, patterns, length);
			pattern[length] = '\0';
			if (fnmatch(pattern, word, 0) == 0)
				return true;
		}
		patterns += length;
	}
	return false;
}

static bool is_flag(const char *flag, size_t length, const char *word)
{
	size_t given = strcspn(word, "=");

	if (strncmp(flag, word, length) == 0 && given == length)
		return true;
	if (flag[1] == '-')
		return given > 2 && given < length && strncmp(flag, word, given) == 0;
	return length == 2 && word[0] == '-' && word[1] != '-' && strchr(word, flag[1]);
}

bool match_flag(const struct command *command, size_t first, const char *flags)
{
	for (size_t i = first + 1; i < command->argc; i++) {
		const char *word = command->argv[i];

		if (strcmp(word, "--") == 0)
			return false;
		for (const char *flag = flags; *word == '-' && *flag; flag += strspn(flag, " ")) {
			size_t length = strcspn(flag, " ");

			if (is_flag(flag, length, word))
				return true;
			flag += length;
		}
	}
	return false;
}

bool match_operand(const struct command *command, size_t first, bool (*test)(const char *word))
{
	bool operands_only = false;

	for (size_t i = first + 1; i < command->argc; i++) {
		const char *word = command->argv[i];

		if (!operands_only && strcmp(word, "--") == 0)
			operands_only = true;
		else if ((operands_only || word[0] != '-') && test(word))
			return true;
	}
	return false;
}
