/* SPDX-License-Identifier: Apache-2.0 */
/* A machine, a home and a workspace with files about hosts, made for one test. */
#pragma once

#include "../../src/base/buffer.h"
#include "../../src/base/io.h"
#include "../../src/base/path.h"
#include "../../src/decide/sets_parts.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

struct world {
	char top[64];
	char *home, *etc, *workspace, *state;
	struct sets_places places;
	char *environment[8];
};

static inline void put(const struct world *world, const char *path, const char *text)
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

static inline int world_new(void **state)
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

static inline int world_done(void **state)
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
static inline char *added(const struct world *world, const char *name)
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
