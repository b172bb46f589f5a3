/* SPDX-License-Identifier: Apache-2.0 */
/* Grants: what a run finds by the index is what a reading of all finds, uses and revocations count
 * however they race, and permissions add up and meet as sets do. */
#include "../../src/base/io.h"
#include "../../src/decide/bounds.h"
#include "../../src/decide/grants.h"
#include "../../src/decide/grants_index.h"
#include "../../src/record/holders.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

static char place[64], session[96];
static uint64_t seed = 88172645463325252u;

static unsigned random_below(unsigned most)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 11) % most;
}

static int setup(void **state)
{
	char sessions[80];

	(void)state;
	strcpy(place, "/tmp/ward-grants-XXXXXX");
	if (!mkdtemp(place))
		return -1;
	snprintf(sessions, sizeof(sessions), "%s/sessions", place);
	snprintf(session, sizeof(session), "%s/s", sessions);
	return mkdir(sessions, 0700) < 0 || mkdir(session, 0700) < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	return remove_tree(AT_FDCWD, place);
}

static void give(const char *key, uint64_t uses, int64_t expires, struct grant *ret_grant)
{
	struct grant grant = {
		.session = strdup("s"), .key = strdup(key), .uses = uses, .by = strdup("somebody")};
	struct moment now;

	moment_now(&now);
	if (expires)
		moment_at(expires, &now, &grant.expires);

	list_add_printf(&grant.permissions, "write /srv/%u/**", random_below(1000));
	assert_int_equal(grants_add(place, &grant, NULL), 0);
	if (ret_grant)
		*ret_grant = grant;
	else
		grant_done(&grant);
}

static void load(const struct grants_wanted *wanted, struct grants *ret_grants)
{
	assert_int_equal(grants_load(place, "s", wanted, ret_grants, NULL), 0);
}

/* All of one key, from a reading of all, against what is looked up. */
static void check_key(const struct grants *all, const char *key)
{
	const struct grants_wanted wanted = {key, "nothing", "run"};
	struct grants found;
	size_t at = 0;

	load(&wanted, &found);
	for (size_t i = 0; i < all->count; i++) {
		if (strcmp(all->items[i].key, key) != 0)
			continue;
		assert_true(at < found.count);
		assert_string_equal(found.items[at].id, all->items[i].id);
		assert_int_equal(found.items[at].used, all->items[i].used);
		at++;
	}
	assert_int_equal(at, found.count);
	grants_done(&found);
}

enum { STEPS = 3000, KEYS = 40 };

static void what_is_looked_up_is_what_is_there(void **state)
{
	char key[32], index[128];
	struct grants all;

	(void)state;
	snprintf(index, sizeof(index), "%s/grants.index", session);
	for (int step = 0; step < STEPS; step++) {
		unsigned what = random_below(10);

		snprintf(key, sizeof(key), "key %u", random_below(KEYS));
		if (what < 7) {
			give(key, random_below(3), random_below(4) ? 0 : time(NULL) - 1, NULL);
		} else {
			const struct grants_wanted wanted = {key, key, NULL};
			struct grants some;

			load(&wanted, &some);
			if (some.count && what == 7) {
				uint64_t length;

				for (; some.count > 1; some.count--)
					grant_done(&some.items[some.count - 1]);
				assert_int_equal(grants_revoke(place, "s", &some, &length, NULL),
						 0);
			} else if (some.count) {
				snprintf(key, sizeof(key), "run %d", step);
				assert_int_equal(grants_use(place, &some.items[0], key, NULL), 0);
			}
			grants_done(&some);
		}
		/* Spoiled in every way, it is made anew or passed by. */
		if (step % 700 == 699)
			assert_int_equal(unlink(index), 0);
		if (step % 900 == 899)
			assert_int_equal(truncate(index, 100 + random_below(200000)), 0);
	}
	assert_int_equal(access(index, F_OK), 0);
	load(NULL, &all);
	assert_true(all.count > 200);
	for (int i = 0; i < KEYS; i++) {
		snprintf(key, sizeof(key), "key %d", i);
		check_key(&all, key);
	}
	grants_done(&all);
}

static void an_index_of_another_boot_is_not_believed(void **state)
{
	char path[128], index[sizeof(path) + 8];
	const char *const keys[] = {"k"};
	uint64_t *offsets = NULL;
	off_t covered;
	struct stat st;
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/grants", session);
	snprintf(index, sizeof(index), "%s.index", path);
	do {
		give("k", 0, 0, NULL);
		assert_int_equal(stat(path, &st), 0);
	} while (st.st_size < GRANTS_INDEX_FROM);
	assert_true(grants_index_find(path, st.st_size, keys, 1, &offsets, &covered) > 0);
	free(offsets);
	fd = open(index, O_WRONLY);
	assert_int_equal(pwrite(fd, "x", 1, 10), 1);
	close(fd);
	assert_true(grants_index_find(path, st.st_size, keys, 1, &offsets, &covered) < 0);
	give("k", 0, 0, NULL);
	assert_int_equal(stat(path, &st), 0);
	assert_true(grants_index_find(path, st.st_size, keys, 1, &offsets, &covered) > 0);
	assert_int_equal(covered, st.st_size);
	free(offsets);
}

enum { RACERS = 8, TRIES = 10, USES = 13 };

static void so_many_uses_and_no_more(void **state)
{
	struct grant grant;
	struct grants left;
	int used = 0, status;

	(void)state;
	give("k", USES, 0, &grant);
	for (int i = 0; i < RACERS; i++) {
		if (fork() > 0)
			continue;
		for (int n = 0; n < TRIES; n++) {
			char run[32];

			snprintf(run, sizeof(run), "run %d.%d", i, n);
			used += grants_use(place, &grant, run, NULL) == 0;
		}
		_exit(used);
	}
	for (int i = 0; i < RACERS; i++) {
		assert_true(wait(&status) > 0 && WIFEXITED(status));
		used += WEXITSTATUS(status);
	}
	assert_int_equal(used, USES);
	load(&(struct grants_wanted){"k", "k", "another"}, &left);
	assert_int_equal(left.count, 0);
	grants_done(&left);
	grant_done(&grant);
}

static void what_is_used_up_holds_for_the_run_that_used_it(void **state)
{
	struct grant grant;
	struct grants found;

	(void)state;
	give("k", 1, 0, &grant);
	assert_int_equal(grants_use(place, &grant, "mine", NULL), 0);
	load(&(struct grants_wanted){"k", "k", "mine"}, &found);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.items[0].used, 1);
	grants_done(&found);
	load(&(struct grants_wanted){"k", "k", "other"}, &found);
	assert_int_equal(found.count, 0);
	grants_done(&found);
	assert_int_equal(grants_use(place, &grant, "other", NULL), 1);
	grant_done(&grant);
}

/* Whether a grant with this end is there, when it is looked for now. */
static bool is_there(const char *key, bool refusal, const struct moment *end)
{
	struct grant grant = {
		.session = strdup("s"), .key = strdup(key), .refusal = refusal, .expires = *end};
	struct grants found;
	bool there;

	assert_int_equal(grants_add(place, &grant, NULL), 0);
	grant_done(&grant);
	load(&(struct grants_wanted){key, key, "run"}, &found);
	there = found.count == 1;
	grants_done(&found);
	return there;
}

static void a_clock_that_is_set_makes_no_time(void **state)
{
	const uint64_t minute = 60 * UINT64_C(1000000000);
	struct moment now, end, other;

	(void)state;
	moment_now(&now);
	moment_at(now.wall + 60, &now, &end);
	assert_true(is_there("both", false, &end));
	/* The wall clock has gone back since it was given, by an hour: its time was over long ago.
	 */
	other = (struct moment){.wall = end.wall + 3600,
				.ns = now.ns > minute ? now.ns - minute : 0};
	strcpy(other.boot, now.boot);
	assert_false(is_there("back", false, &other));
	assert_true(is_there("back-no", true, &other));
	/* It was put forward: a no is not cut short by that. */
	other = (struct moment){.wall = now.wall - 1, .ns = now.ns + minute};
	strcpy(other.boot, now.boot);
	assert_false(is_there("forth", false, &other));
	assert_true(is_there("forth-no", true, &other));
	/* The machine was started anew: nobody knows what the clock was set to meanwhile. */
	other = end;
	strcpy(other.boot, "another");
	assert_false(is_there("started", false, &other));
	assert_true(is_there("started-no", true, &other));
	strcpy(other.boot, "");
	assert_false(is_there("unknown", false, &other));
}

/* -- Who holds it --------------------------------------------------------------------------------
 */

/* A holder in a process of its own, that lets go when it is told to, or never. */
static pid_t hold(const char *run, bool runs, int *ret_tell)
{
	int tell[2], ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(tell), 0);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		struct holder holder;

		close(tell[1]);
		if (holder_begin(session, run, &holder, NULL) < 0)
			_exit(1);
		if (runs)
			holder_run(&holder);
		(void)!write(ready[1], "r", 1);
		if (read(tell[0], &byte, 1) == 1)
			holder_tell(&holder, 100);
		(void)!read(tell[0], &byte, 1);
		holder_end(&holder);
		_exit(0);
	}
	close(tell[0]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	*ret_tell = tell[1];
	return pid;
}

static void whoever_holds_it_is_waited_for_or_ended(void **state)
{
	int rests, told, hangs, status;
	pid_t resting = hold("rests", false, &rests), telling = hold("tells", true, &told);
	pid_t hanging;

	(void)state;
	assert_int_equal(write(told, "t", 1), 1);
	assert_int_equal(holders_wait(session, 100, NULL), 0);
	assert_int_equal(waitpid(telling, &status, WNOHANG), 0);
	hanging = hold("hangs", true, &hangs);
	assert_int_equal(holders_wait(session, 100, NULL), 0);
	/* It was killed before that returned. */
	assert_int_equal(waitpid(hanging, &status, 0), hanging);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(waitpid(telling, &status, WNOHANG), 0);
	assert_int_equal(waitpid(resting, &status, WNOHANG), 0);
	close(told);
	close(rests);
	close(hangs);
	assert_int_equal(waitpid(telling, &status, 0), telling);
	assert_int_equal(waitpid(resting, &status, 0), resting);
}

/* From where nobody sees the holder, it holds all the same; and so may what cannot be looked at. */
static void whoever_cannot_be_seen_has_not_let_go(void **state)
{
	_cleanup_free_ char *path = NULL;
	int tell, status;
	pid_t holding = hold("holds", true, &tell), apart = fork();

	(void)state;
	if (apart == 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0)
			_exit(2);
		apart = fork();
		if (apart == 0)
			_exit(holders_wait(session, 100, NULL) < 0 ? 0 : 1);
		_exit(waitpid(apart, &status, 0) == apart && WIFEXITED(status) ? WEXITSTATUS(status)
									       : 3);
	}
	assert_int_equal(waitpid(apart, &status, 0), apart);
	assert_true(WIFEXITED(status));
	assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 2);
	close(tell);
	assert_int_equal(waitpid(holding, &status, 0), holding);
	assert_true(asprintf(&path, "%s/holders/odd", session) > 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_true(holders_wait(session, 100, NULL) < 0);
	assert_int_equal(rmdir(path), 0);
	*strrchr(path, '/') = '\0';
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(holders_wait(session, 100, NULL), 0);
	assert_int_equal(mknod(path, S_IFREG | 0600, 0), 0);
	assert_true(holders_wait(session, 100, NULL) < 0);
	assert_int_equal(unlink(path), 0);
}

/* -- The algebra --------------------------------------------------------------------------------
 */

enum { SETS = 3000 };

static void random_set(struct list *list)
{
	static const char *const operations[] = {"read", "write", "delete"};
	static const char *const paths[] = {"/a",   "/a/**", "/a/b", "/a/b/**", "/c/*",
					    "/c/x", "/**",   "/a/*", "/a/?"};

	for (unsigned i = 0, count = 1 + random_below(4); i < count; i++)
		list_add_printf(list, "%s %s", operations[random_below(ELEMENTS(operations))],
				paths[random_below(ELEMENTS(paths))]);
}

static bool allows(const struct list *list, const char *permission)
{
	return bounds_allow(list, permission);
}

static void sets_of_permissions_add_up_and_meet(void **state)
{
	static const char *const asked[] = {"read /a",	   "read /a/b",	 "write /a/b/c",
					    "delete /c/x", "write /c/y", "delete /a/x",
					    "read /c/x/y", "write /"};

	(void)state;
	for (int n = 0; n < SETS; n++) {
		struct list sets[3] = {0};
		_cleanup_list_ struct list both = {0}, turned = {0}, same = {0}, all = {0};

		for (size_t i = 0; i < ELEMENTS(sets); i++)
			random_set(&sets[i]);
		for (size_t i = 0; i < sets[0].count; i++)
			list_add(&all, sets[0].items[i]);
		for (size_t i = 0; i < sets[1].count; i++)
			list_add(&all, sets[1].items[i]);
		assert_int_equal(bounds_make(sets, 2, "/", NULL, &both, NULL), 0);
		assert_int_equal(
			bounds_make((struct list[]){sets[1], sets[0]}, 2, "/", NULL, &turned, NULL),
			0);
		assert_int_equal(
			bounds_make((struct list[]){sets[0], sets[0]}, 2, "/", NULL, &same, NULL),
			0);
		for (size_t i = 0; i < ELEMENTS(asked); i++) {
			bool one = allows(&sets[0], asked[i]), other = allows(&sets[1], asked[i]);

			/* Union is either, and no more. */
			assert_int_equal(allows(&all, asked[i]), one || other);
			/* What they have in common is in both, whichever comes first. */
			if (allows(&both, asked[i]))
				assert_true(one && other);
			assert_int_equal(allows(&both, asked[i]), allows(&turned, asked[i]));
			assert_int_equal(allows(&same, asked[i]), one);
		}
		for (size_t i = 0; i < ELEMENTS(sets); i++)
			list_done(&sets[i]);
	}
}

static void time_only_ever_takes_away(void **state)
{
	int64_t now = time(NULL);
	struct grants before, after;

	(void)state;
	for (int i = 0; i < 100; i++)
		give("k", 0, i % 3 ? now + 1 + random_below(2) : 0, NULL);
	load(NULL, &before);
	for (int rounds = 0; rounds < 400 && time(NULL) < now + 3; rounds++) {
		size_t at = 0;

		load(NULL, &after);
		for (size_t i = 0; i < after.count; i++) {
			while (at < before.count &&
			       strcmp(before.items[at].id, after.items[i].id) != 0)
				at++;
			assert_true(at < before.count);
		}
		grants_done(&before);
		before = after;
		usleep(10000);
	}
	for (size_t i = 0; time(NULL) >= now + 3 && i < before.count; i++)
		assert_true(before.items[i].expires.wall == 0 ||
			    before.items[i].expires.wall > now);
	grants_done(&before);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_looked_up_is_what_is_there),
		TEST(an_index_of_another_boot_is_not_believed),
		TEST(so_many_uses_and_no_more),
		TEST(what_is_used_up_holds_for_the_run_that_used_it),
		TEST(a_clock_that_is_set_makes_no_time),
		TEST(whoever_holds_it_is_waited_for_or_ended),
		TEST(whoever_cannot_be_seen_has_not_let_go),
		TEST(sets_of_permissions_add_up_and_meet),
		TEST(time_only_ever_takes_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
