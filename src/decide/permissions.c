/* SPDX-License-Identifier: Apache-2.0 */
/* From what the built-in policy, the policy files, the flags and the answers say to what the walls
 * are built from. */
#include "permissions.h"
#include "byproducts.h"
#include "caches.h"
#include "network.h"
#include "secrets.h"
#include "sockets.h"
#include "worktree.h"
#include "../base/guard.h"
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

static void deny_default(struct permissions *permissions, const char *path)
{
	file_rules_add(&permissions->rules, ACCESS_DENY, WEIGHT_DEFAULT, path, NULL);
}

static void deny_ssh(const char *home, struct permissions *permissions)
{
	_cleanup_free_ char *ssh = path_resolve(home, NULL, ".ssh");
	DIR *directory = opendir(ssh);
	struct dirent *entry;

	if (!directory && errno != ENOENT)
		deny_default(permissions, ssh); /* closed, but perhaps ours to open again */
	while (directory && (entry = readdir(directory)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    !is_open_in_ssh(entry->d_name)) {
			_cleanup_free_ char *path = path_resolve(ssh, NULL, entry->d_name);

			deny_default(permissions, path);
		}
	if (directory)
		closedir(directory);
}

/* What is in a directory. */
struct listing {
	struct list names;
	bool closed; /* nobody knows */
};

static void read_listing(const char *home, const char *part, struct listing *ret_listing)
{
	_cleanup_free_ char *path = path_resolve(home, NULL, part);
	DIR *directory = opendir(path);
	struct dirent *entry;

	*ret_listing = (struct listing){.closed = !directory && errno != ENOENT};
	while (directory && (entry = readdir(directory)))
		list_add(&ret_listing->names, entry->d_name);
	if (directory)
		closedir(directory);
}

/* True for "a/b" if the listing has "a". */
static bool may_hold(const struct listing *listing, const char *path)
{
	size_t length = (size_t)(strchrnul(path, '/') - path);

	for (size_t i = 0; i < listing->names.count && !listing->closed; i++) {
		const char *name = listing->names.items[i];

		/* Nearly all begin with a dot, and a hundred are asked for at every start. */
		if (name[0] == path[0] && (length < 2 || name[1] == path[1]) &&
		    strncmp(name, path, length) == 0 && name[length] == '\0')
			return true;
	}
	return listing->closed;
}

/* Most places in the tables do not exist: one reading of the home directory, and of the two in it
 * that most of them would lie in, spares a look at each. */
static void deny_home(const char *home, bool own, struct permissions *permissions)
{
	static const char *const places[] = {".config", ".local/share", "."};
	enum { ITSELF = ELEMENTS(places) - 1 };
	struct listing listings[ELEMENTS(places)] = {0};

	read_listing(home, places[ITSELF], &listings[ITSELF]);
	listings[ITSELF].closed |= listings[ITSELF].names.count == 0;
	for (size_t i = 0; i < ITSELF; i++)
		if (may_hold(&listings[ITSELF], places[i]))
			read_listing(home, places[i], &listings[i]);
	for (const char *const *secret = secrets_in_home; *secret; secret++) {
		const char *rest = *secret;
		size_t i = 0;

		while (i < ITSELF && !path_is_under(*secret, places[i]))
			i++;
		if (i < ITSELF)
			rest += strlen(places[i]) + 1;
		if (may_hold(&listings[i], rest)) {
			_cleanup_free_ char *path = path_resolve(home, NULL, *secret);

			deny_default(permissions, path);
		}
	}
	if (own)
		caches_note(home, &listings[ITSELF].names, &permissions->caches);
	if (may_hold(&listings[ITSELF], ".ssh"))
		deny_ssh(home, permissions);
	for (size_t i = 0; i <= ITSELF; i++)
		list_done(&listings[i].names);
}

static void add_table(struct list *list, const char *const *table)
{
	for (; *table; table++)
		list_add(list, *table);
}

/* $HOME, the account's and the one that rules name are mostly the same. */
static bool is_again(const char *const *homes, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (homes[i] && strcmp(homes[i], homes[at]) == 0)
			return true;
	return false;
}

/* ward's own files: nothing lifts these. */
static void deny_own(const struct surroundings *surroundings, const char *const *homes,
		     size_t count, struct permissions *permissions)
{
	const char *config = getenv("XDG_CONFIG_HOME");
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	list_add(&permissions->never, surroundings->state);
	list_add(&permissions->never, "/etc/ward");
	if (surroundings->own_state && strcmp(surroundings->own_state, surroundings->state) != 0)
		list_add(&permissions->never, surroundings->own_state);
	if (config && config[0] == '/')
		list_take(&permissions->own, path_resolve(config, NULL, "ward"));
	for (size_t i = 0; i < count; i++)
		if (homes[i] && homes[i][0] == '/' && !is_again(homes, i)) {
			list_take(&permissions->own, path_resolve(homes[i], NULL, ".config/ward"));
			list_take(&permissions->own,
				  path_resolve(homes[i], NULL, ".local/state/ward"));
		}
	for (size_t i = 0; i < permissions->own.count; i++)
		if (!list_has(&permissions->never, permissions->own.items[i]))
			list_add(&permissions->never, permissions->own.items[i]);
	/* Directories of sockets that do not lie below /run, which is hidden as a whole. */
	if (runtime && runtime[0] == '/' && !path_is_under(runtime, "/run"))
		list_add(&permissions->never, runtime);
	list_add(&permissions->never, "/var/run/docker.sock");
	for (size_t i = 0; i < permissions->never.count; i++) {
		_cleanup_free_ char *path = path_normalise(permissions->never.items[i]);

		file_rules_add(&permissions->rules, ACCESS_DENY, WEIGHT_ALWAYS, path, NULL);
	}
}

static void deny_defaults(const struct surroundings *surroundings, const char *workspace,
			  struct permissions *permissions)
{
	const char *const homes[] = {surroundings->home, surroundings->account_home,
				     getenv("HOME")};

	for (const char *const *secret = secrets_in_system; *secret; secret++)
		deny_default(permissions, *secret);
	for (const char *const *name = secret_names; *name; name++) {
		_cleanup_free_ char *pattern = NULL;

		if (asprintf(&pattern, "%s/**/%s", strcmp(workspace, "/") == 0 ? "" : workspace,
			     *name) < 0)
			abort();
		deny_default(permissions, pattern);
	}
	add_table(&permissions->not_deny_names, not_secret_names);
	for (size_t i = 0; i < ELEMENTS(homes); i++)
		if (homes[i] && homes[i][0] == '/' && !is_again(homes, i))
			deny_home(homes[i], /* own= */ i == 0, permissions);
	deny_own(surroundings, homes, ELEMENTS(homes), permissions);
	by_products_add(surroundings->home, &permissions->by_products);
}

/* Where a rule stands, for what is wrong with it. */
struct source {
	const char *flag; /* NULL: a policy, which was checked when it was read and speaks of every
			     machine and every day: what it names may not be there */
	enum access access;
	enum weight weight;
	bool hold;
};

static int refuse_writable(const char *path, struct error **ret_error)
{
	fail(ret_error, E_USAGE, "%s cannot be made writable in a sandbox", path);
	return error_hint(ret_error,
			  "name a directory below it, or run without the sandbox: --level none");
}

/* What is to be writable must be there, and must not be the machine's. */
static int check_writable(const char *workspace, const char *path, const char *text,
			  struct error **ret_error)
{
	_cleanup_free_ char *fixed = path_fixed_part(path);
	char real[PATH_MAX];
	struct stat st;

	/* A name that runs programs can be asked for before it is there. */
	if (path_real(fixed, real, &st) < 0 && errno == ENOENT && path_is_under(path, workspace) &&
	    guard_path(workspace, path, NULL) != GUARD_FREE)
		return 0;
	if (path_real(fixed, real, &st) < 0) {
		fail_errno(ret_error, E_USAGE, errno, "cannot make %s writable", path);
		return error_hint(
			ret_error,
			"it must exist: make it first, name the directory it will lie in, or let "
			"the command make it: --make");
	}
	if (path_is_beyond(real) || (strcmp(real, "/") == 0 && strcmp(path, "/") == 0))
		return refuse_writable(real, ret_error);
	/* A link in the workspace may have been put there by an earlier command. */
	if (path_is_under(fixed, workspace) && !path_is_under(real, workspace)) {
		fail(ret_error, E_USAGE, "%s leads out of the workspace, to %s", text, real);
		return error_hint(ret_error, "if that is meant, name it: --write %s", real);
	}
	return 0;
}

/* One rule as it was written. */
static int add_rule(const char *home, const char *text, const struct source *source,
		    struct permissions *permissions, struct error **ret_error)
{
	_cleanup_free_ char *expanded = NULL, *path = NULL;
	struct file_rule *rule;
	const char *fault;
	char name[64];

	expanded = path_expand(text, name, sizeof(name), &fault);
	if (!expanded) {
		fail(ret_error, E_USAGE, "%s %s: the variable '%s' %s",
		     source->flag ? source->flag : "policy", text, name, fault);
		return error_hint(ret_error, "set it, or write the path itself; a $ that is meant "
					     "as itself is written [$]");
	}
	path = path_resolve(permissions->workspace, home, expanded);
	rule = file_rules_add(&permissions->rules, source->access, source->weight, path, text);
	rule->hold = source->hold;
	rule->must_exist = source->flag &&
			   (source->access == ACCESS_WRITE || source->access == ACCESS_READ_ONLY);
	if (source->access == ACCESS_WRITE &&
	    check_writable(permissions->workspace, rule->pattern, text,
			   source->flag ? ret_error : NULL) < 0) {
		permissions->rules.count--;
		free(rule->pattern);
		free(rule->said);
		return source->flag ? -E_USAGE : 0;
	}
	if (source->access == ACCESS_DENY || source->access == ACCESS_READ_ONLY)
		list_add(&permissions->never, rule->pattern);
	return 0;
}

static int add_rules(const char *home, const struct list *texts, const struct source *source,
		     struct permissions *permissions, struct error **ret_error)
{
	int r = 0;

	for (size_t i = 0; i < texts->count && r == 0; i++)
		r = add_rule(home, texts->items[i], source, permissions, ret_error);
	return r;
}

/* Between two looks a person may have been asked for an hour, and a command have put a link to
 * somewhere else into its place. */
static int check_same(const struct surroundings *surroundings, const char *workspace,
		      const struct stat *st, struct error **ret_error)
{
	if (!surroundings->inode ||
	    (st->st_dev == surroundings->device && st->st_ino == surroundings->inode))
		return 0;
	fail(ret_error, E_REJECTED, "the workspace %s was replaced by another directory meanwhile",
	     workspace);
	return error_hint(ret_error, "look who did that, then ask again");
}

static int check_workspace(const struct request *request, const struct surroundings *surroundings,
			   struct permissions *permissions, struct error **ret_error)
{
	char real[PATH_MAX];
	struct stat st;

	if (path_real(request->workspace, real, &st) < 0 || !S_ISDIR(st.st_mode)) {
		fail(ret_error, E_USAGE, "the workspace %s is not a directory", request->workspace);
		return error_hint(ret_error, "name one with --workspace");
	}
	if (check_same(surroundings, request->workspace, &st, ret_error) < 0)
		return -E_REJECTED;
	if (strcmp(real, "/") == 0)
		return refuse_writable(real, ret_error);
	permissions->workspace = strdup(real);
	return check_writable(real, real, real, ret_error);
}

int permissions_files(const struct request *request, const struct sandbox_policy *policy,
		      const struct surroundings *surroundings, struct permissions *permissions,
		      struct error **ret_error)
{
	const struct {
		const struct list *texts;
		struct source source;
		bool widens;
	} said[] = {
		{&policy->deny, {NULL, ACCESS_DENY, WEIGHT_SAID, false}, false},
		{&policy->hold, {NULL, ACCESS_READ_ONLY, WEIGHT_SAID, true}, false},
		{&policy->read_only, {NULL, ACCESS_READ_ONLY, WEIGHT_SAID, false}, false},
		{&policy->read, {NULL, ACCESS_READ, WEIGHT_SAID, false}, false},
		{&policy->write, {NULL, ACCESS_WRITE, WEIGHT_SAID, false}, false},
		{&request->deny, {"--deny", ACCESS_DENY, WEIGHT_SAID, false}, false},
		/* Another program's wish can only narrow. */
		{&request->read_only,
		 {"--read-only", ACCESS_READ_ONLY, WEIGHT_SAID, request->foreign},
		 false},
		{&request->read, {"--read", ACCESS_READ, WEIGHT_SAID, false}, true},
		{&request->write, {"--write", ACCESS_WRITE, WEIGHT_SAID, false}, true},
	};
	int r = check_workspace(request, surroundings, permissions, ret_error);

	if (r < 0)
		return r;
	deny_defaults(surroundings, permissions->workspace, permissions);
	file_rules_add(&permissions->rules, ACCESS_WRITE, WEIGHT_SAID, permissions->workspace,
		       NULL);
	worktree_rules(permissions->workspace, &permissions->rules);
	for (size_t i = 0; i < permissions->rules.count; i++)
		if (permissions->rules.items[i].access == ACCESS_READ_ONLY)
			list_add(&permissions->never, permissions->rules.items[i].pattern);
	/* Another program's wishes come back as answers, or not at all. */
	for (size_t i = 0; i < ELEMENTS(said) && r == 0; i++)
		if (!said[i].widens || !request->foreign)
			r = add_rules(surroundings->home, said[i].texts, &said[i].source,
				      permissions, ret_error);
	for (size_t i = 0; i < policy->make.count && r == 0; i++)
		r = make_add(surroundings->home, policy->make.items[i], /* flag= */ false,
			     permissions, ret_error);
	for (size_t i = 0; i < request->make.count && r == 0 && !request->foreign; i++)
		r = make_add(surroundings->home, request->make.items[i], /* flag= */ true,
			     permissions, ret_error);
	return r;
}

int permissions_denied(const struct request *request, const struct sandbox_policy *policy,
		       const struct surroundings *surroundings, struct permissions *permissions,
		       struct error **ret_error)
{
	const struct {
		const struct list *texts;
		struct source source;
	} said[] = {
		{&policy->deny, {NULL, ACCESS_DENY, WEIGHT_SAID, false}},
		/* Read-only, and no more open than it was. */
		{&policy->hold, {NULL, ACCESS_READ_ONLY, WEIGHT_SAID, true}},
		{&policy->read_only, {NULL, ACCESS_READ_ONLY, WEIGHT_SAID, true}},
		{&request->deny, {"--deny", ACCESS_DENY, WEIGHT_SAID, false}},
		{&request->read_only, {"--read-only", ACCESS_READ_ONLY, WEIGHT_SAID, true}},
	};
	int r = check_workspace(request, surroundings, permissions, ret_error);

	if (r < 0)
		return r;
	deny_defaults(surroundings, permissions->workspace, permissions);
	for (size_t i = 0; i < ELEMENTS(said) && r == 0; i++)
		r = add_rules(surroundings->home, said[i].texts, &said[i].source, permissions,
			      ret_error);
	return r;
}

int permissions_sockets(const struct list *sockets, struct permissions *permissions,
			struct error **ret_error)
{
	for (size_t i = 0; i < sockets->count; i++) {
		const char *wanted = sockets->items[i];
		const struct known_socket *known = socket_named(wanted);
		_cleanup_list_ struct list paths = {0};
		bool found = false;
		char real[PATH_MAX];

		if (wanted[0] == '/') {
			list_add(&paths, wanted);
		} else if (known) {
			socket_paths(known, &paths);
		} else {
			fail(ret_error, E_USAGE, "'%s' is not a socket ward knows", wanted);
			return error_hint(ret_error, "docs/policy.md lists them under `sockets`; "
						     "any other is named by its path");
		}
		for (size_t n = 0; n < paths.count; n++) {
			if (!realpath(paths.items[n], real))
				continue;
			found = true;
			if (!list_has(&permissions->sockets, real))
				list_add(&permissions->sockets, real);
		}
		if (!found)
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

static void give(const char *permission, const struct grant *grant, struct givens *givens)
{
	givens_add(givens, permission, grant ? grant->id : NULL, grant ? &grant->expires : NULL);
}

/* Built into the walls. Only a remembered answer can be taken back. */
static void fix(const char *permission, const struct grant *grant, struct verdict *verdict)
{
	if (grant)
		give(permission, grant, &verdict->permissions.fixed);
}

/* The one path that a pattern means, and whether all in it is meant, too; NULL where it means
 * several. Caller frees. */
static char *literal_of(const char *pattern, bool *ret_tree)
{
	static const char all[] = "/**";
	size_t length = strlen(pattern);
	_cleanup_free_ char *plain = NULL;

	*ret_tree = length > strlen(all) && strcmp(pattern + length - strlen(all), all) == 0;
	plain = strndup(pattern, *ret_tree ? length - strlen(all) : length);
	return path_unescape(plain);
}

/* What a person was shown and said yes to: a path as path_escape() writes it, or all of a
 * directory. */
static void apply_exactly(const char *permission, const char *pattern, const struct grant *grant,
			  struct verdict *verdict)
{
	struct permissions *permissions = &verdict->permissions;
	bool reads = permission[0] == 'r', exists, tree;
	_cleanup_free_ char *path = literal_of(pattern, &tree);
	char real[PATH_MAX];
	struct stat st;

	if (!path)
		return;
	exists = realpath(path, real) && lstat(path, &st) == 0;
	/* A link that came since leads somewhere else. */
	if (exists && strcmp(real, path) != 0)
		return;
	/* A mount would outlive its time, let more be done than to delete, open all of a directory,
	 * and has nothing to lie on. */
	if (reads ? grant && exists && verdict->trace_reads && S_ISREG(st.st_mode)
		  : permission[0] == 'd' || !exists || (grant && grant->expires.wall) ||
			    (!tree && S_ISDIR(st.st_mode))) {
		give(permission, grant, &permissions->given);
		return;
	}
	if (reads || check_writable(permissions->workspace, pattern, pattern, NULL) == 0) {
		file_rules_add(&permissions->rules, reads ? ACCESS_READ : ACCESS_WRITE,
			       WEIGHT_IMPLIED, pattern, path);
		fix(permission, grant, verdict);
	}
}

/* What a rule gives: what is not there, or may only be deleted, the supervisor gives. */
static void apply_rule(const struct matter *matter, const char *permission, size_t length,
		       const char *resource, const struct grant *grant, struct verdict *verdict)
{
	const char *home = matter->surroundings->home, *fault;
	const struct source source = {.access = permission[0] == 'r' ? ACCESS_READ : ACCESS_WRITE,
				      .weight = WEIGHT_IMPLIED};
	char variable[64];
	_cleanup_free_ char *expanded = path_expand(resource, variable, sizeof(variable), &fault),
			    *pattern = NULL, *path = NULL, *text = NULL;
	struct stat st;
	bool tree;

	if (!expanded)
		return;
	pattern = path_resolve(verdict->permissions.workspace, home, expanded);
	path = literal_of(pattern, &tree);
	if (path && source.access == ACCESS_WRITE &&
	    (permission[0] == 'd' || lstat(path, &st) < 0)) {
		if (asprintf(&text, "%.*s %s", (int)length, permission, pattern) < 0)
			abort();
		give(text, grant, &verdict->permissions.given);
	} else if (add_rule(home, resource, &source, &verdict->permissions, NULL) == 0) {
		fix(permission, grant, verdict);
	}
}

static void apply_socket(const char *resource, const struct grant *grant, struct verdict *verdict)
{
	const struct list one = {.items = (char *[]){(char *)resource, NULL}, .count = 1};
	struct permissions found = {0};

	if (!grant) {
		(void)permissions_sockets(&one, &verdict->permissions, NULL);
		return;
	}
	(void)permissions_sockets(&one, &found, NULL);
	for (size_t i = 0; i < found.sockets.count; i++) {
		_cleanup_free_ char *permission = NULL;

		if (asprintf(&permission, "unix %s", found.sockets.items[i]) < 0)
			abort();
		give(permission, grant, &verdict->permissions.given);
	}
	list_done(&found.sockets);
}

void permissions_apply(const struct matter *matter, const char *permission, bool exact,
		       const struct grant *grant, struct verdict *verdict)
{
	struct permissions *permissions = &verdict->permissions;
	const struct request *request = matter->request;
	size_t length = strcspn(permission, " ");
	const char *resource = permission + length + (permission[length] != '\0');
	char real[PATH_MAX];
	_cleanup_free_ char *path =
		path_resolve(request->workspace, matter->surroundings->home, resource);

	if (strcmp(permission, "unsandboxed") == 0) {
		verdict->level = LEVEL_NONE;
	} else if (strcmp(permission, "container") == 0) {
		/* Neither gives the other. */
		if (verdict->level == LEVEL_RESTRICTED)
			verdict->level = LEVEL_CONTAINER;
	} else if (parse_word_in("read write delete", permission, length)) {
		if (exact && resource[0] == '/')
			apply_exactly(permission, path, grant, verdict);
		else
			apply_rule(matter, permission, length, resource, grant, verdict);
	} else if (parse_word_in("unix", permission, length)) {
		/* A link that came since leads somewhere else. */
		if (!exact || resource[0] != '/' || !realpath(path, real) ||
		    strcmp(real, path) == 0)
			apply_socket(resource, grant, verdict);
	} else if (parse_word_in("syscall", permission, length)) {
		if (call_check_allow(resource, E_USAGE, NULL) == 0)
			call_set_add(&permissions->allow_calls, call_number(resource));
		fix(permission, grant, verdict);
	} else if (parse_word_in("secret", permission, length)) {
		list_add(&verdict->keep, resource);
		fix(permission, grant, verdict);
	} else if (parse_word_in("connect host-loopback bind", permission, length)) {
		network_apply(matter, permission, length, resource, grant, verdict);
	}
}
