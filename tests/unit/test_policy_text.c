/* SPDX-License-Identifier: Apache-2.0 */
/* One policy file: every fault with its place, and what is odd. */
#include "../../src/base/buffer.h"
#include "../../src/base/units.h"
#include "policy_world.h"

struct fault {
	const char *text;
	int line, column;
	const char *message; /* a part of it */
};

static void check_fault(const char *text, size_t length, int line, int column, const char *message)
{
	static char *const names[] = {"userns", "landlock"};
	const struct list walls = {.items = (char **)names, .count = ELEMENTS(names)};
	_cleanup_error_ struct error *error = NULL;

	if (policy_parse(text, length, "x.yaml", &walls, NULL, &error) == 0)
		fail_msg("taken: %s", text);
	if (error->code != E_POLICY || !error->file || strcmp(error->file, "x.yaml") != 0 ||
	    error->line != line || error->column != column || !strstr(error->message, message) ||
	    !error->hint || !*error->hint)
		fail_msg("%s\n  gives %s:%d:%d: %s (%s)\n  not   x.yaml:%d:%d: %s", text,
			 error->file, error->line, error->column, error->message, error->hint, line,
			 column, message);
}

static void every_fault_is_named_with_its_place(void **state)
{
	static const struct fault faults[] = {
		{"nonsense", 1, 1, "a group of keys is wanted here"},
		{"- a", 1, 1, "a group of keys is wanted here, not a list"},
		{"version: 2", 1, 10, "version"},
		{"version: [1]", 1, 10, "version"},
		{"versoin: 1", 1, 1, "unknown key 'versoin' in a policy"},
		{"version: 1\nversion: 1", 2, 1, "stands twice"},
		{"approval: sometimes", 1, 11, "'sometimes' is not a way of asking"},
		{"approval: [never]", 1, 11, "a single value is wanted here, not a list"},
		{"approval: ''", 1, 11, "an empty value"},
		{"approval:", 1, 10, "an empty value"},
		{"sandbox:", 1, 9, "a group of keys is wanted here, not nothing"},
		{"sandbox: x", 1, 10, "a group of keys"},
		{"sandbox:\n  levle: none", 2, 3, "unknown key 'levle' in sandbox"},
		{"sandbox:\n  level: high", 2, 10, "'high' is not a level"},
		{"sandbox:\n  files: {raed: []}", 2, 11, "unknown key 'raed' in files"},
		{"sandbox:\n  files: {read: x}", 2, 17, "a list is wanted here"},
		{"sandbox:\n  files: {read: [[x]]}", 2, 18, "a single value is wanted"},
		{"sandbox:\n  files:\n    read:\n      - a\n      - ''", 5, 9, "an empty value"},
		{"sandbox:\n  files: {read: [~other/x]}", 2, 18, "'~other/x' is not a path"},
		{"sandbox:\n  files: {read: [\"a\\nb\"]}", 2, 18, "is not a value"},
		{"sandbox:\n  files: {read: [\"a\\0b\"]}", 2, 18, "zero byte"},
		{"sandbox:\n  network: {mode: some}", 2, 19, "'some' is not a network mode"},
		{"sandbox:\n  network: {allow: [a, 'b c']}", 2, 24, "'b c' is not a host"},
		{"sandbox:\n  network: {allow: ['a:99999']}", 2, 21, "is not a host"},
		{"sandbox:\n  network: {allow: ['[::1']}", 2, 21, "is not a host"},
		{"sandbox:\n  network: {allow: ['registry:']}", 2, 21, "is not a set of hosts"},
		{"sandbox:\n  network: {deny: [forge:cobol]}", 2, 20, "there is no set of hosts"},
		{"sandbox:\n  network: {allow: ['https://x']}", 2, 21, "is not a host"},
		{"sandbox:\n  network: {deny: ['0x7f.1']}", 2, 20, "looks like an address"},
		{"sandbox:\n  network: {publish: ['0']}", 2, 23, "is not a port to publish"},
		{"sandbox:\n  network: {publish: [8080, '80:80:80']}", 2, 29,
		 "is not a port to publish"},
		{"sandbox: {sockets: [telepathy]}", 1, 21, "'telepathy' is not a socket"},
		{"sandbox: {limits: {memory: lots}}", 1, 28, "'lots' is not a size"},
		{"sandbox: {limits: {memory: -1}}", 1, 28, "'-1' is not a size"},
		{"sandbox: {limits: {memory: 0}}", 1, 28, "more than 0"},
		{"sandbox: {limits: {cpu: 0%}}", 1, 25, "not a share of the CPU"},
		{"sandbox: {limits: {time: 5 weeks}}", 1, 26, "not a duration"},
		{"sandbox: {limits: {processes: 1.5}}", 1, 31, "'1.5' is not a number"},
		{"sandbox: {limits: {memory: 1G, memory: 2G}}", 1, 32, "stands twice in limits"},
		{"sandbox: {environment: {keep: ['A B']}}", 1, 32, "not the name of a variable"},
		{"sandbox: {environment: {set: {1A: x}}}", 1, 31, "not the name of a variable"},
		{"sandbox: {environment: {set: {A: [x]}}}", 1, 34, "a single value"},
		{"sandbox: {environment: {set: {A: 1, A: 2}}}", 1, 37, "stands twice in set"},
		{"sandbox: {require: [userns, moat]}", 1, 29, "'moat' is not a wall"},
		{"profiles: []", 1, 11, "a group of keys"},
		{"profiles: {'a b': {}}", 1, 12, "'a b' is not a name for a profile"},
		{"profiles: {a: {}, a: {}}", 1, 19, "stands twice in profiles"},
		{"profiles: {a: {rules: []}}", 1, 16, "unknown key 'rules' in a profile"},
		{"rules: {}", 1, 8, "a list is wanted here, not a group of keys"},
		{"rules: [x]", 1, 9, "a group of keys"},
		{"rules:\n  - do: ask", 2, 5, "a rule without a command"},
		{"rules:\n  - command: ls", 2, 5, "does not say what to do"},
		{"rules:\n  - command: ls\n    do: maybe", 3, 9, "'maybe' is nothing"},
		{"rules:\n  - command: ls\n    do: [ask]", 3, 9, "a single word"},
		{"rules:\n  - command: 'ls ['\n    do: ask", 2, 14, "never closed"},
		{"rules:\n  - command: ''\n    do: ask", 2, 14, "it is empty"},
		{"rules:\n  - command: \"a\\tb\"\n    do: ask", 2, 14, "control character"},
		{"rules:\n  - {command: ls, do: ask, why: []}", 2, 33, "a text is wanted"},
		{"rules:\n  - {command: ls, do: ask, then: x}", 2, 28, "unknown key 'then'"},
		{"rules:\n  - {command: ls, do: deny, permissions: ['read x']}", 2, 42,
		 "a rule that denies"},
		{"rules:\n  - {command: ls, do: ask, permissions: [fly]}", 2, 42,
		 "'fly' is not a permission"},
		{"rules:\n  - {command: ls, do: ask, permissions: ['read']}", 2, 42,
		 "it is not complete"},
		{"rules:\n  - {command: ls, do: ask, permissions: ['connect a b']}", 2, 42,
		 "'a b' is not a host"},
		{"rules:\n  - {command: ls, do: ask, permissions: ['bind x']}", 2, 42,
		 "'x' is not a port"},
		{"rules:\n  - {command: ls, do: ask, permissions: ['sql x']}", 2, 42,
		 "it is not complete"},
		{"rules:\n  - {command: ls, do: ask, match: ['ls', 'cat']}", 2, 42,
		 "does not match its example 'cat'"},
		{"rules:\n  - {command: ls, do: ask, match: ['# ls']}", 2, 36, "holds no command"},
		{"rules:\n  - {command: ls, do: ask, no_match: ['cat', 'ls x']}", 2, 46,
		 "matches 'ls x', which it must not"},
		{"rules:\n  - {command: ls, do: allow, match: ['ls $X']}", 2, 38,
		 "does not match its example"},
		/* hostile YAML */
		{"a: b: c", 1, 5, "mapping values are not allowed"},
		{"sandbox:\n\tlevel: none", 2, 1, "cannot start any token"},
		{"sandbox: &x {level: none}", 1, 10, "anchors are not allowed"},
		{"sandbox: *x", 1, 10, "aliases are not allowed"},
		{"sandbox: {files: {deny: [**/*.pem]}}", 1, 27, "scanning an alias"},
		{"sandbox: !!map {}", 1, 10, "tags are not allowed"},
		{"approval: !!str never", 1, 11, "tags are not allowed"},
		{"sandbox: {<<: {level: none}}", 1, 11, "merge keys are not allowed"},
		{"? [a]\n: b", 1, 3, "where a key should"},
		{"version: 1\n---\nversion: 1", 2, 1, "a second document"},
		{"sandbox: [[[[[[[[[[[[[[[[[[[[[[[[", 1, 25, "nested too deeply"},
		{"sandbox: {", 1, 10, "flow"},
		{"approval: 'never", 1, 11, "quoted"},
		{"%TAG ! x\n---\na: b", 3, 1, "unknown key"},
		{"version: 1\r\napproval: x\r\n", 2, 11, "'x'"},
		{"\xef\xbb\xbf"
		 "version: 1\napproval: x",
		 2, 11, "'x'"},
		{"version: 1 # \xc3\xa4\napproval: \xff", 2, 11, "byte 0xff is not UTF-8"},
		{"approval: \x1b[31m", 1, 11, "control character U+001B"},
		{"approval: \xc2\x85", 1, 11, "control character U+0085"},
		{"\xff\xfe"
		 "a",
		 1, 1, "not UTF-8"},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(faults); i++)
		check_fault(faults[i].text, strlen(faults[i].text), faults[i].line,
			    faults[i].column, faults[i].message);
	check_fault("version: 1\n\0", 12, 2, 1, "a zero byte");
}

static void what_is_too_much_is_refused(void **state)
{
	_cleanup_buffer_ struct buffer text = {0}, keys = {0}, nodes = {0}, rules = {0};

	(void)state;
	buffer_add_text(&text, "approval: ");
	for (size_t i = 0; i < 70000; i++)
		buffer_add_char(&text, 'x');
	check_fault(buffer_text(&text), text.length, 1, 11, "more than 64 KiB");
	while (text.length <= POLICY_LIMIT)
		buffer_add_char(&text, 'x');
	check_fault(buffer_text(&text), text.length, 0, 0, "longer than 4 MiB");

	buffer_add_text(&keys, "profiles:\n");
	for (size_t i = 0; i < 1001; i++)
		buffer_printf(&keys, "  a%zu: {}\n", i);
	check_fault(buffer_text(&keys), keys.length, 1002, 3, "more than 1000 entries");
	buffer_add_text(&nodes, "sandbox: [");
	for (size_t i = 0; i < 510000; i++)
		buffer_add_text(&nodes, "a,");
	check_fault(buffer_text(&nodes), nodes.length, 1, 1000005, "more than 500000 values");
	buffer_add_text(&rules, "rules:\n");
	for (size_t i = 0; i < 20001; i++)
		buffer_add_text(&rules, "  - {command: a, do: ask}\n");
	check_fault(buffer_text(&rules), rules.length, 20002, 5, "more than 20000 rules");
}

static void no_file_takes_long(void **state)
{
	_cleanup_buffer_ struct buffer text = {0};
	uint64_t start = monotonic_ns();

	(void)state;
	buffer_add_text(&text, "rules:\n");
	for (unsigned i = 0; i < 500; i++) {
		buffer_add_text(&text, "  - {do: deny, why: w, command: 'x");
		for (unsigned k = 0; k < 30; k++) {
			buffer_add_text(&text, " -");
			for (unsigned n = 0; n < 14; n++)
				buffer_add_text(&text, i % 2 ? "aa" : "*a");
			buffer_printf(&text, "b%u", k);
		}
		buffer_add_text(&text, "'}\n");
	}
	assert_true(text.length < POLICY_LIMIT);
	assert_int_equal(policy_parse(buffer_text(&text), text.length, "x.yaml", NULL, NULL, NULL),
			 0);
	assert_true(monotonic_ns() - start < 60000000000ull);
}

static void the_example_of_everything_is_taken(void **state)
{
	_cleanup_list_ struct list warnings = {0};
	_cleanup_error_ struct error *error = NULL;

	(void)state;
	if (policy_parse(whole, strlen(whole), "x.yaml", NULL, &warnings, &error) < 0)
		fail_msg("%d:%d: %s", error->line, error->column, error->message);
	assert_int_equal(warnings.count, 0);
}

static void what_is_odd_is_warned_of(void **state)
{
	static const struct {
		const char *text, *warning;
	} cases[] = {
		{"", "x.yaml:1:1: the file says nothing"},
		{"# nothing\n", "says nothing"},
		{"---\n", "says nothing"},
		{"{}", "says nothing"},
		{"profiles:\n  x: {}", "x.yaml:2:3: this profile sets nothing"},
		{"rules: [{command: ls, do: ask}]",
		 "x.yaml:1:9: the rule for 'ls' does not say why"},
		{"sandbox: {network: {allow: [registry:cobol]}}", "x.yaml:1:29: there is no set"},
		{"profiles: {p: {network: {allow: [model:cobol]}}}",
		 "x.yaml:1:34: there is no set of hosts called 'model:cobol'"},
		{"rules:\n  - {command: x, do: allow, permissions: ['connect registry:cobol']}\n",
		 "x.yaml:2:1: there is no set of hosts called 'registry:cobol'"},
		{"rules: [{command: bash, do: allow}]",
		 "x.yaml:1:1: the rule for 'bash' allows bash"},
		{"rules: [{command: '*', do: allow}]",
		 "x.yaml:1:1: this rule allows every command"},
		{"rules: [{command: 'py*', do: allow}]", "allows python3, which runs whatever"},
		{"rules: [{command: node -e, do: allow}]", "allows node, which runs whatever"},
		{"rules: [{command: a|sh, do: allow}]", "allows sh, which runs whatever"},
		{"approval: never\nrules: [{command: a, do: ask, why: w}]",
		 "x.yaml:2:1: approval is never, so nobody is asked"},
		{"rules:\n  - combine: first-match\n    rules: [{command: a, do: allow}]\n",
		 "x.yaml:2:1: this set (first-match) says nothing of commands"},
		{"rules:\n  - combine: first-match\n    otherwise: ask\n    rules:\n"
		 "      - {command: git, do: ask, why: w}\n"
		 "      - {command: git push, do: deny, why: w}\n",
		 "x.yaml:6:1: the rule for 'git push' never applies: x.yaml:5 says ask for 'git'"},
		{"rules: [{exactly: [a], do: ask, why: w}, {exactly: [a], do: allow}]",
		 "the rule for 'a' never applies"},
		{"rules:\n"
		 "  - {command: git, do: deny, why: w}\n"
		 "  - {command: git push, do: ask, why: w}\n",
		 "x.yaml:3:1: the rule for 'git push' never applies: x.yaml:2 says deny for 'git'"},
		{"rules:\n"
		 "  - {command: git push, do: allow}\n"
		 "  - {command: git *, do: ask, why: w}\n",
		 "x.yaml:2:1: the rule for 'git push' never applies"},
		{"rules:\n"
		 "  - {command: git push, do: ask, why: w}\n"
		 "  - {command: git push --force, do: ask, why: w}\n",
		 "x.yaml:3:1: the rule for 'git push --force' never applies"},
		{"sandbox: {files: {deny: ['~/.ssh/**']}}\n"
		 "rules:\n  - {command: ssh, do: allow, permissions: ['read ~/.ssh/id']}\n",
		 "permits 'read ~/.ssh/id', but the sandbox denies ~/.ssh/**"},
		{"sandbox: {network: {deny: ['*.internal']}}\n"
		 "rules:\n  - {command: a, do: allow, permissions: ['connect x.internal:1']}\n",
		 "but the sandbox denies *.internal"},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		_cleanup_list_ struct list warnings = {0};
		_cleanup_error_ struct error *error = NULL;

		if (policy_parse(cases[i].text, strlen(cases[i].text), "x.yaml", NULL, &warnings,
				 &error) < 0)
			fail_msg("%s: %s", cases[i].text, error->message);
		if (warnings.count != 1 || !strstr(warnings.items[0], cases[i].warning))
			fail_msg("%s: %zu warnings, %s", cases[i].text, warnings.count,
				 warnings.count ? warnings.items[0] : "none");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_fault_is_named_with_its_place),
		cmocka_unit_test(what_is_too_much_is_refused),
		cmocka_unit_test(no_file_takes_long),
		cmocka_unit_test(the_example_of_everything_is_taken),
		cmocka_unit_test(what_is_odd_is_warned_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
