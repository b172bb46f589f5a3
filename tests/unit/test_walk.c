/* SPDX-License-Identifier: Apache-2.0 */
/* The walk and its cache: what is trusted, and what is not. */
#include "base/io.h"
#include "base/units.h"
#include "sandbox/cache.h"
#include "sandbox/walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { DIRECTORIES = 200 };

struct place {
	char top[64], tree[80], walks[80];
	struct file_rules rules;
	struct list found, closed;
	struct walk_count count;
};

static int note(void *data, const struct file_rule *rule, const char *path,
		struct error **ret_error)
{
	struct place *place = data;

	(void)rule;
	(void)ret_error;
	list_add(&place->found, path + strlen(place->tree) + 1);
	return 0;
}

static int note_closed(void *data, const char *path, struct error **ret_error)
{
	struct place *place = data;

	(void)ret_error;
	list_add(&place->closed, path + strlen(place->tree) + 1);
	return 0;
}

static void walk_again(struct place *place)
{
	static const struct list none;
	const struct file_rule *rules[] = {&place->rules.items[0], &place->rules.items[1]};
	const struct walk_search search = {
		.top = place->tree,
		.rules = rules,
		.rule_count = 2,
		.not_names = &none,
		.covered = &none,
		.reopened = &none,
		.cache = place->walks,
		.deadline = monotonic_ns() + 10000000000ull,
		.data = place,
		.found = note,
		.closed = note_closed,
	};

	list_done(&place->found);
	list_done(&place->closed);
	assert_int_equal(walk_tree(&search, &place->count, NULL), 0);
}

static void in_tree(const struct place *place, const char *name, char path[static PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s", place->tree, name);
}

static void touch(const struct place *place, const char *name)
{
	char path[PATH_MAX];
	int fd;

	in_tree(place, name, path);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static void settle(void)
{
	usleep(60000); /* more than the slack */
}

static int begin(void **state)
{
	struct place *place = calloc(1, sizeof(*place));
	char path[PATH_MAX];

	strcpy(place->top, "/var/tmp/ward-walk-XXXXXX");
	assert_non_null(mkdtemp(place->top));
	snprintf(place->tree, sizeof(place->tree), "%s/tree", place->top);
	snprintf(place->walks, sizeof(place->walks), "%s/walks", place->top);
	assert_int_equal(mkdir(place->tree, 0700), 0);
	for (int i = 0; i < DIRECTORIES; i++) {
		snprintf(path, sizeof(path), "%s/d%d", place->tree, i);
		assert_int_equal(mkdir(path, 0700), 0);
		snprintf(path, sizeof(path), "%s/d%d/e", place->tree, i);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	touch(place, "d7/e/.env");
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/**/%s", place->tree, i ? "*.pem" : ".env");
		file_rules_add(&place->rules, ACCESS_DENY, WEIGHT_DEFAULT, path, NULL);
	}
	settle();
	*state = place;
	return 0;
}

static int end(void **state)
{
	struct place *place = *state;

	remove_tree(AT_FDCWD, place->top);
	file_rules_done(&place->rules);
	list_done(&place->found);
	list_done(&place->closed);
	free(place);
	return 0;
}

enum { ALL = 1 + 2 * DIRECTORIES };

static void assert_finds(struct place *place, size_t count, uint64_t read)
{
	assert_int_equal(place->found.count, count);
	assert_int_equal(place->count.read, read);
	assert_int_equal(place->count.directories, ALL);
}

static void nothing_is_read_twice(void **state)
{
	struct place *place = *state;

	walk_again(place);
	assert_finds(place, 1, ALL);
	walk_again(place);
	assert_finds(place, 1, 0);
	assert_string_equal(place->found.items[0], "d7/e/.env");
}

static void what_comes_is_found(void **state)
{
	struct place *place = *state;

	walk_again(place);
	touch(place, "d9/x.pem");
	touch(place, "d9/e/.env");
	walk_again(place);
	assert_finds(place, 3, 2);
}

static void what_goes_is_forgotten(void **state)
{
	struct place *place = *state;
	char path[PATH_MAX];

	walk_again(place);
	in_tree(place, "d7/e/.env", path);
	assert_int_equal(unlink(path), 0);
	walk_again(place);
	assert_finds(place, 0, 1);
}

/* A secret that is put into a directory whose mtime is then set back. */
static void a_forged_mtime_deceives_nobody(void **state)
{
	struct place *place = *state;
	char path[PATH_MAX];
	struct stat st;

	walk_again(place);
	in_tree(place, "d3", path);
	assert_int_equal(stat(path, &st), 0);
	touch(place, "d3/.env");
	assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){st.st_atim, st.st_mtim}, 0),
			 0);
	walk_again(place);
	assert_finds(place, 2, 1);
}

/* Changes two directories and walks, until that took less than the slack: on a busy machine it
 * need not be the first time. */
static void change_and_walk_at_once(struct place *place)
{
	uint64_t began;
	int round = 0;

	do {
		char name[32];

		began = monotonic_ns();
		snprintf(name, sizeof(name), "d4/plain%d", round);
		touch(place, name);
		snprintf(name, sizeof(name), "d5/e/plain%d", round);
		touch(place, name);
		walk_again(place);
		assert_finds(place, 1, 2);
	} while (monotonic_ns() - began > 15000000 && ++round < 500);
}

/* A directory that changes in the same tick as it was read keeps its ctime. */
static void a_directory_that_has_just_changed_is_read_again(void **state)
{
	struct place *place = *state;

	walk_again(place);
	assert_finds(place, 1, ALL);
	change_and_walk_at_once(place);
	walk_again(place);
	assert_finds(place, 1, 2);
	settle();
	walk_again(place);
	walk_again(place);
	assert_finds(place, 1, 0);
}

static void times_that_are_trusted(void **state)
{
	const struct timespec read = {1000, 500000000};
	const struct {
		struct timespec changed;
		bool trusted;
	} cases[] = {
		{{1000, 400000000}, true},  {{1000, 499000000}, false}, {{1000, 500000000}, false},
		{{1000, 500000001}, false}, {{1001, 0}, false},		{{2000, 5}, false},
		{{1000, 0}, false}, /* whole seconds */
		{{999, 0}, false},	    {{998, 0}, true},		{{900, 1}, true},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++)
		assert_int_equal(cache_trusts_time(&cases[i].changed, &read), cases[i].trusted);
}

/* The cache's own file. */
static void cache_path(const struct place *place, char path[static PATH_MAX])
{
	DIR *directory = opendir(place->walks);
	struct dirent *entry;

	path[0] = '\0';
	while (directory && (entry = readdir(directory)))
		if (entry->d_name[0] != '.')
			snprintf(path, PATH_MAX, "%s/%s", place->walks, entry->d_name);
	if (directory)
		closedir(directory);
	assert_true(path[0]);
}

static void a_damaged_cache_is_no_cache(void **state)
{
	struct place *place = *state;
	char path[PATH_MAX];
	struct stat st;
	unsigned seed = 7;

	walk_again(place);
	cache_path(place, path);
	assert_int_equal(stat(path, &st), 0);
	for (int round = 0; round < 40; round++) {
		off_t at = round < 8 ? round * 8 : rand_r(&seed) % st.st_size;
		int fd = open(path, O_RDWR | O_CLOEXEC);
		char byte;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 0x40;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		close(fd);
		walk_again(place);
		assert_finds(place, 1, ALL);
		walk_again(place);
		assert_finds(place, 1, 0); /* it was written anew */
	}
}

static void a_cut_cache_is_no_cache(void **state)
{
	struct place *place = *state;
	char path[PATH_MAX];
	struct stat st;

	for (int part = 0; part < 10; part++) {
		walk_again(place);
		cache_path(place, path);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(truncate(path, st.st_size * part / 10), 0);
		walk_again(place);
		assert_finds(place, 1, ALL);
	}
}

static void a_cache_that_others_may_write_or_a_link_is_no_cache(void **state)
{
	struct place *place = *state;
	char path[PATH_MAX], other[PATH_MAX + 8];

	walk_again(place);
	cache_path(place, path);
	assert_int_equal(chmod(path, 0666), 0);
	walk_again(place);
	assert_finds(place, 1, ALL);
	snprintf(other, sizeof(other), "%s.old", path);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink(other, path), 0);
	walk_again(place);
	assert_finds(place, 1, ALL);
}

/* Other patterns would have found other names. */
static void a_cache_for_other_rules_is_not_taken(void **state)
{
	struct place *place = *state;

	touch(place, "d1/x.key");
	settle();
	walk_again(place);
	strcpy(strrchr(place->rules.items[1].pattern, '*'), "*.key");
	file_rule_measure(&place->rules.items[1]);
	walk_again(place);
	assert_finds(place, 2, ALL);
}

/* The tree that the cache is of is another one than that which has its name now. */
static void a_tree_in_the_place_of_another_is_read(void **state)
{
	struct place *place = *state;
	char old[PATH_MAX], path[PATH_MAX];

	walk_again(place);
	snprintf(old, sizeof(old), "%s/old", place->top);
	assert_int_equal(rename(place->tree, old), 0);
	assert_int_equal(mkdir(place->tree, 0700), 0);
	in_tree(place, "d0", path);
	assert_int_equal(mkdir(path, 0700), 0);
	touch(place, "d0/.env");
	walk_again(place);
	assert_int_equal(place->found.count, 1);
	assert_int_equal(place->count.read, 2);
}

static void a_directory_in_the_place_of_another_is_read(void **state)
{
	struct place *place = *state;
	char one[PATH_MAX], other[PATH_MAX], aside[PATH_MAX];

	touch(place, "d20/e/.env");
	settle();
	walk_again(place);
	in_tree(place, "d20", one);
	in_tree(place, "d21", other);
	in_tree(place, "aside", aside);
	assert_int_equal(rename(one, aside), 0);
	assert_int_equal(rename(other, one), 0);
	assert_int_equal(rename(aside, other), 0);
	walk_again(place);
	assert_int_equal(place->found.count, 2);
	assert_true(list_has(&place->found, "d21/e/.env"));
	assert_false(list_has(&place->found, "d20/e/.env"));
}

/* As somebody else than root, to whom nothing is closed: then all but the top is. */
static void walk_as_nobody(struct place *place)
{
	int status = -1;
	pid_t child;

	assert_int_equal(chmod(place->top, 0755) | chmod(place->tree, 0755), 0);
	child = fork();
	if (child == 0) {
		if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
			_exit(2);
		walk_again(place);
		_exit(place->closed.count == DIRECTORIES && place->found.count == 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void a_directory_that_is_closed_is_told_of(void **state)
{
	struct place *place = *state;
	char path[PATH_MAX];

	walk_again(place);
	if (geteuid() == 0) {
		walk_as_nobody(place);
		return;
	}
	in_tree(place, "d7", path);
	assert_int_equal(chmod(path, 0), 0);
	walk_again(place);
	assert_int_equal(place->closed.count, 1);
	assert_int_equal(chmod(path, 0700), 0);
}

static void a_state_that_cannot_be_written_is_no_error(void **state)
{
	struct place *place = *state;

	strcpy(place->walks, "/proc/no/such/place");
	walk_again(place);
	assert_finds(place, 1, ALL);
	walk_again(place);
	assert_finds(place, 1, ALL);
}

static void a_walk_that_takes_too_long_is_an_error(void **state)
{
	static const struct list none;
	struct place *place = *state;
	const struct file_rule *rule = &place->rules.items[0];
	struct error *error = NULL;
	const struct walk_search search = {
		.top = place->tree,
		.rules = &rule,
		.rule_count = 1,
		.not_names = &none,
		.covered = &none,
		.reopened = &none,
		.deadline = 1,
		.data = place,
		.found = note,
		.closed = note_closed,
	};

	assert_true(walk_tree(&search, NULL, &error) < 0);
	assert_non_null(strstr(error->message, place->tree));
	assert_non_null(error->hint);
	error_free(error);
}

/* Whatever the bytes are, a record that is taken lies in them as a whole, and the next one behind
 * it. */
static void bytes_that_are_no_records_are_not_taken(void **state)
{
	enum { LENGTH = 4096 };
	_Alignas(8) static char bytes[LENGTH];
	unsigned seed = 3, taken = 0;

	(void)state;
	for (int round = 0; round < 50000; round++) {
		size_t length = (size_t)rand_r(&seed) % 512 & ~(size_t)7;
		char *exact = malloc(length + 1); /* so that ASan sees a step beyond */
		const struct cache cache = {.records = exact, .length = length};

		/* Records as they should be, and then one byte or two that should not. */
		memset(bytes, 0, length);
		for (size_t at = 0; at + sizeof(struct record) + 8 <= length;
		     at += sizeof(struct record) + 8) {
			struct record *record = (struct record *)(bytes + at);

			record->name = 1 + (uint32_t)rand_r(&seed) % 3;
			record->names = (uint32_t)rand_r(&seed) % 4;
			memset(record->text, 'x', record->name - 1);
			record->end = (uint32_t)(at + sizeof(*record) + 8);
		}
		for (int i = rand_r(&seed) % 3; length && i > 0; i--)
			bytes[(size_t)rand_r(&seed) % length] ^= (char)(rand_r(&seed) % 64);
		memcpy(exact, bytes, length);
		for (size_t offset = 0; offset < length;) {
			const struct record *record = cache_record(&cache, offset, length);

			if (!record)
				break;
			taken++;
			assert_true(offset + record_size(record) <= record->end);
			assert_true(record->end <= length);
			assert_null(strchr(record->text, '/'));
			offset = record->end;
		}
		free(exact);
	}
	assert_true(taken > 0);
}

static void a_small_tree_has_no_cache(void **state)
{
	struct place *place = *state;

	strcat(place->tree, "/d7");
	for (int i = 0; i < 2; i++) {
		free(place->rules.items[i].pattern);
		assert_true(asprintf(&place->rules.items[i].pattern, "%s/**/%s", place->tree,
				     i ? "*.pem" : ".env") > 0);
		file_rule_measure(&place->rules.items[i]);
	}
	walk_again(place);
	assert_int_equal(place->found.count, 1);
	assert_int_equal(access(place->walks, F_OK), -1);
}

int main(void)
{
#define IN_A_TREE(test) cmocka_unit_test_setup_teardown(test, begin, end)
	const struct CMUnitTest tests[] = {
		IN_A_TREE(nothing_is_read_twice),
		IN_A_TREE(what_comes_is_found),
		IN_A_TREE(what_goes_is_forgotten),
		IN_A_TREE(a_forged_mtime_deceives_nobody),
		IN_A_TREE(a_directory_that_has_just_changed_is_read_again),
		cmocka_unit_test(times_that_are_trusted),
		IN_A_TREE(a_damaged_cache_is_no_cache),
		IN_A_TREE(a_cut_cache_is_no_cache),
		IN_A_TREE(a_cache_that_others_may_write_or_a_link_is_no_cache),
		IN_A_TREE(a_cache_for_other_rules_is_not_taken),
		IN_A_TREE(a_tree_in_the_place_of_another_is_read),
		IN_A_TREE(a_directory_in_the_place_of_another_is_read),
		IN_A_TREE(a_directory_that_is_closed_is_told_of),
		IN_A_TREE(a_state_that_cannot_be_written_is_no_error),
		IN_A_TREE(a_walk_that_takes_too_long_is_an_error),
		cmocka_unit_test(bytes_that_are_no_records_are_not_taken),
		IN_A_TREE(a_small_tree_has_no_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
