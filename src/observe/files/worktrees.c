/* SPDX-License-Identifier: Apache-2.0 */
/* Where repositories say that their files lie, read from their configurations whenever a link is
 * made: others set it as well, another run and a person. */
#include "hold.h"
#include "../observer.h"
#include "../../base/path.h"
#include "../../base/units.h"
#include "../../sandbox/gitconfig.h"
#include "../../sandbox/gitconfig_read.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <errno.h>

enum {
	ENTRIES_MOST = 20000,
	DEPTH_MOST = 40,
	LINKS_MOST = 40,
	POINTER_MOST = PATH_MAX + 16,
	STALE_MS = 200, /* what a person sets counts from then on */
};

static const char *const configs[] = {"config", "config.worktree"};
static const char modules[] = "/.git/modules/";

struct observer *worktrees_lock(struct observer *observer, bool alone)
{
	if (!observer->holding.company)
		return NULL;
	while (flock(observer->holding.company_fd, alone ? LOCK_EX : LOCK_SH) < 0)
		if (errno != EINTR)
			return NULL;
	return observer;
}

void worktrees_unlock(struct observer **locked)
{
	if (*locked)
		(void)flock((*locked)->holding.company_fd, LOCK_UN);
}

/* Submodules' in the directory that holds the repository around theirs; as git writes it, which
 * leaves nothing to the place that either may be moved to. Repositories that lie apart and keep
 * copies of the workspace, as OpenCode's do: all of it. In the workspace none may say so: whoever
 * came by its directory would work on the workspace. */
bool worktree_may_be(const struct observer *observer, const char *repository, const char *value)
{
	const struct list *trees = observer->observed->guarded;
	const char *top = hold_tree(observer, repository), *git = NULL;
	char path[PATH_MAX], name[NAME_MAX + 1];
	struct stat st;

	if (top)
		git = strstr(repository + strlen(top), modules);
	if (!git)
		return trees && list_has(trees, value) && !path_is_under(repository, value);
	snprintf(path, sizeof(path), "%.*s", (int)(git - repository), repository);
	for (const char *at = git; *at; at++) {
		if (*at != '/')
			continue;
		if (strncmp(value, "../", 3) != 0)
			return false;
		value += 3;
	}
	do {
		size_t length = strcspn(value, "/"), used = strlen(path);

		if (length == 0 || length > NAME_MAX || used + length + 2 > sizeof(path))
			return false;
		snprintf(name, sizeof(name), "%.*s", (int)length, value);
		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || guard_is(name, ".git"))
			return false;
		snprintf(path + used, sizeof(path) - used, "/%s", name);
		if (lstat(path, &st) == 0 && (!S_ISDIR(st.st_mode) || hold_is_repository(path)))
			return false;
		value += length;
	} while (*value++ == '/');
	return true;
}

static bool is_true(const char *value)
{
	return !value || (strcasecmp(value, "false") != 0 && strcasecmp(value, "no") != 0 &&
			  strcasecmp(value, "off") != 0 && strcmp(value, "0") != 0 && *value);
}

/* Git reads core.worktree of the configuration that all share for a worktree, too, as soon as each
 * may have one of its own; and ../../../sub leads from there to the repository itself. */
static bool says_both(const char *text, size_t length)
{
	_cleanup_settings_ struct git_settings settings = {0};
	bool own = false, said = false;

	if (!strcasestr(text, "worktreeconfig"))
		return false;
	(void)git_settings_read(text, length, &settings);
	for (size_t i = 0; i < settings.count; i++) {
		const struct git_setting *setting = &settings.items[i];

		if (setting->key && strcmp(setting->key, "extensions.worktreeconfig") == 0)
			own = own || is_true(setting->value);
		if (setting->key && strcmp(setting->key, "core.worktree") == 0)
			said = said || (setting->value && setting->value[0] != '/');
	}
	return own && said;
}

bool worktree_is_taken_twice(const char *repository, const char *text, size_t length)
{
	_cleanup_free_ char *path = NULL;
	struct dirent *entry;
	bool holds = false;
	DIR *entries;

	if (!text || !says_both(text, length))
		return false;
	if (asprintf(&path, "%s/worktrees", repository) < 0)
		abort();
	entries = opendir(path);
	while (entries && !holds && (entry = readdir(entries)))
		holds = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	if (entries)
		closedir(entries);
	return holds;
}

bool worktree_is_taken_from_above(const char *directory)
{
	_cleanup_free_ char *path = NULL, *text = NULL;
	size_t length;

	if (asprintf(&path, "%s/../../config", directory) < 0)
		abort();
	return hold_read_text(AT_FDCWD, path, GIT_CONFIG_LIMIT, &text, &length) == 0 && text &&
	       says_both(text, length);
}

/* --- what is said --- */

static void add_way(struct worktrees *worktrees, const char *path, const char *rest)
{
	struct way *way;

	if (worktrees->count == worktrees->room) {
		worktrees->room = MAX(2 * worktrees->room, (size_t)32);
		worktrees->ways =
			reallocarray(worktrees->ways, worktrees->room, sizeof(*worktrees->ways));
		if (!worktrees->ways)
			abort();
	}
	way = &worktrees->ways[worktrees->count++];
	*way = (struct way){.path = strdup(path), .rest = strdup(rest)};
	if (!way->path || !way->rest)
		abort();
	guard_fold(path_last(path), way->name);
}

/* As the kernel goes: whatever it comes by, links that are there included. */
static void add_ways(struct worktrees *worktrees, const char *repository, const char *value)
{
	char path[2 * PATH_MAX], rest[2 * PATH_MAX], target[PATH_MAX], joined[4 * PATH_MAX];
	const char *at = rest;
	unsigned links = 0;

	snprintf(path, sizeof(path), "%s", value[0] == '/' ? "" : repository);
	snprintf(rest, sizeof(rest), "%s", value);
	while (*(at += strspn(at, "/"))) {
		size_t length = strcspn(at, "/"), used = strlen(path);
		ssize_t got;

		if (length > NAME_MAX || used + length + 2 > PATH_MAX)
			return;
		if (length == 2 && strncmp(at, "..", 2) == 0) {
			if (used > 0)
				*strrchr(path, '/') = '\0';
			at += length;
			continue;
		}
		if (length != 1 || *at != '.')
			snprintf(path + used, sizeof(path) - used, "/%.*s", (int)length, at);
		at += length;
		if (strlen(path) == used)
			continue;
		add_way(worktrees, path, at);
		got = readlink(path, target, sizeof(target) - 1);
		if (got <= 0)
			continue;
		target[got] = '\0';
		if (++links > LINKS_MOST ||
		    snprintf(joined, sizeof(joined), "%s/%s", target, at) >= (int)sizeof(rest))
			return;
		strcpy(rest, joined);
		at = rest;
		path[target[0] == '/' ? 0 : used] = '\0';
	}
}

static void look_at(struct worktrees *worktrees, const char *repository, const char *name)
{
	_cleanup_settings_ struct git_settings settings = {0};
	_cleanup_free_ char *text = NULL, *path = NULL;
	size_t length;

	if (asprintf(&path, "%s/%s", repository, name) < 0)
		abort();
	if (hold_read_text(AT_FDCWD, path, GIT_CONFIG_LIMIT, &text, &length) < 0 || !text ||
	    !strcasestr(text, "worktree"))
		return;
	(void)git_settings_read(text, length, &settings);
	for (size_t i = 0; i < settings.count; i++) {
		const struct git_setting *setting = &settings.items[i];

		if (!setting->key || strcmp(setting->key, "core.worktree") != 0 || !setting->value)
			continue;
		if (setting->value[0] != '/')
			add_ways(worktrees, repository, setting->value);
		else if (!list_has(&worktrees->elsewhere, setting->value))
			list_add(&worktrees->elsewhere, setting->value);
	}
}

/* A repository, and the repositories in it; or a directory of these, whose names may have slashes
 * in them. */
static void look_into(struct worktrees *worktrees, const char *directory, bool repository,
		      unsigned depth)
{
	static const char *const parts[] = {"modules", "worktrees"};
	struct dirent *entry;
	DIR *entries;

	if (worktrees->many || depth > DEPTH_MOST) {
		worktrees->many = true;
		return;
	}
	for (size_t i = 0; repository && i < ELEMENTS(configs); i++)
		look_at(worktrees, directory, configs[i]);
	for (size_t i = 0; repository && i < ELEMENTS(parts); i++) {
		_cleanup_free_ char *path = NULL;

		if (asprintf(&path, "%s/%s", directory, parts[i]) < 0)
			abort();
		look_into(worktrees, path, /* repository= */ false, depth + 1);
	}
	if (repository)
		return;
	entries = opendir(directory);
	while (entries && (entry = readdir(entries))) {
		_cleanup_free_ char *path = NULL, *head = NULL;
		struct stat st;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (++worktrees->entries > ENTRIES_MOST)
			worktrees->many = true;
		if (worktrees->many || asprintf(&path, "%s/%s", directory, entry->d_name) < 0 ||
		    asprintf(&head, "%s/HEAD", path) < 0)
			break;
		if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
			look_into(worktrees, path, lstat(head, &st) == 0, depth + 1);
	}
	if (entries)
		closedir(entries);
}

/* What is called .git: a repository, or a file that says where one lies. */
static void look_by_name(struct worktrees *worktrees, const char *path)
{
	_cleanup_free_ char *text = NULL, *place = NULL, *directory = NULL, *end = NULL;
	char real[PATH_MAX];
	size_t length;

	if (hold_read_text(AT_FDCWD, path, POINTER_MOST, &text, &length) == 0 && text) {
		if (strncmp(text, "gitdir: ", 8) != 0)
			return;
		text[strcspn(text, "\r\n")] = '\0';
		directory = strndup(path, (size_t)(path_last(path) - path));
		if (!directory)
			abort();
		place = path_resolve(directory, NULL, text + 8);
	}
	if (!realpath(place ? place : path, real))
		return;
	look_into(worktrees, real, /* repository= */ true, 0);
	/* A worktree's has the other's beside it. */
	end = strdup(real);
	if (!end)
		abort();
	if (*path_last(end) && path_last(end) > end + 1) {
		*((char *)path_last(end) - 1) = '\0';
		if (strcmp(path_last(end), "worktrees") == 0 && path_last(end) > end + 1) {
			*((char *)path_last(end) - 1) = '\0';
			look_into(worktrees, end, /* repository= */ true, 0);
		}
	}
}

static void forget(struct worktrees *worktrees)
{
	for (size_t i = 0; i < worktrees->count; i++) {
		free(worktrees->ways[i].path);
		free(worktrees->ways[i].rest);
	}
	worktrees->count = 0;
	worktrees->entries = 0;
	worktrees->many = false;
}

/* Repositories around the path that nobody knew. */
static bool find_around(struct worktrees *worktrees, const char *path)
{
	char at[PATH_MAX + 8];
	bool more = false;
	struct stat st;

	snprintf(at, PATH_MAX, "%s", path);
	for (char *slash; (slash = strrchr(at, '/'));) {
		strcpy(slash, "/.git");
		if (lstat(at, &st) == 0 && !list_has(&worktrees->found, at)) {
			list_add(&worktrees->found, at);
			more = true;
		}
		*slash = '\0';
	}
	return more;
}

static void refresh(struct observer *observer, const char *path)
{
	struct holding *holding = &observer->holding;
	struct worktrees *worktrees = &holding->worktrees;
	const struct masks *masks = observer->observed->masks;
	uint64_t now = monotonic_ns(), company = holding->company ? *holding->company : 0;
	bool more = find_around(worktrees, path);

	if (!more && !worktrees->stale && worktrees->looked && company == worktrees->company &&
	    now - worktrees->looked < STALE_MS * UINT64_C(1000000))
		return;
	forget(worktrees);
	worktrees->stale = false;
	worktrees->company = company;
	for (size_t i = 0; masks && i < masks->repositories.count; i++)
		look_into(worktrees, masks->repositories.items[i], /* repository= */ true, 0);
	for (size_t i = 0; i < worktrees->found.count; i++)
		if (!masks || !list_has(&masks->repositories, worktrees->found.items[i]))
			look_by_name(worktrees, worktrees->found.items[i]);
	for (size_t i = 0; i < worktrees->elsewhere.count; i++)
		add_ways(worktrees, "", worktrees->elsewhere.items[i]);
	worktrees->looked = monotonic_ns();
}

/* What comes to lie there is the directory: whether a link in it comes to lie on the way. */
static bool has_link(const char *directory, const char *rest)
{
	char path[PATH_MAX];
	struct stat st;

	if (snprintf(path, sizeof(path), "%s", directory) >= (int)sizeof(path))
		return true;
	while (*(rest += strspn(rest, "/"))) {
		size_t length = strcspn(rest, "/"), used = strlen(path);

		if (length == 2 && strncmp(rest, "..", 2) == 0)
			return true;
		if (snprintf(path + used, sizeof(path) - used, "/%.*s", (int)length, rest) >=
		    (int)(sizeof(path) - used))
			return true;
		if (lstat(path, &st) < 0)
			return false;
		if (S_ISLNK(st.st_mode))
			return true;
		rest += length;
	}
	return false;
}

bool worktrees_refuse(struct observer *observer, const char *path, const char *from)
{
	struct worktrees *worktrees = &observer->holding.worktrees;
	char name[NAME_MAX + 1];

	if (!hold_tree(observer, path))
		return false;
	refresh(observer, path);
	if (worktrees->many)
		return true;
	guard_fold(path_last(path), name);
	for (size_t i = 0; i < worktrees->count; i++) {
		const struct way *way = &worktrees->ways[i];

		if (strcmp(way->name, name) == 0 && guard_is_under(path, way->path) &&
		    guard_is_under(way->path, path) && (!from || has_link(from, way->rest)))
			return true;
	}
	return false;
}

static bool are_said_in(const char *directory, unsigned depth, unsigned *entries_left)
{
	DIR *entries = opendir(directory);
	struct dirent *entry;
	bool said = !entries || depth > DEPTH_MOST;

	while (!said && (entry = readdir(entries))) {
		_cleanup_free_ char *path = NULL, *text = NULL;
		size_t length;
		struct stat st;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if ((*entries_left)-- == 0 ||
		    asprintf(&path, "%s/%s", directory, entry->d_name) < 0 || lstat(path, &st) < 0)
			said = true;
		else if (S_ISDIR(st.st_mode))
			said = are_said_in(path, depth + 1, entries_left);
		else if (guard_is(entry->d_name, "commondir"))
			said = true;
		else if (guard_is(entry->d_name, "config") ||
			 guard_is(entry->d_name, "config.worktree"))
			said = hold_read_text(AT_FDCWD, path, GIT_CONFIG_LIMIT, &text, &length) <
				       0 ||
			       (text && strcasestr(text, "worktree"));
	}
	if (entries)
		closedir(entries);
	return said;
}

bool worktrees_are_said_in(const struct observer *observer, const char *directory)
{
	unsigned entries = ENTRIES_MOST;

	return hold_is_held(observer, directory) && are_said_in(directory, 0, &entries);
}

void worktrees_may_change(struct observer *observer, const char *text)
{
	if (!text || !strcasestr(text, "worktree"))
		return;
	if (observer->holding.company)
		__atomic_fetch_add(observer->holding.company, 1, __ATOMIC_SEQ_CST);
	observer->holding.worktrees.stale = true;
}

void worktrees_done(struct worktrees *worktrees)
{
	forget(worktrees);
	free(worktrees->ways);
	list_done(&worktrees->found);
	list_done(&worktrees->elsewhere);
}
