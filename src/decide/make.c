/* SPDX-License-Identifier: Apache-2.0 */
/* What may be made by name: files that a program writes beside itself and renames, directories that
 * are not there before its first start. A mount has nothing to lie on there, and falls off when it
 * is renamed over; so the supervisor does it, call by call. What is a directory already is mounted
 * as all the rest. */
#include "permissions.h"
#include "../base/path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A pattern in its parts: directory, last component, and whether all below is meant. */
struct made {
	char *directory; /* no glob in it */
	char *name;	 /* as it was written; NULL: the directory itself */
	bool tree;
};

static void made_done(struct made *made)
{
	free(made->directory);
	free(made->name);
}

static void take_apart(const char *pattern, struct made *ret_made)
{
	size_t length = strlen(pattern);
	_cleanup_free_ char *part = NULL;
	char *slash;

	*ret_made = (struct made){.tree = length > 3 && strcmp(pattern + length - 3, "/**") == 0};
	part = strndup(pattern, ret_made->tree ? length - 3 : length);
	ret_made->directory = path_unescape(part);
	slash = strrchr(part, '/');
	if (ret_made->directory || !slash)
		return;
	*slash = '\0';
	ret_made->directory = path_unescape(part);
	ret_made->name = strdup(slash + 1);
}

/* Links in what is there of it resolved; the rest as it is written. Caller frees. */
static char *resolve(const char *path)
{
	size_t end = strlen(path);
	char real[PATH_MAX], *joined = NULL;

	for (;;) {
		_cleanup_free_ char *part = strndup(path, end);

		if (realpath(end > 0 ? part : "/", real))
			break;
		while (end > 0 && path[--end] != '/')
			;
	}
	if (asprintf(&joined, "%s%s", real[1] || !path[end] ? real : "", path + end) < 0)
		abort();
	return joined;
}

static int refuse(const char *text, const char *why, bool flag, struct error **ret_error)
{
	if (!flag) /* a policy speaks of every machine */
		return 0;
	fail(ret_error, E_USAGE, "--make %s: %s", text, why);
	return error_hint(ret_error, "write a path, DIR/**, or a pattern in the last part alone");
}

static void give(const struct made *made, const char *real, struct permissions *permissions)
{
	_cleanup_free_ char *escaped = path_escape(real), *permission = NULL;

	if (asprintf(&permission, "write %s%s%s%s", escaped, made->name ? "/" : "",
		     made->name ? made->name : "", made->tree ? "/**" : "") < 0)
		abort();
	givens_add(&permissions->given, permission, /* grant= */ NULL, /* expires= */ NULL);
}

int make_add(const char *home, const char *text, bool flag, struct permissions *permissions,
	     struct error **ret_error)
{
	_cleanup_free_ char *expanded = NULL, *pattern = NULL, *real = NULL;
	_cleanup_(made_done) struct made made = {0};
	const char *fault;
	char variable[64];
	struct stat st;

	expanded = path_expand(text, variable, sizeof(variable), &fault);
	if (!expanded)
		return refuse(text, "a variable in it has no value", flag, ret_error);
	pattern = path_resolve(permissions->workspace, home, expanded);
	take_apart(pattern, &made);
	if (!made.directory)
		return refuse(text, "this is no name that can be made", flag, ret_error);
	real = resolve(made.directory);
	if (path_is_beyond(real) || strcmp(real, "/") == 0)
		return refuse(text, "it cannot be made writable in a sandbox", flag, ret_error);
	/* A link in the workspace may have been put there by an earlier command. */
	if (path_is_under(made.directory, permissions->workspace) &&
	    !path_is_under(real, permissions->workspace))
		return refuse(text, "it leads out of the workspace", flag, ret_error);
	if (!made.name && lstat(real, &st) == 0) {
		_cleanup_free_ char *escaped = path_escape(real);
		bool tree = made.tree && S_ISDIR(st.st_mode);

		/* A login that would be masked is there to be read. Of a directory that would be
		 * all in it. */
		if (tree || S_ISREG(st.st_mode))
			file_rules_add(&permissions->rules, tree ? ACCESS_WRITE : ACCESS_READ,
				       WEIGHT_SAID, escaped, text);
		if (tree)
			return 0;
	}
	give(&made, real, permissions);
	return 0;
}
