/* SPDX-License-Identifier: Apache-2.0 */
/* Scripts of sed, read as sed reads them: what they write, run or throw away. */
#include "facts.h"

#include <string.h>

enum { WRITES = 1, RUNS = 2, EMPTIES = 4 };

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t");
}

/* Behind the delimiter that ends what begins at `at`; brackets may hold it. */
static const char *skip_delimited(const char *at, char delimiter, bool expression)
{
	for (; *at && *at != delimiter; at++) {
		if (*at == '\\' && at[1]) {
			at++;
		} else if (*at == '[' && expression) {
			const char *end = strchr(at + 1 + (at[1] == '^') + 1, ']');

			if (at[1] && end)
				at = end;
		}
	}
	return *at ? at + 1 : at;
}

/* One address; *ret_some is set where there is one. */
static const char *skip_address(const char *at, bool *ret_some)
{
	const char *start = at;

	if (*at == '/')
		at = skip_delimited(at + 1, '/', true);
	else if (*at == '\\' && at[1])
		at = skip_delimited(at + 2, at[1], true);
	else
		at += strspn(at, "0123456789$+~");
	if (at > start && (*start == '/' || *start == '\\'))
		at += strspn(at, "IM");
	*ret_some |= at > start;
	return at;
}

/* Both addresses, and the ! behind them. *ret_all: the lines are all lines. */
static const char *skip_addresses(const char *at, bool *ret_all)
{
	const char *start = at;
	bool some = false;

	at = skip_blanks(skip_address(at, &some));
	if (some && *at == ',')
		at = skip_blanks(skip_address(skip_blanks(at + 1), &some));
	*ret_all = !some || strncmp(start, "1,$", 3) == 0;
	while (*at == '!') {
		at = skip_blanks(at + 1);
		*ret_all = false;
	}
	return at;
}

static const char *skip_line(const char *at)
{
	return at + strcspn(at, "\n");
}

/* s/EXPRESSION/REPLACEMENT/FLAGS */
static const char *read_substitution(const char *at, bool all, unsigned *found)
{
	char delimiter = *at;
	const char *expression = at + 1, *replacement, *flags;
	bool nothing;

	if (!delimiter || delimiter == '\n')
		return at;
	replacement = skip_delimited(expression, delimiter, true);
	flags = skip_delimited(replacement, delimiter, false);
	nothing = flags == replacement + 1 && replacement == expression + 3 &&
		  strncmp(expression, ".*", 2) == 0;
	*found |= nothing && all ? EMPTIES : 0;
	for (at = flags; *at && strchr("gpiIeMm0123456789", *at); at++)
		*found |= *at == 'e' ? RUNS : 0;
	if (*at == 'w') {
		*found |= WRITES;
		return skip_line(at);
	}
	return at;
}

static const char *read_command(const char *at, bool all, unsigned *found)
{
	char name = *at++;

	switch (name) {
	case 's':
		return read_substitution(at, all, found);
	case 'y':
		return *at ? skip_delimited(skip_delimited(at + 1, *at, false), *at, false) : at;
	case 'w':
	case 'W':
		*found |= WRITES;
		return skip_line(at);
	case 'e':
		/* without a command it runs the line */
		at = skip_blanks(at);
		*found |= !*at || strchr("\n;}", *at) ? RUNS : WRITES;
		return skip_line(at);
	case 'a':
	case 'i':
	case 'c':
	case 'r':
	case 'R':
		return skip_line(at);
	case 'd':
		*found |= all ? EMPTIES : 0;
		return at;
	case ':':
	case 'b':
	case 't':
	case 'T':
		return at + strcspn(at, ";\n}");
	default:
		return at;
	}
}

static unsigned read_script(const char *text)
{
	const char *at = text;
	unsigned found = 0;
	int depth = 0;

	while (*(at += strspn(at, " \t\n;"))) {
		bool all;

		at = skip_addresses(at, &all);
		if (!*at)
			break;
		depth += *at == '{';
		depth -= *at == '}';
		at = read_command(at, all && depth == 0, &found);
	}
	return found;
}

static unsigned read_call(const struct call *call)
{
	struct cursor cursor = {0};
	struct word word;
	unsigned found = 0;
	bool given = false;

	while (call_next(call, &cursor, &word))
		given |=
			word.is_option && word_is_option(&word, "-e --expression -f --file", false);
	cursor = (struct cursor){0};
	while (call_next(call, &cursor, &word)) {
		if (word.is_option && word_is_option(&word, "-e --expression", false) && word.value)
			found |= read_script(word.value);
		if (!word.is_option && !given)
			return read_script(word.text);
	}
	/* sed -f - <<END: what it runs there is not looked into */
	for (size_t i = 0; i < call->command->code_count; i++) {
		unsigned there = read_script(call->command->codes[i].text);

		found |= there | (there & WRITES ? RUNS : 0);
	}
	return found;
}

bool test_writes_by_script(const struct call *call)
{
	return read_call(call) & (WRITES | RUNS);
}

/* s/.../.../e: lines of the input are commands. */
bool test_runs_lines(const struct call *call)
{
	return read_call(call) & RUNS;
}

/* sed -i d: nothing is left of the file. */
bool test_empties_files(const struct call *call)
{
	struct cursor cursor = {0};
	struct word word;

	bool in_place = false, quiet = false;
	const char *script = NULL;

	while (call_next(call, &cursor, &word)) {
		in_place |= word.is_option && word_is_option(&word, "-i --in-place", false);
		quiet |= word.is_option && word_is_option(&word, "-n --quiet --silent", false);
		if (!word.is_option && !script)
			script = word.text;
	}
	/* sed -n '' prints nothing */
	return in_place && ((read_call(call) & EMPTIES) || (quiet && script && !*script));
}
