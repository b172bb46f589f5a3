/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in policy: read all but secrets, write the workspace and a private /tmp, no network.
 * The caller's flags are the caller's own word and are laid over it. */
#include "decide.h"
#include "policy.h"
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
		list_take(&permissions->deny_always, path_resolve(config, NULL, "ward"));
	if (surroundings->home && surroundings->home[0] == '/') {
		list_take(&permissions->deny_always,
			  path_resolve(surroundings->home, NULL, ".config/ward"));
		list_take(&permissions->deny_always,
			  path_resolve(surroundings->home, NULL, ".local/state/ward"));
	}
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

static int decide_files(const struct request *request, const struct sandbox_policy *policy,
			const struct surroundings *surroundings, struct permissions *permissions,
			struct error **ret_error)
{
	const struct list *writes[] = {&policy->write, &request->write};
	struct stat st;
	int r;

	deny_defaults(surroundings, permissions);
	add_rules(&policy->deny, request, surroundings->home, &permissions->deny_always);
	add_rules(&request->deny, request, surroundings->home, &permissions->deny_always);
	add_rules(&policy->read, request, surroundings->home, &permissions->except);
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
	if (r == 0)
		qsort(permissions->writable.items, permissions->writable.count, sizeof(char *),
		      by_length);
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

static int decide_sockets(const struct list *sockets, struct permissions *permissions,
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

/* One permission, "OPERATION RESOURCE", laid over what holds so far. What it names may be gone by
 * now; then there is nothing to permit. */
static void apply_permission(const struct matter *matter, const char *permission,
			     struct verdict *verdict)
{
	struct permissions *permissions = &verdict->permissions;
	const struct request *request = matter->request;
	size_t length = strcspn(permission, " ");
	_cleanup_free_ char *path = NULL;
	const char *resource = permission + length + (permission[length] != '\0');
	char real[PATH_MAX];

	if (strcmp(permission, "unsandboxed") == 0) {
		verdict->level = LEVEL_NONE;
		return;
	}
	path = path_resolve(request->workspace, matter->surroundings->home, resource);
	if (parse_word_in("read", permission, length)) {
		list_add(&permissions->except, path);
	} else if (parse_word_in("write delete", permission, length)) {
		if (add_writable_rule(permissions, request->workspace, path, NULL) == 0)
			list_add(&permissions->except, path);
	} else if (parse_word_in("unix", permission, length)) {
		if (realpath(resource, real) && !list_has(&permissions->sockets, real))
			list_add(&permissions->sockets, real);
	} else if (parse_word_in("connect", permission, length)) {
		verdict->network = NETWORK_FULL;
	}
}

/* What was answered before about such a command. A no beats a yes. */
static void recall(const struct matter *matter, struct standing *standing, struct verdict *verdict)
{
	for (size_t i = 0; matter->grants && i < matter->grants->count; i++) {
		const struct grant *grant = &matter->grants->items[i];

		if (!grant_covers(grant, matter->key, matter->assessment))
			continue;
		standing->refused |= grant->refusal;
		standing->approved |= !grant->refusal;
		standing->out_approved |= list_has(&grant->permissions, "unsandboxed");
		if (!verdict->grant || grant->refusal) {
			free(verdict->grant);
			free(verdict->rule);
			list_done(&verdict->require);
			verdict->grant = strdup(grant->id);
		}
	}
}

static void apply_answers(const struct matter *matter, struct verdict *verdict)
{
	for (size_t i = 0; matter->grants && i < matter->grants->count; i++) {
		const struct grant *grant = &matter->grants->items[i];

		if (!grant->refusal && grant_covers(grant, matter->key, matter->assessment))
			for (size_t p = 0; p < grant->permissions.count; p++)
				apply_permission(matter, grant->permissions.items[p], verdict);
	}
	for (size_t i = 0; i < matter->granted->count; i++)
		apply_permission(matter, matter->granted->items[i], verdict);
	/* Later ones may lie above earlier ones. */
	if (verdict->permissions.writable.count)
		qsort(verdict->permissions.writable.items, verdict->permissions.writable.count,
		      sizeof(char *), by_length);
}

static bool has_text(const char *const *texts, const char *text)
{
	for (; *texts; texts++)
		if (strcmp(*texts, text) == 0)
			return true;
	return false;
}

/* True if all that speaks against the plan lies in commands that a rule allows, each by itself, or
 * that are harmless by themselves: what several of them do together nobody has allowed. */
static bool is_allowed_in_parts(const struct matter *matter)
{
	const struct plan *plan = matter->plan;

	if (plan->opaque)
		return false;
	for (const char **reason = matter->assessment->reasons; *reason; reason++) {
		bool allowed = false;

		for (size_t i = 0; i < plan->count && !allowed; i++) {
			const struct rule *match =
				policy_match(matter->policy, &plan->commands[i], 0);
			const struct plan one = {.commands = &plan->commands[i], .count = 1};
			struct assessment alone;

			assess_plan(matter->arena, &one, &alone);
			allowed = has_text(alone.reasons, *reason) &&
				  (alone.class == CLASS_SAFE ||
				   (match && match->kind == VERDICT_ALLOW));
		}
		if (!allowed)
			return false;
	}
	return true;
}

/* What the policy's rules say of the whole plan: the strongest word about any of its commands; an
 * allow counts for the whole only where every command has one. */
static void consult(const struct matter *matter, struct standing *standing,
		    const struct rule **ret_rule)
{
	bool all = matter->plan->count > 0 && !matter->plan->opaque;
	const struct rule *found = NULL;

	for (size_t i = 0; i < matter->plan->count; i++) {
		const struct command *command = &matter->plan->commands[i];
		const struct rule *match = policy_match(matter->policy, command, 0);

		all &= match != NULL;
		if (match && (!found || match->kind > found->kind))
			found = match;
		/* A word that is known only when it runs may be anything: that is no ground to
		 * refuse, but one to ask. */
		if (match && match->kind == VERDICT_DENY)
			standing->certain |=
				policy_match_is_certain(matter->policy, match, command, 0);
	}
	if (!found)
		return;
	if (found->kind == VERDICT_ALLOW && !all) {
		if (is_allowed_in_parts(matter))
			standing->class = CLASS_SAFE;
		return;
	}
	standing->has_rule = true;
	standing->rule =
		found->kind == VERDICT_DENY && !standing->certain ? VERDICT_ASK : found->kind;
	*ret_rule = found;
}

/* Permissions that come with the rules of the plan's commands. */
static void apply_rules(const struct matter *matter, struct verdict *verdict)
{
	for (size_t i = 0; matter->policy && i < matter->plan->count; i++) {
		const struct rule *match =
			policy_match(matter->policy, &matter->plan->commands[i], 0);

		for (size_t p = 0;
		     match && match->kind != VERDICT_DENY && p < match->permissions.count; p++)
			if (strcmp(match->permissions.items[p], "unsandboxed") != 0)
				apply_permission(matter, match->permissions.items[p], verdict);
	}
}

static void give_reason(const struct matter *matter, const struct standing *standing,
			const struct rule *rule, struct verdict *verdict)
{
	const char *first = matter->assessment->why;

	if (standing->refused)
		verdict->reason = strdup("a person has said no to this before, for this session");
	else if (verdict->wants_out)
		verdict->reason = strdup("it is to start without the sandbox");
	else if (rule && rule->kind != VERDICT_ALLOW && rule->why)
		verdict->reason = strdup(rule->why);
	else if (rule && rule->kind != VERDICT_ALLOW &&
		 asprintf(&verdict->reason, "the rule '%s' of the policy", rule->pattern) < 0)
		abort();
	else if (!verdict->reason)
		verdict->reason = strdup(first ? first : "every command is asked about");
}

static void weigh(const struct matter *matter, bool none_by_policy, struct verdict *verdict)
{
	const struct request *request = matter->request;
	const struct rule *rule = NULL;
	struct standing standing = {
		.class = matter->assessment->class,
		.only_reads = matter->assessment->only_reads,
		.none_by_policy = none_by_policy,
		/* From another program's request the word "none" is no more than a wish. */
		.wants_out = request->escalated || request->sandbox == PREFERENCE_FORBID ||
			     (request->foreign && request->has_level &&
			      request->level == LEVEL_NONE && !none_by_policy),
	};
	struct ruling ruling;

	if (matter->policy)
		consult(matter, &standing, &rule);
	if (rule) {
		standing.out_approved =
			rule->kind == VERDICT_ALLOW && list_has(&rule->permissions, "unsandboxed");
		if (asprintf(&verdict->rule, "%s:%d", rule->file, rule->line) < 0)
			abort();
	}
	recall(matter, &standing, verdict);
	standing.approved |= matter->answered;
	standing.out_approved |= list_has(matter->granted, "unsandboxed");
	ruling = approve_first(verdict->approval, &standing);
	verdict->kind = ruling.kind;
	verdict->source = ruling.source;
	verdict->wants_out = standing.wants_out && !standing.out_approved;
	if (standing.wants_out)
		verdict->level = standing.out_approved ? LEVEL_NONE : LEVEL_RESTRICTED;
	if (verdict->kind != VERDICT_ALLOW)
		give_reason(matter, &standing, rule, verdict);
}

static uint64_t stricter(uint64_t one, uint64_t other)
{
	return !one ? other : !other ? one : MIN(one, other);
}

/* A caller at the command line has the last word; another program's request can only narrow. */
static void choose_limits(const struct request *request, const struct limits *policy,
			  struct limits *ret_limits)
{
	static const size_t members[] = {
		offsetof(struct limits, memory),  offsetof(struct limits, millicpus),
		offsetof(struct limits, cpu_ns),  offsetof(struct limits, processes),
		offsetof(struct limits, disk),	  offsetof(struct limits, output),
		offsetof(struct limits, time_ns), offsetof(struct limits, idle_ns),
	};

	for (size_t i = 0; i < ELEMENTS(members); i++) {
		uint64_t said = *(const uint64_t *)((const char *)&request->limits + members[i]);
		uint64_t held = *(const uint64_t *)((const char *)policy + members[i]);

		*(uint64_t *)((char *)ret_limits + members[i]) = request->foreign
									 ? stricter(said, held)
								 : said ? said
									: held;
	}
}

/* How strict an approval policy is. */
static int strictness(enum approval approval)
{
	static const int order[] = {[APPROVAL_ON_FAILURE] = 0,
				    [APPROVAL_ON_REQUEST] = 1,
				    [APPROVAL_UNLESS_TRUSTED] = 2,
				    [APPROVAL_NEVER] = 3};

	return order[approval];
}

static enum approval choose_approval(const struct request *request, const struct policy *policy)
{
	if (!policy || !policy->has_approval)
		return request->approval;
	if (!request->has_approval ||
	    (request->foreign && strictness(request->approval) < strictness(policy->approval)))
		return policy->approval;
	return request->approval;
}

int decide(const struct matter *matter, struct verdict *ret_verdict, struct error **ret_error)
{
	static const struct sandbox_policy nothing;
	const struct request *request = matter->request;
	const struct surroundings *surroundings = matter->surroundings;
	const struct sandbox_policy *policy = matter->policy ? &matter->policy->sandbox : &nothing;
	struct verdict verdict = {0};
	bool none_by_policy;
	int r = 0;

	if (request->profile &&
	    (!matter->policy ||
	     (r = policy_profile(matter->policy, request->profile, &policy, ret_error)) < 0))
		return r;
	none_by_policy = policy->has_level && policy->level == LEVEL_NONE;
	verdict.level = request->has_level || !policy->has_level ? request->level : policy->level;
	verdict.network =
		request->has_network || !policy->has_network ? request->network : policy->network;
	verdict.approval = choose_approval(request, matter->policy);
	choose_limits(request, &policy->limits, &verdict.limits);
	for (size_t i = 0; i < policy->require.count; i++)
		list_add(&verdict.require, policy->require.items[i]);
	weigh(matter, none_by_policy, &verdict);
	if (request->level == LEVEL_NONE && !request->foreign && verdict.kind == VERDICT_ASK) {
		verdict.kind = VERDICT_ALLOW;
		verdict.source = "flag"; /* the caller's own word */
	} else if (request->level == LEVEL_NONE && !request->foreign &&
		   verdict.kind == VERDICT_ALLOW) {
		verdict.source = "flag";
	}
	if (verdict.kind == VERDICT_DENY) {
		*ret_verdict = verdict;
		return 0;
	}
	if (verdict.level != LEVEL_NONE) {
		r = decide_files(request, policy, surroundings, &verdict.permissions, ret_error);
		if (r == 0)
			r = decide_sockets(&request->sockets, &verdict.permissions, ret_error);
		if (r == 0)
			(void)decide_sockets(&policy->sockets, &verdict.permissions, NULL);
		if (r == 0) {
			apply_rules(matter, &verdict);
			apply_answers(matter, &verdict);
		}
	}
	if (r < 0) {
		verdict_done(&verdict);
		return r;
	}
	decide_environment(request, surroundings, verdict.level, &policy->keep_env,
			   &policy->set_env, &verdict.permissions);
	if ((list_has(&request->sockets, "ssh-agent") || list_has(&policy->sockets, "ssh-agent")) &&
	    getenv("SSH_AUTH_SOCK"))
		list_add_printf(&verdict.permissions.environment, "SSH_AUTH_SOCK=%s",
				getenv("SSH_AUTH_SOCK"));
	*ret_verdict = verdict;
	return 0;
}

void verdict_done(struct verdict *verdict)
{
	struct permissions *permissions = &verdict->permissions;

	free(verdict->reason);
	free(verdict->grant);
	list_done(&permissions->writable);
	list_done(&permissions->deny);
	list_done(&permissions->deny_always);
	list_done(&permissions->except);
	list_done(&permissions->deny_names);
	list_done(&permissions->not_deny_names);
	list_done(&permissions->sockets);
	list_done(&permissions->environment);
	list_done(&permissions->dropped);
	*verdict = (struct verdict){0};
}
