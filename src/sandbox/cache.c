/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of a walk: a header, the key, the records. */
#include "cache.h"
#include "../base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>

enum { VERSION = 1, LARGEST = 64 << 20, FILES = 64 };

struct header {
	char magic[8];
	uint32_t version, uid;
	int64_t boot; /* when the machine started by the wall clock, in ns: a clock that was set
			 back since could give a directory the same ctime twice */
	uint64_t key, records; /* bytes of each */
	uint64_t sum;	       /* of all this but what is compared anyway */
};

static const char magic[8] = "wardwalk";
static const int64_t slack_ns = 20 * 1000 * 1000;

static int64_t boot_time(void)
{
	struct timespec wall, up;

	clock_gettime(CLOCK_REALTIME, &wall);
	clock_gettime(CLOCK_BOOTTIME, &up);
	return (int64_t)(wall.tv_sec - up.tv_sec) * 1000000000 + (wall.tv_nsec - up.tv_nsec);
}

/* FNV, by words: it tells damage, nobody who could forge it could not write the file. */
static uint64_t sum(uint64_t hash, const char *data, size_t length)
{
	uint64_t word;

	for (; length >= sizeof(word); data += sizeof(word), length -= sizeof(word)) {
		memcpy(&word, data, sizeof(word));
		hash = (hash ^ word) * 0x100000001b3;
		hash ^= hash >> 29;
	}
	for (; length; data++, length--)
		hash = (hash ^ (unsigned char)*data) * 0x100000001b3;
	return hash ^ hash >> 32;
}

static const uint64_t sum_begin = 0xcbf29ce484222325;

static void name_of(const char *directory, const struct buffer *key, struct buffer *path)
{
	buffer_printf(path, "%s/%016llx", directory,
		      (unsigned long long)sum(sum_begin, key->data, key->length));
}

void cache_read(const char *directory, const struct buffer *key, struct cache *ret_cache)
{
	_cleanup_buffer_ struct buffer path = {0};
	_cleanup_close_ int fd = -1;
	const struct header *header;
	size_t length;
	struct stat st;
	char *map;

	*ret_cache = (struct cache){0};
	name_of(directory, key, &path);
	fd = open(buffer_text(&path), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_mode & (S_IWGRP | S_IWOTH) || st.st_size > LARGEST ||
	    st.st_size < (off_t)sizeof(*header))
		return;
	length = (size_t)st.st_size;
	map = mmap(NULL, length, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (map == MAP_FAILED)
		return;
	header = (const struct header *)map;
	*ret_cache = (struct cache){.map = map, .map_length = length};
	if (memcmp(header->magic, magic, sizeof(magic)) != 0 || header->version != VERSION ||
	    header->uid != geteuid() || header->key != key->length || header->records > length ||
	    sizeof(*header) + header->key + header->records != length ||
	    memcmp(map + sizeof(*header), key->data, key->length) != 0 ||
	    boot_time() < header->boot - slack_ns ||
	    sum(sum_begin ^ (uint64_t)header->boot, map + sizeof(*header),
		length - sizeof(*header)) != header->sum)
		return;
	ret_cache->records = map + sizeof(*header) + header->key;
	ret_cache->length = header->records;
}

void cache_done(struct cache *cache)
{
	if (cache->map)
		munmap(cache->map, cache->map_length);
	*cache = (struct cache){0};
}

/* Trees come and go; the caches of those that nobody walks any more must not stay for ever. */
static void sweep(const char *directory)
{
	char oldest[NAME_MAX + 1] = "";
	struct timespec since = {0};
	DIR *files = opendir(directory);
	struct dirent *entry;
	size_t count = 0;

	while (files && (entry = readdir(files))) {
		struct stat st;

		if (fstatat(dirfd(files), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (strncmp(entry->d_name, ".new-", 5) == 0 && st.st_mtim.tv_sec < time(NULL) - 60)
			unlinkat(dirfd(files), entry->d_name, 0); /* of one that was killed */
		if (entry->d_name[0] == '.')
			continue;
		if (!count++ || st.st_mtim.tv_sec < since.tv_sec) {
			since = st.st_mtim;
			strcpy(oldest, entry->d_name);
		}
	}
	if (files && count >= FILES)
		unlinkat(dirfd(files), oldest, 0);
	if (files)
		closedir(files);
}

void cache_write(const char *directory, const struct buffer *key, const struct buffer *records)
{
	_cleanup_buffer_ struct buffer path = {0}, fresh = {0}, content = {0};
	_cleanup_close_ int fd = -1;
	struct header header = {
		.version = VERSION,
		.uid = geteuid(),
		.boot = boot_time(),
		.key = key->length,
		.records = records->length,
	};

	if (sizeof(header) + key->length + records->length > LARGEST)
		return;
	if (mkdir(directory, 0700) < 0 && errno != EEXIST)
		return;
	memcpy(header.magic, magic, sizeof(magic));
	buffer_add(&content, &header, sizeof(header));
	buffer_add(&content, key->data, key->length);
	buffer_add(&content, records->data, records->length);
	header.sum = sum(sum_begin ^ (uint64_t)header.boot, content.data + sizeof(header),
			 content.length - sizeof(header));
	memcpy(content.data, &header, sizeof(header));
	name_of(directory, key, &path);
	buffer_printf(&fresh, "%s/.new-%d", directory, getpid());
	if (access(buffer_text(&path), F_OK) < 0)
		sweep(directory);
	fd = open(buffer_text(&fresh), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	if (write_all(fd, content.data, content.length) < 0 ||
	    rename(buffer_text(&fresh), buffer_text(&path)) < 0)
		unlink(buffer_text(&fresh));
}

size_t record_size(const struct record *record)
{
	return (sizeof(*record) + record->name + record->names + 7) & ~(size_t)7;
}

const struct record *cache_record(const struct cache *cache, size_t offset, size_t limit)
{
	const struct record *record = (const struct record *)(cache->records + offset);
	size_t size;

	if (limit > cache->length || offset >= limit || limit - offset < sizeof(*record))
		return NULL;
	if (record->name == 0 || record->name > limit || record->names > limit)
		return NULL;
	size = record_size(record);
	if (size > limit - offset || record->end > limit || record->end < offset + size ||
	    record->end % 8)
		return NULL;
	if (strnlen(record->text, record->name) != record->name - 1 ||
	    memchr(record->text, '/', record->name) ||
	    (record->names && record->text[record->name + record->names - 1]))
		return NULL;
	return record;
}

bool cache_trusts_file_system(int fd)
{
	/* ext4, xfs, btrfs, tmpfs, overlay, zfs, f2fs. Not those whose server may be of another
	 * mind: NFS, SMB, 9p, FUSE. */
	static const unsigned long trusted[] = {0xef53,	    0x58465342, 0x9123683e, 0x01021994,
						0x794c7630, 0x2fc12fc1, 0xf2f52010};
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return false;
	for (size_t i = 0; i < ELEMENTS(trusted); i++)
		if ((unsigned long)fs.f_type == trusted[i])
			return true;
	return false;
}

bool cache_trusts_time(const struct timespec *changed, const struct timespec *read)
{
	int64_t age = (int64_t)(read->tv_sec - changed->tv_sec) * 1000000000 +
		      (read->tv_nsec - changed->tv_nsec);

	return age > (changed->tv_nsec ? slack_ns : 2000000000);
}
