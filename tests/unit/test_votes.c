/* SPDX-License-Identifier: Apache-2.0 */
/* Questions that several must answer: who counts, when, how often, and what they come to. Nobody
 * who was not asked makes a yes. */
#include "base/id.h"
#include "base/io.h"
#include "base/moment.h"
#include "decide/within.h"
#include "escalate/ask_json.h"
#include "escalate/queue_parts.h"
#include "escalate/route.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

enum { PROPERTIES = 3000, SEED = 20261117 };

static const uint64_t minute = UINT64_C(60000000000);
static unsigned seed = SEED;

static unsigned any(unsigned below)
{
	return (unsigned)rand_r(&seed) % below;
}

/* Two of alice, bob and carol, after ten minutes also dan; then one of dan and erin. Dave is the
 * owner, and so is whoever is called bob at the socket of another machine. */
static const char two_steps[] =
	"{\"names\": [\"test\"], \"owners\": [{\"person\": \"dave\", \"as\": [\"user:dave\"]}],"
	" \"steps\": ["
	"  {\"need\": 2, \"reason\": false, \"not_own\": true, \"within_seconds\": 600, "
	"\"groups\": ["
	"   {\"from\": [\"a\"], \"who\": ["
	"     {\"person\": \"alice\", \"as\": [\"user:alice\", \"web:al\", \"hook:ops/U1\"]},"
	"     {\"person\": \"bob\", \"as\": [\"user:bob\"]},"
	"     {\"person\": \"carol\", \"as\": [\"user:carol\"]},"
	"     {\"person\": \"dave\", \"as\": [\"user:dave\", \"web:dave\"]}]},"
	"   {\"from\": [\"b\"], \"who\": [{\"person\": \"dan\", \"as\": [\"user:dan\"]}]}]},"
	"  {\"need\": 1, \"reason\": true, \"not_own\": false, \"within_seconds\": 0, \"groups\": ["
	"   {\"from\": [\"c\"], \"who\": ["
	"     {\"person\": \"dan\", \"as\": [\"user:dan\"]},"
	"     {\"person\": \"dave\", \"as\": [\"user:dave\"]},"
	"     {\"person\": \"erin\", \"as\": [\"user:erin\"]}]}]}]}";

static json_t *route_from(const char *text)
{
	json_t *route = json_loads(text, 0, NULL);

	assert_non_null(route);
	return route;
}

static struct moment at(uint64_t ns)
{
	return (struct moment){
		.wall = 1000000 + (int64_t)(ns / 1000000000), .ns = 5 * minute + ns, .boot = "one"};
}

static json_t *vote_of(const char *way, size_t step, struct moment moment, const char *reason)
{
	json_t *answer = json_pack("{s:s}", "answer", "approve");

	if (reason)
		json_object_set_new(answer, "reason", json_string(reason));
	return json_pack("{s:s, s:s, s:I, s:o, s:o}", "way", way, "by", way, "step",
			 (json_int_t)step, "moment", moment_to_json(&moment), "answer", answer);
}

static json_t *add(json_t *votes, const char *way, size_t step, uint64_t ns)
{
	json_array_append_new(votes, vote_of(way, step, at(ns), "because"));
	return votes;
}

/* "open 0 1", "yes", "over": what it has come to. Takes the votes. */
static void assert_turn(json_t *route, json_t *votes, uint64_t now, const char *wanted)
{
	_cleanup_turn_ struct turn turn = {0};
	const struct moment begun = at(0), then = at(now);
	char text[64];

	route_turn(route, &begun, votes, &then, &turn);
	snprintf(text, sizeof(text), "open %zu %u", turn.step, turn.have);
	assert_string_equal(turn.state == TURN_YES    ? "yes"
			    : turn.state == TURN_OVER ? "over"
						      : text,
			    wanted);
	json_decref(votes);
}

static void two_different_people_make_two(void **data)
{
	json_t *route = route_from(two_steps);

	(void)data;
	assert_turn(route, json_array(), 1, "open 0 0");
	assert_turn(route, add(json_array(), "user:alice", 0, 1), 2, "open 0 1");
	assert_turn(route, add(add(json_array(), "user:alice", 0, 1), "user:bob", 0, 2), 3,
		    "open 1 0");
	/* One person through two and three doors is one person. */
	assert_turn(route,
		    add(add(add(json_array(), "user:alice", 0, 1), "web:al", 0, 2), "hook:ops/U1",
			0, 3),
		    4, "open 0 1");
	/* Nobody who is not named, at no door that is not his. */
	assert_turn(route, add(add(json_array(), "web:bob", 0, 1), "user:mallory", 0, 2), 3,
		    "open 0 0");
	json_decref(route);
}

static void nobody_approves_what_his_own_agent_asks_where_that_is_said(void **data)
{
	json_t *route = route_from(two_steps);

	(void)data;
	assert_turn(route, add(add(json_array(), "user:dave", 0, 1), "web:dave", 0, 2), 3,
		    "open 0 0");
	/* In the second step that is not said. */
	assert_turn(route,
		    add(add(add(json_array(), "user:alice", 0, 1), "user:bob", 0, 2), "user:dave",
			1, 3),
		    4, "yes");
	json_decref(route);
}

static void steps_follow_one_another(void **data)
{
	json_t *route = route_from(two_steps), *votes;
	_cleanup_turn_ struct turn turn = {0};
	const struct moment begun = at(0);
	const char *why;

	(void)data;
	route_turn(route, &begun, NULL, &begun, &turn);
	assert_null(route_voter(route, &turn, "user:erin", &why));
	assert_string_equal(why, "it is not your turn");
	votes = add(add(add(json_array(), "user:alice", 0, 2), "user:bob", 0, 3), "user:erin", 1,
		    4);
	assert_turn(route, votes, 5, "yes");
	/* A step that has no end has none. */
	votes = add(add(json_array(), "user:alice", 0, 2), "user:bob", 0, 3);
	assert_turn(route, votes, 100000 * minute, "open 1 0");
	/* Who was counted in one step is not counted in another. */
	votes = add(add(add(json_array(), "user:alice", 0, 1), "user:dan", 0, 10 * minute + 2),
		    "user:dan", 1, 10 * minute + 3);
	assert_turn(route, votes, 10 * minute + 4, "open 1 0");
	json_decref(route);
}

static void a_reason_that_is_wanted_is_needed(void **data)
{
	json_t *route = route_from(two_steps), *votes;

	(void)data;
	votes = add(add(json_array(), "user:alice", 0, 1), "user:bob", 0, 2);
	json_array_append_new(votes, vote_of("user:erin", 1, at(3), NULL));
	assert_turn(route, votes, 4, "open 1 0");
	votes = add(add(json_array(), "user:alice", 0, 1), "user:bob", 0, 2);
	json_array_append_new(votes, vote_of("user:erin", 1, at(3), ""));
	assert_turn(route, votes, 4, "open 1 0");
	json_decref(route);
}

static void when_nobody_answers_the_next_group_may_and_then_it_is_over(void **data)
{
	json_t *route = route_from(two_steps);
	static const struct {
		uint64_t minutes;
		bool may;
	} times[] = {{0, false}, {9, false}, {10, true}, {19, true}};

	(void)data;
	for (size_t i = 0; i < ELEMENTS(times); i++) {
		_cleanup_turn_ struct turn turn = {0};
		const struct moment begun = at(0), now = at(times[i].minutes * minute);
		json_t *none = json_array();

		route_turn(route, &begun, none, &now, &turn);
		assert_int_equal(turn.state, TURN_OPEN);
		assert_int_equal(route_voter(route, &turn, "user:dan", NULL) != NULL, times[i].may);
		assert_non_null(route_voter(route, &turn, "user:alice", NULL));
		json_decref(none);
	}
	assert_turn(route, add(json_array(), "user:dan", 0, 9 * minute), 15 * minute, "open 0 0");
	assert_turn(route, add(json_array(), "user:dan", 0, 11 * minute), 15 * minute, "open 0 1");
	assert_turn(route, add(json_array(), "user:alice", 0, 1), 20 * minute, "over");
	/* Too late is too late, and enough in time is enough. */
	assert_turn(route, add(add(json_array(), "user:alice", 0, 1), "user:bob", 0, 20 * minute),
		    21 * minute, "over");
	assert_turn(route, add(add(json_array(), "user:alice", 0, 1), "user:bob", 0, 19 * minute),
		    21 * minute, "open 1 0");
	json_decref(route);
}

static void clocks_that_are_set_change_nothing(void **data)
{
	struct moment from = at(0), to = at(10 * minute);

	(void)data;
	to.wall = 0; /* set back */
	assert_int_equal(moment_ns_between(&from, &to), 10 * minute);
	to.wall = from.wall * 2; /* and forth */
	assert_int_equal(moment_ns_between(&from, &to), 10 * minute);
	/* After the machine was started anew there is only the wall clock. */
	to = at(10 * minute);
	strcpy(to.boot, "two");
	to.ns = 1;
	assert_int_equal(moment_ns_between(&from, &to), 10 * minute);
	to.wall = 0;
	assert_int_equal(moment_ns_between(&from, &to), 0);
}

static void what_is_said_of_it_names_who_may_and_who_has(void **data)
{
	json_t *route = route_from(two_steps), *votes = add(json_array(), "web:al", 0, 1), *object;
	_cleanup_turn_ struct turn turn = {0};
	_cleanup_buffer_ struct buffer text = {0};
	const struct moment begun = at(0), now = at(2);

	(void)data;
	route_turn(route, &begun, votes, &now, &turn);
	turn_describe(route, &turn, &text);
	assert_string_equal(buffer_text(&text), "step 1 of 2: 1 of 2, alice said yes: because; "
						"waits for bob, carol");
	object = turn_to_json(route, &turn);
	assert_int_equal(json_array_size(json_object_get(object, "may")), 2);
	assert_int_equal(json_array_size(json_object_get(object, "said")), 1);
	json_decref(object);
	text.length = 0;
	route_describe(route, &text);
	assert_string_equal(
		buffer_text(&text),
		"2 of a (alice, bob, carol, dave), the agent's owners not among them, within 10m, "
		"then also b (dan); after that 1 of c (dan, dave, erin), with a reason");
	json_decref(votes);
	json_decref(route);
}

/* What they come to. */

static const char *const permissions[] = {
	"write /srv/**",   "write /srv/a/**", "write /srv/a/b",	       "write /srv/a/c",
	"delete /srv/a/b", "read /etc/x",     "connect *.example:443", "connect a.example:443",
};

static bool admits(const struct list *grants, const char *permission)
{
	for (size_t i = 0; i < grants->count; i++)
		if (permission_within(permission, grants->items[i]))
			return true;
	return false;
}

static json_t *any_answer(json_t *ask, bool *ret_edited)
{
	static const char *const scopes[] = {"once", "session", "time", "always"};
	json_t *answer = json_pack("{s:s, s:s}", "answer", "approve", "by", "x");
	unsigned scope = any(4);

	*ret_edited = false;
	json_object_set_new(answer, "extent", json_integer(any(2)));
	if (any(2)) {
		json_t *grants = json_array();

		for (size_t i = 0; i < ELEMENTS(permissions); i++)
			if (any(3) == 0)
				json_array_append_new(grants, json_string(permissions[i]));
		if (json_array_size(grants)) {
			*ret_edited = true;
			json_object_set(answer, "grants", grants);
		}
		json_decref(grants);
	}
	if (*ret_edited && scope == 3)
		scope = 0;
	json_object_set_new(answer, "scope", json_string(scopes[scope]));
	if (scope == 2)
		json_object_set_new(answer, "seconds", json_integer(1 + any(1000)));
	if ((scope == 1 || scope == 2) && any(2))
		json_object_set_new(answer, "uses", json_integer(1 + any(5)));
	json_object_set_new(answer, "monitor", json_boolean(any(2)));
	(void)ask;
	return answer;
}

/* Whatever each of them gave, all together give nothing that one of them did not, for no longer
 * than any of them said. */
static void several_yeses_never_give_more_than_each_of_them(void **data)
{
	json_t *ask = json_pack(
		"{s:s, s:b, s:s, s:[s,s,s], s:i, s:[{s:s, s:[s,s,s], s:s}, {s:s, s:[s,s,s], s:s}],"
		" s:[s,s,s,s,s]}",
		"kind", "retry", "editable", true, "workspace", "/srv", "grants", "write /srv/**",
		"read /etc/x", "connect *.example:443", "extent", 1, "extents", "name", "narrow",
		"grants", "write /srv/a/**", "read /etc/x", "connect a.example:443", "rule", "r",
		"name", "wide", "grants", "write /srv/**", "read /etc/x", "connect *.example:443",
		"rule", "r", "choices", "approve once", "approve session", "approve time",
		"approve always", "approve monitored");
	unsigned agreed = 0, narrowed = 0;

	(void)data;
	assert_non_null(ask);
	for (unsigned round = 0; round < PROPERTIES; round++) {
		unsigned count = 2 + any(2);
		json_t *votes = json_array();
		struct answer single[3] = {0}, all = {0};
		struct list given[3] = {0}, together = {0};
		bool usable = true, edited;

		for (unsigned i = 0; i < count; i++) {
			json_t *answer = any_answer(ask, &edited), *item;
			size_t k;

			usable &= answer_from_json(answer, ask, &single[i], NULL) == 0;
			json_array_append_new(votes, json_pack("{s:o}", "answer", answer));
			for (k = 0; k < single[i].grants.count; k++)
				list_add(&given[i], single[i].grants.items[k]);
			if (!single[i].grants.count)
				json_array_foreach (
					json_object_get(
						json_array_get(json_object_get(ask, "extents"),
							       single[i].extent),
						"grants"),
					k, item)
					list_add(&given[i], json_string_value(item));
		}
		if (usable && votes_agree(ask, votes, &all, NULL) == 0) {
			json_t *item;
			size_t k;

			agreed++;
			narrowed += all.grants.count > 0;
			for (k = 0; k < all.grants.count; k++)
				list_add(&together, all.grants.items[k]);
			if (!all.grants.count)
				json_array_foreach (
					json_object_get(
						json_array_get(json_object_get(ask, "extents"),
							       all.extent),
						"grants"),
					k, item)
					list_add(&together, json_string_value(item));
			for (unsigned i = 0; i < count; i++) {
				for (k = 0; k < together.count; k++)
					assert_true(admits(&given[i], together.items[k]));
				/* And nothing that all of them gave is lost. */
				for (k = 0; k < ELEMENTS(permissions); k++) {
					bool by_all = true;

					for (unsigned m = 0; m < count; m++)
						by_all &= admits(&given[m], permissions[k]);
					assert_true(!by_all || admits(&together, permissions[k]));
				}
				assert_true(all.scope <= single[i].scope ||
					    (all.scope == SCOPE_TIME &&
					     single[i].scope == SCOPE_ALWAYS));
				assert_true(all.scope != SCOPE_TIME ||
					    single[i].scope == SCOPE_ALWAYS ||
					    (single[i].scope == SCOPE_TIME &&
					     all.seconds <= single[i].seconds));
				assert_true(all.scope != SCOPE_SESSION ||
					    single[i].scope == SCOPE_SESSION ||
					    single[i].scope == SCOPE_ALWAYS);
				/* Once is once, whatever it was counted by. */
				assert_true(all.scope == SCOPE_ONCE || !single[i].uses ||
					    (all.uses && all.uses <= single[i].uses));
				assert_true(all.extent <= single[i].extent);
				assert_true(!single[i].monitor || all.monitor);
				assert_false(all.unsandboxed);
			}
		}
		for (unsigned i = 0; i < 3; i++) {
			answer_done(&single[i]);
			list_done(&given[i]);
		}
		answer_done(&all);
		list_done(&together);
		json_decref(votes);
	}
	assert_true(agreed > PROPERTIES / 10 && narrowed > PROPERTIES / 50);
	json_decref(ask);
}

static void without_the_sandbox_it_runs_only_where_all_said_so(void **data)
{
	json_t *ask = json_pack("{s:s, s:[s], s:[s,s]}", "kind", "retry", "grants", "write /a",
				"choices", "approve once", "approve unsandboxed");
	json_t *plain = json_pack("{s:{s:s}}", "answer", "answer", "approve"),
	       *bare = json_pack("{s:{s:s, s:b}}", "answer", "answer", "approve", "unsandboxed",
				 true);

	(void)data;
	for (int with = 0; with < 2; with++) {
		json_t *votes = json_pack("[O, O]", bare, with ? bare : plain);
		_cleanup_answer_ struct answer all = {0};

		assert_int_equal(votes_agree(ask, votes, &all, NULL), 0);
		assert_int_equal(all.unsandboxed, with);
		json_decref(votes);
	}
	json_decref(plain);
	json_decref(bare);
	json_decref(ask);
}

/* One said yes to what was missing, the other to a container. */
static void a_container_is_no_part_of_what_was_missing(void **data)
{
	json_t *ask = json_pack("{s:s, s:[s], s:i, s:[{s:s,s:[s]},{s:s,s:[s]}], s:[s]}", "kind",
				"retry", "grants", "write /a", "extent", 0, "extents", "name",
				"what it was refused", "grants", "write /a", "name",
				"in a container", "grants", "container", "choices", "approve once");

	(void)data;
	for (int one = 0; one < 2; one++)
		for (int other = 0; other < 2; other++) {
			json_t *votes = json_pack("[{s:{s:s,s:i}},{s:{s:s,s:i}}]", "answer",
						  "answer", "approve", "extent", one, "answer",
						  "answer", "approve", "extent", other);
			_cleanup_answer_ struct answer all = {0};
			int r = votes_agree(ask, votes, &all, NULL);

			assert_int_equal(r == 0, one == other);
			if (r == 0)
				assert_int_equal(all.extent, one);
			json_decref(votes);
		}
	json_decref(ask);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_different_people_make_two),
		cmocka_unit_test(nobody_approves_what_his_own_agent_asks_where_that_is_said),
		cmocka_unit_test(steps_follow_one_another),
		cmocka_unit_test(a_reason_that_is_wanted_is_needed),
		cmocka_unit_test(when_nobody_answers_the_next_group_may_and_then_it_is_over),
		cmocka_unit_test(clocks_that_are_set_change_nothing),
		cmocka_unit_test(what_is_said_of_it_names_who_may_and_who_has),
		cmocka_unit_test(several_yeses_never_give_more_than_each_of_them),
		cmocka_unit_test(without_the_sandbox_it_runs_only_where_all_said_so),
		cmocka_unit_test(a_container_is_no_part_of_what_was_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
