/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of hosts: files about them, what tools are configured for, and whose word counts. */
#include "../../src/base/buffer.h"
#include "../../src/base/hosts.h"
#include "../../src/base/io.h"
#include "../../src/base/path.h"
#include "../../src/decide/sets_parts.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

/* --- names ----------------------------------------------------------------------------------- */

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

/* --- URLs ------------------------------------------------------------------------------------ */

static void a_url_is_a_host_and_the_port_of_its_scheme(void **state)
{
	static const struct {
		const char *url, *host;
	} cases[] = {
		{"https://packages.example/simple/", "packages.example:443"},
		{"http://packages.example", "packages.example:80"},
		{"HTTPS://Packages.EXAMPLE./x", "packages.example:443"},
		{"https://packages.example:8443?x#y", "packages.example:8443"},
		{"https://packages.example:/x", "packages.example:443"},
		{"sparse+https://index.example/", "index.example:443"},
		{"mirror+http://mirror.example/list", "mirror.example:80"},
		{"git+ssh://git@git.example/x", "git.example:22"},
		{"ssh://git@git.example:2222/x", "git.example:2222"},
		{"git://git.example/x", "git.example:9418"},
		{"https://user:secret@packages.example/", "packages.example:443"},
		{"https://me@corp.example:p%40ss@packages.example/", "packages.example:443"},
		{"https://trap.example:443@packages.example/", "packages.example:443"},
		{"https://packages.example/@trap.example/", "packages.example:443"},
		{"https://packages.example?@trap.example/", "packages.example:443"},
		{"https://[2001:DB8::1]/", "[2001:db8::1]:443"},
		{"http://u:p@[fd12::1]:8080/", "[fd12::1]:8080"},
		{"http://10.0.0.5:8080/simple", "10.0.0.5:8080"},
		{"http://localhost:4873/", "localhost:4873"},
		{"http://registry:5000/", "registry:5000"},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		_cleanup_free_ char *host = url_host(cases[i].url, strlen(cases[i].url), false);

		assert_non_null(host);
		assert_string_equal(host, cases[i].host);
		assert_int_equal(host_pattern_check(host, NULL), 0);
	}
}

static void what_is_not_plainly_a_host_is_none(void **state)
{
	static const char *const cases[] = {
		"",
		"packages.example",
		"file:///srv/wheels",
		"/srv/wheels",
		"ftp://packages.example/",
		"https://",
		"https:///x",
		"https://*/",
		"https://*.example/",
		"https://**.example/",
		"https://a..b/",
		"https://-x.example/",
		"https://x-.example/",
		"https://packages.example:0/",
		"https://packages.example:65536/",
		"https://packages.example:443x/",
		"https://packages.example:1-65535/",
		"https://packages.example:443:22/",
		"https://10.0.0.0/8:443/",
		"https://10.1/",
		"https://0x7f.1/",
		"https://2130706433/",
		"https://0177.0.0.01/",
		"https://169.254.169.254/",
		"http://[fe80::1]/",
		"http://[fe80::1%25eth0]/",
		"http://[::ffff:169.254.169.254]/",
		"http://[fd00:ec2::254]/",
		"http://0.0.0.0/",
		"http://[packages.example]/",
		"http://[::1/",
		"https://host-loopback/",
		"https://b\xc3\xbc"
		"cher.example/",
		"https://packages.example\\@trap.example/",
		"https://pack%61ges.example/",
		"https://${HOST}/",
		"https://pack ages.example/",
		"git@git.example:x",
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		_cleanup_free_ char *host = url_host(cases[i], strlen(cases[i]), false);

		if (host && strcmp(host, "10.0.0.0:443") != 0)
			fail_msg("%s is %s", cases[i], host);
	}
}

static void a_remote_may_be_written_as_for_scp(void **state)
{
	static const struct {
		const char *url, *host;
	} cases[] = {
		{"git@git.example:team/x.git", "git.example:22"},
		{"git.example:x.git", "git.example:22"},
		{"[git@git.example:2222]:x.git", "git.example:2222"},
		{"git@[2001:db8::1]:x.git", "[2001:db8::1]:22"},
		{"https://t0ken@git.example/x.git", "git.example:443"},
		{"../other.git", NULL},
		{"/srv/x.git", NULL},
		{"./a:b", NULL},
		{"ext::sh -c x", NULL},
		{"ext::sh", NULL},
		{"-oProxyCommand=x:y", NULL},
		{"[git.example", NULL},
		{"a/[b]:c", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		_cleanup_free_ char *host = url_host(cases[i].url, strlen(cases[i].url), true);

		if (!cases[i].host) {
			assert_null(host);
			continue;
		}
		assert_non_null(host);
		assert_string_equal(host, cases[i].host);
	}
}

/* --- places ---------------------------------------------------------------------------------- */

struct world {
	char top[64];
	char *home, *etc, *workspace, *state;
	struct sets_places places;
	char *environment[8];
};

static void put(const struct world *world, const char *path, const char *text)
{
	_cleanup_free_ char *whole = path_resolve(world->top, NULL, path);
	_cleanup_free_ char *directory = strndup(whole, (size_t)(path_last(whole) - whole));
	_cleanup_close_ int fd = -1;

	assert_int_equal(make_directories(directory, 0755), 0);
	unlink(whole);
	fd = open(whole, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, text, strlen(text)), 0);
}

static int world_new(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	strcpy(world->top, "/tmp/test-sets-XXXXXX");
	if (!mkdtemp(world->top))
		return -1;
	world->home = path_resolve(world->top, NULL, "home");
	world->etc = path_resolve(world->top, NULL, "etc");
	world->workspace = path_resolve(world->top, NULL, "workspace");
	world->state = path_resolve(world->top, NULL, "state");
	make_directories(world->workspace, 0755);
	make_directories(world->state, 0755);
	world->places = (struct sets_places){.workspace = world->workspace,
					     .home = world->home,
					     .system = world->etc,
					     .state = world->state,
					     .environment = world->environment,
					     .uid = geteuid()};
	*state = world;
	return 0;
}

static int world_done(void **state)
{
	struct world *world = *state;

	remove_tree(AT_FDCWD, world->top);
	free(world->home);
	free(world->etc);
	free(world->workspace);
	free(world->state);
	free(world);
	return 0;
}

/* The hosts of a set that the built-in file does not have, joined by blanks; those that are only
 * suggested behind a `?`. Caller frees. */
static char *added(const struct world *world, const char *name)
{
	_cleanup_sets_ struct sets sets = {0};
	struct buffer text = {0};
	const struct set *set;

	assert_int_equal(sets_load(&world->places, name, &sets, NULL), 0);
	set = sets_find(&sets, name);
	for (size_t i = 0; i < set->count; i++)
		if (strcmp(set->hosts[i].origin, "built in") != 0)
			buffer_printf(&text, "%s%s%s", text.length ? " " : "",
				      set->hosts[i].suggested ? "?" : "", set->hosts[i].pattern);
	return buffer_steal(&text);
}

#define assert_added(world, name, expected)                    \
	do {                                                   \
		_cleanup_free_ char *got = added(world, name); \
		assert_string_equal(got, expected);            \
	} while (0)

/* --- files about sets ------------------------------------------------------------------------- */

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

/* --- tools ----------------------------------------------------------------------------------- */

static void pip_is_read_with_continuations_and_comments(void **state)
{
	struct world *world = *state;

	put(world, "home/.config/pip/pip.conf",
	    "# https://comment.example/\n"
	    "[global]\n"
	    "index-url = https://me:secret@one.example/simple\r\n"
	    "Extra_Index_URL: https://two.example:8443/simple\n"
	    "    # https://comment.example/\n"
	    "    https://three.example/simple http://four.example/\n"
	    "\n"
	    "proxy = http://proxy.example:3128\n"
	    "trusted-host = five.example\n"
	    "    https://six.example/\n"
	    "[install]\n"
	    "    https://seven.example/\n"
	    "find-links =\n"
	    "    https://eight.example/wheels\n"
	    "    /srv/wheels\n");
	put(world, "etc/pip.conf", "[global]\nindex-url=http://10.1.2.3:3141/root/pypi\n");
	put(world, "home/.pip/pip.conf", "[global]\nindex-url https://nine.example/\n");
	assert_added(world, "registry:python",
		     "10.1.2.3:3141 one.example:443 two.example:8443 three.example:443 "
		     "four.example:80 eight.example:443");
}

static void variables_of_the_caller_count(void **state)
{
	struct world *world = *state;

	world->environment[0] = "PIP_EXTRA_INDEX_URL=https://a:b@one.example/ https://two.example/";
	world->environment[1] =
		"UV_INDEX=corp=https://three.example/simple https://four.example/?x=y";
	world->environment[2] = "PIP_INDEX_URL";
	world->environment[3] = "XPIP_INDEX_URL=https://trap.example/";
	assert_added(world, "registry:python",
		     "one.example:443 two.example:443 three.example:443 four.example:443");
	world->environment[0] = "npm_config_registry=http://one.example:4873";
	world->environment[1] = "npm_config_@team:registry=https://two.example/npm/";
	assert_added(world, "registry:npm", "one.example:4873 two.example:443");
	world->environment[0] = "CARGO_REGISTRIES_MY_CORP_INDEX=sparse+https://one.example/";
	world->environment[1] = "RUSTUP_DIST_SERVER=https://two.example";
	assert_added(world, "registry:rust", "one.example:443 two.example:443");
}

static void uv_is_read(void **state)
{
	struct world *world = *state;

	put(world, "home/.config/uv/uv.toml",
	    "extra-index-url = [ # more\n  \"https://one.example/\", 'https://two.example/',\n]\n"
	    "# index-url = \"https://comment.example/\"\n"
	    "[[index]]\nname = \"corp\"\nurl = \"https://u:p@three.example/\"\n"
	    "[[index]]\nurl = \"https://four.example/\" # https://comment.example/\n"
	    "[pip]\nindex-url = \"\"\"https://five.example/\"\"\"\n"
	    "[other]\nurl = \"https://trap.example/\"\n");
	assert_added(world, "registry:python",
		     "one.example:443 two.example:443 three.example:443 four.example:443 "
		     "five.example:443");
}

static void npm_and_its_kin_are_read(void **state)
{
	struct world *world = *state;

	put(world, "home/.npmrc",
	    "; registry=https://comment.example/\n# registry=https://comment.example/\n"
	    "registry = \"https://one.example/\"\n"
	    "@team:registry=https://two.example:8443/npm/ ; https://trap.example/\n"
	    "//three.example/:_authToken=secret\n"
	    "proxy=http://proxy.example:3128/\n"
	    "[section]\nregistryx=https://trap.example/\n");
	put(world, "home/.yarnrc",
	    "# yarn lockfile v1\nregistry \"https://four.example\"\n"
	    "\"@x:registry\" \"https://five.example\"\n");
	put(world, "home/.yarnrc.yml",
	    "npmRegistryServer: \"https://six.example\"\nnpmScopes:\n  x:\n"
	    "    npmRegistryServer: 'https://seven.example'\n    npmAuthToken: secret\n");
	put(world, "home/.config/pnpm/rc", "registry=https://eight.example/\n");
	put(world, "etc/npmrc", "registry=https://nine.example/\n");
	put(world, "usr/local/etc/npmrc", "registry=https://ten.example/\n");
	assert_added(world, "registry:npm",
		     "nine.example:443 ten.example:443 one.example:443 two.example:8443 "
		     "eight.example:443 four.example:443 five.example:443 six.example:443 "
		     "seven.example:443");
}

static void apt_is_read_in_both_its_forms(void **state)
{
	struct world *world = *state;

	put(world, "etc/apt/sources.list",
	    "# deb http://comment.example/ x main\n"
	    "deb http://one.example/debian stable main # http://trap.example/\n"
	    "deb-src [ arch=amd64 signed-by=/usr/share/x.gpg ] https://two.example/ x main\n"
	    "deb [trusted=yes]mirror+https://three.example/list x main\n"
	    "deb cdrom:[Debian]/ x main\n"
	    "rpm http://trap.example/ x\n");
	put(world, "etc/apt/sources.list.d/a.sources",
	    "Types: deb\nURIs: http://four.example/debian\n# a comment\n https://five.example/\n"
	    "Suites: x\n\n"
	    "Types: deb\nURIs: http://off.example/\nEnabled: no\n\n"
	    "types: deb\nuris: tor+https://six.example:8443/\nSigned-By:\n"
	    " https://trap.example/\n");
	put(world, "etc/apt/sources.list.d/b.list", "deb http://seven.example/ x main\n");
	put(world, "etc/apt/sources.list.d/b.list.save", "deb http://trap.example/ x main\n");
	assert_added(world, "registry:debian",
		     "one.example:80 two.example:443 three.example:443 seven.example:80 "
		     "four.example:80 five.example:443 six.example:8443");
}

static void cargo_is_read(void **state)
{
	struct world *world = *state;

	put(world, "home/.cargo/config.toml",
	    "[registries]\none = { index = \"sparse+https://one.example/index/\" }\n"
	    "\"t.w.o\" = { index = \"https://two.example/git\", token = \"secret\" }\n"
	    "[registries.three]\nindex = \"ssh://git@three.example:2222/x\"\n"
	    "[source.crates-io]\nreplace-with = \"four\"\n"
	    "[source.four]\nregistry = \"sparse+http://four.example:8080/\"\n"
	    "[http]\nproxy = \"http://proxy.example:3128\"\n"
	    "[net]\nretry = 2\n"
	    "source.five.git = \"https://trap.example/\"\n");
	assert_added(world, "registry:rust",
		     "one.example:443 two.example:443 three.example:2222 four.example:8080");
}

static void broken_toml_is_stepped_over(void **state)
{
	struct world *world = *state;

	put(world, "home/.cargo/config.toml",
	    "[registries.one]\nindex = \"https://one.example/\n"
	    "= = =\n[registries.\nindex = \"https://trap.example/\"\n"
	    "[source.two]\nx = [1, 2, {a = [\nregistry = \"https://two.example/\"\n"
	    "[source.three]\nregistry = \"https://thr\\u0065e.example/\"\n"
	    "[source.four]\nregistry = \"https://four.example/\"\n");
	assert_added(world, "registry:rust", "four.example:443");
}

static void go_is_read(void **state)
{
	struct world *world = *state;

	put(world, "home/.config/go/env",
	    "GOPROXY=https://one.example/proxy|http://two.example:8080,direct\n"
	    "GOSUMDB=sum.three.example+abc+def\n"
	    "GOPRIVATE=*.corp.example/team,git.four.example,*,*.example:x,*.com\n"
	    "GOFLAGS=-x\n");
	assert_added(world, "registry:go",
		     "one.example:443 two.example:8080 sum.three.example:443 *.corp.example:443 "
		     "git.four.example:443");
	put(world, "home/.config/go/env", "GOPROXY=off\nGOSUMDB=*.example.org\nGOPRIVATE=\n");
	world->environment[0] = "GOSUMDB=sum.golang.org https://sums.example:8443";
	assert_added(world, "registry:go", "sums.example:8443");
}

static void remotes_are_suggested(void **state)
{
	struct world *world = *state;

	put(world, "workspace/.git/config",
	    "[core]\n\tbare = false\n"
	    "[remote \"origin\"]\n\turl = git@one.example:x.git ; comment\n"
	    "\tpushurl = \"https://t0ken@two.exa\\\nmple:8443/x\"\n"
	    "[remote \"a]b\\\"c\"] url = ssh://three.example:2222/x\n"
	    "# url = https://comment.example/\n"
	    "[include]\n\tpath = other\n"
	    "[branch \"main\"]\n\turl = https://trap.example/\n"
	    "[Remote.old]\n\tURL=git://four.example/x\n"
	    "[url \"https://five.example/\"]\n\tinsteadOf = x:\n"
	    "[submodule \"s\"]\n\turl = ../relative.git\n");
	put(world, "workspace/.git/other", "[remote \"x\"]\nurl = https://trap.example/\n");
	put(world, "workspace/.gitmodules", "[submodule \"x\"]\n\turl = https://six.example/\n");
	put(world, "home/.gitconfig",
	    "[url \"ssh://git@own.example:7999/\"]\n\tinsteadOf = https://own.example/\n"
	    "[remote \"x\"]\n\turl = https://trap.example/\n");
	assert_added(world, "forge:git",
		     "own.example:7999 ?one.example:22 ?two.example:8443 ?three.example:2222 "
		     "?four.example:9418 ?five.example:443 ?six.example:443");
}

static void remotes_of_a_worktree_are_suggested(void **state)
{
	struct world *world = *state;
	_cleanup_buffer_ struct buffer file = {0};

	put(world, "repo/.git/config", "[remote \"origin\"]\n\turl = git@one.example:x\n");
	put(world, "repo/.git/worktrees/w/commondir", "../..\n");
	buffer_printf(&file, "gitdir: %s/repo/.git/worktrees/w\n", world->top);
	put(world, "workspace/.git", buffer_text(&file));
	assert_added(world, "forge:git", "?one.example:22");
	/* A submodule has a configuration of its own. */
	put(world, "repo/.git/modules/m/config", "[remote \"x\"]\n\turl = git@two.example:x\n");
	put(world, "workspace/.git", "gitdir: ../repo/.git/modules/m\n");
	assert_added(world, "forge:git", "?two.example:22");
	put(world, "workspace/.git", "gitdir: /dev/zero\n");
	assert_added(world, "forge:git", "");
}

/* --- whose word counts ------------------------------------------------------------------------ */

static void the_workspace_only_suggests(void **state)
{
	struct world *world = *state;
	_cleanup_list_ struct list hosts = {0};

	put(world, "workspace/.npmrc",
	    "registry=https://trap.example/\n@a:registry=https://b.example/\n");
	put(world, "workspace/pip.conf", "[global]\nindex-url=https://trap.example/\n");
	put(world, "workspace/requirements.txt", "--extra-index-url https://two.example/\nx==1\n");
	put(world, "workspace/pyproject.toml",
	    "[[tool.uv.index]]\nurl = \"https://three.example/\"\n");
	put(world, "workspace/.env", "export PIP_INDEX_URL='https://four.example/'\n");
	put(world, "workspace/.cargo/config.toml",
	    "[source.x]\nregistry = \"https://trap.example/\"\n");
	assert_added(world, "registry:npm", "?trap.example:443 ?b.example:443");
	assert_added(world, "registry:python",
		     "?trap.example:443 ?two.example:443 ?three.example:443 ?four.example:443");
	assert_added(world, "registry:rust", "?trap.example:443");
	assert_int_equal(sets_expand("registry:npm", &world->places, &hosts, NULL), 0);
	assert_false(list_has(&hosts, "trap.example:443"));
	assert_true(list_has(&hosts, "registry.npmjs.org:443"));
}

static void what_commands_can_write_only_suggests(void **state)
{
	struct world *world = *state;
	_cleanup_free_ char *npmrc = path_resolve(world->home, NULL, ".npmrc");
	_cleanup_free_ char *other = path_resolve(world->workspace, NULL, "npmrc");
	_cleanup_free_ char *pattern = path_resolve(world->home, NULL, ".c*/**");
	struct list writable = {.items = (char *[]){pattern, NULL}, .count = 1};

	/* A link into the workspace. */
	put(world, "workspace/npmrc", "registry=https://one.example/\n");
	assert_int_equal(make_directories(world->home, 0755), 0);
	assert_int_equal(symlink(other, npmrc), 0);
	assert_added(world, "registry:npm", "?one.example:443");
	/* A second name there. */
	assert_int_equal(unlink(npmrc), 0);
	assert_int_equal(link(other, npmrc), 0);
	assert_added(world, "registry:npm", "?one.example:443");
	/* Others may write. */
	put(world, "home/.npmrc", "registry=https://two.example/\n");
	assert_added(world, "registry:npm", "two.example:443");
	assert_int_equal(chmod(npmrc, 0664), 0);
	assert_added(world, "registry:npm", "?two.example:443");
	assert_int_equal(chmod(npmrc, 0644), 0);
	/* The policy lets commands write there. */
	world->places.writable = &writable;
	assert_added(world, "registry:npm", "?two.example:443");
	world->places.writable = NULL;
	/* A variable that leads there, and into ward's state. */
	put(world, "state/tmp/npmrc", "registry=https://three.example/\n");
	assert_int_equal(asprintf(&world->environment[0], "NPM_CONFIG_USERCONFIG=%s/npmrc",
				  world->workspace) > 0,
			 1);
	assert_int_equal(asprintf(&world->environment[1], "npm_config_userconfig=%s/tmp/npmrc",
				  world->state) > 0,
			 1);
	assert_added(world, "registry:npm", "two.example:443 ?one.example:443 ?three.example:443");
	free(world->environment[0]);
	free(world->environment[1]);
}

static void a_home_that_is_the_workspace_only_suggests(void **state)
{
	struct world *world = *state;

	put(world, "home/.npmrc", "registry=https://one.example/\n");
	world->places.workspace = world->home;
	assert_added(world, "registry:npm", "?one.example:443");
	world->places.workspace = world->top;
	assert_added(world, "registry:npm", "?one.example:443");
}

static void another_users_home_only_suggests(void **state)
{
	struct world *world = *state;
	_cleanup_free_ char *path = path_resolve(world->top, NULL, "other/.npmrc");
	_cleanup_free_ char *other = path_resolve(world->top, NULL, "other");
	_cleanup_free_ char *config = path_resolve(world->top, NULL, "config");

	put(world, "other/.npmrc", "registry=https://one.example/\n");
	put(world, "home/.npmrc", "registry=https://two.example/\n");
	put(world, "config/pnpm/rc", "registry=https://three.example/\n");
	world->places.config_home = config;
	assert_added(world, "registry:npm", "two.example:443 three.example:443");
	world->places.tools_home = world->home;
	assert_added(world, "registry:npm", "two.example:443 three.example:443");
	world->places.tools_home = other;
	assert_added(world, "registry:npm", "one.example:443");
	if (geteuid() != 0)
		return;
	assert_int_equal(chown(path, 12345, 12345), 0);
	assert_added(world, "registry:npm", "?one.example:443");
}

static void what_is_no_small_file_adds_nothing(void **state)
{
	struct world *world = *state;
	_cleanup_free_ char *npmrc = path_resolve(world->home, NULL, ".npmrc");
	_cleanup_buffer_ struct buffer text = {0};

	put(world, "home/x", "");
	assert_int_equal(mkfifo(npmrc, 0644), 0);
	assert_added(world, "registry:npm", "");
	assert_int_equal(unlink(npmrc), 0);
	assert_int_equal(mkdir(npmrc, 0755), 0);
	assert_added(world, "registry:npm", "");
	assert_int_equal(rmdir(npmrc), 0);
	assert_int_equal(symlink("/dev/zero", npmrc), 0);
	assert_added(world, "registry:npm", "");
	while (text.length <= 256 * 1024)
		buffer_add_text(&text, "registry=https://one.example/\n");
	put(world, "home/.npmrc", buffer_text(&text));
	assert_added(world, "registry:npm", "");
}

static void a_flood_of_hosts_is_bounded(void **state)
{
	struct world *world = *state;
	_cleanup_list_ struct list hosts = {0}, suggested = {0};
	_cleanup_buffer_ struct buffer text = {0};
	_cleanup_free_ char *name = NULL;

	for (int i = 0; i < 5000; i++)
		buffer_printf(&text, "@s%d:registry=https://h%d.example/\n", i, i);
	put(world, "workspace/.npmrc", buffer_text(&text));
	name = sets_of("h3.example", 443, "npm", &world->places, &hosts, &suggested);
	assert_non_null(name);
	assert_int_equal(suggested.count, 16);
	assert_string_equal(suggested.items[0], "h3.example:443");
}

/* --- which set ------------------------------------------------------------------------------- */

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
		cmocka_unit_test(a_url_is_a_host_and_the_port_of_its_scheme),
		cmocka_unit_test(what_is_not_plainly_a_host_is_none),
		cmocka_unit_test(a_remote_may_be_written_as_for_scp),
		IN_WORLD(what_is_built_in_is_sound),
		IN_WORLD(a_set_read_alone_is_the_same),
		IN_WORLD(the_machine_and_the_user_add_sets_and_hosts),
		IN_WORLD(the_workspace_has_no_file_about_sets),
		cmocka_unit_test(faults_in_files_about_sets_have_a_place),
		IN_WORLD(a_faulty_file_is_an_error_and_no_guess),
		IN_WORLD(a_file_that_others_can_write_is_not_believed),
		IN_WORLD(an_unknown_set_is_told_with_the_known_ones),
		IN_WORLD(pip_is_read_with_continuations_and_comments),
		IN_WORLD(variables_of_the_caller_count),
		IN_WORLD(uv_is_read),
		IN_WORLD(npm_and_its_kin_are_read),
		IN_WORLD(apt_is_read_in_both_its_forms),
		IN_WORLD(cargo_is_read),
		IN_WORLD(broken_toml_is_stepped_over),
		IN_WORLD(go_is_read),
		IN_WORLD(remotes_are_suggested),
		IN_WORLD(remotes_of_a_worktree_are_suggested),
		IN_WORLD(the_workspace_only_suggests),
		IN_WORLD(what_commands_can_write_only_suggests),
		IN_WORLD(a_home_that_is_the_workspace_only_suggests),
		IN_WORLD(another_users_home_only_suggests),
		IN_WORLD(what_is_no_small_file_adds_nothing),
		IN_WORLD(a_flood_of_hosts_is_bounded),
		IN_WORLD(a_target_belongs_to_the_set_of_its_program),
		IN_WORLD(a_suggested_target_brings_no_set_along),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
