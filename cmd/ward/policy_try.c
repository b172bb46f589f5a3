/* SPDX-License-Identifier: Apache-2.0 */
/* One command held against the policy in force, and the examples that a policy file holds. */
#include "policy_try.h"
#include "../../src/base/io.h"
#include "../../src/decide/decide.h"
#include "../../src/decide/yaml.h"
#include "../../src/flow.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static char *copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

static void keep(const struct plan *plan, const struct assessment *assessment,
		 const struct verdict *verdict, void *data)
{
	struct tried *tried = data;

	(void)plan;
	*tried = (struct tried){.kind = verdict->kind,
				.class = assessment->class,
				.risk = assessment->risk,
				.level = verdict->level,
				.source = copy(verdict->source),
				.rule = copy(verdict->rule),
				.reason = copy(verdict->reason)};
}

int policy_try(const struct policy_places *places, const char *script, const struct list *argv,
	       struct tried *ret_tried, struct error **ret_error)
{
	_cleanup_request_ struct request request;

	request_init(&request);
	request.mode = script ? MODE_SHELL : MODE_EXEC;
	request.script = copy(script);
	for (size_t i = 0; !script && i < argv->count; i++)
		list_add(&request.argv, argv->items[i]);
	request.workspace = strdup(places->workspace);
	request.cwd = strdup(places->workspace);
	request.policy = copy(places->extra);
	return flow_check(&request, keep, ret_tried, ret_error);
}

void tried_done(struct tried *tried)
{
	free(tried->source);
	free(tried->rule);
	free(tried->reason);
	*tried = (struct tried){0};
}

struct walk {
	const char *file;
	int (*visit)(void *data, const char *file, int rule_line, int line, const char *example,
		     bool matches);
	void *data;
};

static int visit_list(const struct walk *walk, const struct node *rule, const struct node *list,
		      bool matches)
{
	int r = 0;

	for (size_t i = 0; list->kind == NODE_LIST && r >= 0 && i < list->count; i++)
		if (list->items[i]->kind == NODE_TEXT)
			r = walk->visit(walk->data, walk->file, rule->line, list->items[i]->line,
					list->items[i]->text, matches);
	return r;
}

/* Rules may stand in others, under keys that are not this file's business. */
static int visit_rules(const struct walk *walk, const struct node *node)
{
	int r = 0;

	if (node->kind == NODE_LIST)
		for (size_t i = 0; r >= 0 && i < node->count; i++)
			r = visit_rules(walk, node->items[i]);
	for (size_t i = 0; node->kind == NODE_MAP && r >= 0 && i + 1 < node->count; i += 2) {
		const char *key = node->items[i]->text;
		const struct node *value = node->items[i + 1];

		if (strcmp(key, "match") == 0 || strcmp(key, "no_match") == 0)
			r = visit_list(walk, node, value, key[0] == 'm');
		else if (value->kind != NODE_TEXT)
			r = visit_rules(walk, value);
	}
	return r;
}

int policy_examples(const char *file,
		    int (*visit)(void *data, const char *file, int rule_line, int line,
				 const char *example, bool matches),
		    void *data, struct error **ret_error)
{
	const struct walk walk = {.file = file, .visit = visit, .data = data};
	struct arena *arena = arena_new();
	_cleanup_free_ char *text = NULL;
	struct node *root = NULL;
	size_t length;
	int r = read_file(AT_FDCWD, file, POLICY_LIMIT, &text, &length);

	if (r < 0)
		r = fail_errno(ret_error, E_POLICY, -r, "reading %s", file);
	if (r == 0)
		r = yaml_read(arena, text, length, file, &root, ret_error);
	for (size_t i = 0; r >= 0 && root && root->kind == NODE_MAP && i + 1 < root->count; i += 2)
		if (strcmp(root->items[i]->text, "rules") == 0)
			r = visit_rules(&walk, root->items[i + 1]);
	arena_free(arena);
	return r;
}
