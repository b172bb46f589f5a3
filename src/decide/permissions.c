/* SPDX-License-Identifier: Apache-2.0 */
/* From what the built-in policy, the policy files, the flags and the answers say to what the walls
 * are built from. */
#include "permissions.h"
#include "secrets.h"
#include "../base/path.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool is_open_in_ssh(const char *name)
{
	size_t length = strlen(name);

	if (length > 4 && strcmp(name + length - 4, ".pub") == 0)
		return true;
	for (const char *const *open = ssh_not_secret; *open; open++)
		if (strcmp(*open, name) == 0)
			return true;
	return false;
}

static void deny_ssh(const char *home, struct permissions *permissions)
{
	_cleanup_free_ char *ssh = path_resolve(home, NULL, ".ssh");
	DIR *directory = opendir(ssh);
	struct dirent *entry;

	if (!directory && errno != ENOENT)
		list_add(&permissions->deny, ssh); /* closed, but perhaps ours to open again */
	while (directory && (entry = readdir(directory)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    !is_open_in_ssh(entry->d_name))
			list_add_printf(&permissions->deny, "%s/%s", ssh, entry->d_name);
	if (directory)
		closedir(directory);
}

/* Most places in the table do not exist: one reading of the home directory spares a look at each.
 */
static void deny_home(const char *home, struct permissions *permissions)
{
	_cleanup_list_ struct list present = {0};
	DIR *directory = opendir(home);
	struct dirent *entry;

	while (directory && (entry = readdir(directory)))
		list_add(&present, entry->d_name);
	for (const char *const *secret = secrets_in_home; *secret; secret++) {
		_cleanup_free_ char *first = strndup(*secret, strcspn(*secret, "/"));

		if (!directory || list_has(&present, first))
			list_take(&permissions->deny, path_resolve(home, NULL, *secret));
	}
	if (directory)
		closedir(directory);
	if (!directory || list_has(&present, ".ssh"))
		deny_ssh(home, permissions);
}

static void add_table(struct list *list, const char *const *table)
{
	for (; *table; table++)
		list_add(list, *table);
}

static void deny_defaults(const struct surroundings *surroundings, struct permissions *permissions)
{
	const char *const homes[] = {surroundings->home, surroundings->account_home,
				     getenv("HOME")};
	const char *config = getenv("XDG_CONFIG_HOME");
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	add_table(&permissions->deny, secrets_in_system);
	add_table(&permissions->deny_names, secret_names);
	add_table(&permissions->not_deny_names, not_secret_names);
	for (size_t i = 0; i < ELEMENTS(homes); i++) {
		bool again = false;

		for (size_t before = 0; before < i && homes[i]; before++)
			again = again || (homes[before] && strcmp(homes[before], homes[i]) == 0);
		if (homes[i] && homes[i][0] == '/' && !again)
			deny_home(homes[i], permissions);
	}

	/* ward's own files: no exception lifts these. */
	list_add(&permissions->deny_always, surroundings->state);
	list_add(&permissions->deny_always, "/etc/ward");
	if (config && config[0] == '/')
		list_take(&permissions->own, path_resolve(config, NULL, "ward"));
	for (size_t i = 0; i < ELEMENTS(homes); i++)
		if (homes[i] && homes[i][0] == '/') {
			list_take(&permissions->own, path_resolve(homes[i], NULL, ".config/ward"));
			list_take(&permissions->own,
				  path_resolve(homes[i], NULL, ".local/state/ward"));
		}
	for (size_t i = 0; i < permissions->own.count; i++)
		list_add(&permissions->deny_always, permissions->own.items[i]);
	/* Directories of sockets that do not lie below /run, which is hidden as a whole. */
	if (runtime && runtime[0] == '/' && !path_is_under(runtime, "/run"))
		list_add(&permissions->deny_always, runtime);
	list_add(&permissions->deny_always, "/var/run/docker.sock");
}

static int add_rules(const struct list *rules, const struct request *request, const char *home,
		     struct list *list)
{
	for (size_t i = 0; i < rules->count; i++)
		list_take(list, path_resolve(request->workspace, home, rules->items[i]));
	return 0;
}

static int add_writable(struct permissions *permissions, const char *workspace, const char *path,
			struct error **ret_error)
{
	char real[PATH_MAX];

	if (!realpath(path, real)) {
		fail_errno(ret_error, E_USAGE, errno, "cannot make %s writable", path);
		return error_hint(
			ret_error,
			"it must exist: make it first, or name the directory it will lie in");
	}
	if (strcmp(real, "/") == 0 || path_is_under(real, "/proc") || path_is_under(real, "/dev") ||
	    path_is_under(real, "/sys") || path_is_under(real, "/run")) {
		fail(ret_error, E_USAGE, "%s cannot be made writable in a sandbox", real);
		return error_hint(
			ret_error,
			"name a directory below it, or run without the sandbox: --level none");
	}
	/* A link in the workspace may have been put there by an earlier command. */
	if (path_is_under(path, workspace) && !path_is_under(real, workspace)) {
		fail(ret_error, E_USAGE, "%s leads out of the workspace, to %s", path, real);
		return error_hint(ret_error, "if that is meant, name it: --write %s", real);
	}
	if (!list_has(&permissions->writable, real))
		list_add(&permissions->writable, real);
	return 0;
}

/* Patterns of --write are matched against what exists, one directory level after the other by the
 * shell's own rules. */
static int add_writable_rule(struct permissions *permissions, const char *workspace,
			     const char *pattern, struct error **ret_error)
{
	if (!path_has_glob(pattern))
		return add_writable(permissions, workspace, pattern, ret_error);
	if (strlen(pattern) > 3 && strcmp(pattern + strlen(pattern) - 3, "/**") == 0) {
		_cleanup_free_ char *top = strndup(pattern, strlen(pattern) - 3);

		if (top && !path_has_glob(top))
			return add_writable(permissions, workspace, top, ret_error);
	}
	fail(ret_error, E_USAGE, "--write %s: only a pattern that ends in /** can be made writable",
	     pattern);
	return error_hint(ret_error, "name the directory");
}

static int by_length(const void *a, const void *b)
{
	return (int)strlen(*(char *const *)a) - (int)strlen(*(char *const *)b);
}

int permissions_files(const struct request *request, const struct sandbox_policy *policy,
		      const struct surroundings *surroundings, struct permissions *permissions,
		      struct error **ret_error)
{
	/* Another program's wishes come back as answers, or not at all. */
	static const struct list none;
	const struct list *writes[] = {&policy->write, request->foreign ? &none : &request->write};
	struct stat st;
	int r;

	deny_defaults(surroundings, permissions);
	add_rules(&policy->deny, request, surroundings->home, &permissions->deny_always);
	add_rules(&request->deny, request, surroundings->home, &permissions->deny_always);
	add_rules(&policy->read, request, surroundings->home, &permissions->except);
	if (!request->foreign)
		add_rules(&request->read, request, surroundings->home, &permissions->except);
	if (stat(request->workspace, &st) < 0 || !S_ISDIR(st.st_mode)) {
		fail(ret_error, E_USAGE, "the workspace %s is not a directory", request->workspace);
		return error_hint(ret_error, "name one with --workspace");
	}
	r = add_writable(permissions, "", request->workspace, ret_error);
	for (size_t w = 0; w < ELEMENTS(writes); w++) {
		for (size_t i = 0; i < writes[w]->count && r == 0; i++) {
			_cleanup_free_ char *pattern = path_resolve(
				request->workspace, surroundings->home, writes[w]->items[i]);
			bool by_policy = writes[w] == &policy->write;

			/* A policy speaks of every machine and every day: what it names may not be
			 * there. */
			if (add_writable_rule(permissions, request->workspace, pattern,
					      by_policy ? NULL : ret_error) < 0)
				r = by_policy ? 0 : -E_USAGE;
			else /* What may be written may be read. */
				list_add(&permissions->except, pattern);
		}
	}
	return r;
}

static const struct {
	const char *name;
	const char *paths[3];
	const char *variable; /* that names the path */
} named_sockets[] = {
	{"docker", {"/var/run/docker.sock", "/run/docker.sock", NULL}, NULL},
	{"ssh-agent", {NULL}, "SSH_AUTH_SOCK"},
	{"dbus", {"/run/dbus/system_bus_socket", NULL}, NULL},
};

int permissions_sockets(const struct list *sockets, struct permissions *permissions,
			struct error **ret_error)
{
	for (size_t i = 0; i < sockets->count; i++) {
		const char *wanted = sockets->items[i];
		_cleanup_list_ struct list paths = {0};
		size_t before = permissions->sockets.count;
		char real[PATH_MAX];

		for (size_t n = 0; n < ELEMENTS(named_sockets); n++) {
			if (strcmp(wanted, named_sockets[n].name) != 0)
				continue;
			add_table(&paths, named_sockets[n].paths);
			if (named_sockets[n].variable && getenv(named_sockets[n].variable))
				list_add(&paths, getenv(named_sockets[n].variable));
		}
		if (wanted[0] == '/')
			list_add(&paths, wanted);
		for (size_t n = 0; n < paths.count; n++)
			if (realpath(paths.items[n], real) &&
			    !list_has(&permissions->sockets, real))
				list_add(&permissions->sockets, real);
		if (permissions->sockets.count == before && paths.count == 0) {
			fail(ret_error, E_USAGE, "'%s' is not a socket ward knows", wanted);
			return error_hint(ret_error,
					  "write docker, ssh-agent, dbus or an absolute path");
		}
		if (permissions->sockets.count == before)
			return fail(ret_error, E_USAGE,
				    "there is no socket for '%s' on this machine", wanted);
	}
	return 0;
}

int permissions_calls(const struct request *request, const struct sandbox_policy *policy,
		      struct permissions *permissions, struct error **ret_error)
{
	const struct {
		const struct list *names;
		struct call_set *set;
		int (*check)(const char *name, enum error_code code, struct error **ret_error);
		bool wish; /* of another program: checked, but only an answer gives it */
	} lists[] = {
		{&policy->allow_calls, &permissions->allow_calls, call_check_allow, false},
		{&policy->deny_calls, &permissions->deny_calls, call_check_deny, false},
		{&request->allow_calls, &permissions->allow_calls, call_check_allow,
		 request->foreign},
		{&request->deny_calls, &permissions->deny_calls, call_check_deny, false},
	};

	for (size_t l = 0; l < ELEMENTS(lists); l++)
		for (size_t i = 0; i < lists[l].names->count; i++) {
			const char *name = lists[l].names->items[i];
			int r = lists[l].check(name, E_USAGE, ret_error);

			if (r < 0)
				return r;
			if (!lists[l].wish)
				call_set_add(lists[l].set, call_number(name));
		}
	return 0;
}

void permissions_apply(const struct matter *matter, const char *permission, bool exact,
		       struct verdict *verdict)
{
	struct permissions *permissions = &verdict->permissions;
	const struct request *request = matter->request;
	size_t length = strcspn(permission, " ");
	const char *resource = permission + length + (permission[length] != '\0');
	char real[PATH_MAX];
	_cleanup_free_ char *path =
		path_resolve(request->workspace, matter->surroundings->home, resource);

	/* A link that came since leads somewhere else. */
	if (exact && parse_word_in("read write delete unix", permission, length) &&
	    path[0] == '/' && resource[0] == '/' && realpath(path, real) && strcmp(real, path) != 0)
		return;
	if (strcmp(permission, "unsandboxed") == 0) {
		verdict->level = LEVEL_NONE;
	} else if (parse_word_in("read", permission, length)) {
		list_add(&permissions->except, path);
	} else if (parse_word_in("write delete", permission, length)) {
		if (add_writable_rule(permissions, request->workspace, path, NULL) == 0)
			list_add(&permissions->except, path);
	} else if (parse_word_in("unix", permission, length)) {
		const struct list one = {.items = (char *[]){(char *)resource, NULL}, .count = 1};

		(void)permissions_sockets(&one, permissions, NULL);
	} else if (parse_word_in("syscall", permission, length)) {
		if (call_check_allow(resource, E_USAGE, NULL) == 0)
			call_set_add(&permissions->allow_calls, call_number(resource));
	} else if (parse_word_in("secret", permission, length)) {
		list_add(&verdict->keep, resource);
	} else if (strcmp(permission, "connect *") == 0) {
		/* Single hosts cannot be opened by this version, and all of them is not what a rule
		 * for one of them says. */
		verdict->network = NETWORK_FULL;
	}
}

void permissions_sort(struct permissions *permissions)
{
	if (permissions->writable.count)
		qsort(permissions->writable.items, permissions->writable.count, sizeof(char *),
		      by_length);
}
