/* SPDX-License-Identifier: Apache-2.0 */
/* A rule's pattern: taken apart, and compared with another one. match.c tries it on commands. */
#include "pattern.h"

#include <ctype.h>
#include <string.h>

static bool is_assignment(const char *word)
{
	size_t length = strcspn(word, "=");

	if (!word[length] || length == 0 || isdigit((unsigned char)word[0]))
		return false;
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)word[i]) && !strchr("_*?", word[i]))
			return false;
	return true;
}

static int refuse(struct error **ret_error, const char *text, const char *why, const char *hint)
{
	fail(ret_error, E_POLICY, "the pattern '%s' cannot be used: %s", text, why);
	error_hint(ret_error, "%s", hint);
	return -E_POLICY;
}

static const char hint_words[] = "write it as words with spaces between them, such as "
				 "git push --force";

/* Where the word at *at belongs; *at is on the last word that was used up. */
static int sort_word(struct pattern *pattern, char **words, size_t count, size_t *at,
		     const char *text, struct error **ret_error)
{
	const char *word = words[*at];
	struct words *where;

	if (word[0] == '<')
		return refuse(ret_error, text, "what is read from a file cannot be matched",
			      "leave the < out");
	if (word[0] == '>') {
		where = &pattern->targets;
		word += 1 + (word[1] == '>' || word[1] == '|');
		if (!*word && *at + 1 < count)
			word = words[++*at];
		if (!*word || word[0] == '>')
			return refuse(ret_error, text, "a > has no target",
				      "name the target: echo > /etc/*");
	} else if (!pattern->program && is_assignment(word)) {
		where = &pattern->assignments;
	} else if (!pattern->program) {
		pattern->program = word;
		return 0;
	} else if (word[0] == '-' && word[1] && strcmp(word, "--") != 0) {
		where = &pattern->options;
	} else if (strcmp(word, "--") == 0) {
		return 0; /* says nothing about the words */
	} else {
		where = &pattern->operands;
	}
	where->items[where->count++] = word;
	return 0;
}

int pattern_compile(const char *text, struct pattern **ret_pattern, struct error **ret_error)
{
	struct pattern *pattern;
	char *words[PATTERN_WORDS], *rest, *word;
	size_t count = 0;
	int r = 0;

	if (strlen(text) > PATTERN_LIMIT)
		return refuse(ret_error, "...", "it is too long", hint_words);
	pattern = calloc(1, sizeof(*pattern));
	if (!pattern || !(pattern->text = strdup(text)))
		abort();
	rest = pattern->text;
	while (r == 0 && (word = strsep(&rest, " \t"))) {
		const char *fault = *word ? glob_fault(word) : NULL;

		if (fault)
			r = refuse(ret_error, text, fault,
				   "put a backslash before a character that is meant as itself");
		else if (*word && count == PATTERN_WORDS)
			r = refuse(ret_error, text, "it has more than 32 words", hint_words);
		else if (*word)
			words[count++] = word;
	}
	if (r == 0 && count == 0)
		r = refuse(ret_error, text, "it is empty", hint_words);
	/* A pattern is a beginning; a star at its end says so once more. */
	if (r == 0 && count > 1 && strcmp(words[count - 1], "*") == 0 &&
	    strcmp(words[count - 2], ">") != 0)
		count--;
	for (size_t i = 0; r == 0 && i < count; i++)
		r = sort_word(pattern, words, count, &i, text, ret_error);
	if (r < 0) {
		pattern_free(pattern);
		return r;
	}
	if (pattern->program && strcmp(pattern->program, "*") == 0 && pattern->operands.count == 0)
		pattern->program = NULL;
	*ret_pattern = pattern;
	return 0;
}

void pattern_free(struct pattern *pattern)
{
	if (!pattern)
		return;
	free(pattern->text);
	free(pattern);
}

enum { COVER_LIMIT = 64 };

static bool word_covers(const char *general, const char *special)
{
	return strcmp(general, special) == 0 || strcmp(general, "*") == 0 ||
	       (strlen(special) <= COVER_LIMIT && strlen(general) <= COVER_LIMIT &&
		!strpbrk(special, "*?[|\\") && glob_matches(general, special));
}

static bool all_among(const struct words *general, const struct words *special)
{
	for (size_t i = 0; i < general->count; i++) {
		bool found = false;

		for (size_t k = 0; k < special->count && !found; k++)
			found = word_covers(general->items[i], special->items[k]);
		if (!found)
			return false;
	}
	return true;
}

bool pattern_covers(const struct pattern *general, const struct pattern *special)
{
	if (general->program &&
	    (!special->program || strchr(general->program, '/')
		     ? !special->program || strcmp(general->program, special->program) != 0
		     : !word_covers(general->program, special->program)))
		return false;
	if (general->operands.count > special->operands.count)
		return false;
	for (size_t i = 0; i < general->operands.count; i++)
		if (!word_covers(general->operands.items[i], special->operands.items[i]))
			return false;
	return all_among(&general->options, &special->options) &&
	       all_among(&general->targets, &special->targets) &&
	       all_among(&general->assignments, &special->assignments);
}
