/* SPDX-License-Identifier: Apache-2.0 */
/* The walk.
 *
 * A directory whose ctime is the same has the same names in it: entries cannot come, go or change
 * their kind without changing it, and nobody can set it (mtime can be set). So for such a directory
 * one look is enough, and what was found in it last time is found again. Its subdirectories have
 * ctimes of their own: every one is looked at in each walk. */
#include "walk.h"
#include "cache.h"
#include "needle.h"
#include "../base/path.h"
#include "../base/units.h"
#include "../sys/kernel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum {
	DEPTH = 128,
	BUFFER = 32 * 1024,
	CACHE_FROM = 16,       /* directories; below that reading them costs less than a cache */
	CACHE_STALE_PART = 32, /* write it again when more than one in so many was read anew, */
	CACHE_STALE_FEW = 8,   /* and more than these: to write it costs as much as to read them */
	CHECK_EVERY = 64,      /* looks at the clock */
	SEARCH_CHILDREN = 64,
};
static const uint64_t walk_entries = 5000000;

struct entry64 { /* as getdents64 gives it */
	uint64_t inode;
	int64_t next;
	uint16_t length;
	uint8_t type;
	char name[];
};

struct walk {
	const struct walk_search *search;
	struct needle *needles;
	int deepest; /* components; what lies deeper can match nothing */
	int top;     /* open */
	size_t top_length;
	dev_t device;
	bool caching;
	struct cache cache;
	struct buffer key, records;
	struct walk_count count;
	uint64_t entries;
	size_t length; /* of path */
	char path[PATH_MAX];
};

/* The first of the rules from *at on that means the entry; walk->path is the directory. 1, 0 at the
 * end. */
static int next_match(struct walk *walk, size_t *at, const char *name, size_t length,
		      struct error **ret_error)
{
	int r = 0;

	for (; *at < walk->search->rule_count; ++*at) {
		char first = walk->needles[*at].first;

		if (first && first != name[0]) /* most of them */
			continue;
		r = needle_matches(&walk->needles[*at], walk->search->not_names, walk->path, name,
				   length, ret_error);
		if (r != 0)
			break;
	}
	return r;
}

bool walk_may_be_reopened(const struct list *reopened, const char *path)
{
	for (size_t i = 0; i < reopened->count; i++) {
		_cleanup_free_ char *fixed = path_fixed_part(reopened->items[i]);

		if (path_is_under(fixed, path) || path_is_under(path, fixed))
			return true;
	}
	return false;
}

/* Tells of every rule that means the entry. 1: nothing below it matters. */
static int tell(struct walk *walk, const char *name, struct error **ret_error)
{
	size_t at = 0, length = strlen(name), before = walk->length;
	bool denied = false;
	int r;

	while ((r = next_match(walk, &at, name, length, ret_error)) == 1) {
		const struct file_rule *rule = walk->needles[at++].rule;
		char path[PATH_MAX];

		if (before + length + 2 > sizeof(path))
			return fail(ret_error, E_ENGINE, "a path below %s is too long", walk->path);
		snprintf(path, sizeof(path), "%.*s/%s", (int)before, walk->path, name);
		denied |= rule->access == ACCESS_DENY;
		r = walk->search->found(walk->search->data, rule, path, ret_error);
		if (r < 0)
			return r;
	}
	if (r == 0 && denied) {
		char path[PATH_MAX + NAME_MAX + 2];

		snprintf(path, sizeof(path), "%s/%s", walk->path, name);
		return !walk_may_be_reopened(walk->search->reopened, path);
	}
	return r;
}

/* Git's loose objects lie in up to 256 directories by the first two digits of their hashes, and
 * nobody keeps secrets there. No run can move one there either: what lies above a secret cannot be
 * renamed. */
static bool is_object_directory(const struct walk *walk, const char *name)
{
	static const char objects[] = "/.git/objects", digits[] = "0123456789abcdef";
	size_t tail = sizeof(objects) - 1;

	return strlen(name) == 2 && strspn(name, digits) == 2 && walk->length > tail &&
	       strcmp(walk->path + walk->length - tail, objects) == 0;
}

/* The kernel's own file systems, and what every sandbox has of its own. */
static bool is_unreal(const char *path)
{
	return strcmp(path, "/proc") == 0 || strcmp(path, "/sys") == 0 ||
	       strcmp(path, "/dev") == 0 || strcmp(path, "/run") == 0;
}

static int push(struct walk *walk, const char *name, struct error **ret_error)
{
	size_t length = strlen(name);

	if (walk->length + length + 2 > sizeof(walk->path))
		return fail(ret_error, E_ENGINE, "a path below %s is too long to be searched",
			    walk->path);
	walk->path[walk->length] = '/';
	memcpy(walk->path + walk->length + 1, name, length + 1);
	walk->length += length + 1;
	return 0;
}

static void pop(struct walk *walk, size_t length)
{
	walk->length = length;
	walk->path[length] = '\0';
}

static const char *relative(const struct walk *walk)
{
	return walk->length > walk->top_length ? walk->path + walk->top_length + 1 : ".";
}

static size_t begin_record(struct walk *walk, const char *name)
{
	struct record record = {.name = (uint32_t)strlen(name) + 1};
	size_t place = walk->records.length;

	if (!walk->caching)
		return 0;
	buffer_add(&walk->records, &record, sizeof(record));
	buffer_add(&walk->records, name, record.name);
	return place;
}

static struct record *record_in(struct walk *walk, size_t place)
{
	return (struct record *)(walk->records.data + place);
}

static void add_name(struct walk *walk, size_t place, const char *name)
{
	if (!walk->caching)
		return;
	buffer_add(&walk->records, name, strlen(name) + 1);
	record_in(walk, place)->names += (uint32_t)strlen(name) + 1;
}

static void end_names(struct walk *walk)
{
	static const char nothing[8];

	if (walk->caching && walk->records.length % 8)
		buffer_add(&walk->records, nothing, 8 - walk->records.length % 8);
}

static void end_record(struct walk *walk, size_t place)
{
	if (walk->caching)
		record_in(walk, place)->end = (uint32_t)walk->records.length;
}

static int visit(struct walk *walk, const struct record *known, unsigned depth,
		 struct error **ret_error);

static int too_large(struct walk *walk, struct error **ret_error)
{
	fail(ret_error, E_ENGINE, "%s is too large to be searched in time", walk->search->top);
	return error_hint(ret_error, "choose a smaller --workspace, or a pattern that begins with "
				     "the directory that it is for");
}

/* A directory that is as it was: what was found is found again. */
static int visit_known(struct walk *walk, const struct record *known, size_t place, unsigned depth,
		       struct error **ret_error)
{
	size_t offset = (size_t)((const char *)known - walk->cache.records) + record_size(known);
	const char *names = known->text + known->name;
	int r = 0;

	for (size_t at = 0; at < known->names && r >= 0; at += strlen(names + at) + 1) {
		r = tell(walk, names + at, ret_error);
		add_name(walk, place, names + at);
	}
	end_names(walk);
	while (r >= 0 && offset < known->end) {
		const struct record *child = cache_record(&walk->cache, offset, known->end);
		size_t length = walk->length;

		if (!child)
			return fail(ret_error, E_ENGINE, "the cache of the walk is not whole");
		r = push(walk, child->text, ret_error);
		if (r == 0)
			r = visit(walk, child, depth + 1, ret_error);
		pop(walk, length);
		offset = child->end;
	}
	return MIN(r, 0);
}

/* A child of a directory that has changed may itself be as it was. *cursor goes along with the
 * names, which mostly come in the same order. */
static const struct record *find_child(const struct walk *walk, const struct record *known,
				       size_t *cursor, const char *name)
{
	size_t begin, offset;

	if (!known)
		return NULL;
	begin = (size_t)((const char *)known - walk->cache.records) + record_size(known);
	offset = MAX(*cursor, begin);
	for (int i = 0; i < SEARCH_CHILDREN; i++) {
		const struct record *child = cache_record(&walk->cache, offset, known->end);

		if (child && strcmp(child->text, name) == 0) {
			*cursor = child->end;
			return child;
		}
		offset = child ? child->end : begin;
	}
	return NULL;
}

static bool is_covered(const struct walk *walk, const char *name)
{
	const struct list *covered = walk->search->covered;

	for (size_t i = 0; i < covered->count; i++) {
		const char *path = covered->items[i];

		if (strncmp(path, walk->path, walk->length) == 0 && path[walk->length] == '/' &&
		    strcmp(path + walk->length + 1, name) == 0)
			return true;
	}
	return false;
}

/* One entry of the directory that is read: told of, and kept if it is to be gone into. */
static int take_entry(struct walk *walk, const struct entry64 *entry, size_t place,
		      struct buffer *children, struct error **ret_error)
{
	const char *name = entry->name;
	size_t at = 0;
	int r = 0, below = 0;

	if (name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2])))
		return 0;
	r = next_match(walk, &at, name, strlen(name), ret_error);
	if (r == 1) {
		add_name(walk, place, name);
		r = below = tell(walk, name, ret_error);
	}
	if (r < 0)
		return r;
	if (entry->type == DT_UNKNOWN)
		walk->caching = false;
	if ((entry->type == DT_DIR || entry->type == DT_UNKNOWN) && below == 0 &&
	    !is_object_directory(walk, name) && !is_covered(walk, name))
		buffer_add(children, name, strlen(name) + 1);
	return 0;
}

static int read_entries(struct walk *walk, int fd, size_t place, struct buffer *children,
			struct error **ret_error)
{
	static _Alignas(8) char buffer[BUFFER]; /* of a stack's every page would be touched */
	long got;

	while ((got = syscall(SYS_getdents64, fd, buffer, sizeof(buffer))) > 0) {
		for (long at = 0; at < got;) {
			const struct entry64 *entry = (struct entry64 *)(buffer + at);
			int r = take_entry(walk, entry, place, children, ret_error);

			if (r < 0)
				return r;
			at += entry->length;
			walk->entries++;
		}
		if (walk->entries > walk_entries || monotonic_ns() > walk->search->deadline)
			return too_large(walk, ret_error);
	}
	/* What cannot be searched is not shown. */
	return got < 0 ? walk->search->closed(walk->search->data, walk->path, ret_error) : 0;
}

static void stamp(struct walk *walk, size_t place, const struct stat *st)
{
	struct timespec now;
	struct record *record;

	if (!walk->caching)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	record = record_in(walk, place);
	if (st->st_dev != walk->device || !cache_trusts_time(&st->st_ctim, &now))
		return;
	record->inode = st->st_ino;
	record->seconds = st->st_ctim.tv_sec;
	record->nanoseconds = (uint32_t)st->st_ctim.tv_nsec;
}

/* One component after the other, where openat2 is not there: inside another ward, for one. */
static int open_by_steps(int top, const char *path)
{
	int fd = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), next;
	char name[NAME_MAX + 1];

	while (fd >= 0 && *path) {
		size_t length = strcspn(path, "/");

		if (length > NAME_MAX) {
			close(fd);
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(name, path, length);
		name[length] = '\0';
		path += length + (path[length] == '/');
		next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		close(fd);
		fd = next;
	}
	return fd;
}

static int open_below(int top, const char *path)
{
	int fd = sys_openat2(top, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC,
			     RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH);

	return fd < 0 && errno == ENOSYS ? open_by_steps(top, path) : fd;
}

static int visit_unknown(struct walk *walk, const struct record *known, size_t place,
			 unsigned depth, struct error **ret_error)
{
	_cleanup_close_ int fd = open_below(walk->top, relative(walk));
	_cleanup_buffer_ struct buffer children = {0};
	size_t cursor = 0, length = walk->length;
	struct stat st;
	int r;

	if (fd < 0) {
		end_names(walk);
		/* Gone since: builds beside us make and remove directories all the time. Another
		 * run cannot move one with a secret. */
		if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)
			return 0;
		/* Closed to us; its owner could open it again, and then what lies below would be
		 * seen. */
		return walk->search->closed(walk->search->data, walk->path, ret_error);
	}
	if (walk->caching && fstat(fd, &st) == 0)
		stamp(walk, place, &st); /* from before it is read */
	walk->count.read++;
	r = read_entries(walk, fd, place, &children, ret_error);
	end_names(walk);
	close_fd(&fd);
	if (needle_components(walk->path) + 1 >= walk->deepest)
		return r;
	for (size_t at = 0; at < children.length && r == 0; at += strlen(children.data + at) + 1) {
		r = push(walk, children.data + at, ret_error);
		if (r == 0 && !is_unreal(walk->path))
			r = visit(walk, find_child(walk, known, &cursor, children.data + at),
				  depth + 1, ret_error);
		pop(walk, length);
	}
	return r;
}

static bool is_same(const struct walk *walk, const struct record *known)
{
	struct stat st;

	return known && known->inode &&
	       fstatat(walk->top, relative(walk), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode) && st.st_dev == walk->device && st.st_ino == known->inode &&
	       st.st_ctim.tv_sec == known->seconds &&
	       st.st_ctim.tv_nsec == (long)known->nanoseconds;
}

/* Everything below walk->path. known: what the last walk saw there, or NULL. */
static int visit(struct walk *walk, const struct record *known, unsigned depth,
		 struct error **ret_error)
{
	size_t place;
	int r;

	if (depth > DEPTH)
		return fail(ret_error, E_ENGINE,
			    "%s is nested too deeply to be searched for secrets", walk->path);
	if (++walk->count.directories % CHECK_EVERY == 0 && monotonic_ns() > walk->search->deadline)
		return too_large(walk, ret_error);
	place = begin_record(walk, depth ? path_last(walk->path) : ".");
	if (is_same(walk, known)) {
		if (walk->caching) {
			struct record *record = record_in(walk, place);

			record->inode = known->inode;
			record->seconds = known->seconds;
			record->nanoseconds = known->nanoseconds;
		}
		r = visit_known(walk, known, place, depth, ret_error);
	} else {
		r = visit_unknown(walk, known, place, depth, ret_error);
	}
	end_record(walk, place);
	return r;
}

static bool matters(const char *top, const char *pattern)
{
	_cleanup_free_ char *fixed = path_fixed_part(pattern);

	return path_is_under(fixed, top) || path_is_under(top, fixed);
}

/* Everything that decides what is found and where is looked. */
static void make_key(struct walk *walk, const struct stat *st)
{
	const struct walk_search *search = walk->search;
	const struct list *lists[] = {search->not_names, search->covered, search->reopened};

	buffer_printf(&walk->key, "%s%c%llu %llu", search->top, '\0',
		      (unsigned long long)st->st_dev, (unsigned long long)st->st_ino);
	for (size_t i = 0; i < search->rule_count; i++)
		buffer_printf(&walk->key, "%c%u%u%s", '\0', search->rules[i]->access,
			      search->rules[i]->weight, search->rules[i]->pattern);
	for (size_t l = 0; l < ELEMENTS(lists); l++) {
		buffer_printf(&walk->key, "%c", '\0');
		for (size_t i = 0; i < lists[l]->count; i++)
			if (l == 0 || matters(search->top, lists[l]->items[i]))
				buffer_printf(&walk->key, "%c%s", '\0', lists[l]->items[i]);
	}
	while (walk->key.length % 8) /* the records behind it are aligned */
		buffer_add_char(&walk->key, '\0');
}

static int walk_open(struct walk *walk, struct error **ret_error)
{
	const struct walk_search *search = walk->search;
	const struct record *known = NULL;
	struct stat st;
	int r;

	if (fstat(walk->top, &st) < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "looking at %s", search->top);
	walk->device = st.st_dev;
	walk->caching = search->cache && walk->deepest == NEEDLE_ANY_DEPTH &&
			cache_trusts_file_system(walk->top);
	if (walk->caching) {
		make_key(walk, &st);
		cache_read(search->cache, &walk->key, &walk->cache);
		if (walk->cache.length)
			known = cache_record(&walk->cache, 0, walk->cache.length);
	}
	walk->length = walk->top_length = strlen(search->top) > 1 ? strlen(search->top) : 0;
	memcpy(walk->path, search->top, walk->length);
	r = visit(walk, known, 0, ret_error);
	if (r == 0 && walk->caching && walk->count.directories >= CACHE_FROM &&
	    walk->count.read >
		    (known ? MAX(walk->count.directories / CACHE_STALE_PART, CACHE_STALE_FEW)
			   : 0) &&
	    walk->records.length < UINT32_MAX)
		cache_write(search->cache, &walk->key, &walk->records);
	return r;
}

int walk_tree(const struct walk_search *search, struct walk_count *ret_count,
	      struct error **ret_error)
{
	struct walk *walk = calloc(1, sizeof(*walk));
	int r = 0;

	if (!walk)
		abort();
	walk->search = search;
	walk->needles = calloc(search->rule_count + 1, sizeof(*walk->needles));
	if (!walk->needles)
		abort();
	for (size_t i = 0; i < search->rule_count; i++) {
		needle_prepare(search->rules[i], &walk->needles[i]);
		walk->deepest = MAX(walk->deepest, walk->needles[i].deepest);
	}
	walk->top = open(search->top, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (walk->top >= 0)
		r = walk_open(walk, ret_error);
	else if (errno == EACCES)
		r = search->closed(search->data, search->top, ret_error);
	if (ret_count)
		*ret_count = walk->count;
	close_fd(&walk->top);
	cache_done(&walk->cache);
	buffer_done(&walk->key);
	buffer_done(&walk->records);
	free(walk->needles);
	free(walk);
	return r;
}
