/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox of a run under a token: what any program needs to start, what the token's bounds
 * allow, and nothing else. What policy and flags deny stays denied; what they allow does not count.
 */
#include "bounds.h"
#include "network.h"
#include "permissions.h"
#include "../base/guard.h"
#include "../base/path.h"
#include "../parse/plan.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* In words, for a refusal. */
static const char *rule_of(const struct matter *matter)
{
	return matter->token ? "token" : "safe mode";
}

/* Closed, unless the bounds open just that. */
static void close_place(const struct matter *matter, const char *pattern,
			struct permissions *permissions)
{
	_cleanup_free_ char *reading = NULL;

	if (asprintf(&reading, "read %s", pattern) < 0)
		abort();
	if (!bounds_allow(matter->bounds, reading))
		file_rules_add(&permissions->rules, ACCESS_DENY, WEIGHT_IMPLIED, pattern,
			       rule_of(matter));
}

/* All that lies at the root and is not the system's, the caller's own wherever it lies, and what is
 * in the workspace. The workspace itself must be there to be started in. */
static void close_the_rest(const struct matter *matter, struct permissions *permissions)
{
	const struct surroundings *surroundings = matter->surroundings;
	const char *const homes[] = {surroundings->home, surroundings->account_home};
	_cleanup_free_ char *workspace = path_escape(permissions->workspace), *inside = NULL;
	DIR *root = opendir("/");
	struct dirent *entry;

	while (root && (entry = readdir(root))) {
		_cleanup_free_ char *path = path_resolve("/", NULL, entry->d_name);
		_cleanup_free_ char *pattern = path_escape(path);

		if (strcmp(path, "/") != 0 && !bounds_is_system(path) &&
		    strcmp(path, permissions->workspace) != 0)
			close_place(matter, pattern, permissions);
	}
	if (root)
		closedir(root);
	for (size_t i = 0; i < ELEMENTS(homes); i++)
		if (homes[i] && homes[i][0] == '/' && strcmp(homes[i], "/") != 0 &&
		    strcmp(homes[i], permissions->workspace) != 0) {
			_cleanup_free_ char *pattern = path_escape(homes[i]);

			close_place(matter, pattern, permissions);
		}
	file_rules_add(&permissions->rules, ACCESS_READ_ONLY, WEIGHT_IMPLIED, workspace,
		       rule_of(matter));
	if (asprintf(&inside, "read %s", workspace) < 0)
		abort();
	if (bounds_allow(matter->bounds, inside))
		return;
	free(inside);
	if (asprintf(&inside, "%s/*", workspace) < 0)
		abort();
	close_place(matter, inside, permissions);
}

/* To read a whole tree is not to read the secrets in it: these are named, or stay closed. */
static void open_for_reading(const struct matter *matter, const char *pattern,
			     struct permissions *permissions)
{
	_cleanup_free_ char *literal = path_unescape(pattern);
	struct stat st;
	bool named = literal && lstat(literal, &st) == 0 && S_ISREG(st.st_mode);

	file_rules_add(&permissions->rules, named ? ACCESS_READ : ACCESS_READ_ONLY, WEIGHT_IMPLIED,
		       pattern, rule_of(matter));
}

static void apply(const struct matter *matter, const char *permission, struct verdict *verdict)
{
	const struct grant token = {.id = matter->token, .expires = matter->token_expires};
	size_t length = strcspn(permission, " ");

	if (parse_word_in("read exec", permission, length))
		open_for_reading(matter, permission + length + 1, &verdict->permissions);
	else
		permissions_apply(matter, permission, /* exact= */ false, &token, verdict);
	/* What is new by its name, or comes in the place of what is there, the supervisor makes. */
	if (parse_word_in("write", permission, length))
		givens_add(&verdict->permissions.given, permission, token.id, &token.expires);
}

/* The path that a pattern begins with, up to its first glob. Caller frees. */
static char *beginning_of(const char *pattern)
{
	_cleanup_free_ char *fixed = strdup(pattern);
	char *path = path_unescape(fixed);

	while (!path && strrchr(fixed, '/')) {
		*strrchr(fixed, '/') = '\0';
		path = path_unescape(fixed);
	}
	return path ? path : strdup("");
}

/* In something that only its own name opens: a secret, or what makes other programs run something.
 * A repository is known by its HEAD whatever it is called. */
static bool is_protected(const struct permissions *permissions, const char *permission)
{
	_cleanup_free_ char *path = beginning_of(permission + strcspn(permission, " ") + 1);
	const char *top = path_is_under(path, permissions->workspace) ? permissions->workspace : "";
	bool inside = guard_path(top, path, NULL) != GUARD_FREE ||
		      guard_ground_of(top, path).ground != GROUND_PLAIN;

	for (; strlen(path) > strlen(top) && !inside; *strrchr(path, '/') = '\0') {
		_cleanup_free_ char *head = path_resolve(path, NULL, "HEAD");
		struct stat st;

		inside = lstat(head, &st) == 0;
		for (size_t i = 0; i < permissions->rules.count && !inside; i++) {
			const struct file_rule *rule = &permissions->rules.items[i];

			inside = rule->weight == WEIGHT_DEFAULT &&
				 path_matches(rule->pattern, path, NULL);
		}
	}
	return inside;
}

/* Whoever narrows what is given as a tree gets no more of it than the tree gave. */
static bool is_given(const struct matter *matter, const struct permissions *permissions,
		     const char *permission)
{
	return !parse_word_in("read write delete exec", permission, strcspn(permission, " ")) ||
	       list_has(matter->named, permission) || !is_protected(permissions, permission);
}

static bool is_any_about(const struct list *named, const char *pattern)
{
	for (size_t i = 0; i < named->count; i++) {
		_cleanup_free_ char *path =
			path_unescape(named->items[i] + strcspn(named->items[i], " ") + 1);

		if (path && path_matches(pattern, path, NULL))
			return true;
	}
	return false;
}

/* Names that only match, the supervisor gives one by one: those that are closed by default are
 * never among them. */
static void withhold(const struct matter *matter, struct permissions *permissions)
{
	bool loose = false;

	for (size_t i = 0; i < matter->bounds->count; i++)
		loose |= path_has_glob(matter->bounds->items[i]);
	for (size_t i = 0; i < permissions->rules.count && loose; i++) {
		const struct file_rule *rule = &permissions->rules.items[i];

		if (rule->weight == WEIGHT_DEFAULT && !is_any_about(matter->named, rule->pattern))
			list_add(&permissions->never, rule->pattern);
	}
}

/* A file that may be written is not read-only because it may be read, too. */
static bool is_written(const struct list *bounds, const char *permission)
{
	_cleanup_free_ char *writing = NULL;

	if (strncmp(permission, "read ", 5) != 0)
		return false;
	if (asprintf(&writing, "write %s", permission + 5) < 0)
		abort();
	return bounds_allow(bounds, writing);
}

int permissions_bounded(const struct matter *matter, const struct sandbox_policy *policy,
			struct verdict *verdict, struct error **ret_error)
{
	struct permissions *permissions = &verdict->permissions;
	const struct list *bounds = matter->bounds;
	size_t before;
	int r = permissions_denied(matter->request, policy, matter->surroundings, permissions,
				   ret_error);

	if (r == 0)
		r = permissions_calls(matter->request, policy, permissions, ret_error);
	if (r == 0)
		r = network_permissions(matter, policy, verdict, ret_error);
	if (r < 0)
		return r;
	permissions->allow_calls = (struct call_set){0};
	close_the_rest(matter, permissions);
	withhold(matter, permissions);
	before = permissions->rules.count;
	for (size_t i = 0; i < bounds->count; i++)
		if (!is_written(bounds, bounds->items[i]) &&
		    is_given(matter, permissions, bounds->items[i]))
			apply(matter, bounds->items[i], verdict);
	for (size_t i = before; i < permissions->rules.count; i++)
		permissions->rules.items[i].named = true;
	/* The run ends with the token, whatever it holds of it. */
	if (matter->token)
		givens_add(&permissions->fixed, "token", matter->token, &matter->token_expires);
	return 0;
}
