/* SPDX-License-Identifier: Apache-2.0 */
/* What one command makes ready for another: downloads, decoded texts, secrets, and who runs or
 * sends them. */
#include "facts.h"
#include "../base/path.h"

#include <string.h>

bool is_downloader(const char *program)
{
	return match_one("curl wget fetch aria2c http https nc ncat socat lynx w3m",
			 path_last(program));
}

/* \x72\x6d, \162\155: letters that are not to be seen. */
static bool is_coded(const char *word)
{
	for (const char *at = word; (at = strchr(at, '\\')); at++)
		if (at[1] == 'x' || at[1] == 'u' || (at[1] >= '0' && at[1] <= '7'))
			return true;
	return false;
}

bool is_decoder(const struct command *command, size_t first)
{
	const char *name = path_last(command->argv[first]);

	if (match_one("echo printf", name))
		return match_operand(command, first, is_coded);
	return match_one("rev uudecode", name) ||
	       (match_one("base64 base32 basenc", name) &&
		match_flag(command, first, "-d -D --decode")) ||
	       (match_one("xxd", name) && match_flag(command, first, "-r")) ||
	       (match_one("openssl", name) && match_flag(command, first, "-d"));
}

bool shows_file(const struct command *command, size_t first)
{
	return command->argc > first + 1 &&
	       match_one("cat base64 base32 head tail tac xxd od hexdump strings tar gzip zip env "
			 "printenv openssl gpg sed awk grep find ls",
			 path_last(command->argv[first]));
}

bool prints_words(const struct command *command, size_t first)
{
	const char *name = path_last(command->argv[first]);

	for (size_t i = 0; strcmp(name, "cat") == 0 && i < command->redirect_count; i++)
		if (strncmp(command->redirects[i].operator, "<<", 2) == 0)
			return true;
	return match_one("echo printf", name) && !is_decoder(command, first);
}

static bool is_substitution(const char *word)
{
	return strstr(word, "$(") || strchr(word, '`') || strstr(word, "<(");
}

bool sends_input(const struct command *command, size_t first)
{
	const char *name = path_last(command->argv[first]);

	if (match_one("nc ncat socat telnet", name))
		return true;
	for (size_t i = first + 1; is_downloader(name) && i < command->argc; i++) {
		const char *word = command->argv[i];

		if (strstr(word, "@-") || strstr(word, "@/dev/stdin") || strcmp(word, ".") == 0 ||
		    strcmp(word, "-") == 0 || (command->dynamic && is_substitution(word)))
			return true;
	}
	return false;
}

static const char shells[] = "sh bash dash zsh ksh ash mksh fish";
bool is_shell(const char *program)
{
	return match_one(shells, path_last(program));
}

static const char interpreters[] =
	"python python[23]* perl ruby node php lua deno bun Rscript osascript";

bool runs_input(const struct command *command, size_t first)
{
	const char *name = path_last(command->argv[first]);
	bool shell = match_one(shells, name);
	size_t operand = parse_operand(command, first + 1, "-o -O --rcfile --init-file");

	if (match_one("eval source .", name))
		return match_operand(command, first, is_substitution);
	if (!shell && !match_one(interpreters, name))
		return false;
	for (size_t i = 0; i < command->redirect_count; i++)
		if (command->redirects[i].operator[0] == '<')
			return is_substitution(command->redirects[i].target);
	if (operand < command->argc &&
	    !match_one("- /dev/stdin /dev/fd/0 /proc/self/fd/0", command->argv[operand]))
		return (shell && match_flag(command, first, "-s")) ||
		       (command->dynamic && is_substitution(command->argv[operand]));
	/* python -mjson.tool reads data, sh -e reads commands */
	return shell ? !match_flag(command, first, "--version --help") : operand == first + 1;
}

const char *download_file(const struct command *command, size_t first)
{
	const char *name = path_last(command->argv[first]), *options;

	options = match_one("wget", name)   ? "-O --output-document"
		  : match_one("curl", name) ? "-o --output"
					    : "";
	for (size_t i = first + 1; i < command->argc; i++) {
		const char *word = command->argv[i];
		size_t length = strlen(word);

		if (i + 1 < command->argc && (parse_word_in(options, word, length) ||
					      (*options && word[0] == '-' && word[1] != '-' &&
					       length > 2 && word[length - 1] == options[1])))
			return command->argv[i + 1];
	}
	for (size_t i = 0; i < command->redirect_count; i++)
		if (command->redirects[i].operator[0] == '>' && command->redirects[i].fd<2)
			return command->redirects[i].target;
	return NULL;
}

bool runs_file(const struct command *command, size_t first, const char *file)
{
	const char *name = path_last(command->argv[first]);
	size_t operand;

	if (strcmp(path_last(file), name) == 0 && strchr(command->argv[first], '/'))
		return true;
	if (!match_one(shells, name) && !match_one(interpreters, name) &&
	    !match_one("source . chmod installer dpkg rpm", name))
		return false;
	for (operand = first + 1; operand < command->argc; operand++)
		if (strcmp(path_last(command->argv[operand]), path_last(file)) == 0)
			return true;
	return false;
}

/* The environment, or a file of secrets, on standard output. */
bool shows_secrets(const struct command *command, size_t first)
{
	const char *name = path_last(command->argv[first]);
	bool alone = first + 1 == command->argc ||
		     (first + 2 == command->argc && strcmp(command->argv[first + 1], "-p") == 0);

	if (match_one("env printenv export declare set", name))
		return alone;
	if (!match_one("cat tar base64 base32 gzip xxd zip head tail openssl gpg", name))
		return false;
	for (size_t i = first + 1; i < command->argc; i++)
		if (is_secret(command->argv[i]) || strcmp(path_last(command->argv[i]), ".env") == 0)
			return true;
	return false;
}

bool is_sql_client(const char *name)
{
	return match_one("psql mysql mariadb sqlite3 sqlcmd clickhouse-client duckdb redis-cli "
			 "mongosh mongo cockroach",
			 name);
}
