/* SPDX-License-Identifier: Apache-2.0 */
/* ward policy test: what a policy is expected to say about commands, held against what it says. */
#include "output.h"
#include "policy_try.h"
#include "../../src/base/io.h"
#include "../../src/base/path.h"
#include "../../src/decide/yaml.h"
#include "../../src/request/text_json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_FAILED = 1, TEST_LIMIT = 4 * 1024 * 1024 };

/* One test. Borrowed. What is NULL is not looked at. */
struct test {
	const char *file;
	int line;
	const char *command; /* shell text; NULL: argv */
	struct list argv;
	const char *expect, *rule, *level, *risk, *class, *reason, *source;
	const char *not_rule; /* a rule that must not be the one behind it */
};

static const struct {
	const char *name;
	size_t offset;
} fields[] = {
	{"command", offsetof(struct test, command)}, {"expect", offsetof(struct test, expect)},
	{"rule", offsetof(struct test, rule)},	     {"level", offsetof(struct test, level)},
	{"risk", offsetof(struct test, risk)},	     {"class", offsetof(struct test, class)},
	{"reason", offsetof(struct test, reason)},   {"source", offsetof(struct test, source)},
};

static const char **field_of(struct test *test, const char *name)
{
	for (size_t i = 0; i < ELEMENTS(fields); i++)
		if (strcmp(fields[i].name, name) == 0)
			return (const char **)((char *)test + fields[i].offset);
	return NULL;
}

struct running {
	const struct policy_places *places;
	const struct policy *policy;
	bool json;
	size_t count, failed;
	struct error **ret_error;
};

/* "ward.yaml:12" and "12" mean "/etc/ward/ward.yaml:12". */
static bool is_place(const char *place, const char *wanted)
{
	size_t length = place ? strlen(place) : 0, size = strlen(wanted);

	return place && length >= size && strcmp(place + length - size, wanted) == 0 &&
	       (length == size || strchr("/:", place[length - size - 1]));
}

static bool same(const char *wanted, const char *actual)
{
	return !wanted || (actual && strcmp(wanted, actual) == 0);
}

/* The first thing that is not as it should be, in words; NULL: all of it is. */
static const char *find_fault(const struct test *test, const struct tried *tried)
{
	if (!same(test->expect, verdict_name(tried->kind)))
		return "verdict";
	if (test->rule && !is_place(tried->rule, test->rule))
		return "rule";
	if (test->not_rule && tried->rule && strcmp(tried->rule, test->not_rule) == 0)
		return "rule";
	if (!same(test->level, level_name(tried->level)))
		return "level";
	if (!same(test->risk, risk_name(tried->risk)))
		return "risk";
	if (!same(test->class, class_name(tried->class)))
		return "class";
	if (!same(test->source, tried->source))
		return "source";
	if (test->reason && (!tried->reason || !strstr(tried->reason, test->reason)))
		return "reason";
	return NULL;
}

static void print_part(const char *name, const char *wanted, const char *actual)
{
	if (!wanted)
		return;
	printf("    %s: expected ", name);
	output_text(COLOUR_NONE, wanted);
	fputs(", is ", stdout);
	output_text(COLOUR_NONE, actual ? actual : "none");
	putchar('\n');
}

static void print_failure(const struct test *test, const struct tried *tried)
{
	_cleanup_buffer_ struct buffer place = {0};

	buffer_printf(&place, "%s:%d: ", test->file, test->line);
	output_text(COLOUR_RED, buffer_text(&place));
	for (size_t i = 0; i < test->argv.count; i++) {
		fputs(i ? " " : "", stdout);
		output_text(COLOUR_NONE, test->argv.items[i]);
	}
	output_text(COLOUR_NONE, test->command ? test->command : "");
	printf("\n    verdict: expected %s, is %s\n", test->expect ? test->expect : "any",
	       verdict_name(tried->kind));
	print_part("rule", test->rule, tried->rule);
	print_part("level", test->level, level_name(tried->level));
	print_part("risk", test->risk, risk_name(tried->risk));
	print_part("class", test->class, class_name(tried->class));
	print_part("source", test->source, tried->source);
	print_part("reason", test->reason, tried->reason);
	if (test->not_rule)
		puts("    it is an example of what the rule does not match");
	if (!test->rule) {
		fputs("    behind it: ", stdout);
		output_text(COLOUR_NONE, tried->rule	 ? tried->rule
					 : tried->reason ? tried->reason
							 : "no rule");
		putchar('\n');
	}
}

static void print_object(const struct test *test, const struct tried *tried, const char *fault)
{
	json_t *object = json_object();

	json_put_text(object, "file", test->file);
	json_put(object, "line", json_integer(test->line));
	json_put_text(object, "command", test->command);
	if (test->argv.count)
		json_put_list(object, "argv", &test->argv);
	json_put_text(object, "expect", test->expect);
	json_put_text(object, "verdict", verdict_name(tried->kind));
	json_put_text(object, "rule", tried->rule);
	json_put_text(object, "source", tried->source);
	json_put_text(object, "reason", tried->reason);
	json_put(object, "ok", json_boolean(!fault));
	json_put_text(object, "fault", fault);
	output_json(object);
	json_decref(object);
}

static int run(struct running *running, const struct test *test)
{
	_cleanup_tried_ struct tried tried = {0};
	const char *fault;
	int r = policy_try(running->places, test->command, &test->argv, &tried, running->ret_error);

	if (r < 0)
		return r;
	fault = find_fault(test, &tried);
	running->count++;
	running->failed += fault != NULL;
	if (running->json)
		print_object(test, &tried, fault);
	else if (fault)
		print_failure(test, &tried);
	return 0;
}

static int check_test(const struct test *test, const struct node *node, struct error **ret_error)
{
	if (!test->command == !test->argv.count)
		return yaml_fail(ret_error, test->file, node,
				 "write {command: git push, expect: ask}",
				 "a test has either `command` or `argv`");
	if (!test->expect || !parse_word_in("allow ask deny", test->expect, strlen(test->expect)))
		return yaml_fail(ret_error, test->file, node, "write expect: allow, ask or deny",
				 "a test says what is expected");
	return 0;
}

static int read_test(struct running *running, const char *file, const struct node *node)
{
	struct test test = {.file = file, .line = node->line};
	int r = 0;

	if (node->kind != NODE_MAP)
		return yaml_fail(running->ret_error, file, node,
				 "write - {command: git push, expect: ask}",
				 "a test is a group of keys, not %s", node_kind_name(node));
	for (size_t i = 0; r == 0 && i + 1 < node->count; i += 2) {
		const struct node *key = node->items[i], *value = node->items[i + 1];
		const char **field = field_of(&test, key->text);
		bool words = strcmp(key->text, "argv") == 0 && value->kind == NODE_LIST;

		for (size_t j = 0; words && j < value->count; j++)
			list_add(&test.argv, value->items[j]->text ? value->items[j]->text : "");
		if (field && value->kind == NODE_TEXT)
			*field = value->text;
		else if (!words)
			r = yaml_fail(running->ret_error, file, key,
				      "the keys are command or argv, expect, rule, level, risk, "
				      "class, reason and source",
				      "'%s' is no key of a test, or has no value", key->text);
	}
	if (r == 0)
		r = check_test(&test, node, running->ret_error);
	if (r == 0)
		r = run(running, &test);
	list_done(&test.argv);
	return r;
}

/* One object a line is YAML, too; so each line is read as a text of its own. */
static int read_lines(struct running *running, const char *file, const char *text)
{
	int r = 0;

	for (int line = 1; r == 0 && *text; line++) {
		size_t length = strcspn(text, "\n"), blank = strspn(text, " \t\r");
		struct arena *arena = arena_new();
		struct node *root = NULL;

		if (blank < length && text[blank] != '#')
			r = yaml_read(arena, text, length, file, &root, running->ret_error);
		if (r < 0) {
			error_place(running->ret_error, file, line, 1);
		} else if (root) {
			root->line = line;
			r = read_test(running, file, root);
		}
		arena_free(arena);
		text += length + (text[length] == '\n');
	}
	return r;
}

static int read_tree(struct running *running, const char *file, const struct node *root)
{
	int r = 0;

	if (!root)
		return 0;
	if (root->kind != NODE_MAP || root->count != 2 ||
	    strcmp(root->items[0]->text, "tests") != 0 || root->items[1]->kind != NODE_LIST)
		return yaml_fail(running->ret_error, file, root,
				 "write `tests:` and a list below it, or one JSON object a line",
				 "this is no file of tests");
	for (size_t i = 0; r == 0 && i < root->items[1]->count; i++)
		r = read_test(running, file, root->items[1]->items[i]);
	return r;
}

static int test_file(struct running *running, const char *file)
{
	struct arena *arena = arena_new();
	_cleanup_free_ char *text = NULL;
	struct node *root = NULL;
	size_t length;
	int r = read_file(AT_FDCWD, file, TEST_LIMIT, &text, &length);

	if (r < 0) {
		fail_errno(running->ret_error, E_INPUT, -r, "reading %s", file);
		r = error_hint(running->ret_error, "name files of tests; docs/policy.md has one");
	} else if (text[strspn(text, " \t\r\n")] == '{') {
		r = read_lines(running, file, text);
	} else {
		r = yaml_read(arena, text, length, file, &root, running->ret_error);
		if (r == 0)
			r = read_tree(running, file, root);
	}
	arena_free(arena);
	return r;
}

/* What a rule says about an example is what the whole policy should say, unless something stricter
 * holds: then the rule is not what decides, and somebody relies on it. */
static int test_example(void *data, const char *file, int rule_line, int line, const char *example,
			bool matches)
{
	struct running *running = data;
	struct test test = {.file = file, .line = line, .command = example};
	_cleanup_free_ char *place = NULL;

	if (asprintf(&place, "%s:%d", file, rule_line) < 0)
		abort();
	if (!matches)
		test.not_rule = place;
	for (size_t i = 0; matches && i < running->policy->rule_count; i++) {
		const struct rule *rule = &running->policy->rules[i];

		if (rule->file && rule->line == rule_line && strcmp(rule->file, file) == 0)
			test.expect = verdict_name(rule->kind);
	}
	return run(running, &test);
}

/* ward.yaml's tests lie beside it in ward.tests.yaml. Caller frees. */
static char *tests_of(const char *file)
{
	size_t length = strlen(file);
	char *path = NULL;

	if (length > 5 && strcmp(file + length - 5, ".yaml") == 0)
		length -= 5;
	if (asprintf(&path, "%.*s.tests.yaml", (int)length, file) < 0)
		abort();
	return path;
}

static int test_all(struct running *running)
{
	_cleanup_list_ struct list paths = {0};
	int r = 0;

	for (size_t i = 0; r >= 0 && i < running->policy->files.count; i++)
		r = policy_examples(running->policy->files.items[i], test_example, running,
				    running->ret_error);
	policy_paths(running->places, &paths);
	for (size_t i = 0; r >= 0 && i < paths.count; i++) {
		_cleanup_free_ char *tests = tests_of(paths.items[i]);

		if (access(tests, F_OK) == 0)
			r = test_file(running, tests);
	}
	return r;
}

int policy_test(const struct policy_places *places, char *const *files, size_t count, bool json,
		struct error **ret_error)
{
	_cleanup_policy_ struct policy *policy = NULL;
	struct running running = {.places = places, .json = json, .ret_error = ret_error};
	int r = policy_load(places, &policy, ret_error);

	if (r < 0)
		return r;
	running.policy = policy;
	for (size_t i = 0; r == 0 && i < count; i++)
		r = test_file(&running, files[i]);
	if (r == 0 && count == 0)
		r = test_all(&running);
	if (r < 0)
		return r;
	if (!json)
		printf("%zu test%s, %zu failed\n", running.count, running.count == 1 ? "" : "s",
		       running.failed);
	return running.failed ? EXIT_FAILED : 0;
}
