/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of hosts: their names, the files about them, and which set a target belongs to. */
#include "sets_world.h"

#include <sys/stat.h>

static void names_are_a_prefix_and_a_word(void **state)
{
	static const char *const names[] = {"registry:python", "forge:git", "model:a-1"};
	static const char *const others[] = {
		"registry:", "registry:5000", "registry",      "registry:Npm", "registry:a b",
		"sets:x",    "registry:-x",   "forge:git:443", "model:x.y",    "example.org:80",
		""};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(names); i++) {
		assert_true(sets_is_name(names[i]));
		assert_true(sets_is_meant(names[i]));
		assert_int_equal(sets_check(names[i], E_USAGE, NULL), 0);
	}
	for (size_t i = 0; i < ELEMENTS(others); i++) {
		_cleanup_error_ struct error *error = NULL;

		assert_false(sets_is_name(others[i]));
		assert_int_equal(sets_check(others[i], E_USAGE, &error), -E_USAGE);
		assert_non_null(error->hint);
	}
}

static void a_host_called_registry_is_a_host(void **state)
{
	(void)state;
	assert_true(sets_is_meant("registry:"));
	assert_true(sets_is_meant("forge:Git"));
	assert_false(sets_is_meant("registry:5000"));
	assert_false(sets_is_meant("registry"));
	assert_false(sets_is_meant("registry.example:443"));
}

static void what_is_built_in_is_sound(void **state)
{
	static const char *const wanted[] = {
		"registry:python", "registry:npm",    "registry:debian", "registry:rust",
		"registry:go",	   "registry:ruby",   "registry:java",	 "registry:php",
		"registry:dotnet", "registry:docker", "registry:conda",	 "registry:hex",
		"forge:git",	   "model:anthropic", "model:openai",	 "model:google",
		"model:opencode"};
	struct world *world = *state;
	_cleanup_sets_ struct sets sets = {0};

	assert_int_equal(sets_load(&world->places, NULL, &sets, NULL), 0);
	for (size_t i = 0; i < ELEMENTS(wanted); i++)
		assert_non_null(sets_find(&sets, wanted[i]));
	for (size_t i = 0; i < sets.count; i++) {
		assert_non_null(sets.items[i].description);
		assert_true(sets.items[i].programs.count > 0);
		assert_true(sets_is_known(sets.items[i].name, NULL));
		for (size_t h = 0; h < sets.items[i].count; h++)
			assert_non_null(strrchr(sets.items[i].hosts[h].pattern, ':'));
	}
}

/* One set is read alone, without the others. */
static void a_set_read_alone_is_the_same(void **state)
{
	struct world *world = *state;
	_cleanup_sets_ struct sets all = {0};

	assert_int_equal(sets_load(&world->places, NULL, &all, NULL), 0);
	for (size_t i = 0; i < all.count; i++) {
		_cleanup_sets_ struct sets one = {0};
		const struct set *set;

		assert_int_equal(sets_load(&world->places, all.items[i].name, &one, NULL), 0);
		assert_int_equal(one.count, 1);
		set = &one.items[0];
		assert_string_equal(set->description, all.items[i].description);
		assert_int_equal(set->programs.count, all.items[i].programs.count);
		assert_int_equal(set->count, all.items[i].count);
		for (size_t h = 0; h < set->count; h++)
			assert_string_equal(set->hosts[h].pattern, all.items[i].hosts[h].pattern);
	}
}

static void the_machine_and_the_user_add_sets_and_hosts(void **state)
{
	struct world *world = *state;
	_cleanup_list_ struct list hosts = {0};
	_cleanup_sets_ struct sets sets = {0};
	const struct set *set;

	put(world, "etc/ward/sets.yaml",
	    "version: 1\nsets:\n  registry:acme:\n    hosts: [a.example:443]\n");
	put(world, "home/.config/ward/sets.yaml",
	    "sets:\n  registry:acme: {hosts: ['*.b.example:80-90']}\n"
	    "  registry:npm:\n    description: mine\n    hosts:\n      - c.example:443\n"
	    "      - registry.npmjs.org:443\n");
	assert_true(sets_is_known("registry:acme", &world->places));
	assert_false(sets_is_known("registry:acme", NULL));
	assert_false(sets_is_known("registry:other", &world->places));
	assert_int_equal(sets_expand("registry:acme", &world->places, &hosts, NULL), 0);
	assert_int_equal(hosts.count, 2);
	assert_string_equal(hosts.items[0], "a.example:443");
	assert_string_equal(hosts.items[1], "*.b.example:80-90");
	assert_added(world, "registry:npm", "c.example:443");
	/* A known set stays what it is. */
	assert_int_equal(sets_load(&world->places, "registry:npm", &sets, NULL), 0);
	set = sets_find(&sets, "registry:npm");
	assert_string_not_equal(set->description, "mine");
	assert_non_null(strstr(set->hosts[set->count - 1].origin, "/sets.yaml:6"));
}

static void the_workspace_has_no_file_about_sets(void **state)
{
	static const char text[] = "sets: {registry:npm: {hosts: [trap.example:443]}}\n";
	struct world *world = *state;

	put(world, "workspace/sets.yaml", text);
	put(world, "workspace/.ward/sets.yaml", text);
	put(world, "workspace/.config/ward/sets.yaml", text);
	put(world, "workspace/ward/sets.yaml", text);
	assert_added(world, "registry:npm", "");
}

static void faults_in_files_about_sets_have_a_place(void **state)
{
	static const struct {
		const char *text;
		int line, column;
		const char *message;
	} cases[] = {
		{"sets: {registry:x: {hosts: [a.example], more: 1}}", 1, 41, "unknown key 'more'"},
		{"set: {}", 1, 1, "unknown key 'set'"},
		{"version: 2", 1, 10, "version"},
		{"sets:\n  acme: {hosts: [a.example]}", 2, 3, "is not a set of hosts"},
		{"sets:\n  registry:9: {hosts: [a.example]}", 2, 3, "is not a set of hosts"},
		{"sets:\n  registry:x: {}", 2, 3, "has no hosts"},
		{"sets:\n  registry:x: {hosts: []}", 2, 3, "has no hosts"},
		{"sets:\n  registry:x: {hosts: a.example}", 2, 23, "a list is wanted"},
		{"sets:\n  registry:x: {hosts: [[a]]}", 2, 24, "a single value is wanted"},
		{"sets:\n  registry:x: {hosts: ['a b']}", 2, 24, ""},
		{"sets:\n  registry:x: {hosts: ['a:0']}", 2, 24, ""},
		{"sets:\n  registry:x: {hosts: [registry:npm]}", 2, 24, "is a set"},
		{"sets:\n  registry:x: {hosts: [a.example], hosts: [b.example]}", 2, 36, "twice"},
		{"sets:\n  registry:x: {hosts: [a.example]}\n  registry:x: {hosts: [b.example]}", 3,
		 3, "twice"},
		{"sets:\n  registry:x: {hosts: [a.example], programs: [/bin/x]}", 2, 47,
		 "is not the name of a program"},
		{"sets:\n  registry:x: {hosts: [a.example], description: ''}", 2, 49, "empty"},
		{"sets:\n  registry:x: &a {hosts: [a.example]}", 2, 15, "anchors"},
		{"sets: [registry:x]", 1, 7, "a group of keys is wanted"},
		{"- x", 1, 1, "a group of keys is wanted"},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		_cleanup_error_ struct error *error = NULL;

		assert_int_equal(sets_parse(cases[i].text, strlen(cases[i].text), "s.yaml", &error),
				 -E_POLICY);
		assert_non_null(error->hint);
		assert_string_equal(error->file, "s.yaml");
		if (error->line != cases[i].line || error->column != cases[i].column ||
		    !strstr(error->message, cases[i].message))
			fail_msg("%s: %d:%d %s", cases[i].text, error->line, error->column,
				 error->message);
	}
	assert_int_equal(sets_parse("", 0, "s.yaml", NULL), 0);
}

static void a_faulty_file_is_an_error_and_no_guess(void **state)
{
	struct world *world = *state;
	_cleanup_list_ struct list hosts = {0}, suggested = {0};
	_cleanup_error_ struct error *error = NULL;

	put(world, "home/.config/ward/sets.yaml", "sets:\n  registry:x: {hots: []}\n");
	assert_int_equal(sets_expand("registry:npm", &world->places, &hosts, &error), -E_POLICY);
	assert_int_equal(hosts.count, 0);
	assert_int_equal(error->line, 2);
	assert_null(sets_of("pypi.org", 443, "pip", &world->places, &hosts, &suggested));
}

static void a_file_that_others_can_write_is_not_believed(void **state)
{
	struct world *world = *state;
	_cleanup_list_ struct list hosts = {0};
	_cleanup_error_ struct error *error = NULL;
	_cleanup_free_ char *path = path_resolve(world->home, NULL, ".config/ward/sets.yaml");

	put(world, "home/.config/ward/sets.yaml", "sets: {registry:x: {hosts: [a.example:443]}}\n");
	assert_int_equal(chmod(path, 0666), 0);
	assert_int_equal(sets_expand("registry:x", &world->places, &hosts, &error), -E_POLICY);
	assert_string_equal(error->file, path);
}

static void an_unknown_set_is_told_with_the_known_ones(void **state)
{
	struct world *world = *state;
	_cleanup_list_ struct list hosts = {0};
	_cleanup_error_ struct error *error = NULL;

	assert_int_equal(sets_expand("registry:cobol", &world->places, &hosts, &error), -E_USAGE);
	assert_non_null(strstr(error->message, "registry:cobol"));
	assert_non_null(strstr(error->hint, "registry:python"));
}

static void a_target_belongs_to_the_set_of_its_program(void **state)
{
	static const struct {
		const char *host;
		uint16_t port;
		const char *program, *name;
	} cases[] = {
		{"pypi.org", 443, "/usr/bin/pip3", "registry:python"},
		{"pypi.org", 443, NULL, "registry:python"},
		{"pypi.org", 443, "npm", "registry:python"},
		{"pypi.org", 80, "pip", NULL},
		{"pypi.org.trap.example", 443, "pip", NULL},
		{"registry.npmjs.org", 443, "deno", "registry:deno"},
		{"registry.npmjs.org", 443, "npm", "registry:npm"},
		{"de.archive.ubuntu.com", 80, "http", "registry:ubuntu"},
		{"github.com", 22, "ssh", "forge:git"},
		{"own.example", 8443, "pip", "registry:python"},
		{"10.1.2.3", 3141, "pip", "registry:python"},
		{"2001:db8::1", 443, "pip", "registry:python"},
		{"localhost", 3141, "pip", "registry:python"},
		{"127.0.0.1", 22, "pip", NULL},
	};
	struct world *world = *state;

	put(world, "home/.config/pip/pip.conf",
	    "[global]\nindex-url=https://own.example:8443/\nextra-index-url=http://10.1.2.3:3141/\n"
	    "  https://[2001:db8::1]/ http://localhost:3141/\n");
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		_cleanup_list_ struct list hosts = {0}, suggested = {0};
		_cleanup_free_ char *name = sets_of(cases[i].host, cases[i].port, cases[i].program,
						    &world->places, &hosts, &suggested);

		if (!cases[i].name) {
			assert_null(name);
			assert_int_equal(hosts.count + suggested.count, 0);
			continue;
		}
		assert_non_null(name);
		assert_string_equal(name, cases[i].name);
		assert_true(hosts.count > 0);
		assert_int_equal(suggested.count, 0);
	}
}

static void a_suggested_target_brings_no_set_along(void **state)
{
	struct world *world = *state;
	_cleanup_list_ struct list hosts = {0}, suggested = {0};
	_cleanup_free_ char *name = NULL, *other = NULL, *known = NULL;

	put(world, "workspace/pip.conf",
	    "[global]\nextra-index-url=https://one.example/ https://u:secret@trap.example/\n");
	name = sets_of("trap.example", 443, "pip", &world->places, &hosts, &suggested);
	assert_non_null(name);
	assert_string_equal(name, "registry:python");
	assert_int_equal(hosts.count, 0);
	assert_int_equal(suggested.count, 2);
	assert_string_equal(suggested.items[0], "trap.example:443");
	assert_string_equal(suggested.items[1], "one.example:443");
	list_done(&suggested);
	/* Nothing of the workspace speaks for other programs. */
	other = sets_of("trap.example", 443, "curl", &world->places, &hosts, &suggested);
	assert_null(other);
	known = sets_of("pypi.org", 443, "pip", &world->places, &hosts, &suggested);
	assert_non_null(known);
	assert_true(list_has(&hosts, "files.pythonhosted.org:443"));
	assert_false(list_has(&hosts, "trap.example:443"));
	assert_int_equal(suggested.count, 2);
}

int main(void)
{
#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, world_new, world_done)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_a_prefix_and_a_word),
		cmocka_unit_test(a_host_called_registry_is_a_host),
		IN_WORLD(what_is_built_in_is_sound),
		IN_WORLD(a_set_read_alone_is_the_same),
		IN_WORLD(the_machine_and_the_user_add_sets_and_hosts),
		IN_WORLD(the_workspace_has_no_file_about_sets),
		cmocka_unit_test(faults_in_files_about_sets_have_a_place),
		IN_WORLD(a_faulty_file_is_an_error_and_no_guess),
		IN_WORLD(a_file_that_others_can_write_is_not_believed),
		IN_WORLD(an_unknown_set_is_told_with_the_known_ones),
		IN_WORLD(a_target_belongs_to_the_set_of_its_program),
		IN_WORLD(a_suggested_target_brings_no_set_along),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
