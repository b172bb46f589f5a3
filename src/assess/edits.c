/* SPDX-License-Identifier: Apache-2.0 */
/* Editors and languages that edit files by what they are told: where nothing is left of a file. */
#include "facts.h"
#include "../base/path.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

enum { CLEARS = 1, WRITES = 2, INSERTS = 4 };

static const char small_letters[] = "abcdefghijklmnopqrstuvwxyzW";

/* normal ggdG: what fingers would type. */
static bool types_removal(const char *at, size_t length)
{
	static const char *const keys[] = {"ggdG", "ggVGd", "ggVGx", ":%d"};

	for (size_t i = 0; i < ELEMENTS(keys); i++)
		if (memmem(at, length, keys[i], strlen(keys[i])))
			return true;
	return false;
}

/* One command of ed, ex or vim, with the lines that it is for. */
static unsigned read_command(const char *at, const char *end)
{
	static const char *const all[] = {"%", "1,$", "0,$", ",", "g/./", "g/^/", "g/.*/"};
	size_t lines = 0, length;

	at += strspn(at, " \t:");
	if (strncmp(at, "norm", 4) == 0 && at < end)
		return types_removal(at, (size_t)(end - at)) ? CLEARS : 0;
	for (size_t i = 0; i < ELEMENTS(all); i++)
		if (strncmp(at, all[i], strlen(all[i])) == 0)
			lines = MAX(lines, strlen(all[i]));
	at += lines;
	length = strspn(at, small_letters);
	if (lines &&
	    (parse_word_in("d de del delete", at, length) || strncmp(at, "s/.*//", 6) == 0))
		return CLEARS;
	at += strspn(at, "0123456789$.,");
	length = strspn(at, small_letters);
	if (parse_word_in("w wq x xit up update write wa wqa xa wall W", at, length))
		return WRITES;
	return parse_word_in("a i r append insert read", at, length) ? INSERTS : 0;
}

static unsigned read_script(const char *text)
{
	unsigned found = 0;

	while (*text) {
		const char *end = text + strcspn(text, "\n|");

		found |= read_command(text, end);
		text = end + (*end != '\0');
	}
	return found;
}

/* (erase-buffer) of emacs, with what saves it. */
static unsigned read_lisp(const char *text)
{
	return (strstr(text, "(erase-buffer)") ? CLEARS : 0) |
	       (strstr(text, "(save-buffer)") || strstr(text, "(write-") ? WRITES : 0) |
	       (strstr(text, "(insert") ? INSERTS : 0);
}

/* ed FILE <<< '1,$d ...', vim -c %d -c wq FILE: all lines go, none comes, and it is written. */
bool test_edits_to_nothing(const struct call *call)
{
	const struct command *command = call->command;
	unsigned found = 0;

	for (size_t i = call->first + 1; i < call->end; i++) {
		const char *script = editor_script(command, i);

		found |= script ? read_script(script) : read_lisp(command->argv[i]);
	}
	for (size_t i = 0; i < command->code_count; i++)
		found |= read_script(command->codes[i].text);
	return found == (CLEARS | WRITES);
}

/* Letters of perl and ruby with a value behind them that ends the word. */
static bool takes_rest(char letter)
{
	return strchr("ieEMmIFxCdDrS", letter) != NULL;
}

struct in_place {
	bool edits, loops, prints; /* -i without a copy, -n, -p */
	const char *code;
};

static size_t read_letters(const struct call *call, size_t i, struct in_place *ret)
{
	const char **argv = call->command->argv;

	for (const char *letter = argv[i] + 1; *letter; letter++) {
		ret->edits |= *letter == 'i' && !letter[1];
		ret->loops |= *letter == 'n';
		ret->prints |= *letter == 'p';
		if (strchr("eE", *letter)) {
			ret->code = letter[1] ? letter + 1 : i + 1 < call->end ? argv[i + 1] : "";
			return letter[1] ? i : i + 1;
		}
		if (takes_rest(*letter))
			break;
	}
	return i;
}

/* A statement that leaves nothing of each line, whatever the line is. */
static bool clears_line(const char *code)
{
	static const char *const clearing[] = {"$_=\"\"",  "$_=''",	"undef$_", "undef($_)",
					       "$_=undef", "s/.[*]//*", "s/.+//*", "$_=q()"};
	char statement[32];

	while (*code) {
		size_t length = 0, end = strcspn(code, ";");

		for (size_t i = 0; i < end && length + 1 < sizeof(statement); i++)
			if (!isspace((unsigned char)code[i]))
				statement[length++] = code[i];
		statement[length] = '\0';
		for (size_t i = 0; i < ELEMENTS(clearing); i++)
			if (fnmatch(clearing[i], statement, 0) == 0)
				return true;
		code += end + (code[end] != '\0');
	}
	return false;
}

static bool holds_print(const char *code)
{
	return strstr(code, "print") || strstr(code, "say") || strstr(code, "puts") ||
	       strstr(code, "write") || strstr(code, "<<") || strstr(code, "p ");
}

/* awk -i inplace '{}' FILE: a pattern alone would print. */
static bool awk_prints_nothing(const struct call *call)
{
	struct cursor cursor = {0};
	struct word word;
	bool in_place = false;

	while (call_next(call, &cursor, &word)) {
		in_place |= word.is_option &&
			    word_is_option(&word, "-i=inplace --include=inplace", false);
		if (!word.is_option)
			return in_place && (strcmp(word.text, "0") == 0 ||
					    (strchr(word.text, '{') && !holds_print(word.text)));
	}
	return false;
}

/* perl -i -ne '' FILE: the file becomes what the code prints. */
bool test_prints_nothing(const struct call *call)
{
	struct in_place in_place = {0};

	if (fnmatch("*awk", path_last(call->command->argv[call->first]), 0) == 0)
		return awk_prints_nothing(call);
	for (size_t i = call->first + 1; i < call->end; i++) {
		const char *word = call->command->argv[i];

		if (word[0] != '-' || word[1] == '-' || !word[1])
			break;
		i = read_letters(call, i, &in_place);
	}
	if (!in_place.edits || !in_place.code)
		return false;
	if (in_place.prints)
		return clears_line(in_place.code);
	return in_place.loops && !holds_print(in_place.code);
}
