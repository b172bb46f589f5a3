/* SPDX-License-Identifier: Apache-2.0 */
/* The environment a command starts with: the caller's, without what looks like a secret or leads to
 * the host's sockets. */
#include "decide.h"
#include "secrets.h"
#include "../base/path.h"

#include <ctype.h>
#include <string.h>

/* A name in capitals, as the patterns are. */
struct capitals {
	const char *text;
	size_t size;
	uint32_t letters; /* that are in it, by their last five bits */
};

/* Every variable is held against every pattern at every start, which was a third of all that a
 * judgement computes: so most are told by a letter that is not there. */
enum { PATTERNS_MOST = 64 };
struct table {
	const char *const *patterns;
	size_t count;			 /* of those whose letters are known */
	uint32_t letters[PATTERNS_MOST]; /* of each */
};
static struct table secret = {.patterns = secret_variables}, host = {.patterns = host_variables};

static uint32_t letters_of(const char *text)
{
	uint32_t letters = 0;

	for (; *text; text++)
		if (*text != '*')
			letters |= UINT32_C(1) << (*text & 31);
	return letters;
}

/* Stars alone. */
static bool is_meant(const char *pattern, const struct capitals *name, size_t begin)
{
	bool anywhere = *pattern == '*';
	const char *part = pattern + anywhere, *end = part + strcspn(part, "*"),
		   *at = name->text + begin;
	const char *name_end = name->text + name->size;
	size_t length = (size_t)(end - part);

	if (length > (size_t)(name_end - at))
		return false;
	if (!*end)
		return (anywhere || at + length == name_end) &&
		       memcmp(name_end - length, part, length) == 0;
	for (; at + length <= name_end; at++) {
		if (*at == *part && memcmp(at, part, length) == 0 &&
		    (!end[1] || is_meant(end, name, (size_t)(at + length - name->text))))
			return true;
		if (!anywhere)
			return false;
	}
	return false;
}

static bool in_table(struct table *table, const char *text)
{
	const struct capitals name = {text, strlen(text), letters_of(text)};
	const uint32_t missing = ~name.letters;

	for (; table->patterns[table->count] && table->count < PATTERNS_MOST; table->count++)
		table->letters[table->count] = letters_of(table->patterns[table->count]);
	for (size_t i = 0; i < table->count; i++)
		if (!(table->letters[i] & missing) && is_meant(table->patterns[i], &name, 0))
			return true;
	for (size_t i = table->count; table->patterns[i]; i++)
		if (is_meant(table->patterns[i], &name, 0))
			return true;
	return false;
}

static char *in_capitals(const char *name)
{
	char *capitals = strdup(name);

	if (!capitals)
		abort();
	for (char *c = capitals; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	return capitals;
}

bool decide_is_secret_variable(const char *name)
{
	_cleanup_free_ char *capitals = in_capitals(name);

	return in_table(&secret, capitals);
}

/* TMPDIR and its kin must not point where nothing can be written. */
static bool leads_to_closed_directory(const char *name, const char *value,
				      const struct permissions *permissions)
{
	if (strcmp(name, "TMPDIR") != 0 && strcmp(name, "TMP") != 0 && strcmp(name, "TEMP") != 0 &&
	    strcmp(name, "TEMPDIR") != 0)
		return false;
	if (path_is_under(value, "/tmp"))
		return strcmp(value, "/tmp") !=
		       0; /* a directory of the host's /tmp is not in the private one */
	for (size_t i = 0; i < permissions->rules.count; i++)
		if (permissions->rules.items[i].access == ACCESS_WRITE &&
		    path_is_under(value, permissions->rules.items[i].pattern))
			return false;
	return true;
}

static bool is_set(const struct list *variables, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < variables->count; i++)
		if (strncmp(variables->items[i], name, length) == 0 &&
		    variables->items[i][length] == '=')
			return true;
	return false;
}

void decide_environment(const struct request *request, const struct surroundings *surroundings,
			enum level level, const struct list *keep, const struct list *set,
			struct permissions *permissions)
{
	bool sandboxed = level != LEVEL_NONE;

	for (char *const *variable = surroundings->environment; *variable; variable++) {
		const char *equals = strchr(*variable, '=');
		_cleanup_free_ char *name =
			equals ? strndup(*variable, (size_t)(equals - *variable)) : NULL;
		_cleanup_free_ char *capitals = name ? in_capitals(name) : NULL;
		bool kept = name && list_has(keep, name);

		if (!name || !*name || is_set(&request->environment, name) || is_set(set, name))
			continue;
		if (surroundings->other_user &&
		    (strcmp(name, "HOME") == 0 || strcmp(name, "USER") == 0 ||
		     strcmp(name, "LOGNAME") == 0 || strcmp(name, "MAIL") == 0 ||
		     strncmp(name, "XDG_", 4) == 0 || strncmp(name, "SUDO_", 5) == 0))
			continue;
		if (sandboxed && !kept && in_table(&host, capitals))
			continue;
		if (sandboxed && !kept && leads_to_closed_directory(name, equals + 1, permissions))
			continue;
		if (sandboxed && !kept && in_table(&secret, capitals)) {
			list_add(&permissions->dropped, name);
			continue;
		}
		list_add(&permissions->environment, *variable);
		if (kept)
			list_add(&permissions->meant, name);
	}
	if (surroundings->other_user) {
		list_add_printf(&permissions->environment, "HOME=%s",
				surroundings->home ? surroundings->home : "/");
		if (surroundings->user) {
			list_add_printf(&permissions->environment, "USER=%s", surroundings->user);
			list_add_printf(&permissions->environment, "LOGNAME=%s",
					surroundings->user);
		}
	}
	for (size_t i = 0; i < set->count; i++) {
		_cleanup_free_ char *name = strndup(set->items[i], strcspn(set->items[i], "="));

		list_add(&permissions->meant, name);
		if (!is_set(&request->environment, name))
			list_add(&permissions->environment, set->items[i]);
	}
	for (size_t i = 0; i < request->environment.count; i++) {
		const char *variable = request->environment.items[i];

		list_take(&permissions->meant, strndup(variable, strcspn(variable, "=")));
		list_add(&permissions->environment, variable);
	}
	/* tar takes root for somebody who can give files away, and fails where they have another
	 * owner in the archive. */
	if (sandboxed && surroundings->root && !is_set(&permissions->environment, "TAR_OPTIONS"))
		list_add(&permissions->environment, "TAR_OPTIONS=--no-same-owner");
}

static const char *value_of(const struct list *variables, const char *name, size_t length)
{
	for (size_t i = 0; i < variables->count; i++)
		if (strncmp(variables->items[i], name, length) == 0 &&
		    variables->items[i][length] == '=')
			return variables->items[i] + length + 1;
	return NULL;
}

/* A place of the host's is none in there: PATH, JAVA_HOME, GOROOT lead nowhere, and the image knows
 * better. Of anything else (LANG, TERM, CI) whoever calls does; and of who runs always. */
static bool gives_way(const struct permissions *permissions, const char *name, const char *value)
{
	static const char *const of_user[] = {"HOME", "USER", "LOGNAME"};

	for (size_t i = 0; i < ELEMENTS(of_user); i++)
		if (strcmp(of_user[i], name) == 0)
			return false;
	return !list_has(&permissions->meant, name) &&
	       (value[0] == '/' || strcmp(name, "PATH") == 0);
}

void decide_environment_in_image(const struct permissions *permissions, const struct list *image,
				 struct list *ret_environment)
{
	for (size_t i = 0; i < permissions->environment.count; i++) {
		const char *variable = permissions->environment.items[i];
		size_t length = strcspn(variable, "=");
		_cleanup_free_ char *name = strndup(variable, length);

		if (!value_of(image, name, length) ||
		    !gives_way(permissions, name, variable + length + 1))
			list_add(ret_environment, variable);
	}
	for (size_t i = 0; i < image->count; i++)
		if (!value_of(ret_environment, image->items[i], strcspn(image->items[i], "=")))
			list_add(ret_environment, image->items[i]);
}
