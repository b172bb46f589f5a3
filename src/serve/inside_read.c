/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a file, or some of its lines. */
#include "inside.h"
#include "../base/buffer.h"
#include "../base/escape.h"
#include "../base/io.h"
#include "../request/text_json.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>

enum { SCAN_MOST = 256 << 20, PIECE = 64 << 10 };

/* What is known of a file after one pass over it. */
struct scan {
	uint64_t first, last; /* lines that are wanted */
	struct buffer kept;
	uint64_t line;	/* the one that the next byte belongs to */
	uint64_t lines; /* of which something was kept */
	bool binary, cut, open_line;
};

/* Without the beginning of a character that does not fit. */
static size_t whole_characters(const char *data, size_t length)
{
	for (size_t back = 1; back <= MIN(length, (size_t)3); back++) {
		unsigned char c = (unsigned char)data[length - back];

		if (c >= 0xc0)
			return back < (c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2) ? length - back : length;
		if (c < 0x80)
			break;
	}
	return length;
}

static void keep(struct scan *scan, const char *data, size_t length)
{
	bool wanted = scan->line >= scan->first && scan->line <= scan->last;

	if (!wanted || scan->cut)
		return;
	if (scan->kept.length + length > INSIDE_READ_MOST) {
		scan->cut = true;
		/* Whole lines, unless there is only a part of one. */
		if (scan->lines)
			return;
		length = whole_characters(data, INSIDE_READ_MOST - scan->kept.length);
	}
	buffer_add(&scan->kept, data, length);
}

static void look_at(struct scan *scan, const char *data, size_t length)
{
	scan->binary |= memchr(data, '\0', length) != NULL;
	for (size_t at = 0; at < length;) {
		const char *end = memchr(data + at, '\n', length - at);
		size_t size = end ? (size_t)(end - (data + at)) + 1 : length - at;

		keep(scan, data + at, size);
		scan->open_line = !end;
		if (end) {
			scan->lines +=
				scan->line >= scan->first && scan->line <= scan->last && !scan->cut;
			scan->line++;
		}
		at += size;
	}
}

static int open_file(const char *path, struct stat *ret_st, struct error **ret_error)
{
	/* A FIFO without a writer would be waited for. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0 || fstat(fd, ret_st) < 0)
		fail_errno(ret_error, E_INPUT, errno, "%s", path);
	else if (S_ISDIR(ret_st->st_mode))
		fail(ret_error, E_INPUT, "%s is a directory", path);
	else if (!S_ISREG(ret_st->st_mode))
		fail(ret_error, E_INPUT, "%s is not a regular file", path);
	else
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* All of it that there is room for; nothing of lines. */
static void put_binary(json_t *object, int fd, const struct stat *st)
{
	size_t room = MIN((size_t)st->st_size, (size_t)INSIDE_READ_MOST);
	_cleanup_free_ char *data = malloc(room + 1);
	_cleanup_free_ char *text =
		malloc(sodium_base64_encoded_len(room, sodium_base64_VARIANT_ORIGINAL));
	ssize_t got = data && lseek(fd, 0, SEEK_SET) == 0 ? read_all(fd, data, room) : -1;

	if (!data || !text)
		abort();
	sodium_bin2base64(text, sodium_base64_encoded_len(room, sodium_base64_VARIANT_ORIGINAL),
			  (const unsigned char *)data, (size_t)MAX(got, 0),
			  sodium_base64_VARIANT_ORIGINAL);
	json_put_text(object, "encoding", "base64");
	json_put_text(object, "content", text);
	json_put(object, "truncated", json_boolean((off_t)room < st->st_size));
}

static void put_lines(json_t *object, const struct scan *scan, const char *text)
{
	uint64_t total = scan->line - 1 + scan->open_line;
	uint64_t shown = scan->lines;

	/* A last line without an end, or the beginning of one that is too long. */
	if (scan->kept.length && scan->kept.data[scan->kept.length - 1] != '\n')
		shown++;
	json_put_text(object, "encoding", "utf-8");
	json_put_text(object, "content", text);
	json_put_count(object, "first_line", scan->first);
	json_put_count(object, "lines", shown);
	json_put_count(object, "total_lines", total);
	json_put(object, "truncated", json_boolean(scan->cut));
}

json_t *inside_read(const char *path, uint64_t first, uint64_t count, struct error **ret_error)
{
	struct scan scan = {.first = MAX(first, (uint64_t)1), .line = 1};
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -1;
	uint64_t seen = 0;
	bool lossy = false;
	struct stat st;
	json_t *object;
	char data[PIECE];
	ssize_t got = 0;

	scan.last = count ? scan.first + MIN(count, UINT64_MAX - scan.first) - 1 : UINT64_MAX;
	fd = open_file(path, &st, ret_error);
	if (fd < 0)
		return NULL;
	while (seen < SCAN_MOST && (got = read_all(fd, data, sizeof(data))) > 0) {
		seen += (uint64_t)got;
		look_at(&scan, data, (size_t)got);
	}
	if (got < 0 || seen >= SCAN_MOST) {
		buffer_done(&scan.kept);
		if (got < 0)
			fail_errno(ret_error, E_INPUT, (int)-got, "%s", path);
		else
			fail(ret_error, E_INPUT, "%s is longer than %d bytes", path, SCAN_MOST);
		return NULL;
	}
	object = json_object();
	json_put_text(object, "path", path);
	json_put_count(object, "size", (uint64_t)st.st_size);
	text = escape_to_utf8(buffer_text(&scan.kept), scan.kept.length, &lossy);
	if (scan.binary || lossy)
		put_binary(object, fd, &st);
	else
		put_lines(object, &scan, text);
	buffer_done(&scan.kept);
	return object;
}
