/* SPDX-License-Identifier: Apache-2.0 */
/* Reading, checking and locking what the audit log is made of. */
#include "chain.h"
#include "../base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium/crypto_hash_sha256.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
	SIZE_AT = 20 + 1,
	HASH_AT = SIZE_AT + 20 + 1,
	HEAD_LENGTH = HASH_AT + HASH_LENGTH + 1,
	READ_STEP = 64 * 1024,
};

static const uint64_t lock_wait_ns = 10 * UINT64_C(1000000000);

const struct head chain_start = {
	.hash = "0000000000000000000000000000000000000000000000000000000000000000",
};

void chain_hash(const char *data, size_t length, char ret_text[static AUDIT_HASH_TEXT])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char hash[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(hash, (const unsigned char *)data, length);
	for (size_t i = 0; i < sizeof(hash); i++) {
		ret_text[2 * i] = digits[hash[i] >> 4];
		ret_text[2 * i + 1] = digits[hash[i] & 15];
	}
	ret_text[HASH_LENGTH] = '\0';
}

static void head_print(const struct head *head, char ret_text[static HEAD_LENGTH + 1])
{
	snprintf(ret_text, HEAD_LENGTH + 1, "%020" PRIu64 " %020" PRIu64 " %s\n", head->seq,
		 head->size, head->hash);
}

enum head_state head_read(int fd, struct head *ret_head)
{
	char text[HEAD_LENGTH + 2] = "", again[HEAD_LENGTH + 1];
	struct head head = {0};
	ssize_t length = pread(fd, text, HEAD_LENGTH + 1, 0);

	if (length == 0)
		return HEAD_MISSING;
	if (length != HEAD_LENGTH)
		return HEAD_BAD;
	/* Printing it again and comparing leaves no second way to write the same head. */
	head.seq = strtoull(text, NULL, 10);
	head.size = strtoull(text + SIZE_AT, NULL, 10);
	memcpy(head.hash, text + HASH_AT, HASH_LENGTH);
	head_print(&head, again);
	if (memcmp(text, again, HEAD_LENGTH) != 0)
		return HEAD_BAD;
	if (head.seq == 0 && (head.size != 0 || strcmp(head.hash, chain_start.hash) != 0))
		return HEAD_BAD;
	*ret_head = head;
	return HEAD_GOOD;
}

int head_write(int fd, const struct head *head)
{
	char text[HEAD_LENGTH + 1];
	ssize_t written;

	head_print(head, text);
	do
		written = pwrite(fd, text, HEAD_LENGTH, 0);
	while (written < 0 && errno == EINTR);
	if (written < 0)
		return -errno;
	return written == HEAD_LENGTH ? 0 : -EIO;
}

void log_lines_done(struct lines *lines)
{
	free(lines->data);
}

int lines_next(struct lines *lines, const char **ret_line, size_t *ret_length)
{
	for (;;) {
		size_t held = lines->filled - lines->start, wanted;
		const char *line = held > 0 ? lines->data + lines->start : NULL;
		const char *newline = line ? memchr(line, '\n', held) : NULL;
		uint64_t left = lines->end - lines->offset;
		ssize_t got;

		if (newline && newline - line < RECORD_LIMIT) {
			*ret_line = line;
			*ret_length = (size_t)(newline - line);
			lines->start += *ret_length + 1;
			lines->offset += *ret_length + 1;
			return LINE_WHOLE;
		}
		if (held >= RECORD_LIMIT)
			return LINE_LONG;
		if (held == left)
			return held > 0 ? LINE_TORN : LINE_NONE;

		if (line && lines->start > 0)
			memmove(lines->data, line, held);
		lines->start = 0;
		lines->filled = held;
		if (lines->room - held < READ_STEP / 2) {
			lines->room = MAX((size_t)READ_STEP, lines->room * 2);
			lines->data = realloc(lines->data, lines->room);
			if (!lines->data)
				abort();
		}
		wanted = MIN(lines->room - held, left - held);
		got = pread(lines->fd, lines->data + held, wanted, (off_t)(lines->offset + held));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return -EIO; /* the file became shorter while it was read */
		lines->filled += (size_t)got;
	}
}

char *chain_words(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		abort();
	va_end(args);
	return text;
}

/* Reads the number in `{"seq":N,`; false where there is none. */
static bool read_seq(const char *line, size_t length, uint64_t *ret_seq)
{
	static const char key[] = "{\"seq\":";
	size_t at = sizeof(key) - 1;
	uint64_t seq = 0;

	if (length < at || memcmp(line, key, at) != 0 || at == length || line[at] < '1' ||
	    line[at] > '9')
		return false;
	for (; at < length && line[at] >= '0' && line[at] <= '9'; at++)
		if (__builtin_mul_overflow(seq, 10, &seq) ||
		    __builtin_add_overflow(seq, (uint64_t)(line[at] - '0'), &seq))
			return false;
	*ret_seq = seq;
	return at < length && line[at] == ',';
}

char *chain_follow(struct head *chain, const char *line, size_t length)
{
	/* From the end: prev, hash, closing brace. */
	static const size_t prev_part = sizeof(PREV_KEY) - 1 + HASH_LENGTH + 1,
			    hash_part = sizeof(HASH_KEY) - 1 + HASH_LENGTH + 2;
	char hash[AUDIT_HASH_TEXT];
	const char *prev_at, *hash_at;
	uint64_t seq;
	json_t *record;
	bool object;

	if (length < prev_part + hash_part)
		return chain_words("this is not a record");
	hash_at = line + length - hash_part;
	prev_at = hash_at - prev_part;
	if (memcmp(hash_at, HASH_KEY, sizeof(HASH_KEY) - 1) != 0 ||
	    memcmp(line + length - 2, "\"}", 2) != 0)
		return chain_words("the record was changed: it does not end in its hash");
	chain_hash(line, (size_t)(hash_at - line), hash);
	hash_at += sizeof(HASH_KEY) - 1;
	if (memcmp(hash_at, hash, HASH_LENGTH) != 0)
		return chain_words("the record was changed: its content does not give its hash");
	if (!read_seq(line, length, &seq) || memcmp(prev_at, PREV_KEY, sizeof(PREV_KEY) - 1) != 0 ||
	    hash_at[-(ptrdiff_t)sizeof(HASH_KEY)] != '"')
		return chain_words(
			"this is not a record of this log: its number or link is missing");
	if (seq > chain->seq + 1)
		return chain_words("record %" PRIu64 " is missing: record %" PRIu64
				   " stands in its place",
				   chain->seq + 1, seq);
	if (seq < chain->seq + 1)
		return chain_words("record %" PRIu64 " belongs here, but there is %" PRIu64
				   ": records were added or put in another order",
				   chain->seq + 1, seq);
	prev_at += sizeof(PREV_KEY) - 1;
	if (memcmp(prev_at, chain->hash, HASH_LENGTH) != 0)
		return chain_words(
			"record %" PRIu64
			" does not follow the record before it: one of the two was replaced",
			seq);
	record = json_loadb(line, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
			    /* error= */ NULL);
	object = json_is_object(record);
	json_decref(record);
	if (!object)
		return chain_words("record %" PRIu64 " is not a JSON object", seq);

	chain->seq = seq;
	chain->size += length + 1;
	memcpy(chain->hash, hash, sizeof(hash));
	return NULL;
}

/* Waits for the lock by asking again: a blocking wait could only be bounded by a signal, and those
 * belong to the caller. */
int log_lock(int fd, short type, const char *path, struct error **ret_error)
{
	struct flock whole = {.l_type = type, .l_whence = SEEK_SET, .l_len = LOG_LOCKED};
	struct timespec pause = {.tv_nsec = 10000};
	uint64_t deadline = 0;

	while (fcntl(fd, F_OFD_SETLK, &whole) < 0) {
		int errnum = errno;
		uint64_t now = monotonic_ns();

		if (errnum != EAGAIN && errnum != EACCES && errnum != EINTR)
			return fail_errno(ret_error, E_ENGINE, errnum, "cannot lock %s", path);
		if (deadline == 0)
			deadline = now + lock_wait_ns;
		if (now >= deadline) {
			fail(ret_error, E_ENGINE,
			     "%s: another process has held its lock for 10 seconds", path);
			return error_hint(ret_error, "find the holder with `fuser %s`", path);
		}
		nanosleep(&pause, NULL);
		pause.tv_nsec = MIN(pause.tv_nsec * 2, 1000000);
	}
	return 0;
}

void log_unlock(int fd)
{
	struct flock whole = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_len = LOG_LOCKED};

	(void)fcntl(fd, F_OFD_SETLK, &whole);
}
