/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of the book: the latest time that was seen, and how long the list of the revoked was at
 * least: "WALL LENGTH", and behind it, where that is known, "NS BOOT", the machine's own clock at
 * that moment. By that one it is known later what the wall clock should show. */
#include "book_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CLOCK "clock"

static void put(const struct moment *seen, int64_t length, char ret_text[128])
{
	if (seen->boot[0])
		snprintf(ret_text, 128, "%" PRId64 " %" PRId64 " %" PRIu64 " %s\n", seen->wall,
			 length, seen->ns, seen->boot);
	else
		snprintf(ret_text, 128, "%" PRId64 " %" PRId64 "\n", seen->wall, length);
}

int book_clock(struct token_book *book, struct moment *ret_seen, int64_t *ret_length)
{
	_cleanup_free_ char *text = NULL;
	struct moment seen = {0};
	int64_t length = 0;
	char again[128];
	int r = book_read(book, CLOCK, &text), found;

	*ret_seen = seen;
	*ret_length = 0;
	if (r < 0 || !text)
		return r;
	found = sscanf(text, "%" SCNd64 " %" SCNd64 " %" SCNu64 " %39s", &seen.wall, &length,
		       &seen.ns, seen.boot);
	/* As it is written, and no other way. */
	put(&seen, length, again);
	if ((found != 2 && found != 4) || seen.wall < 0 || length < 0 || strcmp(again, text) != 0)
		return -EBADMSG;
	*ret_seen = seen;
	*ret_length = length;
	return 0;
}

int book_write_clock(struct token_book *book, const struct moment *seen, int64_t length)
{
	char text[128];

	put(seen, length, text);
	return book_replace(book, CLOCK, text);
}

/* What the wall clock shows by now, if nobody has set it back. After a start of the machine, what
 * it showed when it was looked at last. */
static int64_t expected(const struct moment *seen, const struct moment *now)
{
	uint64_t passed = seen->boot[0] && strcmp(seen->boot, now->boot) == 0
				  ? moment_ns_between(seen, now) / 1000000000
				  : 0;

	return passed < (uint64_t)(INT64_MAX - seen->wall) ? seen->wall + (int64_t)passed
							   : INT64_MAX;
}

/* Under the lock. */
static int look(struct token_book *book, const struct moment *now, int64_t *ret_expected,
		int *ret_whole)
{
	struct moment seen;
	int64_t length;
	int r = book_clock(book, &seen, &length);

	if (r < 0)
		return r;
	*ret_expected = expected(&seen, now);
	*ret_whole = book_check_list(book, length);
	/* What is later than it should be is believed; what is earlier would make time. */
	return now->wall > *ret_expected ? book_write_clock(book, now, length) : 0;
}

static int keep(struct token_book *book, const struct moment *now, int64_t *ret_expected,
		struct error **ret_error)
{
	int r = book_lock(book), whole = 0;

	if (r == 0)
		r = look(book, now, ret_expected, &whole);
	book_unlock(book);
	if (r == 0 && whole == 0)
		return 0;
	book_refuse(ret_error, r < 0 ? -r : -whole,
		    r < 0 ? "the time cannot be kept"
			  : "something is missing of the list of what was revoked");
	return error_hint(ret_error,
			  "put it back, or end all tokens: `ward token rotate --retire`");
}

int book_note_time(struct token_book *book, const struct moment *now, struct error **ret_error)
{
	int64_t expects;

	return keep(book, now, &expects, ret_error);
}

int book_check_time(struct token_book *book, struct powers *powers, const struct moment *now,
		    struct error **ret_error)
{
	struct moment true_now = *now;
	int64_t expects;
	int r = keep(book, now, &expects, ret_error);

	if (r < 0)
		return r;
	if (now->wall + BOOK_CLOCK_BOUND < expects ||
	    now->wall + BOOK_CLOCK_BOUND < powers->issued) {
		fail(ret_error, E_REJECTED, "the clock was moved back since %s",
		     now->wall + BOOK_CLOCK_BOUND < expects ? "a token was last made or used"
							    : "the token was made");
		return error_hint(ret_error,
				  "set the clock; if it was wrong before, `ward token rotate "
				  "--retire` begins anew and ends all tokens");
	}
	/* A clock that goes back a little gives no time back. */
	true_now.wall = MAX(now->wall, expects);
	if (true_now.wall >= powers->expires)
		return fail(ret_error, E_REJECTED, "the token has expired");
	moment_at(powers->expires, &true_now, &powers->ends);
	return 0;
}
