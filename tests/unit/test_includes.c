/* SPDX-License-Identifier: Apache-2.0 */
/* Files that include others: in which order they count, and how far they are believed. */
#include "policy_world.h"
#include "../../src/base/buffer.h"

#include <stdlib.h>

static void put_in(const struct world *world, const char *directory, const char *name,
		   const char *text)
{
	_cleanup_free_ char *path = path_resolve(directory, NULL, name);

	(void)world;
	put(path, text);
}

static void what_is_included_comes_before_what_includes_it(void **state)
{
	struct world *world = *state;
	_cleanup_policy_ struct policy *policy = NULL;
	_cleanup_free_ char *config = path_resolve(world->home, NULL, ".config/ward");

	put_in(world, config, "base.yaml",
	       "include: [deeper/../more.yaml]\napproval: on-request\nrules: [{command: a, do: "
	       "ask, why: base}]\n");
	put_in(world, config, "more.yaml",
	       "approval: never\nrules: [{command: b, do: deny, why: "
	       "more}]\n");
	put(world->user, "include: [base.yaml, more.yaml]\nrules: [{command: a, do: ask, why: "
			 "own}]\n");
	policy = load(world);
	assert_int_equal(policy->approval, APPROVAL_ON_REQUEST);
	assert_string_equal(match(policy, "a")->why, "own");
	assert_string_equal(match(policy, "b")->why, "more");
	/* Each once, however often it is named. */
	assert_int_equal(policy->files.count, 3);
	assert_int_equal(policy->rule_count, 3);
	assert_true(policy_is_current(policy));
	put_in(world, config, "more.yaml", "approval: never\n");
	assert_false(policy_is_current(policy));
}

static void circles_depth_and_missing_files_are_errors(void **state)
{
	struct world *world = *state;
	_cleanup_free_ char *config = path_resolve(world->home, NULL, ".config/ward");

	put(world->user, "include: [ward.yaml]\n");
	load_fails(world, world->user, "in a circle");
	put_in(world, config, "one.yaml", "include: [ward.yaml]\n");
	put(world->user, "include: [one.yaml]\n");
	{
		_cleanup_free_ char *one = path_resolve(config, NULL, "one.yaml");

		load_fails(world, one, "in a circle");
	}
	put(world->user, "include: [nothing.yaml]\n");
	load_fails(world, world->user, "is not there");
	put(world->user, "include: [d0.yaml]\n");
	for (int i = 0; i < 10; i++) {
		_cleanup_buffer_ struct buffer name = {0}, text = {0};

		buffer_printf(&name, "d%d.yaml", i);
		buffer_printf(&text, "include: [d%d.yaml]\n", i + 1);
		put_in(world, config, buffer_text(&name), buffer_text(&text));
	}
	{
		_cleanup_free_ char *seventh = path_resolve(config, NULL, "d7.yaml");

		load_fails(world, seventh, "too many files");
	}
}

static void files_that_others_may_write_are_not_included(void **state)
{
	struct world *world = *state;
	_cleanup_free_ char *open = path_resolve(world->home, NULL, "open.yaml");

	put(world->user, "include: [~/open.yaml]\n");
	put(open, "rules: []\n");
	assert_int_equal(chmod(open, 0666), 0);
	load_fails(world, open, "others may write");
}

/* A command could have written it. */
static void what_lies_in_the_workspace_only_narrows_whoever_includes_it(void **state)
{
	struct world *world = *state;
	_cleanup_policy_ struct policy *policy = NULL;
	_cleanup_buffer_ struct buffer text = {0};

	put_in(world, world->workspace, "shared.yaml",
	       "approval: never\nrules: [{command: a, do: allow}, {command: b, do: deny, why: w}]\n"
	       "callers: [{program: /usr/bin/agentd, may: [approve]}]\n");
	buffer_printf(&text, "approval: unless-trusted\ninclude: [%s/shared.yaml]\n",
		      world->workspace);
	put(world->user, buffer_text(&text));
	policy = load(world);
	assert_null(match(policy, "a"));
	assert_non_null(match(policy, "b"));
	assert_int_equal(policy->approval, APPROVAL_UNLESS_TRUSTED);
	assert_int_equal(policy->caller_count, 0);
}

static void a_project_includes_its_own_files_and_no_others(void **state)
{
	struct world *world = *state;
	_cleanup_free_ char *inner = path_resolve(world->workspace, NULL, "policy");
	_cleanup_free_ char *link = path_resolve(world->workspace, NULL, "link.yaml");
	_cleanup_free_ char *directory = path_resolve(world->workspace, NULL, "elsewhere");
	_cleanup_policy_ struct policy *policy = NULL;

	put_in(world, world->home, "secret.yaml", "token: swordfish\n");
	put(world->project, "include: [../home/secret.yaml]\n");
	load_fails(world, world->project, "cannot be included");
	put(world->project, "include: [~/secret.yaml]\n");
	load_fails(world, world->project, "cannot be included");
	put(world->project, "include: [/etc/passwd]\n");
	load_fails(world, world->project, "cannot be included");
	assert_int_equal(symlink("../home/secret.yaml", link), 0);
	put(world->project, "include: [link.yaml]\n");
	load_fails(world, link, "a symbolic link leads");
	assert_int_equal(symlink(world->home, directory), 0);
	put(world->project, "include: [elsewhere/secret.yaml]\n");
	{
		_cleanup_free_ char *through =
			path_resolve(world->workspace, NULL, "elsewhere/secret.yaml");

		load_fails(world, through, "a symbolic link leads");
	}
	assert_int_equal(mkdir(inner, 0755), 0);
	put_in(world, inner, "rules.yaml",
	       "rules: [{command: a, do: allow}, {command: b, do: deny, why: w}]\n");
	put(world->project, "include: [policy/rules.yaml]\n");
	policy = load(world);
	assert_null(match(policy, "a"));
	assert_non_null(match(policy, "b"));
}

static void trust_is_for_the_project_with_all_that_it_includes(void **state)
{
	struct world *world = *state;
	_cleanup_policy_ struct policy *trusted = NULL, *changed = NULL, *again = NULL;

	put_in(world, world->workspace, "rules.yaml", "rules: [{command: a, do: allow}]\n");
	put(world->project, "include: [rules.yaml]\nrules: [{command: b, do: allow}]\n");
	assert_int_equal(policy_trust(world->state, world->workspace, NULL), 0);
	trusted = load(world);
	assert_non_null(match(trusted, "a"));
	assert_non_null(match(trusted, "b"));
	/* A change of either ends it. */
	put_in(world, world->workspace, "rules.yaml", "rules: [{command: c, do: allow}]\n");
	changed = load(world);
	assert_null(match(changed, "b"));
	assert_null(match(changed, "c"));
	put_in(world, world->workspace, "rules.yaml", "rules: [{command: a, do: allow}]\n");
	again = load(world);
	assert_non_null(match(again, "a"));
}

int main(void)
{
#define WORLD(test) cmocka_unit_test_setup_teardown(test, make_world, end_world)
	const struct CMUnitTest tests[] = {
		WORLD(what_is_included_comes_before_what_includes_it),
		WORLD(circles_depth_and_missing_files_are_errors),
		WORLD(files_that_others_may_write_are_not_included),
		WORLD(what_lies_in_the_workspace_only_narrows_whoever_includes_it),
		WORLD(a_project_includes_its_own_files_and_no_others),
		WORLD(trust_is_for_the_project_with_all_that_it_includes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
