/* SPDX-License-Identifier: Apache-2.0 */
/* What answers gave: which paths it means, and when it ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* the name is ward's */

#include "base/path.h"
#include "observe/network/network.h"

#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

static struct areas areas;
static struct list never, none, revoked;
static struct givens earlier, fixed;
static struct host_rules hosts;
static bool changed;
static struct observed observed;
static struct observer observer;

static int64_t read_until; /* reading the answers anew takes until then */

static bool has_changed(void *data)
{
	bool now = changed;

	(void)data;
	changed = false;
	while (time(NULL) < read_until)
		(void)poll(NULL, 0, 10);
	read_until = 0;
	return now;
}

static bool still_holds(void *data, const char *grant)
{
	(void)data;
	return !list_has(&revoked, grant);
}

static int begin(void **state)
{
	(void)state;
	observed = (struct observed){.areas = &areas,
				     .never = &never,
				     .sockets = &none,
				     .hosts = &hosts,
				     .given = &earlier,
				     .fixed = &fixed,
				     .answers = {has_changed, still_holds, NULL}};
	observer = (struct observer){.observed = &observed,
				     .never_places = never_new(),
				     .epoll = epoll_create1(0),
				     .terms.timer = -1,
				     .lent_epoll = -1};
	return 0;
}

static int end(void **state)
{
	(void)state;
	terms_done(&observer);
	lent_done(&observer);
	never_done(observer.never_places);
	list_done(&observer.granted);
	ledger_done(&observer.ledger);
	close_fd(&observer.epoll);
	areas_done(&areas);
	list_done(&never);
	list_done(&revoked);
	givens_done(&earlier);
	givens_done(&fixed);
	return 0;
}

static void give(const char *permission, const char *grant, int64_t expires)
{
	struct term term = {.grant = grant};
	struct moment now;

	moment_now(&now);
	if (expires)
		moment_at(expires, &now, &term.expires);
	terms_add(&observer, permission, &term);
}

static bool may(enum permit_kind kind, const char *path)
{
	return permit_covers(&observer, kind, path, /* whole= */ false);
}

static void a_path_is_itself_and_nothing_else(void **state)
{
	(void)state;
	give("write /srv/file", NULL, 0);
	assert_true(may(PERMIT_WRITE, "/srv/file"));
	assert_true(may(PERMIT_DELETE, "/srv/file"));
	assert_true(may(PERMIT_READ, "/srv/file"));
	assert_false(may(PERMIT_WRITE, "/srv/file/below"));
	assert_false(may(PERMIT_WRITE, "/srv/files"));
	assert_false(may(PERMIT_WRITE, "/srv"));
	give("delete /srv/old", NULL, 0);
	assert_true(may(PERMIT_DELETE, "/srv/old"));
	assert_false(may(PERMIT_WRITE, "/srv/old"));
}

/* The host's view of it is the real cache. */
static void no_grant_reaches_through_a_layer(void **state)
{
	(void)state;
	areas_add(&areas, "/home/u/.npm", STATE_WRITABLE, AREA_LAYER);
	areas_add(&areas, "/home/u/.npm/secret", STATE_DENIED, NULL);
	give("write /home/u/**", NULL, 0);
	assert_true(may(PERMIT_WRITE, "/home/u/x"));
	assert_false(may(PERMIT_WRITE, "/home/u/.npm"));
	assert_false(may(PERMIT_READ, "/home/u/.npm/x"));
	assert_null(permit_tree(&observer, "/home/u/.npm/x", /* innermost= */ false));
	assert_true(permit_never(&observer, "/home/u/.npm/x"));
	assert_false(permit_never(&observer, "/home/u/.npmrc"));
	/* What is masked in it is the host's own, and asked for by its name. */
	give("read /home/u/.npm/secret", NULL, 0);
	assert_true(may(PERMIT_READ, "/home/u/.npm/secret"));
}

static void a_directory_goes_with_all_it_holds_only_as_a_tree(void **state)
{
	(void)state;
	give("write /srv/directory", NULL, 0);
	assert_true(may(PERMIT_WRITE, "/srv/directory"));
	assert_false(permit_covers(&observer, PERMIT_DELETE, "/srv/directory", /* whole= */ true));
	give("delete /srv/directory/**", NULL, 0);
	assert_true(permit_covers(&observer, PERMIT_DELETE, "/srv/directory", /* whole= */ true));
	assert_false(permit_covers(&observer, PERMIT_WRITE, "/srv/directory", /* whole= */ true));
}

static void what_nobody_can_grant_is_known_in_any_case(void **state)
{
	(void)state;
	list_add(&never, "/srv/home/.local/state/ward");
	give("write /srv/home/**", NULL, 0);
	assert_true(may(PERMIT_WRITE, "/srv/home/file"));
	assert_false(may(PERMIT_WRITE, "/srv/home/.local/state/ward/audit.log"));
	assert_false(may(PERMIT_WRITE, "/srv/home/.Local/state/WARD/audit.log"));
	assert_true(may(PERMIT_WRITE, "/srv/home/.local/state/wardrobe"));
	assert_true(never_below(&observer, "/srv/home/.local"));
	assert_false(never_below(&observer, "/srv/home/other"));
}

static void files_of_the_kernel_are_known_by_their_file_system(void **state)
{
	(void)state;
	assert_true(never_in_kernel("/proc/self/status"));
	assert_true(never_in_kernel("/sys/kernel/none"));
	assert_false(never_in_kernel("/var/tmp/none"));
}

static void a_tree_is_said_to_be_one(void **state)
{
	(void)state;
	areas_add(&areas, "/srv/site/closed", STATE_DENIED, NULL);
	list_add(&never, "/srv/site/ward");
	give("write /srv/site/**", NULL, 0);
	assert_true(may(PERMIT_WRITE, "/srv/site"));
	assert_true(may(PERMIT_WRITE, "/srv/site/a/b"));
	assert_false(may(PERMIT_WRITE, "/srv/sites"));
	assert_false(may(PERMIT_WRITE, "/srv/site/closed"));
	assert_false(may(PERMIT_WRITE, "/srv/site/closed/a"));
	assert_false(may(PERMIT_WRITE, "/srv/site/ward/state"));
	give("write /srv/site/closed", NULL, 0);
	assert_true(may(PERMIT_WRITE, "/srv/site/closed"));
}

static void a_name_with_the_characters_of_patterns_is_itself(void **state)
{
	static const char *const names[] = {"/srv/a*", "/srv/[x]",   "/srv/**",	 "/srv/q?",
					    "/srv/[",  "/srv/$HOME", "/srv/a]b", "/srv/[*]"};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(names); i++) {
		_cleanup_free_ char *pattern = path_escape(names[i]),
				    *back = path_unescape(pattern), *permission = NULL;

		assert_string_equal(back, names[i]);
		assert_true(path_matches(pattern, names[i], NULL));
		assert_true(asprintf(&permission, "write %s", pattern) > 0);
		give(permission, NULL, 0);
		assert_true(may(PERMIT_WRITE, names[i]));
	}
	assert_false(may(PERMIT_WRITE, "/srv/ab"));
	assert_false(may(PERMIT_WRITE, "/srv/x"));
	assert_false(may(PERMIT_WRITE, "/srv/deep/er"));
	assert_null(path_unescape("/srv/*"));
	assert_null(path_unescape("/srv/[ab]"));
	assert_false(permits_add(&observer.permits, "write /srv/*/x", 0));
	assert_false(permits_add(&observer.permits, "write /srv/*/**", 0));
	assert_false(permits_add(&observer.permits, "write relative", 0));
	assert_false(permits_add(&observer.permits, "connect host:1", 0));
}

static void a_pattern_means_names_in_one_directory(void **state)
{
	(void)state;
	areas_add(&areas, "/home/u/.settings-held", STATE_READ_ONLY, NULL);
	give("write /home/u/.settings*", NULL, 0);
	assert_true(may(PERMIT_WRITE, "/home/u/.settings"));
	assert_true(may(PERMIT_WRITE, "/home/u/.settings.tmp.1"));
	assert_false(may(PERMIT_WRITE, "/home/u/.settings-held"));
	assert_false(may(PERMIT_WRITE, "/home/u/.setting"));
	assert_false(may(PERMIT_WRITE, "/home/u/.settings.d/x"));
	assert_false(may(PERMIT_WRITE, "/home/u/x/.settings"));
	assert_false(may(PERMIT_WRITE, "/home/u"));
	assert_true(permit_is_loose(&observer, "/home/u/.settings"));
	/* What is guarded is judged by its name in that directory, unless it is named itself. */
	assert_string_equal(permit_tree(&observer, "/home/u/.settings", /* innermost= */ true),
			    "/home/u");
	give("write /home/u/.settings", NULL, 0);
	assert_string_equal(permit_tree(&observer, "/home/u/.settings", /* innermost= */ true),
			    "/home/u/.settings");
}

static void a_time_ends(void **state)
{
	(void)state;
	give("write /srv/short", "one", time(NULL) - 1);
	give("write /srv/long", "two", time(NULL) + 1000);
	give("connect web.example:443", "three", time(NULL) - 1);
	give("connect other.example:443", NULL, 0);
	list_add(&observer.granted, "write /srv/short ");
	terms_check(&observer);
	assert_false(may(PERMIT_WRITE, "/srv/short"));
	assert_true(may(PERMIT_WRITE, "/srv/long"));
	assert_int_equal(host_rules_name(&observer.permitted, "web.example", 443), HOST_UNLISTED);
	assert_int_equal(host_rules_name(&observer.permitted, "other.example", 443), HOST_ALLOWED);
	assert_int_equal(observer.granted.count, 0); /* it may be asked for again */
	assert_int_equal(observer.terms.lines.count, 2);
	assert_null(observer.terms.failure);
}

static void what_is_taken_back_ends(void **state)
{
	(void)state;
	give("write /srv/a", "one", 0);
	give("unix /srv/sock", "one", 0);
	give("write /srv/b", "two", 0);
	give("write /srv/c", NULL, 0);
	list_add(&revoked, "one");
	terms_check(&observer);
	assert_true(may(PERMIT_WRITE, "/srv/a")); /* nobody has said that anything changed */
	changed = true;
	terms_check(&observer);
	assert_false(may(PERMIT_WRITE, "/srv/a"));
	assert_false(list_has(&observer.permitted_sockets, "/srv/sock"));
	assert_true(may(PERMIT_WRITE, "/srv/b"));
	assert_true(may(PERMIT_WRITE, "/srv/c"));
}

static void what_expires_while_it_is_looked_is_not_taken_for_revoked(void **state)
{
	const int64_t end = time(NULL) + 1;

	(void)state;
	give("write /srv/a", "one", end);
	list_add(&revoked, "one"); /* as whoever reads the answers after it says */
	changed = true;
	read_until = end;
	terms_check(&observer);
	assert_int_equal(observer.terms.ended.count, 1);
	assert_int_equal(observer.terms.ended.items[0].expires.wall, end);
	assert_non_null(strstr(observer.terms.lines.items[0], "expired"));
}

/* Of the wall clock it has an hour left; by the machine's own its time is over. */
static void a_clock_that_is_set_back_makes_no_time(void **state)
{
	struct term term = {.grant = "one"};
	struct moment now;

	(void)state;
	moment_now(&now);
	moment_at(now.wall + 3600, &now, &term.expires);
	terms_add(&observer, "write /srv/a", &term);
	terms_check(&observer);
	assert_true(may(PERMIT_WRITE, "/srv/a"));
	term.expires.ns = now.ns + 1;
	terms_add(&observer, "write /srv/b", &term);
	givens_add(&fixed, "token", "two", &term.expires);
	terms_check(&observer);
	assert_true(may(PERMIT_WRITE, "/srv/a"));
	assert_false(may(PERMIT_WRITE, "/srv/b"));
	assert_non_null(observer.terms.failure);
}

static void what_the_walls_have_ends_the_run(void **state)
{
	(void)state;
	givens_add(&earlier, "write /srv/new", "one", NULL);
	givens_add(&fixed, "write /srv/site/**", "two", NULL);
	terms_begin(&observer);
	assert_true(may(PERMIT_WRITE, "/srv/new"));
	list_add(&revoked, "one");
	changed = true;
	terms_check(&observer);
	assert_false(may(PERMIT_WRITE, "/srv/new"));
	assert_null(observer.terms.failure);
	list_add(&revoked, "two");
	changed = true;
	terms_check(&observer);
	assert_non_null(observer.terms.failure);
	assert_non_null(strstr(observer.terms.failure->message, "write /srv/site/**"));
}

static void a_call_is_one_use_however_often_it_is_judged(void **state)
{
	(void)state;
	give("write /srv/**", NULL, 0);
	ledger_add(&observer.ledger, "write", "/srv/a", "openat", "rule", "sh");
	terms_settle(&observer, 0, 7);
	terms_use(&observer, 0, 7);
	assert_int_equal(observer.ledger.denials[0].count, 1);
	terms_use(&observer, 0, 8);
	terms_use(&observer, 0, 8);
	assert_int_equal(observer.ledger.denials[0].count, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_path_is_itself_and_nothing_else, begin, end),
		cmocka_unit_test_setup_teardown(no_grant_reaches_through_a_layer, begin, end),
		cmocka_unit_test_setup_teardown(a_directory_goes_with_all_it_holds_only_as_a_tree,
						begin, end),
		cmocka_unit_test_setup_teardown(what_nobody_can_grant_is_known_in_any_case, begin,
						end),
		cmocka_unit_test_setup_teardown(files_of_the_kernel_are_known_by_their_file_system,
						begin, end),
		cmocka_unit_test_setup_teardown(a_tree_is_said_to_be_one, begin, end),
		cmocka_unit_test_setup_teardown(a_name_with_the_characters_of_patterns_is_itself,
						begin, end),
		cmocka_unit_test_setup_teardown(a_pattern_means_names_in_one_directory, begin, end),
		cmocka_unit_test_setup_teardown(a_time_ends, begin, end),
		cmocka_unit_test_setup_teardown(what_is_taken_back_ends, begin, end),
		cmocka_unit_test_setup_teardown(
			what_expires_while_it_is_looked_is_not_taken_for_revoked, begin, end),
		cmocka_unit_test_setup_teardown(a_clock_that_is_set_back_makes_no_time, begin, end),
		cmocka_unit_test_setup_teardown(what_the_walls_have_ends_the_run, begin, end),
		cmocka_unit_test_setup_teardown(a_call_is_one_use_however_often_it_is_judged, begin,
						end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
