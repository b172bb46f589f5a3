/* SPDX-License-Identifier: Apache-2.0 */
/* How often each was used: a file for each caveat, "USED EXPIRES". */
#include "book_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define USES "uses"

enum { SWEEP_MOST = 10000 };

static void use_name(const struct token_use *use, char ret_name[sizeof(USES) + TOKEN_MARK + 1])
{
	snprintf(ret_name, sizeof(USES) + TOKEN_MARK + 1, USES "-%s", use->mark);
}

static int read_used(struct token_book *book, const struct token_use *use, uint64_t *ret_used)
{
	char name[sizeof(USES) + TOKEN_MARK + 1];
	_cleanup_free_ char *text = NULL;
	int64_t used = 0, expires;
	int r;

	use_name(use, name);
	r = book_read(book, name, &text);
	if (r == 0 && text && !book_numbers(text, &used, &expires))
		r = -EBADMSG;
	*ret_used = (uint64_t)used;
	return r;
}

uint64_t book_used(struct token_book *book, const struct token_use *use)
{
	uint64_t used;

	return read_used(book, use, &used) == 0 ? used : UINT64_MAX;
}

void book_sweep(struct token_book *book)
{
	int fd = openat(book->directory, ".", O_DIRECTORY | O_CLOEXEC);
	DIR *listing = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	struct moment seen = {0};
	int64_t length;

	if (!listing || book_lock(book) < 0)
		listing = listing ? (closedir(listing), NULL) : NULL;
	if (listing)
		(void)book_clock(book, &seen, &length);
	for (int i = 0; listing && i < SWEEP_MOST && (entry = readdir(listing)); i++) {
		_cleanup_free_ char *text = NULL;
		int64_t used, expires;

		if (strncmp(entry->d_name, USES "-", strlen(USES "-")) == 0 &&
		    book_read(book, entry->d_name, &text) == 0 && text &&
		    book_numbers(text, &used, &expires) && expires < seen.wall)
			(void)unlinkat(book->directory, entry->d_name, 0);
	}
	if (!listing)
		return;
	book_unlock(book);
	closedir(listing);
}

int book_spend(struct token_book *book, const struct powers *powers, struct error **ret_error)
{
	bool spent = false;
	uint64_t used;
	int r = 0;

	if (powers->use_count == 0)
		return 0;
	r = book_lock(book);
	for (size_t i = 0; i < powers->use_count && r == 0; i++) {
		r = read_used(book, &powers->uses[i], &used);
		spent |= r == 0 && used >= powers->uses[i].most;
	}
	for (size_t i = 0; i < powers->use_count && r == 0 && !spent; i++) {
		char name[sizeof(USES) + TOKEN_MARK + 1], text[64];

		r = read_used(book, &powers->uses[i], &used);
		use_name(&powers->uses[i], name);
		snprintf(text, sizeof(text), "%" PRIu64 " %" PRId64 "\n", used + 1,
			 powers->uses[i].expires);
		if (r == 0)
			r = book_replace(book, name, text);
	}
	book_unlock(book);
	if (r < 0)
		return book_refuse(ret_error, -r, "its uses cannot be counted");
	return spent ? fail(ret_error, E_REJECTED, "the token has been used as often as it may be")
		     : 0;
}
