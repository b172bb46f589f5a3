/* SPDX-License-Identifier: Apache-2.0 */
/* Code in other languages: what of it is handed to a shell as plain text. The rest is for others to
 * weigh. */
#include "unwrap.h"
#include "../base/buffer.h"
#include "../base/escape.h"
#include "../base/path.h"

#include <string.h>

enum { CODE_LIMIT = 64 };

static const struct {
	const char *names, *language, *options; /* with code as their value */
} languages[] = {
	{"python python2 python3 pypy pypy3 ipython ipython3", "python", "-c"},
	{"perl", "perl", "-e -E"},
	{"ruby irb jruby pry rake", "ruby", "-e -p"},
	{"node nodejs deno bun", "javascript", "-e --eval -p --print eval"},
	{"php", "php", "-r"},
	{"lua luajit lua5.1 lua5.2 lua5.3 lua5.4", "lua", "-e"},
	{"Rscript R", "r", "-e"},
	{"awk gawk mawk nawk", "awk", "-e --source"},
	{"osascript", "applescript", "-e"},
	{"tclsh expect", "tcl", "-c"},
	{"groovy", "groovy", "-e"},
	{"julia", "julia", "-e -E"},
	{"octave octave-cli", "octave", "--eval"},
	{"jrunscript jjs", "javascript", "-e"},
	{"emacs", "elisp", "--eval -eval --execute"},
	{"guile", "scheme", "-c"},
	{"elixir iex", "elixir", "-e --eval"},
	{"raku", "raku", "-e"},
	{"slsh", "slang", "-e"},
	{"pwsh powershell", "powershell", "-c -Command -command"},
	{"rpm", "rpm", "-E --eval"},
	{"ghc runghc", "haskell", "-e"},
	{"ed red ex vi vim nvim", "ex", ""},
	{"psql mysql mariadb sqlite3 sqlcmd clickhouse-client duckdb cockroach", "sql", ""},
};

const char *code_language(const char *name)
{
	if (strncmp(name, "python3.", 8) == 0 || strncmp(name, "python2.", 8) == 0)
		return "python";
	for (size_t i = 0; i < ELEMENTS(languages); i++)
		if (parse_word_in(languages[i].names, name, strlen(name)))
			return languages[i].language;
	return NULL;
}

void code_add(struct arena *arena, struct command *command, const char *language, const char *text)
{
	struct code *codes = arena_new_array(arena, struct code, command->code_count + 1);

	if (command->code_count >= CODE_LIMIT)
		return;
	if (command->code_count)
		memcpy(codes, command->codes, command->code_count * sizeof(*codes));
	codes[command->code_count++] = (struct code){language, text};
	command->codes = codes;
}

/* The string at `at`, in quotes of any kind that a language has; NULL: there is none, or it is not
 * constant. *ret_end is behind it. */
static char *read_string(struct arena *arena, const char *at, const char **ret_end)
{
	_cleanup_buffer_ struct buffer text = {0};
	char quote;

	at += strspn(at, " \t\n");
	if (strchr("rbuf", *at) && *at && (at[1] == '\'' || at[1] == '"'))
		at++; /* r'...' of python */
	quote = *at;
	if (!quote || !strchr("'\"`", quote))
		return NULL;
	for (at++; *at && *at != quote; at++) {
		if (*at == '\\' && at[1]) {
			at++;
			buffer_add_char(&text, *at == 'n' ? '\n' : *at == 't' ? '\t' : *at);
		} else {
			buffer_add_char(&text, *at);
		}
	}
	if (!*at)
		return NULL;
	*ret_end = at + 1;
	return arena_strndup(arena, buffer_text(&text), text.length);
}

/* ["rm", "-rf", "/"], or "rm", "-rf", "/": the words of one command, each for itself; one alone is
 * a text. named: the second is only what the program calls itself. */
static char *read_strings(struct arena *arena, const char *at, bool named)
{
	_cleanup_buffer_ struct buffer text = {0};
	const char *end, *first = NULL;
	char *part;
	size_t count = 0;

	at += strspn(at, " \t\n");
	at += *at == '[';
	while ((part = read_string(arena, at, &end))) {
		count++;
		if (!first)
			first = part;
		if (!(named && count == 2)) {
			buffer_add_text(&text, text.length ? " " : "");
			escape_for_shell(&text, part);
		}
		at = end + strspn(end, " \t\n");
		if (*at != ',')
			break;
		at++;
		at += strspn(at, " \t\n[");
	}
	if (count > 1)
		return arena_strndup(arena, buffer_text(&text), text.length);
	return first && *first ? arena_strndup(arena, first, strlen(first)) : NULL;
}

/* The next call at or behind *at that hands a text to a shell. */
static char *next_shell_text(struct arena *arena, const char **at)
{
	static const char *const calls[] = {
		"system",	"popen",      "execSync",     "exec",	   "spawnSync",
		"spawn",	"shell_exec", "passthru",     "proc_open", "getoutput",
		"check_output", "check_call", "call",	      "run",	   "Popen",
		"qx",		"execute",    "execFileSync", "execvp",	   "execlp",
		"execv",	"execl",      "shell",	      "spawnl",	   "callCommand"};
	static const char named[] = "execvp execlp execv execl spawnl";
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	const char *from = *at;

	while (*from) {
		size_t length = strspn(from, letters);
		const char *behind = from + length;
		char *text = NULL;

		if (length == 0) {
			from++;
			continue;
		}
		for (size_t i = 0; !text && i < ELEMENTS(calls); i++)
			if (strlen(calls[i]) == length && strncmp(calls[i], from, length) == 0) {
				behind += strspn(behind, " \t");
				behind += *behind == '(';
				text = read_strings(arena, behind,
						    parse_word_in(named, from, length));
			}
		from += length;
		if (text) {
			*at = from;
			return text;
		}
	}
	*at = from;
	return NULL;
}

/* awk: "COMMAND" | getline, print | "COMMAND". */
static char *next_pipe(struct arena *arena, const char **at)
{
	const char *from = *at, *end;

	while (*from) {
		char *text;

		if (*from == '|') {
			const char *behind = from + 1 + (from[1] == '&');

			from = behind;
			if ((text = read_string(arena, behind, &end))) {
				*at = end;
				return text;
			}
			continue;
		}
		if (*from == '"' && (text = read_string(arena, from, &end))) {
			const char *behind = end + strspn(end, " \t");

			from = end;
			if (*behind == '|' && strstr(behind, "getline")) {
				*at = end;
				return text;
			}
			continue;
		}
		from++;
	}
	*at = from;
	return NULL;
}

static bool take_code(struct texts *texts, const char *language, const char *code, bool live)
{
	const char *at = code;
	char *text;

	if (strcmp(language, "ex") == 0)
		return editor_text(texts, code, live);
	while ((text = next_shell_text(texts->arena, &at)))
		if (unwrap_take(texts, text, live))
			return true;
	at = code;
	while (strcmp(language, "awk") == 0 && (text = next_pipe(texts->arena, &at)))
		if (unwrap_take(texts, text, live))
			return true;
	/* `...` of perl, ruby and php */
	at = code;
	while (parse_word_in("perl ruby php", language, strlen(language)) &&
	       (at = strchr(at, '`'))) {
		const char *end;

		text = read_string(texts->arena, at, &end);
		if (!text)
			break;
		if (unwrap_take(texts, text, live))
			return true;
		at = end;
	}
	return false;
}

/* Code among the words: the value of -c or -e; awk's first operand. */
static bool word_code(struct texts *texts, const char *language, const char *options)
{
	const struct command *command = texts->command;
	bool found = false;

	for (size_t i = texts->first + 1; i < command->argc; i++) {
		const char *word = command->argv[i];
		size_t length = strlen(word);
		char letter[3] = {'-', length ? word[length - 1] : '\0', '\0'};

		if (i + 1 < command->argc && word[0] == '-' &&
		    (parse_word_in(options, word, length) ||
		     (word[1] != '-' && parse_word_in(options, letter, 2)))) {
			found = true;
			if (take_code(texts, language, command->argv[i + 1],
				      unwrap_is_live(command, i + 1)))
				return true;
		}
	}
	if (found || strcmp(language, "awk") != 0)
		return false;
	for (size_t i = parse_operand(command, texts->first + 1, "-F -v -f --file --assign");
	     i < command->argc && i < texts->first + 8; i++)
		if (strpbrk(command->argv[i], "{|(") &&
		    take_code(texts, language, command->argv[i], unwrap_is_live(command, i)))
			return true;
	return false;
}

bool code_text(struct texts *texts, const char *name)
{
	const char *language = code_language(name);

	if (!language || strcmp(language, "sql") == 0)
		return false;
	for (size_t i = 0; i < ELEMENTS(languages); i++)
		if (strcmp(languages[i].language, language) == 0 &&
		    word_code(texts, language, languages[i].options))
			return true;
	/* what it reads was found before: input.c */
	for (size_t i = 0; i < texts->command->code_count; i++)
		if (take_code(texts, language, texts->command->codes[i].text, false))
			return true;
	return false;
}
