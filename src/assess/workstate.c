/* SPDX-License-Identifier: Apache-2.0 */
/* The content of a workspace, hashed within bounds. */
#include "workstate.h"
#include "../base/macro.h"
#include "../base/list.h"
#include "index.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MOST = 50000, DEPTH_MOST = 64, PIECE = 64 * 1024 };
static const uint64_t bytes_most = UINT64_C(256) << 20;

/* What programs leave behind when they are run: it changes without anybody's work. */
static const char *const products[] = {"__pycache__", "node_modules", "build",
				       "target",      "dist",	      "out"};

struct looking {
	crypto_hash_sha256_state hash;
	uint64_t bytes;
	unsigned files;
	bool failed;
};

static void add(struct looking *looking, const void *data, size_t length)
{
	crypto_hash_sha256_update(&looking->hash, data, length);
}

/* Its parts cannot be shifted against each other: each has its length before it. */
static void add_part(struct looking *looking, const void *data, size_t length)
{
	uint64_t number = length;

	add(looking, &number, sizeof(number));
	add(looking, data, length);
}

/* The directory that the last component lies in, through no link. */
static int open_parent(int root, const char *path, const char **ret_name)
{
	_cleanup_close_ int at = openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *slash;
	int result;

	while (at >= 0 && (slash = strchr(path, '/'))) {
		_cleanup_free_ char *name = strndup(path, (size_t)(slash - path));
		int next =
			strcmp(name, "..") == 0 || !*name
				? -1
				: openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		close(at);
		at = next;
		path = slash + 1;
	}
	*ret_name = path;
	result = at;
	at = -1;
	return result;
}

static void add_content(struct looking *looking, int fd, const struct stat *st)
{
	char piece[PIECE];
	uint64_t size = (uint64_t)st->st_size;
	ssize_t got;

	looking->bytes += size;
	if (looking->bytes > bytes_most) {
		looking->failed = true;
		return;
	}
	add(looking, &size, sizeof(size));
	for (uint64_t left = size; left > 0; left -= (uint64_t)got) {
		got = read(fd, piece, left < sizeof(piece) ? (size_t)left : sizeof(piece));
		if (got <= 0) { /* it is being changed */
			looking->failed = true;
			return;
		}
		add(looking, piece, (size_t)got);
	}
}

/* One that is gone, or is no file any more, is a state as well. */
static void add_file(struct looking *looking, int root, const char *path)
{
	_cleanup_close_ int parent = -1, fd = -1;
	const char *name;
	char target[4096];
	struct stat st;
	ssize_t length;

	if (++looking->files > FILES_MOST)
		looking->failed = true;
	if (looking->failed)
		return;
	add_part(looking, path, strlen(path));
	parent = open_parent(root, path, &name);
	if (parent < 0 || fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		add_part(looking, "gone", 4);
	} else if (S_ISLNK(st.st_mode)) {
		length = readlinkat(parent, name, target, sizeof(target));
		add_part(looking, target, length < 0 ? 0 : (size_t)length);
	} else if (S_ISREG(st.st_mode)) {
		fd = openat(parent, name,
			    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
			looking->failed = true;
			return;
		}
		add_part(looking, st.st_mode & S_IXUSR ? "x" : "-", 1);
		add_content(looking, fd, &st);
	}
}

static bool is_product(const char *name)
{
	for (size_t i = 0; i < ELEMENTS(products); i++)
		if (strcmp(name, products[i]) == 0)
			return true;
	return name[0] == '.';
}

static void list_files(struct looking *looking, int at, const char *path, int depth,
		       struct list *files)
{
	int fd = openat(at, *path ? path : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!directory || depth > DEPTH_MOST) {
		looking->failed = true;
		if (fd >= 0 && !directory)
			close(fd);
	}
	while (!looking->failed && (entry = readdir(directory))) {
		_cleanup_free_ char *below = NULL;
		struct stat st;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (asprintf(&below, "%s%s%s", path, *path ? "/" : "", entry->d_name) < 0)
			abort();
		if (S_ISDIR(st.st_mode) && !is_product(entry->d_name))
			list_files(looking, at, below, depth + 1, files);
		else if (!S_ISDIR(st.st_mode))
			list_add(files, below);
		if (files->count > FILES_MOST)
			looking->failed = true;
	}
	if (directory)
		closedir(directory);
}

static int by_name(const void *one, const void *other)
{
	return strcmp(*(char *const *)one, *(char *const *)other);
}

bool workstate_of(const char *workspace, char ret_text[static WORKSTATE_TEXT])
{
	_cleanup_index_ struct index *index = index_open(workspace);
	_cleanup_close_ int root =
		open(index ? index_root(index) : workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_list_ struct list files = {0};
	unsigned char hash[crypto_hash_sha256_BYTES];
	struct looking looking = {0};

	if (root < 0)
		return false;
	crypto_hash_sha256_init(&looking.hash);
	for (size_t i = 0; index && i < index_count(index) && i <= FILES_MOST; i++)
		list_take(&files, index_name(index, i));
	if (!index)
		list_files(&looking, root, "", 0, &files);
	if (files.count)
		qsort(files.items, files.count, sizeof(*files.items), by_name);
	for (size_t i = 0; i < files.count && !looking.failed; i++)
		add_file(&looking, root, files.items[i]);
	crypto_hash_sha256_final(&looking.hash, hash);
	sodium_bin2hex(ret_text, WORKSTATE_TEXT, hash, sizeof(hash));
	return !looking.failed;
}
