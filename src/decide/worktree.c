/* SPDX-License-Identifier: Apache-2.0 */
/* Worktrees and submodules: `.git` is a file that names the git directory.
 *
 * A command may have written that file, so by itself it opens nothing. It is believed where the
 * directory it names is a git directory of this user that names the workspace in return, in a file
 * that lies outside the workspace: `gitdir` of a worktree, `core.worktree` in the configuration of
 * a submodule. What the answer depends on is never taken from a file that the command could write
 * in the same run: the repository of a worktree is the directory that its git directory lies in,
 * not what its `commondir` says. */
#include "worktree.h"
#include "../base/io.h"
#include "../base/path.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_LIMIT = 64 * 1024 };

static const char said[] = "the git directory of this workspace";

/* The first line of a small regular file, without white space at its end. Caller frees. */
static char *read_line(const char *directory, const char *name)
{
	_cleanup_free_ char *path = NULL, *text = NULL;
	struct stat st;
	size_t length;

	if (asprintf(&path, "%s/%s", directory, name) < 0)
		abort();
	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
	    read_file(AT_FDCWD, path, FILE_LIMIT, &text, &length) < 0)
		return NULL;
	length = strcspn(text, "\n");
	while (length && isspace((unsigned char)text[length - 1]))
		length--;
	text[length] = '\0';
	return *text ? STEAL(text) : NULL;
}

/* Where path, read in a file of directory, really leads. */
static bool leads(const char *directory, const char *path, char real[static PATH_MAX])
{
	_cleanup_free_ char *whole = path_resolve(directory, NULL, path);

	return realpath(whole, real);
}

static bool is_own_directory(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

static bool is_git_directory(const char *path)
{
	static const char *const parts[] = {"objects", "refs"};
	_cleanup_free_ char *head = read_line(path, "HEAD");

	for (size_t i = 0; i < ELEMENTS(parts); i++) {
		_cleanup_free_ char *part = path_resolve(path, NULL, parts[i]);

		if (!is_own_directory(part))
			return false;
	}
	return head && is_own_directory(path);
}

/* `worktree = PATH` in the section [core] of a configuration: written by git itself, so the plain
 * form is all there is. Caller frees. */
static char *configured_worktree(const char *directory)
{
	_cleanup_free_ char *path = path_resolve(directory, NULL, "config"), *text = NULL;
	bool core = false;
	char *rest, *line;

	if (read_file(AT_FDCWD, path, FILE_LIMIT, &text, NULL) < 0)
		return NULL;
	for (rest = text; (line = strsep(&rest, "\n"));) {
		line += strspn(line, " \t");
		if (*line == '[')
			core = strncmp(line, "[core]", 6) == 0;
		else if (core && strncmp(line, "worktree", 8) == 0) {
			line += 8;
			line += strspn(line, " \t");
			if (*line++ == '=')
				return strdup(line + strspn(line, " \t"));
		}
	}
	return NULL;
}

/* The configuration and what runs programs: read-only. */
static void hold(const char *directory, const char *const *names, struct file_rules *rules)
{
	for (; *names; names++) {
		_cleanup_free_ char *path = path_resolve(directory, NULL, *names);

		file_rules_add(rules, ACCESS_READ_ONLY, WEIGHT_IMPLIED, path, said)->hold = true;
	}
}

static const char *const held[] = {"config", "config.worktree", "hooks", "info/attributes", NULL};
/* And of a repository: its other worktrees and its submodules. */
static const char *const held_in_repository[] = {"worktrees", "modules", NULL};
/* And of a worktree: which repository git outside will take it for. */
static const char *const held_in_worktree[] = {"commondir", "gitdir", NULL};

static void open_directory(const char *path, struct file_rules *rules)
{
	file_rules_add(rules, ACCESS_WRITE, WEIGHT_IMPLIED, path, said);
	hold(path, held, rules);
}

/* REPOSITORY/worktrees/NAME. */
static bool is_worktree(const char *directory, const char *dot_git, char *repository)
{
	_cleanup_free_ char *back = read_line(directory, "gitdir"), *common = NULL;
	char real[PATH_MAX], *slash;

	if (!back || !leads(directory, back, real) || strcmp(real, dot_git) != 0)
		return false;
	strcpy(repository, directory);
	slash = strrchr(repository, '/');
	*slash = '\0';
	if (strcmp(path_last(repository), "worktrees") != 0)
		return false;
	*strrchr(repository, '/') = '\0';
	common = read_line(directory, "commondir");
	return *repository && is_git_directory(repository) && common &&
	       leads(directory, common, real) && strcmp(real, repository) == 0;
}

void worktree_rules(const char *workspace, struct file_rules *rules)
{
	_cleanup_free_ char *dot_git = NULL, *line = NULL, *worktree = NULL;
	char directory[PATH_MAX], repository[PATH_MAX], real[PATH_MAX];

	line = read_line(workspace, ".git");
	if (!line || strncmp(line, "gitdir: ", 8) != 0 || !leads(workspace, line + 8, directory) ||
	    path_is_under(directory, workspace) || path_is_under(workspace, directory) ||
	    !is_own_directory(directory))
		return;
	if (asprintf(&dot_git, "%s/.git", workspace) < 0)
		abort();
	if (is_worktree(directory, dot_git, repository)) {
		open_directory(repository, rules);
		hold(repository, held_in_repository, rules);
		open_directory(directory, rules);
		hold(directory, held_in_worktree, rules);
		return;
	}
	worktree = configured_worktree(directory);
	if (worktree && strstr(directory, "/modules/") && is_git_directory(directory) &&
	    leads(directory, worktree, real) && strcmp(real, workspace) == 0)
		open_directory(directory, rules);
}
