/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of tools, and how they are looked up in. */
#include "tools.h"
#include "facts.h"

#include <stdlib.h>
#include <string.h>

#include <tools-data.h> /* made by the build from data/tools */

const char *tool_text(uint32_t offset)
{
	return offset ? tool_text_block + offset : NULL;
}

static int compare(const void *name, const void *row)
{
	return strcmp(name, tool_text_block + ((const struct tool_name *)row)->name);
}

const struct tool_node *tool_find(const char *name)
{
	const struct tool_name *row =
		bsearch(name, tool_names, ELEMENTS(tool_names), sizeof(*tool_names), compare);

	if (row)
		return &tool_nodes[row->node];
	for (size_t i = 0; i < ELEMENTS(tool_globs); i++)
		if (match_one(tool_text(tool_globs[i].name), name))
			return &tool_nodes[tool_globs[i].node];
	return NULL;
}

const struct tool_node *tool_verb(const struct tool_node *node, const char *verb)
{
	const struct tool_name *verbs = &tool_verbs[node->first_verb];

	for (size_t i = 0; i < node->verb_count; i++)
		if (match_one(tool_text(verbs[i].name), verb))
			return &tool_nodes[verbs[i].node];
	return NULL;
}

const struct tool_rule *tool_rule(const struct tool_node *node, size_t i)
{
	return i < node->rule_count ? &tool_rules[node->first_rule + i] : NULL;
}

const struct tool_option *tool_option(const struct tool_node *node, size_t i)
{
	return i < node->option_count ? &tool_options[node->first_option + i] : NULL;
}

const struct effect *tool_effect(enum effect_id id)
{
	return &tool_effects[id];
}
