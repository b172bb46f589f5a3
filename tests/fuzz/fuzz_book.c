/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the book of tokens: its clock, the list of what was revoked, a count of uses and its
 * keys. What is revoked stays so through all that the book does by itself, nobody has more uses
 * than there are, and no time is given back. */
#include "../../src/token/book.h"
#include "files.h"

#include <sodium.h>

enum { NOW = 1800000000, USES = 3 };
#define ID   "01m7aaaaaaaaaaaaaaaaaaaaaa"
#define MARK "0123456789abcdef0123456789abcdef"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_nobody(const void *data)
{
	(void)data;
	return false;
}

/* The wall clock shows now; the machine's own, which nobody sets back, so many seconds. */
static int check_time(struct token_book *book, struct powers *powers, int64_t now, uint64_t since)
{
	struct moment moment = {.wall = now, .ns = since * 1000000000, .boot = "b"};

	return book_check_time(book, powers, &moment, NULL);
}

static void check(struct token_book *book)
{
	struct token_use use = {.mark = MARK, .most = USES, .expires = NOW + 600};
	struct powers powers = {.id = ID,
				.key = "0123456789abcdef",
				.issued = NOW,
				.expires = NOW + 600,
				.uses = &use,
				.use_count = 1};
	char name[TOKEN_KEY_NAME] = "";
	unsigned char key[MACAROON_KEY];
	uint64_t used = book_used(book, &use);
	bool revoked;

	list_add(&powers.marks, MARK);
	if (check_time(book, &powers, NOW, 0) == 0 &&
	    check_time(book, &powers, NOW + 599, 599) == 0 &&
	    (check_time(book, &powers, NOW + 600, 600) == 0 ||
	     check_time(book, &powers, NOW + 599, 600) == 0))
		abort();
	if (book_spend(book, &powers, NULL) == 0 &&
	    (used >= USES || book_used(book, &use) != used + 1))
		abort();
	revoked = book_is_revoked(book, &powers);
	book_compact(book, is_nobody, NULL);
	/* Lines that say when they end are forgotten then, and not before. */
	if (revoked && !book_is_revoked(book, &powers) && check_time(book, &powers, NOW, 600) == 0)
		abort();
	if (book_revoke(book, ID, NOW + 600, NULL) == 0) {
		book_compact(book, is_nobody, NULL);
		if (!book_is_revoked(book, &powers) &&
		    check_time(book, &powers, NOW + 599, 600) == 0)
			abort();
	}
	book_sweep(book);
	(void)book_key(book, name, key, NULL);
	if (book_rotate(book, /* retire= */ true, name, NULL) == 0 &&
	    book_key(book, name, key, NULL) < 0)
		abort();
	list_done(&powers.marks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_book_ struct token_book *book = NULL;

	make_place();
	make_directory("tokens");
	put_part("tokens/clock", &data, &size);
	put_part("tokens/uses-" MARK, &data, &size);
	put_part("tokens/revoked", &data, &size);
	put_part("tokens/keys", &data, &size);
	if (book_open(place, /* make= */ false, &book, NULL) == 0)
		check(book);
	return 0;
}
