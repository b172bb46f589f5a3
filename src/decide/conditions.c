/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions as a policy file writes them. */
#include "reading.h"
#include "../base/units.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { CONDITION_ENTRIES = 100 };

void condition_free(struct condition *condition)
{
	if (!condition)
		return;
	list_done(&condition->agents);
	list_done(&condition->sessions);
	list_done(&condition->tools);
	list_done(&condition->directories);
	list_done(&condition->environment);
	list_done(&condition->categories);
	free(condition->pin.path);
	free(condition->pin.sha256);
	free(condition);
}

int read_condition(struct reading *reading, const struct node *node,
		   struct condition **ret_condition)
{
	*ret_condition = calloc(1, sizeof(**ret_condition));
	if (!*ret_condition)
		abort();
	if (node->kind == NODE_MAP && node->count == 0)
		return read_wrong_kind(reading, node, "at least one condition",
				       "write agent: [name], or leave the key out");
	reading->condition = *ret_condition;
	return read_map(reading, node, SECTION_WHEN, NULL);
}

/* One value stands for a list of one. */
static int each(struct reading *reading, const struct node *node, const char *what,
		const char *hint,
		int (*take)(struct reading *, const struct node *, enum setting_kind),
		enum setting_kind kind)
{
	const struct node *alone[] = {node};
	const struct node *const *items =
		node->kind == NODE_LIST ? (const struct node *const *)node->items : alone;
	size_t count = node->kind == NODE_LIST ? node->count : 1;
	int r = 0;

	if (node->kind == NODE_MAP || count == 0 || count > CONDITION_ENTRIES)
		return read_wrong_kind(reading, node, what, hint);
	for (size_t i = 0; i < count && r == 0; i++) {
		if (items[i]->kind != NODE_TEXT || !*items[i]->text)
			return read_wrong_kind(reading, items[i], what, hint);
		r = take(reading, items[i], kind);
	}
	return r;
}

static int refuse(struct reading *reading, const struct node *node, const char *hint,
		  const char *what)
{
	return yaml_fail(reading->ret_error, reading->layer->file, node, hint, "'%.100s' %s",
			 node->text, what);
}

static int take_glob(struct reading *reading, const struct node *node, struct list *list)
{
	const char *fault = glob_fault(node->text);

	if (fault)
		return yaml_fail(reading->ret_error, reading->layer->file, node,
				 "put a backslash before a character that is meant as itself",
				 "'%.100s' cannot be used: %s", node->text, fault);
	list_add(list, node->text);
	return 0;
}

static int take_text(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	struct condition *condition = reading->condition;
	_cleanup_free_ char *name = NULL;

	switch (kind) {
	case WHEN_AGENT:
		return take_glob(reading, node, &condition->agents);
	case WHEN_SESSION:
		return take_glob(reading, node, &condition->sessions);
	case WHEN_TOOL:
		return take_glob(reading, node, &condition->tools);
	case WHEN_DIRECTORY:
		if (value_check(SET_READ, node->text, NULL, &(uint64_t){0}, reading->ret_error) < 0)
			return read_place_error(reading, node);
		list_add(&condition->directories, node->text);
		return 0;
	case WHEN_ENVIRONMENT:
		name = strndup(node->text, strcspn(node->text, "="));
		if (!value_is_variable(name))
			return refuse(reading, node, "write NAME, or NAME=VALUE with globs",
				      "does not name a variable");
		return take_glob(reading, node, &condition->environment);
	default:
		list_add(&condition->categories, node->text);
		return 0;
	}
}

int read_when_list(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	return each(reading, node, "a list of words", "write it in brackets: [one, another]",
		    take_text, kind);
}

/* "HH:MM"; -1: it is not. */
static int minutes(const char *text)
{
	int hour, minute;

	for (int i = 0; i < 5; i++)
		if (i == 2 ? text[i] != ':' : !isdigit((unsigned char)text[i]))
			return -1;
	hour = (text[0] - '0') * 10 + text[1] - '0';
	minute = (text[3] - '0') * 10 + text[4] - '0';
	return hour < 24 && minute < 60 ? hour * 60 + minute : hour == 24 && !minute ? 24 * 60 : -1;
}

static int take_time(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	struct condition *condition = reading->condition;
	bool shaped = strlen(node->text) == 11 && node->text[5] == '-';
	struct hours hours = {.from = shaped ? minutes(node->text) : -1,
			      .to = shaped ? minutes(node->text + 6) : -1};

	(void)kind;
	if (hours.from < 0 || hours.to < 0 || hours.from == hours.to)
		return refuse(reading, node, "write it as '22:00-06:00', in quotes",
			      "is no time of the day");
	if (condition->hour_count == HOURS_LIMIT)
		return refuse(reading, node, "join some", "is one span too many");
	condition->hours[condition->hour_count++] = hours;
	return 0;
}

int read_when_time(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	return each(reading, node, "a time of the day", "write it as '22:00-06:00', in quotes",
		    take_time, kind);
}

int read_when_until(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	struct tm moment = {0};
	const char *end = node->kind == NODE_TEXT
				  ? strptime(node->text, "%Y-%m-%dT%H:%M:%SZ", &moment)
				  : NULL;
	time_t until = end && !*end ? timegm(&moment) : -1;

	(void)kind;
	if (until <= 0)
		return read_wrong_kind(reading, node, "a moment, in UTC",
				       "write until: '2027-01-31T12:00:00Z'");
	reading->condition->until = until;
	return 0;
}

static int index_of(const char *const *names, size_t count, const char *text, size_t length)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(names[i]) == length && memcmp(names[i], text, length) == 0)
			return (int)i;
	return -1;
}

static int take_days(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	static const char *const names[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};
	size_t length = strcspn(node->text, "-");
	int from = index_of(names, 7, node->text, length), to = from;

	(void)kind;
	if (node->text[length])
		to = index_of(names, 7, node->text + length + 1, strlen(node->text) - length - 1);
	if (from < 0 || to < 0)
		return refuse(reading, node, "write mon, tue ... sun, or mon-fri",
			      "is no day of the week");
	for (int day = from;; day = (day + 1) % 7) {
		reading->condition->days |= 1u << day;
		if (day == to)
			return 0;
	}
}

int read_when_days(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	return each(reading, node, "days of the week", "write [mon-fri]", take_days, kind);
}

static int take_risk(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	for (enum risk risk = RISK_LOW; risk <= RISK_CRITICAL; risk++) {
		if (strcmp(risk_name(risk), node->text) != 0)
			continue;
		reading->condition->risks |= 1u << risk;
		return 0;
	}
	return refuse(reading, node, "write low, medium, high or critical", "is no risk");
}

int read_when_risk(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	return each(reading, node, "levels of risk", "write [high, critical]", take_risk, kind);
}

int read_pin_path(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	if (node->kind != NODE_TEXT || node->text[0] != '/')
		return read_wrong_kind(reading, node, "the whole path of a program",
				       "write path: /usr/bin/git");
	reading->condition->pin.path = read_copy(node->text);
	return 0;
}

int read_pin_owner(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	struct pin *pin = &reading->condition->pin;
	uint64_t number = 0;

	(void)kind;
	if (node->kind != NODE_TEXT ||
	    (strcmp(node->text, "root") != 0 && strcmp(node->text, "0") != 0 &&
	     (parse_count(node->text, &number, NULL) < 0 || number > UINT32_MAX - 1)))
		return read_wrong_kind(reading, node, "root, or the number of a user",
				       "write owner: root");
	pin->has_owner = true;
	pin->owner = (uid_t)number;
	return 0;
}

int read_pin_hash(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	struct pin *pin = &reading->condition->pin;

	(void)kind;
	if (node->kind != NODE_TEXT || strlen(node->text) != 64 ||
	    node->text[strspn(node->text, "0123456789abcdefABCDEF")])
		return read_wrong_kind(reading, node, "64 hexadecimal digits",
				       "write what sha256sum prints");
	pin->sha256 = read_copy(node->text);
	for (char *c = pin->sha256; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return 0;
}

int read_when_program(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	struct condition *condition = reading->condition;
	int r;

	if (node->kind == NODE_TEXT)
		return read_pin_path(reading, node, kind);
	r = read_map(reading, node, SECTION_PROGRAM, NULL);
	if (r == 0 && !condition->pin.path)
		r = yaml_fail(reading->ret_error, reading->layer->file, node,
			      "write path: /usr/bin/git", "a program without its path");
	return r;
}
