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

/* What an operand or a target is. Words in braces that mean nothing are themselves. */
static int read_term(const char *word, const char *text, struct term *term,
		     struct error **ret_error)
{
	static const struct {
		const char *word;
		enum term_kind kind;
		bool every;
	} named[] = {{"**", TERM_ANY, false},
		     {"{inside}", TERM_INSIDE, false},
		     {"{inside...}", TERM_INSIDE, true},
		     {"{outside}", TERM_OUTSIDE, false},
		     {"{outside...}", TERM_OUTSIDE, true}};
	size_t length = strlen(word);
	const char *fault;

	*term = (struct term){.kind = TERM_GLOB,
			      .text = word,
			      .initial = !strchr("*?[\\~/.", word[0]) && !strchr(word, '|')};
	for (size_t i = 0; i < ELEMENTS(named); i++)
		if (strcmp(named[i].word, word) == 0) {
			term->kind = named[i].kind;
			term->initial = false;
			term->every = named[i].every;
			return 0;
		}
	if (strncmp(word, "{re:", 4) == 0) {
		if (word[length - 1] != '}' || length < 6)
			return refuse(ret_error, text, "a {re: is not closed in the same word",
				      "write {re:v[0-9]+}, with \\s for white space");
		term->kind = TERM_REGEX;
		term->initial = false;
		if (regex_compile(word + 4, length - 5, &term->regex, ret_error) < 0)
			return error_hint(ret_error, "it is one as perl has them, for a whole word "
						     "without spaces: {re:v[0-9]+}");
		return 0;
	}
	fault = glob_fault(word);
	return fault ? refuse(ret_error, text, fault,
			      "put a backslash before a character that is meant as itself")
		     : 0;
}

static int add_term(const char *word, const char *text, struct terms *terms,
		    struct error **ret_error)
{
	return read_term(word, text, &terms->items[terms->count++], ret_error);
}

static int add_word(const char *word, const char *text, struct words *words,
		    struct error **ret_error)
{
	const char *fault = glob_fault(word);

	words->items[words->count++] = word;
	return fault ? refuse(ret_error, text, fault,
			      "put a backslash before a character that is meant as itself")
		     : 0;
}

/* Where the word at *at belongs; *at is on the last word that was used up. */
static int sort_word(struct pattern *pattern, char **words, size_t count, size_t *at,
		     const char *text, struct error **ret_error)
{
	const char *word = words[*at];
	bool output = word[0] == '>';

	if (output || word[0] == '<') {
		word += 1 + (output && (word[1] == '>' || word[1] == '|'));
		if (!*word && *at + 1 < count)
			word = words[++*at];
		if (!*word || word[0] == '>' || word[0] == '<')
			return refuse(ret_error, text,
				      output ? "a > has no target" : "a < has no source",
				      "name the file: echo > /etc/*");
		return add_term(word, text, output ? &pattern->targets : &pattern->sources,
				ret_error);
	}
	if (!pattern->program && is_assignment(word))
		return add_word(word, text, &pattern->assignments, ret_error);
	if (!pattern->program) {
		const char *fault = glob_fault(word);

		pattern->program = word;
		if (word[0] == '{')
			return refuse(ret_error, text,
				      "the program is named by words, not in braces",
				      "begin with its name, or with *");
		return fault ? refuse(ret_error, text, fault,
				      "put a backslash before a character that is meant as itself")
			     : 0;
	}
	if (strcmp(word, "--") == 0)
		return 0; /* says nothing about the words */
	if (word[0] == '-' && word[1])
		return add_word(word, text, &pattern->options, ret_error);
	return add_term(word, text, &pattern->operands, ret_error);
}

/* Stars that say what goes without saying are dropped; what stands behind all operands must. */
static int check_operands(struct pattern *pattern, const char *text, struct error **ret_error)
{
	struct terms *operands = &pattern->operands;

	while (operands->count && operands->items[operands->count - 1].kind == TERM_ANY)
		operands->count--;
	for (size_t i = 0; i < operands->count; i++) {
		pattern->open |= operands->items[i].kind == TERM_ANY;
		if (operands->items[i].every && i + 1 < operands->count)
			return refuse(ret_error, text, "words follow one that means all the rest",
				      "put the word with the dots last");
	}
	for (size_t i = 0; i < pattern->targets.count; i++)
		if (pattern->targets.items[i].kind == TERM_ANY)
			pattern->targets.items[i].kind = TERM_GLOB;
	for (size_t i = 0; i < pattern->sources.count; i++)
		if (pattern->sources.items[i].kind == TERM_ANY)
			pattern->sources.items[i].kind = TERM_GLOB;
	return 0;
}

/* With room for as many words as there can be in each place. */
static struct pattern *make_pattern(const char *text, size_t count)
{
	struct pattern *pattern = calloc(1, sizeof(*pattern));
	struct term *terms = calloc(3 * count + 1, sizeof(*terms));
	const char **words = calloc(2 * count + 1, sizeof(*words));

	if (!pattern || !terms || !words || !(pattern->text = strdup(text)))
		abort();
	pattern->operands.items = terms;
	pattern->targets.items = terms + count;
	pattern->sources.items = terms + 2 * count;
	pattern->options.items = words;
	pattern->assignments.items = words + count;
	return pattern;
}

static size_t count_words(const char *text)
{
	size_t count = 0;

	for (;;) {
		text += strspn(text, " \t");
		if (!*text)
			return count;
		text += strcspn(text, " \t");
		count++;
	}
}

int pattern_compile(const char *text, struct pattern **ret_pattern, struct error **ret_error)
{
	struct pattern *pattern;
	char *words[PATTERN_WORDS], *rest, *word;
	size_t count = 0;
	int r = 0;

	if (strlen(text) > PATTERN_LIMIT)
		return refuse(ret_error, "...", "it is too long", hint_words);
	if (count_words(text) > PATTERN_WORDS)
		return refuse(ret_error, text, "it has more than 32 words", hint_words);
	if (count_words(text) == 0)
		return refuse(ret_error, text, "it is empty", hint_words);
	pattern = make_pattern(text, count_words(text));
	rest = pattern->text;
	while ((word = strsep(&rest, " \t")))
		if (*word)
			words[count++] = word;
	/* A pattern is a beginning; a star at its end says so once more. */
	if (count > 1 && strcmp(words[count - 1], "*") == 0 && strcmp(words[count - 2], ">") != 0 &&
	    strcmp(words[count - 2], "<") != 0)
		count--;
	for (size_t i = 0; r == 0 && i < count; i++)
		r = sort_word(pattern, words, count, &i, text, ret_error);
	if (r == 0)
		r = check_operands(pattern, text, ret_error);
	if (r < 0) {
		pattern_free(pattern);
		return r;
	}
	if (pattern->program && strcmp(pattern->program, "*") == 0 && pattern->operands.count == 0)
		pattern->program = NULL;
	*ret_pattern = pattern;
	return 0;
}

static void terms_done(struct terms *terms)
{
	for (size_t i = 0; i < terms->count; i++)
		regex_free(terms->items[i].regex);
}

void pattern_free(struct pattern *pattern)
{
	if (!pattern)
		return;
	terms_done(&pattern->operands);
	terms_done(&pattern->targets);
	terms_done(&pattern->sources);
	free(pattern->operands.items);
	free(pattern->options.items);
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

static bool term_covers(const struct term *general, const struct term *special)
{
	if (general->kind == TERM_GLOB && strcmp(general->text, "*") == 0)
		return special->kind != TERM_ANY;
	if (general->kind != special->kind)
		return false;
	return general->kind == TERM_GLOB ? word_covers(general->text, special->text)
					  : strcmp(general->text, special->text) == 0;
}

static bool all_terms_among(const struct terms *general, const struct terms *special)
{
	for (size_t i = 0; i < general->count; i++) {
		bool found = false;

		for (size_t k = 0; k < special->count && !found; k++)
			found = term_covers(&general->items[i], &special->items[k]);
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
	for (size_t i = 0; i < general->operands.count; i++) {
		const struct term *one = &general->operands.items[i];
		const struct term *other = &special->operands.items[i];

		/* Of what comes in any number, and of what means all the rest, the same alone. */
		if (!term_covers(one, other) || one->every != other->every)
			return false;
	}
	return all_among(&general->options, &special->options) &&
	       all_terms_among(&general->targets, &special->targets) &&
	       all_terms_among(&general->sources, &special->sources) &&
	       all_among(&general->assignments, &special->assignments);
}
