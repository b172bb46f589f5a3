/* SPDX-License-Identifier: Apache-2.0 */
/* Entries are walked as git walks them, in each of the ways it may: by the lengths they have, and
 * in blocks, which a table at the end of the file lets several threads begin with. The checksum is
 * not looked at, since git does not either. */
#include "gitindex.h"
#include "../base/guard.h"
#include "../base/macro.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
	HEADER = 12,	     /* DIRC, version, how many entries */
	STAT = 40,	     /* what is known of the file, before the object's name */
	EXTENDED = 0x4000,   /* two more bytes of flags */
	LENGTH_MASK = 0xfff, /* all ones: as long as the text */
	EXTENSION = 8,	     /* signature and length */
};

struct index {
	const unsigned char *bytes;
	size_t length; /* without the checksum */
	size_t id;
	uint32_t version, count;
	/* The table of blocks; 0: there is none. */
	const unsigned char *blocks;
	uint32_t block_count;
};

static uint32_t number(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* How much of the name before is left out; false where git would not get on. */
static bool read_strip(const struct index *index, size_t *at, size_t *ret_value)
{
	size_t value = 0;

	for (unsigned i = 0;; i++) {
		unsigned char c;

		if (*at >= index->length || i > 3)
			return false;
		c = index->bytes[(*at)++];
		value = (value << 7) + (c & 127);
		if (!(c & 128))
			break;
		value++;
	}
	*ret_value = value;
	return true;
}

/* What begins with another letter is no .git on any file system, and most names do. */
static bool may_be_special(char first)
{
	return first == '.' || first == 'g' || first == 'G' || (unsigned char)first >= 0x80;
}

static bool is_place(const char *name)
{
	char part[NAME_MAX + 1];

	if (name[0] == '/')
		return false;
	for (const char *at = name; *at;) {
		size_t length = strcspn(at, "/");

		/* A directory that is not checked out ends with a slash. */
		if (length == 0 || length > NAME_MAX)
			return false;
		memcpy(part, at, length);
		part[length] = '\0';
		if (may_be_special(*at) &&
		    (strcmp(part, ".") == 0 || strcmp(part, "..") == 0 || guard_is(part, ".git")))
			return false;
		at += length;
		at += *at == '/';
	}
	return true;
}

static int judge(const char *name, char ret_name[static GIT_INDEX_NAME])
{
	if (is_place(name))
		return 0;
	snprintf(ret_name, GIT_INDEX_NAME, "%s", name);
	return -EACCES;
}

/* One entry at *at, which becomes that of the next. name: of the one before, and becomes its own.
 * begins: a block, for whoever begins there the name is what is written alone. */
static int read_entry(const struct index *index, size_t *at, char name[static PATH_MAX],
		      bool begins, char ret_name[static GIT_INDEX_NAME])
{
	size_t start = *at, here = start + STAT + index->id, length, strip, kept = 0, written;
	unsigned flags;

	if (here + 4 > index->length)
		return -EINVAL;
	flags = (unsigned)index->bytes[here] << 8 | index->bytes[here + 1];
	here += flags & EXTENDED ? 4 : 2;
	if (index->version == 4) {
		if (!read_strip(index, &here, &strip) || strip > strlen(name))
			return -EINVAL;
		kept = strlen(name) - strip;
	}
	written = here < index->length
			  ? strnlen((const char *)index->bytes + here, index->length - here)
			  : index->length;
	if (here + written >= index->length || kept + written >= PATH_MAX)
		return -EINVAL;
	length = flags & LENGTH_MASK;
	/* By its length and by its end it must be the same. */
	if (length == LENGTH_MASK ? kept + written < LENGTH_MASK : kept + written != length)
		return -EINVAL;
	memcpy(name + kept, index->bytes + here, written + 1);
	*at = index->version == 4 ? here + written + 1
				  : start + ((here - start + written + 8) & ~(size_t)7);
	if (judge(name, ret_name) < 0)
		return -EACCES;
	return begins ? judge(name + kept, ret_name) : 0;
}

/* All entries; *ret_end is where they end. */
static int read_entries(const struct index *index, size_t *ret_end,
			char ret_name[static GIT_INDEX_NAME])
{
	char name[PATH_MAX] = "";
	uint32_t block = 0, left = 0;
	size_t at = HEADER;
	int r = 0;

	for (uint32_t i = 0; i < index->count && r == 0; i++) {
		bool begins = index->blocks && left == 0;

		if (begins) {
			const unsigned char *entry = index->blocks + (size_t)8 * block;

			if (block++ == index->block_count || number(entry) != at)
				return -EINVAL;
			left = number(entry + 4);
			if (left == 0)
				return -EINVAL;
		}
		left -= index->blocks ? 1 : 0;
		r = read_entry(index, &at, name, begins, ret_name);
	}
	if (r == 0 && index->blocks && (left != 0 || block != index->block_count))
		return -EINVAL;
	*ret_end = at;
	return r;
}

/* Threads find the table by what says at the very end where the entries end. */
static bool ends_elsewhere(const struct index *index, size_t end)
{
	static const size_t sizes[] = {4 + 20, 4 + 32};

	for (size_t i = 0; i < ELEMENTS(sizes); i++) {
		const unsigned char *last;

		if (index->length < HEADER + EXTENSION + sizes[i])
			continue;
		last = index->bytes + index->length - EXTENSION - sizes[i];
		if (memcmp(last, "EOIE", 4) == 0 && number(last + EXTENSION) != end)
			return true;
	}
	return false;
}

int git_index_check(const char *bytes, size_t length, size_t id, char name[static GIT_INDEX_NAME])
{
	struct index index = {.bytes = (const unsigned char *)bytes, .id = id};
	size_t end;
	int r;

	name[0] = '\0';
	if (length < HEADER + id || memcmp(bytes, "DIRC", 4) != 0)
		return -EINVAL;
	index.length = length - id;
	index.version = number(index.bytes + 4);
	index.count = number(index.bytes + 8);
	if (index.version < 2 || index.version > 4)
		return -EINVAL;
	r = read_entries(&index, &end, name);
	if (r == 0 && (end > index.length || ends_elsewhere(&index, end)))
		r = -EINVAL;
	for (size_t at = end; r == 0 && at + EXTENSION <= index.length;) {
		size_t size = number(index.bytes + at + 4);

		if (size > index.length - at - EXTENSION)
			return -EINVAL;
		if (memcmp(index.bytes + at, "IEOT", 4) == 0) {
			if (size < 4 || (size - 4) % 8 != 0)
				return -EINVAL;
			index.blocks = index.bytes + at + EXTENSION + 4;
			index.block_count = (uint32_t)((size - 4) / 8);
			r = read_entries(&index, &end, name);
		}
		at += EXTENSION + size;
	}
	return r;
}
