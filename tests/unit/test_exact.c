/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for one command and no other: what they match, and that what is written for an answer reads
 * back as that one rule, whatever the command holds. */
#include "../../src/base/buffer.h"
#include "../../src/decide/exact.h"
#include "../../src/decide/index.h"
#include "../../src/decide/layer.h"
#include "../../src/decide/remember.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { ROUNDS = 4000 };

/* A file with one rule; the caller's word for what it says. */
static struct layer *read_rule(const char *rule)
{
	_cleanup_error_ struct error *error = NULL;
	_cleanup_buffer_ struct buffer text = {0};
	struct layer *layer = NULL;

	buffer_add_text(&text, "rules:\n");
	for (const char *line = rule; *line;) {
		size_t length = strcspn(line, "\n") + 1;

		buffer_printf(&text, "  %.*s", (int)length, line);
		line += length;
	}
	if (layer_parse(text.data, text.length, "f", NULL, "/home/me", &layer, &error) < 0)
		fail_msg("%s: %s", text.data, error->message);
	return layer;
}

static const char *fault(const char *rule)
{
	static char message[400];
	_cleanup_error_ struct error *error = NULL;
	struct layer *layer = NULL;
	char text[1000];

	snprintf(text, sizeof(text), "rules: [%s]", rule);
	if (layer_parse(text, strlen(text), "f", NULL, "/home/me", &layer, &error) == 0) {
		layer_free(layer);
		return "";
	}
	assert_true(error->hint && error->line == 1 && error->column > 0);
	snprintf(message, sizeof(message), "%s", error->message);
	return message;
}

static struct list words(const char *const *items)
{
	struct list list = {0};

	for (; *items; items++)
		list_add(&list, *items);
	return list;
}
#define WORDS(...) words((const char *const[]){__VA_ARGS__, NULL})

static bool matches_as(const char *rule, const struct request *request, bool own_program)
{
	struct layer *layer = read_rule(rule);
	struct policy policy = {
		.rules = layer->rules, .rule_count = layer->rule_count, .home = "/home/me"};
	bool found;

	policy_index_make(&policy);
	found = policy_match_exactly(&policy, NULL, request, own_program) != NULL;
	policy_index_free(policy.index);
	layer_free(layer);
	return found;
}

static bool matches(const char *rule, const struct request *request)
{
	return matches_as(rule, request, false);
}

static void one_command_in_one_directory_and_nothing_else(void **state)
{
	static const char rule[] =
		"- {exactly: [python3, run.py, -x], in: /srv/a, do: deny, why: w}\n";
	struct request request = {.mode = MODE_EXEC,
				  .argv = WORDS("python3", "run.py", "-x"),
				  .cwd = (char *)"/srv/a"};
	struct list was = request.argv;

	(void)state;
	assert_true(matches(rule, &request));
	request.cwd = (char *)"/srv/a/b";
	assert_false(matches(rule, &request));
	request.cwd = (char *)"/srv";
	assert_false(matches(rule, &request));
	request.cwd = (char *)"/srv/a";
	list_add(&request.environment, "A=1");
	assert_false(matches(rule, &request));
	list_done(&request.environment);
	request.login = true;
	assert_false(matches(rule, &request));
	request.login = false;
	request.shell = (char *)"/bin/sh";
	assert_false(matches(rule, &request));
	request.shell = NULL;
	request.mode = MODE_PATCH;
	assert_false(matches(rule, &request));
	request.mode = MODE_SHELL;
	request.argv = (struct list){0};
	request.script = (char *)"python3 run.py -x";
	assert_false(matches(rule, &request));
	request.mode = MODE_EXEC;
	request.script = NULL;
	request.argv = WORDS("python3", "run.py", "-x", "");
	assert_false(matches(rule, &request));
	list_done(&request.argv);
	request.argv = WORDS("python3", "run.py");
	assert_false(matches(rule, &request));
	list_done(&request.argv);
	request.argv = WORDS("/usr/bin/python3", "run.py", "-x");
	assert_false(matches(rule, &request));
	list_done(&request.argv);
	request.argv = WORDS("python3", "run.py -x");
	assert_false(matches(rule, &request));
	list_done(&request.argv);
	list_done(&was);
}

static void a_script_is_compared_as_text(void **state)
{
	static const char rule[] =
		"- {exactly: [-c, 'make && ./run'], in: ~/a, do: deny, why: w}\n";
	struct request request = {
		.mode = MODE_SHELL, .script = (char *)"make && ./run", .cwd = (char *)"/home/me/a"};

	(void)state;
	assert_true(matches(rule, &request));
	request.script = (char *)"make &&  ./run";
	assert_false(matches(rule, &request));
	request.script = (char *)"make && ./run\n";
	assert_false(matches(rule, &request));
	request = (struct request){.mode = MODE_EXEC,
				   .argv = WORDS("-c", "make && ./run"),
				   .cwd = (char *)"/home/me/a"};
	assert_false(matches(rule, &request));
	list_done(&request.argv);
}

static void what_alters_a_command_is_part_of_it(void **state)
{
	static const char rule[] =
		"- {exactly: [--env, A=1, --env, B=2, --shell, /bin/zsh, --login, -c, x], "
		"do: deny, why: w}\n";
	struct request request = {.mode = MODE_SHELL,
				  .script = (char *)"x",
				  .shell = (char *)"/bin/zsh",
				  .login = true,
				  .environment = WORDS("A=1", "B=2"),
				  .cwd = (char *)"/anywhere"};

	(void)state;
	assert_true(matches(rule, &request));
	request.login = false;
	assert_false(matches(rule, &request));
	request.login = true;
	request.shell = NULL;
	assert_false(matches(rule, &request));
	request.shell = (char *)"/bin/zsh";
	list_done(&request.environment);
	request.environment = WORDS("A=1", "B=3");
	assert_false(matches(rule, &request));
	list_done(&request.environment);
}

static void a_name_that_commands_could_take_over_is_not_allowed(void **state)
{
	struct request request = {
		.mode = MODE_EXEC, .argv = WORDS("build"), .cwd = (char *)"/srv/a"};

	(void)state;
	assert_true(matches_as("- {exactly: [build], do: allow}\n", &request, false));
	assert_false(matches_as("- {exactly: [build], do: allow}\n", &request, true));
	assert_true(matches_as("- {exactly: [build], do: deny, why: w}\n", &request, true));
	list_done(&request.argv);
}

static void a_command_that_looks_like_an_option_stands_behind_two_dashes(void **state)
{
	struct request request = {
		.mode = MODE_EXEC, .argv = WORDS("--", "-c", "x"), .cwd = (char *)"/"};
	_cleanup_list_ struct list said = {0};

	(void)state;
	assert_true(exact_words(&request, &said));
	assert_int_equal(said.count, 4);
	assert_true(matches("- {exactly: [--, --, -c, x], do: allow}\n", &request));
	assert_false(matches("- {exactly: [--, -c, x], do: allow}\n", &request));
	list_done(&request.argv);
	request.argv = WORDS("make", "--", "x");
	assert_true(matches("- {exactly: [--, make, --, x], do: allow}\n", &request));
	assert_true(matches("- {exactly: [make, --, x], do: allow}\n", &request));
	list_done(&request.argv);
}

static void what_is_no_command_is_an_error_with_its_place(void **state)
{
	static const struct {
		const char *rule, *part;
	} faults[] = {
		{"{exactly: [], do: allow}", "no command"},
		{"{exactly: [--], do: allow}", "no command"},
		{"{exactly: [''], do: allow}", "no command"},
		{"{exactly: make, do: allow}", "list of words"},
		{"{exactly: true, do: allow}", "list of words"},
		{"{exactly: [[make]], do: allow}", "a text"},
		{"{exactly: [-c], do: allow}", "followed by the script"},
		{"{exactly: [-c, a, b], do: allow}", "followed by the script"},
		{"{exactly: [--quiet, make], do: allow}", "no option that stands there"},
		{"{exactly: [--login, --env, A=1, make], do: allow}", "no option that stands"},
		{"{exactly: [--shell, a, --shell, b, make], do: allow}", "no option that stands"},
		{"{exactly: [--env, A, make], do: allow}", "nothing that fits follows --env"},
		{"{exactly: [--env], do: allow}", "nothing that fits follows --env"},
		{"{exactly: [make], command: make, do: allow}", "both command and exactly"},
		{"{exactly: [make], match: [make], do: allow}", "examples"},
		{"{exactly: [make], no_match: [make], do: allow}", "examples"},
		{"{exactly: [make]}", "does not say what to do"},
		{"{exactly: [make], in: sub, do: allow}", "a directory"},
		{"{exactly: [make], in: ~you, do: allow}", "a directory"},
		{"{exactly: [make], in: [/a], do: allow}", "a directory"},
		{"{command: make, in: /a, do: allow}", "for one command exactly"},
		{"{in: /a, do: allow}", "for one command exactly"},
		{"{do: allow}", "without a command"},
	};

	(void)state;
	assert_string_equal(fault("{exactly: [make], in: ~, do: allow}"), "");
	for (size_t i = 0; i < ELEMENTS(faults); i++)
		if (!strstr(fault(faults[i].rule), faults[i].part))
			fail_msg("%s: %s", faults[i].rule, fault(faults[i].rule));
}

static void secrets_and_long_commands_are_not_kept(void **state)
{
	struct request request = {
		.mode = MODE_EXEC, .argv = WORDS("make"), .cwd = (char *)"/srv/a"};
	char *long_text = calloc(1, EXACT_LENGTH + 1);

	(void)state;
	assert_true(exact_is_keepable(&request));
	list_add(&request.environment, "CFLAGS=-O2");
	assert_true(exact_is_keepable(&request));
	list_add(&request.environment, "API_TOKEN=x");
	assert_false(exact_is_keepable(&request));
	list_done(&request.environment);
	memset(long_text, 'x', EXACT_LENGTH);
	list_add(&request.argv, long_text);
	assert_false(exact_is_keepable(&request));
	list_done(&request.argv);
	free(long_text);
	for (size_t i = 0; i <= EXACT_WORDS; i++)
		list_add(&request.argv, "w");
	assert_false(exact_is_keepable(&request));
	list_done(&request.argv);
}

/* What is written must be this rule, the only one, to the byte. */
static void check_there_and_back(const struct rule *rule)
{
	_cleanup_free_ char *text = remember_rule(rule), *again = NULL;
	struct layer *layer;
	const struct rule *read;

	assert_non_null(text);
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' && *c != '\n')
			fail_msg("a control character in %s", text);
	layer = read_rule(text);
	assert_int_equal(layer->rule_count, 1);
	assert_int_equal(layer->count, 0);
	read = &layer->rules[0];
	assert_int_equal(read->kind, rule->kind);
	assert_int_equal(read->exactly.count, rule->exactly.count);
	for (size_t i = 0; i < rule->exactly.count; i++)
		assert_string_equal(read->exactly.items[i], rule->exactly.items[i]);
	assert_string_equal(read->in, rule->in);
	assert_int_equal(read->permissions.count, rule->permissions.count);
	for (size_t i = 0; i < rule->permissions.count; i++)
		assert_string_equal(read->permissions.items[i], rule->permissions.items[i]);
	again = remember_rule(read);
	assert_string_equal(again, text);
	layer_free(layer);
}

static void hostile_text_stays_in_its_quotes(void **state)
{
	static const char *const scripts[] = {
		"x\"]\n  do: allow\n- {command: '*', do: allow}\n",
		"\\\"]\n- command: '*'\n  do: allow",
		"a\n\nb\n ",
		"  \t leading and trailing \t ",
		"\xe2\x80\xa8- command: x\xe2\x80\xa9\xc2\x85",
		"\xef\xbb\xbf\xef\xbf\xbe\xef\xbf\xbf\xf0\x9f\xbf\xbe",
		"\xe2\x80\xae gnp.exe \xd8\xa7",
		"\r\n\x01\x1b[31m\x7f\xc2\x80\xc2\xa0",
		"'#' # & * ! | > % @ ` {} [] , ? : -",
		"",
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(scripts); i++) {
		struct rule rule = {.kind = VERDICT_ALLOW,
				    .exactly = WORDS("-c", scripts[i]),
				    .in = (char *)"/a \"b\"\n- c: \\",
				    .why = (char *)"said"};

		list_add(&rule.permissions, "write /a\"b\\\xe2\x80\xa8 c");
		check_there_and_back(&rule);
		list_done(&rule.exactly);
		list_done(&rule.permissions);
	}
}

static void what_is_not_utf_8_has_no_rule(void **state)
{
	static const char *const broken[] = {"\xff", "a\xc3", "\xed\xa0\x80", "\xc0\xaf",
					     "\xf4\x90\x80\x80"};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(broken); i++) {
		struct rule rule = {.exactly = WORDS("make"), .in = (char *)broken[i]};

		assert_null(remember_rule(&rule));
		rule.in = (char *)"/";
		list_add(&rule.permissions, broken[i]);
		assert_null(remember_rule(&rule));
		list_done(&rule.permissions);
		list_add(&rule.exactly, broken[i]);
		assert_null(remember_rule(&rule));
		list_done(&rule.exactly);
	}
}

static uint32_t next(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

/* Made of what YAML, shells and terminals treat in some way of their own. */
static void add_odd(struct buffer *text, uint32_t *seed)
{
	static const char *const odd[] = {"\"",
					  "\\",
					  "'",
					  "\n",
					  "\r",
					  "\t",
					  " ",
					  "- ",
					  ": ",
					  "#",
					  "[",
					  "]",
					  "{",
					  "}",
					  ",",
					  "%",
					  "&",
					  "*",
					  "!",
					  "|",
					  ">",
					  "?",
					  "@",
					  "`",
					  "$(",
					  "\x01",
					  "\x7f",
					  "\xc2\x85",
					  "\xc2\xa0",
					  "\xe2\x80\xa8",
					  "\xe2\x80\xa9",
					  "\xe2\x80\xae",
					  "\xef\xbb\xbf",
					  "\xef\xbf\xbe",
					  "\xf0\x9f\x98\x80",
					  "\xc3\xa4",
					  "\\n",
					  "\\x41",
					  "---\n",
					  "...\n",
					  "do: allow",
					  "command: '*'"};

	for (uint32_t count = next(seed) % 12; count > 0; count--)
		buffer_add_text(text, odd[next(seed) % ELEMENTS(odd)]);
}

static void any_text_comes_back_as_it_was(void **state)
{
	uint32_t seed = 0x5eed;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct rule rule = {.kind = next(&seed) % 2 ? VERDICT_ALLOW : VERDICT_DENY,
				    .why = (char *)"said"};
		_cleanup_buffer_ struct buffer in = {0};

		list_add(&rule.exactly, next(&seed) % 2 ? "-c" : "make");
		for (uint32_t count =
			     1 + (strcmp(rule.exactly.items[0], "-c") == 0 ? 0 : next(&seed) % 5);
		     count > 0; count--) {
			_cleanup_buffer_ struct buffer word = {0};

			add_odd(&word, &seed);
			list_add(&rule.exactly, buffer_text(&word));
		}
		buffer_add_char(&in, '/');
		add_odd(&in, &seed);
		rule.in = in.data;
		check_there_and_back(&rule);
		list_done(&rule.exactly);
	}
}

static void a_rule_is_written_in_front_of_others_and_keeps_the_file(void **state)
{
	char directory[] = "/tmp/ward-exact-XXXXXX";
	_cleanup_free_ char *file = NULL, *text = NULL;
	_cleanup_error_ struct error *error = NULL;
	struct rule rule = {.kind = VERDICT_DENY,
			    .exactly = WORDS("-c", "a\n- b: \"c\""),
			    .in = (char *)"/srv",
			    .why = (char *)"w"};
	char read[1000] = "";
	FILE *stream;

	(void)state;
	assert_non_null(mkdtemp(directory));
	assert_true(asprintf(&file, "%s/ward.yaml", directory) > 0);
	stream = fopen(file, "w");
	fputs("# mine\nrules: # all\n    - {command: x, do: allow}\napproval: never\n", stream);
	fclose(stream);
	text = remember_rule(&rule);
	assert_int_equal(remember_write(file, text, &error), 0);
	stream = fopen(file, "r");
	assert_true(fread(read, 1, sizeof(read) - 1, stream) > 0);
	fclose(stream);
	assert_string_equal(read, "# mine\nrules: # all\n"
				  "    - exactly: [\"-c\", \"a\\n- b: \\\"c\\\"\"]\n"
				  "      in: \"/srv\"\n      do: deny\n      why: \"w\"\n"
				  "    - {command: x, do: allow}\napproval: never\n");
	list_done(&rule.exactly);
	unlink(file);
	rmdir(directory);
}

static void a_second_rule_for_the_same_is_warned_of(void **state)
{
	static const char text[] = "rules:\n"
				   "  - {exactly: [make, x], in: /a, do: deny, why: w}\n"
				   "  - {exactly: [make, x], in: /a, do: allow}\n"
				   "  - {exactly: [make, x], in: /b, do: allow}\n"
				   "  - {exactly: [make], in: /a, do: allow}\n"
				   "  - {command: make, do: deny, why: w}\n";
	_cleanup_list_ struct list warnings = {0};
	_cleanup_error_ struct error *error = NULL;

	(void)state;
	assert_int_equal(policy_parse(text, strlen(text), "f", NULL, &warnings, &error), 0);
	assert_int_equal(warnings.count, 1);
	assert_string_equal(
		warnings.items[0],
		"f:3:1: the rule for 'make x' never applies: f:2 says deny for 'make x'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_command_in_one_directory_and_nothing_else),
		cmocka_unit_test(a_script_is_compared_as_text),
		cmocka_unit_test(what_alters_a_command_is_part_of_it),
		cmocka_unit_test(a_name_that_commands_could_take_over_is_not_allowed),
		cmocka_unit_test(a_command_that_looks_like_an_option_stands_behind_two_dashes),
		cmocka_unit_test(what_is_no_command_is_an_error_with_its_place),
		cmocka_unit_test(secrets_and_long_commands_are_not_kept),
		cmocka_unit_test(hostile_text_stays_in_its_quotes),
		cmocka_unit_test(what_is_not_utf_8_has_no_rule),
		cmocka_unit_test(any_text_comes_back_as_it_was),
		cmocka_unit_test(a_rule_is_written_in_front_of_others_and_keeps_the_file),
		cmocka_unit_test(a_second_rule_for_the_same_is_warned_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
