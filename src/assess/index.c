/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a git index, versions 2 and 3, and looks files up in it as git does before it compares
 * contents. */
#include "index.h"
#include "../base/path.h"

#include <endian.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	ENTRY_FIXED = 62, /* bytes before an entry's name, without the extended flags */
	FLAG_EXTENDED = 0x4000,
	FLAG_STAGE = 0x3000,
	EXTENDED_INTENT = 0x2000, /* git add -N: there is no copy */
	HEADER = 12,
	MOST_ENTRIES = 1 << 20,
	MOST_BYTES = 256 << 20,
};

struct entry {
	uint32_t offset, name, length;
};

struct index {
	char *root;
	const unsigned char *bytes;
	size_t size, count;
	struct entry *entries;
	struct timespec written;
};

static uint32_t number(const unsigned char *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return be32toh(value);
}

static uint16_t flags_of(const struct index *index, const struct entry *entry)
{
	const unsigned char *at = index->bytes + entry->offset + 60;

	return (uint16_t)(at[0] << 8 | at[1]);
}

/* The place of the next entry, or 0 if this one does not fit. */
static size_t read_entry(const struct index *index, size_t at, uint32_t version,
			 struct entry *ret_entry)
{
	struct entry entry = {.offset = (uint32_t)at};
	size_t fixed = ENTRY_FIXED, length;
	const unsigned char *end;

	if (at + ENTRY_FIXED + 2 > index->size)
		return 0;
	if (flags_of(index, &entry) & FLAG_EXTENDED)
		fixed += version >= 3 ? 2 : 0;
	end = memchr(index->bytes + at + fixed, '\0', index->size - at - fixed);
	if (!end)
		return 0;
	length = (size_t)(end - index->bytes) - at - fixed;
	entry.name = (uint32_t)(at + fixed);
	entry.length = (uint32_t)length;
	*ret_entry = entry;
	/* one to eight bytes of filling */
	return at + ((fixed + length + 8) & ~(size_t)7);
}

static bool read_entries(struct index *index)
{
	uint32_t version, count;
	size_t at = HEADER;

	if (index->size < HEADER || memcmp(index->bytes, "DIRC", 4) != 0)
		return false;
	version = number(index->bytes + 4);
	count = number(index->bytes + 8);
	if ((version != 2 && version != 3) || count > MOST_ENTRIES)
		return false;
	index->entries = calloc(count ? count : 1, sizeof(*index->entries));
	if (!index->entries)
		abort();
	for (; index->count < count; index->count++) {
		at = read_entry(index, at, version, &index->entries[index->count]);
		if (at == 0)
			return false;
	}
	return true;
}

/* The directory that .git is, or that the file of that name names. Caller frees. */
static char *git_directory(const char *root)
{
	_cleanup_free_ char *path = NULL;
	char line[PATH_MAX + 16] = "";
	struct stat st;
	FILE *file;

	if (asprintf(&path, "%s/.git", strcmp(root, "/") == 0 ? "" : root) < 0)
		abort();
	if (lstat(path, &st) < 0)
		return NULL;
	if (S_ISDIR(st.st_mode))
		return strdup(path);
	if (!S_ISREG(st.st_mode) || !(file = fopen(path, "re")))
		return NULL;
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	fclose(file);
	line[strcspn(line, "\r\n")] = '\0';
	if (strncmp(line, "gitdir: ", 8) != 0)
		return NULL;
	return path_resolve(root, NULL, line + 8);
}

static bool map_index(struct index *index, const char *directory)
{
	_cleanup_free_ char *path = NULL;
	struct stat st;
	void *bytes;
	int fd;

	if (asprintf(&path, "%s/index", directory) < 0)
		abort();
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return false;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < HEADER ||
	    st.st_size > MOST_BYTES) {
		close(fd);
		return false;
	}
	/* A copy: a file that is cut while it is mapped would end the program. */
	index->size = (size_t)st.st_size;
	bytes = malloc(index->size);
	if (!bytes)
		abort();
	index->bytes = bytes;
	index->written = st.st_mtim;
	for (size_t have = 0; have < index->size;) {
		ssize_t n = pread(fd, (char *)bytes + have, index->size - have, (off_t)have);

		if (n <= 0) {
			index->size = have;
			break;
		}
		have += (size_t)n;
	}
	close(fd);
	return read_entries(index);
}

struct index *index_open(const char *directory)
{
	struct index *index = calloc(1, sizeof(*index));
	_cleanup_free_ char *git = NULL;

	if (!index)
		abort();
	index->root = path_normalise(directory);
	while (!(git = git_directory(index->root))) {
		char *slash = strrchr(index->root, '/');

		if (!slash || strcmp(index->root, "/") == 0)
			break;
		slash[slash == index->root ? 1 : 0] = '\0';
	}
	if (git && map_index(index, git))
		return index;
	index_free(index);
	return NULL;
}

void index_free(struct index *index)
{
	if (!index)
		return;
	free(index->root);
	free((void *)index->bytes);
	free(index->entries);
	free(index);
}

const char *index_root(const struct index *index)
{
	return index->root;
}

size_t index_count(const struct index *index)
{
	return index->count;
}

char *index_name(const struct index *index, size_t number)
{
	const struct entry *entry = &index->entries[number];
	char *name = strndup((const char *)index->bytes + entry->name, entry->length);

	if (!name)
		abort();
	return name;
}

static int compare(const struct index *index, const struct entry *entry, const char *name,
		   size_t length)
{
	int order = memcmp(index->bytes + entry->name, name, MIN((size_t)entry->length, length));

	return order ? order : (entry->length > length) - (entry->length < length);
}

static const struct entry *find(const struct index *index, const char *name)
{
	size_t low = 0, high = index->count, length = strlen(name);

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare(index, &index->entries[middle], name, length);

		if (order == 0)
			return &index->entries[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Written before the index was, so that no change since can look the same. */
static bool is_older(const struct index *index, uint32_t seconds, uint32_t nanoseconds)
{
	uint32_t written = (uint32_t)index->written.tv_sec;

	return seconds < written ||
	       (seconds == written && nanoseconds < (uint32_t)index->written.tv_nsec);
}

static const struct entry *find_path(const struct index *index, const char *path)
{
	size_t root = strcmp(index->root, "/") == 0 ? 0 : strlen(index->root);

	if (strncmp(path, index->root, root) != 0 || path[root] != '/')
		return NULL;
	return find(index, path + root + 1);
}

bool index_tracks(const struct index *index, const char *path)
{
	return find_path(index, path) != NULL;
}

bool index_has_copy(const struct index *index, const char *path, const struct stat *st)
{
	const struct entry *entry = find_path(index, path);
	const unsigned char *at;
	uint32_t seconds, nanoseconds;

	if (!entry || flags_of(index, entry) & FLAG_STAGE)
		return false;
	at = index->bytes + entry->offset;
	if (flags_of(index, entry) & FLAG_EXTENDED &&
	    entry->name == entry->offset + ENTRY_FIXED + 2 &&
	    (at[ENTRY_FIXED] << 8 & EXTENDED_INTENT))
		return false;
	seconds = number(at + 8);
	nanoseconds = number(at + 12);
	return number(at + 36) == (uint32_t)st->st_size &&
	       seconds == (uint32_t)st->st_mtim.tv_sec &&
	       nanoseconds == (uint32_t)st->st_mtim.tv_nsec &&
	       is_older(index, seconds, nanoseconds);
}
