/* SPDX-License-Identifier: Apache-2.0 */
/* Whether one permission lies within another. Few forms are known, and each is plain; whatever is
 * not one of them lies within nothing but itself. */
#include "within.h"
#include "../base/hosts.h"
#include "../base/path.h"
#include "layer.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *resource_of(const char *permission, const char *operation)
{
	size_t length = strlen(operation);

	return strncmp(permission, operation, length) == 0 && permission[length] == ' '
		       ? permission + length + 1
		       : NULL;
}

/* "/a/b/c*" lies within "/a" and all below it: the outer pattern is a beginning of whole
 * components and two stars, so that it does not matter what the inner one says behind them. */
static bool path_within(const char *inner, const char *outer)
{
	size_t length = strlen(outer);
	_cleanup_free_ char *normal = path_normalise(inner);

	if (strcmp(inner, outer) == 0)
		return true;
	if (inner[0] != '/' || !normal || strcmp(inner, normal) != 0 || length < 4 ||
	    strcmp(outer + length - 3, "/**") != 0)
		return false;
	length -= 3;
	return strncmp(inner, outer, length) == 0 &&
	       (inner[length] == '/' || inner[length] == '\0');
}

bool permission_within(const char *inner, const char *outer)
{
	static const char *const paths[][2] = {
		{"read", "read"}, {"write", "write"}, {"delete", "delete"}, {"delete", "write"}};
	const char *in = resource_of(inner, "connect"), *out = resource_of(outer, "connect");

	if (strcmp(inner, outer) == 0)
		return true;
	if (in && out)
		return host_pattern_covers(out, in);
	for (size_t i = 0; i < ELEMENTS(paths); i++) {
		in = resource_of(inner, paths[i][0]);
		out = resource_of(outer, paths[i][1]);
		if (in && out && path_within(in, out))
			return true;
	}
	return false;
}

static bool is_path(const char *operation)
{
	return strcmp(operation, "read") == 0 || strcmp(operation, "write") == 0 ||
	       strcmp(operation, "delete") == 0;
}

/* A name that leads elsewhere would be given where it leads. What is not there yet will lie where
 * the last of its directories leads that is. */
static int check_links(const char *path, struct error **ret_error)
{
	_cleanup_free_ char *fixed = path_fixed_part(path);
	char real[PATH_MAX], *slash;
	struct stat st;

	while (lstat(fixed, &st) < 0) {
		slash = strrchr(fixed, '/');
		if (!slash || slash == fixed)
			return 0; /* nothing is there but the root */
		*slash = '\0';
	}
	if (realpath(fixed, real) && strcmp(real, fixed) == 0)
		return 0;
	fail(ret_error, E_INPUT, "%s leads elsewhere by a link", fixed);
	return error_hint(ret_error, "name what is meant itself");
}

int permission_narrow(const char *text, const char *workspace, const struct list *outer,
		      char **ret_permission, struct error **ret_error)
{
	size_t length = strcspn(text, " ");
	_cleanup_free_ char *operation = strndup(text, length), *path = NULL, *whole = NULL;
	const char *resource = text + length + strspn(text + length, " ");
	int r = value_check_permission(text, ret_error);

	if (r < 0)
		return r;
	if (is_path(operation)) {
		if (resource[0] != '/' && resource[0] != '~' && !workspace)
			return fail(ret_error, E_INPUT, "%s: the path must be absolute here", text);
		path = path_resolve(workspace ? workspace : "/", getenv("HOME"), resource);
	}
	if (asprintf(&whole, "%s%s%s", operation, *resource ? " " : "", path ? path : resource) < 0)
		abort();
	for (size_t i = 0; i < outer->count; i++) {
		if (!permission_within(whole, outer->items[i]))
			continue;
		if (path && !list_has(outer, whole) && (r = check_links(path, ret_error)) < 0)
			return r;
		*ret_permission = STEAL(whole);
		return 0;
	}
	fail(ret_error, E_INPUT, "'%s' is more than was asked for", whole);
	return error_hint(ret_error, "an edited yes gives less, never more or something else");
}
