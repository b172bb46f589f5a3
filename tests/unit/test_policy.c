/* SPDX-License-Identifier: Apache-2.0 */
/* Policy files laid over each other, and what their rules say. */
#include "policy_world.h"

static void without_files_the_built_in_policy_holds(void **state)
{
	_cleanup_policy_ struct policy *policy = load(*state);
	const struct sandbox_policy *sandbox;
	_cleanup_error_ struct error *error = NULL;

	assert_false(policy->configured || policy->has_approval || policy->sandbox.has_level ||
		     policy->sandbox.has_network);
	assert_int_equal(policy->rule_count + policy->files.count + policy->warnings.count, 0);
	assert_int_equal(policy_profile(policy, "agent", &sandbox, NULL), 0);
	assert_int_equal(sandbox->limits.memory, 2048ull << 20);
	assert_int_equal(sandbox->limits.disk, 5000ull << 20);
	assert_int_equal(sandbox->limits.processes, 20);
	assert_int_equal(sandbox->limits.time_ns, 3600000000000ull);
	assert_int_equal(sandbox->limits.idle_ns, 300000000000ull);
	assert_int_equal(policy_profile(policy, "code", &sandbox, NULL), 0);
	assert_int_equal(sandbox->limits.memory, 512ull << 20);
	assert_int_equal(sandbox->limits.processes, 10);
	assert_int_equal(sandbox->limits.time_ns, 30000000000ull);
	assert_int_equal(policy_profile(policy, "code-net", &sandbox, NULL), 0);
	assert_int_equal(sandbox->limits.memory, 512ull << 20);
	assert_int_equal(sandbox->limits.processes, 10);
	assert_int_equal(sandbox->limits.time_ns, 60000000000ull);
	assert_true(policy_profile(policy, "none", &sandbox, &error) < 0);
	assert_non_null(strstr(error->hint, "agent, code, code-net"));
	assert_true(policy_is_current(policy));
}

/* What is built in is a policy like any other, and fit for use wherever variables lead. */
static void profiles_of_agents_are_there_when_they_are_wanted(void **state)
{
	static const struct {
		const char *name, *key, *host, *place;
	} agents[] = {{"claude", "ANTHROPIC_API_KEY", "model:anthropic", "claude}/projects/**"},
		      {"codex", "OPENAI_API_KEY", "model:openai", "codex}/sessions/**"},
		      {"gemini", "GEMINI_API_KEY", "model:google", "gemini/history/**"},
		      {"opencode", "OPENCODE_API_KEY", "model:opencode", "share}/opencode/log/**"}};
	struct world *world = *state;
	const struct sandbox_policy *sandbox;

	for (size_t i = 0; i < ELEMENTS(agents); i++) {
		_cleanup_policy_ struct policy *policy = NULL, *other = load(*state);
		bool found = false;

		assert_int_equal(policy_profile(other, agents[i].name, &sandbox, NULL), 0);
		assert_int_equal(sandbox->make.count + sandbox->allow_hosts.count, 0);
		world->places.profile = agents[i].name;
		policy = load(*state);
		world->places.profile = NULL;
		assert_int_equal(policy_profile(policy, agents[i].name, &sandbox, NULL), 0);
		assert_string_equal(policy_profile_of(agents[i].name), agents[i].name);
		assert_true(list_has(&sandbox->keep_env, agents[i].key));
		assert_true(list_has(&sandbox->allow_hosts, agents[i].host));
		assert_int_equal(sandbox->allow_hosts.count, 1);
		assert_int_equal(sandbox->network, NETWORK_RESTRICTED);
		assert_int_equal(sandbox->write.count + sandbox->sockets.count, 0);
		for (size_t m = 0; m < sandbox->make.count; m++)
			found |= strstr(sandbox->make.items[m], agents[i].place) != NULL;
		assert_true(found);
		assert_int_equal(policy->sandbox.network, NETWORK_NONE);
		assert_int_equal(policy->files.count + policy->warnings.count, 0);
	}
	assert_null(policy_profile_of("./claude"));
	setenv("CODEX_HOME", "/x*", 1);
	world->places.profile = "codex";
	load_fails(*state, "profile codex, built in", "CODEX_HOME");
	unsetenv("CODEX_HOME");
	world->places.profile = NULL;
}

static void later_layers_are_laid_over_earlier_ones(void **state)
{
	struct world *world = *state;
	_cleanup_policy_ struct policy *policy = NULL;
	const struct sandbox_policy *sandbox;

	put(world->system, "approval: never\nsandbox: {level: container, files: {read: [a]}, "
			   "limits: {memory: 1G, time: 5s}, environment: {set: {A: 1, B: 2}}}");
	put(world->user, whole);
	put(world->extra, "sandbox: {level: none, environment: {set: {A: 3}}}");
	world->places.extra = world->extra;
	policy = load(world);
	assert_true(policy->configured);
	assert_int_equal(policy->files.count, 3);
	assert_int_equal(policy->approval, APPROVAL_ON_REQUEST);
	assert_int_equal(policy->sandbox.level, LEVEL_NONE);
	assert_int_equal(policy->sandbox.read.count, 2);
	assert_int_equal(policy->sandbox.limits.memory, 2ull << 30);
	assert_int_equal(policy->sandbox.set_env.count, 3);
	assert_string_equal(policy->sandbox.set_env.items[0], "A=3");
	assert_int_equal(policy_profile(policy, "build", &sandbox, NULL), 0);
	assert_int_equal(sandbox->network, NETWORK_FULL);
	assert_int_equal(sandbox->limits.memory, 2ull << 30);
	assert_int_equal(sandbox->read.count, 2);
	assert_int_equal(policy_profile(policy, "code", &sandbox, NULL), 0);
	assert_int_equal(sandbox->limits.memory, 100ull << 20);
	assert_int_equal(sandbox->limits.processes, 10);
	assert_int_equal(policy_profile(policy, "agent", &sandbox, NULL), 0);
	assert_int_equal(sandbox->limits.disk, 1ull << 30);
}

static void deny_beats_ask_beats_allow_and_the_last_layer_speaks(void **state)
{
	struct world *world = *state;
	_cleanup_policy_ struct policy *policy = NULL;

	put(world->system, "rules:\n"
			   "  - {command: git push, do: ask, why: system}\n"
			   "  - {command: git push --force, do: deny, why: force}\n"
			   "  - {command: npm, do: deny, why: system}\n");
	put(world->user, "rules:\n"
			 "  - {command: git, do: allow}\n"
			 "  - {command: git push, do: ask, why: first}\n"
			 "  - {command: git push, do: ask, why: second}\n"
			 "  - {command: npm, do: allow}\n");
	policy = load(world);
	assert_string_equal(match(policy, "git push")->why, "first");
	assert_int_equal(match(policy, "git push")->line, 3);
	assert_string_equal(match(policy, "git push")->file, world->user);
	assert_string_equal(match(policy, "git push --force")->why, "force");
	assert_int_equal(match(policy, "git status")->kind, VERDICT_ALLOW);
	assert_int_equal(match(policy, "npm x")->kind, VERDICT_DENY);
	assert_null(match(policy, "make"));
	assert_null(match(policy, "git status $X"));
}

/* The file of the rule that a program with these names and words meets, "" for none. */
static const char *started(const struct policy *policy, const char *real, const char *path,
			   const char *words)
{
	_cleanup_free_ char *copy = strdup(words);
	_cleanup_list_ struct list argv = {0};
	const char *names[] = {real, path, NULL};
	char *rest = copy, *word;
	const struct rule *rule;

	while ((word = strsep(&rest, " ")))
		list_add(&argv, word);
	names[2] = argv.items[0];
	rule = policy_match_started(policy, NULL, names, ELEMENTS(names), argv.items, argv.count);
	return rule ? rule->why : "";
}

static void a_program_that_is_started_is_known_by_any_of_its_names(void **state)
{
	static const struct {
		const char *real, *path, *words, *why;
	} cases[] = {
		{"/usr/bin/git", "/usr/bin/git", "git push", "push"},
		{"/usr/bin/git", "/bin/git", "git -C x push origin", "push"},
		{"/usr/bin/git", "/usr/bin/git", "git status", ""},
		{"/usr/bin/git", "./innocent", "innocent push", "push"},
		{"/usr/bin/true", "./git", "git push", "push"},
		{"/usr/bin/true", "./true", "git push", "push"},
		{"/usr/bin/true", "./true", "true push", ""},
		/* What they run is started by itself. */
		{"/usr/bin/env", "/usr/bin/env", "env git push", ""},
		{"/usr/bin/timeout", "/usr/bin/timeout", "timeout 5 git push", ""},
		/* But not by these. */
		{"/bin/busybox", "/bin/busybox", "busybox rm -rf x", "remove"},
		{"/bin/busybox", "/bin/rm", "rm -rf x", "remove"},
		{"/opt/tool", "/opt/tool", "tool", "path"},
		{"/opt/other/tool", "./tool", "./tool", ""},
		{"/opt/x", "/opt/x", "x --force", "option"},
		/* Words are what they are: nothing is left to be expanded. */
		{"/usr/bin/git", "git", "git $WORD", ""},
		{"/usr/bin/git", "git", "git ", ""},
		{"/usr/bin/sh", "sh", "sh > out", ""},
		{"/usr/bin/sh", "sh", "sh A=1", ""},
	};
	struct world *world = *state;
	_cleanup_policy_ struct policy *policy = NULL;

	put(world->system, "rules:\n"
			   "  - {command: git push, do: ask, why: push}\n"
			   "  - {command: git, do: allow, why: all}\n"
			   "  - {command: rm -rf, do: deny, why: remove}\n"
			   "  - {command: /opt/tool, do: deny, why: path}\n"
			   "  - {command: '* --force', do: ask, why: option}\n"
			   "  - {command: '* > out', do: deny, why: target}\n"
			   "  - {command: A=1 sh, do: deny, why: variable}\n"
			   "  - {command: '*', do: ask, why: everything}\n");
	policy = load(world);
	assert_true(policy_has_rules_for_programs(policy));
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		const char *why = started(policy, cases[i].real, cases[i].path, cases[i].words);

		if (strcmp(why, cases[i].why) != 0)
			fail_msg("%s %s: '%s', not '%s'", cases[i].real, cases[i].words, why,
				 cases[i].why);
	}
}

static void only_rules_that_ask_or_deny_are_about_programs(void **state)
{
	struct world *world = *state;
	_cleanup_policy_ struct policy *policy = NULL;

	put(world->system, "rules:\n"
			   "  - {command: git push, do: allow}\n"
			   "  - {command: '* > out', do: deny, why: target}\n"
			   "  - {command: '*', do: ask, why: everything}\n");
	policy = load(world);
	assert_false(policy_has_rules_for_programs(policy));
}

static void a_guess_is_known_as_one(void **state)
{
	struct world *world = *state;
	_cleanup_arena_ struct arena *arena = arena_new();
	_cleanup_policy_ struct policy *policy = NULL;
	const struct rule *rule;
	struct plan plan;

	put(world->user, "rules: [{command: git push, do: deny, why: w}]");
	policy = load(world);
	parse_shell(arena, "git $X; git push $X", 19, &plan);
	rule = policy_match(policy, &plan.commands[0], 0);
	assert_non_null(rule);
	assert_false(policy_match_is_certain(policy, rule, &plan.commands[0], 0));
	assert_true(policy_match_is_certain(policy, rule, &plan.commands[1], 0));
}

static void an_extra_file_counts_in_full_only_outside_the_workspace(void **state)
{
	struct world *world = *state;
	_cleanup_policy_ struct policy *outside = NULL, *inside = NULL, *linked = NULL,
				       *others = NULL;
	_cleanup_free_ char *within = path_resolve(world->workspace, NULL, "extra.yaml");
	_cleanup_free_ char *link = path_resolve(world->workspace, NULL, "link.yaml");
	_cleanup_free_ char *out = path_resolve(world->top, NULL, "out.yaml");

	put(world->extra, "sandbox: {level: none}");
	world->places.extra = world->extra;
	outside = load(world);
	assert_int_equal(outside->sandbox.level, LEVEL_NONE);
	put(within, "sandbox: {level: none}");
	world->places.extra = within;
	inside = load(world);
	assert_int_equal(inside->sandbox.level, LEVEL_RESTRICTED);
	assert_int_equal(inside->ignored.count, 1);
	/* a link in the workspace could have been put there, one that leads into it as well */
	assert_int_equal(symlink(world->extra, link), 0);
	world->places.extra = link;
	linked = load(world);
	assert_int_equal(linked->sandbox.level, LEVEL_RESTRICTED);
	policy_free(linked);
	assert_int_equal(chdir(world->workspace), 0);
	world->places.extra = "link.yaml";
	linked = load(world);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(linked->sandbox.level, LEVEL_RESTRICTED);
	policy_free(linked);
	assert_int_equal(symlink(within, out), 0);
	world->places.extra = out;
	linked = load(world);
	assert_int_equal(linked->sandbox.level, LEVEL_RESTRICTED);
	assert_int_equal(chmod(world->extra, 0666), 0);
	world->places.extra = world->extra;
	others = load(world);
	assert_int_equal(others->sandbox.level, LEVEL_RESTRICTED);
	unlink(world->extra);
	load_fails(world, world->extra, "No such file");
}

static void files_that_cannot_be_believed_are_refused(void **state)
{
	struct world *world = *state;

	put(world->user, "version: 1");
	assert_int_equal(chmod(world->user, 0666), 0);
	load_fails(world, world->user, "others may write");
	if (geteuid() == 0) {
		assert_int_equal(chmod(world->user, 0644), 0);
		assert_int_equal(chown(world->user, 12345, 0), 0);
		load_fails(world, world->user, "belongs to user 12345");
	}
	unlink(world->user);
	put(world->system, "version: 3");
	load_fails(world, world->system, "version");
	unlink(world->system);
	assert_int_equal(mkfifo(world->project, 0644), 0);
	load_fails(world, world->project, "not a regular file");
	unlink(world->project);
	put(world->extra, "version: 1");
	assert_int_equal(symlink(world->extra, world->project), 0);
	load_fails(world, world->project, "symbolic link");
	unlink(world->project);
	assert_int_equal(mkdir(world->project, 0755), 0);
	load_fails(world, world->project, "not a regular file");
	rmdir(world->project);
	policy_free(load(world));
}

static void a_file_that_comes_changes_or_goes_is_noticed(void **state)
{
	struct world *world = *state;
	_cleanup_policy_ struct policy *none = load(world), *one = NULL, *two = NULL;

	assert_true(policy_is_current(none));
	put(world->project, "version: 1");
	assert_false(policy_is_current(none));
	one = load(world);
	assert_true(policy_is_current(one));
	put(world->user, "version: 1");
	assert_false(policy_is_current(one));
	two = load(world);
	assert_true(policy_is_current(two));
	unlink(world->project);
	assert_false(policy_is_current(two));
}

int main(void)
{
#define in_world(test) cmocka_unit_test_setup_teardown(test, make_world, end_world)
	const struct CMUnitTest tests[] = {
		in_world(without_files_the_built_in_policy_holds),
		in_world(profiles_of_agents_are_there_when_they_are_wanted),
		in_world(later_layers_are_laid_over_earlier_ones),
		in_world(deny_beats_ask_beats_allow_and_the_last_layer_speaks),
		in_world(a_guess_is_known_as_one),
		in_world(a_program_that_is_started_is_known_by_any_of_its_names),
		in_world(only_rules_that_ask_or_deny_are_about_programs),
		in_world(an_extra_file_counts_in_full_only_outside_the_workspace),
		in_world(files_that_cannot_be_believed_are_refused),
		in_world(a_file_that_comes_changes_or_goes_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
