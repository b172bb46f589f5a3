/* SPDX-License-Identifier: Apache-2.0 */
/* Where the tools keep their configuration, and whose word it is. Whatever a command could have
 * written only suggests: the file's real place decides, not the name that led there. */
#include "sets_parts.h"
#include "../base/io.h"
#include "../base/path.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_LIMIT = 256 * 1024, DIRECTORY_LIMIT = 256 };

enum base {
	IN_SYSTEM,
	IN_HOME,
	IN_CONFIG,     /* XDG_CONFIG_HOME */
	IN_VARIABLE,   /* the path begins with the name of a variable */
	IN_WORKSPACE,  /* this and the next only ever suggest */
	IN_REPOSITORY, /* where the workspace says that its git directory is */
};

/* A proxy is never taken from a configuration: whatever may reach one may reach everything. */
static const struct wanted_key pip_keys[] = {
	{"index-url", IN_URLS}, {"extra-index-url", IN_URLS}, {"find-links", IN_URLS}, {NULL}};
static const struct wanted_key requirement_keys[] = {
	{"-i", IN_URLS}, {"--index-url", IN_URLS},  {"--extra-index-url", IN_URLS},
	{"-f", IN_URLS}, {"--find-links", IN_URLS}, {NULL}};
static const struct wanted_key uv_keys[] = {{"index-url", IN_URLS},
					    {"extra-index-url", IN_URLS},
					    {"find-links", IN_URLS},
					    {"index.url", IN_URLS},
					    {"pip.index-url", IN_URLS},
					    {"pip.extra-index-url", IN_URLS},
					    {"pip.find-links", IN_URLS},
					    {"python-install-mirror", IN_URLS},
					    {"tool.uv.index.url", IN_URLS},
					    {"tool.uv.index-url", IN_URLS},
					    {"tool.uv.find-links", IN_URLS},
					    {"tool.uv.extra-index-url", IN_URLS},
					    {"tool.poetry.source.url", IN_URLS},
					    {"tool.pdm.source.url", IN_URLS},
					    {NULL}};
static const struct wanted_key python_variables[] = {{"PIP_INDEX_URL", IN_URLS},
						     {"PIP_EXTRA_INDEX_URL", IN_URLS},
						     {"PIP_FIND_LINKS", IN_URLS},
						     {"UV_INDEX", IN_INDEXES},
						     {"UV_DEFAULT_INDEX", IN_INDEXES},
						     {"UV_INDEX_URL", IN_URLS},
						     {"UV_EXTRA_INDEX_URL", IN_URLS},
						     {"UV_FIND_LINKS", IN_URLS},
						     {"UV_PYTHON_INSTALL_MIRROR", IN_URLS},
						     {NULL}};
static const struct wanted_key npm_keys[] = {
	{"registry", IN_URLS}, {"@*:registry", IN_URLS}, {"npmRegistryServer", IN_URLS}, {NULL}};
static const struct wanted_key bun_keys[] = {{"install.registry", IN_URLS},
					     {"install.registry.url", IN_URLS},
					     {"install.scopes.*", IN_URLS},
					     {NULL}};
static const struct wanted_key npm_variables[] = {{"npm_config_registry", IN_URLS},
						  {"NPM_CONFIG_REGISTRY", IN_URLS},
						  {"npm_config_@*:registry", IN_URLS},
						  {"YARN_REGISTRY", IN_URLS},
						  {"YARN_NPM_REGISTRY_SERVER", IN_URLS},
						  {"BUN_CONFIG_REGISTRY", IN_URLS},
						  {NULL}};
static const struct wanted_key apt_keys[] = {{"uris", IN_URLS}, {NULL}};
static const struct wanted_key cargo_keys[] = {{"registries.*.index", IN_URLS},
					       {"source.*.registry", IN_URLS},
					       {"source.*.git", IN_URLS},
					       {"registry.index", IN_URLS},
					       {NULL}};
static const struct wanted_key cargo_variables[] = {{"CARGO_REGISTRIES_*_INDEX", IN_URLS},
						    {"CARGO_REGISTRY_INDEX", IN_URLS},
						    {"RUSTUP_DIST_SERVER", IN_URLS},
						    {"RUSTUP_UPDATE_ROOT", IN_URLS},
						    {NULL}};
static const struct wanted_key go_variables[] = {{"GOPROXY", IN_PROXIES},
						 {"GOSUMDB", IN_SUMS},
						 {"GOPRIVATE", IN_MODULES},
						 {"GONOPROXY", IN_MODULES},
						 {NULL}};
static const struct wanted_key git_keys[] = {
	{"remote.url", IN_REMOTE}, {"remote.pushurl", IN_REMOTE}, {"submodule.url", IN_REMOTE},
	{"url", IN_REMOTE},	   {"lfs.url", IN_URLS},	  {NULL}};
/* What a user has for all repositories at once. */
static const struct wanted_key git_own_keys[] = {{"url", IN_REMOTE}, {"lfs.url", IN_URLS}, {NULL}};

/* A * in the last component of the system's: every file of the directory that ends in the rest. */
static const struct {
	const char *set;
	enum base base;
	const char *path;
	configuration_reader read;
	const struct wanted_key *keys;
} files[] = {
	{"registry:python", IN_SYSTEM, "pip.conf", read_python_ini, pip_keys},
	{"registry:python", IN_SYSTEM, "xdg/pip/pip.conf", read_python_ini, pip_keys},
	{"registry:python", IN_CONFIG, "pip/pip.conf", read_python_ini, pip_keys},
	{"registry:python", IN_HOME, ".pip/pip.conf", read_python_ini, pip_keys},
	{"registry:python", IN_VARIABLE, "PIP_CONFIG_FILE", read_python_ini, pip_keys},
	{"registry:python", IN_VARIABLE, "VIRTUAL_ENV/pip.conf", read_python_ini, pip_keys},
	{"registry:python", IN_SYSTEM, "uv/uv.toml", read_toml, uv_keys},
	{"registry:python", IN_CONFIG, "uv/uv.toml", read_toml, uv_keys},
	{"registry:python", IN_VARIABLE, "UV_CONFIG_FILE", read_toml, uv_keys},
	{"registry:python", IN_WORKSPACE, "pip.conf", read_python_ini, pip_keys},
	{"registry:python", IN_WORKSPACE, ".venv/pip.conf", read_python_ini, pip_keys},
	{"registry:python", IN_WORKSPACE, "requirements.txt", read_requirements, requirement_keys},
	{"registry:python", IN_WORKSPACE, "uv.toml", read_toml, uv_keys},
	{"registry:python", IN_WORKSPACE, "pyproject.toml", read_toml, uv_keys},
	{"registry:python", IN_WORKSPACE, ".env", read_variables, python_variables},
	{"registry:npm", IN_SYSTEM, "npmrc", read_npmrc, npm_keys},
	{"registry:npm", IN_SYSTEM, "../usr/etc/npmrc", read_npmrc, npm_keys},
	{"registry:npm", IN_SYSTEM, "../usr/local/etc/npmrc", read_npmrc, npm_keys},
	{"registry:npm", IN_HOME, ".npmrc", read_npmrc, npm_keys},
	{"registry:npm", IN_VARIABLE, "NPM_CONFIG_USERCONFIG", read_npmrc, npm_keys},
	{"registry:npm", IN_VARIABLE, "npm_config_userconfig", read_npmrc, npm_keys},
	{"registry:npm", IN_VARIABLE, "NPM_CONFIG_GLOBALCONFIG", read_npmrc, npm_keys},
	{"registry:npm", IN_CONFIG, "pnpm/rc", read_npmrc, npm_keys},
	{"registry:npm", IN_HOME, ".yarnrc", read_yarnrc, npm_keys},
	{"registry:npm", IN_HOME, ".yarnrc.yml", read_yarnrc, npm_keys},
	{"registry:npm", IN_HOME, ".bunfig.toml", read_toml, bun_keys},
	{"registry:npm", IN_WORKSPACE, ".npmrc", read_npmrc, npm_keys},
	{"registry:npm", IN_WORKSPACE, ".yarnrc", read_yarnrc, npm_keys},
	{"registry:npm", IN_WORKSPACE, ".yarnrc.yml", read_yarnrc, npm_keys},
	{"registry:npm", IN_WORKSPACE, "bunfig.toml", read_toml, bun_keys},
	{"registry:npm", IN_WORKSPACE, ".env", read_variables, npm_variables},
	{"registry:debian", IN_SYSTEM, "apt/sources.list", read_apt_list, apt_keys},
	{"registry:debian", IN_SYSTEM, "apt/sources.list.d/*.list", read_apt_list, apt_keys},
	{"registry:debian", IN_SYSTEM, "apt/sources.list.d/*.sources", read_apt_sources, apt_keys},
	{"registry:ubuntu", IN_SYSTEM, "apt/sources.list", read_apt_list, apt_keys},
	{"registry:ubuntu", IN_SYSTEM, "apt/sources.list.d/*.list", read_apt_list, apt_keys},
	{"registry:ubuntu", IN_SYSTEM, "apt/sources.list.d/*.sources", read_apt_sources, apt_keys},
	{"registry:rust", IN_HOME, ".cargo/config.toml", read_toml, cargo_keys},
	{"registry:rust", IN_HOME, ".cargo/config", read_toml, cargo_keys},
	{"registry:rust", IN_VARIABLE, "CARGO_HOME/config.toml", read_toml, cargo_keys},
	{"registry:rust", IN_VARIABLE, "CARGO_HOME/config", read_toml, cargo_keys},
	{"registry:rust", IN_WORKSPACE, ".cargo/config.toml", read_toml, cargo_keys},
	{"registry:rust", IN_WORKSPACE, ".cargo/config", read_toml, cargo_keys},
	{"registry:rust", IN_WORKSPACE, ".env", read_variables, cargo_variables},
	{"registry:go", IN_CONFIG, "go/env", read_variables, go_variables},
	{"registry:go", IN_VARIABLE, "GOENV", read_variables, go_variables},
	{"registry:go", IN_WORKSPACE, ".env", read_variables, go_variables},
	{"forge:git", IN_SYSTEM, "gitconfig", read_git_config, git_own_keys},
	{"forge:git", IN_HOME, ".gitconfig", read_git_config, git_own_keys},
	{"forge:git", IN_CONFIG, "git/config", read_git_config, git_own_keys},
	{"forge:git", IN_REPOSITORY, "config", read_git_config, git_keys},
	{"forge:git", IN_WORKSPACE, ".gitmodules", read_git_config, git_keys},
};

static const struct {
	const char *set;
	const struct wanted_key *keys;
} variables[] = {{"registry:python", python_variables},
		 {"registry:npm", npm_variables},
		 {"registry:rust", cargo_variables},
		 {"registry:go", go_variables}};

static const char *variable(const struct sets_places *places, const char *name, size_t length)
{
	for (char *const *entry = places->environment; entry && *entry; entry++)
		if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=')
			return *entry + length + 1;
	return NULL;
}

static bool lies_below(const char *path, const char *directory)
{
	char real[PATH_MAX];

	return directory && directory[0] == '/' &&
	       (path_is_under(path, directory) ||
		(realpath(directory, real) && path_is_under(path, real)));
}

static bool is_writable_place(const struct sets_places *places, const char *path)
{
	if (lies_below(path, places->workspace) || lies_below(path, places->state))
		return true;
	for (size_t i = 0; places->writable && i < places->writable->count; i++) {
		_cleanup_free_ char *fixed = path_fixed_part(places->writable->items[i]);

		if (lies_below(path, fixed))
			return true;
	}
	return false;
}

/* Whether a command cannot have written it: it lies where none can write, under its name and
 * really, and nobody else may. A second name of it could lie anywhere. */
static bool is_trusted(const struct sets_places *places, int fd, const struct stat *st,
		       const char *path)
{
	char link[32], real[PATH_MAX];
	ssize_t length;

	if ((st->st_uid != 0 && st->st_uid != places->uid) || st->st_mode & (S_IWGRP | S_IWOTH) ||
	    (st->st_nlink > 1 && st->st_uid == places->uid))
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, real, sizeof(real) - 1);
	if (length <= 0 || real[0] != '/')
		return false;
	real[length] = '\0';
	return !is_writable_place(places, real) && !is_writable_place(places, path);
}

/* A small regular file, whatever else lies at that name. NULL: none. Caller frees. */
static char *read_small(const struct sets_places *places, const char *path, size_t *ret_length,
			bool *ret_trusted)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *text = NULL;
	struct stat st;
	ssize_t length;

	/* Looked at first: opening a device can do something. */
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > FILE_LIMIT)
		return NULL;
	text = malloc(FILE_LIMIT + 2);
	if (!text)
		abort();
	length = read_all(fd, text, FILE_LIMIT + 1);
	if (length < 0 || length > FILE_LIMIT)
		return NULL;
	text[length] = '\0';
	*ret_length = (size_t)length;
	*ret_trusted = is_trusted(places, fd, &st, path);
	return STEAL(text);
}

/* The word behind prefix in the first line of a file in directory, as a path seen from there. NULL:
 * there is none. Caller frees. */
static char *path_in_file(const struct sets_places *places, const char *directory, const char *name,
			  const char *prefix)
{
	_cleanup_free_ char *path = path_resolve(directory, NULL, name);
	_cleanup_free_ char *text = NULL;
	bool trusted;
	size_t length;

	text = read_small(places, path, &length, &trusted);
	if (!text || strncmp(text, prefix, strlen(prefix)) != 0)
		return NULL;
	text[strcspn(text, "\r\n")] = '\0';
	return path_resolve(directory, NULL, text + strlen(prefix));
}

/* Of a worktree or a submodule `.git` is a file; the configuration of a worktree is its
 * repository's. Caller frees. */
static char *git_directory(const struct sets_places *places)
{
	char *named = path_in_file(places, places->workspace, ".git", "gitdir: "), *common;

	if (!named)
		return path_resolve(places->workspace, NULL, ".git");
	common = path_in_file(places, named, "commondir", "");
	if (!common)
		return named;
	free(named);
	return common;
}

/* Caller frees; NULL where there is no such place. */
static char *place_of(const struct sets_places *places, enum base base, const char *path)
{
	const char *home = places->tools_home ? places->tools_home : places->home;
	const char *top = NULL;
	size_t name;

	switch (base) {
	case IN_SYSTEM:
		top = places->system ? places->system : "/etc";
		break;
	case IN_HOME:
		top = home;
		break;
	case IN_CONFIG:
		/* That variable is the caller's. */
		if (places->config_home && places->config_home[0] == '/' &&
		    (home == places->home || (places->home && strcmp(home, places->home) == 0)))
			return path_resolve(places->config_home, NULL, path);
		if (home && home[0] == '/') {
			_cleanup_free_ char *config = path_resolve(home, NULL, ".config");

			return path_resolve(config, NULL, path);
		}
		break;
	case IN_VARIABLE:
		name = strcspn(path, "/");
		top = variable(places, path, name);
		path += name;
		path += *path == '/';
		break;
	case IN_WORKSPACE:
		top = places->workspace;
		break;
	case IN_REPOSITORY:
		if (places->workspace && places->workspace[0] == '/') {
			_cleanup_free_ char *directory = git_directory(places);

			return path_resolve(directory, NULL, path);
		}
		break;
	}
	return top && top[0] == '/' ? path_resolve(top, NULL, path) : NULL;
}

static void add_findings(struct set *set, struct findings *findings, const char *origin,
			 bool suggested)
{
	for (size_t i = 0; i < findings->hosts.count; i++)
		set_add_host(set, findings->hosts.items[i], origin, /* configured= */ true,
			     suggested);
	list_done(&findings->hosts);
}

static void add_file(struct set *set, const struct sets_places *places, size_t which,
		     const char *path)
{
	struct findings findings = {.keys = files[which].keys};
	_cleanup_free_ char *text = NULL;
	bool trusted = false;
	size_t length;

	text = read_small(places, path, &length, &trusted);
	if (!text)
		return;
	files[which].read(text, length, &findings);
	add_findings(set, &findings, path, !trusted || files[which].base >= IN_WORKSPACE);
}

static int is_no_dot(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* In the order of their names, so that a bound leaves out the same ones each time. */
static void add_directory(struct set *set, const struct sets_places *places, size_t which,
			  const char *pattern)
{
	const char *last = path_last(pattern);
	_cleanup_free_ char *directory = strndup(pattern, (size_t)(last - pattern));
	struct dirent **entries = NULL;
	int count = scandir(directory, &entries, is_no_dot, alphasort);

	for (int i = 0; i < count; i++) {
		const char *name = entries[i]->d_name;

		if (i < DIRECTORY_LIMIT &&
		    path_component_matches(last, strlen(last), name, strlen(name))) {
			_cleanup_free_ char *path = path_resolve(directory, NULL, name);

			add_file(set, places, which, path);
		}
		free(entries[i]);
	}
	free(entries);
}

static void add_variables(struct set *set, const struct sets_places *places,
			  const struct wanted_key *keys)
{
	for (char *const *entry = places->environment; entry && *entry; entry++) {
		struct findings findings = {.keys = keys};
		_cleanup_free_ char *name = strndup(*entry, strcspn(*entry, "=")), *origin = NULL;

		if (!name || asprintf(&origin, "$%s", name) < 0)
			abort();
		if ((*entry)[strlen(name)] == '=')
			findings_take(&findings, name, *entry + strlen(name) + 1);
		add_findings(set, &findings, origin, /* suggested= */ false);
	}
}

void sets_tools_add(struct set *set, const struct sets_places *places)
{
	for (size_t i = 0; i < ELEMENTS(variables); i++)
		if (strcmp(variables[i].set, set->name) == 0)
			add_variables(set, places, variables[i].keys);
	for (size_t i = 0; i < ELEMENTS(files); i++) {
		_cleanup_free_ char *path = NULL;

		if (strcmp(files[i].set, set->name) != 0)
			continue;
		path = place_of(places, files[i].base, files[i].path);
		if (path && files[i].base == IN_SYSTEM && strchr(path_last(path), '*'))
			add_directory(set, places, i, path);
		else if (path)
			add_file(set, places, i, path);
	}
}
