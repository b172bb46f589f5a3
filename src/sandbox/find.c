/* SPDX-License-Identifier: Apache-2.0 */
/* The walk. */
#include "find.h"
#include "../base/path.h"
#include "../base/units.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { DEPTH = 128, BUFFER = 32 * 1024 };
static const uint64_t walk_ns = 10ull * 1000 * 1000 * 1000;
static const unsigned walk_entries = 5000000;

struct entry64 { /* as getdents64 gives it */
	uint64_t inode;
	int64_t next;
	uint16_t length;
	uint8_t type;
	char name[];
};

struct walk {
	const struct search *search;
	struct list *masks;
	uint64_t deadline;
	unsigned entries;
	const char *const *patterns; /* that are matched against whole paths; NULL-terminated */
	char path[PATH_MAX];
};

static bool matches_any(const struct list *patterns, const char *path)
{
	for (size_t i = 0; i < patterns->count; i++)
		if (strcmp(patterns->items[i], path) == 0 ||
		    path_matches(patterns->items[i], path, NULL))
			return true;
	return false;
}

static bool name_is_denied(const struct search *search, const char *name)
{
	bool denied = false;

	for (size_t i = 0; i < search->names->count && !denied; i++)
		denied = fnmatch(search->names->items[i], name, FNM_NOESCAPE) == 0;
	for (size_t i = 0; i < search->not_names->count && denied; i++)
		denied = fnmatch(search->not_names->items[i], name, FNM_NOESCAPE) != 0;
	return denied;
}

static bool already_covered(const struct list *masks, const char *path)
{
	for (size_t i = 0; i < masks->count; i++)
		if (path_is_under(path, masks->items[i]))
			return true;
	return false;
}

static int mask(struct walk *walk, const char *path, bool always, unsigned depth,
		struct error **ret_error);

/* A denied directory with an exception somewhere below it: its entries are denied one by one. */
static int mask_entries(struct walk *walk, const char *path, unsigned depth,
			struct error **ret_error)
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	char child[PATH_MAX];
	int r = 0;

	if (!directory)
		return errno == ENOENT || errno == EACCES
			       ? 0
			       : fail_errno(ret_error, E_ENGINE, errno, "reading %s", path);
	while (r == 0 && (entry = readdir(directory))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (snprintf(child, sizeof(child), "%s/%s", path, entry->d_name) >=
		    (int)sizeof(child))
			r = fail(ret_error, E_ENGINE, "a path below %s is too long to be masked",
				 path);
		else
			r = mask(walk, child, false, depth + 1, ret_error);
	}
	closedir(directory);
	return r;
}

static bool exception_below(const struct list *except, const char *path)
{
	for (size_t i = 0; i < except->count; i++) {
		_cleanup_free_ char *fixed = path_fixed_part(except->items[i]);

		if (path_is_under(fixed, path) ||
		    (path_has_glob(except->items[i]) && path_is_under(path, fixed)))
			return true;
	}
	return false;
}

/* path exists in name; links in it are looked through, so that what is covered is the thing itself.
 */
static int mask(struct walk *walk, const char *path, bool always, unsigned depth,
		struct error **ret_error)
{
	const struct search *search = walk->search;
	char real[PATH_MAX];
	struct stat st;

	if (depth > DEPTH)
		return fail(ret_error, E_ENGINE, "%s is nested too deeply to be masked", path);
	if (lstat(path, &st) < 0 || !realpath(path, real) || lstat(real, &st) < 0)
		return 0; /* not there (most are not: one look is enough), or not to be reached by
			     this user at all */
	if (!always && (matches_any(search->except, path) || matches_any(search->except, real)))
		return 0;
	if (already_covered(walk->masks, real))
		return 0;
	if (!always && S_ISDIR(st.st_mode) && exception_below(search->except, real))
		return mask_entries(walk, real, depth, ret_error);
	list_add(walk->masks, real);
	return 0;
}

static bool pattern_matches(const struct walk *walk, const char *path)
{
	for (size_t i = 0; walk->patterns[i]; i++)
		if (path_matches(walk->patterns[i], path, NULL))
			return true;
	return false;
}

/* Everything below walk->path (length bytes of it), which fd is open on. Takes ownership of fd. */
static int walk_directory(struct walk *walk, int fd, size_t length, bool by_name, bool always,
			  unsigned depth, struct error **ret_error)
{
	_cleanup_close_ int directory = fd;
	_Alignas(8) char buffer[BUFFER];
	int r = 0;

	if (depth > DEPTH)
		return fail(ret_error, E_ENGINE,
			    "%s is nested too deeply to be searched for secrets", walk->path);
	for (;;) {
		long got = syscall(SYS_getdents64, directory, buffer, sizeof(buffer));

		if (got < 0)
			return fail_errno(ret_error, E_ENGINE, errno, "reading %s", walk->path);
		if (got == 0)
			return 0;
		if (monotonic_ns() > walk->deadline || walk->entries > walk_entries) {
			fail(ret_error, E_ENGINE,
			     "the workspace %s is too large to be searched for secrets in time",
			     walk->search->workspace);
			return error_hint(ret_error, "choose a smaller --workspace");
		}
		for (long at = 0; at < got;) {
			struct entry64 *entry = (struct entry64 *)(buffer + at);
			const char *name = entry->name;
			size_t name_length;
			int child;

			at += entry->length;
			walk->entries++;
			if (name[0] == '.' &&
			    (name[1] == '\0' || (name[1] == '.' && name[2] == '\0')))
				continue;
			if (entry->type != DT_DIR && entry->type != DT_UNKNOWN &&
			    (by_name ? !name_is_denied(walk->search, name) && !walk->patterns[0]
				     : !walk->patterns[0]))
				continue;
			name_length = strlen(name);
			if (length + name_length + 2 > sizeof(walk->path))
				return fail(ret_error, E_ENGINE,
					    "a path below %s is too long to be searched",
					    walk->path);
			walk->path[length] = '/';
			memcpy(walk->path + length + 1, name, name_length + 1);
			if ((by_name && name_is_denied(walk->search, name)) ||
			    pattern_matches(walk, walk->path)) {
				char found[PATH_MAX];

				strcpy(found, walk->path);
				r = mask(walk, found, always, depth, ret_error);
			} else if (entry->type == DT_DIR || entry->type == DT_UNKNOWN) {
				/* Git's objects are named by their hashes, and there are many of
				 * them. */
				bool objects = strcmp(name, "objects") == 0 && length > 5 &&
					       strncmp(walk->path + length - 5, "/.git", 5) == 0;

				child = objects ? -1
						: openat(directory, name,
							 O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
								 O_CLOEXEC);
				if (child >= 0)
					r = walk_directory(walk, child, length + 1 + name_length,
							   by_name, always, depth + 1, ret_error);
			}
			walk->path[length] = '\0';
			if (r < 0)
				return r;
		}
	}
}

static int walk_tree(struct walk *walk, const char *top, bool by_name, bool always,
		     struct error **ret_error)
{
	int fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t length = strlen(top);

	if (fd < 0)
		return 0;
	if (length == 1)
		length = 0; /* "/" */
	memcpy(walk->path, top, length);
	walk->path[length] = '\0';
	return walk_directory(walk, fd, length, by_name, always, 0, ret_error);
}

/* A pattern is searched for below its fixed part, a plain path is simply looked at. */
static int find_denied(struct walk *walk, const struct list *denied, bool always,
		       struct error **ret_error)
{
	int r = 0;

	for (size_t i = 0; i < denied->count && r == 0; i++) {
		const char *one[] = {denied->items[i], NULL};
		_cleanup_free_ char *fixed = NULL;

		if (!path_has_glob(denied->items[i])) {
			r = mask(walk, denied->items[i], always, 0, ret_error);
			continue;
		}
		fixed = path_fixed_part(denied->items[i]);
		walk->patterns = one;
		r = walk_tree(walk, fixed, false, always, ret_error);
	}
	return r;
}

static int by_length(const void *a, const void *b)
{
	return (int)strlen(*(char *const *)a) - (int)strlen(*(char *const *)b);
}

int find_masks(const struct search *search, struct list *ret_masks, struct error **ret_error)
{
	static const char *const none[] = {NULL};
	struct walk *walk = calloc(1, sizeof(*walk));
	int r;

	if (!walk)
		abort();
	*walk = (struct walk){
		.search = search, .masks = ret_masks, .deadline = monotonic_ns() + walk_ns};
	r = find_denied(walk, search->deny_always, true, ret_error);
	if (r == 0)
		r = find_denied(walk, search->deny, false, ret_error);
	walk->patterns = none;
	if (r == 0)
		r = walk_tree(walk, search->workspace, true, false, ret_error);
	if (r == 0 && ret_masks->count > 1)
		qsort(ret_masks->items, ret_masks->count, sizeof(char *), by_length);
	free(walk);
	return r;
}
