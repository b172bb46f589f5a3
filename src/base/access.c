/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about files. */
#include "access.h"
#include "path.h"

#include <string.h>

static char *copy(const char *text)
{
	char *result = strdup(text);

	if (!result)
		abort();
	return result;
}

/* "a/[x]*" has the two characters a and /: a class stands for what is not known. */
static size_t count_literals(const char *pattern)
{
	size_t count = 0;

	for (const char *c = pattern; *c; c++) {
		const char *end = *c == '[' ? strchr(c + 1, ']') : NULL;

		if (end)
			c = end;
		else
			count += *c != '*' && *c != '?';
	}
	return count;
}

void file_rule_measure(struct file_rule *rule)
{
	size_t plain = strcspn(rule->pattern, "*?[");

	rule->exact = rule->pattern[plain] == '\0';
	rule->fixed = plain;
	while (!rule->exact && rule->fixed > 1 && rule->pattern[rule->fixed] != '/')
		rule->fixed--;
	if (!rule->exact && rule->fixed > 1 && rule->pattern[rule->fixed] != '/')
		rule->fixed = 1;
	rule->literals = count_literals(rule->pattern);
}

struct file_rule *file_rules_add(struct file_rules *rules, enum access access, enum weight weight,
				 const char *pattern, const char *said)
{
	struct file_rule *rule;

	if (rules->count == rules->room) {
		rules->room = MAX(rules->room * 2, (size_t)64);
		rules->items = reallocarray(rules->items, rules->room, sizeof(*rules->items));
		if (!rules->items)
			abort();
	}
	rule = &rules->items[rules->count++];
	*rule = (struct file_rule){.access = access, .weight = weight};
	rule->said = said ? copy(said) : NULL;
	rule->pattern = copy(pattern);
	for (size_t length = strlen(pattern);
	     length > 3 && strcmp(rule->pattern + length - 3, "/**") == 0; length -= 3)
		rule->pattern[length - 3] = '\0';
	file_rule_measure(rule);
	return rule;
}

void file_rules_done(struct file_rules *rules)
{
	for (size_t i = 0; i < rules->count; i++) {
		free(rules->items[i].pattern);
		free(rules->items[i].said);
	}
	free(rules->items);
	*rules = (struct file_rules){0};
}

static int compare(size_t one, size_t other)
{
	return one < other ? -1 : one > other;
}

int file_rule_compare_specific(const struct file_rule *one, const struct file_rule *other)
{
	int r = compare(one->fixed, other->fixed);

	if (r == 0)
		r = compare(one->literals, other->literals);
	return r ? r : one->exact - other->exact;
}

int file_rule_compare(const struct file_rule *one, const struct file_rule *other)
{
	int r = compare(one->weight, other->weight);

	if (r == 0)
		r = file_rule_compare_specific(one, other);
	return r ? r : compare(other->access, one->access);
}

static void keep_better(const struct file_rule *rule, const struct file_rule **best)
{
	if (!*best || file_rule_compare(rule, *best) > 0)
		*best = rule;
}

/* True if the rule is about the one path, or something in it, that the closed one is about. */
static bool names(const struct file_rule *rule, const struct file_rule *closed)
{
	_cleanup_free_ char *path = path_unescape(rule->pattern);

	while (path && *path) {
		if (path_matches(closed->pattern, path, NULL))
			return true;
		*strrchr(path, '/') = '\0';
	}
	return false;
}

/* Whether what was said opens something that is closed by default. Read has no other use than
 * that; the others mean a whole tree, and a secret in it only if they name it as closely. */
static bool lifts(const struct file_rule *rule, const struct file_rule *closed)
{
	if (rule->weight == WEIGHT_DEFAULT || rule->access == ACCESS_DENY || rule->hold)
		return false;
	if (rule->named)
		return names(rule, closed);
	return rule->access == ACCESS_READ || file_rule_compare_specific(rule, closed) >= 0;
}

enum state file_rules_decide(const struct file_rule *const *rules, size_t count,
			     const struct file_rule **ret_rule)
{
	const struct file_rule *always = NULL, *closed = NULL, *reading = NULL, *writing = NULL;
	const struct file_rule *guard = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct file_rule *rule = rules[i];

		if (rule->guard) {
			keep_better(rule, &guard);
		} else if (rule->weight == WEIGHT_ALWAYS) {
			keep_better(rule, &always);
		} else if (rule->weight == WEIGHT_DEFAULT) {
			keep_better(rule, &closed);
		} else {
			if (!rule->hold)
				keep_better(rule, &reading);
			if (rule->access != ACCESS_READ)
				keep_better(rule, &writing);
		}
	}
	for (size_t i = 0; i < count && closed; i++)
		if (lifts(rules[i], closed))
			closed = NULL;
	if (always || closed || (reading && reading->access == ACCESS_DENY)) {
		*ret_rule = always					? always
			    : reading && reading->access == ACCESS_DENY ? reading
									: closed;
		return STATE_DENIED;
	}
	*ret_rule = writing ? writing : reading;
	if (!writing || writing->access != ACCESS_WRITE)
		return STATE_READ_ONLY;
	/* Whoever says write does not mean the names that run programs, unless he names them. */
	if (guard && file_rule_compare_specific(guard, writing) > 0) {
		*ret_rule = guard;
		return guard->access == ACCESS_WRITE ? STATE_WRITABLE : STATE_READ_ONLY;
	}
	return STATE_WRITABLE;
}

void areas_add(struct areas *areas, const char *path, enum state state, const char *rule)
{
	if (areas->count == areas->room) {
		areas->room = MAX(areas->room * 2, (size_t)16);
		areas->items = reallocarray(areas->items, areas->room, sizeof(*areas->items));
		if (!areas->items)
			abort();
	}
	areas->items[areas->count++] = (struct area){copy(path), state, rule ? copy(rule) : NULL};
}

const struct area *areas_find(const struct areas *areas, const char *path)
{
	const struct area *found = NULL;

	for (size_t i = 0; i < areas->count; i++)
		if (path_is_under(path, areas->items[i].path) &&
		    (!found || strlen(areas->items[i].path) >= strlen(found->path)))
			found = &areas->items[i];
	return found;
}

bool area_is_layer(const struct area *area)
{
	return area && area->rule && strcmp(area->rule, AREA_LAYER) == 0;
}

void areas_done(struct areas *areas)
{
	for (size_t i = 0; i < areas->count; i++) {
		free(areas->items[i].path);
		free(areas->items[i].rule);
	}
	free(areas->items);
	*areas = (struct areas){0};
}
