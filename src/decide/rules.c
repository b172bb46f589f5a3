/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of a policy file: read, and tried on their own examples. */
#include "reading.h"
#include "exact.h"

#include <stdio.h>
#include <string.h>

enum { RULE_LIMIT = 500, EXAMPLE_LIMIT = 100, EXAMPLE_LENGTH = 4096 };

bool rule_matches(const struct rule *rule, const struct command *command, size_t first,
		  const char *home)
{
	bool generous = rule->kind != VERDICT_ALLOW;
	struct match_how how = {.home = home, .generous = generous, .guess = generous};

	return rule->compiled && pattern_matches(rule->compiled, command, first, &how);
}

void rule_done(struct rule *rule)
{
	free(rule->pattern);
	list_done(&rule->exactly);
	free(rule->in);
	free(rule->why);
	free(rule->file);
	list_done(&rule->permissions);
	pattern_free(rule->compiled);
	*rule = (struct rule){0};
}

static int read_command(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	if (node->kind != NODE_TEXT)
		return read_wrong_kind(reading, node, "a pattern", "write it as git push");
	for (const char *c = node->text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return yaml_fail(reading->ret_error, reading->layer->file, node,
					 "write the pattern on one line, with spaces",
					 "a control character or a line break in a pattern");
	if (pattern_compile(node->text, &reading->rule->compiled, reading->ret_error) < 0)
		return read_place_error(reading, node);
	reading->rule->pattern = read_copy(node->text);
	return 0;
}

static int read_exactly(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	_cleanup_list_ struct list said = {0};

	(void)kind;
	if (node->kind != NODE_LIST)
		return read_wrong_kind(reading, node, "a list of words",
				       "write [make, test] or [-c, 'make && make test']");
	for (size_t i = 0; i < node->count; i++) {
		if (node->items[i]->kind != NODE_TEXT)
			return read_wrong_kind(reading, node->items[i], "a text",
					       "put the word in quotes");
		list_add(&said, node->items[i]->text);
	}
	if (exact_read(&said, &reading->rule->exactly, reading->ret_error) < 0)
		return read_place_error(reading, node);
	return 0;
}

static int read_in(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	const char *text = node->kind == NODE_TEXT ? node->text : "";

	(void)kind;
	if (text[0] != '/' && !(text[0] == '~' && (!text[1] || text[1] == '/')))
		return read_wrong_kind(reading, node, "a directory",
				       "write its whole path: /home/me/project or ~/project");
	reading->rule->in = read_copy(text);
	return 0;
}

static int read_do(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	for (int verdict = VERDICT_ALLOW; node->kind == NODE_TEXT && verdict <= VERDICT_DENY;
	     verdict++) {
		if (strcmp(verdict_name((enum verdict_kind)verdict), node->text) != 0)
			continue;
		reading->rule->kind = (enum verdict_kind)verdict;
		return 0;
	}
	if (node->kind != NODE_TEXT)
		return read_wrong_kind(reading, node, "a single word", "write allow, ask or deny");
	return yaml_fail(reading->ret_error, reading->layer->file, node, "write allow, ask or deny",
			 "'%.100s' is nothing that a rule can do", node->text);
}

static int read_why(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	if (node->kind != NODE_TEXT || !*node->text)
		return read_wrong_kind(reading, node, "a text", "write why: it publishes");
	reading->rule->why = read_copy(node->text);
	/* Shown on one line. */
	for (char *c = reading->rule->why; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
	return 0;
}

/* Lists that can be judged only when the whole rule is known. */
static int read_later(struct reading *reading, const struct node *node, const struct node **ret)
{
	if (node->kind != NODE_LIST)
		return read_wrong_kind(reading, node, "a list",
				       "write it in brackets: ['one', 'two']");
	if (node->count > EXAMPLE_LIMIT)
		return yaml_fail(reading->ret_error, reading->layer->file,
				 node->items[EXAMPLE_LIMIT], "remove some",
				 "more than %d entries in a rule's list", EXAMPLE_LIMIT);
	for (size_t i = 0; i < node->count; i++)
		if (node->items[i]->kind != NODE_TEXT)
			return read_wrong_kind(reading, node->items[i], "a text",
					       "put it in quotes: 'git push'");
	*ret = node;
	return 0;
}

static int read_permissions(struct reading *reading, const struct node *node,
			    enum setting_kind kind)
{
	(void)kind;
	return read_later(reading, node, &reading->permissions);
}

static int read_match(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_later(reading, node, &reading->match);
}

static int read_no_match(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_later(reading, node, &reading->no_match);
}

static int check_permissions(struct reading *reading)
{
	const struct node *list = reading->permissions;

	if (list && reading->rule->kind == VERDICT_DENY)
		return yaml_fail(reading->ret_error, reading->layer->file, list,
				 "remove them, or let the rule do ask or allow",
				 "a rule that denies gives no permissions");
	for (size_t i = 0; list && i < list->count; i++) {
		const struct node *item = list->items[i];

		if (value_check_permission(item->text, reading->ret_error) < 0)
			return read_place_error(reading, item);
		list_add(&reading->rule->permissions, item->text);
	}
	return 0;
}

static int check_example(struct reading *reading, const struct node *example, bool wanted)
{
	_cleanup_arena_ struct arena *arena = arena_new();
	struct request request = {.mode = MODE_SHELL, .script = (char *)example->text};
	const struct rule *rule = reading->rule;
	const char *file = reading->layer->file;
	struct plan plan;
	bool found = false;

	if (strlen(example->text) > EXAMPLE_LENGTH)
		return yaml_fail(reading->ret_error, file, example, "shorten it",
				 "an example of more than %d bytes", EXAMPLE_LENGTH);
	parse_request(arena, &request, &plan);
	if (plan.count == 0)
		return yaml_fail(reading->ret_error, file, example, "write a command as in a shell",
				 "the example holds no command");
	for (size_t i = 0; i < plan.count && !found; i++)
		found = rule_matches(rule, &plan.commands[i], 0, reading->home);
	if (found == wanted)
		return 0;
	return yaml_fail(reading->ret_error, file, example,
			 wanted ? "change the pattern or the example; an allow rule matches only "
				  "what is certain"
				: "make the pattern narrower, or remove the example",
			 wanted ? "the pattern '%s' does not match its example '%s'"
				: "the pattern '%s' matches '%s', which it must not",
			 rule->pattern, example->text);
}

static int check_examples(struct reading *reading, const struct node *list, bool wanted)
{
	int r = 0;

	for (size_t i = 0; list && i < list->count && r == 0; i++)
		r = check_example(reading, list->items[i], wanted);
	return r;
}

/* What the rule is about is said in one way only. */
static int check_meaning(struct reading *reading, const struct node *node)
{
	struct rule *rule = reading->rule;
	const char *file = reading->layer->file;

	if (rule->exactly.count == 0 && rule->in)
		return yaml_fail(reading->ret_error, file, node,
				 "write the command with exactly: [make, test]",
				 "a directory (in) is for one command exactly");
	if (rule->exactly.count == 0 && !rule->pattern)
		return yaml_fail(reading->ret_error, file, node, "write command: git push",
				 "a rule without a command");
	if (rule->exactly.count == 0)
		return 0;
	if (rule->pattern)
		return yaml_fail(reading->ret_error, file, node, "keep one of them",
				 "a rule with both command and exactly");
	if (reading->match || reading->no_match)
		return yaml_fail(reading->ret_error, file, node, "remove match and no_match",
				 "examples of one command exactly");
	rule->pattern = exact_text(&rule->exactly);
	return 0;
}

static int read_rule(struct reading *reading, const struct node *node)
{
	static const struct key keys[] = {
		{"command", read_command, 0}, {"do", read_do, 0},
		{"why", read_why, 0},	      {"permissions", read_permissions, 0},
		{"match", read_match, 0},     {"no_match", read_no_match, 0},
		{"exactly", read_exactly, 0}, {"in", read_in, 0},
	};
	struct rule *rule = reading->rule;
	int r;

	reading->permissions = reading->match = reading->no_match = NULL;
	rule->kind = (enum verdict_kind) - 1;
	r = read_map(reading, node, keys, ELEMENTS(keys), "a rule");
	if (r == 0)
		r = check_meaning(reading, node);
	if (r < 0)
		return r;
	if ((int)rule->kind < 0)
		return yaml_fail(reading->ret_error, reading->layer->file, node,
				 "write do: allow, do: ask or do: deny",
				 "the rule for '%s' does not say what to do", rule->pattern);
	if (!rule->why && rule->kind != VERDICT_ALLOW) {
		_cleanup_free_ char *text = NULL;

		if (asprintf(&text, "the rule for '%s' does not say why", rule->pattern) < 0)
			abort();
		read_warn_at(reading->layer, node->line, node->column, text);
	}
	r = check_permissions(reading);
	if (r == 0)
		r = check_examples(reading, reading->match, true);
	if (r == 0)
		r = check_examples(reading, reading->no_match, false);
	return r;
}

int read_rules(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	struct layer *layer = reading->layer;
	int r = 0;

	(void)kind;
	if (node->kind != NODE_LIST)
		return read_wrong_kind(reading, node, "a list",
				       "begin each rule with a dash: - command: git push");
	if (node->count > RULE_LIMIT)
		return yaml_fail(reading->ret_error, layer->file, node->items[RULE_LIMIT],
				 "join rules with | and globs", "more than %d rules", RULE_LIMIT);
	layer->rules = calloc(MAX(node->count, (size_t)1), sizeof(*layer->rules));
	if (!layer->rules)
		abort();
	for (size_t i = 0; i < node->count && r == 0; i++) {
		reading->rule = &layer->rules[layer->rule_count++];
		*reading->rule =
			(struct rule){.file = read_copy(layer->file), .line = node->items[i]->line};
		r = read_rule(reading, node->items[i]);
	}
	return r;
}
