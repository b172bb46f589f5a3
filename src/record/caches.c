/* SPDX-License-Identifier: Apache-2.0 */
/* STATE/caches/ID: a file `workspace` with its path, and for each slot a directory by its number
 * with lock, .ward-inside-layer/ (what commands wrote) and work/. When it was last used is the time
 * of the lock. */
#include "caches.h"
#include "../base/guard.h"
#include "../base/io.h"
#include "../base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium/crypto_hash_sha256.h>
#include <sodium/utils.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

enum {
	SLOTS = 16,
	ID_BYTES = 10,
	DEPTH_MOST = 200,
	COUNT_MOST = 2000000,
	SWEEP_LOOK = 1000, /* workspaces that are looked at */
	SWEEP_MOST = 20000 /* files that are removed */
};
static const int64_t unused_seconds = 30 * 24 * 3600, gone_seconds = 24 * 3600,
		     sweep_seconds = 3600;

/* What is on its way out, by a name that no id has. */
static const char removed[] = ".removed-";

char *cache_id(const char *workspace)
{
	unsigned char hash[crypto_hash_sha256_BYTES];
	char *id = malloc(2 * ID_BYTES + 1);

	if (!id)
		abort();
	crypto_hash_sha256(hash, (const unsigned char *)workspace, strlen(workspace));
	sodium_bin2hex(id, 2 * ID_BYTES + 1, hash, ID_BYTES);
	return id;
}

static int open_caches(const char *state)
{
	_cleanup_free_ char *path = path_resolve(state, NULL, "caches");

	return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int open_below(int directory, const char *name)
{
	return openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int make_workspace(const char *directory, const char *workspace)
{
	_cleanup_close_ int fd = -1, file = -1;
	int r = make_directories(directory, 0700);

	if (r < 0)
		return r;
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	file = openat(fd, "workspace", O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	return file < 0 ? -errno : write_all(file, workspace, strlen(workspace));
}

/* The slot's lock, held; -EWOULDBLOCK where somebody else has it. */
static int take_slot(int directory, const char *name)
{
	_cleanup_close_ int slot = -1, lock = -1;
	struct stat st;

	slot = open_below(directory, name);
	if (slot < 0 && errno == ENOENT && (mkdirat(directory, name, 0700) == 0 || errno == EEXIST))
		slot = open_below(directory, name);
	if (slot < 0)
		return -errno;
	lock = openat(slot, "lock", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	/* The last to be made: where it is, all is. */
	if (lock < 0 && errno == ENOENT) {
		if ((mkdirat(slot, GUARD_INSIDE_LAYER, 0700) < 0 && errno != EEXIST) ||
		    (mkdirat(slot, "work", 0700) < 0 && errno != EEXIST))
			return -errno;
		lock = openat(slot, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	}
	if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	if (fstat(lock, &st) < 0 || st.st_nlink == 0) /* somebody has cleared it meanwhile */
		return -ENOENT;
	/* Of a slot that is older than the name. */
	if (fstatat(slot, GUARD_INSIDE_LAYER, &st, AT_SYMLINK_NOFOLLOW) < 0 &&
	    renameat(slot, "upper", slot, GUARD_INSIDE_LAYER) < 0 &&
	    mkdirat(slot, GUARD_INSIDE_LAYER, 0700) < 0)
		return -errno;
	(void)futimens(lock, NULL);
	return STEAL_FD(lock);
}

/* The first slot, if anything was written there: that lies in directories, which count as links. */
static int look_into(int directory, const char *path, struct cache_slot *ret_slot)
{
	struct stat st;

	if (fstatat(directory, "0/" GUARD_INSIDE_LAYER, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (st.st_nlink == 2)
		return -ENOENT;
	ret_slot->lock = -1;
	if (asprintf(&ret_slot->path, "%s/0", path) < 0)
		abort();
	return 0;
}

int cache_open(const char *state, const char *workspace, bool reads, struct cache_slot *ret_slot)
{
	_cleanup_free_ char *id = cache_id(workspace), *path = NULL;
	_cleanup_close_ int directory = -1;
	char real[PATH_MAX], name[16];
	struct stat st;
	int r = 0;

	if (path_real(state, real, &st) < 0)
		return -errno;
	if (asprintf(&path, "%s/caches/%s", real, id) < 0)
		abort();
	directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (directory >= 0 && reads)
		return look_into(directory, path, ret_slot);
	if (directory < 0 && errno == ENOENT && !reads &&
	    (r = make_workspace(path, workspace)) == 0)
		directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (directory < 0)
		return r < 0 ? r : -errno;
	for (int i = 0; i < SLOTS; i++) {
		snprintf(name, sizeof(name), "%d", i);
		r = take_slot(directory, name);
		if (r != -EWOULDBLOCK)
			break;
	}
	if (r < 0)
		return r;
	ret_slot->lock = r;
	if (asprintf(&ret_slot->path, "%s/%s", path, name) < 0)
		abort();
	return 0;
}

void cache_close(struct cache_slot *slot)
{
	if (slot->lock >= 0)
		(void)flock(slot->lock, LOCK_UN); /* a child of ours may still hold a copy */
	close_fd(&slot->lock);
	free(slot->path);
	*slot = CACHE_SLOT_NONE;
}

/* Adds up what lies in fd, which it takes over. What cannot be looked into is left out. */
static void count(int fd, unsigned depth, struct cache *cache)
{
	DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	struct stat st;

	if (!directory) {
		close_fd(&fd);
		cache->whole = false;
		return;
	}
	while ((entry = readdir(directory))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (cache->files >= COUNT_MOST ||
		    fstatat(dirfd(directory), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			cache->whole = false;
			break;
		}
		cache->bytes += (uint64_t)st.st_blocks * 512;
		if (!S_ISDIR(st.st_mode))
			cache->files++;
		else if (depth < DEPTH_MOST)
			count(open_below(dirfd(directory), entry->d_name), depth + 1, cache);
		else
			cache->whole = false;
	}
	closedir(directory);
}

/* Everything but the size. */
static void look(int directory, struct cache *cache)
{
	for (int i = 0; i < SLOTS; i++) {
		char name[32];
		_cleanup_close_ int lock = -1;
		struct stat st;

		snprintf(name, sizeof(name), "%d/lock", i);
		lock = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		if (lock < 0) {
			/* They are made in turn: behind one that is missing there are none. */
			*strchr(name, '/') = '\0';
			if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
				break;
			continue;
		}
		if (fstat(lock, &st) < 0)
			continue;
		cache->slots++;
		cache->used = MAX(cache->used, (int64_t)st.st_mtime);
		cache->busy += flock(lock, LOCK_SH | LOCK_NB) < 0;
	}
}

/* Opens and looks at one; -1 for what is none. *ret_workspace: the caller frees. */
static int open_one(int caches, const char *id, struct cache *ret_cache, char **ret_workspace)
{
	int fd = id[0] == '.' ? -1 : open_below(caches, id);
	struct stat st;

	if (fd < 0)
		return -1;
	*ret_cache = (struct cache){.id = id, .whole = true};
	if (read_file(fd, "workspace", PATH_MAX, ret_workspace, NULL) < 0)
		*ret_workspace = strdup("");
	ret_cache->workspace = *ret_workspace;
	ret_cache->gone = stat(*ret_workspace, &st) < 0 && (errno == ENOENT || errno == ENOTDIR);
	look(fd, ret_cache);
	if (ret_cache->slots == 0 && fstat(fd, &st) == 0)
		ret_cache->used = st.st_mtime;
	return fd;
}

int cache_list(const char *state, const char *id,
	       int (*each)(const struct cache *cache, void *data), void *data)
{
	int fd = open_caches(state), r = 0;
	DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	while (directory && r == 0 && (entry = readdir(directory))) {
		_cleanup_free_ char *workspace = NULL;
		_cleanup_close_ int one = -1;
		struct cache cache;

		if (id && strcmp(id, entry->d_name) != 0)
			continue;
		one = open_one(dirfd(directory), entry->d_name, &cache, &workspace);
		if (one < 0)
			continue;
		for (int i = 0; i < SLOTS; i++) {
			char layer[64];

			snprintf(layer, sizeof(layer), "%d/" GUARD_INSIDE_LAYER, i);
			if (faccessat(one, layer, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
				count(open_below(one, layer), 0, &cache);
		}
		r = each(&cache, data);
	}
	if (directory)
		closedir(directory);
	else
		close_fd(&fd);
	return r;
}

/* Out of the way at once, so that a run that begins meanwhile begins anew. *ret_name: where it lies
 * then. -EWOULDBLOCK where a run uses it. */
static int put_aside(int caches, const char *id, char ret_name[static 64])
{
	_cleanup_close_ int fd = open_below(caches, id);
	int locks[SLOTS], r = 0;

	memset(locks, -1, sizeof(locks));
	if (fd < 0)
		return -errno;
	for (int i = 0; i < SLOTS && r == 0; i++) {
		char name[32];

		snprintf(name, sizeof(name), "%d/lock", i);
		locks[i] = openat(fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		if (locks[i] >= 0 && flock(locks[i], LOCK_EX | LOCK_NB) < 0)
			r = -errno;
	}
	snprintf(ret_name, 64, "%s%d-%.32s", removed, getpid(), id);
	if (r == 0 && renameat(caches, id, caches, ret_name) < 0)
		r = -errno;
	for (int i = 0; i < SLOTS; i++)
		close_fd(&locks[i]);
	return r;
}

int cache_clear(const char *state, const char *id, struct error **ret_error)
{
	_cleanup_close_ int caches = open_caches(state);
	char name[64];
	int r = caches < 0 ? -errno : put_aside(caches, id, name);

	if (r == -EWOULDBLOCK) {
		fail(ret_error, E_USAGE, "a command uses it");
		return error_hint(ret_error, "wait for its end, or end it first");
	}
	if (r == 0)
		r = remove_tree(caches, name);
	return r < 0 ? fail_errno(ret_error, E_ENGINE, -r, "removing %s/caches/%s", state, id) : 0;
}

static bool is_stale(const struct cache *cache)
{
	int64_t now = time(NULL);

	return cache->busy == 0 &&
	       cache->used + (cache->gone ? gone_seconds : unused_seconds) < now;
}

bool cache_sweep(const char *state)
{
	int fd = open_caches(state), looked = 0, r = 0;
	DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	/* What is large is removed by several calls, so only one is at a time. */
	while (directory && r == 0 && looked++ < SWEEP_LOOK && (entry = readdir(directory))) {
		_cleanup_free_ char *workspace = NULL;
		_cleanup_close_ int one = -1;
		struct cache cache;
		char name[64];

		if (strncmp(entry->d_name, removed, strlen(removed)) == 0) {
			r = remove_tree_part(dirfd(directory), entry->d_name, SWEEP_MOST);
			continue;
		}
		one = open_one(dirfd(directory), entry->d_name, &cache, &workspace);
		if (one < 0 || !is_stale(&cache) ||
		    put_aside(dirfd(directory), entry->d_name, name) < 0)
			continue;
		r = remove_tree_part(dirfd(directory), name, SWEEP_MOST);
	}
	if (directory)
		closedir(directory);
	else
		close_fd(&fd);
	return r == 0;
}

void cache_sweep_at_times(const char *state)
{
	const struct timespec swept[] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
	_cleanup_close_ int caches = open_caches(state);
	int64_t since;
	struct stat st;

	if (caches < 0 || fstat(caches, &st) < 0)
		return;
	since = (int64_t)time(NULL) - st.st_atim.tv_sec;
	if ((since < 0 || since >= sweep_seconds) && cache_sweep(state))
		(void)futimens(caches, swept);
}
