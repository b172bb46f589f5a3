/* SPDX-License-Identifier: Apache-2.0 */
/* The table of caches, and which of them get a layer. Not in it is where programs are installed to
 * be called from outside (.cargo/bin, .local/bin): a layer would make that look done. */
#include "caches.h"
#include "../base/path.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is known in a place that holds more than one tool's cache: where a rule speaks of something
 * in it, the others still get theirs. */
static const char *const parts_of_cache[] = {
	"pip",	      "pypoetry",	  "uv",	     "pipenv",	      "pdm",	   "virtualenv",
	"pre-commit", "huggingface",	  "torch",   "matplotlib",    "mypy",	   "ruff",
	"go-build",   "golangci-lint",	  "node",    "node-gyp",      "yarn",	   "pnpm",
	"electron",   "electron-builder", "Cypress", "ms-playwright", "puppeteer", "deno",
	"typescript", "ccache",		  "sccache", "bazel",	      "bazelisk",  "zig",
	"composer",   "coursier",	  "JNA",     "fontconfig",    NULL,
};

static const char *const parts_of_gradle[] = {
	"caches", "wrapper", "daemon", "native", "jdks", "notifications", "workers", NULL,
};

static const struct {
	const char *path;
	const char *const *parts;
} places[] = {
	{".cache", parts_of_cache},
	/* JavaScript */
	{".npm", NULL},
	{".yarn/berry", NULL},
	{".local/share/pnpm/store", NULL},
	{".bun/install/cache", NULL},
	{".node-gyp", NULL},
	{".electron", NULL},
	/* Rust; the second line is what cargo locks */
	{".cargo/registry", NULL},
	{".cargo/git", NULL},
	{".cargo/.package-cache", NULL},
	{".cargo/.package-cache-mutate", NULL},
	{".cargo/.global-cache", NULL},
	/* Go */
	{"go/pkg", NULL},
	/* Java and its kin */
	{".m2/repository", NULL},
	{".m2/wrapper", NULL},
	{".gradle", parts_of_gradle},
	{".ivy2/cache", NULL},
	{".ivy2/local", NULL},
	{".sbt/boot", NULL},
	{".konan", NULL},
	/* C and C++ */
	{".ccache", NULL},
	{".conan/data", NULL},
	{".conan2/p", NULL},
	/* others */
	{".nuget/packages", NULL},
	{".local/share/NuGet", NULL},
	{".composer/cache", NULL},
	{".pub-cache", NULL},
	{".cabal/packages", NULL},
	{".stack/pantry", NULL},
	{".bundle/cache", NULL},
	{".hex/packages", NULL},
	{".terraform.d/plugin-cache", NULL},
};

/* Variables that move a cache, and what of the place that they name is one. */
static const struct {
	const char *name, *part;
} variables[] = {
	{"XDG_CACHE_HOME=", ""},
	{"CARGO_HOME=", "/registry"},
	{"CARGO_HOME=", "/git"},
	{"CARGO_HOME=", "/.package-cache"},
	{"CARGO_HOME=", "/.package-cache-mutate"},
	{"CARGO_HOME=", "/.global-cache"},
	{"GOPATH=", "/pkg"},
	{"GOMODCACHE=", ""},
	{"GOCACHE=", ""},
	{"npm_config_cache=", ""},
	{"NPM_CONFIG_CACHE=", ""},
	{"YARN_CACHE_FOLDER=", ""},
	{"PIP_CACHE_DIR=", ""},
	{"UV_CACHE_DIR=", ""},
	{"CCACHE_DIR=", ""},
	{"GRADLE_USER_HOME=", ""},
};

/* Tools that fail, or fetch all of it each time, where they cannot make their cache; each list ends
 * with NULL. A manifest in the workspace tells of a tool that a script or a Makefile will start. */
static const struct {
	const char *names[5], *manifests[4], *caches[3];
} tools[] = {
	{{"npm", "npx"}, {"package.json"}, {".npm"}},
	{{"yarn", "yarnpkg"}, {"yarn.lock"}, {".cache", ".yarn/berry"}},
	{{"pnpm", "pnpx"}, {"pnpm-lock.yaml"}, {".cache", ".local/share/pnpm/store"}},
	{{"pip", "pip3", "pipx", "pipenv"},
	 {"requirements.txt", "pyproject.toml", "setup.py"},
	 {".cache"}},
	{{"uv", "uvx", "poetry", "pdm"}, {"uv.lock", "poetry.lock"}, {".cache"}},
	{{"cargo"}, {"Cargo.toml"}, {".cargo/registry", ".cargo/git"}},
	{{"go", "golangci-lint"}, {"go.mod"}, {".cache", "go/pkg"}},
	{{"mvn", "mvnw"}, {"pom.xml"}, {".m2/repository"}},
	{{"gradle", "gradlew"},
	 {"build.gradle", "build.gradle.kts", "settings.gradle"},
	 {".gradle"}},
	{{"ccache", "sccache"}, {NULL}, {".cache"}},
};

static void add_below(const char *directory, const char *name, struct list *list)
{
	list_add_printf(list, "%s/%s", directory, name);
}

void caches_note(const char *home, const struct list *present, struct list *caches)
{
	const char *last = "";
	bool there = false;

	for (size_t i = 0; i < ELEMENTS(places); i++) {
		const char *path = places[i].path;
		size_t length = strcspn(path, "/");
		_cleanup_free_ char *first = NULL;

		/* Those of one tool stand together. */
		if (strcspn(last, "/") != length || strncmp(path, last, length) != 0) {
			first = strndup(path, length);
			there = first && list_has(present, first);
		}
		last = path;
		if (there)
			add_below(home, path, caches);
	}
}

static void add_named(const char *home, const struct list *environment, struct list *caches)
{
	for (size_t i = 0; i < environment->count; i++)
		for (size_t v = 0; v < ELEMENTS(variables); v++) {
			_cleanup_free_ char *path = NULL;
			size_t length;

			if (environment->items[i][0] != variables[v].name[0])
				continue;
			length = strlen(variables[v].name);
			if (strncmp(environment->items[i], variables[v].name, length) != 0 ||
			    environment->items[i][length] != '/')
				continue;
			path = path_normalise(environment->items[i] + length);
			if (path_is_under(path, home) && strcmp(path, home) != 0)
				list_add_printf(caches, "%s%s", path, variables[v].part);
		}
}

static bool is_one_of(const char *name, const char *const *names)
{
	while (*names && strcmp(*names, name) != 0)
		names++;
	return *names;
}

/* It is started by its name, or by python's -m. */
static bool starts(const struct plan *plan, const char *const *names)
{
	for (size_t c = 0; c < plan->count; c++) {
		const struct command *command = &plan->commands[c];

		for (size_t i = command->program; i < command->argc; i++)
			if ((i == command->program || strcmp(command->argv[i - 1], "-m") == 0) &&
			    is_one_of(path_last(command->argv[i]), names))
				return true;
	}
	return false;
}

static bool has_manifest(const char *workspace, const char *const *manifests)
{
	for (; *manifests; manifests++) {
		_cleanup_free_ char *path = path_resolve(workspace, NULL, *manifests);

		if (access(path, F_OK) == 0)
			return true;
	}
	return false;
}

void caches_need(const char *home, const struct matter *matter, struct permissions *permissions)
{
	if (!home || home[0] != '/' || !home[1])
		return;
	for (size_t i = 0; i < ELEMENTS(tools); i++) {
		if (!starts(matter->plan, tools[i].names) &&
		    (matter->assessment->only_reads || !permissions->workspace ||
		     !has_manifest(permissions->workspace, tools[i].manifests)))
			continue;
		for (const char *const *cache = tools[i].caches; *cache; cache++) {
			_cleanup_free_ char *path = path_resolve(home, NULL, *cache);

			list_add(&permissions->needed_caches, path);
			if (!list_has(&permissions->caches, path))
				list_add(&permissions->caches, path);
		}
	}
}

/* One path lies in the other. */
static bool is_related(const char *one, const char *other)
{
	return path_is_under(one, other) || path_is_under(other, one);
}

/* A rule says who may write it, or something in it, or keeps it closed for ever. What is denied by
 * default is masked in the layer as it would be without. */
static bool is_meant(const struct permissions *permissions, const char *path)
{
	for (size_t i = 0; i < permissions->rules.count; i++) {
		const struct file_rule *rule = &permissions->rules.items[i];
		_cleanup_free_ char *fixed = NULL;

		if (rule->weight == WEIGHT_DEFAULT || rule->access == ACCESS_READ)
			continue;
		if (rule->exact
			    ? is_related(rule->pattern, path)
			    : (fixed = path_fixed_part(rule->pattern)) && is_related(fixed, path))
			return true;
	}
	/* A socket of the host is reached where it lies. */
	for (size_t i = 0; i < permissions->sockets.count; i++)
		if (path_is_under(permissions->sockets.items[i], path))
			return true;
	return false;
}

/* home may be reached by a link, and a rule may name either. */
struct home {
	const char *path;
	char real[PATH_MAX];
};

static bool is_ruled(const struct permissions *permissions, const struct home *home,
		     const char *path)
{
	_cleanup_list_ struct list real = {0};

	if (is_meant(permissions, path))
		return true;
	if (strcmp(home->path, home->real) == 0)
		return false;
	list_add_printf(&real, "%s%s", home->real, path + strlen(home->path));
	return is_meant(permissions, real.items[0]);
}

static bool has_one_for(const struct list *chosen, const char *path)
{
	for (size_t i = 0; i < chosen->count; i++)
		if (path_is_under(path, chosen->items[i]))
			return true;
	return false;
}

static void choose(const struct permissions *permissions, const struct home *home, const char *path,
		   const char *const *parts, struct list *chosen)
{
	if (has_one_for(chosen, path))
		return;
	if (!is_ruled(permissions, home, path)) {
		list_add(chosen, path);
		return;
	}
	for (; parts && *parts; parts++) {
		_cleanup_list_ struct list part = {0};

		add_below(path, *parts, &part);
		choose(permissions, home, part.items[0], NULL, chosen);
	}
}

static const char *const *parts_at(const char *home, const char *path)
{
	for (size_t i = 0; i < ELEMENTS(places); i++)
		if (strcmp(path + strlen(home) + 1, places[i].path) == 0)
			return places[i].parts;
	return NULL;
}

void caches_choose(const char *path, struct permissions *permissions)
{
	struct list *noted = &permissions->caches, chosen = {0};
	struct home home = {.path = path};
	struct stat st;

	if (path && path[0] == '/' && path[1])
		add_named(path, &permissions->environment, noted);
	if (noted->count > 0 && path_real(path, home.real, &st) == 0)
		for (size_t i = 0; i < noted->count; i++)
			choose(permissions, &home, noted->items[i], parts_at(path, noted->items[i]),
			       &chosen);
	list_done(noted);
	*noted = chosen;
}
