/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a pattern matches a command. Deny and ask rules match in doubt, allow rules do not: what
 * slips past a deny rule, and what an allow rule takes in by mistake, are the same fault. */
#include "pattern.h"
#include "../base/path.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char *const system_directories[] = {"/bin",      "/sbin",		"/usr/bin",
						 "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"};

/* Above this a glob is not tried on a word. */
enum { GLOB_STEPS = 1 << 26 };

struct attempt {
	const struct pattern *pattern;
	const struct command *command;
	const struct match_how *how;
	const struct link *link;
	size_t first; /* where the command that is tried begins */
	bool more;    /* xargs adds words that nobody knows */
};

enum vary { VARY_NOT, VARY_FILES, VARY_WORDS };

/* Where something in the word begins that the shell replaces; its end where nothing does. A lone [,
 * {} or a $ at the end mean themselves. */
static size_t fixed_length(const char *word)
{
	const char *bracket = strrchr(word, ']'), *brace = strrchr(word, '}');
	const char *at = word;

	if (brace && !strchr(word, ',') && !strstr(word, ".."))
		brace = NULL;
	for (;; at++) {
		at += strcspn(at, "$`*?[{");
		if ((*at == '[' && (!bracket || bracket < at)) ||
		    (*at == '{' && (!brace || brace < at)) || (*at == '$' && !at[1]))
			continue;
		return (size_t)(at - word);
	}
}

/* Expansions that are not known stay in words as they were written; what is quoted looks the same,
 * which errs on the generous side. */
static enum vary vary_of_text(const struct attempt *attempt, const char *word, size_t *ret_fixed)
{
	*ret_fixed = fixed_length(word);
	if (!attempt->how->guess)
		return VARY_NOT;
	if (word[0] == '~' && word[1] && word[1] != '/')
		*ret_fixed = 0;
	else if ((word[0] == '<' || word[0] == '>') && word[1] == '(')
		*ret_fixed = 0;
	else if (!word[*ret_fixed])
		return VARY_NOT;
	return strpbrk(word + *ret_fixed, "$`{") ? VARY_WORDS : VARY_FILES;
}

/* A word of the command itself. */
static enum vary vary_of(const struct attempt *attempt, const char *word, size_t *ret_fixed)
{
	if (attempt->command->dynamic)
		return vary_of_text(attempt, word, ret_fixed);
	*ret_fixed = strlen(word);
	return VARY_NOT;
}

static char *expand(const char *home, const char *text, size_t length)
{
	char *result;

	if (asprintf(&result, "%s%.*s", home, (int)length - 1, text + 1) < 0)
		abort();
	return result;
}

static bool is_home(const char *text, size_t length)
{
	return length > 0 && text[0] == '~' && (length == 1 || text[1] == '/');
}

struct constant {
	const char *home, *text;
};

static bool equals(const char *pattern, size_t length, void *data)
{
	const struct constant *constant = data;
	_cleanup_free_ char *expanded = NULL;

	if (constant->home && is_home(pattern, length)) {
		pattern = expanded = expand(constant->home, pattern, length);
		length = strlen(expanded);
	}
	return glob_matches_part(pattern, length, constant->text, strlen(constant->text));
}

static bool goes_up(const char *path)
{
	for (; *path; path += strspn(path, "/")) {
		size_t length = strcspn(path, "/");

		if (length == 2 && memcmp(path, "..", 2) == 0)
			return true;
		path += length;
	}
	return false;
}

/* Of a path both what is written and where it leads count. */
static bool word_matches(const struct attempt *attempt, const char *pattern, const char *word)
{
	_cleanup_free_ char *expanded = NULL, *normal = NULL;
	struct constant constant = {attempt->how->home, word};
	bool written, leads;

	/* Nobody writes such words in earnest. */
	if (strchr(pattern, '*') && strlen(pattern) * strlen(word) > GLOB_STEPS)
		return attempt->how->generous;
	if (constant.home && is_home(word, strlen(word)))
		constant.text = expanded = expand(constant.home, word, strlen(word));
	written = glob_any(pattern, equals, &constant);
	if (!strchr(constant.text, '/') || strstr(constant.text, "://"))
		return written;
	if (!attempt->how->generous && !goes_up(constant.text))
		return written;
	constant.text = normal = path_normalise(constant.text);
	leads = glob_any(pattern, equals, &constant);
	return attempt->how->generous ? written || leads : written && leads;
}

static bool program_matches(const struct attempt *attempt, const char *word)
{
	const char *program = attempt->pattern->program;
	size_t fixed;

	if (vary_of(attempt, word, &fixed) != VARY_NOT)
		return fixed == 0 || strchr(word, '/') || glob_could_match(program, word, fixed);
	if (strchr(program, '/'))
		return word_matches(attempt, program, word) ||
		       (attempt->how->generous && !strchr(word, '/') &&
			glob_matches(path_last(program), word));
	if (!attempt->how->generous && strchr(word, '/')) {
		/* A program of that name may have been made for the purpose. */
		bool system = false;

		for (size_t i = 0; i < ELEMENTS(system_directories); i++)
			system |= strlen(system_directories[i]) ==
					  (size_t)(path_last(word) - word) - 1 &&
				  path_is_under(word, system_directories[i]);
		if (!system)
			return false;
	}
	return glob_matches(program, path_last(word));
}

/* Bit 0: it may be by itself; bit 1: the next word may be its value. */
static unsigned option_sizes(const struct attempt *attempt, size_t at, bool before_verb)
{
	const struct command *command = attempt->command;
	const char *word = command->argv[at];
	bool followed = at + 1 < command->argc && command->argv[at + 1][0] != '-';

	if (strchr(word, '='))
		return 1;
	if (before_verb && attempt->link->knows_options)
		return attempt->link->with_value &&
				       parse_word_in(attempt->link->with_value, word, strlen(word))
			       ? 2
			       : 1;
	return followed || attempt->how->generous ? 3 : 1;
}

/* In doubt as the rule wants it. */
static bool decided(const struct attempt *attempt, enum truth truth)
{
	return attempt->how->generous ? truth != TRUTH_NO : truth == TRUTH_YES;
}

/* A word that is known. */
static bool term_matches(const struct attempt *attempt, const struct term *term, const char *word)
{
	enum truth inside;

	switch (term->kind) {
	case TERM_GLOB:
		return word_matches(attempt, term->text, word);
	case TERM_REGEX:
		return decided(attempt, regex_matches(term->regex, word));
	case TERM_INSIDE:
	case TERM_OUTSIDE:
		inside = path_lies_inside(attempt->how->circumstances, attempt->command,
					  attempt->first, word);
		if (term->kind == TERM_OUTSIDE)
			inside = TRUTH_YES - inside;
		return decided(attempt, inside);
	default:
		return true;
	}
}

/* Whether some expansion of a word that varies could be it. */
static bool term_could_match(const struct term *term, const char *word, size_t fixed)
{
	return term->kind != TERM_GLOB || glob_could_match(term->text, word, fixed);
}

/* Readings of the operands, as bits: bit k means that k terms have been found. */
struct readings {
	const struct attempt *attempt;
	const struct terms *wanted;
	uint64_t goal;
	bool every; /* the last term means all the rest */
};

/* Two stars may stand for nothing. */
static uint64_t closure(const struct readings *readings, uint64_t set)
{
	for (size_t k = 0; k < readings->wanted->count; k++)
		if ((set >> k & 1) && readings->wanted->items[k].kind == TERM_ANY)
			set |= UINT64_C(1) << (k + 1);
	return set;
}

/* The readings after one operand. *ret_lost: one of them ended there. */
static uint64_t step(const struct readings *readings, uint64_t here, const char *word,
		     enum vary vary, size_t fixed, bool *ret_lost)
{
	uint64_t next = 0;

	for (size_t k = 0; k <= readings->wanted->count; k++) {
		bool end = k == readings->wanted->count;
		const struct term *term = &readings->wanted->items[end ? k - 1 : k];
		bool matches;

		if (!(here >> k & 1))
			continue;
		matches = vary == VARY_NOT ? term_matches(readings->attempt, term, word)
					   : term_could_match(term, word, fixed);
		if (matches && term->kind == TERM_ANY)
			next |= UINT64_C(1) << k;
		else if (matches)
			next |= UINT64_C(1) << (end ? k : k + 1);
		else
			*ret_lost = true;
		/* What varies may stand for more than one. */
		if (matches && vary != VARY_NOT && !end)
			here |= UINT64_C(1) << (k + 1);
		if (matches && vary == VARY_WORDS && !readings->every)
			return next | readings->goal;
	}
	return closure(readings, next);
}

/* The operands of the pattern must be the first operands of the command. Which words are operands
 * is not always known, so all readings are followed side by side. One reading is enough to be
 * generous, else all must agree. */
static bool operands_match(const struct attempt *attempt)
{
	const struct terms *wanted = &attempt->pattern->operands;
	struct readings readings = {.attempt = attempt,
				    .wanted = wanted,
				    .goal = UINT64_C(1) << wanted->count,
				    .every = wanted->count &&
					     wanted->items[wanted->count - 1].every};
	uint64_t here, next = 0, later = 0;
	bool generous = attempt->how->generous, ended = false, reached = false;

	if (wanted->count == 0)
		return true;
	here = closure(&readings, 1);
	for (size_t i = attempt->first + 1; i < attempt->command->argc; i++) {
		const char *word = attempt->command->argv[i];
		size_t fixed;
		enum vary vary = vary_of(attempt, word, &fixed);

		if (!here && !next)
			break;
		if (vary == VARY_WORDS && here && (fixed == 0 || word[0] == '-'))
			return true; /* it may hold all that is still wanted */
		if (!ended && strcmp(word, "--") == 0) {
			ended = true;
			next |= here;
		} else if (!ended && word[0] == '-' && word[1]) {
			unsigned first = option_sizes(attempt, i, true);
			unsigned others = option_sizes(attempt, i, false);

			next |= (first & 1 ? here & 1 : 0) | (others & 1 ? here & ~UINT64_C(1) : 0);
			later |=
				(first & 2 ? here & 1 : 0) | (others & 2 ? here & ~UINT64_C(1) : 0);
		} else {
			bool lost = false;

			next |= step(&readings, here, word, vary, fixed, &lost);
			if (lost && !generous)
				return false;
		}
		if (!readings.every) {
			reached |= (next & readings.goal) != 0;
			if (reached && generous)
				return true;
			next &= ~readings.goal;
		}
		here = next;
		next = later;
		later = 0;
	}
	if (generous)
		return (readings.every && ((here | next) & readings.goal)) ||
		       (attempt->more && (here || next));
	if (readings.every)
		return (here | next) == readings.goal;
	return reached && !here && !next;
}

static bool is_cluster(const char *word, size_t length)
{
	if (length < 2 || word[0] != '-')
		return false;
	for (size_t i = 1; i < length; i++)
		if (!isalnum((unsigned char)word[i]))
			return false;
	return true;
}

/* Whether some word of the command is this option, in full or, of one letter, among others. */
static bool has_option(const struct attempt *attempt, const char *option, size_t length)
{
	bool generous = attempt->how->generous;

	for (size_t i = attempt->first + 1; i < attempt->command->argc; i++) {
		const char *word = attempt->command->argv[i];
		size_t fixed, name = strcspn(word, "=");
		enum vary vary = vary_of(attempt, word, &fixed);

		if (vary == VARY_WORDS &&
		    (fixed == 0 || memcmp(word, option, MIN(fixed, length)) == 0))
			return true;
		if (!generous && strcmp(word, "--") == 0)
			return false;
		if (word[0] != '-')
			continue;
		if (glob_matches_part(option, length, word, strlen(word)) ||
		    glob_matches_part(option, length, word, name))
			return true;
		/* Long options may be cut short. */
		if (generous && name > 2 && word[1] == '-' && name < length &&
		    memcmp(word, option, name) == 0)
			return true;
		if (length == 2 && is_cluster(word, name) && memchr(word + 1, option[1], name - 1))
			return true;
	}
	return generous && attempt->more;
}

static bool option_is_there(const char *option, size_t length, void *data)
{
	const struct attempt *attempt = data;

	if (has_option(attempt, option, length))
		return true;
	/* -rf may be given as -r -f; longer ones are names, as those of find. */
	if (length < 3 || length > 4 || !is_cluster(option, length))
		return false;
	for (size_t i = 1; i < length; i++) {
		const char letter[] = {'-', option[i]};

		if (!has_option(attempt, letter, sizeof(letter)))
			return false;
	}
	return true;
}

static bool redirection_is_there(const struct attempt *attempt, const struct term *term,
				 char direction)
{
	for (size_t i = 0; i < attempt->command->redirect_count; i++) {
		const struct redirect *redirect = &attempt->command->redirects[i];
		const char *target = redirect->target ? redirect->target : "";
		size_t fixed;

		if (!strchr(redirect->operator, direction) ||
		    (direction == '<' && redirect->operator[1] == '<'))
			continue;
		if (redirect->operator[0] == direction && redirect->operator[1] == '&' &&
		    target[strspn(target, "0123456789-")] == '\0')
			continue;
		if (vary_of_text(attempt, target, &fixed) != VARY_NOT
			    ? term_could_match(term, target, fixed)
			    : term_matches(attempt, term, target))
			return true;
	}
	return false;
}

/* To env whatever the name is: BASH_FUNC_x%%=1 */
static bool is_assignment(const char *word)
{
	return word[0] != '-' && strchr(word, '=');
}

static bool assignments_match(const struct attempt *attempt)
{
	const struct command *command = attempt->command;
	const struct words *wanted = &attempt->pattern->assignments;
	bool found[PATTERN_WORDS] = {false}, all = true;
	size_t count = command->assignment_count + attempt->first;

	for (size_t i = 0; i < count; i++) {
		bool wrapped = i >= command->assignment_count;
		const char *word = wrapped ? command->argv[i - command->assignment_count]
					   : command->assignments[i];
		bool named = false;
		size_t fixed;

		if (wrapped && !is_assignment(word))
			continue; /* words of sudo, env and the like */
		for (size_t k = 0; k < wanted->count; k++) {
			bool matches = vary_of_text(attempt, word, &fixed) != VARY_NOT
					       ? glob_could_match(wanted->items[k], word, fixed)
					       : glob_matches(wanted->items[k], word);

			found[k] |= matches;
			named |= matches;
		}
		/* A variable can turn a program into another one. */
		if (!named && !attempt->how->generous)
			return false;
	}
	for (size_t k = 0; k < wanted->count; k++)
		all &= found[k];
	return all;
}

/* Whether each operand has a word that begins as it does. */
static bool initials_fit(const struct attempt *attempt)
{
	const struct terms *operands = &attempt->pattern->operands;

	for (size_t i = 0; !attempt->link->any_initial && i < operands->count; i++) {
		unsigned char initial = (unsigned char)operands->items[i].text[0];

		if (operands->items[i].initial &&
		    !(attempt->link->initials[initial / 64] >> initial % 64 & 1))
			return false;
	}
	return true;
}

static bool matches_here(const struct attempt *attempt)
{
	const struct pattern *pattern = attempt->pattern;
	const struct command *command = attempt->command;

	if (!initials_fit(attempt))
		return false;
	if (pattern->program && (attempt->first >= command->argc ||
				 !program_matches(attempt, command->argv[attempt->first])))
		return false;
	for (size_t i = 0; i < pattern->targets.count; i++)
		if (!redirection_is_there(attempt, &pattern->targets.items[i], '>'))
			return false;
	for (size_t i = 0; i < pattern->sources.count; i++)
		if (!redirection_is_there(attempt, &pattern->sources.items[i], '<'))
			return false;
	if (!assignments_match(attempt))
		return false;
	if (attempt->first < command->argc && pattern->program) {
		size_t fixed;

		if (vary_of(attempt, command->argv[attempt->first], &fixed) == VARY_WORDS)
			return true; /* words may come with the name */
	}
	for (size_t i = 0; i < pattern->options.count; i++)
		if (!glob_any(pattern->options.items[i], option_is_there, (void *)attempt))
			return false;
	return operands_match(attempt);
}

bool pattern_matches_chain(const struct pattern *pattern, const struct command *command,
			   const struct chain *chain, const struct match_how *how, size_t *ret_at)
{
	/* An allow for what comes after anything would be one for anything. */
	if (!how->generous && (command->dynamic || pattern->open))
		return false;
	for (size_t i = 0; i < chain->count; i++) {
		const struct link *link = &chain->links[i];
		const struct attempt attempt = {pattern, command,     how,
						link,	 link->first, link->more && how->guess};

		if ((how->alone && !link->started) || (!how->generous && !link->certain))
			return false;
		if (!matches_here(&attempt))
			continue;
		if (ret_at)
			*ret_at = link->first;
		return true;
	}
	return false;
}

bool pattern_matches(const struct pattern *pattern, const struct command *command, size_t first,
		     const struct match_how *how)
{
	_cleanup_chain_ struct chain chain;

	chain_make(command, first, &chain);
	return pattern_matches_chain(pattern, command, &chain, how, /* ret_at= */ NULL);
}

bool pattern_word_varies(const struct command *command, const char *word)
{
	const struct match_how how = {.generous = true, .guess = true};
	const struct attempt attempt = {.command = command, .how = &how};
	size_t fixed;

	return vary_of(&attempt, word, &fixed) != VARY_NOT;
}
