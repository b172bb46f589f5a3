/* SPDX-License-Identifier: Apache-2.0 */
/* Which questions go to whom: as files say it, joined, and never less strict for what a project
 * says. */
#include "policy_world.h"
#include "base/arena.h"
#include "decide/routes.h"

static const char groups[] = "approvers:\n"
			     "  security: [alice, 'user:bob', 'hook:ops/U1']\n"
			     "  managers: [carol]\n"
			     "people:\n"
			     "  alice: ['user:alice', 'web:al']\n"
			     "owners: {'deploy-*': alice}\n"
			     "environments:\n"
			     "  production: ['*prod*', db1.example]\n";

static void put_with_groups(const char *path, const char *routes)
{
	_cleanup_free_ char *text = NULL;

	assert_true(asprintf(&text, "%s%s", groups, routes) > 0);
	put(path, text);
}

struct case_of {
	const char *agent, *command, *grant;
};

static json_t *route_of(const struct world *world, const struct policy *policy,
			const struct case_of *given)
{
	struct arena *arena = arena_new();
	struct request request = {.agent = (char *)given->agent,
				  .workspace = world->workspace,
				  .cwd = world->workspace};
	_cleanup_circumstances_ struct circumstances circumstances = {0};
	_cleanup_list_ struct list grants = {0};
	struct assessment assessment;
	struct plan plan;
	json_t *route;

	parse_shell(arena, given->command, strlen(given->command), &plan);
	assess_plan(arena, &plan, &assessment);
	if (given->grant)
		list_add(&grants, given->grant);
	circumstances_make(policy, &request, &plan, &assessment, &circumstances);
	route = routes_for(policy, &(struct route_subject){.circumstances = &circumstances,
							   .plan = &plan,
							   .grants = &grants,
							   .cwd = world->workspace,
							   .login = "dave"});
	arena_free(arena);
	return route;
}

static bool is_routed(const struct world *world, const struct policy *policy, const char *agent,
		      const char *command, const char *grant)
{
	json_t *route = route_of(world, policy, &(struct case_of){agent, command, grant});
	bool is = route;

	json_decref(route);
	return is;
}

static json_t *step(json_t *route, size_t number)
{
	return json_array_get(json_object_get(route, "steps"), number);
}

static int need(json_t *route, size_t number)
{
	return (int)json_integer_value(json_object_get(step(route, number), "need"));
}

static void assert_who(json_t *route, size_t number, size_t group, const char *wanted)
{
	json_t *who = json_object_get(
		json_array_get(json_object_get(step(route, number), "groups"), group), "who");
	_cleanup_free_ char *text = json_dumps(who, JSON_COMPACT);

	assert_string_equal(text, wanted);
}

static void assert_owners(json_t *route, const char *wanted)
{
	_cleanup_free_ char *text = json_dumps(json_object_get(route, "owners"), JSON_COMPACT);

	assert_string_equal(text, wanted);
}

static void a_question_without_a_route_has_none(void **state)
{
	struct world *world = *state;
	_cleanup_policy_ struct policy *policy = NULL;

	put(world->user, groups);
	policy = load(world);
	assert_false(is_routed(world, policy, "claude", "rm -rf /srv/prod", NULL));
}

static void a_route_holds_by_agent_risk_category_path_and_environment(void **state)
{
	struct world *world = *state;
	static const struct {
		const char *when, *agent, *command, *grant;
		bool holds;
	} cases[] = {
		{"agent: 'c*'", "claude", "ls", NULL, true},
		{"agent: 'c*'", "gemini", "ls", NULL, false},
		{"agent: 'c*'", NULL, "ls", NULL, false},
		{"risk: [high, critical]", "a", "ls", NULL, false},
		{"risk: [high, critical]", "a", "git push --force origin main", NULL, true},
		{"path: /etc", "a", "ls", "write /etc/motd", true},
		{"path: /etc", "a", "ls", "write /etcetera", false},
		{"path: /etc", "a", "cat /etc/passwd", NULL, true},
		{"path: /etc", "a", "cp a --target=/etc", NULL, true},
		{"path: /etc", "a", "ls", "write /**", true},
		{"path: /srv/prod", "a", "rm -r /srv", NULL, true},
		{"path: secret/**", "a", "cat secret/x", NULL, true},
		{"path: secret/*.key", "a", "cat secret/x", NULL, false},
		{"path: secret/*.key", "a", "cat secret/*", NULL, true},
		{"path: secret/**", "a", "cat other/x", NULL, false},
		{"path: /etc", "a", "cat \"$FILE\"", NULL, true},
		{"target: production", "a", "kubectl --context=eu-prod-1 apply -f x", NULL, true},
		{"target: production", "a", "kubectl --context staging apply -f x", NULL, false},
		{"target: production", "a", "ssh root@db1.example true", NULL, true},
		{"target: production", "a", "ls", "connect db1.example:5432", true},
		{"target: production", "a", "ls", "connect db2.example:5432", false},
		{"target: production", "a", "ls", "unsandboxed", true},
		{"target: nowhere", "a", "ls", NULL, true},
	};

	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		_cleanup_free_ char *text = NULL;
		_cleanup_policy_ struct policy *policy = NULL;

		assert_true(asprintf(&text, "routes: [{when: {%s}, steps: [{from: security}]}]\n",
				     cases[i].when) > 0);
		put_with_groups(world->user, text);
		policy = load(world);
		if (is_routed(world, policy, cases[i].agent, cases[i].command, cases[i].grant) !=
		    cases[i].holds)
			fail_msg("%s: %s %s", cases[i].when, cases[i].command,
				 cases[i].grant ? cases[i].grant : "");
	}
}

/* What makes the risk greater adds routes, and takes none away. */
static void a_greater_risk_only_adds(void **state)
{
	struct world *world = *state;
	_cleanup_policy_ struct policy *policy = NULL;
	_cleanup_circumstances_ struct circumstances low = {0}, high = {0};
	const struct request request = {.workspace = world->workspace, .cwd = world->workspace};
	const char *none[] = {NULL};
	const struct assessment small = {.risk = RISK_LOW, .categories = none},
				great = {.risk = RISK_HIGH, .categories = none};
	struct plan plan = {0};
	json_t *route;

	put_with_groups(world->user, "routes:\n"
				     "  - {when: {risk: low}, steps: [{from: security}]}\n"
				     "  - {when: {risk: high}, steps: [{from: managers}]}\n"
				     "  - {when: {risk: critical}, steps: [{from: managers, need: "
				     "9}]}\n");
	policy = load(world);
	circumstances_make(policy, &request, &plan, &small, &low);
	circumstances_make(policy, &request, &plan, &great, &high);
	route = routes_for(policy, &(struct route_subject){
					   .circumstances = &low, .raised = &high, .login = "d"});
	assert_int_equal(json_array_size(json_object_get(route, "steps")), 2);
	assert_int_equal(need(route, 1), 1);
	json_decref(route);
}

static void members_are_people_and_how_they_prove_it(void **state)
{
	struct world *world = *state;
	_cleanup_policy_ struct policy *policy = NULL;
	json_t *route;

	put_with_groups(world->user,
			"routes:\n"
			"  - steps:\n"
			"      - {from: [security], need: 2, reason: required, within: 10m, "
			"then: [managers]}\n"
			"      - from: managers\n"
			"    for: 1h\n");
	policy = load(world);
	assert_int_equal(policy->warnings.count, 0);
	route = route_of(world, policy, &(struct case_of){"x", "ls", NULL});
	assert_who(route, 0, 0,
		   "[{\"person\":\"alice\",\"as\":[\"user:alice\",\"web:al\"]},"
		   "{\"person\":\"bob\",\"as\":[\"user:bob\"]},"
		   "{\"person\":\"ops/U1\",\"as\":[\"hook:ops/U1\"]}]");
	assert_who(route, 0, 1, "[{\"person\":\"carol\",\"as\":[\"user:carol\",\"web:carol\"]}]");
	assert_int_equal(need(route, 0), 2);
	assert_true(json_is_true(json_object_get(step(route, 0), "reason")));
	assert_true(json_is_true(json_object_get(step(route, 0), "not_own")));
	assert_true(json_is_true(json_object_get(step(route, 1), "not_own")));
	assert_int_equal(json_integer_value(json_object_get(step(route, 0), "within_seconds")),
			 600);
	assert_int_equal(json_integer_value(json_object_get(route, "grant_seconds")), 3600);
	assert_owners(route, "[{\"person\":\"dave\",\"as\":[\"user:dave\"]}]");
	json_decref(route);
	route = route_of(world, policy, &(struct case_of){"deploy-7", "ls", NULL});
	assert_owners(route, "[{\"person\":\"dave\",\"as\":[\"user:dave\"]},"
			     "{\"person\":\"alice\",\"as\":[\"user:alice\",\"web:al\"]}]");
	json_decref(route);
}

static void routes_that_hold_are_joined_and_nothing_is_dropped(void **state)
{
	struct world *world = *state;
	_cleanup_policy_ struct policy *policy = NULL;
	json_t *route;

	put_with_groups(world->user,
			"routes:\n"
			"  - {steps: [{from: security, need: 2}], for: 2h}\n"
			"  - {steps: [{from: managers}, {from: security, reason: required}], for: "
			"1h, not_own: true}\n");
	policy = load(world);
	route = route_of(world, policy, &(struct case_of){"x", "ls", NULL});
	assert_int_equal(json_array_size(json_object_get(route, "steps")), 2);
	assert_int_equal(need(route, 0), 2);
	assert_true(json_is_true(json_object_get(step(route, 0), "reason")));
	assert_true(json_is_true(json_object_get(step(route, 1), "not_own")));
	assert_int_equal(json_integer_value(json_object_get(route, "grant_seconds")), 3600);
	json_decref(route);
}

/* Every step of the one is in the other, with at least its need, and nobody more may answer it. */
static void assert_no_wider(json_t *before, json_t *after)
{
	for (size_t i = 0; i < json_array_size(json_object_get(before, "steps")); i++) {
		json_t *old = step(before, i), *new = step(after, i);

		assert_true(
			json_equal(json_object_get(old, "groups"), json_object_get(new, "groups")));
		assert_true(json_equal(json_object_get(old, "within_seconds"),
				       json_object_get(new, "within_seconds")));
		assert_true(need(after, i) >= need(before, i));
		assert_true(!json_is_true(json_object_get(old, "reason")) ||
			    json_is_true(json_object_get(new, "reason")));
		assert_true(!json_is_true(json_object_get(old, "not_own")) ||
			    json_is_true(json_object_get(new, "not_own")));
	}
	assert_true(
		json_equal(json_object_get(before, "owners"), json_object_get(after, "owners")));
}

static void a_project_can_only_make_it_stricter(void **state)
{
	struct world *world = *state;
	static const char *const tries[] = {
		"approvers: {security: ['user:mallory'], later: ['user:mallory']}\n",
		"people: {carol: ['user:mallory'], mallory: ['user:bob']}\n",
		"owners: {'*': mallory}\n",
		"environments: {production: [nothing]}\n",
		"routes: [{steps: [{from: security, need: 1, within: 1s, then: theirs}], not_own: "
		"false}]\napprovers: {theirs: ['user:mallory']}\n",
		"routes: [{steps: [{from: [theirs]}], not_own: false, for: 300d}]\napprovers: "
		"{theirs: ['user:mallory']}\n",
		"routes: [{steps: [{from: security, need: 3}]}]\n",
	};
	_cleanup_policy_ struct policy *policy = NULL;
	json_t *before;

	put_with_groups(
		world->user,
		"routes:\n"
		"  - when: {target: production}\n"
		"    steps: [{from: security, need: 2, reason: required, within: 10m, then: "
		"managers}, {from: later}]\n"
		"    for: 1h\n");
	policy = load(world);
	before = route_of(world, policy, &(struct case_of){"x", "ssh prod", NULL});
	assert_non_null(before);
	for (size_t i = 0; i < ELEMENTS(tries); i++) {
		_cleanup_policy_ struct policy *narrowed = NULL;
		json_t *after;

		put(world->project, tries[i]);
		narrowed = load(world);
		after = route_of(world, narrowed, &(struct case_of){"x", "ssh prod", NULL});
		assert_non_null(after);
		assert_no_wider(before, after);
		assert_true(json_integer_value(json_object_get(after, "grant_seconds")) <= 3600);
		if (i == ELEMENTS(tries) - 1)
			assert_int_equal(need(after, 0), 3);
		json_decref(after);
	}
	json_decref(before);
}

static void a_later_file_does_not_change_who_somebody_is(void **state)
{
	struct world *world = *state;
	_cleanup_policy_ struct policy *policy = NULL;
	json_t *route;

	put_with_groups(world->system, "routes: [{steps: [{from: managers}]}]\n");
	put(world->user, "approvers: {managers: [mallory]}\npeople: {carol: ['user:mallory']}\n");
	policy = load(world);
	assert_int_equal(policy->warnings.count, 1);
	route = route_of(world, policy, &(struct case_of){"x", "ls", NULL});
	assert_who(route, 0, 0, "[{\"person\":\"carol\",\"as\":[\"user:carol\",\"web:carol\"]}]");
	json_decref(route);
}

static void a_later_file_gives_no_owner_another_name(void **state)
{
	struct world *world = *state;
	_cleanup_policy_ struct policy *policy = NULL;
	json_t *route;

	put(world->system, "approvers: {managers: [david]}\n"
			   "people: {david: ['user:dave', 'web:dave']}\n"
			   "routes: [{not_own: true, steps: [{from: managers}]}]\n");
	put(world->user, "people: {nobody: ['user:dave']}\n");
	policy = load(world);
	route = route_of(world, policy, &(struct case_of){"x", "ls", NULL});
	assert_owners(route, "[{\"person\":\"david\",\"as\":[\"user:dave\"]}]");
	json_decref(route);
}

/* dave starts it. */
static void nobody_approves_what_his_own_agent_asks_where_there_are_others(void **state)
{
	struct world *world = *state;
	static const struct {
		const char *step, *more;
		bool not_own;
	} cases[] = {
		{"{from: mine}", "", false},
		{"{from: mine}", ", not_own: true", true},
		{"{from: theirs}", "", true},
		{"{from: theirs}", ", not_own: false", false},
		{"{from: mine, within: 1m, then: theirs}", "", true},
		{"{from: mine, need: 2}", "", true},
	};

	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		_cleanup_policy_ struct policy *policy = NULL;
		_cleanup_free_ char *text = NULL;
		json_t *route;

		assert_true(asprintf(&text,
				     "approvers: {mine: [david, 'web:dd'], theirs: [david, erin]}\n"
				     "people: {david: ['user:dave', 'web:dave']}\n"
				     "owners: {'bot*': 'web:dd'}\n"
				     "routes: [{steps: [%s]%s}]\n",
				     cases[i].step, cases[i].more) > 0);
		put(world->system, text);
		policy = load(world);
		route = route_of(world, policy, &(struct case_of){"bot1", "ls", NULL});
		assert_int_equal(json_is_true(json_object_get(step(route, 0), "not_own")),
				 cases[i].not_own);
		json_decref(route);
	}
}

static void what_is_wrong_is_said_with_its_place(void **state)
{
	struct world *world = *state;
	static const char *const wrong[][2] = {
		{"approvers: {a: []}", "a list of names"},
		{"approvers: {a: ['root:x']}", "nobody who could answer"},
		{"approvers: {a: ['hook:x']}", "nobody who could answer"},
		{"approvers: {a: ['alice,bob']}", "nobody who could answer"},
		{"approvers: {'a b': [x]}", "no name here"},
		{"approvers: {a: [x], a: [y]}", "stands twice"},
		{"people: {a: [x]}", "nobody who could answer"},
		{"owners: {a: [x, y]}", "one owner"},
		{"environments: {a: ['[']}", "cannot be used"},
		{"routes: [{name: x}]", "leads to nobody"},
		{"routes: [{steps: []}]", "1 to 8 steps"},
		{"routes: [{steps: [{need: 2}]}]", "without those who answer"},
		{"routes: [{steps: [{from: a, need: 0}]}]", "at least 1"},
		{"routes: [{steps: [{from: a, need: 1000}]}]", "at least 1"},
		{"routes: [{steps: [{from: a, reason: yes}]}]", "required or optional"},
		{"routes: [{steps: [{from: a, then: b}]}]", "after no time"},
		{"routes: [{steps: [{from: a, within: 1ms}]}]", "from 1s"},
		{"routes: [{steps: [{from: a}], for: 0s}]", "from 1s"},
		{"routes: [{steps: [{from: a}], not_own: maybe}]", "true or false"},
		{"routes: [{steps: [{from: a}], when: {}}]", "at least one condition"},
		{"routes: [{steps: [{from: a}], when: {colour: red}}]", "unknown key"},
	};

	for (size_t i = 0; i < ELEMENTS(wrong); i++) {
		put(world->user, wrong[i][0]);
		load_fails(world, world->user, wrong[i][1]);
	}
}

static void a_route_that_nobody_can_answer_is_warned_of(void **state)
{
	struct world *world = *state;
	_cleanup_policy_ struct policy *policy = NULL;

	put(world->user, "approvers: {a: [x, 'user:x', 'web:x']}\n"
			 "routes: [{steps: [{from: a, need: 2}, {from: nobody}], when: {target: "
			 "mars}}]\n");
	policy = load(world);
	assert_int_equal(policy->warnings.count, 4);
	assert_non_null(strstr(policy->warnings.items[0], "mars"));
	assert_non_null(strstr(policy->warnings.items[1], "more people are needed"));
	assert_non_null(strstr(policy->warnings.items[2], "who 'nobody' are"));
}

int main(void)
{
#define IN_A_WORLD(test) cmocka_unit_test_setup_teardown(test, make_world, end_world)
	const struct CMUnitTest tests[] = {
		IN_A_WORLD(a_question_without_a_route_has_none),
		IN_A_WORLD(a_route_holds_by_agent_risk_category_path_and_environment),
		IN_A_WORLD(a_greater_risk_only_adds),
		IN_A_WORLD(members_are_people_and_how_they_prove_it),
		IN_A_WORLD(routes_that_hold_are_joined_and_nothing_is_dropped),
		IN_A_WORLD(a_project_can_only_make_it_stricter),
		IN_A_WORLD(a_later_file_does_not_change_who_somebody_is),
		IN_A_WORLD(a_later_file_gives_no_owner_another_name),
		IN_A_WORLD(nobody_approves_what_his_own_agent_asks_where_there_are_others),
		IN_A_WORLD(what_is_wrong_is_said_with_its_place),
		IN_A_WORLD(a_route_that_nobody_can_answer_is_warned_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
