/* SPDX-License-Identifier: Apache-2.0 */
/* The section `trust` of a policy file, but for the names of agents. */
#include "../base/units.h"
#include "reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_MOST = 256 };

static int wrong(struct reading *reading, const struct node *node, const char *hint,
		 const char *what)
{
	return yaml_fail(reading->ret_error, reading->layer->file, node, hint, "%s is wanted here",
			 what);
}

/* A whole number between two others. */
static int read_bounded(struct reading *reading, const struct node *node, long least, long most,
			const char *hint, long *ret_number)
{
	_cleanup_free_ char *what = NULL;
	char *end = NULL;
	long number = 0;

	if (node->kind == NODE_TEXT && *node->text && strlen(node->text) <= 9)
		number = strtol(node->text, &end, 10);
	if (end && !*end && number >= least && number <= most &&
	    strspn(node->text, "-0123456789") == strlen(node->text)) {
		*ret_number = number;
		return 0;
	}
	if (asprintf(&what, "a whole number from %ld to %ld", least, most) < 0)
		abort();
	return wrong(reading, node, hint, what);
}

int read_trust_start(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	struct trust_rules *trust = &reading->layer->trust;
	long number;
	int r = read_bounded(reading, node, 0, TRUST_MOST, "write start: 0", &number);

	(void)kind;
	if (r < 0)
		return r;
	trust->has.start = true;
	trust->start = (int)number;
	return 0;
}

int read_trust_point(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	struct trust_rules *trust = &reading->layer->trust;
	size_t which = (size_t)(kind - POINT_TASK);
	bool loss = which == TRUST_VIOLATION || which == TRUST_OVERRIDE;
	long number;
	int r = read_bounded(reading, node, loss ? -TRUST_MOST : 0, loss ? 0 : TRUST_MOST,
			     loss ? "write violation: -10" : "write task: 2", &number);

	if (r < 0)
		return r;
	trust->has.points[which] = true;
	trust->points[which] = (int)number;
	return 0;
}

int read_trust_points(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_map(reading, node, SECTION_TRUST_POINTS, NULL);
}

int read_trust_decay(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	struct trust_rules *trust = &reading->layer->trust;
	char *end = NULL;
	double number = 0;

	(void)kind;
	if (node->kind == NODE_TEXT && *node->text &&
	    strspn(node->text, "0123456789.") == strlen(node->text))
		number = strtod(node->text, &end);
	if (!end || *end || !(number >= 0.5 && number <= 1))
		return wrong(reading, node, "write decay: 0.99",
			     "what is left of a score after a day, from 0.5 to 1,");
	trust->has.decay = true;
	trust->decay = number;
	return 0;
}

static int read_texts(struct reading *reading, const struct node *node, const char *hint,
		      int (*check)(const char *, struct error **), struct list *list)
{
	if (node->kind != NODE_LIST)
		return read_wrong_kind(reading, node, "a list", hint);
	if (node->count > LIST_MOST)
		return yaml_fail(reading->ret_error, reading->layer->file, node->items[LIST_MOST],
				 "remove some", "more than %d entries", LIST_MOST);
	for (size_t i = 0; i < node->count; i++) {
		const struct node *item = node->items[i];

		if (item->kind != NODE_TEXT)
			return read_wrong_kind(reading, item, "text", hint);
		if (check(item->text, reading->ret_error) < 0)
			return read_place_error(reading, item);
		list_add(list, item->text);
	}
	return 0;
}

static int check_pattern(const char *text, struct error **ret_error)
{
	struct pattern *pattern = NULL;
	int r = pattern_compile(text, &pattern, ret_error);

	if (r == 0 && (!pattern->program || !pattern->program[strspn(pattern->program, "*?|")])) {
		fail(ret_error, E_POLICY, "'%s' would be any command", text);
		error_hint(ret_error, "begin with the name of a program: make test");
		r = -E_POLICY;
	}
	pattern_free(pattern);
	return r;
}

/* What only a person may have is no matter of a score. */
static int check_unlocked(const char *text, struct error **ret_error)
{
	int r = value_check_permission(text, ret_error);

	if (r == 0 &&
	    (strncmp(text, "secret ", 7) == 0 || strncmp(text, "unsandboxed ", 12) == 0)) {
		fail(ret_error, E_POLICY, "'%s' is not a permission that a score unlocks", text);
		error_hint(ret_error, "a person gives it, each time");
		r = -E_POLICY;
	}
	return r;
}

static int check_never(const char *text, struct error **ret_error)
{
	return never_group(text) >= 0 ? 0 : value_check_permission(text, ret_error);
}

static struct trust_threshold *threshold_read(struct reading *reading)
{
	return &reading->layer->trust.thresholds[reading->layer->trust.threshold_count];
}

int read_threshold_at(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	long number;
	int r = read_bounded(reading, node, 1, TRUST_MOST, "write at: 50", &number);

	(void)kind;
	if (r == 0)
		threshold_read(reading)->at = (int)number;
	return r;
}

int read_threshold_unlocks(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_texts(reading, node, "write it in brackets: ['write ./src/**']", check_unlocked,
			  &threshold_read(reading)->unlocks);
}

int read_threshold_commands(struct reading *reading, const struct node *node,
			    enum setting_kind kind)
{
	(void)kind;
	return read_texts(reading, node, "write it in brackets: [git commit]", check_pattern,
			  &threshold_read(reading)->commands);
}

int read_threshold_requests(struct reading *reading, const struct node *node,
			    enum setting_kind kind)
{
	(void)kind;
	return read_texts(reading, node, "write it in brackets: ['deploy prod*']", check_unlocked,
			  &threshold_read(reading)->requests);
}

int read_trust_thresholds(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	struct trust_rules *trust = &reading->layer->trust;

	(void)kind;
	if (node->kind != NODE_LIST)
		return read_wrong_kind(reading, node, "a list",
				       "write it as - at: 50, with unlocks, commands or requests");
	if (node->count > TRUST_THRESHOLDS)
		return yaml_fail(reading->ret_error, reading->layer->file,
				 node->items[TRUST_THRESHOLDS], "join some",
				 "more than %d thresholds", TRUST_THRESHOLDS);
	trust->has.thresholds = true;
	for (size_t i = 0; i < node->count; i++) {
		int r = read_map(reading, node->items[i], SECTION_TRUST_THRESHOLD, NULL);
		int at = threshold_read(reading)->at;

		/* Counted in any case: it is released with the others. */
		trust->threshold_count++;
		if (r < 0)
			return r;
		if (at <= (i ? trust->thresholds[i - 1].at : 0))
			return yaml_fail(reading->ret_error, reading->layer->file, node->items[i],
					 "write at: 50, then at: 75",
					 "thresholds have an `at` each, and rise");
	}
	return 0;
}

int read_trust_never(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	struct trust_rules *trust = &reading->layer->trust;

	(void)kind;
	trust->has_never = true;
	return read_texts(reading, node,
			  "write groups (production, security, secrets, sudo) and permissions",
			  check_never, &trust->never);
}

int read_trust_tests(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_texts(reading, node, "write it in brackets: [make test]", check_pattern,
			  &reading->layer->trust.tests);
}

static int read_time(struct reading *reading, const struct node *node, const char *hint,
		     uint64_t *ret_ns)
{
	if (node->kind == NODE_TEXT && parse_duration(node->text, ret_ns, NULL) == 0 && *ret_ns)
		return 0;
	return wrong(reading, node, hint, "a duration");
}

int read_violations_medium(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	struct trust_rules *trust = &reading->layer->trust;
	long number;
	int r = read_bounded(reading, node, 0, 1000, "write medium: 3", &number);

	(void)kind;
	if (r < 0)
		return r;
	trust->has.medium = true;
	trust->medium = (uint64_t)number;
	return 0;
}

int read_violations_within(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	reading->layer->trust.has.within = true;
	return read_time(reading, node, "write within: 1h", &reading->layer->trust.within_ns);
}

int read_violations_then(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	struct trust_rules *trust = &reading->layer->trust;
	const char *text = node->kind == NODE_TEXT ? node->text : "";

	(void)kind;
	if (strcmp(text, "freeze") != 0 && strcmp(text, "kill") != 0)
		return wrong(reading, node, "write then: freeze", "freeze or kill");
	trust->has.then = true;
	trust->then = strcmp(text, "kill") == 0 ? TRUST_THEN_KILL : TRUST_THEN_FREEZE;
	return 0;
}

int read_trust_violations(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_map(reading, node, SECTION_TRUST_VIOLATIONS, NULL);
}

int read_learn_after(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	struct trust_rules *trust = &reading->layer->trust;
	long number;
	int r = read_bounded(reading, node, 0, 1000, "write after: 5, or 0 for never", &number);

	(void)kind;
	if (r < 0)
		return r;
	trust->has.after = true;
	trust->learn_after = (uint64_t)number;
	return 0;
}

int read_learn_expires(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	reading->layer->trust.has.expires = true;
	return read_time(reading, node, "write expires: 30d",
			 &reading->layer->trust.learn_expires_ns);
}

int read_trust_learn(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_map(reading, node, SECTION_TRUST_LEARN, NULL);
}

int read_trust(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	reading->layer->trust.line = node->line;
	return read_map(reading, node, SECTION_TRUST, NULL);
}
