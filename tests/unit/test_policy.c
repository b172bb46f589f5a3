/* SPDX-License-Identifier: Apache-2.0 */
/* Policy files as text and as layers: each fault is named with its place, and what is not trusted
 * never widens. */
#include "../../src/base/buffer.h"
#include "../../src/base/io.h"
#include "../../src/base/path.h"
#include "../../src/base/units.h"
#include "../../src/decide/policy.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

static const char whole[] =
	"version: 1\n"
	"approval: on-request\n"
	"sandbox:\n"
	"  level: container\n"
	"  files:\n"
	"    read: [~/.npmrc]\n"
	"    write: [~/.cache/pip/**]\n"
	"    deny: ['**/*.pem']\n"
	"  network:\n"
	"    mode: restricted\n"
	"    allow: [registry:npm, example.org:443]\n"
	"    deny: ['*.internal']\n"
	"  sockets: [ssh-agent]\n"
	"  limits: {memory: 2G, cpu: 1.5, cpu_time: 60s, processes: 20, disk: 1G, output: 10M, "
	"time: 30s, idle: 10s, files: 64}\n"
	"  environment:\n"
	"    keep: [NPM_TOKEN]\n"
	"    set: {CI: 'true'}\n"
	"  require: [userns]\n"
	"profiles:\n"
	"  code: {limits: {memory: 100M}}\n"
	"  build:\n"
	"    network: {mode: full}\n"
	"rules:\n"
	"  - command: git push\n"
	"    do: ask\n"
	"    why: it publishes\n"
	"    permissions: ['connect github.com:443', 'write ~/.cache/x/**']\n"
	"    match: ['git push origin main', 'sudo git -C x push']\n"
	"    no_match: ['git pull']\n"
	"  - {command: ls, do: allow}\n";

/* --- one text -------------------------------------------------------------------------------- */

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
	check_fault(buffer_text(&text), text.length, 0, 0, "longer than 1 MiB");

	buffer_add_text(&keys, "profiles:\n");
	for (size_t i = 0; i < 1001; i++)
		buffer_printf(&keys, "  a%zu: {}\n", i);
	check_fault(buffer_text(&keys), keys.length, 1002, 3, "more than 1000 entries");
	buffer_add_text(&nodes, "sandbox: [");
	for (size_t i = 0; i < 60000; i++)
		buffer_add_text(&nodes, "a,");
	check_fault(buffer_text(&nodes), nodes.length, 1, 100005, "more than 50000 values");
	buffer_add_text(&rules, "rules:\n");
	for (size_t i = 0; i < 501; i++)
		buffer_add_text(&rules, "  - {command: a, do: ask}\n");
	check_fault(buffer_text(&rules), rules.length, 502, 5, "more than 500 rules");
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
	assert_true(monotonic_ns() - start < 2000000000u);
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

/* --- layers ---------------------------------------------------------------------------------- */

struct world {
	char top[64];
	char *system, *home, *workspace, *state, *extra, *project, *user;
	struct policy_places places;
};

static void put(const char *path, const char *text)
{
	_cleanup_close_ int fd = -1;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, text, strlen(text)), 0);
}

static int make_world(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	_cleanup_free_ char *config = NULL;

	strcpy(world->top, "/tmp/ward-policy-XXXXXX");
	umask(022);
	assert_non_null(mkdtemp(world->top));
	world->system = path_resolve(world->top, NULL, "ward.yaml");
	world->home = path_resolve(world->top, NULL, "home");
	world->workspace = path_resolve(world->top, NULL, "work");
	world->state = path_resolve(world->top, NULL, "state");
	world->extra = path_resolve(world->top, NULL, "extra.yaml");
	world->project = path_resolve(world->workspace, NULL, ".ward.yaml");
	world->user = path_resolve(world->home, NULL, ".config/ward/ward.yaml");
	config = path_resolve(world->home, NULL, ".config/ward");
	assert_int_equal(make_directories(config, 0755), 0);
	assert_int_equal(make_directories(world->workspace, 0755), 0);
	world->places = (struct policy_places){.workspace = world->workspace,
					       .home = world->home,
					       .state = world->state,
					       .system = world->system,
					       .uid = geteuid()};
	*state = world;
	return 0;
}

static int end_world(void **state)
{
	struct world *world = *state;

	remove_tree(AT_FDCWD, world->top);
	free(world->system);
	free(world->home);
	free(world->workspace);
	free(world->state);
	free(world->extra);
	free(world->project);
	free(world->user);
	free(world);
	return 0;
}

static struct policy *load(const struct world *world)
{
	_cleanup_error_ struct error *error = NULL;
	struct policy *policy;

	if (policy_load(&world->places, &policy, &error) < 0)
		fail_msg("%s:%d:%d: %s", error->file ? error->file : "-", error->line,
			 error->column, error->message);
	return policy;
}

static void load_fails(const struct world *world, const char *file, const char *message)
{
	_cleanup_error_ struct error *error = NULL;
	struct policy *policy;

	if (policy_load(&world->places, &policy, &error) == 0)
		fail_msg("loaded, without '%s'", message);
	if (!error->file || strcmp(error->file, file) != 0 || !strstr(error->message, message) ||
	    !error->hint)
		fail_msg("%s: %s, not %s", error->file, error->message, message);
}

static void without_files_the_built_in_policy_holds(void **state)
{
	_cleanup_policy_ struct policy *policy = load(*state);
	const struct sandbox_policy *sandbox;
	_cleanup_error_ struct error *error = NULL;

	assert_false(policy->configured || policy->has_approval || policy->sandbox.has_level ||
		     policy->sandbox.has_network);
	assert_int_equal(policy->rule_count + policy->files.count + policy->warnings.count, 0);
	assert_int_equal(policy_profile(policy, "agent", &sandbox, NULL), 0);
	assert_int_equal(sandbox->limits.memory, 2048ull << 20);
	assert_int_equal(sandbox->limits.disk, 5000ull << 20);
	assert_int_equal(sandbox->limits.processes, 20);
	assert_int_equal(sandbox->limits.time_ns, 3600000000000ull);
	assert_int_equal(sandbox->limits.idle_ns, 300000000000ull);
	assert_int_equal(policy_profile(policy, "code", &sandbox, NULL), 0);
	assert_int_equal(sandbox->limits.memory, 512ull << 20);
	assert_int_equal(sandbox->limits.processes, 10);
	assert_int_equal(sandbox->limits.time_ns, 30000000000ull);
	assert_int_equal(policy_profile(policy, "code-net", &sandbox, NULL), 0);
	assert_int_equal(sandbox->limits.memory, 512ull << 20);
	assert_int_equal(sandbox->limits.processes, 10);
	assert_int_equal(sandbox->limits.time_ns, 60000000000ull);
	assert_true(policy_profile(policy, "none", &sandbox, &error) < 0);
	assert_non_null(strstr(error->hint, "agent, code, code-net"));
	assert_true(policy_is_current(policy));
}

/* What is built in is a policy like any other, and fit for use wherever variables lead. */
static void profiles_of_agents_are_there_when_they_are_wanted(void **state)
{
	static const struct {
		const char *name, *key, *host, *place;
	} agents[] = {{"claude", "ANTHROPIC_API_KEY", "model:anthropic", "claude}/projects/**"},
		      {"codex", "OPENAI_API_KEY", "model:openai", "codex}/sessions/**"},
		      {"gemini", "GEMINI_API_KEY", "model:google", "gemini/history/**"},
		      {"opencode", "OPENCODE_API_KEY", "model:opencode", "share}/opencode/log/**"}};
	struct world *world = *state;
	const struct sandbox_policy *sandbox;

	for (size_t i = 0; i < ELEMENTS(agents); i++) {
		_cleanup_policy_ struct policy *policy = NULL, *other = load(*state);
		bool found = false;

		assert_int_equal(policy_profile(other, agents[i].name, &sandbox, NULL), 0);
		assert_int_equal(sandbox->make.count + sandbox->allow_hosts.count, 0);
		world->places.profile = agents[i].name;
		policy = load(*state);
		world->places.profile = NULL;
		assert_int_equal(policy_profile(policy, agents[i].name, &sandbox, NULL), 0);
		assert_string_equal(policy_profile_of(agents[i].name), agents[i].name);
		assert_true(list_has(&sandbox->keep_env, agents[i].key));
		assert_true(list_has(&sandbox->allow_hosts, agents[i].host));
		assert_int_equal(sandbox->allow_hosts.count, 1);
		assert_int_equal(sandbox->network, NETWORK_RESTRICTED);
		assert_int_equal(sandbox->write.count + sandbox->sockets.count, 0);
		for (size_t m = 0; m < sandbox->make.count; m++)
			found |= strstr(sandbox->make.items[m], agents[i].place) != NULL;
		assert_true(found);
		assert_int_equal(policy->sandbox.network, NETWORK_NONE);
		assert_int_equal(policy->files.count + policy->warnings.count, 0);
	}
	assert_null(policy_profile_of("./claude"));
	setenv("CODEX_HOME", "/x*", 1);
	world->places.profile = "codex";
	load_fails(*state, "profile codex, built in", "CODEX_HOME");
	unsetenv("CODEX_HOME");
	world->places.profile = NULL;
}

static void later_layers_are_laid_over_earlier_ones(void **state)
{
	struct world *world = *state;
	_cleanup_policy_ struct policy *policy = NULL;
	const struct sandbox_policy *sandbox;

	put(world->system, "approval: never\nsandbox: {level: container, files: {read: [a]}, "
			   "limits: {memory: 1G, time: 5s}, environment: {set: {A: 1, B: 2}}}");
	put(world->user, whole);
	put(world->extra, "sandbox: {level: none, environment: {set: {A: 3}}}");
	world->places.extra = world->extra;
	policy = load(world);
	assert_true(policy->configured);
	assert_int_equal(policy->files.count, 3);
	assert_int_equal(policy->approval, APPROVAL_ON_REQUEST);
	assert_int_equal(policy->sandbox.level, LEVEL_NONE);
	assert_int_equal(policy->sandbox.read.count, 2);
	assert_int_equal(policy->sandbox.limits.memory, 2ull << 30);
	assert_int_equal(policy->sandbox.set_env.count, 3);
	assert_string_equal(policy->sandbox.set_env.items[0], "A=3");
	assert_int_equal(policy_profile(policy, "build", &sandbox, NULL), 0);
	assert_int_equal(sandbox->network, NETWORK_FULL);
	assert_int_equal(sandbox->limits.memory, 2ull << 30);
	assert_int_equal(sandbox->read.count, 2);
	assert_int_equal(policy_profile(policy, "code", &sandbox, NULL), 0);
	assert_int_equal(sandbox->limits.memory, 100ull << 20);
	assert_int_equal(sandbox->limits.processes, 10);
	assert_int_equal(policy_profile(policy, "agent", &sandbox, NULL), 0);
	assert_int_equal(sandbox->limits.disk, 1ull << 30);
}

static const struct rule *match(const struct policy *policy, const char *text)
{
	struct arena *arena = arena_new();
	const struct rule *rule = NULL;
	struct plan plan;

	parse_shell(arena, text, strlen(text), &plan);
	assert_int_equal(plan.count, 1);
	rule = policy_match(policy, &plan.commands[0], 0);
	arena_free(arena);
	return rule;
}

static void deny_beats_ask_beats_allow_and_the_last_layer_speaks(void **state)
{
	struct world *world = *state;
	_cleanup_policy_ struct policy *policy = NULL;

	put(world->system, "rules:\n"
			   "  - {command: git push, do: ask, why: system}\n"
			   "  - {command: git push --force, do: deny, why: force}\n"
			   "  - {command: npm, do: deny, why: system}\n");
	put(world->user, "rules:\n"
			 "  - {command: git, do: allow}\n"
			 "  - {command: git push, do: ask, why: first}\n"
			 "  - {command: git push, do: ask, why: second}\n"
			 "  - {command: npm, do: allow}\n");
	policy = load(world);
	assert_string_equal(match(policy, "git push")->why, "first");
	assert_int_equal(match(policy, "git push")->line, 3);
	assert_string_equal(match(policy, "git push")->file, world->user);
	assert_string_equal(match(policy, "git push --force")->why, "force");
	assert_int_equal(match(policy, "git status")->kind, VERDICT_ALLOW);
	assert_int_equal(match(policy, "npm x")->kind, VERDICT_DENY);
	assert_null(match(policy, "make"));
	assert_null(match(policy, "git status $X"));
}

/* The file of the rule that a program with these names and words meets, "" for none. */
static const char *started(const struct policy *policy, const char *real, const char *path,
			   const char *words)
{
	_cleanup_free_ char *copy = strdup(words);
	_cleanup_list_ struct list argv = {0};
	const char *names[] = {real, path, NULL};
	char *rest = copy, *word;
	const struct rule *rule;

	while ((word = strsep(&rest, " ")))
		list_add(&argv, word);
	names[2] = argv.items[0];
	rule = policy_match_started(policy, names, ELEMENTS(names), argv.items, argv.count);
	return rule ? rule->why : "";
}

static void a_program_that_is_started_is_known_by_any_of_its_names(void **state)
{
	static const struct {
		const char *real, *path, *words, *why;
	} cases[] = {
		{"/usr/bin/git", "/usr/bin/git", "git push", "push"},
		{"/usr/bin/git", "/bin/git", "git -C x push origin", "push"},
		{"/usr/bin/git", "/usr/bin/git", "git status", ""},
		{"/usr/bin/git", "./innocent", "innocent push", "push"},
		{"/usr/bin/true", "./git", "git push", "push"},
		{"/usr/bin/true", "./true", "git push", "push"},
		{"/usr/bin/true", "./true", "true push", ""},
		/* What they run is started by itself. */
		{"/usr/bin/env", "/usr/bin/env", "env git push", ""},
		{"/usr/bin/timeout", "/usr/bin/timeout", "timeout 5 git push", ""},
		/* But not by these. */
		{"/bin/busybox", "/bin/busybox", "busybox rm -rf x", "remove"},
		{"/bin/busybox", "/bin/rm", "rm -rf x", "remove"},
		{"/opt/tool", "/opt/tool", "tool", "path"},
		{"/opt/other/tool", "./tool", "./tool", ""},
		{"/opt/x", "/opt/x", "x --force", "option"},
		/* Words are what they are: nothing is left to be expanded. */
		{"/usr/bin/git", "git", "git $WORD", ""},
		{"/usr/bin/git", "git", "git ", ""},
		{"/usr/bin/sh", "sh", "sh > out", ""},
		{"/usr/bin/sh", "sh", "sh A=1", ""},
	};
	struct world *world = *state;
	_cleanup_policy_ struct policy *policy = NULL;

	put(world->system, "rules:\n"
			   "  - {command: git push, do: ask, why: push}\n"
			   "  - {command: git, do: allow, why: all}\n"
			   "  - {command: rm -rf, do: deny, why: remove}\n"
			   "  - {command: /opt/tool, do: deny, why: path}\n"
			   "  - {command: '* --force', do: ask, why: option}\n"
			   "  - {command: '* > out', do: deny, why: target}\n"
			   "  - {command: A=1 sh, do: deny, why: variable}\n"
			   "  - {command: '*', do: ask, why: everything}\n");
	policy = load(world);
	assert_true(policy_has_rules_for_programs(policy));
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		const char *why = started(policy, cases[i].real, cases[i].path, cases[i].words);

		if (strcmp(why, cases[i].why) != 0)
			fail_msg("%s %s: '%s', not '%s'", cases[i].real, cases[i].words, why,
				 cases[i].why);
	}
}

static void only_rules_that_ask_or_deny_are_about_programs(void **state)
{
	struct world *world = *state;
	_cleanup_policy_ struct policy *policy = NULL;

	put(world->system, "rules:\n"
			   "  - {command: git push, do: allow}\n"
			   "  - {command: '* > out', do: deny, why: target}\n"
			   "  - {command: '*', do: ask, why: everything}\n");
	policy = load(world);
	assert_false(policy_has_rules_for_programs(policy));
}

static void a_guess_is_known_as_one(void **state)
{
	struct world *world = *state;
	_cleanup_arena_ struct arena *arena = arena_new();
	_cleanup_policy_ struct policy *policy = NULL;
	const struct rule *rule;
	struct plan plan;

	put(world->user, "rules: [{command: git push, do: deny, why: w}]");
	policy = load(world);
	parse_shell(arena, "git $X; git push $X", 19, &plan);
	rule = policy_match(policy, &plan.commands[0], 0);
	assert_non_null(rule);
	assert_false(policy_match_is_certain(policy, rule, &plan.commands[0], 0));
	assert_true(policy_match_is_certain(policy, rule, &plan.commands[1], 0));
}

static const char widening[] = "approval: on-failure\n"
			       "sandbox:\n"
			       "  level: none\n"
			       "  files: {read: [r], write: [w], deny: [d]}\n"
			       "  network: {mode: full, allow: [h], deny: [x], publish: [1]}\n"
			       "  sockets: [docker]\n"
			       "  limits: {memory: 4G, time: 1s}\n"
			       "  environment: {keep: [K], set: {S: 1}}\n"
			       "  require: [userns]\n"
			       "profiles:\n"
			       "  code: {limits: {memory: 1G, time: 1s}}\n"
			       "rules:\n"
			       "  - {command: a, do: allow}\n"
			       "  - {command: b, do: ask, why: w, permissions: ['read x']}\n"
			       "  - {command: c, do: deny, why: w}\n";

static void a_project_can_only_narrow_until_it_is_trusted(void **state)
{
	struct world *world = *state;
	_cleanup_policy_ struct policy *policy = NULL;
	const struct sandbox_policy *sandbox;
	static const char *const lines[] = {
		":1:11: ", ":3:10: ", ":4:18: ", ":4:30: ", ":5:19: ",	":5:33: ", ":5:58: ",
		":6:13: ", ":7:20: ", ":8:24: ", ":8:34: ", ":11:27: ", ":13:1: ", ":14:1: "};

	put(world->user, "approval: on-request\nsandbox: {limits: {memory: 2G, time: 5s}}");
	put(world->project, widening);
	policy = load(world);
	assert_int_equal(policy->approval, APPROVAL_ON_REQUEST);
	assert_int_equal(policy->sandbox.level, LEVEL_RESTRICTED);
	assert_int_equal(policy->sandbox.network, NETWORK_NONE);
	assert_int_equal(policy->sandbox.read.count + policy->sandbox.write.count +
				 policy->sandbox.allow_hosts.count + policy->sandbox.publish.count +
				 policy->sandbox.sockets.count + policy->sandbox.keep_env.count +
				 policy->sandbox.set_env.count,
			 0);
	assert_int_equal(policy->sandbox.deny.count, 1);
	assert_int_equal(policy->sandbox.deny_hosts.count, 1);
	assert_int_equal(policy->sandbox.require.count, 1);
	assert_int_equal(policy->sandbox.limits.memory, 2ull << 30);
	assert_int_equal(policy->sandbox.limits.time_ns, 1000000000);
	assert_int_equal(policy_profile(policy, "code", &sandbox, NULL), 0);
	assert_int_equal(sandbox->limits.memory, 512ull << 20);
	assert_int_equal(sandbox->limits.time_ns, 1000000000);
	assert_int_equal(policy->rule_count, 2);
	assert_null(match(policy, "a"));
	assert_int_equal(match(policy, "b")->permissions.count, 0);
	assert_false(match(policy, "b")->trusted);
	assert_int_equal(match(policy, "c")->kind, VERDICT_DENY);

	assert_int_equal(policy->ignored.count, ELEMENTS(lines));
	assert_int_equal(policy->warnings.count, ELEMENTS(lines));
	for (size_t i = 0; i < ELEMENTS(lines); i++) {
		_cleanup_free_ char *place = NULL;

		assert_true(asprintf(&place, "%s%s", world->project, lines[i]) > 0);
		if (strncmp(policy->warnings.items[i], place, strlen(place)) != 0 ||
		    !strstr(policy->warnings.items[i], "ward policy trust"))
			fail_msg("%s is not at %s", policy->warnings.items[i], lines[i]);
	}
}

static void stricter_ways_of_asking_are_taken_from_a_project(void **state)
{
	static const struct {
		const char *user, *project, *result;
	} cases[] = {
		{"on-failure", "on-request", "on-request"},
		{"on-failure", "unless-trusted", "unless-trusted"},
		{"on-failure", "never", "never"},
		{"on-request", "unless-trusted", "unless-trusted"},
		{"on-request", "on-failure", "on-request"},
		{"unless-trusted", "on-request", "unless-trusted"},
		{"never", "unless-trusted", "never"},
		{"never", "on-failure", "never"},
		/* nobody would be asked any more about what nothing speaks against */
		{"on-request", "never", "on-request"},
		{"unless-trusted", "never", "unless-trusted"},
	};
	struct world *world = *state;

	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		_cleanup_policy_ struct policy *policy = NULL;
		char text[64];

		snprintf(text, sizeof(text), "approval: %s", cases[i].user);
		put(world->user, text);
		snprintf(text, sizeof(text), "approval: %s", cases[i].project);
		put(world->project, text);
		policy = load(world);
		assert_string_equal(approval_name(policy->approval), cases[i].result);
		assert_int_equal(policy->warnings.count,
				 strcmp(cases[i].project, cases[i].result) != 0);
	}
}

static void trust_lasts_until_the_file_changes(void **state)
{
	struct world *world = *state;
	_cleanup_policy_ struct policy *before = NULL, *trusted = NULL, *changed = NULL,
				       *again = NULL, *without = NULL;
	_cleanup_error_ struct error *error = NULL;

	put(world->project, widening);
	before = load(world);
	assert_int_equal(policy_trust(world->state, world->workspace, &error), 0);
	assert_false(policy_is_current(before));
	trusted = load(world);
	assert_true(policy_is_current(trusted));
	assert_int_equal(trusted->ignored.count, 0);
	assert_int_equal(trusted->sandbox.level, LEVEL_NONE);
	assert_int_equal(trusted->sandbox.network, NETWORK_FULL);
	assert_int_equal(match(trusted, "a")->kind, VERDICT_ALLOW);
	assert_int_equal(match(trusted, "b")->permissions.count, 1);
	assert_true(match(trusted, "b")->trusted);

	put(world->project, "sandbox: {level: none, sockets: [docker]}");
	assert_false(policy_is_current(trusted));
	changed = load(world);
	assert_int_equal(changed->ignored.count, 2);
	put(world->project, widening); /* the same text again is what was trusted */
	again = load(world);
	assert_int_equal(again->ignored.count, 0);
	assert_int_equal(policy_untrust(world->state, world->workspace, &error), 0);
	assert_int_equal(policy_untrust(world->state, world->workspace, &error), 0);
	without = load(world);
	assert_true(without->ignored.count > 0);
}

static void trust_is_for_one_directory_and_one_valid_file(void **state)
{
	struct world *world = *state;
	_cleanup_error_ struct error *error = NULL;
	_cleanup_policy_ struct policy *policy = NULL;
	_cleanup_free_ char *other = path_resolve(world->top, NULL, "other");
	_cleanup_free_ char *copy = path_resolve(other, NULL, ".ward.yaml");
	_cleanup_free_ char *list = path_resolve(world->state, NULL, "trusted");

	assert_true(policy_trust(world->state, world->workspace, &error) < 0);
	assert_non_null(strstr(error->message, "there is no .ward.yaml"));
	put(world->project, "level: x");
	assert_true(policy_trust(world->state, world->workspace, &error) < 0);
	assert_int_equal(error->line, 1);
	put(world->project, widening);
	assert_int_equal(policy_trust(world->state, world->workspace, NULL), 0);
	assert_int_equal(mkdir(other, 0755), 0);
	put(copy, widening);
	world->places.workspace = other;
	policy = load(world);
	assert_true(policy->ignored.count > 0);
	/* a list that others could have written is not believed */
	assert_int_equal(chmod(list, 0666), 0);
	load_fails(world, list, "others may write");
}

static void an_extra_file_counts_in_full_only_outside_the_workspace(void **state)
{
	struct world *world = *state;
	_cleanup_policy_ struct policy *outside = NULL, *inside = NULL, *linked = NULL,
				       *others = NULL;
	_cleanup_free_ char *within = path_resolve(world->workspace, NULL, "extra.yaml");
	_cleanup_free_ char *link = path_resolve(world->workspace, NULL, "link.yaml");
	_cleanup_free_ char *out = path_resolve(world->top, NULL, "out.yaml");

	put(world->extra, "sandbox: {level: none}");
	world->places.extra = world->extra;
	outside = load(world);
	assert_int_equal(outside->sandbox.level, LEVEL_NONE);
	put(within, "sandbox: {level: none}");
	world->places.extra = within;
	inside = load(world);
	assert_int_equal(inside->sandbox.level, LEVEL_RESTRICTED);
	assert_int_equal(inside->ignored.count, 1);
	/* a link in the workspace could have been put there, one that leads into it as well */
	assert_int_equal(symlink(world->extra, link), 0);
	world->places.extra = link;
	linked = load(world);
	assert_int_equal(linked->sandbox.level, LEVEL_RESTRICTED);
	policy_free(linked);
	assert_int_equal(chdir(world->workspace), 0);
	world->places.extra = "link.yaml";
	linked = load(world);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(linked->sandbox.level, LEVEL_RESTRICTED);
	policy_free(linked);
	assert_int_equal(symlink(within, out), 0);
	world->places.extra = out;
	linked = load(world);
	assert_int_equal(linked->sandbox.level, LEVEL_RESTRICTED);
	assert_int_equal(chmod(world->extra, 0666), 0);
	world->places.extra = world->extra;
	others = load(world);
	assert_int_equal(others->sandbox.level, LEVEL_RESTRICTED);
	unlink(world->extra);
	load_fails(world, world->extra, "No such file");
}

static void files_that_cannot_be_believed_are_refused(void **state)
{
	struct world *world = *state;

	put(world->user, "version: 1");
	assert_int_equal(chmod(world->user, 0666), 0);
	load_fails(world, world->user, "others may write");
	if (geteuid() == 0) {
		assert_int_equal(chmod(world->user, 0644), 0);
		assert_int_equal(chown(world->user, 12345, 0), 0);
		load_fails(world, world->user, "belongs to user 12345");
	}
	unlink(world->user);
	put(world->system, "version: 3");
	load_fails(world, world->system, "version");
	unlink(world->system);
	assert_int_equal(mkfifo(world->project, 0644), 0);
	load_fails(world, world->project, "not a regular file");
	unlink(world->project);
	put(world->extra, "version: 1");
	assert_int_equal(symlink(world->extra, world->project), 0);
	load_fails(world, world->project, "symbolic link");
	unlink(world->project);
	assert_int_equal(mkdir(world->project, 0755), 0);
	load_fails(world, world->project, "not a regular file");
	rmdir(world->project);
	policy_free(load(world));
}

static void a_file_that_comes_changes_or_goes_is_noticed(void **state)
{
	struct world *world = *state;
	_cleanup_policy_ struct policy *none = load(world), *one = NULL, *two = NULL;

	assert_true(policy_is_current(none));
	put(world->project, "version: 1");
	assert_false(policy_is_current(none));
	one = load(world);
	assert_true(policy_is_current(one));
	put(world->user, "version: 1");
	assert_false(policy_is_current(one));
	two = load(world);
	assert_true(policy_is_current(two));
	unlink(world->project);
	assert_false(policy_is_current(two));
}

/* --- the property ---------------------------------------------------------------------------- */

static uint64_t seed;

static unsigned dice(unsigned sides)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(seed >> 33) % sides;
}

static void add_section(struct buffer *text)
{
	static const char *const levels[] = {"none", "restricted", "container"};
	static const char *const modes[] = {"none", "restricted", "full"};
	static const char *const limits[] = {"memory", "disk",	"output", "processes",
					     "cpu",    "files", "idle"};

	buffer_add_char(text, '{');
	if (dice(2))
		buffer_printf(text, "level: %s, ", levels[dice(3)]);
	if (dice(2))
		buffer_printf(text, "files: {read: [r%u], write: [w%u], deny: [d%u]}, ", dice(3),
			      dice(3), dice(3));
	if (dice(2)) {
		buffer_add_text(text, "network: {");
		if (dice(2))
			buffer_printf(text, "mode: %s, ", modes[dice(3)]);
		if (dice(2))
			buffer_printf(text, "allow: [h%u], ", dice(3));
		if (dice(2))
			buffer_printf(text, "publish: [%u], ", dice(3) + 1);
		buffer_printf(text, "deny: [x%u]}, ", dice(3));
	}
	if (dice(3) == 0)
		buffer_add_text(text, "sockets: [docker], ");
	if (dice(3) == 0)
		buffer_printf(text, "caches: %s, ", dice(2) ? "private" : "off");
	if (dice(2)) {
		buffer_add_text(text, "limits: {");
		for (size_t i = 0; i < ELEMENTS(limits); i++)
			if (dice(2))
				buffer_printf(text, "%s: %u, ", limits[i], dice(9) + 1);
		buffer_add_text(text, "}, ");
	}
	if (dice(3) == 0)
		buffer_printf(text, "environment: {keep: [K%u], set: {S: %u}}, ", dice(3), dice(3));
	buffer_add_char(text, '}');
}

static void make_policy(struct buffer *text)
{
	static const char *const approvals[] = {"never", "on-failure", "on-request",
						"unless-trusted"};
	static const char *const kinds[] = {"allow", "ask", "deny"};

	buffer_add_text(text, "version: 1\n");
	if (dice(2))
		buffer_printf(text, "approval: %s\n", approvals[dice(4)]);
	if (dice(3)) {
		buffer_add_text(text, "sandbox: ");
		add_section(text);
		buffer_add_char(text, '\n');
	}
	if (dice(2)) {
		buffer_printf(text, "profiles: {%s: ", dice(2) ? "code" : "mine");
		add_section(text);
		buffer_add_text(text, "}\n");
	}
	buffer_add_text(text, "rules:\n");
	for (unsigned i = dice(3) + 1; i > 0; i--) {
		const char *kind = kinds[dice(3)];

		buffer_printf(text, "  - {command: c%u, do: %s, why: w%s}\n", dice(3), kind,
			      strcmp(kind, "deny") != 0 && dice(2) ? ", permissions: ['read p']"
								   : "");
	}
}

static bool is_subset(const struct list *some, const struct list *all)
{
	for (size_t i = 0; i < some->count; i++)
		if (!list_has(all, some->items[i]))
			return false;
	return true;
}

static bool is_no_higher(uint64_t limit, uint64_t most)
{
	return most == 0 || (limit != 0 && limit <= most);
}

static bool is_narrower(const struct sandbox_policy *with, const struct sandbox_policy *without)
{
	return with->level >= without->level && with->network <= without->network &&
	       with->caches >= without->caches && is_subset(&with->read, &without->read) &&
	       is_subset(&with->write, &without->write) &&
	       is_subset(&with->allow_hosts, &without->allow_hosts) &&
	       is_subset(&with->publish, &without->publish) &&
	       is_subset(&with->sockets, &without->sockets) &&
	       is_subset(&with->keep_env, &without->keep_env) &&
	       is_subset(&with->set_env, &without->set_env) &&
	       is_subset(&without->deny, &with->deny) &&
	       is_subset(&without->deny_hosts, &with->deny_hosts) &&
	       is_subset(&without->require, &with->require) &&
	       is_no_higher(with->limits.memory, without->limits.memory) &&
	       is_no_higher(with->limits.disk, without->limits.disk) &&
	       is_no_higher(with->limits.output, without->limits.output) &&
	       is_no_higher(with->limits.files, without->limits.files) &&
	       is_no_higher(with->limits.idle_ns, without->limits.idle_ns) &&
	       is_no_higher(with->limits.processes, without->limits.processes) &&
	       is_no_higher(with->limits.millicpus, without->limits.millicpus) &&
	       is_no_higher(with->limits.time_ns, without->limits.time_ns);
}

static bool rules_are_narrower(const struct policy *with, const struct policy *without)
{
	static const char *const commands[] = {"c0", "c1", "c2", "c3"};

	for (size_t i = 0; i < ELEMENTS(commands); i++) {
		const struct rule *one = match(with, commands[i]),
				  *other = match(without, commands[i]);

		if (one == NULL ? other != NULL : other && one->kind < other->kind)
			return false;
		if (one && !other && one->kind == VERDICT_ALLOW)
			return false;
		if (one && one->permissions.count > (other ? other->permissions.count : 0))
			return false;
	}
	return true;
}

static void no_untrusted_project_ever_widens(void **state)
{
	struct world *world = *state;

	for (unsigned round = 0; round < 1500; round++) {
		_cleanup_buffer_ struct buffer user = {0}, extra = {0}, project = {0};
		_cleanup_policy_ struct policy *with = NULL, *without = NULL;
		bool fine;

		seed = round;
		make_policy(&user);
		make_policy(&extra);
		make_policy(&project);
		put(world->user, buffer_text(&user));
		put(world->extra, buffer_text(&extra));
		world->places.extra = dice(2) ? world->extra : NULL;
		unlink(world->project);
		without = load(world);
		put(world->project, buffer_text(&project));
		with = load(world);
		fine = is_narrower(&with->sandbox, &without->sandbox) &&
		       rules_are_narrower(with, without) &&
		       (with->approval == without->approval ||
			without->approval == APPROVAL_ON_FAILURE ||
			(without->approval == APPROVAL_ON_REQUEST &&
			 with->approval == APPROVAL_UNLESS_TRUSTED));
		for (size_t i = 0; i < with->profile_count && fine; i++) {
			const struct sandbox_policy *known = &without->sandbox;

			policy_profile(without, with->profiles[i].name, &known, NULL);
			fine = is_narrower(&with->profiles[i].sandbox, known);
		}
		if (!fine)
			fail_msg("round %u: wider with\n%sover\n%sand\n%s", round,
				 buffer_text(&project), buffer_text(&user), buffer_text(&extra));
	}
}

int main(void)
{
#define in_world(test) cmocka_unit_test_setup_teardown(test, make_world, end_world)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_fault_is_named_with_its_place),
		cmocka_unit_test(what_is_too_much_is_refused),
		cmocka_unit_test(no_file_takes_long),
		cmocka_unit_test(the_example_of_everything_is_taken),
		cmocka_unit_test(what_is_odd_is_warned_of),
		in_world(without_files_the_built_in_policy_holds),
		in_world(profiles_of_agents_are_there_when_they_are_wanted),
		in_world(later_layers_are_laid_over_earlier_ones),
		in_world(deny_beats_ask_beats_allow_and_the_last_layer_speaks),
		in_world(a_guess_is_known_as_one),
		in_world(a_program_that_is_started_is_known_by_any_of_its_names),
		in_world(only_rules_that_ask_or_deny_are_about_programs),
		in_world(a_project_can_only_narrow_until_it_is_trusted),
		in_world(stricter_ways_of_asking_are_taken_from_a_project),
		in_world(trust_lasts_until_the_file_changes),
		in_world(trust_is_for_one_directory_and_one_valid_file),
		in_world(an_extra_file_counts_in_full_only_outside_the_workspace),
		in_world(files_that_cannot_be_believed_are_refused),
		in_world(a_file_that_comes_changes_or_goes_is_noticed),
		in_world(no_untrusted_project_ever_widens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
