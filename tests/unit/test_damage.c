/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan would delete, counted: files, bytes, and of how many git has a copy. */
#include "../../src/assess/index.h"
#include "../../src/assess/radius.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char directory[64];

static void run(const char *script)
{
	char line[1024];

	snprintf(line, sizeof(line), "cd %s && { %s\n} >/dev/null 2>&1", directory, script);
	assert_int_equal(system(line), 0);
}

/* A work tree with a file that is committed, one that has changed since, and one that is new. */
static int make_tree(void **state _unused_)
{
	strcpy(directory, "/tmp/ward-damage-XXXXXX");
	assert_non_null(mkdtemp(directory));
	run("git init -q . && mkdir src && echo a >src/same && echo b >src/changed && "
	    "touch -d '1 hour ago' src/* && git add src && "
	    "git -c user.name=x -c user.email=x@example.com commit -qm x && "
	    "echo longer >src/changed && echo c >src/new");
	return 0;
}

static int remove_tree(void **state _unused_)
{
	char line[128];

	snprintf(line, sizeof(line), "rm -rf %s", directory);
	return system(line);
}

static struct assessment measure(const char *text)
{
	_cleanup_arena_ struct arena *arena = arena_new();
	_cleanup_request_ struct request request;
	struct assessment assessment;
	struct plan plan;

	request_init(&request);
	request.mode = MODE_SHELL;
	request.script = strdup(text);
	parse_request(arena, &request, &plan);
	assess_plan(arena, &plan, &assessment);
	assess_damage(&plan, directory, directory, &assessment);
	return assessment;
}

static void files_are_counted_and_git_is_asked(void **state _unused_)
{
	struct damage damage = measure("rm -rf src").damage;

	assert_true(damage.measured);
	assert_false(damage.more);
	assert_int_equal(damage.files, 3);
	assert_int_equal(damage.bytes, 2 + 7 + 2);
	assert_int_equal(damage.restorable, 1);
}

static void patterns_are_followed(void **state _unused_)
{
	assert_int_equal(measure("rm src/*").damage.files, 3);
	assert_int_equal(measure("rm src/n*").damage.files, 1);
	assert_int_equal(measure("rm -f src/.*").damage.files, 0);
	assert_int_equal(measure("rm -f nothing*").damage.files, 0);
}

static void what_git_has_can_be_undone(void **state _unused_)
{
	assert_true(measure("rm -r src/sam*").reversible);
	assert_non_null(measure("rm -r src/sam*").way_back);
	assert_false(measure("rm -r src").reversible);
}

/* Whether the text is not asked about, because git has all that it deletes. */
static bool is_kept(const char *text)
{
	_cleanup_arena_ struct arena *arena = arena_new();
	_cleanup_request_ struct request request;
	struct assessment assessment;
	struct plan plan;

	request_init(&request);
	request.mode = MODE_SHELL;
	request.script = strdup(text);
	parse_request(arena, &request, &plan);
	assess_plan(arena, &plan, &assessment);
	return assess_is_kept(&plan, directory, directory, &assessment) &&
	       assessment.class == CLASS_SAFE && assessment.reversible;
}

static void nobody_is_asked_about_what_git_has(void **state _unused_)
{
	assert_true(is_kept("rm -r src/sam*"));
	assert_false(is_kept("rm -r src"));		    /* not all of it */
	assert_false(is_kept("rm -r nothing"));		    /* nothing is known of it */
	assert_false(is_kept("rm -r src/sam* /usr/share")); /* outside */
	assert_false(is_kept("rm -r src/sam* $x"));
	assert_false(is_kept("sudo rm -r src/sam*")); /* something else speaks against it */
	assert_false(is_kept("shred src/sam*"));
	assert_false(is_kept("rm -r src/sam*; rm -r .git"));
	assert_false(is_kept("rm -r .git"));
	assert_false(is_kept("ls")); /* nothing did */
}

static void what_is_not_named_here_is_not_counted(void **state _unused_)
{
	assert_true(measure("rm -rf $x").damage.more);
	assert_true(measure("rm -rf /usr/share").damage.more);
	assert_int_equal(measure("rm -rf /usr/share").damage.files, 0);
	assert_true(measure("rm -rf ..").damage.more);
	assert_false(measure("cd src && rm -rf .").damage.measured);
	assert_false(measure("ls").damage.measured);
}

static void what_could_not_be_counted_is_not_said_to_be_nothing(void **state _unused_)
{
	const struct damage unknown = {.measured = true, .more = true};
	const struct damage some = {.measured = true, .more = true, .files = 2, .bytes = 10};
	_cleanup_free_ char *one = damage_text(&unknown), *other = damage_text(&some);

	assert_string_equal(one, "files, how many is unknown");
	assert_non_null(strstr(other, "at least 2 files"));
}

static void links_are_not_followed(void **state _unused_)
{
	run("mkdir links && ln -s /usr links/away && ln -s ../src links/near");
	assert_int_equal(measure("rm -rf links").damage.files, 2);
	run("rm -r links");
}

static void what_is_only_meant_to_be_added_has_no_copy(void **state _unused_)
{
	run("echo x >intended && touch -d '1 hour ago' intended && git add -N intended");
	assert_int_equal(measure("rm -r intended").damage.restorable, 0);
	assert_int_equal(measure("rm -r src").damage.restorable, 1);
	run("git reset -q intended; rm intended");
}

static void a_tree_elsewhere_has_its_own_index(void **state _unused_)
{
	run("git worktree add -q inner HEAD && touch -d '1 hour ago' inner/src/*  && "
	    "git -C inner update-index --refresh");
	char inner[128];

	snprintf(inner, sizeof(inner), "%s/inner", directory);
	_cleanup_index_ struct index *index = index_open(inner);

	assert_non_null(index);
	assert_string_equal(index_root(index), inner);
	run("git worktree remove --force inner");
}

/* The index is the workspace's, so it can hold anything. */
static void a_broken_index_is_no_index(void **state _unused_)
{
	static const char *const breakers[] = {
		"head -c 40 saved >.git/index",
		"head -c 11 saved >.git/index",
		": >.git/index",
		"printf 'DIRC\\0\\0\\0\\2\\377\\377\\377\\377' >.git/index",
		"printf 'DIRC\\0\\0\\0\\2\\0\\0\\0\\377' >.git/index",
		"printf 'DIRC\\0\\0\\0\\4\\0\\0\\0\\1' >.git/index",
		"rm .git/index; mkdir .git/index",
		"rmdir .git/index; mkfifo .git/index",
		"rm .git/index; ln -s saved .git/index"};

	run("cp .git/index saved");
	for (size_t i = 0; i < ELEMENTS(breakers); i++) {
		run(breakers[i]);
		assert_null(index_open(directory));
		assert_int_equal(measure("rm -rf src").damage.files, 3);
	}
	/* any of its bytes changed */
	for (int i = 0; i < 200; i++) {
		char line[256];

		snprintf(line, sizeof(line),
			 "rm -f .git/index; cp saved .git/index; "
			 "printf '\\377' | dd of=.git/index bs=1 seek=%d conv=notrunc",
			 i);
		run(line);
		assert_int_equal(measure("rm -rf src").damage.files, 3);
	}
	run("rm -f .git/index; mv saved .git/index");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_counted_and_git_is_asked),
		cmocka_unit_test(patterns_are_followed),
		cmocka_unit_test(what_git_has_can_be_undone),
		cmocka_unit_test(nobody_is_asked_about_what_git_has),
		cmocka_unit_test(what_is_not_named_here_is_not_counted),
		cmocka_unit_test(what_could_not_be_counted_is_not_said_to_be_nothing),
		cmocka_unit_test(links_are_not_followed),
		cmocka_unit_test(what_is_only_meant_to_be_added_has_no_copy),
		cmocka_unit_test(a_tree_elsewhere_has_its_own_index),
		cmocka_unit_test(a_broken_index_is_no_index),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
