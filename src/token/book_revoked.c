/* SPDX-License-Identifier: Apache-2.0 */
/* What was revoked: a mark a line, "MARK" or "MARK EXPIRES end", appended to as long as anybody
 * reads it, and written anew without what has expired when nobody does. */
#include "book_parts.h"
#include "../base/buffer.h"
#include "../base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LETTERS "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/* The list may have been written anew since we opened it. Whoever has become somebody else cannot
 * look any more; as long as he holds his token it is not. -errno. */
static int renew_list(struct token_book *book)
{
	struct stat named, open;
	int fd;

	if (fstatat(book->directory, BOOK_REVOKED, &named, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == EACCES ? 0 : -errno;
	if (fstat(book->revoked, &open) == 0 && open.st_ino == named.st_ino &&
	    open.st_dev == named.st_dev)
		return 0;
	fd = book_file(book, BOOK_REVOKED, O_RDWR | O_APPEND);
	if (fd < 0)
		return fd;
	close_fd(&book->revoked);
	book->revoked = fd;
	book->seen = (struct stat){0};
	return 0;
}

/* The list as it was left, or more: else what was revoked would hold again. */
int book_check_list(struct token_book *book, int64_t length)
{
	struct stat st;
	int r = renew_list(book);

	if (r == 0 && fstat(book->revoked, &st) < 0)
		r = -errno;
	return r < 0 ? r : st.st_size < length ? -EBADMSG : 0;
}

/* A line that was torn by a full disk or a crash must not swallow the next one. */
int book_append(struct token_book *book, const char *text)
{
	struct stat st;
	char last = '\n';
	int r = renew_list(book);

	if (r < 0)
		return r;
	if (fstat(book->revoked, &st) < 0 ||
	    (st.st_size > 0 && pread(book->revoked, &last, 1, st.st_size - 1) != 1))
		return -EIO;
	r = last == '\n' ? 0 : write_all(book->revoked, "\n", 1);
	if (r == 0)
		r = write_all(book->revoked, text, strlen(text));
	return r == 0 && fsync(book->revoked) < 0 ? -errno : r;
}

/* Behind what was appended: from now on the list is never shorter. */
int book_keep_length(struct token_book *book, const struct moment *seen)
{
	struct stat st;

	return fstat(book->revoked, &st) < 0 ? -errno : book_write_clock(book, seen, st.st_size);
}

int book_revoke(struct token_book *book, const char *mark, int64_t expires,
		struct error **ret_error)
{
	struct moment seen;
	int64_t length;
	char line[128];
	int r;

	if (expires > 0)
		snprintf(line, sizeof(line), "%s %" PRId64 " end\n", mark, expires);
	else
		snprintf(line, sizeof(line), "%s\n", mark);
	r = book_lock(book);
	if (r == 0)
		r = book_clock(book, &seen, &length);
	if (r == 0)
		r = book_append(book, line);
	/* What is missing already stays missed. */
	if (r == 0 && book_check_list(book, length) == 0)
		r = book_keep_length(book, &seen);
	book_unlock(book);
	return r < 0 ? book_refuse(ret_error, -r, "the list of what was revoked cannot be written")
		     : 0;
}

bool book_changed(struct token_book *book)
{
	struct stat now;
	bool changed;

	if (renew_list(book) < 0) {
		book->shrunk = true;
		return true;
	}
	if (fstat(book->revoked, &now) < 0)
		return true;
	changed = now.st_size != book->seen.st_size;
	book->shrunk |= now.st_size < book->seen.st_size;
	book->seen = now;
	return changed;
}

uint64_t book_seen(const struct token_book *book)
{
	return (uint64_t)book->seen.st_size;
}

bool book_is_revoked(struct token_book *book, const struct powers *powers)
{
	_cleanup_free_ char *text = NULL;
	bool revoked = false;
	ssize_t got;

	(void)book_changed(book);
	if (book->shrunk || book->seen.st_size > BOOK_FILE_MOST)
		return true;
	if (book->seen.st_size == 0)
		return false;
	text = calloc(1, (size_t)book->seen.st_size + 1);
	if (!text)
		abort();
	/* By its own descriptor: whoever the command runs as need not be able to open it. */
	got = pread(book->revoked, text, (size_t)book->seen.st_size, 0);
	/* What ward did not write may have been anything. */
	if (got != book->seen.st_size || strspn(text, LETTERS " \n") != (size_t)got)
		return true;
	for (char *rest = text, *line; !revoked && (line = strsep(&rest, "\n"));) {
		line[strcspn(line, " ")] = '\0';
		revoked =
			*line && (strcmp(line, powers->id) == 0 || strcmp(line, powers->key) == 0 ||
				  list_has(&powers->marks, line));
	}
	return revoked;
}

/* The lines that may still mean something, at a time that no clock can go back behind. */
static void keep_lines(char *text, int64_t seen, struct buffer *kept)
{
	for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
		int64_t expires = 0;
		int whole = 0;

		/* A number that was torn off would be an earlier time. */
		if (sscanf(line, "%*s %" SCNd64 " end%n", &expires, &whole) != 1 ||
		    whole != (int)strlen(line))
			expires = 0;
		if (*line && (expires <= 0 || expires + BOOK_CLOCK_BOUND >= seen))
			buffer_printf(kept, "%s\n", line);
	}
}

/* First it may be shorter, then it is: whoever is killed between leaves a list that is longer than
 * it must be. */
static void compact(struct token_book *book)
{
	_cleanup_buffer_ struct buffer kept = {0};
	_cleanup_free_ char *text = NULL;
	struct moment seen;
	int64_t length;
	size_t before;

	if (book_clock(book, &seen, &length) < 0 || book_check_list(book, length) < 0 ||
	    book_read(book, BOOK_REVOKED, &text) < 0 || !text)
		return;
	before = strlen(text);
	/* What ward did not write stays, and is refused by who reads it. */
	if (strspn(text, LETTERS " \n") != before)
		return;
	keep_lines(text, seen.wall, &kept);
	if (kept.length < before && book_write_clock(book, &seen, (int64_t)kept.length) == 0)
		(void)book_replace(book, BOOK_REVOKED, buffer_text(&kept));
}

void book_compact(struct token_book *book, bool (*is_held)(const void *data), const void *data)
{
	if (book_lock(book) < 0)
		return;
	/* Under the lock: whoever comes to hold one takes it before he reads the list. */
	if (!is_held(data))
		compact(book);
	book_unlock(book);
}
