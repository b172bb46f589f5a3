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

enum { DEPTH = 128, BUFFER = 32 * 1024, MASKS = 5000 };
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
	struct masks *masks;
	uint64_t deadline;
	unsigned entries;
	const char *const *patterns; /* that are matched against whole paths; NULL-terminated */
	char path[PATH_MAX];
};

static bool matches_any(const struct list *patterns, const char *path)
{
	for (size_t i = 0; i < patterns->count; i++)
		if (path_is_under(path, patterns->items[i]) ||
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

static bool already_covered(const struct masks *masks, const char *path)
{
	for (size_t i = 0; i < masks->count; i++)
		if (masks->items[i].is_directory ? path_is_under(path, masks->items[i].path)
						 : strcmp(path, masks->items[i].path) == 0)
			return true;
	return false;
}

static void add(struct masks *masks, const char *path, const struct stat *st)
{
	if (masks->count == masks->room) {
		masks->room = MAX(masks->room * 2, (size_t)16);
		masks->items = reallocarray(masks->items, masks->room, sizeof(*masks->items));
	}
	if (!masks->items)
		abort();
	masks->items[masks->count++] =
		(struct mask){strdup(path), st->st_dev, st->st_ino, S_ISDIR(st->st_mode)};
}

enum why {
	DENIED_BY_DEFAULT,
	DENIED_BY_NAME, /* a name in the workspace */
	DENIED_ALWAYS,
};

static int mask(struct walk *walk, const char *path, enum why why, unsigned depth,
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
			r = mask(walk, child, DENIED_BY_DEFAULT, depth + 1, ret_error);
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

/* True where a mask would cover the ground the command stands on, which hides nothing and breaks
 * everything. */
static bool is_ground(const struct search *search, const char *path)
{
	return path_is_under(search->workspace, path);
}

/* The host's /run is not there inside, nor its /tmp but for what is writable in it. */
static bool is_hidden(const struct search *search, const char *path)
{
	if (path_is_under(path,
			  "/run")) /* docker.sock, for one; nothing below it is ever writable */
		return true;
	if (!path_is_under(path, "/tmp"))
		return false;
	for (size_t i = 0; i < search->writable->count; i++)
		if (path_is_under(path, search->writable->items[i]))
			return false;
	return true;
}

/* Where programs and the kernel live there are no secrets, and a mask would take the command its
 * tools. */
static bool is_system(const char *path)
{
	static const char *const places[] = {"/usr",  "/bin", "/sbin", "/lib", "/lib32", "/lib64",
					     "/proc", "/sys", "/dev",  "/run", "/boot"};

	for (size_t i = 0; i < ELEMENTS(places); i++)
		if (path_is_under(path, places[i]))
			return true;
	return false;
}

/* A directory on the way is closed to us. If it is ours, the command could open it again: then it
 * is masked as a whole. */
static int mask_closed(struct walk *walk, const char *path, struct error **ret_error)
{
	_cleanup_free_ char *parent = strdup(path);
	struct stat st;
	char *slash;

	while (parent && (slash = strrchr(parent, '/')) && slash != parent) {
		*slash = '\0';
		if (lstat(parent, &st) == 0)
			break;
	}
	if (!parent || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
	    already_covered(walk->masks, parent))
		return 0;
	if (is_hidden(walk->search, parent))
		return 0;
	if (is_ground(walk->search, parent))
		return fail(ret_error, E_ENGINE, "%s cannot be looked into", parent);
	add(walk->masks, parent, &st);
	return 0;
}

/* Links in path are looked through, so that what is covered is the thing itself. Where the name
 * alone speaks for it, whoever filled the workspace chose the name: a link of such a name is
 * followed to a file only. */
static int mask(struct walk *walk, const char *path, enum why why, unsigned depth,
		struct error **ret_error)
{
	const struct search *search = walk->search;
	bool always = why == DENIED_ALWAYS;
	char real[PATH_MAX];
	struct stat st;

	if (depth > DEPTH)
		return fail(ret_error, E_ENGINE, "%s is nested too deeply to be masked", path);
	if (walk->masks->count >= MASKS) {
		fail(ret_error, E_ENGINE, "there are more than %d secrets to be masked", MASKS);
		return error_hint(
			ret_error,
			"choose a smaller --workspace, or let some be read: --read '**/.env.*'");
	}
	if (path_real(path, real, &st) < 0)
		/* Most are not there, and one look tells. */
		return errno == EACCES ? mask_closed(walk, path, ret_error) : 0;
	if (!always && (matches_any(search->except, path) || matches_any(search->except, real)))
		return 0;
	if (is_ground(search, real) && always) {
		fail(ret_error, E_USAGE, "%s holds the workspace and cannot be denied", real);
		return error_hint(ret_error, "choose another --workspace, or deny what lies in it");
	}
	if (already_covered(walk->masks, real) || is_ground(search, real) ||
	    is_hidden(search, real))
		return 0;
	if (why == DENIED_BY_NAME && !path_is_under(real, search->workspace) &&
	    (!S_ISREG(st.st_mode) || is_system(real)))
		return 0;
	/* Closed to this user anyway, and not theirs to open: the system's own permissions are the
	 * mask. */
	if (st.st_uid != geteuid() && faccessat(AT_FDCWD, real, R_OK, AT_EACCESS) < 0 &&
	    faccessat(AT_FDCWD, real, X_OK, AT_EACCESS) < 0 &&
	    faccessat(AT_FDCWD, real, W_OK, AT_EACCESS) < 0)
		return 0;
	if (!always && S_ISDIR(st.st_mode) && exception_below(search->except, real))
		return mask_entries(walk, real, depth, ret_error);
	add(walk->masks, real, &st);
	return 0;
}

static int walk_directory(struct walk *walk, int fd, size_t length, enum why why, unsigned depth,
			  struct error **ret_error);

static bool pattern_matches(const struct walk *walk, const char *path)
{
	for (size_t i = 0; walk->patterns[i]; i++)
		if (path_matches(walk->patterns[i], path, NULL))
			return true;
	return false;
}

/* Git's loose objects lie in up to 256 directories by the first two digits of their hashes, and
 * nobody keeps secrets there. No run can move one there either: what lies above a secret cannot be
 * renamed. */
static bool is_object_directory(const struct walk *walk, size_t length, const char *name)
{
	static const char objects[] = "/.git/objects", digits[] = "0123456789abcdef";
	size_t tail = sizeof(objects) - 1;

	return strlen(name) == 2 && strspn(name, digits) == 2 && length > tail &&
	       strncmp(walk->path + length - tail, objects, tail) == 0;
}

/* One entry of a directory that walk->path (length bytes of it) names. */
static int walk_entry(struct walk *walk, int directory, size_t length, const struct entry64 *entry,
		      enum why why, unsigned depth, struct error **ret_error)
{
	const char *name = entry->name;
	size_t name_length = strlen(name);
	bool named = why == DENIED_BY_NAME && name_is_denied(walk->search, name);
	bool may_be_directory = entry->type == DT_DIR || entry->type == DT_UNKNOWN;
	char found[PATH_MAX];
	int child;

	if (!may_be_directory && !named && !walk->patterns[0])
		return 0;
	if (length + name_length + 2 > sizeof(walk->path))
		return fail(ret_error, E_ENGINE, "a path below %s is too long to be searched",
			    walk->path);
	walk->path[length] = '/';
	memcpy(walk->path + length + 1, name, name_length + 1);
	if (named || pattern_matches(walk, walk->path)) {
		strcpy(found, walk->path);
		return mask(walk, found, why, depth, ret_error);
	}
	if (!may_be_directory || is_object_directory(walk, length, name) ||
	    already_covered(walk->masks, walk->path))
		return 0; /* what is masked as a whole, ward's own state too, may be of any depth */
	child = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (child >= 0)
		return walk_directory(walk, child, length + 1 + name_length, why, depth + 1,
				      ret_error);
	/* Gone since: builds beside us make and remove directories all the time. Another run cannot
	 * move one with a secret. */
	if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)
		return 0;
	/* Closed to us; its owner could open it again, and then what lies below would be seen. */
	strcpy(found, walk->path);
	return mask(walk, found, why, depth, ret_error);
}

/* Everything below walk->path (length bytes of it), which fd is open on. Takes ownership of fd. */
static int walk_directory(struct walk *walk, int fd, size_t length, enum why why, unsigned depth,
			  struct error **ret_error)
{
	_cleanup_close_ int directory = fd;
	_Alignas(8) char buffer[BUFFER];
	int r = 0;

	if (depth > DEPTH)
		return fail(ret_error, E_ENGINE,
			    "%s is nested too deeply to be searched for secrets", walk->path);
	for (;;) {
		long got = syscall(SYS_getdents64, directory, buffer, sizeof(buffer));

		if (got < 0) /* what cannot be searched is not shown */
			return mask(walk, walk->path, why, depth, ret_error);
		if (got == 0)
			return 0;
		if (monotonic_ns() > walk->deadline || walk->entries > walk_entries) {
			fail(ret_error, E_ENGINE,
			     "the workspace %s is too large to be searched for secrets in time",
			     walk->search->workspace);
			return error_hint(ret_error, "choose a smaller --workspace");
		}
		for (long at = 0; at < got;) {
			const struct entry64 *entry = (struct entry64 *)(buffer + at);

			at += entry->length;
			walk->entries++;
			if (entry->name[0] == '.' &&
			    (entry->name[1] == '\0' ||
			     (entry->name[1] == '.' && entry->name[2] == '\0')))
				continue;
			r = walk_entry(walk, directory, length, entry, why, depth, ret_error);
			walk->path[length] = '\0';
			if (r < 0)
				return r;
		}
	}
}

static int walk_tree(struct walk *walk, const char *top, enum why why, struct error **ret_error)
{
	int fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t length = strlen(top);

	if (fd < 0)
		return errno == EACCES ? mask_closed(walk, top, ret_error) : 0;
	if (length == 1)
		length = 0; /* "/" */
	memcpy(walk->path, top, length);
	walk->path[length] = '\0';
	return walk_directory(walk, fd, length, why, 0, ret_error);
}

/* A pattern is searched for below its fixed part, a plain path is simply looked at. */
static int find_denied(struct walk *walk, const struct list *denied, enum why why,
		       struct error **ret_error)
{
	int r = 0;

	for (size_t i = 0; i < denied->count && r == 0; i++) {
		const char *one[] = {denied->items[i], NULL};
		_cleanup_free_ char *fixed = NULL;

		if (!path_has_glob(denied->items[i])) {
			r = mask(walk, denied->items[i], why, 0, ret_error);
			continue;
		}
		fixed = path_fixed_part(denied->items[i]);
		walk->patterns = one;
		r = walk_tree(walk, fixed, why, ret_error);
	}
	return r;
}

/* A parent found after its child makes the child's own mask needless, and unreachable. */
static void drop_covered(struct masks *masks)
{
	size_t kept = 0;

	for (size_t i = 0; i < masks->count; i++) {
		bool covered = false;

		for (size_t other = 0; other < masks->count && !covered; other++)
			covered = masks->items[other].is_directory && other != i &&
				  masks->items[other].path && masks->items[i].path &&
				  strlen(masks->items[other].path) < strlen(masks->items[i].path) &&
				  path_is_under(masks->items[i].path, masks->items[other].path);
		if (covered) {
			free(masks->items[i].path);
			masks->items[i].path = NULL;
		}
	}
	for (size_t i = 0; i < masks->count; i++)
		if (masks->items[i].path)
			masks->items[kept++] = masks->items[i];
	masks->count = kept;
}

int find_masks(const struct search *search, struct masks *ret_masks, struct error **ret_error)
{
	static const char *const none[] = {NULL};
	struct walk *walk = calloc(1, sizeof(*walk));
	int r;

	if (!walk)
		abort();
	*walk = (struct walk){
		.search = search, .masks = ret_masks, .deadline = monotonic_ns() + walk_ns};
	r = find_denied(walk, search->deny_always, DENIED_ALWAYS, ret_error);
	if (r == 0)
		r = find_denied(walk, search->deny, DENIED_BY_DEFAULT, ret_error);
	walk->patterns = none;
	if (r == 0)
		r = walk_tree(walk, search->workspace, DENIED_BY_NAME, ret_error);
	drop_covered(ret_masks);
	free(walk);
	return r;
}

void masks_done(struct masks *masks)
{
	for (size_t i = 0; i < masks->count; i++)
		free(masks->items[i].path);
	free(masks->items);
	*masks = (struct masks){0};
}
