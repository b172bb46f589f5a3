/* SPDX-License-Identifier: Apache-2.0 */
/* Whose turn it is. */
#include "route.h"

#include <string.h>

static const uint64_t second = 1000000000;

json_t *moment_to_json(const struct moment *moment)
{
	return json_pack("{s:I, s:I, s:s}", "wall", (json_int_t)moment->wall, "ns",
			 (json_int_t)moment->ns, "boot", moment->boot);
}

void moment_from_json(json_t *object, struct moment *ret_moment)
{
	const char *boot = json_string_value(json_object_get(object, "boot"));

	*ret_moment =
		(struct moment){.wall = json_integer_value(json_object_get(object, "wall")),
				.ns = (uint64_t)json_integer_value(json_object_get(object, "ns"))};
	if (boot && strlen(boot) < BOOT_TEXT)
		strcpy(ret_moment->boot, boot);
}

void turn_done(struct turn *turn)
{
	json_decref(turn->counted);
	*turn = (struct turn){0};
}

static json_t *step_of(json_t *route, size_t step)
{
	return json_array_get(json_object_get(route, "steps"), step);
}

static const char *text_of(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static bool is_way_of(json_t *member, const char *way)
{
	json_t *item;
	size_t i;

	json_array_foreach (json_object_get(member, "as"), i, item)
		if (json_is_string(item) && strcmp(json_string_value(item), way) == 0)
			return true;
	return false;
}

/* The member of the step who proves himself so, and the first of its groups that he is in. */
static json_t *find_member(json_t *step, const char *way, size_t *ret_group)
{
	json_t *group, *member;
	size_t g, i;

	json_array_foreach (json_object_get(step, "groups"), g, group)
		json_array_foreach (json_object_get(group, "who"), i, member)
			if (is_way_of(member, way)) {
				*ret_group = g;
				return member;
			}
	return NULL;
}

static bool owns(json_t *route, const char *person, const char *way)
{
	json_t *owner;
	size_t i;

	json_array_foreach (json_object_get(route, "owners"), i, owner)
		if (strcmp(text_of(owner, "person"), person) == 0 || is_way_of(owner, way))
			return true;
	return false;
}

const char *route_person(json_t *route, const char *way)
{
	json_t *step, *member;
	size_t i, group;

	json_array_foreach (json_object_get(route, "steps"), i, step)
		if ((member = find_member(step, way, &group)))
			return text_of(member, "person");
	return NULL;
}

bool route_is_owner(json_t *route, const char *way)
{
	const char *person = route_person(route, way);

	return owns(route, person ? person : "", way);
}

bool route_wants_reason(json_t *route, size_t step)
{
	return json_is_true(json_object_get(step_of(route, step), "reason"));
}

uint64_t route_grant_seconds(json_t *route)
{
	return (uint64_t)json_integer_value(json_object_get(route, "grant_seconds"));
}

static uint64_t within_ns(json_t *step)
{
	return (uint64_t)json_integer_value(json_object_get(step, "within_seconds")) * second;
}

/* From its beginning to its end; 0: it has none. */
static uint64_t step_ns(json_t *step)
{
	return within_ns(step) * json_array_size(json_object_get(step, "groups"));
}

uint64_t route_ns(json_t *route)
{
	uint64_t all = 0;
	json_t *step;
	size_t i;

	json_array_foreach (json_object_get(route, "steps"), i, step) {
		if (!step_ns(step))
			return 0;
		all += step_ns(step);
	}
	return all;
}

static uint64_t since(const struct moment *begun, json_t *vote)
{
	struct moment moment;

	moment_from_json(json_object_get(vote, "moment"), &moment);
	return moment_ns_between(begun, &moment);
}

/* In the order in which they were given. A route has few. */
static json_t *sorted(json_t *votes, const struct moment *begun)
{
	json_t *result = json_array(), *vote;
	size_t i;

	json_array_foreach (votes, i, vote) {
		size_t at = json_array_size(result);

		while (at > 0 && since(begun, json_array_get(result, at - 1)) > since(begun, vote))
			at--;
		json_array_insert(result, at, vote);
	}
	return result;
}

static bool has_counted(json_t *route, json_t *counted, const char *person)
{
	json_t *vote;
	size_t i;

	json_array_foreach (counted, i, vote) {
		const char *other = route_person(route, text_of(vote, "way"));

		if (other && strcmp(other, person) == 0)
			return true;
	}
	return false;
}

/* Whether it was his to say, then. */
static bool counts(json_t *route, size_t number, const struct moment *begun, json_t *vote,
		   json_t *counted)
{
	json_t *step = step_of(route, number), *member;
	const char *way = text_of(vote, "way");
	uint64_t within = within_ns(step), at = since(begun, vote);
	size_t group;

	if ((size_t)json_integer_value(json_object_get(vote, "step")) != number ||
	    !(member = find_member(step, way, &group)))
		return false;
	if (within && (at < group * within || at >= step_ns(step)))
		return false;
	if (route_wants_reason(route, number) &&
	    !*text_of(json_object_get(vote, "answer"), "reason"))
		return false;
	if (json_is_true(json_object_get(step, "not_own")) &&
	    owns(route, text_of(member, "person"), way))
		return false;
	return !has_counted(route, counted, text_of(member, "person"));
}

void route_turn(json_t *route, const struct moment *begun, json_t *votes, const struct moment *now,
		struct turn *ret_turn)
{
	size_t steps = json_array_size(json_object_get(route, "steps"));
	struct turn turn = {.state = TURN_YES, .counted = json_array()};
	json_t *all = sorted(votes, begun), *vote;
	struct moment start = *begun;
	size_t i;

	/* A route without steps is none that was made here: nobody is enough for it. */
	if (steps == 0)
		turn.state = TURN_OVER;
	for (; turn.state == TURN_YES && turn.step < steps; turn.step++) {
		json_t *step = step_of(route, turn.step);
		uint64_t within = within_ns(step), passed = moment_ns_between(&start, now);

		turn.have = 0;
		turn.need = (unsigned)json_integer_value(json_object_get(step, "need"));
		turn.need = MAX(turn.need, 1u);
		json_array_foreach (all, i, vote) {
			if (turn.have == turn.need ||
			    !counts(route, turn.step, &start, vote, turn.counted))
				continue;
			json_array_append(turn.counted, vote);
			turn.have++;
		}
		if (turn.have == turn.need) { /* the next begins with the last of them */
			vote = json_array_get(turn.counted, json_array_size(turn.counted) - 1);
			moment_from_json(json_object_get(vote, "moment"), &start);
			continue;
		}
		turn.state = within && passed >= step_ns(step) ? TURN_OVER : TURN_OPEN;
		turn.groups = json_array_size(json_object_get(step, "groups"));
		if (within)
			turn.groups = MIN(turn.groups, (size_t)(passed / within) + 1);
		break;
	}
	json_decref(all);
	*ret_turn = turn;
}

const char *route_voter(json_t *route, const struct turn *turn, const char *way,
			const char **ret_why)
{
	json_t *step = step_of(route, turn->step), *member = NULL;
	const char *why = NULL, *person = NULL;
	size_t group = 0;

	if (turn->state != TURN_OPEN)
		why = "it is not open any more";
	else if (!(member = find_member(step, way, &group)))
		why = route_person(route, way) ? "it is not your turn" : "you are none of those";
	else if (group >= turn->groups)
		why = "it is not your turn yet";
	else if (person = text_of(member, "person"), has_counted(route, turn->counted, person))
		why = "you have said yes already";
	else if (json_is_true(json_object_get(step, "not_own")) && owns(route, person, way))
		why = "nobody approves what his own agent asks";
	if (ret_why)
		*ret_why = why;
	return why ? NULL : person;
}
