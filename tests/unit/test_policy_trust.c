/* SPDX-License-Identifier: Apache-2.0 */
/* Whose word counts: an untrusted project only ever narrows. */
#include "../../src/base/buffer.h"
#include "policy_world.h"

#include <stdio.h>

static const char widening[] = "approval: on-failure\n"
			       "sandbox:\n"
			       "  level: none\n"
			       "  files: {read: [r], write: [w], deny: [d]}\n"
			       "  network: {mode: full, allow: [h], deny: [x], publish: [1]}\n"
			       "  sockets: [docker]\n"
			       "  limits: {memory: 4G, time: 1s}\n"
			       "  environment: {keep: [K], set: {S: 1}}\n"
			       "  require: [userns]\n"
			       "profiles:\n"
			       "  code: {limits: {memory: 1G, time: 1s}}\n"
			       "rules:\n"
			       "  - {command: a, do: allow}\n"
			       "  - {command: b, do: ask, why: w, permissions: ['read x']}\n"
			       "  - {command: c, do: deny, why: w}\n";

static void a_project_can_only_narrow_until_it_is_trusted(void **state)
{
	struct world *world = *state;
	_cleanup_policy_ struct policy *policy = NULL;
	const struct sandbox_policy *sandbox;
	static const char *const lines[] = {
		":1:11: ", ":3:10: ", ":4:18: ", ":4:30: ", ":5:19: ",	":5:33: ", ":5:58: ",
		":6:13: ", ":7:20: ", ":8:24: ", ":8:34: ", ":11:27: ", ":13:1: ", ":14:1: "};

	put(world->user, "approval: on-request\nsandbox: {limits: {memory: 2G, time: 5s}}");
	put(world->project, widening);
	policy = load(world);
	assert_int_equal(policy->approval, APPROVAL_ON_REQUEST);
	assert_int_equal(policy->sandbox.level, LEVEL_RESTRICTED);
	assert_int_equal(policy->sandbox.network, NETWORK_NONE);
	assert_int_equal(policy->sandbox.read.count + policy->sandbox.write.count +
				 policy->sandbox.allow_hosts.count + policy->sandbox.publish.count +
				 policy->sandbox.sockets.count + policy->sandbox.keep_env.count +
				 policy->sandbox.set_env.count,
			 0);
	assert_int_equal(policy->sandbox.deny.count, 1);
	assert_int_equal(policy->sandbox.deny_hosts.count, 1);
	assert_int_equal(policy->sandbox.require.count, 1);
	assert_int_equal(policy->sandbox.limits.memory, 2ull << 30);
	assert_int_equal(policy->sandbox.limits.time_ns, 1000000000);
	assert_int_equal(policy_profile(policy, "code", &sandbox, NULL), 0);
	assert_int_equal(sandbox->limits.memory, 512ull << 20);
	assert_int_equal(sandbox->limits.time_ns, 1000000000);
	assert_int_equal(policy->rule_count, 2);
	assert_null(match(policy, "a"));
	assert_int_equal(match(policy, "b")->permissions.count, 0);
	assert_false(match(policy, "b")->trusted);
	assert_int_equal(match(policy, "c")->kind, VERDICT_DENY);

	assert_int_equal(policy->ignored.count, ELEMENTS(lines));
	assert_int_equal(policy->warnings.count, ELEMENTS(lines));
	for (size_t i = 0; i < ELEMENTS(lines); i++) {
		_cleanup_free_ char *place = NULL;

		assert_true(asprintf(&place, "%s%s", world->project, lines[i]) > 0);
		if (strncmp(policy->warnings.items[i], place, strlen(place)) != 0 ||
		    !strstr(policy->warnings.items[i], "ward policy trust"))
			fail_msg("%s is not at %s", policy->warnings.items[i], lines[i]);
	}
}

static void stricter_ways_of_asking_are_taken_from_a_project(void **state)
{
	static const struct {
		const char *user, *project, *result;
	} cases[] = {
		{"on-failure", "on-request", "on-request"},
		{"on-failure", "unless-trusted", "unless-trusted"},
		{"on-failure", "never", "never"},
		{"on-request", "unless-trusted", "unless-trusted"},
		{"on-request", "on-failure", "on-request"},
		{"unless-trusted", "on-request", "unless-trusted"},
		{"never", "unless-trusted", "never"},
		{"never", "on-failure", "never"},
		/* nobody would be asked any more about what nothing speaks against */
		{"on-request", "never", "on-request"},
		{"unless-trusted", "never", "unless-trusted"},
	};
	struct world *world = *state;

	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		_cleanup_policy_ struct policy *policy = NULL;
		char text[64];

		snprintf(text, sizeof(text), "approval: %s", cases[i].user);
		put(world->user, text);
		snprintf(text, sizeof(text), "approval: %s", cases[i].project);
		put(world->project, text);
		policy = load(world);
		assert_string_equal(approval_name(policy->approval), cases[i].result);
		assert_int_equal(policy->warnings.count,
				 strcmp(cases[i].project, cases[i].result) != 0);
	}
}

static void trust_lasts_until_the_file_changes(void **state)
{
	struct world *world = *state;
	_cleanup_policy_ struct policy *before = NULL, *trusted = NULL, *changed = NULL,
				       *again = NULL, *without = NULL;
	_cleanup_error_ struct error *error = NULL;

	put(world->project, widening);
	before = load(world);
	assert_int_equal(policy_trust(world->state, world->workspace, &error), 0);
	assert_false(policy_is_current(before));
	trusted = load(world);
	assert_true(policy_is_current(trusted));
	assert_int_equal(trusted->ignored.count, 0);
	assert_int_equal(trusted->sandbox.level, LEVEL_NONE);
	assert_int_equal(trusted->sandbox.network, NETWORK_FULL);
	assert_int_equal(match(trusted, "a")->kind, VERDICT_ALLOW);
	assert_int_equal(match(trusted, "b")->permissions.count, 1);
	assert_true(match(trusted, "b")->trusted);

	put(world->project, "sandbox: {level: none, sockets: [docker]}");
	assert_false(policy_is_current(trusted));
	changed = load(world);
	assert_int_equal(changed->ignored.count, 2);
	put(world->project, widening); /* the same text again is what was trusted */
	again = load(world);
	assert_int_equal(again->ignored.count, 0);
	assert_int_equal(policy_untrust(world->state, world->workspace, &error), 0);
	assert_int_equal(policy_untrust(world->state, world->workspace, &error), 0);
	without = load(world);
	assert_true(without->ignored.count > 0);
}

static void trust_is_for_one_directory_and_one_valid_file(void **state)
{
	struct world *world = *state;
	_cleanup_error_ struct error *error = NULL;
	_cleanup_policy_ struct policy *policy = NULL;
	_cleanup_free_ char *other = path_resolve(world->top, NULL, "other");
	_cleanup_free_ char *copy = path_resolve(other, NULL, ".ward.yaml");
	_cleanup_free_ char *list = path_resolve(world->state, NULL, "trusted");

	assert_true(policy_trust(world->state, world->workspace, &error) < 0);
	assert_non_null(strstr(error->message, "there is no .ward.yaml"));
	put(world->project, "level: x");
	assert_true(policy_trust(world->state, world->workspace, &error) < 0);
	assert_int_equal(error->line, 1);
	put(world->project, widening);
	assert_int_equal(policy_trust(world->state, world->workspace, NULL), 0);
	assert_int_equal(mkdir(other, 0755), 0);
	put(copy, widening);
	world->places.workspace = other;
	policy = load(world);
	assert_true(policy->ignored.count > 0);
	/* a list that others could have written is not believed */
	assert_int_equal(chmod(list, 0666), 0);
	load_fails(world, list, "others may write");
}

static uint64_t seed;

static unsigned dice(unsigned sides)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(seed >> 33) % sides;
}

static void add_section(struct buffer *text)
{
	static const char *const levels[] = {"none", "restricted", "container"};
	static const char *const modes[] = {"none", "restricted", "full"};
	static const char *const limits[] = {"memory", "disk",	"output", "processes",
					     "cpu",    "files", "idle"};

	buffer_add_char(text, '{');
	if (dice(2))
		buffer_printf(text, "level: %s, ", levels[dice(3)]);
	if (dice(2))
		buffer_printf(text, "files: {read: [r%u], write: [w%u], deny: [d%u]}, ", dice(3),
			      dice(3), dice(3));
	if (dice(2)) {
		buffer_add_text(text, "network: {");
		if (dice(2))
			buffer_printf(text, "mode: %s, ", modes[dice(3)]);
		if (dice(2))
			buffer_printf(text, "allow: [h%u], ", dice(3));
		if (dice(2))
			buffer_printf(text, "publish: [%u], ", dice(3) + 1);
		buffer_printf(text, "deny: [x%u]}, ", dice(3));
	}
	if (dice(3) == 0)
		buffer_add_text(text, "sockets: [docker], ");
	if (dice(3) == 0)
		buffer_printf(text, "caches: %s, ", dice(2) ? "private" : "off");
	if (dice(3) == 0)
		buffer_printf(text, "escalation: %s, ", escalation_name((enum escalation)dice(3)));
	if (dice(2)) {
		buffer_add_text(text, "limits: {");
		for (size_t i = 0; i < ELEMENTS(limits); i++)
			if (dice(2))
				buffer_printf(text, "%s: %u, ", limits[i], dice(9) + 1);
		buffer_add_text(text, "}, ");
	}
	if (dice(3) == 0)
		buffer_printf(text, "environment: {keep: [K%u], set: {S: %u}}, ", dice(3), dice(3));
	buffer_add_char(text, '}');
}

static void make_policy(struct buffer *text)
{
	static const char *const approvals[] = {"never", "on-failure", "on-request",
						"unless-trusted"};
	static const char *const kinds[] = {"allow", "ask", "deny"};

	buffer_add_text(text, "version: 1\n");
	if (dice(2))
		buffer_printf(text, "approval: %s\n", approvals[dice(4)]);
	if (dice(3)) {
		buffer_add_text(text, "sandbox: ");
		add_section(text);
		buffer_add_char(text, '\n');
	}
	if (dice(2)) {
		buffer_printf(text, "profiles: {%s: ", dice(2) ? "code" : "mine");
		add_section(text);
		buffer_add_text(text, "}\n");
	}
	buffer_add_text(text, "rules:\n");
	for (unsigned i = dice(3) + 1; i > 0; i--) {
		const char *kind = kinds[dice(3)];

		buffer_printf(text, "  - {command: c%u, do: %s, why: w%s}\n", dice(3), kind,
			      strcmp(kind, "deny") != 0 && dice(2) ? ", permissions: ['read p']"
								   : "");
	}
}

static bool is_subset(const struct list *some, const struct list *all)
{
	for (size_t i = 0; i < some->count; i++)
		if (!list_has(all, some->items[i]))
			return false;
	return true;
}

static bool is_no_higher(uint64_t limit, uint64_t most)
{
	return most == 0 || (limit != 0 && limit <= most);
}

static bool is_narrower(const struct sandbox_policy *with, const struct sandbox_policy *without)
{
	return with->level >= without->level && with->network <= without->network &&
	       with->caches >= without->caches && with->escalation <= without->escalation &&
	       is_subset(&with->read, &without->read) && is_subset(&with->write, &without->write) &&
	       is_subset(&with->allow_hosts, &without->allow_hosts) &&
	       is_subset(&with->publish, &without->publish) &&
	       is_subset(&with->sockets, &without->sockets) &&
	       is_subset(&with->keep_env, &without->keep_env) &&
	       is_subset(&with->set_env, &without->set_env) &&
	       is_subset(&without->deny, &with->deny) &&
	       is_subset(&without->deny_hosts, &with->deny_hosts) &&
	       is_subset(&without->require, &with->require) &&
	       is_no_higher(with->limits.memory, without->limits.memory) &&
	       is_no_higher(with->limits.disk, without->limits.disk) &&
	       is_no_higher(with->limits.output, without->limits.output) &&
	       is_no_higher(with->limits.files, without->limits.files) &&
	       is_no_higher(with->limits.idle_ns, without->limits.idle_ns) &&
	       is_no_higher(with->limits.processes, without->limits.processes) &&
	       is_no_higher(with->limits.millicpus, without->limits.millicpus) &&
	       is_no_higher(with->limits.time_ns, without->limits.time_ns);
}

static bool rules_are_narrower(const struct policy *with, const struct policy *without)
{
	static const char *const commands[] = {"c0", "c1", "c2", "c3"};

	for (size_t i = 0; i < ELEMENTS(commands); i++) {
		const struct rule *one = match(with, commands[i]),
				  *other = match(without, commands[i]);

		if (one == NULL ? other != NULL : other && one->kind < other->kind)
			return false;
		if (one && !other && one->kind == VERDICT_ALLOW)
			return false;
		if (one && one->permissions.count > (other ? other->permissions.count : 0))
			return false;
	}
	return true;
}

static void no_untrusted_project_ever_widens(void **state)
{
	struct world *world = *state;

	for (unsigned round = 0; round < 1500; round++) {
		_cleanup_buffer_ struct buffer user = {0}, extra = {0}, project = {0};
		_cleanup_policy_ struct policy *with = NULL, *without = NULL;
		bool fine;

		seed = round;
		make_policy(&user);
		make_policy(&extra);
		make_policy(&project);
		put(world->user, buffer_text(&user));
		put(world->extra, buffer_text(&extra));
		world->places.extra = dice(2) ? world->extra : NULL;
		unlink(world->project);
		without = load(world);
		put(world->project, buffer_text(&project));
		with = load(world);
		fine = is_narrower(&with->sandbox, &without->sandbox) &&
		       rules_are_narrower(with, without) &&
		       (with->approval == without->approval ||
			without->approval == APPROVAL_ON_FAILURE ||
			(without->approval == APPROVAL_ON_REQUEST &&
			 with->approval == APPROVAL_UNLESS_TRUSTED));
		for (size_t i = 0; i < with->profile_count && fine; i++) {
			const struct sandbox_policy *known = &without->sandbox;

			policy_profile(without, with->profiles[i].name, &known, NULL);
			fine = is_narrower(&with->profiles[i].sandbox, known);
		}
		if (!fine)
			fail_msg("round %u: wider with\n%sover\n%sand\n%s", round,
				 buffer_text(&project), buffer_text(&user), buffer_text(&extra));
	}
}

static void trust_is_made_harder_by_anybody_and_easier_by_the_owner(void **state)
{
	struct world *world = *state;
	_cleanup_policy_ struct policy *user = NULL, *lifted = NULL, *freed = NULL;

	put(world->user, "trust: {agents: [a], start: 20, points: {task: 4}, never: [sudo, 'write "
			 "./x'], learn: {after: 3}}");
	put(world->project,
	    "trust: {agents: [b], start: 10, points: {task: 9, violation: -20}, decay: 1, tests: "
	    "['true'], thresholds: [], never: ['write ./y'], violations: {medium: 9, then: kill}, "
	    "learn: {after: 1, expires: 1d}}");
	user = load(world);
	assert_true(trust_binds(user, "a") && !trust_binds(user, "b"));
	assert_int_equal(user->trust.start, 10);
	assert_int_equal(user->trust.points[TRUST_TASK], 4);
	assert_int_equal(user->trust.points[TRUST_VIOLATION], -20);
	assert_true(user->trust.decay == 0.99);
	assert_int_equal(user->trust.tests.count, 0);
	assert_int_equal(user->trust.threshold_count, 3);
	assert_int_equal(user->trust.medium, 3);
	assert_int_equal(user->trust.then, TRUST_THEN_KILL);
	assert_int_equal(user->trust.learn_after, 3);
	assert_int_equal(user->trust.learn_expires_ns, 86400 * UINT64_C(1000000000));
	/* The user's file names one group and lifts none; both add. */
	assert_int_equal(user->tiers.lifted, 0);
	assert_int_equal(user->tiers.never.count, 2);
	/* The system's may. */
	put(world->system, "trust: {never: [secrets, security, production, 'deploy live']}");
	lifted = load(world);
	assert_int_equal(lifted->tiers.lifted & 1u << never_group("secrets"), 0);
	assert_int_equal(lifted->tiers.never.count, 3);
	/* Which the user, who named sudo again, has not. */
	assert_int_equal(lifted->tiers.lifted & 1u << never_group("sudo"), 0);
	put(world->user, "trust: {agents: [a]}");
	freed = load(world);
	assert_int_equal(freed->tiers.lifted & 15u, 1u << never_group("sudo"));
}

int main(void)
{
#define in_world(test) cmocka_unit_test_setup_teardown(test, make_world, end_world)
	const struct CMUnitTest tests[] = {
		in_world(a_project_can_only_narrow_until_it_is_trusted),
		in_world(stricter_ways_of_asking_are_taken_from_a_project),
		in_world(trust_lasts_until_the_file_changes),
		in_world(trust_is_for_one_directory_and_one_valid_file),
		in_world(no_untrusted_project_ever_widens),
		in_world(trust_is_made_harder_by_anybody_and_easier_by_the_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
