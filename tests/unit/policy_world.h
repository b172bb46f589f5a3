/* SPDX-License-Identifier: Apache-2.0 */
/* A machine with a home, a project and places for policy files, made for one test. */
#pragma once

#include "../../src/base/io.h"
#include "../../src/base/path.h"
#include "../../src/decide/policy.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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

struct world {
	char top[64];
	char *system, *home, *workspace, *state, *extra, *project, *user;
	struct policy_places places;
};

static inline void put(const char *path, const char *text)
{
	_cleanup_close_ int fd = -1;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, text, strlen(text)), 0);
}

static inline int make_world(void **state)
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

static inline int end_world(void **state)
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

static inline struct policy *load(const struct world *world)
{
	_cleanup_error_ struct error *error = NULL;
	struct policy *policy;

	if (policy_load(&world->places, &policy, &error) < 0)
		fail_msg("%s:%d:%d: %s", error->file ? error->file : "-", error->line,
			 error->column, error->message);
	return policy;
}

static inline void load_fails(const struct world *world, const char *file, const char *message)
{
	_cleanup_error_ struct error *error = NULL;
	struct policy *policy;

	if (policy_load(&world->places, &policy, &error) == 0)
		fail_msg("loaded, without '%s'", message);
	if (!error->file || strcmp(error->file, file) != 0 || !strstr(error->message, message) ||
	    !error->hint)
		fail_msg("%s: %s, not %s", error->file, error->message, message);
}

static inline const struct rule *match(const struct policy *policy, const char *text)
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
