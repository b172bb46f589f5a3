/* SPDX-License-Identifier: Apache-2.0 */
/* FILE.index: a head, for each bucket its last entry, and entries of which each knows the one
 * before it in its bucket. Writers hold the lock of the file itself; readers take none: they read
 * how much is covered first, and what was added since they find at the end of the file. */
#include "grants_index.h"
#include "../base/buffer.h"
#include "../base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { BUCKETS = 1 << 15, BOOT = 40, PIECE = 256 * 1024, FOUND_MOST = 1 << 20 };

/* boot: what was written before the machine last stopped may be there in part only. */
struct head {
	char magic[8], boot[BOOT];
	uint64_t covered; /* bytes of the file */
	uint32_t entries, spare;
};

struct entry {
	uint64_t offset;
	uint32_t before, hash; /* before: the number of an earlier one, from 1; 0: none */
};

static const char magic[8] = "wardgr1";

static void read_boot(char ret_boot[BOOT])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	memset(ret_boot, 0, BOOT);
	if (fd >= 0 && read(fd, ret_boot, BOOT - 1) < 0)
		ret_boot[0] = '\0';
	close_fd(&fd);
}

/* Lines that say nothing of a key are found by every key: 0. */
static uint32_t hash_of(const char *key)
{
	uint32_t hash = 2166136261u;

	if (!key)
		return 0;
	for (; *key; key++)
		hash = (hash ^ (unsigned char)*key) * 16777619u;
	return hash ? hash : 1;
}

static uint32_t bucket_of(uint32_t hash)
{
	return hash ? 1 + hash % (BUCKETS - 1) : 0;
}

static off_t place_of_bucket(uint32_t bucket)
{
	return (off_t)(sizeof(struct head) + bucket * sizeof(uint32_t));
}

static off_t place_of_entry(uint32_t number)
{
	return place_of_bucket(BUCKETS) + (off_t)((number - 1) * sizeof(struct entry));
}

static bool read_head(int fd, off_t size, struct head *ret_head)
{
	char boot[BOOT];

	read_boot(boot);
	return pread(fd, ret_head, sizeof(*ret_head), 0) == sizeof(*ret_head) &&
	       memcmp(ret_head->magic, magic, sizeof(magic)) == 0 &&
	       memcmp(ret_head->boot, boot, BOOT) == 0 && ret_head->covered <= (uint64_t)size;
}

static bool add_line(int fd, struct head *head, const char *line, size_t length, uint64_t offset)
{
	json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
	struct entry entry = {.offset = offset,
			      .hash = hash_of(json_string_value(json_object_get(object, "key")))};
	uint32_t number = head->entries + 1;
	off_t place = place_of_bucket(bucket_of(entry.hash));

	json_decref(object);
	if (pread(fd, &entry.before, sizeof(entry.before), place) < 0 || entry.before >= number ||
	    pwrite(fd, &entry, sizeof(entry), place_of_entry(number)) != sizeof(entry) ||
	    pwrite(fd, &number, sizeof(number), place) != sizeof(number))
		return false;
	head->entries = number;
	return true;
}

/* All whole lines from where it ends now. */
static bool add_lines(int fd, int file, off_t size, struct head *head)
{
	_cleanup_buffer_ struct buffer text = {0};
	_cleanup_free_ char *piece = malloc(PIECE);
	uint64_t at = head->covered;
	ssize_t got;

	if (!piece)
		abort();
	while (at + text.length < (uint64_t)size &&
	       (got = pread(file, piece, PIECE, (off_t)(at + text.length))) > 0) {
		size_t done = 0;
		char *end;

		buffer_add(&text, piece, (size_t)got);
		while ((end = memchr(text.data + done, '\n', text.length - done))) {
			if (!add_line(fd, head, text.data + done, (size_t)(end - text.data) - done,
				      at + done))
				return false;
			done = (size_t)(end - text.data) + 1;
		}
		memmove(text.data, text.data + done, text.length - done);
		text.length -= done;
		at += done;
	}
	head->covered = at;
	return true;
}

void grants_index_extend(const char *path, int file, off_t size)
{
	_cleanup_free_ char *name = NULL;
	_cleanup_close_ int fd = -1;
	struct head head;

	if (size < GRANTS_INDEX_FROM)
		return;
	if (asprintf(&name, "%s.index", path) < 0)
		abort();
	fd = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	for (int tries = 0; fd >= 0 && tries < 2; tries++) {
		if (tries > 0 || !read_head(fd, size, &head)) {
			head = (struct head){0};
			memcpy(head.magic, magic, sizeof(magic));
			read_boot(head.boot);
			if (ftruncate(fd, 0) < 0 || ftruncate(fd, place_of_entry(1)) < 0)
				break;
		}
		if (add_lines(fd, file, size, &head) &&
		    pwrite(fd, &head, sizeof(head), 0) == sizeof(head))
			return;
	}
	/* One that is not whole must not be found. */
	(void)unlink(name);
}

static int by_offset(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return (a > b) - (a < b);
}

/* Those of one key, newest first; false where their chain does not go back. */
static bool follow(int fd, const struct head *head, uint32_t hash, uint64_t **offsets,
		   size_t *count)
{
	struct entry entry;
	uint32_t number;

	if (pread(fd, &number, sizeof(number), place_of_bucket(bucket_of(hash))) != sizeof(number))
		return false;
	for (; number; number = entry.before) {
		if (pread(fd, &entry, sizeof(entry), place_of_entry(number)) != sizeof(entry) ||
		    entry.before >= number || bucket_of(entry.hash) != bucket_of(hash) ||
		    *count >= FOUND_MOST)
			return false;
		/* Of another key, or added since: that is at the end of the file. */
		if (entry.hash != hash || entry.offset >= head->covered)
			continue;
		if ((*count & (*count - 1)) == 0) {
			*offsets = reallocarray(*offsets, MAX(*count * 2, (size_t)1),
						sizeof(**offsets));
			if (!*offsets)
				abort();
		}
		(*offsets)[(*count)++] = entry.offset;
	}
	return true;
}

ssize_t grants_index_find(const char *path, off_t size, const char *const *keys, size_t count,
			  uint64_t **ret_offsets, off_t *ret_covered)
{
	_cleanup_free_ char *name = NULL;
	_cleanup_free_ uint64_t *offsets = NULL;
	_cleanup_close_ int fd = -1;
	struct head head;
	size_t found = 0, distinct = 0;

	if (asprintf(&name, "%s.index", path) < 0)
		abort();
	fd = open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || !read_head(fd, size, &head) || !follow(fd, &head, 0, &offsets, &found))
		return -1;
	for (size_t i = 0; i < count; i++)
		if (!follow(fd, &head, hash_of(keys[i]), &offsets, &found))
			return -1;
	if (found > 0)
		qsort(offsets, found, sizeof(*offsets), by_offset);
	for (size_t i = 0; i < found; i++) /* two keys may have one hash */
		if (distinct == 0 || offsets[distinct - 1] != offsets[i])
			offsets[distinct++] = offsets[i];
	*ret_offsets = STEAL(offsets);
	*ret_covered = (off_t)head.covered;
	return (ssize_t)distinct;
}
