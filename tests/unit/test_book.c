/* SPDX-License-Identifier: Apache-2.0 */
/* The book of tokens: it counts, revokes and keeps time, whoever races, tears its files or sets the
 * clock. */
#include "../../src/base/io.h"
#include "../../src/token/book.h"

#include <fcntl.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { NOW = 1800000000 };

static char place[64];

static int make_place(void **state)
{
	(void)state;
	strcpy(place, "/tmp/ward-book-XXXXXX");
	return mkdtemp(place) ? 0 : -1;
}

static int remove_place(void **state)
{
	(void)state;
	return remove_tree(AT_FDCWD, place);
}

static struct token_book *open_book(void)
{
	struct token_book *book = NULL;

	assert_int_equal(book_open(place, /* make= */ true, &book, NULL), 0);
	return book;
}

/* A token with the book's newest key, as text. */
static char *mint(struct token_book *book, const struct caveats *more)
{
	unsigned char secret[MACAROON_KEY], derived[MACAROON_KEY];
	char name[TOKEN_KEY_NAME] = "";
	_cleanup_list_ struct list allow = {0};
	struct caveats caveats = *more;
	_cleanup_token_ struct token token = {0};

	list_add(&allow, "read .");
	caveats.allow = &allow;
	caveats.agent = "builder";
	caveats.expires = NOW + 600;
	assert_int_equal(book_key(book, name, secret, NULL), 0);
	macaroon_derive_key(secret, sizeof(secret), derived);
	assert_int_equal(token_mint(derived, name, NOW, &caveats, &token, NULL), 0);
	return token_write(&token);
}

static bool verifies(struct token_book *book, const char *text, int64_t now, const char *why)
{
	_cleanup_error_ struct error *error = NULL;
	_cleanup_powers_ struct powers powers = {0};
	int r = book_verify(book, text, &(struct moment){.wall = now}, &powers, &error);

	if (r < 0 && why && !strstr(error->message, why))
		fail_msg("%s", error->message);
	return r == 0;
}

/* At that time by the wall clock, so many seconds after the machine was started. */
static bool verifies_at(struct token_book *book, const char *text, int64_t wall, uint64_t since,
			const char *boot, const char *why)
{
	struct moment now = {.wall = wall, .ns = since * 1000000000};
	_cleanup_error_ struct error *error = NULL;
	_cleanup_powers_ struct powers powers = {0};
	int r;

	strcpy(now.boot, boot);
	r = book_verify(book, text, &now, &powers, &error);
	if (r < 0 && why && !strstr(error->message, why))
		fail_msg("%s", error->message);
	/* It ends when it should have, by the clock that nobody sets. */
	if (r == 0)
		assert_int_equal((int64_t)(powers.ends.ns / 1000000000), since + NOW + 600 - wall);
	return r == 0;
}

static void keys_rotate_and_retire(void **state)
{
	_cleanup_book_ struct token_book *book = open_book();
	_cleanup_free_ char *first = mint(book, &(struct caveats){0}), *second = NULL, *path = NULL;
	char name[TOKEN_KEY_NAME];
	struct stat st;

	(void)state;
	assert_true(verifies(book, first, NOW, NULL));
	assert_int_equal(book_rotate(book, false, name, NULL), 0);
	second = mint(book, &(struct caveats){0});
	assert_true(verifies(book, first, NOW, NULL));
	assert_true(verifies(book, second, NOW, NULL));
	assert_int_equal(book_rotate(book, true, name, NULL), 0);
	assert_false(verifies(book, first, NOW, "no longer"));
	assert_false(verifies(book, second, NOW, "no longer"));
	free(first);
	first = mint(book, &(struct caveats){0});
	assert_true(verifies(book, first, NOW, NULL));
	assert_true(asprintf(&path, "%s/tokens/keys", place) > 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	/* Keys that others could have read are keys no more. */
	assert_int_equal(chmod(path, 0644), 0);
	assert_false(verifies(book, first, NOW, "cannot be read"));
	assert_int_equal(chmod(path, 0600), 0);
	assert_true(verifies(book, first, NOW, NULL));
}

static void what_is_revoked_stays_so_with_all_that_came_of_it(void **state)
{
	_cleanup_book_ struct token_book *book = open_book();
	_cleanup_free_ char *whole = mint(book, &(struct caveats){0}), *narrow = NULL;
	_cleanup_token_ struct token token = {0};
	_cleanup_powers_ struct powers powers = {0};
	const struct caveats less = {.uses = 5};
	char mark[TOKEN_MARK];

	(void)state;
	assert_int_equal(token_read(whole, &token, NULL), 0);
	assert_int_equal(token_narrow(&token, &less, NULL), 0);
	narrow = token_write(&token);
	token_mark(&token, mark);
	assert_true(verifies(book, narrow, NOW, NULL));
	assert_int_equal(book_revoke(book, mark, 0, NULL), 0);
	assert_false(verifies(book, narrow, NOW, "revoked"));
	assert_true(verifies(book, whole, NOW, NULL));
	/* What is made of a revoked one is revoked. */
	assert_int_equal(token_narrow(&token, &less, NULL), 0);
	free(narrow);
	narrow = token_write(&token);
	assert_false(verifies(book, narrow, NOW, "revoked"));
	assert_int_equal(token_check(&token, NULL, &powers, NULL), 0);
	assert_int_equal(book_revoke(book, powers.id, 0, NULL), 0);
	assert_false(verifies(book, whole, NOW, "revoked"));
}

static bool held;

static bool is_held(const void *data)
{
	assert_string_equal(data, "data");
	return held;
}

static off_t size_of_list(void)
{
	_cleanup_free_ char *path = NULL;
	struct stat st;

	assert_true(asprintf(&path, "%s/tokens/revoked", place) > 0);
	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

static void what_has_expired_is_no_longer_listed_as_revoked(void **state)
{
	_cleanup_book_ struct token_book *book = open_book(), *old = NULL;
	_cleanup_free_ char *whole = mint(book, &(struct caveats){0});
	_cleanup_token_ struct token token = {0};
	char mark[TOKEN_MARK];
	off_t before;

	(void)state;
	assert_int_equal(token_read(whole, &token, NULL), 0);
	token_mark(&token, mark);
	assert_true(verifies(book, whole, NOW, NULL));
	assert_true(book_expiry(book, whole) > NOW);
	assert_int_equal(book_revoke(book, mark, book_expiry(book, whole), NULL), 0);
	assert_int_equal(book_revoke(book, "0123456789abcdef0123456789abcdef", NOW - 1000, NULL),
			 0);
	assert_int_equal(book_revoke(book, "0123456789abcdef0123456789abcde0", 0, NULL), 0);
	assert_int_equal(book_open(place, false, &old, NULL), 0);
	before = size_of_list();
	held = true;
	book_compact(book, is_held, "data");
	assert_int_equal(size_of_list(), before);
	held = false;
	book_compact(book, is_held, "data");
	assert_true(size_of_list() < before);
	before = size_of_list();
	assert_false(verifies(book, whole, NOW, "revoked"));
	/* Who had it open before reads, and writes, the new one. */
	assert_false(verifies(old, whole, NOW, "revoked"));
	assert_int_equal(book_revoke(old, "0123456789abcdef0123456789abcde1", 0, NULL), 0);
	assert_true(size_of_list() > before);
	before = size_of_list();
	book_compact(book, is_held, "data");
	assert_int_equal(size_of_list(), before);
	assert_false(verifies(book, whole, NOW, "revoked"));
}

static void a_torn_line_is_kept(void **state)
{
	_cleanup_book_ struct token_book *book = open_book(), *fresh = NULL;
	_cleanup_free_ char *whole = mint(book, &(struct caveats){0}), *path = NULL;
	_cleanup_token_ struct token token = {0};
	char mark[TOKEN_MARK];
	FILE *file;

	(void)state;
	assert_int_equal(token_read(whole, &token, NULL), 0);
	token_mark(&token, mark);
	assert_true(verifies(book, whole, NOW, NULL));
	assert_true(asprintf(&path, "%s/tokens/revoked", place) > 0);
	file = fopen(path, "w");
	fprintf(file, "%s 17\n%s 17 en", mark, mark);
	fclose(file);
	assert_int_equal(book_open(place, false, &fresh, NULL), 0);
	held = false;
	book_compact(fresh, is_held, "data");
	assert_false(verifies(fresh, whole, NOW, "revoked"));
}

/* The list is the only thing that tells: whoever loses a part of it takes no token any more. */
static void a_list_that_is_damaged_refuses_all(void **state)
{
	_cleanup_book_ struct token_book *book = open_book();
	_cleanup_free_ char *text = mint(book, &(struct caveats){0}), *path = NULL;
	struct damage {
		const char *bytes; /* instead of the list; NULL: it is gone */
		size_t length;
		bool good;
	} damages[] = {{NULL, 0, false},
		       {"", 0, false},
		       {"0123456789abcdef0123456789abcdef", 32, false},
		       {"0123456789abcdef0123456789abcdef\n\0\n", 35, false},
		       {"0123456789abcdef0123456789abcdef\n0123", 37, true}};

	(void)state;
	assert_int_equal(book_revoke(book, "0123456789abcdef0123456789abcdef", 0, NULL), 0);
	assert_true(verifies(book, text, NOW, NULL));
	assert_true(asprintf(&path, "%s/tokens/revoked", place) > 0);
	for (size_t i = 0; i < ELEMENTS(damages); i++) {
		_cleanup_book_ struct token_book *fresh = NULL;
		FILE *file = damages[i].bytes ? fopen(path, "w") : NULL;

		if (file) {
			fwrite(damages[i].bytes, damages[i].length, 1, file);
			fclose(file);
		} else {
			assert_int_equal(unlink(path), 0);
		}
		assert_int_equal(book_open(place, false, &fresh, NULL), 0);
		assert_int_equal(verifies(fresh, text, NOW, NULL), damages[i].good);
	}
	/* Torn by a full disk: the next line is one of its own. */
	{
		_cleanup_book_ struct token_book *fresh = NULL;
		_cleanup_token_ struct token token = {0};
		char mark[TOKEN_MARK];

		assert_int_equal(book_open(place, false, &fresh, NULL), 0);
		assert_int_equal(token_read(text, &token, NULL), 0);
		token_mark(&token, mark);
		assert_int_equal(book_revoke(fresh, mark, 0, NULL), 0);
		assert_false(verifies(fresh, text, NOW, NULL));
		/* And while something runs by it. */
		assert_int_equal(truncate(path, 33), 0);
		assert_false(verifies(fresh, text, NOW, NULL));
	}
}

static void a_clock_that_goes_back_gives_no_time(void **state)
{
	_cleanup_book_ struct token_book *book = open_book();
	_cleanup_free_ char *text = mint(book, &(struct caveats){0});
	char name[TOKEN_KEY_NAME];

	(void)state;
	assert_false(verifies(book, text, NOW - BOOK_CLOCK_BOUND - 1, "moved back"));
	assert_true(verifies(book, text, NOW, NULL));
	assert_true(verifies(book, text, NOW + 599, NULL));
	assert_false(verifies(book, text, NOW + 600, "expired"));
	/* A little, and it stays expired; much, and nothing is believed. */
	assert_false(verifies(book, text, NOW + 599, "expired"));
	assert_false(verifies(book, text, NOW, "moved back"));
	assert_int_equal(book_rotate(book, true, name, NULL), 0);
	free(text);
	text = mint(book, &(struct caveats){0});
	assert_true(verifies(book, text, NOW, NULL));
}

/* It was not used meanwhile: the wall clock alone would show nothing of it. */
static void a_clock_that_is_set_back_is_seen_by_the_machines_own(void **state)
{
	_cleanup_book_ struct token_book *book = open_book();
	_cleanup_free_ char *text = mint(book, &(struct caveats){0});
	const struct moment made = {.wall = NOW, .ns = 100 * UINT64_C(1000000000), .boot = "one"};

	(void)state;
	assert_int_equal(book_note_time(book, &made, NULL), 0);
	assert_true(verifies_at(book, text, NOW + 10, 110, "one", NULL));
	/* Behind its end, and back to before it. */
	assert_false(verifies_at(book, text, NOW + 20, 710, "one", "moved back"));
	assert_false(verifies_at(book, text, NOW + 570, 710, "one", "expired"));
	assert_false(verifies_at(book, text, NOW + 610, 710, "one", "expired"));
}

/* Then there is the time that was seen last, and what the wall clock says. */
static void a_start_of_the_machine_gives_no_time_that_was_seen(void **state)
{
	_cleanup_book_ struct token_book *book = open_book();
	_cleanup_free_ char *text = mint(book, &(struct caveats){0});

	(void)state;
	assert_true(verifies_at(book, text, NOW + 300, 400, "one", NULL));
	assert_false(verifies_at(book, text, NOW + 200, 5, "two", "moved back"));
	assert_true(verifies_at(book, text, NOW + 400, 10, "two", NULL));
	/* From there on by the new one. */
	assert_false(verifies_at(book, text, NOW + 401, 100, "two", "moved back"));
	assert_false(verifies_at(book, text, NOW + 560, 210, "two", "expired"));
}

enum { RACERS = 8, TRIES = 20, USES = 37 };

static void exactly_so_many_uses_however_many_try(void **state)
{
	struct token_book *book = open_book();
	_cleanup_free_ char *text = mint(book, &(struct caveats){.uses = USES});
	int spent = 0, status;

	(void)state;
	book_close(book);
	for (int i = 0; i < RACERS; i++) {
		if (fork() > 0)
			continue;
		spent = 0;
		for (int n = 0; n < TRIES; n++) {
			struct powers powers;

			if (book_open(place, false, &book, NULL) < 0 ||
			    book_verify(book, text, &(struct moment){.wall = NOW}, &powers, NULL) <
				    0)
				_exit(255);
			spent += book_spend(book, &powers, NULL) == 0;
			powers_done(&powers);
			book_close(book);
		}
		_exit(spent);
	}
	spent = 0;
	for (int i = 0; i < RACERS; i++) {
		assert_true(wait(&status) > 0 && WIFEXITED(status));
		assert_int_not_equal(WEXITSTATUS(status), 255);
		spent += WEXITSTATUS(status);
	}
	assert_int_equal(spent, USES);
}

static void put(const char *name, const char *text)
{
	_cleanup_free_ char *path = NULL;
	FILE *file;

	assert_true(asprintf(&path, "%s/tokens/%s", place, name) > 0);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
	fclose(file);
}

static void counts_and_times_that_are_torn_are_no_smaller_ones(void **state)
{
	_cleanup_book_ struct token_book *book = open_book();
	_cleanup_free_ char *text = mint(book, &(struct caveats){.uses = 20});
	_cleanup_powers_ struct powers powers = {0};
	static const char *const torn[] = {"",	   "1",	     "19",     "1 ",
					   "1 18", "-1 5\n", "1 5\n6", " 1 5\n"};
	char name[TOKEN_MARK + 8];

	(void)state;
	assert_int_equal(book_verify(book, text, &(struct moment){.wall = NOW}, &powers, NULL), 0);
	snprintf(name, sizeof(name), "uses-%s", powers.uses[0].mark);
	assert_int_equal(book_spend(book, &powers, NULL), 0);
	for (size_t i = 0; i < ELEMENTS(torn); i++) {
		put(name, torn[i]);
		assert_true(book_spend(book, &powers, NULL) < 0);
		assert_true(book_used(book, &powers.uses[0]) == UINT64_MAX);
	}
	put(name, "1 1800000600\n");
	assert_int_equal(book_spend(book, &powers, NULL), 0);
	for (size_t i = 0; i < ELEMENTS(torn); i++) {
		put("clock", torn[i]);
		assert_false(verifies(book, text, NOW, "time cannot be kept"));
	}
}

static void uses_are_of_all_that_came_of_one(void **state)
{
	_cleanup_book_ struct token_book *book = open_book();
	_cleanup_free_ char *text = mint(book, &(struct caveats){.uses = 3});
	_cleanup_token_ struct token first = {0}, second = {0};
	const struct caveats one = {.uses = 1}, two = {.uses = 2, .expires = NOW + 5};
	const struct token *tried[] = {&first, &first, &second, &second, &second};
	static const bool spends[] = {true, false, true, true, false};

	(void)state;
	assert_int_equal(token_read(text, &first, NULL), 0);
	assert_int_equal(token_read(text, &second, NULL), 0);
	assert_int_equal(token_narrow(&first, &one, NULL), 0);
	assert_int_equal(token_narrow(&second, &two, NULL), 0);
	for (size_t i = 0; i < ELEMENTS(tried); i++) {
		_cleanup_powers_ struct powers powers = {0};
		_cleanup_free_ char *one_of = token_write(tried[i]);

		assert_int_equal(
			book_verify(book, one_of, &(struct moment){.wall = NOW}, &powers, NULL), 0);
		assert_int_equal(book_spend(book, &powers, NULL) == 0, spends[i]);
	}
	/* One that was used last ends long before the one that it came of. */
	{
		_cleanup_powers_ struct powers powers = {0};

		assert_int_equal(
			book_verify(book, text, &(struct moment){.wall = NOW + 300}, &powers, NULL),
			0);
		book_sweep(book);
		assert_int_equal(book_used(book, &powers.uses[0]), 3);
		assert_false(verifies(book, text, NOW + 601, NULL));
		book_sweep(book);
		assert_int_equal(book_used(book, &powers.uses[0]), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(keys_rotate_and_retire, make_place, remove_place),
		cmocka_unit_test_setup_teardown(what_has_expired_is_no_longer_listed_as_revoked,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(a_torn_line_is_kept, make_place, remove_place),
		cmocka_unit_test_setup_teardown(what_is_revoked_stays_so_with_all_that_came_of_it,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(a_list_that_is_damaged_refuses_all, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(a_clock_that_goes_back_gives_no_time, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(
			a_clock_that_is_set_back_is_seen_by_the_machines_own, make_place,
			remove_place),
		cmocka_unit_test_setup_teardown(a_start_of_the_machine_gives_no_time_that_was_seen,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(exactly_so_many_uses_however_many_try, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(uses_are_of_all_that_came_of_one, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(counts_and_times_that_are_torn_are_no_smaller_ones,
						make_place, remove_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
