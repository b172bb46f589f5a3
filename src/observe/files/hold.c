/* SPDX-License-Identifier: Apache-2.0 */
/* What the supervisor remembers of guarded names, and what a path is by them. What needs a file's
 * content is in content.c. */
#include "hold.h"
#include "../observer.h"
#include "../../base/io.h"
#include "../../base/path.h"
#include "../../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>

enum {
	MADE_MOST = 10000,
	COMPANY = 4096, /* bytes: one page */
};

/* Runs tell each other by a counter in a shared file. One for all of them: a run may write to trees
 * of several file systems, and in each of these another one may work. */
static volatile uint64_t *join_company(const char *path, int *ret_fd)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	uint64_t *counter;

	if (fd < 0 || ftruncate(fd, COMPANY) < 0)
		return NULL;
	counter = mmap(NULL, COMPANY, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (counter == MAP_FAILED)
		return NULL;
	*ret_fd = STEAL_FD(fd);
	return counter;
}

void hold_begin(struct observer *observer)
{
	const struct observed *observed = observer->observed;
	struct holding *holding = &observer->holding;

	if (!observed->guarded || observed->guarded->count == 0)
		return;
	holding->company = join_company(observed->company, &holding->company_fd);
	if (holding->company)
		holding->company_before = *holding->company;
	/* Where no mount holds what is there already, or nobody would tell us what he makes,
	 * nothing may go on by itself. */
	holding->performing = !observed->own_mounts || !holding->company;
}

void hold_done(struct holding *holding)
{
	if (holding->company) {
		munmap((void *)(uintptr_t)holding->company, COMPANY);
		close_fd(&holding->company_fd);
	}
	worktrees_done(&holding->worktrees);
	pointers_done(&holding->pointers);
	for (size_t i = 0; i < holding->later_count; i++)
		close_fd(&holding->later[i]);
	free(holding->later);
	free(holding->made);
	free(holding->halves);
	list_done(&holding->lines);
	*holding = (struct holding){0};
}

/* The innermost or outermost tree that was made writable by name, or granted since, and that the
 * path lies in. */
static const char *find_tree(const struct observer *observer, const char *path, bool innermost)
{
	const struct list *trees = observer->observed->guarded;
	const char *found = observer->observed->unchecked & CHECK_BIT(CHECK_HELD)
				    ? NULL
				    : permit_tree(observer, path, innermost);

	for (size_t i = 0; trees && i < trees->count; i++)
		if (path_is_under(path, trees->items[i]) &&
		    (!found || innermost == (strlen(trees->items[i]) > strlen(found))))
			found = trees->items[i];
	return found;
}

/* What is named itself, or lies in what is named, is meant: `--write .git/hooks`. So only what lies
 * below the innermost tree counts. */
const char *hold_tree(const struct observer *observer, const char *path)
{
	return find_tree(observer, path, /* innermost= */ true);
}

bool hold_is_repository(const char *directory)
{
	char path[PATH_MAX + 16];
	struct stat st;

	snprintf(path, sizeof(path), "%s/objects", directory);
	if (lstat(path, &st) < 0)
		return false;
	snprintf(path, sizeof(path), "%s/refs", directory);
	return lstat(path, &st) == 0;
}

/* The place of a worktree's own configuration, wherever it was moved to. */
static bool is_worktree(const char *directory)
{
	char path[PATH_MAX + 16];
	struct stat st;

	snprintf(path, sizeof(path), "%s/commondir", directory);
	return lstat(path, &st) == 0;
}

/* A repository without the name: known by what lies in it. */
static enum guard judge_by_neighbours(const char *top, const char *path)
{
	char directory[PATH_MAX];
	const char *name = path_last(path);
	bool in_hooks, own; /* own: what each worktree has for itself */
	enum guard guard;
	char *slash;

	if (strlen(path) >= sizeof(directory))
		return GUARD_CLOSED;
	strcpy(directory, path);
	slash = strrchr(directory, '/');
	*slash = '\0';
	in_hooks = guard_is(path_last(directory), "hooks");
	guard = guard_of(
		&(struct guard_place){.ground = in_hooks ? GROUND_HOOKS : GROUND_REPOSITORY}, name);
	own = guard == GUARD_INDEX || guard_is(name, "config.worktree");
	if (!in_hooks && !own && !guard_is(name, "config") && !guard_is(name, "hooks"))
		return GUARD_FREE;
	if (in_hooks)
		*strrchr(directory, '/') = '\0';
	if (!path_is_under(directory, top) ||
	    !(hold_is_repository(directory) || (own && is_worktree(directory))))
		return GUARD_FREE;
	return guard;
}

/* What a rule closes within the tree, by a plain path. What was there at the start is held by a
 * mount; what was not must not come into being. */
static bool is_closed_in(const char *tree, const char *closed)
{
	return !path_has_glob(closed) && strlen(closed) > strlen(tree) &&
	       path_is_under(closed, tree);
}

static bool is_closed_by_rule(const struct observer *observer, const char *tree, const char *path)
{
	const struct list *never = observer->observed->never;

	for (size_t i = 0; never && i < never->count; i++)
		if (is_closed_in(tree, never->items[i]) && guard_is_under(path, never->items[i]))
			return true;
	return false;
}

bool hold_closes_below(const struct observer *observer, const char *path)
{
	const struct list *never = observer->observed->never;
	const char *tree = hold_tree(observer, path);

	for (size_t i = 0; tree && never && i < never->count; i++)
		if (is_closed_in(tree, never->items[i]) && guard_is_under(never->items[i], path))
			return true;
	return false;
}

enum guard hold_judge(const struct observer *observer, const char *path)
{
	const char *top = hold_tree(observer, path);
	struct guard_place parent;
	enum guard guard;

	if (!top || strcmp(top, path) == 0)
		return GUARD_FREE;
	if (is_closed_by_rule(observer, top, path))
		return GUARD_CLOSED;
	guard = guard_path(top, path, &parent);
	/* On a read-only mount nobody but us can touch it: there a checked copy can be installed.
	 */
	if (guard == GUARD_CLOSED && guard_is(path_last(path), ".claude.json") &&
	    permit_is_loose(observer, path))
		return GUARD_CONFIG;
	if ((guard == GUARD_FREE || guard == GUARD_OPEN || guard == GUARD_KEPT) &&
	    parent.ground != GROUND_REPOSITORY) {
		enum guard beside = judge_by_neighbours(top, path);

		if (beside != GUARD_FREE)
			guard = beside;
	}
	return guard;
}

bool hold_is_held(const struct observer *observer, const char *directory)
{
	const char *top = hold_tree(observer, directory);

	return top && guard_ground_of(top, directory).ground == GROUND_REPOSITORY;
}

/* A tree that was made writable may itself be one: the repository that a worktree belongs to. */
static bool is_repository_tree(const char *top)
{
	char path[PATH_MAX + 16];
	struct stat st;

	snprintf(path, sizeof(path), "%s/.git", top);
	return guard_is(path_last(top), ".git") || is_worktree(top) ||
	       (hold_is_repository(top) && lstat(path, &st) < 0);
}

bool hold_is_in_repository(const struct observer *observer, const char *path, bool itself)
{
	const char *top = find_tree(observer, path, /* innermost= */ false);
	struct guard_place place;

	if (!top || strcmp(path, top) == 0)
		return false;
	if (itself)
		place = guard_ground_of(top, path);
	else
		guard_path(top, path, &place);
	return place.ground == GROUND_REPOSITORY || place.ground == GROUND_OPEN ||
	       place.ground == GROUND_HOOKS || is_repository_tree(top);
}

bool hold_leads_out(const char *target)
{
	if (target[0] == '/')
		return true;
	for (const char *part = target; part; part = strchr(part, '/')) {
		part += *part == '/';
		if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || !part[2]))
			return true;
	}
	return false;
}

bool hold_may_move(const struct observer *observer, const char *from, const char *to)
{
	const char *top = hold_tree(observer, from), *top2 = hold_tree(observer, to);
	struct guard_place place = {.ground = GROUND_PLAIN}, place2 = place;

	if (top)
		place = guard_ground_of(top, from);
	if (top2)
		place2 = guard_ground_of(top2, to);
	return guard_may_move(&place, &place2);
}

bool hold_performs(struct observer *observer)
{
	struct holding *holding = &observer->holding;

	if (holding->company && *holding->company != holding->company_before)
		holding->performing = true; /* by another run in this workspace */
	return holding->performing;
}

void hold_announce(struct observer *observer)
{
	observer->holding.performing = true;
	if (observer->holding.company)
		__atomic_fetch_add(observer->holding.company, 1, __ATOMIC_SEQ_CST);
}

void hold_made(struct observer *observer, int parent, const char *name)
{
	struct holding *holding = &observer->holding;
	struct stat st;

	if (holding->made_count >= MADE_MOST || fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return; /* not ours to remove again, then */
	holding->made =
		reallocarray(holding->made, holding->made_count + 1, sizeof(*holding->made));
	if (!holding->made)
		abort();
	holding->made[holding->made_count++] = (struct made){st.st_dev, st.st_ino};
}

bool hold_is_ours(const struct observer *observer, const char *path)
{
	const struct holding *holding = &observer->holding;
	const char *top = hold_tree(observer, path);
	char part[PATH_MAX];
	struct stat st;

	if (!top || strlen(path) >= sizeof(part))
		return false;
	strcpy(part, path);
	while (strlen(part) > strlen(top)) {
		if (lstat(part, &st) == 0)
			for (size_t i = 0; i < holding->made_count; i++)
				if (holding->made[i].device == st.st_dev &&
				    holding->made[i].inode == st.st_ino)
					return true;
		*strrchr(part, '/') = '\0';
	}
	return false;
}

bool hold_guards(const struct observer *observer, const char *path)
{
	return hold_tree(observer, path) != NULL;
}

/* In a holder of any kind, at any depth, whether it was asked for by name or not. */
static bool is_in_holder(const struct observer *observer, const char *path)
{
	const char *top = find_tree(observer, path, /* innermost= */ false);
	char directory[PATH_MAX];

	if (!top || strcmp(path, top) == 0 || strlen(path) >= sizeof(directory))
		return false;
	if (guard_path(top, path, NULL) != GUARD_FREE)
		return true;
	strcpy(directory, path);
	while (strlen(directory) > strlen(top)) {
		*strrchr(directory, '/') = '\0';
		if (hold_is_repository(directory))
			return true;
	}
	return false;
}

bool hold_is_named(const struct observer *observer, const char *path)
{
	const char *tree = hold_tree(observer, path);
	struct stat st;

	return tree && strcmp(tree, path) == 0 && is_in_holder(observer, path) &&
	       lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool hold_needs_host(const struct observer *observer, int parent, const char *path,
		     enum guard guard)
{
	struct statvfs fs;

	if (!observer->observed->guarded)
		return false;
	if (guard != GUARD_FREE && guard != GUARD_OPEN)
		return true;
	/* Ordinary ground is read-only only where a holder's mount lies over it, or where something
	 * else is mounted, which is not ours to change. */
	return fstatvfs(parent, &fs) == 0 && fs.f_flag & ST_RDONLY && is_in_holder(observer, path);
}

int hold_open_parent(const struct observer *observer, const char *path, int like)
{
	const char *top = find_tree(observer, path, /* innermost= */ false);
	struct stat tree, directory, same;
	char parent[PATH_MAX];
	char *slash;
	int fd;

	if (!top || strlen(path) >= sizeof(parent))
		return -EACCES;
	strcpy(parent, path);
	slash = strrchr(parent, '/');
	if (!slash || slash == parent)
		return -EACCES;
	*slash = '\0';
	fd = sys_openat2(AT_FDCWD, parent, O_PATH | O_DIRECTORY | O_CLOEXEC, RESOLVE_NO_SYMLINKS);
	if (fd < 0)
		return -errno;
	/* What else is mounted there is not part of the tree that was made writable. */
	if (stat(top, &tree) < 0 || fstat(fd, &directory) < 0 || tree.st_dev != directory.st_dev) {
		close(fd);
		return -EROFS;
	}
	/* Somebody else moves directories as well: another run, a person. */
	if (like >= 0 && (fstat(like, &same) < 0 || same.st_dev != directory.st_dev ||
			  same.st_ino != directory.st_ino)) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}
