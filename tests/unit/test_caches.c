/* SPDX-License-Identifier: Apache-2.0 */
/* decide: which caches get a layer; record: the slots they are kept in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* the name is ward's */

#include "base/io.h"
#include "decide/caches.h"
#include "record/caches.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static char top[] = "/tmp/ward-caches-XXXXXX";

static int make_top(void **state)
{
	(void)state;
	strcpy(top + strlen(top) - 6, "XXXXXX");
	return mkdtemp(top) ? 0 : -1;
}

static int remove_top(void **state)
{
	(void)state;
	return remove_tree(AT_FDCWD, top);
}

static char *below(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	return path;
}

/* What is chosen in the home directory top, where these names are, as one text. */
static const char *chosen(const char *const *present, struct permissions *permissions)
{
	static char text[4096];
	_cleanup_list_ struct list names = {0};

	for (; *present; present++)
		list_add(&names, *present);
	caches_note(top, &names, &permissions->caches);
	caches_choose(top, permissions);
	text[0] = '\0';
	for (size_t i = 0; i < permissions->caches.count; i++) {
		assert_memory_equal(permissions->caches.items[i], top, strlen(top));
		strcat(strcat(text, i ? " " : ""), permissions->caches.items[i] + strlen(top) + 1);
	}
	file_rules_done(&permissions->rules);
	list_done(&permissions->caches);
	list_done(&permissions->environment);
	list_done(&permissions->sockets);
	return text;
}

static const char *with_rule(enum access access, enum weight weight, const char *pattern)
{
	static const char *const present[] = {".npm", ".gradle", NULL};
	struct permissions permissions = {0};

	file_rules_add(&permissions.rules, access, weight, below(pattern), NULL);
	return chosen(present, &permissions);
}

static void those_of_which_the_first_part_is_there_are_noted(void **state)
{
	static const char *const none[] = {"Documents", ".config", ".cachet", NULL},
				 *const some[] = {".cargo", ".cache", "go", NULL};
	struct permissions permissions = {0};

	(void)state;
	assert_string_equal(chosen(none, &permissions), "");
	assert_string_equal(chosen(some, &permissions),
			    ".cache .cargo/registry .cargo/git .cargo/.package-cache "
			    ".cargo/.package-cache-mutate .cargo/.global-cache go/pkg");
}

static void what_a_rule_means_gets_none(void **state)
{
	static const char both[] = ".npm .gradle", npm[] = ".npm",
			  parts[] = ".npm .gradle/wrapper .gradle/daemon .gradle/native "
				    ".gradle/jdks .gradle/notifications .gradle/workers";

	(void)state;
	assert_string_equal(with_rule(ACCESS_WRITE, WEIGHT_SAID, "other"), both);
	assert_string_equal(with_rule(ACCESS_READ, WEIGHT_SAID, ".gradle"), both);
	assert_string_equal(with_rule(ACCESS_DENY, WEIGHT_DEFAULT, ".gradle/x"), both);
	assert_string_equal(with_rule(ACCESS_WRITE, WEIGHT_SAID, ".gradle"), npm);
	assert_string_equal(with_rule(ACCESS_READ_ONLY, WEIGHT_SAID, ".gradle"), npm);
	assert_string_equal(with_rule(ACCESS_WRITE, WEIGHT_IMPLIED, ".gradle/caches/x"), parts);
	assert_string_equal(with_rule(ACCESS_DENY, WEIGHT_SAID, ".gradle/caches/**/x"), parts);
	assert_string_equal(with_rule(ACCESS_DENY, WEIGHT_ALWAYS, ".gradle/*"), npm);
	assert_string_equal(with_rule(ACCESS_DENY, WEIGHT_SAID, "**/x"), "");
	assert_string_equal(with_rule(ACCESS_WRITE, WEIGHT_SAID, "**"), ""); /* all of the home */
}

static void variables_count_below_the_home_only(void **state)
{
	static const char *const none[] = {NULL};
	struct permissions permissions = {0};

	(void)state;
	list_add_printf(&permissions.environment, "GOPATH=%s/a/../b", top);
	list_add_printf(&permissions.environment, "CCACHE_DIR=%s", top);
	list_add_printf(&permissions.environment, "GOCACHE=%s/..", top);
	list_add(&permissions.environment, "PIP_CACHE_DIR=relative");
	list_add(&permissions.environment, "npm_config_cache=/var/tmp");
	list_add_printf(&permissions.environment, "XDG_CACHE_HOME=%s/c", top);
	list_add_printf(&permissions.environment, "UV_CACHE_DIR=%s/c/uv", top);
	list_add_printf(&permissions.environment, "YARN_CACHE_FOLDER=%s/y", top);
	list_add_printf(&permissions.sockets, "%s/y/s", top);
	assert_string_equal(chosen(none, &permissions), "b/pkg c");
}

static void open_slot(const char *workspace, struct cache_slot *slot, const char *number)
{
	*slot = CACHE_SLOT_NONE;
	assert_int_equal(cache_open(top, workspace, /* reads= */ false, slot), 0);
	assert_string_equal(strrchr(slot->path, '/') + 1, number);
}

static void runs_at_once_have_a_slot_each(void **state)
{
	struct cache_slot first, second, third, reader = CACHE_SLOT_NONE;
	struct error *error = NULL;
	char *id = cache_id("/w");

	(void)state;
	assert_int_equal(cache_open(top, "/w", /* reads= */ true, &reader), -ENOENT);
	open_slot("/w", &first, "0");
	open_slot("/w", &second, "1");
	assert_int_equal(cache_open(top, "/w", /* reads= */ true, &reader), -ENOENT);
	assert_true(cache_clear(top, id, &error) < 0);
	error_free(error);
	cache_close(&first);
	open_slot("/w", &third, "0");
	cache_close(&second);
	cache_close(&third);
	assert_int_equal(cache_clear(top, id, NULL), 0);
	assert_true(cache_clear(top, id, NULL) < 0);
	free(id);
}

static int sum(const struct cache *cache, void *data)
{
	struct cache *all = data;

	all->slots += cache->slots;
	all->busy += cache->busy;
	all->files += cache->files;
	all->gone |= cache->gone;
	return 0;
}

static struct cache all_of(void)
{
	struct cache all = {0};

	assert_int_equal(cache_list(top, NULL, sum, &all), 0);
	return all;
}

static void age(const struct cache_slot *slot, int64_t seconds)
{
	struct timespec times[2] = {{.tv_sec = time(NULL) - seconds},
				    {.tv_sec = time(NULL) - seconds}};

	assert_int_equal(futimens(slot->lock, times), 0);
}

static void what_is_not_used_is_swept(void **state)
{
	enum { DAY = 24 * 3600 };
	struct cache_slot slot;
	char path[PATH_MAX];

	(void)state;
	open_slot(top, &slot, "0"); /* that is there */
	snprintf(path, sizeof(path), "%s/.ward-inside-layer/d", slot.path);
	assert_int_equal(mkdir(path, 0), 0);
	age(&slot, 31 * DAY);
	cache_sweep(top);
	assert_int_equal(all_of().busy, 1); /* in use */
	cache_close(&slot);
	open_slot(top, &slot, "0");
	age(&slot, 29 * DAY);
	cache_close(&slot);
	cache_sweep(top);
	assert_int_equal(all_of().slots, 1);
	assert_false(all_of().gone);
	open_slot(top, &slot, "0");
	age(&slot, 31 * DAY);
	cache_close(&slot);
	cache_sweep(top);
	assert_int_equal(all_of().slots, 0);
	open_slot("/no/such/workspace", &slot, "0");
	cache_close(&slot);
	cache_sweep(top);
	assert_true(all_of().gone);
	open_slot("/no/such/workspace", &slot, "0");
	age(&slot, 2 * DAY);
	cache_close(&slot);
	cache_sweep(top);
	assert_int_equal(all_of().slots, 0);
}

/* One that was begun and has no lock yet hides none behind it. */
static void every_slot_is_counted(void **state)
{
	struct cache_slot slots[3];
	char path[PATH_MAX];
	char *id = cache_id("/w");

	(void)state;
	open_slot("/w", &slots[0], "0");
	open_slot("/w", &slots[1], "1");
	open_slot("/w", &slots[2], "2");
	assert_int_equal(all_of().slots, 3);
	assert_int_equal(all_of().busy, 3);
	snprintf(path, sizeof(path), "%s/lock", slots[0].path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(all_of().slots, 2);
	assert_int_equal(all_of().busy, 2);
	for (size_t i = 0; i < ELEMENTS(slots); i++)
		cache_close(&slots[i]);
	assert_int_equal(all_of().busy, 0);
	assert_int_equal(cache_clear(top, id, NULL), 0);
	free(id);
}

/* Or the first command of a session would wait for it. */
static void it_is_swept_once_an_hour(void **state)
{
	const struct timespec ago[] = {{.tv_sec = time(NULL) - 3601}, {.tv_nsec = UTIME_OMIT}};
	const struct timespec ahead[] = {{.tv_sec = time(NULL) + 600}, {.tv_nsec = UTIME_OMIT}};
	const struct timespec now[] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
	const struct {
		const struct timespec *when;
		size_t left;
	} table[] = {{now, 1}, {ago, 0}, {ahead, 0}};
	struct cache_slot slot;

	(void)state;
	for (size_t i = 0; i < ELEMENTS(table); i++) {
		struct stat st;

		open_slot("/no/such/workspace", &slot, "0");
		age(&slot, 2 * 24 * 3600);
		cache_close(&slot);
		assert_int_equal(utimensat(AT_FDCWD, below("caches"), table[i].when, 0), 0);
		cache_sweep_at_times(top);
		assert_int_equal(all_of().slots, table[i].left);
		assert_int_equal(stat(below("caches"), &st), 0);
		assert_true(st.st_atim.tv_sec <= time(NULL) &&
			    st.st_atim.tv_sec > time(NULL) - 600);
	}
}

static void what_is_large_is_swept_by_and_by(void **state)
{
	enum { FILES = 25000, MONTH = 31 * 24 * 3600 };
	char path[PATH_MAX];
	struct cache_slot slot;

	(void)state;
	open_slot("/w", &slot, "0");
	for (int i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/.ward-inside-layer/%d", slot.path, i);
		assert_int_equal(mknod(path, S_IFREG | 0600, 0), 0);
	}
	assert_int_equal(all_of().files, FILES);
	age(&slot, MONTH);
	cache_close(&slot);
	cache_sweep(top);
	assert_int_equal(all_of().slots, 0);
	assert_int_equal(rmdir(below("caches")), -1); /* something is left of it */
	for (int i = 0; i < 3; i++)
		cache_sweep(top);
	assert_int_equal(rmdir(below("caches")), 0);
}

int main(void)
{
#define at_top(test) cmocka_unit_test_setup_teardown(test, make_top, remove_top)
	const struct CMUnitTest tests[] = {
		at_top(those_of_which_the_first_part_is_there_are_noted),
		at_top(what_a_rule_means_gets_none),
		at_top(variables_count_below_the_home_only),
		at_top(runs_at_once_have_a_slot_each),
		at_top(every_slot_is_counted),
		at_top(what_is_not_used_is_swept),
		at_top(it_is_swept_once_an_hour),
		at_top(what_is_large_is_swept_by_and_by),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
