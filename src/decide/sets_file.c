/* SPDX-License-Identifier: Apache-2.0 */
/* Files about sets of hosts: the schema, and every fault with its place. */
#include "sets_parts.h"
#include "layer.h"
#include "yaml.h"
#include "../base/buffer.h"
#include "../base/hosts.h"

#include <string.h>

enum { SETS_LIMIT = 1000, HOSTS_LIMIT = 1000, WORD_LIMIT = 200 };

struct file_reading {
	struct sets *sets;
	struct set *set; /* that is read */
	const char *name;
	struct error **ret_error;
};

struct file_key {
	const char *name;
	int (*read)(struct file_reading *reading, const struct node *node);
};

static int wrong_kind(struct file_reading *reading, const struct node *node, const char *what,
		      const char *hint)
{
	return yaml_fail(reading->ret_error, reading->name, node, hint, "%s is wanted here, not %s",
			 what, node_kind_name(node));
}

static int read_keys(struct file_reading *reading, const struct node *node,
		     const struct file_key *keys, size_t count, const char *where)
{
	unsigned seen = 0;

	if (node->kind != NODE_MAP)
		return wrong_kind(reading, node, "a group of keys",
				  "write keys with their values: key: value");
	for (size_t i = 0; i < node->count; i += 2) {
		const struct node *key = node->items[i];
		_cleanup_buffer_ struct buffer hint = {0};
		size_t k = 0;
		int r;

		while (k < count && strcmp(keys[k].name, key->text) != 0)
			k++;
		for (size_t n = 0; n < count && k == count; n++)
			buffer_printf(&hint, "%s%s", n ? ", " : "the keys here are ", keys[n].name);
		if (k == count)
			return yaml_fail(reading->ret_error, reading->name, key, buffer_text(&hint),
					 "unknown key '%.100s' in %s", key->text, where);
		if (seen >> k & 1)
			return yaml_fail(reading->ret_error, reading->name, key, "join the two",
					 "the key '%s' stands twice in %s", key->text, where);
		seen |= 1u << k;
		r = keys[k].read(reading, node->items[i + 1]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* A short text without anything that would look odd where it is shown. */
static int check_text(struct file_reading *reading, const struct node *node)
{
	size_t length;

	if (node->kind != NODE_TEXT)
		return wrong_kind(reading, node, "a single value", "write the value alone");
	length = strlen(node->text);
	if (length == 0 || length > WORD_LIMIT)
		return yaml_fail(reading->ret_error, reading->name, node, "write a short text",
				 length ? "more than %d characters" : "an empty value", WORD_LIMIT);
	for (const char *c = node->text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return yaml_fail(reading->ret_error, reading->name, node,
					 "leave control characters and line breaks out",
					 "a control character");
	return 0;
}

static int check_list(struct file_reading *reading, const struct node *node)
{
	int r = 0;

	if (node->kind != NODE_LIST)
		return wrong_kind(reading, node, "a list", "write it in brackets: [one, another]");
	if (node->count > HOSTS_LIMIT)
		return yaml_fail(reading->ret_error, reading->name, node->items[HOSTS_LIMIT],
				 "remove some", "more than %d values in one list", HOSTS_LIMIT);
	for (size_t i = 0; i < node->count && r == 0; i++)
		r = check_text(reading, node->items[i]);
	return r;
}

/* Who speaks of a known set has no need to describe it, and cannot change what it is. */
static int read_description(struct file_reading *reading, const struct node *node)
{
	int r = check_text(reading, node);

	if (r == 0 && !reading->set->description)
		reading->set->description = strdup(node->text);
	return r;
}

static int read_hosts(struct file_reading *reading, const struct node *node)
{
	int r = check_list(reading, node);

	for (size_t i = 0; r == 0 && i < node->count; i++) {
		const struct node *item = node->items[i];
		_cleanup_error_ struct error *fault = NULL;
		_cleanup_buffer_ struct buffer origin = {0};

		if (sets_is_name(item->text))
			return yaml_fail(reading->ret_error, reading->name, item,
					 "write the hosts themselves",
					 "'%s' is a set, and a set holds hosts", item->text);
		if (host_pattern_check(item->text, &fault) < 0)
			return yaml_fail(reading->ret_error, reading->name, item,
					 fault->hint ? fault->hint : "write it as example.org:443",
					 "%s", fault->message);
		if (*reading->name)
			buffer_printf(&origin, "%s:%d", reading->name, item->line);
		set_add_host(reading->set, item->text,
			     *reading->name ? buffer_text(&origin) : "built in", false, false);
	}
	return r;
}

static int read_programs(struct file_reading *reading, const struct node *node)
{
	int r = check_list(reading, node);

	for (size_t i = 0; r == 0 && i < node->count; i++) {
		const struct node *item = node->items[i];

		if (strpbrk(item->text, "/ "))
			return yaml_fail(reading->ret_error, reading->name, item,
					 "write the name alone, as it is typed",
					 "'%s' is not the name of a program", item->text);
		if (!list_has(&reading->set->programs, item->text))
			list_add(&reading->set->programs, item->text);
	}
	return r;
}

/* The set of that name, made where it is new. */
static struct set *take_set(struct sets *sets, const char *name)
{
	struct set *set = sets_find(sets, name);

	if (set)
		return set;
	sets->items = reallocarray(sets->items, sets->count + 1, sizeof(*sets->items));
	if (!sets->items)
		abort();
	set = &sets->items[sets->count++];
	*set = (struct set){.name = strdup(name)};
	return set;
}

static int read_set(struct file_reading *reading, const struct node *key, const struct node *value)
{
	static const struct file_key keys[] = {{"description", read_description},
					       {"hosts", read_hosts},
					       {"programs", read_programs}};
	int r = sets_check(key->text, E_POLICY, reading->ret_error);

	if (r < 0) {
		error_place(reading->ret_error, reading->name, key->line, key->column);
		return r;
	}
	reading->set = take_set(reading->sets, key->text);
	r = read_keys(reading, value, keys, ELEMENTS(keys), "a set");
	if (r == 0 && reading->set->count == 0)
		return yaml_fail(reading->ret_error, reading->name, key,
				 "write hosts: [example.org:443]", "the set '%s' has no hosts",
				 key->text);
	return r;
}

static int read_sets(struct file_reading *reading, const struct node *node)
{
	_cleanup_list_ struct list seen = {0};
	int r = 0;

	if (node->kind != NODE_MAP)
		return wrong_kind(reading, node, "a group of keys",
				  "write names with what they hold: registry:acme: {hosts: [...]}");
	if (node->count / 2 > SETS_LIMIT)
		return yaml_fail(reading->ret_error, reading->name,
				 node->items[2 * (size_t)SETS_LIMIT], "remove some",
				 "more than %d sets", SETS_LIMIT);
	for (size_t i = 0; i < node->count && r == 0; i += 2) {
		if (list_has(&seen, node->items[i]->text))
			return yaml_fail(reading->ret_error, reading->name, node->items[i],
					 "join the two", "the set '%.100s' stands twice",
					 node->items[i]->text);
		list_add(&seen, node->items[i]->text);
		r = read_set(reading, node->items[i], node->items[i + 1]);
	}
	return r;
}

static int read_version(struct file_reading *reading, const struct node *node)
{
	if (node->kind == NODE_TEXT && strcmp(node->text, "1") == 0)
		return 0;
	return yaml_fail(reading->ret_error, reading->name, node, "write version: 1",
			 "this version of the format is not known");
}

int sets_file_read(struct sets *sets, const char *text, size_t length, const char *name,
		   struct error **ret_error)
{
	static const struct file_key keys[] = {{"version", read_version}, {"sets", read_sets}};
	struct file_reading reading = {.sets = sets, .name = name, .ret_error = ret_error};
	_cleanup_arena_ struct arena *arena = arena_new();
	struct node *root = NULL, place = {0};
	int r;

	if (length > POLICY_LIMIT)
		return yaml_fail(ret_error, name, &place, "shorten it",
				 "the file is longer than 1 MiB");
	r = yaml_read(arena, text, length, name, &root, ret_error);
	if (r == 0 && root)
		r = read_keys(&reading, root, keys, ELEMENTS(keys), "a file about sets");
	return r;
}
