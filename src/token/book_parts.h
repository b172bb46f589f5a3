/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the book: its files. */
#pragma once

#include "book.h"
#include <sys/stat.h>

#define BOOK_REVOKED "revoked"
enum { BOOK_FILE_MOST = 16 * 1024 * 1024 };

struct token_book {
	int directory, lock, revoked;
	struct stat seen; /* of the list of the revoked */
	bool shrunk;	  /* which is only ever appended to */
};

int book_refuse(struct error **ret_error, int errnum, const char *what);
/* Held by the open file. -errno. */
int book_lock(struct token_book *book);
void book_unlock(struct token_book *book);
/* What is in a file of the book's own; NULL where it is not there. -errno. */
int book_read(struct token_book *book, const char *name, char **ret_text);
/* "NUMBER NUMBER" and the end of the line, none below 0: of a part, a smaller one would be left. */
bool book_numbers(const char *text, int64_t *ret_one, int64_t *ret_other);
/* Whole, on disk, or not at all. -errno. */
int book_replace(struct token_book *book, const char *name, const char *text);
/* The book's own file, which nobody else can have put there; -errno. */
int book_file(const struct token_book *book, const char *name, int flags);
/* book_clock.c: the latest time that was seen, and how long the list of the revoked was at least.
 * -errno. */
int book_clock(struct token_book *book, struct moment *ret_seen, int64_t *ret_length);
int book_write_clock(struct token_book *book, const struct moment *seen, int64_t length);

/* book_revoked.c, under the lock: a line behind the others; from now on the list is never shorter
 * than it is now; it is as long as it must be. -errno. */
int book_append(struct token_book *book, const char *text);
int book_keep_length(struct token_book *book, const struct moment *seen);
int book_check_list(struct token_book *book, int64_t length);
