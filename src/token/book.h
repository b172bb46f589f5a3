/* SPDX-License-Identifier: Apache-2.0 */
/* What a chain cannot say of itself: ward's keys, the latest time that was seen, what was revoked,
 * and how often each was used. Files in STATE/tokens, for the owner alone. */
#pragma once

#include "token.h"

struct token_book;

/* make: the first token is about to be made. Else there being none is -E_REJECTED: no token can be
 * ward's. */
int book_open(const char *state, bool make, struct token_book **ret_book, struct error **ret_error);
void book_close(struct token_book *book);
static inline void book_closep(struct token_book **book)
{
	book_close(*book);
}
#define _cleanup_book_ _cleanup_(book_closep)

/* name: "" for the newest, whose name is put there. A key that is not there, or no more. */
int book_key(struct token_book *book, char name[TOKEN_KEY_NAME],
	     unsigned char ret_key[MACAROON_KEY], struct error **ret_error);
/* A new key for the tokens to come. retire: older ones verify no longer, and the clock is believed
 * anew. */
int book_rotate(struct token_book *book, bool retire, char ret_name[TOKEN_KEY_NAME],
		struct error **ret_error);

/* How far a clock may go back without being disbelieved. What has expired stays so in any case. */
enum { BOOK_CLOCK_BOUND = 60 };
/* The time holds for the token: not yet expired, not issued in the future, and no clock was moved
 * back, as far as the machine's own clock tells since a token was last made or used. Says when it
 * ends. */
int book_check_time(struct token_book *book, struct powers *powers, const struct moment *now,
		    struct error **ret_error);
/* A token is made: from now on the clock is watched. */
int book_note_time(struct token_book *book, const struct moment *now, struct error **ret_error);
/* mark: of a chain, or the id of a token, for all that came of it. expires: when all of that has
 * ended by itself, for sure; 0: not known. */
int book_revoke(struct token_book *book, const char *mark, int64_t expires,
		struct error **ret_error);
/* When a token of ward's own expires; 0 where it cannot be believed. */
int64_t book_expiry(struct token_book *book, const char *text);
/* Forgets what was revoked and has expired since, by the time that was kept. Not while somebody
 * holds a token: he reads the list by a descriptor that he has open. */
void book_compact(struct token_book *book, bool (*is_held)(const void *data), const void *data);
/* True, too, where that cannot be read. */
bool book_is_revoked(struct token_book *book, const struct powers *powers);
/* True if something was revoked since this was called last. */
bool book_changed(struct token_book *book);
/* How large the list was when it was looked at last: what is revoked up to there is known. */
uint64_t book_seen(const struct token_book *book);
/* One use, durable before it returns: exactly as many as may be, however many try at once. */
int book_spend(struct token_book *book, const struct powers *powers, struct error **ret_error);
/* Of one caveat, so far. */
uint64_t book_used(struct token_book *book, const struct token_use *use);

/* Forgets counts of what has expired for good: by the time that was kept, behind which no clock can
 * go back, and not by what it says now. */
void book_sweep(struct token_book *book);

/* All of it for a token as text: read, checked, in time, not revoked. Nothing is spent. */
int book_verify(struct token_book *book, const char *text, const struct moment *now,
		struct powers *ret_powers, struct error **ret_error);
