/* SPDX-License-Identifier: Apache-2.0 */
/* The format of the audit log: its lines, the links between them, and the head that vouches for its
 * end.
 *
 * Record N stands on line N of audit.log:
 *
 *     {"seq":N,"time":"...","kind":"...","run":"...", body ...,"prev":"<hash of
 * N-1>","hash":"<hash>"}
 *
 * Its hash covers the bytes of the line up to `,"hash":"`, so each line vouches for all lines
 * before it. What a chain cannot vouch for is its own end: audit.head beside it does, with the
 * number, the end and the hash of the last record. Both are written under one lock, the log first.
 * A writer that dies between the two leaves records (or a part of one) past the head; the next
 * writer adopts the whole ones and cuts a torn one away. Every other disagreement means that
 * somebody else changed the files, and then nothing is appended until a person has looked. */
#pragma once

#include "audit.h"
#include <stdbool.h>

#define LOG_NAME  "audit.log"
#define HEAD_NAME "audit.head"
#define PREV_KEY  ",\"prev\":\""
#define HASH_KEY  ",\"hash\":\""

enum {
	HASH_LENGTH = AUDIT_HASH_TEXT - 1,
	RECORD_LIMIT = 1024 * 1024, /* bytes of a line with its newline */
};

void chain_hash(const char *data, size_t length, char ret_text[static AUDIT_HASH_TEXT]);
/* A formatted text of its own; never NULL. Caller frees. */
char *chain_words(const char *format, ...) _printf_(1, 2);

/* The end of a chain: its last record, and where that ends. */
struct head {
	uint64_t seq, size;
	char hash[AUDIT_HASH_TEXT];
};
extern const struct head chain_start;

/* An empty head counts as missing: its file comes into being before its text. */
enum head_state { HEAD_GOOD, HEAD_MISSING, HEAD_BAD };
enum head_state head_read(int fd, struct head *ret_head);
/* 0 or -errno. One write within one page: a reader or a crash sees the old head or the new one. */
int head_write(int fd, const struct head *head);

/* Walks the lines of a file from an offset up to a given end, holding one line at a time. */
struct lines {
	int fd;
	uint64_t offset; /* of the next line */
	uint64_t end;	 /* nothing past it is looked at */
	char *data;
	size_t room, start, filled;
};
enum line_state { LINE_NONE, LINE_WHOLE, LINE_TORN, LINE_LONG };
/* The state of the next line, or -errno. A whole line is lent without its newline until the next
 * call. */
int lines_next(struct lines *lines, const char **ret_line, size_t *ret_length);
void log_lines_done(struct lines *lines);
#define _cleanup_lines_ _cleanup_(log_lines_done)

/* Follows the chain over one line. NULL and *chain moved on if the line holds, else what is wrong
 * with it; caller frees. */
char *chain_follow(struct head *chain, const char *line, size_t length);

/* Past all that a log could ever hold: there runs are held, see audit_hold(). */
#define LOG_LOCKED (INT64_C(1) << 61)

/* Locks the whole log for writing (F_WRLCK) or reading (F_RDLCK); gives up after ten seconds. The
 * lock goes with the open file, so it ends with its holder, however that dies. */
int log_lock(int fd, short type, const char *path, struct error **ret_error);
void log_unlock(int fd);
