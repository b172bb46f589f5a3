/* SPDX-License-Identifier: Apache-2.0 */
/* What in a text looks like a secret. The text is read as runs of characters that words are made
 * of, whatever shell or program would read it how: a quote or a bracket ends none of the rules. */
#include "mask.h"
#include "decide.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

enum {
	VALUE_LEAST = 6, /* of a variable of the environment, to be looked for elsewhere */
	KEY_LEAST = 20,	 /* a word that may be a key */
	HASH_LEAST = 32, /* whatever it is made of */
	SLASHED = 40,
	WITHIN_MOST = 256,
	BEFORE_MOST = 512, /* bytes between a command and an option of it */
	NAME_MOST = 128,
};

/* In the name of an option, a field or a header. */
static const char *const names[] = {
	"password",    "passwd",     "passphrase", "token",	    "secret",	  "apikey",
	"api-key",     "api_key",    "cookie",	   "authorization", "credential", "private-key",
	"private_key", "access-key", "access_key", "auth-token",    "client-key"};
/* What keys of well-known services begin with. */
static const char *const prefixes[] = {"ghp_", "gho_",	  "ghs_",   "ghu_", "github_pat_", "glpat-",
				       "sk-",  "sk_",	  "rk_",    "pk_",  "xox",	   "AKIA",
				       "ASIA", "AIza",	  "ya29.",  "eyJ",  "npm_",	   "pypi-",
				       "hf_",  "dop_v1_", "shpat_", "SG."};

/* Options of one letter that a secret follows. */
static const struct {
	const char *word; /* that stands before it in the same command */
	char option;
	bool joined; /* apart, it is something else */
} options[] = {
	{"sshpass", 'p', false},   {"login", 'p', false},      {"mysql", 'p', true},
	{"mysqldump", 'p', true},  {"mysqladmin", 'p', true},  {"mariadb", 'p', true},
	{"redis-cli", 'a', false}, {"ldapsearch", 'w', false}, {"ssh-keygen", 'N', false},
	{"zip", 'P', false},	   {"unzip", 'P', false},
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_-+.~=%", c)) || (unsigned char)c >= 0x80;
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

static bool is_between(char c)
{
	return c == '"' || c == '\'' || c == '\\' || c == ' ' || c == '\t' || c == '$';
}

/* The last part decides: --password-file names a file. */
static bool is_secret_name(const char *text, size_t length)
{
	char name[NAME_MOST], variable[NAME_MOST];

	if (length == 0 || length >= sizeof(name))
		return false;
	for (size_t i = 0; i < length; i++) {
		name[i] = (char)tolower((unsigned char)text[i]);
		variable[i] = (char)(text[i] == '-' ? '_' : toupper((unsigned char)text[i]));
	}
	name[length] = variable[length] = '\0';
	for (size_t i = 0; i < ELEMENTS(names); i++)
		if (strstr(name, names[i]))
			return true;
	return decide_is_secret_variable(variable);
}

static bool looks_like_key(const char *text, size_t length)
{
	size_t digits = 0, upper = 0, lower = 0;

	for (size_t i = 0; i < ELEMENTS(prefixes); i++)
		if (length >= strlen(prefixes[i]) + 8 &&
		    strncmp(text, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	for (size_t i = 0; i < length; i++) {
		digits += isdigit((unsigned char)text[i]) != 0;
		upper += isupper((unsigned char)text[i]) != 0;
		lower += islower((unsigned char)text[i]) != 0;
	}
	if (length >= HASH_LEAST)
		return digits >= 4;
	return length >= KEY_LEAST && digits >= 2 && upper >= 2 && lower >= 2;
}

/* Where the name before an =, a colon or a blank begins that stands at end. */
static size_t name_before(const char *text, size_t end)
{
	size_t begin = end;

	while (begin > 0 && is_name(text[begin - 1]))
		begin--;
	return begin;
}

/* The value of what is named right before: "PASSWORD=x", "--token x", "X-Api-Key: x",
 * "{"secret": "x"}". Its end, or 0 where it is none. */
static size_t named_value(const char *text, size_t at, size_t *ret_begin)
{
	size_t begin, end, value;
	bool quoted;
	char quote = 0;

	if (!text[at] || !strchr("=: \t", text[at]))
		return 0;
	end = at;
	while (end > 0 && (text[end - 1] == '"' || text[end - 1] == '\'' || text[end - 1] == '\\'))
		end--;
	begin = name_before(text, end);
	/* A blank ends a name only of an option, or what is no word of any language:
	 * aws_secret_access_key. */
	if (!is_secret_name(text + begin, end - begin) ||
	    (isblank((unsigned char)text[at]) && text[begin] != '-' &&
	     !memchr(text + begin, '_', end - begin)))
		return 0;
	for (value = at + 1; text[value] == ':' || text[value] == '=' || is_between(text[value]);
	     value++)
		if (text[value] == '"' || text[value] == '\'')
			quote = text[value];
	quoted = quote != 0;
	/* A header has blanks in its value: "Authorization: Basic x". */
	for (end = value; text[end]; end++)
		if (text[end] == '\n' ||
		    (quoted ? text[end] == quote
		     : text[at] == ':'
			     ? text[end] == '"' || text[end] == '\'' || text[end] == ','
			     : isspace((unsigned char)text[end]) || strchr(";&|)<>\"'", text[end])))
			break;
	*ret_begin = value;
	return end > value ? end : 0;
}

/* A password in a URL: from behind the colon to the last @ before the path. */
static size_t url_password(const char *text, size_t at, size_t *ret_begin)
{
	size_t colon = 0, end = 0;

	if (strncmp(text + at, "://", 3) != 0)
		return 0;
	for (size_t i = at + 3;
	     text[i] && !isspace((unsigned char)text[i]) && !strchr("/\"'?#", text[i]); i++) {
		if (text[i] == ':' && !colon)
			colon = i;
		if (text[i] == '@')
			end = i;
	}
	if (!end)
		return 0;
	*ret_begin = colon && colon < end ? colon + 1 : at + 3;
	return end > *ret_begin ? end : 0;
}

static bool follows(const char *text, size_t at, const char *word)
{
	size_t length = strlen(word);

	return at >= length && strncasecmp(text + at - length, word, length) == 0;
}

static size_t end_of_word(const char *text, size_t at, size_t most)
{
	size_t end = at;

	while (end - at < most && is_word(text[end]))
		end++;
	return end;
}

/* A word that is a key by itself, or stands behind what a key follows. What stands behind a - or an
 * = may be one as well; of that only the beginning is looked at, because a word may be made of
 * nothing else, and each of them would be read to its end. */
static size_t key_word(const char *text, size_t at, size_t *ret_begin)
{
	bool within = at > 0 && is_word(text[at - 1]);
	size_t end = at;

	if (!is_word(text[at]) || (within && text[at - 1] != '=' && text[at - 1] != '-'))
		return 0;
	*ret_begin = at;
	if (follows(text, at, "bearer ") || follows(text, at, "basic ")) {
		while (is_word(text[end]) || (text[end] == '/' && end > at))
			end++;
		return end;
	}
	end = end_of_word(text, at, within ? WITHIN_MOST : SIZE_MAX);
	return looks_like_key(text + at, end - at) ? end_of_word(text, at, SIZE_MAX) : 0;
}

/* A key in base 64 of 30 bytes, which may have slashes in it: as a path it would be strange. */
static size_t slashed_key(const char *text, size_t at, size_t *ret_begin)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t length, upper = 0, lower = 0, digits = 0;

	if (text[at] == '/' || (at > 0 && (strchr(letters, text[at - 1]) || is_name(text[at - 1]))))
		return 0;
	length = strspn(text + at, letters);
	if (length != SLASHED || is_name(text[at + length]))
		return 0;
	for (size_t i = at; i < at + length; i++) {
		upper += isupper((unsigned char)text[i]) != 0;
		lower += islower((unsigned char)text[i]) != 0;
		digits += isdigit((unsigned char)text[i]) != 0;
	}
	*ret_begin = at;
	return upper >= 5 && lower >= 5 && digits >= 1 ? at + length : 0;
}

/* Whether a word stands before, in the same command. */
static bool stands_before(const char *text, size_t at, const char *word)
{
	size_t length = strlen(word);

	for (size_t i = at; i > 0 && at - i < BEFORE_MOST && !strchr(";|&\n(`", text[i - 1]); i--)
		if (i >= length && strncmp(text + i - length, word, length) == 0 &&
		    !is_name(text[i]) && (i == length || !is_name(text[i - length - 1])))
			return true;
	return false;
}

static size_t end_of_value(const char *text, size_t at)
{
	while (text[at] && !isspace((unsigned char)text[at]) && !strchr("\"';|&)<>", text[at]))
		at++;
	return at;
}

/* "-u name:x" and its like: what is behind the colon. */
static size_t user_password(const char *text, size_t at, size_t *ret_begin)
{
	static const char *const users[] = {"--user", "--proxy-user", "-u", "-U"};
	size_t begin = 0, end;
	const char *colon;

	for (size_t i = 0; i < ELEMENTS(users) && !begin; i++)
		if (strncmp(text + at, users[i], strlen(users[i])) == 0)
			begin = at + strlen(users[i]);
	if (!begin)
		return 0;
	while (text[begin] == '=' || is_between(text[begin]))
		begin++;
	end = end_of_value(text, begin);
	colon = memchr(text + begin, ':', end - begin);
	if (!colon || strncmp(colon, "://", 3) == 0)
		return 0;
	*ret_begin = (size_t)(colon - text) + 1;
	return end > *ret_begin ? end : 0;
}

static size_t option_value(const char *text, size_t at, size_t *ret_begin)
{
	size_t end;

	if (text[at] != '-' || (at > 0 && !isspace((unsigned char)text[at - 1])))
		return 0;
	end = user_password(text, at, ret_begin);
	for (size_t i = 0; i < ELEMENTS(options) && !end; i++) {
		size_t begin = at + 2;

		if (text[at + 1] != options[i].option ||
		    (options[i].joined && isspace((unsigned char)text[begin])) ||
		    !stands_before(text, at, options[i].word))
			continue;
		while (is_between(text[begin]))
			begin++;
		*ret_begin = begin;
		end = end_of_value(text, begin) > begin ? end_of_value(text, begin) : 0;
	}
	return end;
}

/* All of a private key, whatever stands in it. */
static size_t private_key(const char *text, size_t at, size_t *ret_begin)
{
	const char *head, *tail;

	if (strncmp(text + at, "-----BEGIN ", 11) != 0)
		return 0;
	head = strstr(text + at, "PRIVATE KEY");
	tail = head ? strstr(head, "-----END ") : NULL;
	*ret_begin = at;
	return head ? (tail ? (size_t)(tail - text) : strlen(text)) : 0;
}

static size_t known_value(const char *text, size_t at, size_t *ret_begin)
{
	for (char **variable = environ; *variable; variable++) {
		const char *equals = strchr(*variable, '=');
		size_t length = equals ? strlen(equals + 1) : 0;
		char name[NAME_MOST];

		if (length < VALUE_LEAST || equals[1] != text[at] ||
		    equals - *variable >= NAME_MOST || strncmp(text + at, equals + 1, length) != 0)
			continue;
		memcpy(name, *variable, (size_t)(equals - *variable));
		name[equals - *variable] = '\0';
		if (!decide_is_secret_variable(name))
			continue;
		*ret_begin = at;
		return at + length;
	}
	return 0;
}

void mask_secrets(struct buffer *buffer, const char *text)
{
	static size_t (*const finders[])(const char *, size_t, size_t *) = {
		private_key,  known_value, url_password, named_value,
		option_value, slashed_key, key_word};
	size_t done = 0;

	for (size_t at = 0; text[at]; at++) {
		size_t begin = 0, end = 0;

		for (size_t i = 0; i < ELEMENTS(finders) && !end; i++)
			end = finders[i](text, at, &begin);
		if (!end || begin < done)
			continue;
		buffer_add(buffer, text + done, begin - done);
		buffer_add_text(buffer, MASKED);
		done = end;
		at = end - 1;
	}
	buffer_add_text(buffer, text + done);
}
