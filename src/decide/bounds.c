/* SPDX-License-Identifier: Apache-2.0 */
/* The algebra of tokens' permissions: within, and what several lists have in common. */
#include "bounds.h"
#include "layer.h"
#include "within.h"
#include "../base/path.h"
#include "../parse/plan.h"

#include <stdio.h>
#include <string.h>

static const char *resource_of(const char *permission)
{
	size_t length = strcspn(permission, " ");

	return permission + length + strspn(permission + length, " ");
}

static bool is_about(const char *operations, const char *permission)
{
	return parse_word_in(operations, permission, strcspn(permission, " "));
}

static bool is_about_paths(const char *permission)
{
	return is_about("read write delete exec", permission);
}

int bounds_check(const char *permission, struct error **ret_error)
{
	int r = value_check_permission(permission, ret_error);

	if (r < 0)
		return r;
	if (is_about("profile unsandboxed container syscall", permission)) {
		fail(ret_error, E_USAGE, "'%s' is not for a token", permission);
		return error_hint(ret_error, "a token gives permissions inside the sandbox");
	}
	if (is_about_paths(permission) && strchr(permission, '$')) {
		fail(ret_error, E_USAGE, "'%s': a token has no variables", permission);
		return error_hint(ret_error, "write the path itself, or ~");
	}
	return 0;
}

char *bounds_whole(const char *permission, const char *workspace, const char *home)
{
	const char *resource = resource_of(permission);
	int length = (int)strcspn(permission, " ");
	_cleanup_free_ char *path = is_about_paths(permission)
					    ? path_resolve(workspace, home, resource)
					    : strdup(resource);
	char *whole;

	if (asprintf(&whole, "%.*s %s", length, permission, path) < 0)
		abort();
	return whole;
}

/* A path means what lies in it, too: two stars at its end say nothing more. */
static char *trunk_of(const char *pattern)
{
	static const char all[] = "/**";
	char *trunk = strdup(pattern);

	for (size_t length = strlen(trunk);
	     length > strlen(all) && strcmp(trunk + length - strlen(all), all) == 0;
	     length -= strlen(all))
		trunk[length - strlen(all)] = '\0';
	return trunk;
}

/* True if something that the inner one names, or lies above it, is what the outer one means. Where
 * the inner one has a glob before that, only the very same text is sure. */
static bool path_lies_within(const char *inner, const char *outer)
{
	_cleanup_free_ char *in = trunk_of(inner), *out = trunk_of(outer);

	if (in[0] != '/' || out[0] != '/')
		return false;
	for (size_t end = strlen(in); end > 0; end--) {
		_cleanup_free_ char *literal = NULL;

		if (in[end] != '\0' && in[end] != '/')
			continue;
		in[end] = '\0';
		literal = path_unescape(in);
		if (strcmp(in, out) == 0 || (literal && path_matches(out, literal, NULL)))
			return true;
	}
	return strcmp(out, "/") == 0;
}

/* "METHOD URL": a star at the end of a URL stands for whatever follows, behind the host alone. */
static bool http_lies_within(const char *inner, const char *outer)
{
	size_t method = strcspn(outer, " "), length;
	const char *url, *in = inner + strcspn(inner, " ") + 1, *path;

	if (strncmp(outer, "* ", 2) != 0 &&
	    (strncmp(inner, outer, method) != 0 || inner[method] != ' '))
		return false;
	url = outer + method + 1;
	if (strcmp(in, url) == 0)
		return true;
	length = strcspn(url, "*");
	path = strstr(url, "://");
	path = path ? strchr(path + 3, '/') : NULL;
	return path && path < url + length && strspn(url + length, "*") == strlen(url + length) &&
	       url[length] && strncmp(in, url, length) == 0 && !strstr(in, "/..") &&
	       !strchr(in + length, '%') && !strchr(in, '\\');
}

static bool lies_within(const char *inner, const char *outer)
{
	/* Whoever may write a file may read it and delete it. */
	static const char *const pairs[][2] = {{"read", "read"},    {"read", "write"},
					       {"write", "write"},  {"delete", "delete"},
					       {"delete", "write"}, {"exec", "exec"}};

	if (strcmp(inner, outer) == 0)
		return true;
	for (size_t i = 0; i < ELEMENTS(pairs); i++)
		if (is_about(pairs[i][0], inner) && is_about(pairs[i][1], outer))
			return path_lies_within(resource_of(inner), resource_of(outer));
	if (is_about("http", inner) && is_about("http", outer))
		return http_lies_within(resource_of(inner), resource_of(outer));
	return is_about("connect", inner) && is_about("connect", outer) &&
	       permission_within(inner, outer);
}

bool bounds_allow(const struct list *bounds, const char *permission)
{
	for (size_t i = 0; i < bounds->count; i++)
		if (lies_within(permission, bounds->items[i]))
			return true;
	return false;
}

/* Those of one list that the other has all of. */
static void keep_common(const struct list *list, const struct list *other, struct list *kept)
{
	for (size_t i = 0; i < list->count; i++)
		if (bounds_allow(other, list->items[i]) && !list_has(kept, list->items[i]))
			list_add(kept, list->items[i]);
}

static int make_whole(const struct list *list, const char *workspace, const char *home,
		      struct list *ret_whole, struct error **ret_error)
{
	int r = 0;

	for (size_t i = 0; i < list->count && r == 0; i++) {
		r = bounds_check(list->items[i], ret_error);
		if (r == 0)
			list_take(ret_whole, bounds_whole(list->items[i], workspace, home));
	}
	return r;
}

int bounds_make(const struct list *lists, size_t count, const char *workspace, const char *home,
		struct list *ret_bounds, struct error **ret_error)
{
	struct list bounds = {0};
	int r = count ? make_whole(&lists[0], workspace, home, &bounds, ret_error) : 0;

	for (size_t i = 1; i < count && r == 0; i++) {
		_cleanup_list_ struct list next = {0};
		struct list common = {0};

		r = make_whole(&lists[i], workspace, home, &next, ret_error);
		keep_common(&next, &bounds, &common);
		keep_common(&bounds, &next, &common);
		list_done(&bounds);
		bounds = common;
	}
	if (r < 0)
		list_done(&bounds);
	else
		*ret_bounds = bounds;
	return r;
}

static bool list_names(const struct list *list, const char *workspace, const char *home,
		       const char *path)
{
	bool found = false;

	for (size_t i = 0; i < list->count && !found; i++) {
		_cleanup_free_ char *whole = bounds_whole(list->items[i], workspace, home);
		_cleanup_free_ char *other = trunk_of(resource_of(whole));

		found = is_about_paths(whole) && strcmp(other, path) == 0;
	}
	return found;
}

void bounds_named(const struct list *lists, size_t count, const char *workspace, const char *home,
		  const struct list *bounds, struct list *ret_named)
{
	for (size_t i = 0; i < bounds->count; i++) {
		_cleanup_free_ char *path = trunk_of(resource_of(bounds->items[i]));
		size_t having = 0;

		while (having < count && list_names(&lists[having], workspace, home, path))
			having++;
		if (having == count)
			list_add(ret_named, bounds->items[i]);
	}
}

bool bounds_is_system(const char *path)
{
	static const char *const places[] = {"/bin",   "/dev",	  "/etc", "/gnu", "/lib",  "/lib32",
					     "/lib64", "/libx32", "/nix", "/opt", "/proc", "/run",
					     "/sbin",  "/snap",	  "/sys", "/tmp", "/usr"};

	for (size_t i = 0; i < ELEMENTS(places); i++)
		if (path_is_under(path, places[i]))
			return true;
	return false;
}

bool bounds_is_program(const char *path)
{
	return bounds_is_system(path) && !path_is_under(path, "/tmp") &&
	       !path_is_under(path, "/dev") && !path_is_under(path, "/proc") &&
	       !path_is_under(path, "/run");
}

bool bounds_start(const struct list *bounds, const char *file)
{
	_cleanup_free_ char *escaped = path_escape(file), *wanted = NULL;

	if (asprintf(&wanted, "exec %s", escaped) < 0)
		abort();
	return bounds_allow(bounds, wanted);
}
