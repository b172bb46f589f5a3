/* SPDX-License-Identifier: Apache-2.0 */
/* Reading tar: ustar, with the long names of pax and GNU, packed by gzip or plain. A reader of
 * ward's own, because libarchive.a brings seven libraries and thirty formats into a program that
 * reads two; each field is checked, and nothing is believed that a bound does not hold. */
#include "archive.h"
#include "../../base/macro.h"
#include "../../sys/told.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { BLOCK = 512, CHUNK = 1 << 16, NAMES_MOST = 1 << 16 };

/* Files, links, devices, directories, pipes; and a name of the whole, which is nothing. */
#define KINDS "01234567V"

struct archive {
	int fd;
	bool packed, ended; /* ended: no more of the file */
	bool others;	    /* it is packed as others know it */
	bool whole;	    /* packed: a part came to its end, and another may follow */
	z_stream stream;
	crypto_hash_sha256_state digest;
	uint8_t input[CHUNK];
	size_t input_at, input_end;
	uint64_t left, padding; /* of the entry */
	uint64_t entries, bytes;
};

struct header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], kind, link[100],
		magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155],
		rest[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a header is a block");

static int broken(struct error **ret_error, const char *why)
{
	return fail(ret_error, E_INPUT, "the archive cannot be read: %s", why);
}

static int packed_by_others(struct error **ret_error)
{
	broken(ret_error, "it is packed by something else than gzip");
	return error_hint(ret_error, "pack it by gzip, or unpack it and name the directory "
				     "(rootfs=DIRECTORY)");
}

static int fill(struct archive *archive, struct error **ret_error)
{
	ssize_t length;

	if (archive->input_at < archive->input_end || archive->ended)
		return 0;
	/* A large archive is not worth waiting for: the command is not wanted any more. */
	if (told_to_stop())
		return fail(ret_error, E_ENGINE, "interrupted by a signal");
	do
		length = read(archive->fd, archive->input, sizeof(archive->input));
	while (length < 0 && errno == EINTR);
	if (length < 0)
		return fail_errno(ret_error, E_INPUT, errno, "reading the archive");
	archive->ended = length == 0;
	crypto_hash_sha256_update(&archive->digest, archive->input, (unsigned long long)length);
	archive->input_at = 0;
	archive->input_end = (size_t)length;
	return 0;
}

/* zstd, xz and bzip2, by what their files begin with. */
static bool has_packing_of_others(const struct archive *archive)
{
	static const struct {
		size_t length;
		const char *bytes;
	} others[] = {{4, "\x28\xb5\x2f\xfd"}, {6, "\xfd\x37zXZ"}, {3, "BZh"}};

	for (size_t i = 0; i < ELEMENTS(others); i++)
		if (archive->input_end >= others[i].length &&
		    memcmp(archive->input, others[i].bytes, others[i].length) == 0)
			return true;
	return false;
}

struct archive *archive_open(int fd)
{
	struct archive *archive = calloc(1, sizeof(*archive));

	if (!archive)
		abort();
	archive->fd = fd;
	crypto_hash_sha256_init(&archive->digest);
	(void)lseek(fd, 0, SEEK_SET);
	if (fill(archive, NULL) == 0 && archive->input_end > 2 && archive->input[0] == 0x1f &&
	    archive->input[1] == 0x8b)
		archive->packed = inflateInit2(&archive->stream, 15 + 16) == Z_OK;
	archive->others = has_packing_of_others(archive);
	return archive;
}

/* Unpacked bytes; fewer than asked for only at the end. */
static ssize_t take(struct archive *archive, void *data, size_t length, struct error **ret_error)
{
	size_t done = 0;

	while (done < length) {
		size_t there;

		if (fill(archive, ret_error) < 0)
			return -1;
		there = archive->input_end - archive->input_at;
		if (there == 0 && (!archive->packed || archive->whole))
			break;
		if (!archive->packed) {
			there = MIN(there, length - done);
			memcpy((char *)data + done, archive->input + archive->input_at, there);
			archive->input_at += there;
			done += there;
			continue;
		}
		/* Layers that can be read in parts are packed in parts; what else follows is
		 * padding. */
		if (archive->whole &&
		    (archive->input[archive->input_at] != 0x1f || inflateReset(&archive->stream)))
			break;
		archive->whole = false;
		archive->stream.next_in = archive->input + archive->input_at;
		archive->stream.avail_in = (uInt)there;
		archive->stream.next_out = (Bytef *)data + done;
		archive->stream.avail_out = (uInt)MIN(length - done, (size_t)CHUNK);
		there = archive->stream.avail_out;

		int r = inflate(&archive->stream, Z_NO_FLUSH);

		archive->input_at = archive->input_end - archive->stream.avail_in;
		done += there - archive->stream.avail_out;
		archive->whole = r == Z_STREAM_END;
		if (!archive->whole && r != Z_OK && r != Z_BUF_ERROR)
			return broken(ret_error, "it is packed wrongly");
		if (!archive->whole && archive->ended && there == archive->stream.avail_out)
			return broken(ret_error, "it is cut");
	}
	archive->bytes += done;
	if (archive->bytes > ARCHIVE_BYTES_MOST)
		return broken(ret_error, "it holds more than 16 GiB");
	return (ssize_t)done;
}

static int pass(struct archive *archive, uint64_t count, struct error **ret_error)
{
	char skipped[4096];

	while (count > 0) {
		size_t part = (size_t)MIN(count, (uint64_t)sizeof(skipped));

		if (take(archive, skipped, part, ret_error) != (ssize_t)part)
			return ret_error && *ret_error ? -E_INPUT : broken(ret_error, "it is cut");
		count -= part;
	}
	return 0;
}

/* To the end, where what packed it says whether it is what it was. */
static int drain(struct archive *archive, struct error **ret_error)
{
	char rest[4096];
	ssize_t length;

	while ((length = take(archive, rest, sizeof(rest), ret_error)) == sizeof(rest))
		;
	return length < 0 ? -E_INPUT : 0;
}

/* Octal, or binary where the first bit says so. */
static bool number(const char *field, size_t length, uint64_t *ret_number)
{
	uint64_t value = 0;
	size_t i = 0;

	if ((unsigned char)field[0] & 0x80) {
		for (i = 1; i < length; i++) {
			if (value >> 55)
				return false;
			value = value << 8 | (unsigned char)field[i];
		}
		*ret_number = value;
		return true;
	}
	while (i < length && field[i] == ' ')
		i++;
	for (; i < length && field[i] && field[i] != ' '; i++) {
		if (field[i] < '0' || field[i] > '7' || value >> 60)
			return false;
		value = value << 3 | (uint64_t)(field[i] - '0');
	}
	*ret_number = value;
	return true;
}

static bool is_sound(const struct header *header)
{
	const unsigned char *bytes = (const unsigned char *)header;
	uint64_t said, sum = 0;

	for (size_t i = 0; i < BLOCK; i++)
		sum += i >= offsetof(struct header, checksum) && i < offsetof(struct header, kind)
			       ? ' '
			       : bytes[i];
	return number(header->checksum, sizeof(header->checksum), &said) && said == sum;
}

/* Digits alone: what strtoul passes over first may be longer than the record says it is. */
static bool digits(const char *text, char end, uint64_t *ret_number)
{
	size_t count = strspn(text, "0123456789");

	*ret_number = strtoull(text, NULL, 10);
	return count > 0 && count < 20 && text[count] == end;
}

/* Records of pax: "LENGTH KEY=VALUE\n". */
static bool read_pax(const char *text, size_t length, struct archive_entry *entry, bool *has_size)
{
	while (length > 0) {
		const char *end, *equals;
		size_t value;
		uint64_t record;

		if (!digits(text, ' ', &record) || record < 5 || record > length ||
		    text[record - 1] != '\n')
			return false;
		end = strchr(text, ' ');
		equals = memchr(end, '=', (size_t)(text + record - end));
		if (!equals)
			return false;
		value = (size_t)(text + record - 1 - (equals + 1));
		if (strncmp(end, " path=", 6) == 0 || strncmp(end, " linkpath=", 10) == 0) {
			char *place = end[1] == 'p' ? entry->path : entry->link;

			if (value >= PATH_MAX || memchr(equals + 1, '\0', value))
				return false;
			memcpy(place, equals + 1, value);
			place[value] = '\0';
		} else if (strncmp(end, " size=", 6) == 0) {
			if (!digits(equals + 1, '\n', &entry->size))
				return false;
			*has_size = true;
		} else if (strncmp(end, " GNU.sparse.", 12) == 0) {
			entry->kind = 'S';
		}
		text += record;
		length -= record;
	}
	return true;
}

/* A longer name, or more about the next entry, stands in an entry of its own before it. */
static int read_about(struct archive *archive, char kind, uint64_t size,
		      struct archive_entry *entry, bool *has_size, struct error **ret_error)
{
	_cleanup_free_ char *text = size < NAMES_MOST ? calloc(1, (size_t)size + 1) : NULL;

	if (!text)
		return broken(ret_error, "a name in it is too long");
	if (take(archive, text, (size_t)size, ret_error) != (ssize_t)size ||
	    pass(archive, (BLOCK - size % BLOCK) % BLOCK, ret_error) < 0)
		return ret_error && *ret_error ? -E_INPUT : broken(ret_error, "it is cut");
	if (kind == 'x')
		return read_pax(text, (size_t)size, entry, has_size)
			       ? 0
			       : broken(ret_error, "a pax record is wrong");
	if (kind == 'g') /* about all that follows: nothing that an image is made of */
		return 0;
	if (strlen(text) >= PATH_MAX)
		return broken(ret_error, "a name in it is too long");
	strcpy(kind == 'L' ? entry->path : entry->link, text);
	return 0;
}

static void take_names(const struct header *header, struct archive_entry *entry)
{
	if (!*entry->path && memcmp(header->magic, "ustar", 5) == 0 && header->prefix[0] &&
	    memcmp(header->magic, "ustar ", 6) != 0)
		snprintf(entry->path, sizeof(entry->path), "%.155s/%.100s", header->prefix,
			 header->name);
	else if (!*entry->path)
		snprintf(entry->path, sizeof(entry->path), "%.100s", header->name);
	if (!*entry->link)
		snprintf(entry->link, sizeof(entry->link), "%.100s", header->link);
}

int archive_next(struct archive *archive, struct archive_entry *ret_entry, struct error **ret_error)
{
	static const char nothing[BLOCK];
	bool has_size = false;

	memset(ret_entry, 0, sizeof(*ret_entry));
	if (pass(archive, archive->left + archive->padding, ret_error) < 0)
		return -E_INPUT;
	archive->left = archive->padding = 0;
	for (;;) {
		struct header header;
		uint64_t size, mode;
		ssize_t length = take(archive, &header, sizeof(header), ret_error);

		if (length < 0)
			return -E_INPUT;
		if (length == 0 || (length == BLOCK && memcmp(&header, nothing, BLOCK) == 0))
			return drain(archive, ret_error);
		if (length != BLOCK || !is_sound(&header) ||
		    !number(header.size, sizeof(header.size), &size) ||
		    !number(header.mode, sizeof(header.mode), &mode))
			return archive->others ? packed_by_others(ret_error)
					       : broken(ret_error, "a header in it is wrong");
		if (++archive->entries > ARCHIVE_ENTRIES_MOST)
			return broken(ret_error, ARCHIVE_TOO_MANY);
		if (header.kind && strchr("xgLK", header.kind)) {
			if (read_about(archive, header.kind, size, ret_entry, &has_size,
				       ret_error) < 0)
				return -E_INPUT;
			continue;
		}
		/* In parts and elsewhere: what is told of it is not what it holds. */
		if (ret_entry->kind == 'S' || header.kind == 'S')
			return broken(ret_error, "a file in it is packed as a sparse one");
		if (header.kind && !strchr(KINDS, header.kind))
			return broken(ret_error, "an entry in it is of a kind that is not known");
		take_names(&header, ret_entry);
		ret_entry->kind = header.kind ? header.kind : '0';
		/* As directories were written before they had a kind. */
		if (ret_entry->kind == '0' && *ret_entry->path &&
		    ret_entry->path[strlen(ret_entry->path) - 1] == '/')
			ret_entry->kind = '5';
		ret_entry->mode = (mode_t)mode & 0777;
		if (!has_size)
			ret_entry->size = size;
		if (ret_entry->size > ARCHIVE_BYTES_MOST)
			return broken(ret_error, "a file in it is too large");
		if (strchr("123456", ret_entry->kind))
			ret_entry->size = 0;
		archive->left = ret_entry->size;
		archive->padding = (BLOCK - ret_entry->size % BLOCK) % BLOCK;
		return 1;
	}
}

ssize_t archive_read(struct archive *archive, void *data, size_t length, struct error **ret_error)
{
	size_t part = (size_t)MIN((uint64_t)length, archive->left);
	ssize_t got = part ? take(archive, data, part, ret_error) : 0;

	if (got >= 0 && (size_t)got < part)
		return broken(ret_error, "it is cut");
	if (got > 0)
		archive->left -= (uint64_t)got;
	return got;
}

int archive_end(struct archive *archive, char ret_digest[static 65], struct error **ret_error)
{
	unsigned char hash[crypto_hash_sha256_BYTES];

	while (!archive->ended) {
		archive->input_at = archive->input_end;
		if (fill(archive, ret_error) < 0)
			return -E_INPUT;
	}
	crypto_hash_sha256_final(&archive->digest, hash);
	sodium_bin2hex(ret_digest, 65, hash, sizeof(hash));
	return 0;
}

void archive_free(struct archive *archive)
{
	if (archive && archive->packed)
		inflateEnd(&archive->stream);
	free(archive);
}
