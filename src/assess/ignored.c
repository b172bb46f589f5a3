/* SPDX-License-Identifier: Apache-2.0 */
/* The patterns of .gitignore, as gitignore(5) has them. */
#include "ignored.h"
#include "../base/io.h"
#include "../base/path.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 256 * 1024, MOST_PATTERN = 1024, MOST_DEPTH = 64 };

/* One line against a path below the directory that the file of patterns lies in. A pattern with a
 * slash in it is for that place, one without for any below it. */
static bool line_matches(const char *line, size_t length, const char *path, bool directory)
{
	char pattern[MOST_PATTERN + 8];
	bool placed;

	if (length && line[length - 1] == '/') {
		if (!directory)
			return false;
		length--;
	}
	placed = memchr(line, '/', length) != NULL;
	if (length && line[0] == '/') {
		line++;
		length--;
	}
	if (length == 0 || length > MOST_PATTERN)
		return false;
	snprintf(pattern, sizeof(pattern), "%s%.*s", placed ? "" : "**/", (int)length, line);
	return path_matches(pattern, path, /* ret_overrun= */ NULL);
}

/* What the last line that matches says; *ignored stays where none does. */
static void read_lines(const char *text, const char *path, bool directory, bool *ignored)
{
	while (*text) {
		const char *line = text;
		size_t length = strcspn(text, "\n");
		bool keeps;

		text += length + (text[length] != '\0');
		while (length && strchr(" \t\r", line[length - 1]))
			length--;
		if (length == 0 || line[0] == '#')
			continue;
		keeps = line[0] == '!';
		if (line_matches(line + keeps, length - keeps, path, directory))
			*ignored = !keeps;
	}
}

static void read_patterns(const char *file, const char *path, bool directory, bool *ignored)
{
	_cleanup_free_ char *text = NULL;

	if (read_file(AT_FDCWD, file, MOST_BYTES, &text, NULL) == 0)
		read_lines(text, path, directory, ignored);
}

/* The file or directory that the first length bytes of path name: the top's patterns first, then
 * those of each directory down to it, so that the nearest has the last word. */
static bool is_named(const char *root, const char *path, size_t length, bool directory)
{
	_cleanup_free_ char *whole = strndup(path, length), *file = NULL;
	bool ignored = false;

	if (!whole || asprintf(&file, "%s/.git/info/exclude", root) < 0)
		abort();
	read_patterns(file, whole + strlen(root) + 1, directory, &ignored);
	for (const char *slash = whole + strlen(root); slash; slash = strchr(slash + 1, '/')) {
		_cleanup_free_ char *patterns = NULL;

		if (asprintf(&patterns, "%.*s/.gitignore", (int)(slash - whole), whole) < 0)
			abort();
		read_patterns(patterns, slash + 1, directory, &ignored);
	}
	return ignored;
}

bool git_ignores(const char *root, const char *path)
{
	const char *slash = path + strlen(root);

	for (size_t depth = 0; depth < MOST_DEPTH; depth++) {
		slash = strchr(slash + 1, '/');
		if (!slash)
			return is_named(root, path, strlen(path), false);
		if (is_named(root, path, (size_t)(slash - path), true))
			return true;
	}
	return true; /* too deep to look: nobody is asked about it */
}
