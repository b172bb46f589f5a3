/* SPDX-License-Identifier: Apache-2.0 */
/* How far a yes to what a call wants could reach: from the thing alone to what lies beside it, and
 * never as far as a home, a part of the system or ward's own. */
#include "../../src/flow_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

struct place {
	struct request request;
	struct flow flow;
	struct extents extents;
};

static int set_up(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	assert_non_null(place);
	setenv("HOME", "/home/me", 1);
	/* Files of sets that are not there. */
	setenv("XDG_CONFIG_HOME", "/nowhere/config", 1);
	place->request.workspace = (char *)"/nowhere/work";
	place->flow.request = &place->request;
	place->flow.identity.home = (char *)"/home/me";
	place->flow.identity.account_home = (char *)"/srv/homes/me";
	place->flow.state = (char *)"/var/lib/state/ward";
	place->flow.own_state = (char *)"/opt/state/own/ward";
	list_add(&place->flow.verdict.permissions.own, "/srv/data/keep/ward");
	*state = place;
	return 0;
}

static int tear_down(void **state)
{
	struct place *place = *state;

	extents_done(&place->extents);
	list_done(&place->flow.verdict.permissions.own);
	areas_done(&place->flow.masks.areas);
	free(place);
	return 0;
}

static void find(struct place *place, const struct wish *wish)
{
	extents_done(&place->extents);
	extents_find(&place->flow, wish, "connect one.example:443", &place->extents);
}

/* Everything that is offered, as "NAME: GRANT, GRANT; NAME: GRANT", the one that is asked for
 * marked. */
static const char *offered(struct place *place)
{
	static char text[2000];
	size_t length = 0;

	text[0] = '\0';
	for (size_t i = 0; i < place->extents.count; i++) {
		const struct extent *extent = &place->extents.items[i];

		assert_ptr_equal(extent->grants, &place->extents.grants[i]);
		length += (size_t)snprintf(text + length, sizeof(text) - length,
					   "%s%s%s:", i ? "; " : "",
					   i == place->extents.asked ? "*" : "", extent->name);
		for (size_t k = 0; k < extent->grants->count; k++)
			length += (size_t)snprintf(text + length, sizeof(text) - length, "%s %s",
						   k ? "," : "", extent->grants->items[k]);
	}
	return text;
}

static void a_file_alone_or_all_of_its_directory(void **state)
{
	struct place *place = *state;

	find(place, &(struct wish){.operation = "write", .object = "/srv/site/a", .rule = "x"});
	assert_string_equal(offered(place), "*this alone: write /srv/site/a; /srv/site/**: write "
					    "/srv/site/**");
	find(place, &(struct wish){.operation = "delete",
				   .object = "/srv/a-directory-with-a-long-name/a",
				   .rule = "x"});
	assert_string_equal(
		offered(place),
		"*this alone: delete /srv/a-directory-with-a-long-name/a; all beside it: "
		"delete /srv/a-directory-with-a-long-name/**");
}

static void a_directory_alone_all_in_it_or_all_beside_it(void **state)
{
	struct place *place = *state;

	find(place,
	     &(struct wish){
		     .operation = "write", .object = "/srv/site/new", .tree = true, .rule = "x"});
	assert_string_equal(offered(place),
			    "this alone: write /srv/site/new; *all in it: write /srv/site/new/**; "
			    "/srv/site/**: write /srv/site/**");
}

static void reading_goes_no_further_than_what_is_read(void **state)
{
	struct place *place = *state;

	find(place, &(struct wish){.operation = "read", .object = "/srv/site/a", .rule = "x"});
	assert_string_equal(offered(place), "*this alone: read /srv/site/a");
}

static void names_are_no_patterns(void **state)
{
	struct place *place = *state;

	find(place, &(struct wish){.operation = "write", .object = "/srv/s*/a?", .rule = "x"});
	assert_string_equal(offered(place),
			    "*this alone: write /srv/s[*]/a[?]; /srv/s[*]/**: write /srv/s[*]/**");
}

static void what_holds_a_home_a_part_of_the_system_or_wards_own_is_not_offered(void **state)
{
	static const char *const objects[] = {
		"/a",		   /* nothing above it but all */
		"/srv/a",	   /* a part of the system */
		"/home/me/a",	   /* the home, */
		"/home/you",	   /* what holds it, */
		"/srv/homes/me/a", /* the account's, whatever $HOME says */
		"/srv/homes/you",
		"/var/lib/state/a", /* ward's state */
		"/var/lib/a",
		"/opt/state/own/a", /* that of whoever runs it */
		"/etc/ward/a",	    /* the machine's policy */
		"/srv/data/keep/a", /* other directories of ward's */
		"/srv/data/a",
	};
	struct place *place = *state;

	for (size_t i = 0; i < ELEMENTS(objects); i++) {
		find(place,
		     &(struct wish){.operation = "write", .object = objects[i], .rule = "x"});
		if (place->extents.count != 1)
			fail_msg("%s: %s", objects[i], offered(place));
	}
	find(place, &(struct wish){.operation = "write", .object = "/home/me/b/a", .rule = "x"});
	assert_int_equal(place->extents.count, 2);
}

static void what_is_closed_by_its_own_name_is_not_opened_by_what_lies_around_it(void **state)
{
	struct areas *areas = &((struct place *)*state)->flow.masks.areas;
	struct place *place = *state;

	find(place, &(struct wish){.operation = "write",
				   .object = "/srv/site/.git/hooks/a",
				   .rule = "protected: it runs programs"});
	assert_int_equal(place->extents.count, 1);
	areas_add(areas, "/srv/site/b/closed", STATE_DENIED, "deny");
	areas_add(areas, "/srv/site", STATE_DENIED, "deny");
	find(place,
	     &(struct wish){.operation = "write", .object = "/srv/site/b/closed", .rule = "x"});
	assert_int_equal(place->extents.count, 1);
	/* It is the directory that is closed, and that is what a yes opens. */
	find(place, &(struct wish){.operation = "write", .object = "/srv/site/c/a", .rule = "x"});
	assert_int_equal(place->extents.count, 2);
}

static void a_host_alone_or_the_set_that_it_belongs_to(void **state)
{
	struct wish wish = {.operation = "connect",
			    .object = "registry.npmjs.org:443",
			    .host = "registry.npmjs.org",
			    .protocol = "tcp",
			    .port = 443,
			    .program = "npm"};
	_cleanup_buffer_ struct buffer note = {0};
	struct place *place = *state;

	find(place, &wish);
	assert_int_equal(place->extents.count, 2);
	assert_int_equal(place->extents.asked, 0);
	assert_string_equal(place->extents.set, "registry:npm");
	assert_string_equal(place->extents.items[1].name, "registry:npm");
	/* What is asked for is part of each. */
	assert_true(list_has(place->extents.items[0].grants, "connect one.example:443"));
	assert_int_equal(place->extents.items[0].grants->count, 1);
	assert_string_equal(place->extents.items[1].grants->items[0], "connect one.example:443");
	assert_true(list_has(place->extents.items[1].grants, "connect registry.npmjs.org:443"));
	assert_true(place->extents.items[1].grants->count > 2);
	extents_describe_set(&place->extents, &note);
	assert_memory_equal(buffer_text(&note), "registry:npm: ", 14);

	wish.port = 80; /* not the set's */
	find(place, &wish);
	assert_int_equal(place->extents.count, 0);
	wish.port = 443;
	wish.host = "stranger.example";
	find(place, &wish);
	assert_int_equal(place->extents.count, 0);
	/* An address that must be named itself is a question of its own. */
	wish.host = "registry.npmjs.org";
	wish.warning = "private address";
	find(place, &wish);
	assert_int_equal(place->extents.count, 0);
}

static void of_a_large_set_some_hosts_are_named_and_the_rest_counted(void **state)
{
	struct place *place = *state;
	_cleanup_buffer_ struct buffer note = {0};
	struct extents *extents = &place->extents;

	extents->set = strdup("registry:x");
	list_add(&extents->grants[1], "connect wanted:1");
	for (int i = 0; i < 6; i++)
		list_add_printf(&extents->grants[1], "connect h%d:1", i);
	extents_describe_set(extents, &note);
	assert_string_equal(buffer_text(&note), "registry:x: h0:1, h1:1, h2:1, h3:1 and 2 more");
}

static void programs_and_sockets_have_no_more_than_themselves(void **state)
{
	struct place *place = *state;

	find(place, &(struct wish){.operation = "exec",
				   .object = "/usr/bin/git",
				   .command = "git push",
				   .rule = "x"});
	assert_int_equal(place->extents.count, 0);
	find(place, &(struct wish){.operation = "unix",
				   .object = "/run/user/1/x/socket",
				   .protocol = "unix",
				   .rule = "x"});
	assert_int_equal(place->extents.count, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_file_alone_or_all_of_its_directory),
		TEST(a_directory_alone_all_in_it_or_all_beside_it),
		TEST(reading_goes_no_further_than_what_is_read),
		TEST(names_are_no_patterns),
		TEST(what_holds_a_home_a_part_of_the_system_or_wards_own_is_not_offered),
		TEST(what_is_closed_by_its_own_name_is_not_opened_by_what_lies_around_it),
		TEST(a_host_alone_or_the_set_that_it_belongs_to),
		TEST(of_a_large_set_some_hosts_are_named_and_the_rest_counted),
		TEST(programs_and_sockets_have_no_more_than_themselves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
