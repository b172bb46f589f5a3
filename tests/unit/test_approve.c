/* SPDX-License-Identifier: Apache-2.0 */
/* When a person is asked: the whole matrix, against the table of the design written out once more.
 */
#include "../../src/decide/approve.h"
#include "../../src/decide/grants.h"
#include "../../src/decide/key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
/* cmocka wants the above first */
#include <cmocka.h>
#undef fail

enum { BITS = 8, CLASSES = 3, RULES = 4, APPROVALS = 4 };

static struct standing standing_of(unsigned bits, unsigned class, unsigned rule)
{
	return (struct standing){
		.class = (enum class) class,
		.has_rule = rule < 3,
		.rule = rule < 3 ? (enum verdict_kind)rule : VERDICT_ALLOW,
		.approved = bits & 1,
		.refused = bits & 2,
		.only_reads = bits & 4,
		.none_by_policy = bits & 8,
		.wants_more = bits & 16,
		.more_approved = bits & 32,
		.wants_approval = bits & 64,
		.vouched = bits & 128,
	};
}

/* The words of the design, in its order. */
static enum verdict_kind expected(enum approval approval, const struct standing *s)
{
	bool allow_rule = s->has_rule && s->rule == VERDICT_ALLOW;
	bool ask_rule = (s->has_rule && s->rule == VERDICT_ASK) || s->wants_approval;
	bool approved = allow_rule || s->approved || s->vouched;

	if (s->has_rule && s->rule == VERDICT_DENY)
		return VERDICT_DENY;
	if (s->class == CLASS_FORBIDDEN && !allow_rule)
		return VERDICT_DENY;
	if (s->refused)
		return VERDICT_DENY;
	if (s->wants_more && !s->more_approved)
		return approval == APPROVAL_NEVER ? VERDICT_DENY : VERDICT_ASK;
	if (approved)
		return VERDICT_ALLOW;
	switch (approval) {
	case APPROVAL_NEVER:
		return s->class == CLASS_ASK || ask_rule ? VERDICT_DENY : VERDICT_ALLOW;
	case APPROVAL_ON_FAILURE:
		return s->class == CLASS_ASK || ask_rule ? VERDICT_ASK : VERDICT_ALLOW;
	case APPROVAL_ON_REQUEST:
		if (s->class == CLASS_ASK || ask_rule)
			return VERDICT_ASK;
		return s->none_by_policy || s->only_reads ? VERDICT_ALLOW : VERDICT_ASK;
	case APPROVAL_UNLESS_TRUSTED:
		return VERDICT_ASK;
	}
	return VERDICT_DENY;
}

static void the_whole_matrix_is_as_designed(void **state)
{
	(void)state;
	for (unsigned approval = 0; approval < APPROVALS; approval++)
		for (unsigned class = 0; class < CLASSES; class ++)
			for (unsigned rule = 0; rule < RULES; rule++)
				for (unsigned bits = 0; bits < 256; bits++) {
					struct standing s = standing_of(bits, class, rule);
					struct ruling got =
						approve_first((enum approval)approval, &s);

					assert_int_equal(got.kind,
							 expected((enum approval)approval, &s));
					assert_non_null(got.source);
				}
}

/* Whatever else holds, more against a request never makes it freer, and a yes never less free. */
static void nothing_against_it_makes_it_freer(void **state)
{
	(void)state;
	for (unsigned approval = 0; approval < APPROVALS; approval++)
		for (unsigned rule = 0; rule < RULES; rule++)
			for (unsigned bits = 0; bits < 256; bits++) {
				enum verdict_kind last = VERDICT_ALLOW;

				for (unsigned class = 0; class < CLASSES; class ++) {
					struct standing s = standing_of(bits, class, rule);
					enum verdict_kind kind =
						approve_first((enum approval)approval, &s).kind;

					assert_true(kind >= last);
					last = kind;
					s.refused = true;
					assert_int_equal(
						approve_first((enum approval)approval, &s).kind,
						VERDICT_DENY);
					s = standing_of(bits, class, rule);
					s.approved = true;
					assert_true(
						approve_first((enum approval)approval, &s).kind <=
						kind);
					s = standing_of(bits, class, rule);
					s.wants_approval = true;
					assert_true(
						approve_first((enum approval)approval, &s).kind >=
						kind);
					s = standing_of(bits, class, rule);
					s.has_rule = true;
					s.rule = VERDICT_DENY;
					assert_int_equal(
						approve_first((enum approval)approval, &s).kind,
						VERDICT_DENY);
				}
			}
}

static void after_a_denial(void **state)
{
	static const struct {
		enum approval approval;
		bool missing, unsandboxed;
	} rows[] = {
		{APPROVAL_NEVER, false, false},
		{APPROVAL_ON_FAILURE, true, true},
		{APPROVAL_ON_REQUEST, true, false},
		{APPROVAL_UNLESS_TRUSTED, true, true},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		assert_int_equal(approve_missing(rows[i].approval), rows[i].missing);
		assert_int_equal(approve_unsandboxed(rows[i].approval, PREFERENCE_AUTO),
				 rows[i].unsandboxed);
		assert_int_equal(approve_unsandboxed(rows[i].approval, PREFERENCE_FORBID),
				 rows[i].unsandboxed);
		assert_false(approve_unsandboxed(rows[i].approval, PREFERENCE_REQUIRE));
	}
}

/* One step at a time, and none past what the policy says. */
static void the_next_level(void **state)
{
	static const struct {
		enum approval approval;
		enum preference preference;
		enum escalation most;
		bool apart;
		enum level from, to;
	} rows[] = {
		{APPROVAL_ON_FAILURE, PREFERENCE_AUTO, ESCALATION_UNSANDBOXED, true,
		 LEVEL_RESTRICTED, LEVEL_CONTAINER},
		{APPROVAL_ON_FAILURE, PREFERENCE_AUTO, ESCALATION_UNSANDBOXED, true,
		 LEVEL_CONTAINER, LEVEL_NONE},
		{APPROVAL_ON_FAILURE, PREFERENCE_AUTO, ESCALATION_UNSANDBOXED, false,
		 LEVEL_RESTRICTED, LEVEL_NONE},
		{APPROVAL_ON_FAILURE, PREFERENCE_AUTO, ESCALATION_UNSANDBOXED, true, LEVEL_NONE,
		 LEVEL_NONE},
		{APPROVAL_ON_FAILURE, PREFERENCE_AUTO, ESCALATION_CONTAINER, true, LEVEL_RESTRICTED,
		 LEVEL_CONTAINER},
		{APPROVAL_ON_FAILURE, PREFERENCE_AUTO, ESCALATION_CONTAINER, true, LEVEL_CONTAINER,
		 LEVEL_CONTAINER},
		{APPROVAL_ON_FAILURE, PREFERENCE_AUTO, ESCALATION_CONTAINER, false,
		 LEVEL_RESTRICTED, LEVEL_RESTRICTED},
		{APPROVAL_ON_FAILURE, PREFERENCE_AUTO, ESCALATION_NONE, true, LEVEL_RESTRICTED,
		 LEVEL_RESTRICTED},
		{APPROVAL_ON_FAILURE, PREFERENCE_REQUIRE, ESCALATION_UNSANDBOXED, true,
		 LEVEL_RESTRICTED, LEVEL_CONTAINER},
		{APPROVAL_ON_FAILURE, PREFERENCE_REQUIRE, ESCALATION_UNSANDBOXED, true,
		 LEVEL_CONTAINER, LEVEL_CONTAINER},
		{APPROVAL_ON_REQUEST, PREFERENCE_AUTO, ESCALATION_UNSANDBOXED, true,
		 LEVEL_RESTRICTED, LEVEL_CONTAINER},
		{APPROVAL_ON_REQUEST, PREFERENCE_AUTO, ESCALATION_UNSANDBOXED, true,
		 LEVEL_CONTAINER, LEVEL_CONTAINER},
		{APPROVAL_NEVER, PREFERENCE_AUTO, ESCALATION_UNSANDBOXED, true, LEVEL_RESTRICTED,
		 LEVEL_RESTRICTED},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(rows); i++)
		assert_int_equal(approve_next(rows[i].approval, rows[i].preference, rows[i].most,
					      rows[i].apart, rows[i].from),
				 rows[i].to);
}

/* -- Keys ----------------------------------------------------------------------------------------
 */

static void key_of(const char *script, const char *cwd, const char *tool,
		   struct approval_key *ret_key)
{
	struct arena *arena = arena_new();
	_cleanup_request_ struct request request;
	char *words = strdup(script), *rest = words, *word;
	struct plan plan;

	request_init(&request);
	request.cwd = strdup(cwd);
	request.workspace = strdup(cwd);
	request.tool = tool ? strdup(tool) : NULL;
	while ((word = strsep(&rest, " ")))
		list_add(&request.argv, word);
	parse_request(arena, &request, &plan);
	approval_key_make(&request, &plan, ret_key);
	free(words);
	arena_free(arena);
}

static bool same_key(const char *a, const char *b)
{
	struct approval_key first, second;
	bool same;

	key_of(a, "/w", NULL, &first);
	key_of(b, "/w", NULL, &second);
	same = strcmp(first.text, second.text) == 0;
	approval_key_done(&first);
	approval_key_done(&second);
	return same;
}

static void a_yes_covers_the_kind_of_thing(void **state)
{
	struct approval_key key, other;

	(void)state;
	assert_true(same_key("pip install numpy", "pip install --user pandas"));
	assert_true(same_key("git push origin main", "git push"));
	assert_false(same_key("git -C x push origin main", "git push"));
	assert_false(same_key("git -c core.sshCommand=x push", "git push"));
	assert_false(same_key("npm --prefix x run build", "npm run build"));
	assert_false(same_key("git p*", "git push"));
	assert_true(same_key("python3 -m pip install a", "python3 -m pip install b"));
	assert_false(same_key("pip install numpy", "pip uninstall numpy"));
	assert_false(same_key("pip install numpy", "python install numpy"));
	assert_false(same_key("pip install numpy", "./pip install numpy"));
	assert_false(same_key("pip install numpy", "sudo pip install numpy"));
	assert_false(same_key("python3 a.py", "python3 b.py"));
	assert_false(same_key("rm -r a", "rm -r b"));
	assert_true(same_key("rm -r a", "rm -r a"));
	assert_false(same_key("git", "git push"));
	key_of("pip install numpy", "/w", NULL, &key);
	assert_string_equal(key.covers, "pip install");
	key_of("pip install numpy", "/w", "shell", &other);
	assert_string_not_equal(key.text, other.text);
	approval_key_done(&key);
	approval_key_done(&other);
	key_of("rm -r a", "/w", NULL, &key);
	key_of("rm -r a", "/v", NULL, &other);
	assert_null(key.covers);
	assert_string_not_equal(key.text, other.text);
	approval_key_done(&key);
	approval_key_done(&other);
}

/* -- Grants --------------------------------------------------------------------------------------
 */

static char directory[] = "/tmp/ward-test-grants.XXXXXX";

static int setup(void **state)
{
	char path[128];

	(void)state;
	strcpy(directory + strlen(directory) - 6, "XXXXXX");
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/sessions", directory);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/sessions/s", directory);
	return mkdir(path, 0700);
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", directory);
	return system(command);
}

static void give(const char *key, const char *permission, bool refusal, int64_t expires,
		 char *ret_id)
{
	struct grant grant = {.session = strdup("s"), .key = strdup(key), .refusal = refusal};
	struct moment now;

	moment_now(&now);
	if (expires)
		moment_at(expires, &now, &grant.expires);

	if (permission)
		list_add(&grant.permissions, permission);
	list_add(&grant.reasons, "it publishes");
	assert_int_equal(grants_add(directory, &grant, NULL), 0);
	if (ret_id)
		strcpy(ret_id, grant.id);
	grant_done(&grant);
}

static size_t count(void)
{
	struct grants grants;
	size_t found;

	assert_int_equal(grants_load(directory, "s", NULL, &grants, NULL), 0);
	found = grants.count;
	grants_done(&grants);
	return found;
}

static void what_was_granted_is_found_again_until_it_is_revoked(void **state)
{
	struct grants grants;
	char first[ID_TEXT], second[ID_TEXT];
	uint64_t length;
	size_t at;

	(void)state;
	assert_int_equal(count(), 0);
	give("k", "write /srv", false, 0, first);
	give("k", NULL, true, 0, second);
	assert_int_equal(grants_load(directory, "s", NULL, &grants, NULL), 0);
	assert_int_equal(grants.count, 2);
	assert_string_equal(grants.items[0].permissions.items[0], "write /srv");
	assert_false(grants.items[0].refusal);
	assert_true(grants.items[1].refusal);
	assert_int_equal(grants_find(&grants, first, &at, NULL), 0);
	assert_string_equal(grants.items[at].id, first);
	assert_true(grants_find(&grants, "", &at, NULL) < 0);
	grant_done(&grants.items[1]);
	grants.count = 1;
	assert_int_equal(grants_revoke(directory, "s", &grants, &length, NULL), 0);
	grants_done(&grants);
	assert_int_equal(count(), 1);
	assert_int_equal(grants_load(directory, "s", NULL, &grants, NULL), 0);
	assert_true(grants_find(&grants, first, &at, NULL) < 0);
	grants_done(&grants);
}

static void a_grant_for_a_time_ends(void **state)
{
	(void)state;
	give("k", NULL, false, time(NULL) - 1, NULL);
	give("k", NULL, false, time(NULL) + 100, NULL);
	assert_int_equal(count(), 1);
}

static void half_a_line_is_not_a_grant_and_spoils_no_other(void **state)
{
	char path[128];
	FILE *file;

	(void)state;
	give("k", NULL, false, 0, NULL);
	snprintf(path, sizeof(path), "%s/sessions/s/grants", directory);
	file = fopen(path, "a");
	fputs("{\"id\": \"x\", \"key\": \"k\", \"sess", file);
	fclose(file);
	assert_int_equal(count(), 1);
	give("l", NULL, false, 0, NULL);
	assert_int_equal(count(), 2);
}

static void many_writers_lose_nothing(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++)
		if (fork() == 0) {
			for (int k = 0; k < 10; k++)
				give("k", "write /a", false, 0, NULL);
			_exit(0);
		}
	for (int i = 0, status; i < 20; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(count(), 200);
}

static void more_against_it_than_then_is_not_covered(void **state)
{
	const char *same[] = {"it publishes", NULL};
	const char *more[] = {"it publishes", "it overwrites history", NULL}, *none[] = {NULL};
	struct assessment assessment = {.reasons = same};
	struct grants grants;

	(void)state;
	give("k", NULL, false, 0, NULL);
	assert_int_equal(grants_load(directory, "s", NULL, &grants, NULL), 0);
	assert_true(grant_covers(&grants.items[0], "k", &assessment));
	assert_false(grant_covers(&grants.items[0], "kk", &assessment));
	assessment.reasons = none;
	assert_true(grant_covers(&grants.items[0], "k", &assessment));
	assessment.reasons = more;
	assert_false(grant_covers(&grants.items[0], "k", &assessment));
	grants_done(&grants);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_whole_matrix_is_as_designed),
		cmocka_unit_test(nothing_against_it_makes_it_freer),
		cmocka_unit_test(after_a_denial),
		cmocka_unit_test(the_next_level),
		cmocka_unit_test(a_yes_covers_the_kind_of_thing),
		TEST(what_was_granted_is_found_again_until_it_is_revoked),
		TEST(a_grant_for_a_time_ends),
		TEST(half_a_line_is_not_a_grant_and_spoils_no_other),
		TEST(many_writers_lose_nothing),
		TEST(more_against_it_than_then_is_not_covered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
