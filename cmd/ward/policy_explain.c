/* SPDX-License-Identifier: Apache-2.0 */
/* ward policy explain: which rules speak about a command and which of them counts; what a rule
 * lets through. */
#include "output.h"
#include "policy_try.h"
#include "../../src/decide/condition.h"
#include "../../src/decide/exact.h"
#include "../../src/decide/pattern.h"
#include "../../src/request/text_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *place_of(const struct rule *rule)
{
	char *place = NULL;

	if (asprintf(&place, "%s:%d", rule->file ? rule->file : "built in", rule->line) < 0)
		abort();
	return place;
}

static const char *layer_of(const struct policy *policy, const struct rule *rule)
{
	for (size_t i = 0; rule->file && i < policy->files.count; i++)
		if (strcmp(policy->files.items[i], rule->file) == 0)
			return strncmp(rule->file, "/etc/", 5) == 0 ? "the machine's file"
			       : strstr(rule->file, "/.ward.yaml")  ? "the project's file"
								    : "the user's file";
	return rule->file ? "a file named on the command line, or included" : "built in";
}

/* circumstances: NULL where only the pattern is of interest. */
static bool matches(const struct policy *policy, const struct rule *rule, const struct plan *plan,
		    const struct circumstances *circumstances)
{
	const struct match_how how = {.home = policy->home,
				      .generous = rule->kind != VERDICT_ALLOW,
				      .guess = rule->kind != VERDICT_ALLOW,
				      .circumstances = circumstances};

	for (size_t i = 0; rule->compiled && i < plan->count; i++)
		if (pattern_matches(rule->compiled, &plan->commands[i], 0, &how))
			return true;
	return false;
}

/* What is not known speaks for a rule that asks or denies. */
static bool conditions_hold(const struct rule *rule, const struct plan *plan,
			    const struct circumstances *circumstances)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct command *command = &plan->commands[i];
		enum truth when = condition_holds(rule->when, circumstances, command, 0);
		enum truth unless =
			rule->unless ? condition_holds(rule->unless, circumstances, command, 0)
				     : TRUTH_NO;

		if (rule->kind == VERDICT_ALLOW ? when == TRUTH_YES && unless == TRUTH_NO
						: when != TRUTH_NO && unless != TRUTH_YES)
			return true;
	}
	return false;
}

/* Why the one rule does not count where the other does. */
static const char *why_lost(const struct rule *rule, const struct rule *counts, bool holds)
{
	if (!holds)
		return "its conditions do not hold";
	if (!counts)
		return rule->trusted ? "it does not mean all of the command, or something else "
				       "decides"
				     : "its file is not trusted: it can only narrow";
	if (counts->kind > rule->kind)
		return counts->kind == VERDICT_DENY ? "a rule that denies beats it"
						    : "a rule that asks beats it";
	if (counts->kind < rule->kind)
		return "the set that it stands in decides otherwise";
	if (counts->layer > rule->layer)
		return "a later file says the same kind of thing";
	return "a rule of the same kind comes before it";
}

/* A rule that matches, and whether its conditions hold. */
struct found {
	const struct rule *rule;
	bool holds;
};

struct explained {
	const struct policy *policy;
	const struct tried *tried;
	const struct rule *counts; /* NULL: no rule */
};

static json_t *rule_object(const struct explained *explained, const struct found *found)
{
	const struct rule *rule = found->rule;
	_cleanup_free_ char *place = place_of(rule);
	json_t *object = json_object();

	json_put_text(object, "rule", place);
	json_put_text(object, "pattern", rule->pattern);
	json_put_text(object, "do", verdict_name(rule->kind));
	json_put_text(object, "why", rule->why);
	json_put_text(object, "layer", layer_of(explained->policy, rule));
	json_put(object, "counts", json_boolean(rule == explained->counts));
	json_put_text(object, "lost",
		      rule == explained->counts ? NULL
						: why_lost(rule, explained->counts, found->holds));
	return object;
}

static void print_rule(const struct policy *policy, const struct rule *rule)
{
	_cleanup_free_ char *place = place_of(rule);

	fputs("  ", stdout);
	output_text(COLOUR_BOLD, place);
	printf(": %s ", verdict_name(rule->kind));
	output_text(COLOUR_NONE, rule->pattern);
	printf(" (%s)\n", layer_of(policy, rule));
	if (rule->why) {
		fputs("    why: ", stdout);
		output_text(COLOUR_NONE, rule->why);
		putchar('\n');
	}
}

static void print_found(const struct explained *explained, const struct found *found)
{
	print_rule(explained->policy, found->rule);
	if (found->rule == explained->counts)
		puts("    this one counts");
	else
		printf("    it does not count: %s\n",
		       why_lost(found->rule, explained->counts, found->holds));
}

static const char *what_without(const struct tried *tried)
{
	if (strcmp(tried->source, "rule") == 0)
		return "a rule decides";
	return tried->class == CLASS_SAFE  ? "nothing speaks against it"
	       : tried->class == CLASS_ASK ? "what it does is asked about by default"
					   : "what it does is refused by default";
}

static void print_verdict(const struct explained *explained, size_t count)
{
	const struct tried *tried = explained->tried;

	printf("%s: %s\n", verdict_name(tried->kind), what_without(tried));
	if (tried->reason) {
		fputs("  because ", stdout);
		output_text(COLOUR_NONE, tried->reason);
		putchar('\n');
	}
	if (count == 0)
		puts("  no rule matches it");
	else
		printf("  %zu rule%s:\n", count, count == 1 ? " matches it" : "s match it");
}

static void print_explained(const struct explained *explained, const struct found *found,
			    size_t count, bool json)
{
	const struct tried *tried = explained->tried;
	json_t *object = json_object(), *rules = json_array();

	if (!json)
		print_verdict(explained, count);
	for (size_t i = 0; i < count; i++)
		if (json)
			json_array_append_new(rules, rule_object(explained, &found[i]));
		else
			print_found(explained, &found[i]);
	json_put_text(object, "verdict", verdict_name(tried->kind));
	json_put_text(object, "source", tried->source);
	json_put_text(object, "class", class_name(tried->class));
	json_put_text(object, "reason", tried->reason);
	json_put(object, "rules", rules);
	if (json)
		output_json(object);
	json_decref(object);
}

static void explain_plan(struct arena *arena, struct explained *explained,
			 const struct request *request, bool json)
{
	_cleanup_circumstances_ struct circumstances circumstances = {0};
	const struct policy *policy = explained->policy;
	struct found *found = arena_new_array(arena, struct found, policy->rule_count + 1);
	struct assessment assessment;
	const struct rule *exactly;
	size_t count = 0;
	struct plan plan;

	parse_request(arena, request, &plan);
	assess_plan(arena, &plan, &assessment);
	circumstances_make(policy, request, &plan, &assessment, &circumstances);
	exactly = policy_match_exactly(policy, &circumstances, request, /* own_program= */ false);
	for (size_t i = 0; i < policy->rule_count; i++) {
		const struct rule *rule = &policy->rules[i];
		_cleanup_free_ char *place = place_of(rule);

		if (rule != exactly && !matches(policy, rule, &plan, &circumstances))
			continue;
		found[count++] = (struct found){rule, conditions_hold(rule, &plan, &circumstances)};
		if (explained->tried->rule && strcmp(explained->tried->rule, place) == 0)
			explained->counts = rule;
	}
	print_explained(explained, found, count, json);
}

static int explain_command(const struct policy_places *places, const char *script,
			   const struct list *argv, bool json, struct error **ret_error)
{
	_cleanup_policy_ struct policy *policy = NULL;
	_cleanup_tried_ struct tried tried = {0};
	const struct request request = {.mode = script ? MODE_SHELL : MODE_EXEC,
					.script = (char *)script,
					.argv = *argv,
					.cwd = (char *)places->workspace,
					.workspace = (char *)places->workspace};
	struct arena *arena;
	int r = policy_load(places, &policy, ret_error);

	if (r == 0)
		r = policy_try(places, script, argv, &tried, ret_error);
	if (r < 0)
		return r;
	arena = arena_new();
	explain_plan(arena, &(struct explained){.policy = policy, .tried = &tried}, &request, json);
	arena_free(arena);
	return 0;
}

/* A rule. */

/* "ward.yaml:12" and ":12" are enough where one rule alone lies there. */
static int find_rule(const struct policy *policy, const char *wanted, const struct rule **ret_rule,
		     struct error **ret_error)
{
	const struct rule *found = NULL;
	size_t size = strlen(wanted);

	for (size_t i = 0; i < policy->rule_count; i++) {
		_cleanup_free_ char *place = place_of(&policy->rules[i]);
		size_t length = strlen(place);

		if (length < size || strcmp(place + length - size, wanted) != 0 ||
		    (length > size && wanted[0] != ':' && place[length - size - 1] != '/'))
			continue;
		if (found) {
			fail(ret_error, E_USAGE, "'%s' means several rules", wanted);
			return error_hint(ret_error, "name the file as a whole");
		}
		found = &policy->rules[i];
	}
	if (!found) {
		fail(ret_error, E_USAGE, "there is no rule at %s", wanted);
		return error_hint(ret_error,
				  "`ward policy show` lists the rules with their places; "
				  "a command stands behind --");
	}
	*ret_rule = found;
	return 0;
}

struct shown {
	const struct rule *rule;
	json_t *examples, *counter;
};

static int show_example(void *data, const char *file, int rule_line, int line, const char *example,
			bool matched)
{
	struct shown *shown = data;

	(void)file;
	(void)line;
	if (rule_line != shown->rule->line)
		return 0;
	json_array_append_new(matched ? shown->examples : shown->counter, json_text(example));
	return 0;
}

/* The pattern as a command: of each choice the first, something for what may be anything. */
static char *plainest(const char *pattern)
{
	_cleanup_buffer_ struct buffer text = {0};

	for (const char *c = pattern; *c; c++) {
		if (*c == '|')
			c += strcspn(c, " ") - 1;
		else if (*c == '*')
			buffer_add_text(&text, c[1] == '*' ? "" : "x");
		else
			buffer_add_char(&text, *c == '?' ? 'x' : *c);
	}
	return buffer_steal(&text);
}

/* How far it goes: the command with more around it, each held against the pattern. */
static void try_wider(const struct policy *policy, const struct rule *rule, json_t *admits,
		      json_t *does_not)
{
	static const char *const forms[][2] = {
		{"", ""},
		{"", " --force"},
		{"", " --option=value more words"},
		{"", " /etc/passwd"},
		{"", " > /etc/passwd"},
		{"sh -c '", "'"},
		{"timeout 9 ", ""},
		{"NAME=value ", ""},
		{"sudo ", ""},
		{"xargs ", ""},
		{"./", ""},
	};
	_cleanup_free_ char *plain = plainest(rule->pattern);

	for (size_t i = 0; rule->compiled && i < ELEMENTS(forms); i++) {
		_cleanup_free_ char *text = NULL;
		struct arena *arena = arena_new();
		struct request request = {.mode = MODE_SHELL};
		struct plan plan;

		if (asprintf(&text, "%s%s%s", forms[i][0], plain, forms[i][1]) < 0)
			abort();
		request.script = text;
		parse_request(arena, &request, &plan);
		json_array_append_new(matches(policy, rule, &plan, NULL) ? admits : does_not,
				      json_text(text));
		arena_free(arena);
	}
}

static void print_array(const char *title, const json_t *array)
{
	size_t i;
	json_t *text;

	if (json_array_size(array))
		printf("  %s:\n", title);
	json_array_foreach ((json_t *)array, i, text) {
		fputs("    ", stdout);
		output_text(COLOUR_NONE, json_string_value(text));
		putchar('\n');
	}
}

static int explain_rule(const struct policy_places *places, const char *place, bool json,
			struct error **ret_error)
{
	_cleanup_policy_ struct policy *policy = NULL;
	const struct rule *rule = NULL;
	struct shown shown = {0};
	json_t *object, *admits, *does_not;
	int r = policy_load(places, &policy, ret_error);

	if (r == 0)
		r = find_rule(policy, place, &rule, ret_error);
	if (r < 0)
		return r;
	shown = (struct shown){.rule = rule, .examples = json_array(), .counter = json_array()};
	if (rule->file)
		r = policy_examples(rule->file, show_example, &shown, ret_error);
	admits = json_array();
	does_not = json_array();
	try_wider(policy, rule, admits, does_not);
	object = json_object();
	json_put(object, "rule",
		 rule_object(&(struct explained){.policy = policy, .counts = rule},
			     &(struct found){rule, true}));
	json_put(object, "match", shown.examples);
	json_put(object, "no_match", shown.counter);
	json_put(object, "admits", admits);
	json_put(object, "does_not_admit", does_not);
	if (r >= 0 && json) {
		output_json(object);
	} else if (r >= 0) {
		print_rule(policy, rule);
		if (rule->permissions.count) {
			fputs("    with a yes come:", stdout);
			for (size_t i = 0; i < rule->permissions.count; i++) {
				fputs(i ? ", " : " ", stdout);
				output_text(COLOUR_NONE, rule->permissions.items[i]);
			}
			putchar('\n');
		}
		print_array("its examples", shown.examples);
		print_array("its examples of what it does not mean", shown.counter);
		print_array("it means", admits);
		print_array("it does not mean", does_not);
	}
	json_decref(object);
	return r < 0 ? r : 0;
}

int policy_explain(const struct policy_places *places, const char *script, char *const *words,
		   size_t count, bool json, struct error **ret_error)
{
	const struct list argv = {.items = (char **)words, .count = count};

	if (!script && count == 0) {
		fail(ret_error, E_USAGE, "explain what?");
		return error_hint(ret_error, "`ward policy explain -- git push`, or a rule by its "
					     "place: `ward policy explain ward.yaml:12`");
	}
	if (!script && count == 1 && strchr(words[0], ':') && !strchr(words[0], ' '))
		return explain_rule(places, words[0], json, ret_error);
	return explain_command(places, script, &argv, json, ret_error);
}
