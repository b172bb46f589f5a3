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

/* The lexer leaves expansions in words as they were written; what is quoted looks the same, which
 * errs on the generous side. */
static enum vary vary_of(const struct attempt *attempt, const char *word, size_t *ret_fixed)
{
	*ret_fixed = fixed_length(word);
	if (!attempt->command->dynamic || !attempt->how->guess)
		return VARY_NOT;
	if (word[0] == '~' && word[1] && word[1] != '/')
		*ret_fixed = 0;
	else if ((word[0] == '<' || word[0] == '>') && word[1] == '(')
		*ret_fixed = 0;
	else if (!word[*ret_fixed])
		return VARY_NOT;
	return strpbrk(word + *ret_fixed, "$`{") ? VARY_WORDS : VARY_FILES;
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
	const char *word = command->argv[at], *name = path_last(command->argv[attempt->first]);
	const char *with_value;
	bool followed = at + 1 < command->argc && command->argv[at + 1][0] != '-';

	if (strchr(word, '='))
		return 1;
	if (before_verb && pattern_knows_options(name, &with_value))
		return parse_word_in(with_value, word, strlen(word)) ? 2 : 1;
	return followed || attempt->how->generous ? 3 : 1;
}

/* The operands of the pattern must be the first operands of the command. Which words are operands
 * is not always known, so all readings are followed side by side: bit k of a set means that k
 * operands have been found before this word. One reading is enough to be generous, else all must
 * agree. */
static bool operands_match(const struct attempt *attempt)
{
	const struct words *wanted = &attempt->pattern->operands;
	uint64_t here = 1, next = 0, later = 0, goal = UINT64_C(1) << wanted->count;
	bool generous = attempt->how->generous, ended = false, reached = false;

	if (wanted->count == 0)
		return true;
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
			for (size_t k = 0; k < wanted->count; k++) {
				const char *pattern = wanted->items[k];

				if (!(here >> k & 1))
					continue;
				if (vary == VARY_NOT && word_matches(attempt, pattern, word)) {
					next |= UINT64_C(1) << (k + 1);
				} else if (vary != VARY_NOT &&
					   glob_could_match(pattern, word, fixed)) {
					next |= UINT64_C(1) << (k + 1);
					/* and it may stand for more than one */
					here |= UINT64_C(1) << (k + 1);
					if (vary == VARY_WORDS)
						return true;
				} else if (!generous && vary == VARY_NOT) {
					return false;
				}
			}
		}
		reached |= (next & goal) != 0;
		if (reached && generous)
			return true;
		next &= ~goal;
		here = next;
		next = later;
		later = 0;
	}
	if (generous)
		return attempt->more && (here || next);
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

static bool target_is_there(const struct attempt *attempt, const char *pattern)
{
	for (size_t i = 0; i < attempt->command->redirect_count; i++) {
		const struct redirect *redirect = &attempt->command->redirects[i];
		const char *target = redirect->target ? redirect->target : "";
		size_t fixed;

		if (!strchr(redirect->operator, '>'))
			continue;
		if (redirect->operator[0] == '>' && redirect->operator[1] == '&' &&
		    target[strspn(target, "0123456789-")] == '\0')
			continue;
		if (vary_of(attempt, target, &fixed) != VARY_NOT
			    ? glob_could_match(pattern, target, fixed)
			    : word_matches(attempt, pattern, target))
			return true;
	}
	return false;
}

static bool is_assignment(const char *word)
{
	size_t length = 0;

	while (isalnum((unsigned char)word[length]) || word[length] == '_')
		length++;
	return length > 0 && word[length] == '=';
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
			bool matches = vary_of(attempt, word, &fixed) != VARY_NOT
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

static bool matches_here(const struct attempt *attempt)
{
	const struct pattern *pattern = attempt->pattern;
	const struct command *command = attempt->command;

	if (pattern->program && (attempt->first >= command->argc ||
				 !program_matches(attempt, command->argv[attempt->first])))
		return false;
	for (size_t i = 0; i < pattern->targets.count; i++)
		if (!target_is_there(attempt, pattern->targets.items[i]))
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

bool pattern_matches(const struct pattern *pattern, const struct command *command, size_t first,
		     const struct match_how *how)
{
	struct attempt attempt = {pattern, command, how, first, false};

	if (!how->generous && command->dynamic)
		return false;
	for (;;) {
		size_t inner = parse_wrapped(command, attempt.first);
		const char *name;

		if (matches_here(&attempt))
			return true;
		if (inner == 0)
			return false;
		name = path_last(command->argv[attempt.first]);
		/* But for programs of many names, which start nobody for it. */
		if (how->alone && !parse_word_in("busybox toybox", name, strlen(name)))
			return false;
		/* These change who runs it, or add words to it. */
		if (!how->generous &&
		    parse_word_in("sudo doas pkexec xargs busybox", name, strlen(name)))
			return false;
		attempt.more |= how->guess && strcmp(name, "xargs") == 0;
		attempt.first = inner;
	}
}
