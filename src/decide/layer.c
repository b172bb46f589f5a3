/* SPDX-License-Identifier: Apache-2.0 */
/* From a tree of YAML to settings and rules: the schema as tables, and every fault with its place.
 */
#include "reading.h"
#include "../base/buffer.h"

#include <stdio.h>
#include <string.h>

enum { ENTRY_LIMIT = 1000 };

int read_wrong_kind(struct reading *reading, const struct node *node, const char *what,
		    const char *hint)
{
	return yaml_fail(reading->ret_error, reading->layer->file, node, hint,
			 "%s is wanted here, not %s", what, node_kind_name(node));
}

int read_place_error(struct reading *reading, const struct node *node)
{
	error_place(reading->ret_error, reading->layer->file, node->line, node->column);
	return -E_POLICY;
}

void read_warn_at(struct layer *layer, int line, int column, const char *text)
{
	list_add_printf(&layer->warnings, "%s:%d:%d: %s", layer->file, line, column, text);
}

char *read_copy(const char *text)
{
	char *result = strdup(text);

	if (!result)
		abort();
	return result;
}

struct setting *read_add_setting(struct reading *reading, const struct node *node,
				 enum setting_kind kind, const char *text)
{
	struct layer *layer = reading->layer;
	struct setting *setting;

	if (layer->count == layer->room) {
		layer->room = MAX(layer->room * 2, (size_t)16);
		layer->settings = reallocarray(layer->settings, layer->room, sizeof(*setting));
		if (!layer->settings)
			abort();
	}
	setting = &layer->settings[layer->count++];
	*setting = (struct setting){
		.kind = kind, .text = read_copy(text), .line = node->line, .column = node->column};
	if (reading->profile)
		setting->profile = read_copy(reading->profile);
	return setting;
}

int read_value(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	uint64_t number = 0;

	if (node->kind != NODE_TEXT)
		return read_wrong_kind(reading, node, "a single value", "write the value alone");
	if (value_check(kind, node->text, reading->walls, &number, reading->ret_error) < 0)
		return read_place_error(reading, node);
	read_add_setting(reading, node, kind, node->text)->number = number;
	return 0;
}

int read_list(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	if (node->kind != NODE_LIST)
		return read_wrong_kind(reading, node, "a list",
				       "write it in brackets: [one, another]");
	for (size_t i = 0; i < node->count; i++) {
		int r = read_value(reading, node->items[i], kind);

		if (r < 0)
			return r;
	}
	return 0;
}

static int unknown_key(struct reading *reading, const struct node *key,
		       const struct schema_section *section, const char *where)
{
	_cleanup_buffer_ struct buffer hint = {0};

	for (size_t k = 0; k < section->count; k++)
		buffer_printf(&hint, "%s%s", k ? ", " : "the keys here are ",
			      section->keys[k].name);
	return yaml_fail(reading->ret_error, reading->layer->file, key, buffer_text(&hint),
			 "unknown key '%.100s' in %s", key->text, where);
}

int read_map(struct reading *reading, const struct node *node, enum section section,
	     const char *name)
{
	const struct schema_section *schema = &policy_schema[section];
	const char *where = name ? name : schema->name;
	unsigned seen = 0;

	if (node->kind != NODE_MAP)
		return read_wrong_kind(reading, node, "a group of keys",
				       "write keys with their values: key: value");
	for (size_t i = 0; i < node->count; i += 2) {
		const struct node *key = node->items[i];
		size_t k = 0;
		int r;

		while (k < schema->count && strcmp(schema->keys[k].name, key->text) != 0)
			k++;
		if (k == schema->count)
			return unknown_key(reading, key, schema, where);
		if (seen >> k & 1)
			return yaml_fail(reading->ret_error, reading->layer->file, key,
					 "join the two", "the key '%s' stands twice in %s",
					 key->text, where);
		seen |= 1u << k;
		r = schema->keys[k].read(reading, node->items[i + 1], schema->keys[k].kind);
		if (r < 0)
			return r;
	}
	return 0;
}

int read_files(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_map(reading, node, SECTION_FILES, NULL);
}

int read_network(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_map(reading, node, SECTION_NETWORK, NULL);
}

int read_limits(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_map(reading, node, SECTION_LIMITS, NULL);
}

int read_calls(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_map(reading, node, SECTION_SYSCALLS, NULL);
}

/* The entries of a map whose keys are names of the writer's choice. */
int read_check_entries(struct reading *reading, const struct node *node, const char *where)
{
	if (node->kind != NODE_MAP)
		return read_wrong_kind(reading, node, "a group of keys",
				       "write names with their values: name: value");
	if (node->count / 2 > ENTRY_LIMIT)
		return yaml_fail(reading->ret_error, reading->layer->file,
				 node->items[2 * (size_t)ENTRY_LIMIT], "remove some",
				 "more than %d entries in %s", ENTRY_LIMIT, where);
	for (size_t i = 0; i < node->count; i += 2)
		for (size_t k = 0; k < i; k += 2)
			if (strcmp(node->items[i]->text, node->items[k]->text) == 0)
				return yaml_fail(reading->ret_error, reading->layer->file,
						 node->items[i], "join the two",
						 "the key '%.100s' stands twice in %s",
						 node->items[i]->text, where);
	return 0;
}

int read_set_variables(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	int r = read_check_entries(reading, node, "set");

	for (size_t i = 0; r == 0 && i < node->count; i += 2) {
		const struct node *key = node->items[i], *value = node->items[i + 1];
		_cleanup_free_ char *joined = NULL;
		uint64_t number;

		if (!value_is_variable(key->text))
			return yaml_fail(reading->ret_error, reading->layer->file, key,
					 "write a name such as NPM_TOKEN",
					 "'%.100s' is not the name of a variable", key->text);
		if (value->kind != NODE_TEXT)
			return read_wrong_kind(reading, value, "a single value",
					       "write the value alone");
		if (value_check(kind, value->text, NULL, &number, reading->ret_error) < 0)
			return read_place_error(reading, value);
		if (asprintf(&joined, "%s=%s", key->text, value->text) < 0)
			abort();
		read_add_setting(reading, key, kind, joined);
	}
	return r;
}

int read_environment(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_map(reading, node, SECTION_ENVIRONMENT, NULL);
}

int read_sandbox(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_map(reading, node, SECTION_SANDBOX, NULL);
}

int read_profiles(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	int r = read_check_entries(reading, node, "profiles");

	for (size_t i = 0; r == 0 && i < node->count; i += 2) {
		const struct node *key = node->items[i];
		struct layer *layer = reading->layer;
		size_t before;
		uint64_t number;

		if (value_check(SET_PROFILE, key->text, NULL, &number, reading->ret_error) < 0)
			return read_place_error(reading, key);
		reading->profile = key->text;
		read_add_setting(reading, key, kind, key->text);
		before = layer->count;
		r = read_map(reading, node->items[i + 1], SECTION_SANDBOX, "a profile");
		if (r == 0 && layer->count == before)
			read_warn_at(layer, key->line, key->column, "this profile sets nothing");
		reading->profile = NULL;
	}
	return r;
}

int read_tiers(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_map(reading, node, SECTION_TIERS, NULL);
}

int read_version(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	if (node->kind == NODE_TEXT && strcmp(node->text, "1") == 0)
		return 0;
	return yaml_fail(reading->ret_error, reading->layer->file, node, "write version: 1",
			 "this version of the format is not known");
}

int read_includes(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	struct layer *layer = reading->layer;

	(void)kind;
	if (node->kind != NODE_LIST)
		return read_wrong_kind(reading, node, "a list of files",
				       "write it in brackets: [base.yaml]");
	if (node->count > INCLUDE_LIMIT)
		return yaml_fail(reading->ret_error, layer->file, node->items[INCLUDE_LIMIT],
				 "join some of the files", "more than %d files to include",
				 INCLUDE_LIMIT);
	for (size_t i = 0; i < node->count; i++) {
		const struct node *item = node->items[i];

		if (item->kind != NODE_TEXT || !*item->text)
			return read_wrong_kind(reading, item, "the name of a file",
					       "write base.yaml, ~/policies/base.yaml or a whole "
					       "path");
		list_add(&layer->includes, item->text);
		layer->include_lines[i] = item->line;
	}
	return 0;
}

static void read_done(struct reading *reading)
{
	arena_free(reading->arena);
}

int layer_parse(const char *text, size_t length, const char *name, const struct list *walls,
		const char *home, struct layer **ret_layer, struct error **ret_error)
{
	_cleanup_error_ struct error *error = NULL;
	__attribute__((cleanup(read_done))) struct reading reading = {
		.walls = walls, .home = home, .arena = arena_new(), .set = -1, .ret_error = &error};
	struct layer *layer = calloc(1, sizeof(*layer));
	struct node *root = NULL;
	int r;

	if (!layer)
		abort();
	layer->file = read_copy(name);
	reading.layer = layer;
	if (length > POLICY_LIMIT) {
		struct node place = {0};

		r = yaml_fail(&error, name, &place, "shorten it: a policy is written by people",
			      "the file is longer than 4 MiB");
	} else {
		r = yaml_read(reading.arena, text, length, name, &root, &error);
	}
	if (r == 0 && root)
		r = read_map(&reading, root, SECTION_TOP, NULL);
	if (r == 0 && layer->count == 0 && layer->rule_count == 0 && layer->caller_count == 0 &&
	    layer->listener_count == 0 && !layer->assessor.url && layer->trust.line == 0 &&
	    layer->includes.count == 0 && layer->routing.rule_count == 0 &&
	    layer->routing.groups.count == 0 && layer->routing.people.count == 0 &&
	    layer->routing.owners.count == 0 && layer->routing.environments.count == 0)
		read_warn_at(layer, 1, 1, "the file says nothing");
	if (r < 0) {
		layer_free(layer);
		if (ret_error) {
			error_free(*ret_error);
			*ret_error = STEAL(error);
		}
		return r;
	}
	*ret_layer = layer;
	return 0;
}

void layer_free(struct layer *layer)
{
	if (!layer)
		return;
	for (size_t i = 0; i < layer->count; i++) {
		free(layer->settings[i].profile);
		free(layer->settings[i].text);
	}
	for (size_t i = 0; i < layer->rule_count; i++)
		rule_done(&layer->rules[i]);
	for (size_t i = 0; i < layer->caller_count; i++)
		caller_rule_done(&layer->callers[i]);
	for (size_t i = 0; i < layer->set_count; i++)
		rule_set_done(&layer->sets[i]);
	free(layer->sets);
	list_done(&layer->includes);
	free(layer->callers);
	for (size_t i = 0; i < layer->listener_count; i++)
		listener_rule_done(&layer->listeners[i]);
	free(layer->listeners);
	routing_done(&layer->routing);
	assessor_done(&layer->assessor);
	notify_done(&layer->notify);
	trust_rules_done(&layer->trust);
	free(layer->settings);
	free(layer->rules);
	free(layer->file);
	list_done(&layer->warnings);
	free(layer);
}
