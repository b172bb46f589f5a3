/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of a policy file: read, and tried on their own examples. */
#include "reading.h"
#include "exact.h"

#include <stdio.h>
#include <string.h>

enum { RULE_LIMIT = 20000, EXAMPLE_LIMIT = 100, EXAMPLE_LENGTH = 4096, PRIORITY_LIMIT = 1000000 };

/* Examples know of one workspace, and of no file system. */
static bool matches_example(const struct rule *rule, const struct command *command,
			    const char *home)
{
	bool generous = rule->kind != VERDICT_ALLOW;
	struct request request = {.workspace = (char *)"/workspace", .cwd = (char *)"/workspace"};
	const struct circumstances circumstances = {
		.request = &request, .home = home, .lexical = true};
	const struct match_how how = {.home = home,
				      .generous = generous,
				      .guess = generous,
				      .circumstances = &circumstances};

	return pattern_matches(rule->compiled, command, 0, &how);
}

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
	condition_free(rule->when);
	condition_free(rule->unless);
	*rule = (struct rule){0};
}

int read_command(struct reading *reading, const struct node *node, enum setting_kind kind)
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

int read_exactly(struct reading *reading, const struct node *node, enum setting_kind kind)
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

int read_in(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	const char *text = node->kind == NODE_TEXT ? node->text : "";

	(void)kind;
	if (text[0] != '/' && !(text[0] == '~' && (!text[1] || text[1] == '/')))
		return read_wrong_kind(reading, node, "a directory",
				       "write its whole path: /home/me/project or ~/project");
	reading->rule->in = read_copy(text);
	return 0;
}

int read_do(struct reading *reading, const struct node *node, enum setting_kind kind)
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

int read_why(struct reading *reading, const struct node *node, enum setting_kind kind)
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

int read_permissions(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_later(reading, node, &reading->permissions);
}

int read_match(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_later(reading, node, &reading->match);
}

int read_no_match(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_later(reading, node, &reading->no_match);
}

int read_when(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_condition(reading, node, &reading->rule->when);
}

int read_unless(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_condition(reading, node, &reading->rule->unless);
}

int read_preference(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	int preference = node->kind == NODE_TEXT ? preference_from_name(node->text) : -1;

	(void)kind;
	if (preference < 0)
		return read_wrong_kind(reading, node, "auto, require or forbid",
				       "write sandbox: require");
	reading->rule->sandbox = (enum preference)preference;
	return 0;
}

int read_number(struct reading *reading, const struct node *node, int *ret_number)
{
	char *end = NULL;
	long number = node->kind == NODE_TEXT ? strtol(node->text, &end, 10) : 0;

	if (!end || end == node->text || *end || labs(number) > PRIORITY_LIMIT)
		return read_wrong_kind(reading, node, "a whole number",
				       "write one from -1000000 to 1000000");
	*ret_number = (int)number;
	return 0;
}

int read_priority(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_number(reading, node, &reading->rule->priority);
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
		found = matches_example(rule, &plan.commands[i], reading->home);
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
	if (rule->exactly.count == 0 && !rule->pattern && !rule->when && !rule->unless &&
	    reading->set < 0)
		return yaml_fail(reading->ret_error, file, node, "write command: git push",
				 "a rule without a command");
	if (rule->exactly.count == 0 && !rule->pattern) {
		if (reading->match || reading->no_match)
			return yaml_fail(reading->ret_error, file, node,
					 "remove match and no_match",
					 "examples of a rule that means every command");
		rule->pattern = read_copy("*");
		rule->any = true;
		if (pattern_compile("*", &rule->compiled, reading->ret_error) < 0)
			return read_place_error(reading, node);
	}
	if (rule->exactly.count == 0 && rule->kind == VERDICT_ALLOW && rule->compiled->open)
		return yaml_fail(reading->ret_error, file, node,
				 "put it at the end, or name the words",
				 "an allow for what comes after ** is one for anything");
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
	struct rule *rule = reading->rule;
	int r;

	reading->permissions = reading->match = reading->no_match = NULL;
	rule->kind = (enum verdict_kind) - 1;
	r = read_map(reading, node, SECTION_RULE, NULL);
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
	if (rule->sandbox == PREFERENCE_FORBID && rule->kind == VERDICT_DENY)
		return yaml_fail(reading->ret_error, reading->layer->file, node,
				 "remove the key sandbox",
				 "what is denied does not run without the sandbox either");
	r = check_permissions(reading);
	if (r == 0)
		r = check_examples(reading, reading->match, true);
	if (r == 0)
		r = check_examples(reading, reading->no_match, false);
	return r;
}

int read_rule_entry(struct reading *reading, const struct node *node)
{
	struct layer *layer = reading->layer;

	if (layer->rule_count == RULE_LIMIT)
		return yaml_fail(reading->ret_error, layer->file, node,
				 "join rules with | and globs", "more than %d rules", RULE_LIMIT);
	if (layer->rule_count == layer->rule_room) {
		layer->rule_room = MAX(layer->rule_room * 2, (size_t)16);
		layer->rules = reallocarray(layer->rules, layer->rule_room, sizeof(*layer->rules));
		if (!layer->rules)
			abort();
	}
	reading->rule = &layer->rules[layer->rule_count++];
	*reading->rule = (struct rule){
		.file = read_copy(layer->file), .line = node->line, .set = reading->set};
	return read_rule(reading, node);
}

int read_rules(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	int r = 0;

	(void)kind;
	if (node->kind != NODE_LIST)
		return read_wrong_kind(reading, node, "a list",
				       "begin each rule with a dash: - command: git push");
	for (size_t i = 0; i < node->count && r == 0; i++)
		r = node_is_set(node->items[i]) ? read_set(reading, node->items[i])
						: read_rule_entry(reading, node->items[i]);
	return r;
}
