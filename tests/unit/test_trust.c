/* SPDX-License-Identifier: Apache-2.0 */
/* Trust: the arithmetic of the score, with times of the test's own; what counts; what is kept. */
#include "../../src/base/io.h"
#include "../../src/decide/policy.h"
#include "../../src/decide/tiers.h"

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

enum { DAY = 86400, NOON = 1800000000 };

static void add(struct trust_history *history, const char *kind, const char *key, double score,
		int64_t when)
{
	history->items = reallocarray(history->items, history->count + 1, sizeof(*history->items));
	assert_non_null(history->items);
	history->items[history->count++] = (struct trust_change){.kind = strdup(kind),
								 .key = key ? strdup(key) : NULL,
								 .score = score,
								 .time = when};
}

/* Whatever happens, in whatever order, at whatever times, under whatever a policy may say. */
static void no_score_ever_leaves_its_bounds(void **state)
{
	uint64_t seed = 88172645463325252u;

	(void)state;
	for (int round = 0; round < 500; round++) {
		_cleanup_trust_history_ struct trust_history history = {0};
		struct trust_rules rules = {0};
		int64_t now = NOON;

#define RANDOM(most) ((seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17) % (most))
		rules.start = (int)RANDOM(TRUST_MOST + 1);
		rules.decay = 0.5 + (double)RANDOM(501) / 1000;
		for (enum trust_kind kind = 0; kind < TRUST_KINDS; kind++)
			rules.points[kind] =
				kind < TRUST_VIOLATION ? (int)RANDOM(101) : -(int)RANDOM(101);
		for (int step = 0; step < 60; step++) {
			enum trust_kind kind = (enum trust_kind)RANDOM(TRUST_KINDS);
			double before = trust_score_at(&rules, &history, now), after;

			assert_true(before >= 0 && before <= TRUST_MOST);
			after = trust_score_after(&rules, &history, rules.points[kind], now);
			assert_true(after >= 0 && after <= TRUST_MOST);
			assert_true(kind < TRUST_VIOLATION ? after >= before : after <= before);
			/* The score never rises by the mere passing of time, whichever way. */
			assert_true(trust_score_at(&rules, &history, now + (int64_t)RANDOM(DAY)) <=
				    before + 1e-9);
			add(&history, trust_kind_name(kind), NULL, after, now);
			now += (int64_t)RANDOM(20 * DAY) - 5 * DAY;
		}
	}
}

static void a_hundredth_is_lost_each_day(void **state)
{
	_cleanup_trust_history_ struct trust_history history = {0};
	struct trust_rules rules = {.decay = 0.99};

	(void)state;
	add(&history, "task", NULL, 50, NOON);
	assert_true(trust_score_at(&rules, &history, NOON) == 50);
	assert_true(trust_score_at(&rules, &history, NOON + DAY) == 49.5);
	assert_true(trust_score_at(&rules, &history, NOON - DAY) == 50);
	assert_true(trust_score_at(&rules, &history, NOON + INT64_C(100000) * DAY) < 0.001);
	/* What somebody wrote there by hand is bounded, too. */
	add(&history, "task", NULL, 1e300, NOON);
	assert_true(trust_score_at(&rules, &history, NOON) == TRUST_MOST);
}

static void the_same_counts_once(void **state)
{
	_cleanup_trust_history_ struct trust_history history = {0};

	(void)state;
	assert_true(trust_may_count(&history, TRUST_TESTS, "tree 1", NOON));
	add(&history, "tests", "tree 1", 1, NOON);
	assert_false(trust_may_count(&history, TRUST_TESTS, "tree 1", NOON));
	assert_false(trust_may_count(&history, TRUST_TESTS, "tree 1", NOON + 400 * DAY));
	assert_true(trust_may_count(&history, TRUST_TESTS, "tree 2", NOON));
	add(&history, "asked", "pip install", 1, NOON);
	assert_false(trust_may_count(&history, TRUST_ASKED, "pip install", NOON + DAY - 1));
	assert_true(trust_may_count(&history, TRUST_ASKED, "pip install", NOON + DAY));
	/* A clock that was set back, or jumps about, opens nothing anew. */
	assert_false(trust_may_count(&history, TRUST_ASKED, "pip install", NOON - 30 * DAY));
	assert_false(trust_may_count(&history, TRUST_TESTS, "tree 1", NOON - 30 * DAY));
}

static void no_more_than_a_few_count_in_a_day(void **state)
{
	_cleanup_trust_history_ struct trust_history history = {0};

	(void)state;
	for (int i = 0; i < TRUST_A_DAY; i++) {
		char key[16];

		snprintf(key, sizeof(key), "tree %d", i);
		assert_true(trust_may_count(&history, TRUST_TESTS, key, NOON + i));
		add(&history, "tests", key, 1, NOON + i);
	}
	assert_false(trust_may_count(&history, TRUST_TESTS, "another", NOON + 60));
	assert_true(trust_may_count(&history, TRUST_ASKED, "another", NOON + 60));
	assert_true(trust_may_count(&history, TRUST_TASK, NULL, NOON + 60));
	assert_true(trust_may_count(&history, TRUST_TESTS, "another", NOON + 2 * DAY));
}

/* --- what is kept --- */

static char *make_state(void)
{
	char path[] = "/tmp/ward-trust-XXXXXX";

	assert_non_null(mkdtemp(path));
	return strdup(path);
}

static void remove_state(char *state)
{
	assert_int_equal(remove_tree(AT_FDCWD, state), 0);
	free(state);
}

static struct policy *policy_binding(const char *agent)
{
	struct policy *policy = calloc(1, sizeof(*policy));

	assert_non_null(policy);
	trust_rules_default(&policy->trust);
	list_add(&policy->tiers.agents, agent);
	return policy;
}

static void changes_are_kept_with_their_reasons(void **unused)
{
	_cleanup_policy_ struct policy *policy = policy_binding("ci-*");
	_cleanup_trust_history_ struct trust_history history = {0};
	_cleanup_list_ struct list agents = {0};
	struct error *error = NULL;
	char *state = make_state();
	double score;

	(void)unused;
	assert_int_equal(trust_note_by(state, policy, "ci-a/b", TRUST_TASK, "the parser", "anna",
				       NULL, &error),
			 0);
	assert_int_equal(trust_note(state, policy, "ci-a/b", TRUST_TASK, "the \xff lexer", &error),
			 0);
	/* Nobody else is bound. */
	assert_int_equal(trust_note(state, policy, "other", TRUST_TASK, "x", &error), 0);
	assert_int_equal(trust_read(state, "ci-a/b", &history, &error), 0);
	assert_int_equal(history.count, 2);
	assert_string_equal(history.items[0].why, "the parser");
	assert_string_equal(history.items[0].by, "anna");
	assert_string_equal(history.items[1].by, "ward");
	assert_true(history.items[1].score > 3.99);
	assert_int_equal(trust_agents(state, &agents, &error), 0);
	assert_int_equal(agents.count, 1);
	assert_string_equal(agents.items[0], "ci-a/b");
	assert_int_equal(trust_reset(state, policy, "ci-a/b", "anew", "anna", &error), 0);
	assert_int_equal(trust_score(state, policy, "ci-a/b", &score, &error), 0);
	assert_true(score == 0);
	remove_state(state);
}

static void names_never_lead_out_of_the_state(void **unused)
{
	static const char *const names[] = {"..", ".", "../../x", "a/b", "%2e%2e", "\n", "a b", ""};
	_cleanup_free_ char *long_name = calloc(1, 1001), *path = NULL;

	(void)unused;
	for (size_t i = 0; i < ELEMENTS(names); i++) {
		_cleanup_free_ char *place = trust_directory("/s", names[i]);

		assert_memory_equal(place, "/s/agents/", 10);
		assert_null(strchr(place + 10, '/'));
		assert_true(place[10] != '.');
	}
	memset(long_name, 'x', 1000);
	path = trust_directory("/s", long_name);
	assert_true(strlen(path) < 200);
}

static void what_others_planted_is_not_followed(void **unused)
{
	_cleanup_policy_ struct policy *policy = policy_binding("a");
	_cleanup_free_ char *link_path = NULL, *target = NULL;
	_cleanup_error_ struct error *error = NULL, *second = NULL;
	char *state = make_state();
	double score = 7;
	struct stat st;

	(void)unused;
	assert_int_equal(trust_note(state, policy, "a", TRUST_TASK, "x", NULL), 0);
	assert_true(asprintf(&link_path, "%s/agents/a/trust.jsonl", state) > 0);
	assert_true(asprintf(&target, "%s/target", state) > 0);
	assert_int_equal(unlink(link_path), 0);
	assert_int_equal(symlink(target, link_path), 0);
	assert_true(trust_note(state, policy, "a", TRUST_TASK, "x", &error) < 0);
	assert_int_equal(lstat(target, &st), -1);
	/* What cannot be read is no trust at all. */
	assert_true(trust_score(state, policy, "a", &score, &second) < 0);
	assert_true(score == 0);
	remove_state(state);
}

static void half_a_line_is_the_worst_change_and_a_broken_one_an_error(void **unused)
{
	_cleanup_policy_ struct policy *policy = policy_binding("a");
	_cleanup_trust_history_ struct trust_history history = {0}, none = {0};
	_cleanup_error_ struct error *error = NULL;
	_cleanup_free_ char *path = NULL;
	char *state = make_state();
	double score;
	int fd;

	(void)unused;
	for (int i = 0; i < 10; i++)
		assert_int_equal(trust_note(state, policy, "a", TRUST_TASK, "x", NULL), 0);
	assert_true(asprintf(&path, "%s/agents/a/trust.jsonl", state) > 0);
	fd = open(path, O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, "{\"time\"", 7), 7);
	/* It may have been a violation. */
	assert_int_equal(trust_score(state, policy, "a", &score, NULL), 0);
	assert_int_equal(trust_points(score), 0);
	policy->trust.start = 100; /* else it may have been a reset, too */
	assert_int_equal(trust_score(state, policy, "a", &score, NULL), 0);
	assert_int_equal(trust_points(score), 20 - 10);
	assert_int_equal(trust_note(state, policy, "a", TRUST_TASK, "x", NULL), 0);
	assert_int_equal(trust_read(state, "a", &history, NULL), 0);
	assert_int_equal(history.count, 12);
	assert_false(history.torn);
	assert_string_equal(history.items[10].kind, "lost");
	assert_int_equal(trust_points(history.items[11].score), 12);
	assert_int_equal(write(fd, "nonsense\n", 9), 9);
	close(fd);
	assert_true(trust_read(state, "a", &none, &error) < 0);
	assert_int_equal(none.count, 0);
	remove_state(state);
}

/* --- learning --- */

static int approve(const char *state, const struct policy *policy, const char *key, const char *run,
		   char **ret_proposed)
{
	const struct trust_shape shape = {.covers = (char *)"pip install",
					  .directory = (char *)"/w",
					  .command = (char *)"pip install six"};

	return trust_learn_note(state, policy, "a", key, run, &shape, ret_proposed, NULL);
}

static void what_is_approved_in_enough_runs_is_proposed(void **unused)
{
	_cleanup_policy_ struct policy *policy = policy_binding("a");
	_cleanup_trust_shapes_ struct trust_shapes shapes = {0};
	_cleanup_free_ char *proposed = NULL;
	char *state = make_state(), run[8];

	(void)unused;
	for (int i = 0; i < 12; i++) /* one run counts once, however often it asks */
		assert_int_equal(approve(state, policy, "pip install", "run", &proposed), 0);
	assert_null(proposed);
	assert_int_equal(approve(state, policy, "npm install", "run", &proposed), 0);
	for (int i = 0; i < 4; i++) {
		assert_null(proposed);
		snprintf(run, sizeof(run), "run%d", i);
		assert_int_equal(approve(state, policy, "pip install", run, &proposed), 0);
	}
	assert_non_null(proposed);
	assert_int_equal(trust_learn_read(state, policy, "a", &shapes, NULL), 0);
	assert_int_equal(shapes.count, 2);
	assert_true(shapes.items[0].proposed && !shapes.items[1].proposed);
	assert_string_equal(shapes.items[0].id, proposed);
	remove_state(state);
}

static void a_violation_withdraws_what_was_learnt(void **unused)
{
	static const char before[] = "version: 1\ntrust: {agents: [a]}\n";
	_cleanup_policy_ struct policy *policy = policy_binding("a");
	_cleanup_trust_shapes_ struct trust_shapes shapes = {0}, none = {0};
	_cleanup_free_ char *config = NULL, *file = NULL, *with = NULL, *without = NULL;
	char *state = make_state(), run[8];
	struct error *error = NULL;
	size_t count = 7;
	int fd;

	(void)unused;
	assert_true(asprintf(&config, "%s/config/ward", state) > 0);
	assert_true(asprintf(&file, "%s/ward.yaml", config) > 0);
	assert_int_equal(make_directories(config, 0700), 0);
	*strrchr(config, '/') = '\0';
	setenv("XDG_CONFIG_HOME", config, 1);
	fd = open(file, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write_all(fd, before, strlen(before)), 0);
	close(fd);
	/* Nothing to withdraw is no fault. */
	assert_int_equal(trust_learn_withdraw(state, policy, "a", "x", &count, &error), 0);
	assert_int_equal(count, 0);
	for (int i = 0; i < 5; i++) {
		snprintf(run, sizeof(run), "run%d", i);
		assert_int_equal(approve(state, policy, "pip install", run, NULL), 0);
	}
	assert_int_equal(trust_learn_read(state, policy, "a", &shapes, NULL), 0);
	assert_int_equal(trust_learn_accept(state, policy, "a", &shapes.items[0], "anna", &error),
			 0);
	assert_int_equal(read_file(AT_FDCWD, file, 1 << 16, &with, NULL), 0);
	assert_non_null(strstr(with, "- command: \"pip install\""));
	assert_non_null(strstr(with, "until: \""));
	assert_int_equal(trust_note(state, policy, "a", TRUST_VIOLATION, "a violation", &error), 0);
	assert_int_equal(trust_learn_withdraw(state, policy, "a", "again", &count, &error), 0);
	assert_int_equal(count, 0);
	assert_int_equal(read_file(AT_FDCWD, file, 1 << 16, &without, NULL), 0);
	assert_string_equal(without, before);
	assert_int_equal(trust_learn_read(state, policy, "a", &none, NULL), 0);
	assert_int_equal(none.count, 0);
	remove_state(state);
}

static void what_a_violation_has_withdrawn_nobody_accepts(void **unused)
{
	_cleanup_policy_ struct policy *policy = policy_binding("a");
	_cleanup_trust_shapes_ struct trust_shapes shapes = {0};
	_cleanup_free_ char *config = NULL, *file = NULL;
	char *state = make_state(), run[8];

	(void)unused;
	assert_true(asprintf(&config, "%s/config", state) > 0);
	assert_true(asprintf(&file, "%s/ward/ward.yaml", config) > 0);
	setenv("XDG_CONFIG_HOME", config, 1);
	for (int i = 0; i < 5; i++) {
		snprintf(run, sizeof(run), "run%d", i);
		assert_int_equal(approve(state, policy, "pip install", run, NULL), 0);
	}
	assert_int_equal(trust_learn_read(state, policy, "a", &shapes, NULL), 0);
	assert_true(shapes.items[0].proposed);
	/* Between a person's look and his word. */
	assert_int_equal(trust_note(state, policy, "a", TRUST_VIOLATION, "x", NULL), 0);
	assert_true(trust_learn_accept(state, policy, "a", &shapes.items[0], "anna", NULL) < 0);
	assert_int_not_equal(access(file, F_OK), 0);
	remove_state(state);
}

static void long_commands_leave_room_to_withdraw(void **unused)
{
	_cleanup_policy_ struct policy *policy = policy_binding("a");
	_cleanup_trust_shapes_ struct trust_shapes shapes = {0};
	_cleanup_free_ char *words = malloc((1 << 17) + 1);
	const struct trust_shape shape = {
		.covers = (char *)"pip install", .directory = (char *)"/w", .command = words};
	char *state = make_state(), run[8];

	(void)unused;
	memset(words, 'x', 1 << 17);
	words[1 << 17] = '\0';
	for (int i = 0; i < 100; i++) {
		snprintf(run, sizeof(run), "run%d", i);
		assert_int_equal(trust_learn_note(state, policy, "a", "k", run, &shape, NULL, NULL),
				 0);
	}
	assert_int_equal(trust_learn_read(state, policy, "a", &shapes, NULL), 0);
	assert_int_equal(shapes.count, 0);
	assert_int_equal(approve(state, policy, "pip install", "run", NULL), 0);
	assert_int_equal(trust_learn_withdraw(state, policy, "a", "x", NULL, NULL), 0);
	remove_state(state);
}

static void names_of_interpreters_are_known(void **unused)
{
	(void)unused;
	assert_true(policy_is_interpreter("bash") && policy_is_interpreter("/usr/bin/python3.11") &&
		    policy_is_interpreter("sudo") && policy_is_interpreter("node"));
	assert_false(policy_is_interpreter("git") || policy_is_interpreter("shellcheck"));
}

/* --- what is never unlocked, and who may say so --- */

static void the_system_alone_says_anew_what_is_never_unlocked(void **unused)
{
	static const struct sets_places places = {
		.workspace = "/w", .home = "/home/anna", .system = "/nonexistent"};
	_cleanup_policy_ struct policy *policy = policy_binding("a");
	struct list sudo = {.items = (char *[]){(char *)"exec sudo ls"}, .count = 1};
	struct list deploy = {.items = (char *[]){(char *)"deploy production"}, .count = 1};
	struct list source = {.items = (char *[]){(char *)"write /w/src/a"}, .count = 1};

	(void)unused;
	assert_true(tiers_never(&policy->tiers, "exec sudo ls", &places));
	assert_int_equal(trust_tier(policy, 100, &sudo, &places), TIER_CRITICAL);
	policy->tiers.lifted = 1u << never_group("sudo");
	assert_int_equal(trust_tier(policy, 100, &sudo, &places), TIER_HIGH);
	/* Production may be asked for from 90 on, and is given by no score. */
	assert_int_equal(trust_tier(policy, 89, &deploy, &places), TIER_CRITICAL);
	assert_int_equal(trust_tier(policy, 90, &deploy, &places), TIER_HIGH);
	assert_int_equal(trust_unlocks(policy, 100, &deploy, &places), 0);
	list_add(&policy->tiers.never, "deploy prod*");
	assert_int_equal(trust_tier(policy, 100, &deploy, &places), TIER_CRITICAL);
	assert_int_equal(trust_tier(policy, 10, &source, &places), TIER_HIGH);
	assert_int_equal(trust_unlocks(policy, 49.4, &source, &places), 0);
	assert_int_equal(trust_unlocks(policy, 50, &source, &places), 50);
	list_add(&policy->tiers.says[TIER_CRITICAL], "write ./src/**");
	assert_int_equal(trust_unlocks(policy, 100, &source, &places), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_score_ever_leaves_its_bounds),
		cmocka_unit_test(a_hundredth_is_lost_each_day),
		cmocka_unit_test(the_same_counts_once),
		cmocka_unit_test(no_more_than_a_few_count_in_a_day),
		cmocka_unit_test(changes_are_kept_with_their_reasons),
		cmocka_unit_test(names_never_lead_out_of_the_state),
		cmocka_unit_test(what_others_planted_is_not_followed),
		cmocka_unit_test(half_a_line_is_the_worst_change_and_a_broken_one_an_error),
		cmocka_unit_test(what_is_approved_in_enough_runs_is_proposed),
		cmocka_unit_test(a_violation_withdraws_what_was_learnt),
		cmocka_unit_test(what_a_violation_has_withdrawn_nobody_accepts),
		cmocka_unit_test(long_commands_leave_room_to_withdraw),
		cmocka_unit_test(names_of_interpreters_are_known),
		cmocka_unit_test(the_system_alone_says_anew_what_is_never_unlocked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
