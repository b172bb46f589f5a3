/* SPDX-License-Identifier: Apache-2.0 */
/* Tiers: what an agent lacks, and what becomes of it; and the wait for an objection, with a clock
 * of the test's own. */
#include "../../src/decide/tiers.h"
#include "../../src/decide/within.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const struct sets_places places = {
	.workspace = "/w", .home = "/home/anna", .system = "/nonexistent"};

static enum tier tier_of_one(const struct tiers *tiers, const char *permission)
{
	struct list list = {.items = (char *[]){(char *)permission}, .count = 1};

	return tiers_of(tiers, &list, &places);
}

static void the_table_that_is_built_in(void **state)
{
	static const struct {
		const char *permission;
		enum tier tier;
	} table[] = {
		{"read /srv/docs/a", TIER_LOW},
		{"read /home/anna/notes", TIER_LOW},
		{"read /srv/**", TIER_HIGH}, /* who knows what lies there */
		{"read /home/anna/.ssh/id_ed25519", TIER_CRITICAL},
		{"read /home/anna/**", TIER_CRITICAL}, /* which holds secrets */
		{"read /srv/app/.env", TIER_CRITICAL},
		{"read /srv/app/.env.example", TIER_LOW},
		{"read /etc/shadow", TIER_CRITICAL},
		{"write /var/tmp/x", TIER_LOW},
		{"write /home/anna/.cache/tool/x", TIER_LOW},
		{"write /var/tmp/clone/.git/hooks/pre-commit", TIER_HIGH}, /* runs something */
		{"write /var/tmp/clone/.git/config", TIER_HIGH},
		{"write /home/anna/.cache/project/.bashrc", TIER_HIGH},
		{"write /home/anna/x", TIER_HIGH},
		{"write /etc/sudoers.d/x", TIER_CRITICAL},
		{"write /etc/**", TIER_CRITICAL},
		{"delete /etc/passwd", TIER_CRITICAL},
		{"write /home/anna/.ssh/authorized_keys", TIER_CRITICAL},
		{"write /home/anna/.config/ward/ward.yaml", TIER_CRITICAL},
		{"connect pypi.org:443", TIER_MEDIUM},
		{"connect registry:python", TIER_MEDIUM},
		{"connect registry:nonsense", TIER_HIGH},
		{"connect pypi.org", TIER_HIGH}, /* all its ports */
		{"connect *:443", TIER_HIGH},
		{"connect files.example:443", TIER_HIGH},
		{"unix docker", TIER_HIGH},
		{"unsandboxed", TIER_HIGH},
		{"secret deploy-key", TIER_CRITICAL},
		{"deploy production", TIER_CRITICAL},
		{"deploy staging", TIER_HIGH},
		{"exec /usr/bin/sudo ls", TIER_CRITICAL},
		{"exec /usr/bin/make", TIER_HIGH},
		{"something new", TIER_HIGH},
		{"", TIER_HIGH},
	};
	const struct tiers none = {0};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(table); i++)
		if (tier_of_one(&none, table[i].permission) != table[i].tier)
			fail_msg("%s is %s", table[i].permission,
				 tier_name(tier_of_one(&none, table[i].permission)));
	assert_int_equal(tiers_of(&none, &(struct list){0}, &places), TIER_HIGH);
}

static void a_file_says_otherwise_but_unlocks_nothing(void **state)
{
	struct tiers tiers = {0};

	(void)state;
	list_add(&tiers.says[TIER_LOW], "write ./out/**");
	list_add(&tiers.says[TIER_LOW], "read ~/.ssh/id_ed25519");
	list_add(&tiers.says[TIER_LOW], "connect *.lan.example");
	list_add(&tiers.says[TIER_CRITICAL], "write /srv/prod/**");
	list_add(&tiers.says[TIER_CRITICAL], "write /srv/data/live*");
	list_add(&tiers.says[TIER_HIGH], "read /srv/contracts/**");
	assert_int_equal(tier_of_one(&tiers, "write /w/out/x"), TIER_LOW);
	assert_int_equal(tier_of_one(&tiers, "write /w/out/../x"), TIER_HIGH);
	assert_int_equal(tier_of_one(&tiers, "write /w/**"), TIER_HIGH);
	assert_int_equal(tier_of_one(&tiers, "read /home/anna/.ssh/id_ed25519"), TIER_CRITICAL);
	assert_int_equal(tier_of_one(&tiers, "connect a.lan.example:80"), TIER_LOW);
	assert_int_equal(tier_of_one(&tiers, "write /srv/prod/a"), TIER_CRITICAL);
	assert_int_equal(tier_of_one(&tiers, "delete /srv/prod/a"), TIER_CRITICAL);
	assert_int_equal(tier_of_one(&tiers, "write /srv/**"), TIER_CRITICAL); /* holds it */
	assert_int_equal(tier_of_one(&tiers, "write /srv/x/../prod/a"), TIER_CRITICAL);
	assert_int_equal(tier_of_one(&tiers, "write /srv/data/live1"), TIER_CRITICAL);
	assert_int_equal(tier_of_one(&tiers, "write /srv/data/**"), TIER_CRITICAL);
	assert_int_equal(tier_of_one(&tiers, "write /srv/data/test1"), TIER_HIGH);
	assert_int_equal(tier_of_one(&tiers, "read /srv/contracts/a"), TIER_HIGH);
	assert_int_equal(tier_of_one(&tiers, "read /srv/other"), TIER_LOW);
	tiers_done(&tiers);
}

static uint64_t seed = 0x2545f4914f6cdd1du;

static unsigned random_below(unsigned most)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 11) % most;
}

static const char *any_permission(void)
{
	static const char *const some[] = {
		"read /srv/a",		"read /srv/**",	     "write /srv/a/b",
		"write /srv/a/**",	"write /tmp/x",	     "delete /srv/a/b",
		"connect pypi.org:443", "connect a.example", "connect *.example",
		"unsandboxed",		"unix /run/x",	     "write ./out/**",
		"write /w/out/x",	"exec /bin/a",	     "read ~/x",
		"read /home/anna/x",
	};

	return some[random_below(ELEMENTS(some))];
}

/* Whatever a project's file says, nothing becomes laxer by it, and more wanted is no laxer. */
static void files_that_only_raise_never_lower(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 5000; i++) {
		struct tiers before = {0}, after = {0};
		_cleanup_list_ struct list wanted = {0};
		enum tier tier;

		for (unsigned n = random_below(4); n > 0; n--) {
			unsigned at = random_below(TIERS);
			const char *permission = any_permission();

			list_add(&before.says[at], permission);
			list_add(&after.says[at], permission);
		}
		for (unsigned n = 1 + random_below(4); n > 0; n--)
			list_add(&after.raises[random_below(TIERS)], any_permission());
		list_add(&wanted, any_permission());
		tier = tiers_of(&before, &wanted, &places);
		assert_true(tiers_of(&after, &wanted, &places) >= tier);
		list_add(&wanted, any_permission());
		assert_true(tiers_of(&before, &wanted, &places) >= tier);
		tiers_done(&before);
		tiers_done(&after);
	}
}

static void only_named_agents_are_bound(void **state)
{
	struct tiers tiers = {0};
	struct request request = {0};

	(void)state;
	assert_false(tiers_bind(&tiers, &request));
	list_add(&tiers.agents, "ci-*");
	assert_false(tiers_bind(&tiers, &request)); /* a person's own run */
	request.agent = (char *)"claude";
	assert_false(tiers_bind(&tiers, &request));
	request.agent = (char *)"ci-7";
	assert_true(tiers_bind(&tiers, &request));
	tiers_done(&tiers);
}

/* Against a plain model, by a clock that jumps about: consent only after a whole window that began
 * when somebody saw it, never where nobody did; and it ends in either case. */
static void silence_is_consent_only_where_somebody_saw_it(void **state)
{
	unsigned outcomes[3] = {0};

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		struct objection objection = {.begun = 1 + random_below(1000),
					      .window_ns = random_below(300),
					      .patience_ns = random_below(1800)};
		uint64_t now = objection.begun, see_at = now + random_below(3000);
		enum objection_state state_now = OBJECTION_WAIT;
		unsigned steps = 0;

		while (state_now == OBJECTION_WAIT && steps++ < 10000) {
			if (!objection.seen && now >= see_at)
				objection.seen = now;
			state_now = objection_look(&objection, now);
			if (state_now == OBJECTION_CONSENT) {
				assert_true(objection.seen);
				assert_true(now >= objection.seen + objection.window_ns);
			}
			if (state_now == OBJECTION_NOBODY) {
				assert_false(objection.seen);
				assert_true(now >= objection.begun + objection.patience_ns);
			}
			now += random_below(50);
		}
		assert_int_not_equal(state_now, OBJECTION_WAIT);
		outcomes[state_now]++;
	}
	assert_true(outcomes[OBJECTION_CONSENT] > 1000 && outcomes[OBJECTION_NOBODY] > 1000);
	/* A clock that stands before the beginning ends nothing. */
	assert_int_equal(objection_look(&(struct objection){100, 0, 0, 0}, 50), OBJECTION_WAIT);
	assert_int_equal(objection_look(&(struct objection){10, 100, 0, 0}, 50), OBJECTION_WAIT);
}

static void times_have_defaults(void **state)
{
	const struct tiers none = {0}, some = {.objection_ns = 1, .answer_ns = 2};

	(void)state;
	assert_true(tiers_objection(&none) == 300 * UINT64_C(1000000000));
	assert_true(tiers_answer(&none) == 1800 * UINT64_C(1000000000));
	assert_true(tiers_objection(&some) == 1 && tiers_answer(&some) == 2);
}

static void a_home_in_scratch_is_no_scratch(void **state)
{
	static const struct sets_places elsewhere = {
		.workspace = "/w", .home = "/var/tmp/anna", .system = "/nonexistent"};
	static const struct {
		const char *permission;
		enum tier tier;
	} table[] = {
		{"write /var/tmp/anna/x", TIER_HIGH},
		{"write /var/tmp/anna/.cache/x", TIER_LOW},
		{"write /var/tmp/annas", TIER_LOW},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(table); i++) {
		struct list list = {.items = (char *[]){(char *)table[i].permission}, .count = 1};

		assert_int_equal(tiers_of(&(struct tiers){0}, &list, &elsewhere), table[i].tier);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_that_is_built_in),
		cmocka_unit_test(a_home_in_scratch_is_no_scratch),
		cmocka_unit_test(a_file_says_otherwise_but_unlocks_nothing),
		cmocka_unit_test(files_that_only_raise_never_lower),
		cmocka_unit_test(only_named_agents_are_bound),
		cmocka_unit_test(silence_is_consent_only_where_somebody_saw_it),
		cmocka_unit_test(times_have_defaults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
