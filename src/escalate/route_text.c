/* SPDX-License-Identifier: Apache-2.0 */
/* A route, and how far a question has come on it, in words and for programs. */
#include "route.h"

#include <string.h>

static const char *text_of(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static void add_time(struct buffer *text, uint64_t seconds)
{
	static const struct {
		unsigned seconds;
		const char *unit;
	} units[] = {{86400, "d"}, {3600, "h"}, {60, "m"}, {1, "s"}};

	for (size_t i = 0; i < ELEMENTS(units); i++)
		if (seconds % units[i].seconds == 0) {
			buffer_printf(text, "%llu%s",
				      (unsigned long long)(seconds / units[i].seconds),
				      units[i].unit);
			return;
		}
}

/* "security (alice, bob)" */
static void add_group(struct buffer *text, json_t *group)
{
	json_t *item;
	size_t i;

	json_array_foreach (json_object_get(group, "from"), i, item)
		buffer_printf(text, "%s%s", i ? " or " : "",
			      json_string_value(item) ? json_string_value(item) : "");
	buffer_add_text(text, " (");
	json_array_foreach (json_object_get(group, "who"), i, item)
		buffer_printf(text, "%s%s", i ? ", " : "", text_of(item, "person"));
	buffer_add_text(text, i ? ")" : "nobody)");
}

static void add_step(struct buffer *text, json_t *step)
{
	json_t *groups = json_object_get(step, "groups"), *group;
	json_int_t within = json_integer_value(json_object_get(step, "within_seconds"));
	size_t i;

	buffer_printf(text, "%lld of ",
		      (long long)json_integer_value(json_object_get(step, "need")));
	add_group(text, json_array_get(groups, 0));
	if (json_is_true(json_object_get(step, "reason")))
		buffer_add_text(text, ", with a reason");
	if (json_is_true(json_object_get(step, "not_own")))
		buffer_add_text(text, ", the agent's owners not among them");
	if (within) {
		buffer_add_text(text, ", within ");
		add_time(text, (uint64_t)within);
	}
	json_array_foreach (groups, i, group) {
		if (i == 0)
			continue;
		buffer_add_text(text, ", then also ");
		add_group(text, group);
	}
}

void route_describe(json_t *route, struct buffer *text)
{
	json_t *step;
	size_t i;

	json_array_foreach (json_object_get(route, "steps"), i, step) {
		buffer_add_text(text, i ? "; after that " : "");
		add_step(text, step);
	}
	if (route_grant_seconds(route)) {
		buffer_add_text(text, "; a yes holds for at most ");
		add_time(text, route_grant_seconds(route));
	}
}

/* Who may say yes now. */
static json_t *those_who_may(json_t *route, const struct turn *turn)
{
	json_t *step = json_array_get(json_object_get(route, "steps"), turn->step), *names, *group,
	       *member, *way;
	size_t g, m, w;

	names = json_array();
	json_array_foreach (json_object_get(step, "groups"), g, group)
		json_array_foreach (json_object_get(group, "who"), m, member)
			json_array_foreach (json_object_get(member, "as"), w, way) {
				const char *person =
					json_is_string(way)
						? route_voter(route, turn, json_string_value(way),
							      NULL)
						: NULL;
				json_t *name = person ? json_string(person) : NULL, *other;
				bool known = !name;
				size_t i;

				json_array_foreach (names, i, other)
					known |= json_equal(name, other) != 0;
				if (!known)
					json_array_append(names, name);
				json_decref(name);
			}
	return names;
}

void turn_describe(json_t *route, const struct turn *turn, struct buffer *text)
{
	size_t steps = json_array_size(json_object_get(route, "steps")), i;
	json_t *may = those_who_may(route, turn), *item;

	if (turn->state == TURN_OPEN && steps > 1)
		buffer_printf(text, "step %zu of %zu: ", turn->step + 1, steps);
	if (turn->state == TURN_OPEN)
		buffer_printf(text, "%u of %u", turn->have, turn->need);
	else
		buffer_add_text(text, turn->state == TURN_YES ? "approved" : "nobody in time");
	json_array_foreach (turn->counted, i, item) {
		const char *reason = text_of(json_object_get(item, "answer"), "reason");

		const char *person = route_person(route, text_of(item, "way"));

		buffer_printf(text, "%s %s said yes%s%s", i ? ";" : ",", person ? person : "",
			      *reason ? ": " : "", reason);
	}
	if (turn->state == TURN_OPEN) {
		buffer_add_text(text, json_array_size(may) ? "; waits for " : "; waits for nobody");
		json_array_foreach (may, i, item)
			buffer_printf(text, "%s%s", i ? ", " : "", json_string_value(item));
	}
	json_decref(may);
}

json_t *turn_to_json(json_t *route, const struct turn *turn)
{
	static const char *const states[] = {
		[TURN_OPEN] = "open", [TURN_YES] = "approved", [TURN_OVER] = "over"};
	_cleanup_buffer_ struct buffer text = {0};
	json_t *said = json_array(), *vote;
	size_t i;

	json_array_foreach (turn->counted, i, vote) {
		json_t *answer = json_object_get(vote, "answer");
		json_t *one = json_pack("{s:O, s:O, s:O}", "by", json_object_get(vote, "by"),
					"step", json_object_get(vote, "step"), "answer",
					json_object_get(answer, "answer"));

		if (json_object_get(answer, "reason"))
			json_object_set(one, "reason", json_object_get(answer, "reason"));
		json_array_append_new(said, one);
	}
	turn_describe(route, turn, &text);
	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:b, s:o, s:o, s:s}", "state",
			 states[turn->state], "step", (json_int_t)turn->step, "groups",
			 (json_int_t)turn->groups, "steps",
			 (json_int_t)json_array_size(json_object_get(route, "steps")), "have",
			 (json_int_t)turn->have, "need", (json_int_t)turn->need, "reason",
			 turn->state == TURN_OPEN && route_wants_reason(route, turn->step), "may",
			 turn->state == TURN_OPEN ? those_who_may(route, turn) : json_array(),
			 "said", said, "text", buffer_text(&text));
}
