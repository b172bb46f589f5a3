/* SPDX-License-Identifier: Apache-2.0 */
/* Statements for databases: those that nobody takes back. */
#include "facts.h"

#include <ctype.h>
#include <string.h>

/* The word, not part of another one, whatever its case. */
static const char *find_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = text; (at = strcasestr(at, word)); at += length)
		if ((at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_')) &&
		    !(isalnum((unsigned char)at[length]) || at[length] == '_'))
			return at;
	return NULL;
}

static bool is_followed_by(const char *text, const char *words)
{
	size_t length;

	text += strspn(text, " \t\n\r");
	length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_");
	for (; *words; words += strspn(words, " ")) {
		size_t size = strcspn(words, " ");

		if (size == length && strncasecmp(words, text, length) == 0)
			return true;
		words += size;
	}
	return false;
}

/* WHERE true, WHERE 1=1: of all rows after all. */
static bool is_always(const char *text)
{
	text += strspn(text, " \t\n\r(");
	return strncasecmp(text, "true", 4) == 0 || strncmp(text, "1=1", 3) == 0 ||
	       strncmp(text, "1 = 1", 5) == 0 || strcmp(text, "1") == 0 || strcmp(text, "1;") == 0;
}

bool is_ruinous_sql(const char *text)
{
	static const char objects[] =
		"table database schema view index role user tablespace column keyspace collection "
		"materialized sequence type function extension owned";
	const char *at;

	if ((at = find_word(text, "drop")) && is_followed_by(at + 4, objects))
		return true;
	if ((at = find_word(text, "truncate")) && at[8] && !strchr("(,)", at[8]))
		return true;
	if ((at = find_word(text, "delete")) && is_followed_by(at + 6, "from")) {
		const char *end = strchr(at, ';'), *where = find_word(at, "where");

		return !where || (end && where > end) || is_always(where + strlen("where"));
	}
	/* of all rows; but not what INSERT ... ON CONFLICT does */
	if ((at = find_word(text, "update")) && find_word(at, "set") && !find_word(at, "where") &&
	    !find_word(text, "on"))
		return true;
	return find_word(text, "flushall") || find_word(text, "flushdb") ||
	       strstr(text, "dropDatabase(") || strstr(text, ".drop()") ||
	       strstr(text, "deleteMany({})") || strstr(text, ".remove({})");
}

bool holds_ruinous_sql(const struct command *command, size_t first, size_t end)
{
	for (size_t i = first + 1; i < end; i++)
		if (is_ruinous_sql(command->argv[i]))
			return true;
	for (size_t i = 0; i < command->redirect_count; i++)
		if (strncmp(command->redirects[i].operator, "<<", 2) == 0 &&
		    is_ruinous_sql(command->redirects[i].target))
			return true;
	return false;
}

bool test_ruinous_sql(const struct call *call)
{
	return holds_ruinous_sql(call->command, call->first, call->end);
}
