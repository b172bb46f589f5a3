/* SPDX-License-Identifier: Apache-2.0 */
/* Paths as text. */
#include "path.h"
#include "list.h"
#include "buffer.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

char *path_normalise(const char *path)
{
	size_t length = strlen(path), out = 0;
	bool absolute = path[0] == '/';
	char *result = malloc(length + 3);
	const char *next = path;

	if (!result)
		abort();
	if (absolute)
		result[out++] = '/';
	while (*next) {
		size_t part;

		while (*next == '/')
			next++;
		part = strcspn(next, "/");
		if (part == 0)
			break;
		if (part == 1 && next[0] == '.') {
			/* stays where it is */
		} else if (part == 2 && next[0] == '.' && next[1] == '.' &&
			   (absolute || (out > 0 && !(out >= 2 && result[out - 1] == '.' &&
						      result[out - 2] == '.' &&
						      (out == 2 || result[out - 3] == '/'))))) {
			while (out > absolute && result[out - 1] != '/')
				out--;
			if (out > absolute)
				out--;
		} else {
			if (out > 0 && result[out - 1] != '/')
				result[out++] = '/';
			memcpy(result + out, next, part);
			out += part;
		}
		next += part;
	}
	if (out == 0)
		result[out++] = '.';
	result[out] = '\0';
	return result;
}

char *path_resolve(const char *base, const char *home, const char *path)
{
	_cleanup_free_ char *joined = NULL;
	int r;

	if (home && path[0] == '~' && (path[1] == '\0' || path[1] == '/'))
		r = asprintf(&joined, "%s%s", home, path + 1);
	else if (path[0] == '/')
		r = asprintf(&joined, "%s", path);
	else
		r = asprintf(&joined, "%s/%s", base, path);
	if (r < 0)
		abort();
	return path_normalise(joined);
}

char *path_expand(const char *path, char *name, size_t size, const char **ret_fault)
{
	_cleanup_buffer_ struct buffer text = {0};

	while (*path) {
		bool braces = path[0] == '$' && path[1] == '{';
		const char *begin = path + 1 + braces, *value;
		size_t length = 0, otherwise = 0;

		if (*path == '$')
			while (begin[length] == '_' || isalpha((unsigned char)begin[length]) ||
			       (length && isdigit((unsigned char)begin[length])))
				length++;
		if (length == 0 && !braces) {
			buffer_add_char(&text, *path++);
			continue;
		}
		snprintf(name, size, "%.*s", (int)length, begin);
		value = getenv(name);
		/* ${NAME:-PATH}: the path where there is none. */
		if (braces && strncmp(begin + length, ":-", 2) == 0)
			otherwise = strcspn(begin + length, "}");
		*ret_fault = length == 0 || length >= size ||
					     (braces && begin[length + otherwise] != '}')
				     ? "is not the name of a variable"
			     : otherwise && (!value || !*value) ? NULL
			     : !value				? "is not set"
			     : !*value				? "is empty"
			     : path_has_glob(value)		? "holds a character of patterns"
								: NULL;
		if (*ret_fault)
			return NULL;
		if (otherwise && (!value || !*value))
			buffer_add(&text, begin + length + 2, otherwise - 2);
		else
			buffer_add_text(&text, value);
		path = begin + length + otherwise + braces;
	}
	return buffer_steal(&text);
}

bool path_names_one_place(const char *pattern)
{
	size_t length = strlen(pattern);
	_cleanup_free_ char *whole =
		strndup(pattern, length > 3 && strcmp(pattern + length - 3, "/**") == 0 ? length - 3
											: length);
	char *slash = whole ? strrchr(whole, '/') : NULL;
	bool tree = whole && strlen(whole) < length;
	_cleanup_free_ char *plain = NULL;

	if (!tree && slash)
		*slash = '\0';
	else if (!tree)
		return true;
	/* A class of one is no glob. */
	plain = path_unescape(whole);
	return plain != NULL;
}

bool path_is_under(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	if (length == 1 && directory[0] == '/')
		return path[0] == '/';
	return strncmp(path, directory, length) == 0 &&
	       (path[length] == '\0' || path[length] == '/');
}

bool path_is_beyond(const char *path)
{
	return path_is_under(path, "/proc") || path_is_under(path, "/dev") ||
	       path_is_under(path, "/sys") || path_is_under(path, "/run");
}

bool path_is_among(const char *path, const struct list *patterns)
{
	for (size_t i = 0; patterns && i < patterns->count; i++)
		if (path_is_under(path, patterns->items[i]) ||
		    path_matches(patterns->items[i], path, NULL))
			return true;
	return false;
}

bool path_has_glob(const char *path)
{
	return strpbrk(path, "*?[") != NULL;
}

enum { MATCH_STEPS = 200000 };

static const struct {
	const char *name;
	int (*is)(int);
} classes[] = {
	{"[:alpha:]", isalpha}, {"[:digit:]", isdigit},	  {"[:alnum:]", isalnum},
	{"[:upper:]", isupper}, {"[:lower:]", islower},	  {"[:space:]", isspace},
	{"[:punct:]", ispunct}, {"[:xdigit:]", isxdigit},
};

/* The set that begins at pattern[0] == '[': its length, 0 where it has no end and the bracket is
 * itself. */
static size_t match_set(const char *pattern, size_t length, unsigned char c, bool *ret_matches)
{
	bool negated = length > 1 && (pattern[1] == '!' || pattern[1] == '^'), matches = false;
	size_t at = 1 + negated;

	for (size_t first = at; at < length; at++) {
		size_t k = 0;

		if (pattern[at] == ']' && at > first) {
			*ret_matches = matches != negated;
			return at + 1;
		}
		while (k < ELEMENTS(classes) &&
		       strncmp(pattern + at, classes[k].name, strlen(classes[k].name)) != 0)
			k++;
		if (k < ELEMENTS(classes)) {
			matches |= classes[k].is(c) != 0;
			at += strlen(classes[k].name) - 1;
		} else if (at + 2 < length && pattern[at + 1] == '-' && pattern[at + 2] != ']') {
			matches |= (unsigned char)pattern[at] <= c &&
				   c <= (unsigned char)pattern[at + 2];
			at += 2;
		} else {
			matches |= (unsigned char)pattern[at] == c;
		}
	}
	return 0;
}

bool path_component_matches(const char *pattern, size_t pattern_length, const char *text,
			    size_t length)
{
	size_t p = 0, t = 0, star = SIZE_MAX, retry = 0;

	while (t < length || p < pattern_length) {
		bool matches = false;
		size_t set = 0;

		if (p < pattern_length && pattern[p] == '*') {
			star = p++;
			retry = t;
			continue;
		}
		if (p < pattern_length && t < length) {
			if (pattern[p] == '[')
				set = match_set(pattern + p, pattern_length - p,
						(unsigned char)text[t], &matches);
			if (set == 0)
				matches = pattern[p] == '?' || pattern[p] == text[t];
		}
		if (matches) {
			p += set ? set : 1;
			t++;
			continue;
		}
		/* Only the last star can take one more: what came before has its shortest match. */
		if (star == SIZE_MAX || retry >= length)
			return false;
		p = star + 1;
		t = ++retry;
	}
	return true;
}

static bool match_from(const char *pattern, const char *path, unsigned *steps)
{
	for (;;) {
		size_t pattern_part, path_part;

		if (*steps == 0)
			return false;
		(*steps)--;
		while (*pattern == '/')
			pattern++;
		while (*path == '/')
			path++;
		pattern_part = strcspn(pattern, "/");
		path_part = strcspn(path, "/");
		if (pattern_part == 0)
			return path_part == 0;
		if (pattern_part == 2 && pattern[0] == '*' && pattern[1] == '*') {
			const char *rest = pattern + 2;

			for (;; path += path_part) {
				while (*path == '/')
					path++;
				path_part = strcspn(path, "/");
				if (match_from(rest, path, steps))
					return true;
				if (path_part == 0 || *steps == 0)
					return false;
			}
		}
		if (path_part == 0 ||
		    !path_component_matches(pattern, pattern_part, path, path_part))
			return false;
		pattern += pattern_part;
		path += path_part;
	}
}

bool path_matches(const char *pattern, const char *path, bool *ret_overrun)
{
	unsigned steps = MATCH_STEPS;
	bool matches = match_from(pattern, path, &steps);

	if (ret_overrun)
		*ret_overrun = steps == 0;
	return matches;
}

static bool is_special(char c)
{
	return c == '*' || c == '?' || c == '[' || c == '$';
}

char *path_escape(const char *path)
{
	_cleanup_buffer_ struct buffer text = {0};

	for (; *path; path++)
		buffer_printf(&text, is_special(*path) ? "[%c]" : "%c", *path);
	return buffer_steal(&text);
}

char *path_unescape(const char *pattern)
{
	_cleanup_buffer_ struct buffer text = {0};

	for (; *pattern; pattern++) {
		bool class = *pattern == '[' && is_special(pattern[1]) && pattern[2] == ']';

		if (is_special(*pattern) && *pattern != '$' && !class)
			return NULL;
		pattern += class;
		buffer_add_char(&text, *pattern);
		pattern += class;
	}
	return buffer_steal(&text);
}

char *path_fixed_part(const char *pattern)
{
	size_t end = 0, length = strcspn(pattern, "*?[");
	char *result;

	if (pattern[length] == '\0')
		end = length;
	else
		for (size_t i = 0; i < length; i++)
			if (pattern[i] == '/')
				end = i == 0 ? 1 : i;
	result = strndup(pattern, end);
	if (!result)
		abort();
	return result;
}

const char *path_last(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_normal(const char *path)
{
	size_t length = strlen(path);

	return path[0] == '/' && length > 1 && length < PATH_MAX && !strstr(path, "//") &&
	       !strstr(path, "/./") && !strstr(path, "/../") && path[length - 1] != '/' &&
	       path[length - 1] != '.';
}

int path_real(const char *path, char ret_real[static PATH_MAX], struct stat *ret_st)
{
	struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
			       .resolve = RESOLVE_NO_SYMLINKS};
	int fd, r;

	if (is_normal(path)) {
		fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
		if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
			return -1;
		r = fd < 0 ? -1 : fstat(fd, ret_st);
		if (fd >= 0)
			close(fd);
		if (r == 0 && !S_ISLNK(ret_st->st_mode)) {
			strcpy(ret_real, path);
			return 0;
		}
	}
	return realpath(path, ret_real) ? lstat(ret_real, ret_st) : -1;
}

char *path_repository(const char *directory, const char *home)
{
	char *part = strdup(directory);

	for (struct stat st; part;) {
		_cleanup_free_ char *git = path_resolve(part, NULL, ".git");

		if (lstat(git, &st) == 0)
			return part;
		*strrchr(part, '/') = '\0';
		if (!*part || (home && strcmp(part, home) == 0))
			break;
	}
	free(part);
	return strdup(directory);
}
