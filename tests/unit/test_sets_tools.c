/* SPDX-License-Identifier: Apache-2.0 */
/* The hosts that tools are configured for, and whose word counts. */
#include "sets_world.h"

#include <stdio.h>
#include <sys/stat.h>

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

int main(void)
{
#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, world_new, world_done)
	const struct CMUnitTest tests[] = {
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
