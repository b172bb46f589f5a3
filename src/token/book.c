/* SPDX-License-Identifier: Apache-2.0 */
/* The book of tokens. Each change is made under one lock, which is held by the open file: two
 * processes, or two who opened it, never change it at once. */
#include "book_parts.h"
#include "../base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define KEYS "keys"
#define LOCK "lock"

enum { KEYS_MOST = 64 };

int book_refuse(struct error **ret_error, int errnum, const char *what)
{
	fail_errno(ret_error, E_REJECTED, errnum, "no token can be used: %s", what);
	return error_hint(ret_error, "look at `tokens` in ward's state directory");
}

/* The book's own file, which nobody else can have put there. */
int book_file(const struct token_book *book, const char *name, int flags)
{
	int fd = openat(book->directory, name, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_mode & 077) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

int book_lock(struct token_book *book)
{
	while (flock(book->lock, LOCK_EX) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

void book_unlock(struct token_book *book)
{
	(void)flock(book->lock, LOCK_UN);
}

int book_open(const char *state, bool make, struct token_book **ret_book, struct error **ret_error)
{
	_cleanup_free_ char *path = NULL;
	struct token_book *book;
	struct stat st;

	if (asprintf(&path, "%s/tokens", state) < 0)
		abort();
	if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
		return book_refuse(ret_error, errno, path);
	book = calloc(1, sizeof(*book));
	if (!book)
		abort();
	book->lock = book->revoked = -1;
	book->directory = open(path, O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (book->directory < 0 && errno == ENOENT) {
		book_close(book);
		return fail(ret_error, E_REJECTED,
			    "the token is none of ward's: none was ever made here");
	}
	if (book->directory >= 0 &&
	    (fstat(book->directory, &st) < 0 || st.st_uid != geteuid() || st.st_mode & 077)) {
		book_close(book);
		return book_refuse(ret_error, EPERM, path);
	}
	if (book->directory >= 0) {
		book->lock = book_file(book, LOCK, O_RDWR | O_CREAT);
		book->revoked = book_file(book, BOOK_REVOKED, O_RDWR | O_CREAT | O_APPEND);
	}
	if (book->directory < 0 || book->lock < 0 || book->revoked < 0) {
		int errnum = book->directory < 0 ? errno
			     : book->lock < 0	 ? -book->lock
						 : -book->revoked;

		book_close(book);
		return book_refuse(ret_error, errnum, path);
	}
	*ret_book = book;
	return 0;
}

void book_close(struct token_book *book)
{
	if (!book)
		return;
	close_fd(&book->revoked);
	close_fd(&book->lock);
	close_fd(&book->directory);
	free(book);
}

/* Whole, on disk, or not at all. */
int book_replace(struct token_book *book, const char *name, const char *text)
{
	_cleanup_free_ char *fresh = NULL;
	_cleanup_close_ int fd = -1;
	int r;

	if (asprintf(&fresh, "%s.new", name) < 0)
		abort();
	(void)unlinkat(book->directory, fresh, 0);
	fd = book_file(book, fresh, O_WRONLY | O_CREAT | O_EXCL);
	if (fd < 0)
		return fd;
	r = write_all(fd, text, strlen(text));
	if (r == 0 &&
	    (fsync(fd) < 0 || renameat(book->directory, fresh, book->directory, name) < 0 ||
	     fsync(book->directory) < 0))
		r = -errno;
	return r;
}

int book_read(struct token_book *book, const char *name, char **ret_text)
{
	_cleanup_close_ int fd = book_file(book, name, O_RDONLY);
	struct stat st;
	ssize_t got;
	char *text;

	*ret_text = NULL;
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	if (fstat(fd, &st) < 0 || st.st_size > BOOK_FILE_MOST)
		return -EFBIG;
	text = calloc(1, (size_t)st.st_size + 1);
	if (!text)
		abort();
	got = read_all(fd, text, (size_t)st.st_size);
	if (got < 0) {
		free(text);
		return (int)got;
	}
	text[got] = '\0';
	*ret_text = text;
	return 0;
}

bool book_numbers(const char *text, int64_t *ret_one, int64_t *ret_other)
{
	int64_t one, other;
	char again[64];

	if (sscanf(text, "%" SCNd64 " %" SCNd64, &one, &other) != 2 || one < 0 || other < 0)
		return false;
	/* As it is written, and no other way. */
	snprintf(again, sizeof(again), "%" PRId64 " %" PRId64 "\n", one, other);
	if (strcmp(again, text) != 0)
		return false;
	*ret_one = one;
	*ret_other = other;
	return true;
}

/* -- Keys: "NAME KEY" a line, the newest last ------------------------------------------------- */

static bool read_key(const char *line, char name[TOKEN_KEY_NAME], unsigned char key[MACAROON_KEY])
{
	char hex[2 * MACAROON_KEY + 1];
	size_t length;
	bool whole =
		sscanf(line, "%16s %64s", name, hex) == 2 &&
		sodium_hex2bin(key, MACAROON_KEY, hex, strlen(hex), NULL, &length, NULL) == 0 &&
		length == MACAROON_KEY;

	sodium_memzero(hex, sizeof(hex));
	return whole;
}

static int add_key(struct token_book *book, const char *before, char ret_name[TOKEN_KEY_NAME])
{
	unsigned char key[MACAROON_KEY], name[(TOKEN_KEY_NAME - 1) / 2];
	char hex[2 * MACAROON_KEY + 1];
	_cleanup_buffer_ struct buffer text = {0};
	int r;

	randombytes_buf(key, sizeof(key));
	randombytes_buf(name, sizeof(name));
	sodium_bin2hex(ret_name, TOKEN_KEY_NAME, name, sizeof(name));
	sodium_bin2hex(hex, sizeof(hex), key, sizeof(key));
	buffer_printf(&text, "%s%s %s\n", before, ret_name, hex);
	r = book_replace(book, KEYS, buffer_text(&text));
	sodium_memzero(text.data, text.length);
	sodium_memzero(key, sizeof(key));
	sodium_memzero(hex, sizeof(hex));
	return r;
}

/* *found: the one of that name, or the newest where there is no name. text, which may be NULL, is
 * wiped. */
static void find_key(char *text, char name[TOKEN_KEY_NAME], unsigned char key[MACAROON_KEY],
		     bool *found)
{
	char this[TOKEN_KEY_NAME], wanted[TOKEN_KEY_NAME];
	unsigned char bytes[MACAROON_KEY];
	size_t length = text ? strlen(text) : 0;

	memcpy(wanted, name, sizeof(wanted));
	*found = false;
	for (char *rest = text, *line; (line = strsep(&rest, "\n"));)
		if (read_key(line, this, bytes) && (!wanted[0] || strcmp(this, wanted) == 0)) {
			memcpy(name, this, sizeof(this));
			memcpy(key, bytes, sizeof(bytes));
			*found = true;
		}
	sodium_memzero(bytes, sizeof(bytes));
	if (text)
		sodium_memzero(text, length);
}

int book_key(struct token_book *book, char name[TOKEN_KEY_NAME],
	     unsigned char ret_key[MACAROON_KEY], struct error **ret_error)
{
	_cleanup_free_ char *text = NULL;
	bool newest = !name[0], found;
	int r;

	if ((r = book_lock(book)) < 0 || (r = book_read(book, KEYS, &text)) < 0) {
		book_unlock(book);
		return book_refuse(ret_error, -r, "its keys cannot be read");
	}
	find_key(text, name, ret_key, &found);
	/* Only the first: a file without a key in it is not what ward wrote. */
	if (!text && newest && (r = add_key(book, "", name)) == 0 &&
	    (r = book_read(book, KEYS, &text)) == 0)
		find_key(text, name, ret_key, &found);
	book_unlock(book);
	if (r < 0)
		return book_refuse(ret_error, -r, "a key cannot be written");
	if (!found)
		return fail(ret_error, E_REJECTED,
			    "the token was made with a key that is none of ward's, or no longer");
	return 0;
}

/* Of the keys, but what ran with a token of an old one is ended by the list. */
int book_rotate(struct token_book *book, bool retire, char ret_name[TOKEN_KEY_NAME],
		struct error **ret_error)
{
	_cleanup_free_ char *text = NULL;
	size_t lines = 0;
	int r = book_lock(book);

	if (r == 0)
		r = book_read(book, KEYS, &text);
	for (const char *c = text; r == 0 && c && *c; c++)
		lines += *c == '\n';
	if (r == 0 && lines >= KEYS_MOST && !retire) {
		book_unlock(book);
		fail(ret_error, E_USAGE, "there are %zu keys already", lines);
		return error_hint(ret_error, "`ward token rotate --retire` drops the older ones");
	}
	/* What runs with a token of theirs hears of it as of any that is revoked. */
	for (char *rest = retire && r == 0 ? text : NULL, *line;
	     r == 0 && (line = strsep(&rest, "\n"));) {
		unsigned char key[MACAROON_KEY];
		char name[TOKEN_KEY_NAME], text_line[TOKEN_KEY_NAME + 1];

		/* What is no key made no token, and does not belong into the list. */
		if (!read_key(line, name, key))
			continue;
		sodium_memzero(key, sizeof(key));
		snprintf(text_line, sizeof(text_line), "%s\n", name);
		r = book_append(book, text_line);
	}
	if (r == 0)
		r = add_key(book, retire || !text ? "" : text, ret_name);
	if (r == 0 && retire)
		r = book_keep_length(book, &(struct moment){0});
	book_unlock(book);
	return r < 0 ? book_refuse(ret_error, -r, "the keys cannot be written") : 0;
}

/* The chain alone, with ward's own key. */
static int check_chain(struct token_book *book, const char *text, struct powers *ret_powers,
		       struct error **ret_error)
{
	unsigned char key[MACAROON_KEY], derived[MACAROON_KEY];
	char name[TOKEN_KEY_NAME] = "";
	struct token token;
	int r = token_read(text, &token, ret_error);

	if (r < 0)
		return r;
	r = token_key_name(&token, name, ret_error);
	if (r == 0)
		r = book_key(book, name, key, ret_error);
	if (r == 0) {
		macaroon_derive_key(key, sizeof(key), derived);
		r = token_check(&token, derived, ret_powers, ret_error);
		sodium_memzero(key, sizeof(key));
		sodium_memzero(derived, sizeof(derived));
	}
	token_done(&token);
	return r;
}

int64_t book_expiry(struct token_book *book, const char *text)
{
	_cleanup_powers_ struct powers powers = {0};

	return check_chain(book, text, &powers, NULL) == 0 ? powers.expires : 0;
}

int book_verify(struct token_book *book, const char *text, const struct moment *now,
		struct powers *ret_powers, struct error **ret_error)
{
	int r = check_chain(book, text, ret_powers, ret_error);

	if (r < 0)
		return r;
	r = book_check_time(book, ret_powers, now, ret_error);
	if (r == 0 && book_is_revoked(book, ret_powers))
		r = fail(ret_error, E_REJECTED, "the token was revoked");
	if (r < 0)
		powers_done(ret_powers);
	return r;
}
