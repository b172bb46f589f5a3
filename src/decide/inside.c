/* SPDX-License-Identifier: Apache-2.0 */
/* Where a word of a command leads. The answer is that of this moment: it decides what is asked, the
 * sandbox what is written. */
#include "pattern.h"
#include "../base/path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Wrappers that leave the directory as it is, whatever their options. */
static const char still[] =
	"timeout nice ionice nohup setsid stdbuf time command builtin exec bash "
	"sh dash zsh";

/* Options that make a program look elsewhere for its operands. */
static bool option_moves(const char *word)
{
	static const char *const parts[] = {"dir", "tree", "root", "prefix", "cwd", "base", "path"};

	if (word[0] != '-' || !word[1])
		return false;
	if (word[1] != '-')
		return strchr(word, 'C') || strchr(word, 'D');
	for (size_t i = 0; i < ELEMENTS(parts); i++)
		if (strstr(word, parts[i]))
			return true;
	return false;
}

/* Whether what is relative is relative to the request's directory. */
static bool stays(const struct circumstances *circumstances, const struct command *command,
		  size_t first)
{
	if (circumstances->moved || command->remote)
		return false;
	for (size_t i = 0; i < command->wrapper_count; i++)
		if (!parse_word_in(still, command->wrappers[i], strlen(command->wrappers[i])))
			return false;
	/* Wrappers that still stand in argv. */
	for (size_t i = 0, inner; i < first; i = inner) {
		const char *name = path_last(command->argv[i]);

		inner = parse_wrapped(command, i);
		if (inner == 0 || !parse_word_in(still, name, strlen(name)))
			return false;
	}
	for (size_t i = first + 1; i < command->argc; i++)
		if (option_moves(command->argv[i]))
			return false;
	return true;
}

/* The real path, of which the end need not be there yet. False: it cannot be known. */
static bool find_real(const char *path, char ret_real[static PATH_MAX])
{
	char head[PATH_MAX], rest[PATH_MAX] = "", joined[PATH_MAX];
	struct stat st;

	if (snprintf(head, sizeof(head), "%s", path) >= (int)sizeof(head))
		return false;
	for (;;) {
		char *slash;
		int length;

		if (realpath(head, ret_real)) {
			length = snprintf(joined, sizeof(joined), "%s%s",
					  strcmp(ret_real, "/") == 0 ? "" : ret_real, rest);
			if (length < 0 || length >= PATH_MAX)
				return false;
			strcpy(ret_real, *joined ? joined : "/");
			return true;
		}
		/* A link that leads nowhere is written through. */
		if (errno != ENOENT || lstat(head, &st) == 0)
			return false;
		slash = strrchr(head, '/');
		if (!slash || strcmp(slash, "/..") == 0)
			return false;
		length = snprintf(joined, sizeof(joined), "%s%s", slash, rest);
		if (length < 0 || length >= PATH_MAX)
			return false;
		strcpy(rest, joined);
		if (slash == head)
			slash++;
		*slash = '\0';
	}
}

enum truth path_lies_inside(const struct circumstances *circumstances,
			    const struct command *command, size_t first, const char *word)
{
	const struct request *request = circumstances ? circumstances->request : NULL;
	const char *directory;
	char real[PATH_MAX], workspace[PATH_MAX];
	_cleanup_free_ char *path = NULL;
	int r;

	/* host:path and URLs are none, or not of this machine. */
	if (!request || !request->workspace || !*word || command->remote ||
	    memchr(word, ':', strcspn(word, "/")) || strstr(word, "://"))
		return TRUTH_UNKNOWN;
	directory = circumstances->directory ? circumstances->directory : request->cwd;
	if (word[0] == '~' && (!circumstances->home || (word[1] && word[1] != '/')))
		return TRUTH_UNKNOWN;
	if (word[0] != '/' && word[0] != '~' &&
	    (!directory || !stays(circumstances, command, first)))
		return TRUTH_UNKNOWN;
	if (word[0] == '/')
		r = asprintf(&path, "%s", word);
	else if (word[0] == '~')
		r = asprintf(&path, "%s%s", circumstances->home, word + 1);
	else
		r = asprintf(&path, "%s/%s", directory, word);
	if (r < 0)
		abort();
	/* Slashes at its end say nothing about where it lies. */
	while (r > 1 && path[r - 1] == '/')
		path[--r] = '\0';
	/* Examples in a policy know of no file system. */
	if (circumstances->lexical) {
		_cleanup_free_ char *normal = path_normalise(path);

		return path_is_under(normal, request->workspace) ? TRUTH_YES : TRUTH_NO;
	}
	if (!realpath(request->workspace, workspace) || !find_real(path, real))
		return TRUTH_UNKNOWN;
	return path_is_under(real, workspace) ? TRUTH_YES : TRUTH_NO;
}
