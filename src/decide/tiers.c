/* SPDX-License-Identifier: Apache-2.0 */
/* The tier of a permission: a table that is built in, what files say over it, and what files that
 * can only narrow add. In doubt it is the stricter one. */
#include "tiers.h"
#include "../base/guard.h"
#include "../base/hosts.h"
#include "../base/path.h"
#include "pattern.h"
#include "secrets.h"
#include "within.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *tier_name(enum tier tier)
{
	static const char *const names[] = {[TIER_LOW] = "low",
					    [TIER_MEDIUM] = "medium",
					    [TIER_HIGH] = "high",
					    [TIER_CRITICAL] = "critical"};

	return names[tier];
}

void tiers_done(struct tiers *tiers)
{
	list_done(&tiers->never);
	list_done(&tiers->agents);
	for (enum tier tier = 0; tier < TIERS; tier++) {
		list_done(&tiers->says[tier]);
		list_done(&tiers->raises[tier]);
	}
	*tiers = (struct tiers){0};
}

bool tiers_bind(const struct tiers *tiers, const struct request *request)
{
	for (size_t i = 0; request->agent && i < tiers->agents.count; i++)
		if (glob_matches(tiers->agents.items[i], request->agent))
			return true;
	return false;
}

uint64_t tiers_objection(const struct tiers *tiers)
{
	return tiers->objection_ns ? tiers->objection_ns : TIER_OBJECTION_NS;
}

uint64_t tiers_answer(const struct tiers *tiers)
{
	return tiers->answer_ns ? tiers->answer_ns : TIER_ANSWER_NS;
}

/* --- permissions, taken apart --- */

struct wanted {
	const char *permission; /* as it is wanted: paths are absolute */
	char operation[16];
	const char *resource;
	char *place; /* owned; of a path all before its first glob; NULL: it is no path */
	bool tree;   /* more than that one place may be meant */
};

static bool is_path(const char *operation)
{
	return parse_word_in("read write delete", operation, strlen(operation));
}

static void take_apart(const char *permission, struct wanted *ret_wanted)
{
	size_t length = strcspn(permission, " ");

	*ret_wanted = (struct wanted){.permission = permission};
	snprintf(ret_wanted->operation, sizeof(ret_wanted->operation), "%.*s", (int)length,
		 permission);
	ret_wanted->resource = permission + length + strspn(permission + length, " ");
	if (is_path(ret_wanted->operation)) {
		_cleanup_free_ char *plain = path_unescape(ret_wanted->resource);

		ret_wanted->tree = !plain && path_has_glob(ret_wanted->resource);
		ret_wanted->place = plain ? STEAL(plain) : path_fixed_part(ret_wanted->resource);
	}
}

static void wanted_done(struct wanted *wanted)
{
	free(wanted->place);
}

/* --- the table that is built in --- */

/* What is never unlocked, whatever a file says: security configuration, secrets, deletion of
 * production data, becoming somebody else. Paths of the home begin with ~. */
static const char *const never_written[] = {
	"/etc/sudoers",	      "/etc/sudoers.d", "/etc/passwd", "/etc/shadow",	"/etc/group",
	"/etc/gshadow",	      "/etc/ssh",	"/etc/pam.d",  "/etc/security", "/etc/ward",
	"/etc/ld.so.preload", "/root/.ssh",	"~/.ssh",      "~/.gnupg",	"~/.config/ward",
};
enum { NEVER_PRODUCTION, NEVER_SECURITY, NEVER_SECRETS, NEVER_SUDO, NEVER_GROUPS };
static const char *const never_groups[] = {"production", "security", "secrets", "sudo", NULL};
static const struct {
	int group;
	const char *pattern;
} never[] = {
	{NEVER_SECRETS, "secret *"},	  {NEVER_PRODUCTION, "sql DELETE prod*"},
	{NEVER_PRODUCTION, "sql DROP *"}, {NEVER_PRODUCTION, "sql TRUNCATE prod*"},
	{NEVER_SUDO, "exec sudo*"},	  {NEVER_SUDO, "exec */sudo*"},
	{NEVER_SUDO, "exec su"},	  {NEVER_SUDO, "exec su *"},
	{NEVER_SUDO, "exec */su"},	  {NEVER_SUDO, "exec */su *"},
	{NEVER_SUDO, "exec doas*"},	  {NEVER_SUDO, "exec */doas*"},
	{NEVER_SUDO, "exec pkexec*"},	  {NEVER_SUDO, "exec */pkexec*"},
};
/* Critical, but from a threshold on a person may be asked for it. */
static const char *const production[] = {"deploy prod*"};
static const char *const scratch[] = {"/tmp", "/var/tmp", "~/.cache"};

/* One holds the other, or is it: a tree means all that lies in it. */
static bool touches(const struct wanted *wanted, const char *path)
{
	return path_is_under(wanted->place, path) ||
	       (wanted->tree && path_is_under(path, wanted->place));
}

static bool is_among(const struct wanted *wanted, const char *const *paths, size_t count,
		     const char *home)
{
	for (size_t i = 0; i < count; i++) {
		_cleanup_free_ char *path = NULL;

		if (paths[i][0] == '~' && !home)
			continue;
		path = path_resolve("/", home, paths[i]);
		if (touches(wanted, path))
			return true;
	}
	return false;
}

static bool is_named_secret(const char *path)
{
	const char *name = path_last(path);

	for (size_t i = 0; not_secret_names[i]; i++)
		if (path_component_matches(not_secret_names[i], strlen(not_secret_names[i]), name,
					   strlen(name)))
			return false;
	for (size_t i = 0; secret_names[i]; i++)
		if (path_component_matches(secret_names[i], strlen(secret_names[i]), name,
					   strlen(name)))
			return true;
	return false;
}

static bool is_secret_of(const struct wanted *wanted, const char *pattern)
{
	_cleanup_free_ char *fixed = path_fixed_part(pattern);

	if (path_has_glob(pattern))
		return path_matches(pattern, wanted->place, NULL) ||
		       (wanted->tree && (path_is_under(fixed, wanted->place) ||
					 path_is_under(wanted->place, fixed)));
	return touches(wanted, pattern);
}

static bool is_of_ssh(const struct wanted *wanted, const char *home)
{
	_cleanup_free_ char *directory = home ? path_resolve(home, NULL, ".ssh") : NULL;
	const char *name = path_last(wanted->place);

	if (!directory || !touches(wanted, directory))
		return false;
	for (size_t i = 0; !wanted->tree && ssh_not_secret[i]; i++)
		if (path_component_matches(ssh_not_secret[i], strlen(ssh_not_secret[i]), name,
					   strlen(name)))
			return false;
	return true;
}

static bool is_secret(const struct wanted *wanted, const char *home)
{
	if (is_of_ssh(wanted, home))
		return true;
	for (size_t i = 0; secrets_in_system[i]; i++)
		if (is_secret_of(wanted, secrets_in_system[i]))
			return true;
	for (size_t i = 0; home && secrets_in_home[i]; i++) {
		_cleanup_free_ char *path = path_resolve(home, NULL, secrets_in_home[i]);

		if (is_secret_of(wanted, path))
			return true;
	}
	return is_named_secret(wanted->place);
}

/* "files.example:443": whether it is one of a set of package registries that no command can change.
 */
static bool is_registry(const char *target, const struct sets_places *places)
{
	_cleanup_list_ struct list hosts = {0}, suggested = {0};
	_cleanup_free_ char *host = strdup(target), *set = NULL;
	char *colon = strrchr(host, ':');
	unsigned long port = colon ? strtoul(colon + 1, NULL, 10) : 0;

	if (sets_is_name(target))
		return strncmp(target, "registry:", 9) == 0 && sets_is_known(target, places);
	if (!colon || port == 0 || port > UINT16_MAX || strpbrk(target, "*[/"))
		return false;
	*colon = '\0';
	set = sets_of(host, (uint16_t)port, /* program= */ NULL, places, &hosts, &suggested);
	if (!set || strncmp(set, "registry:", 9) != 0)
		return false;
	for (size_t i = 0; i < hosts.count; i++)
		if (host_pattern_covers(hosts.items[i], target))
			return true;
	return false;
}

/* One file of no account's, by whose name nothing is run. A home may lie in /tmp or /var/tmp, and
 * is no scratch for that. */
static bool is_scratch(const struct wanted *wanted, const char *home)
{
	_cleanup_free_ char *cache = home ? path_resolve(home, NULL, ".cache") : NULL;

	return !wanted->tree && is_among(wanted, scratch, ELEMENTS(scratch), home) &&
	       guard_path("/", wanted->place, NULL) == GUARD_FREE &&
	       (!home || !path_is_under(wanted->place, home) ||
		path_is_under(wanted->place, cache));
}

int never_group(const char *name)
{
	for (int i = 0; never_groups[i]; i++)
		if (strcmp(never_groups[i], name) == 0)
			return i;
	return -1;
}

const char *never_group_name(int group)
{
	return never_groups[group];
}

/* The group of what is never unlocked that it is of; -1: of none. */
static int group_of(const struct wanted *wanted, const struct sets_places *places)
{
	for (size_t i = 0; i < ELEMENTS(never); i++)
		if (glob_matches(never[i].pattern, wanted->permission))
			return never[i].group;
	if (wanted->place && strcmp(wanted->operation, "read") != 0 &&
	    is_among(wanted, never_written, ELEMENTS(never_written), places->home))
		return NEVER_SECURITY;
	return wanted->place && is_secret(wanted, places->home) ? NEVER_SECRETS : -1;
}

static enum tier tier_built_in(const struct tiers *tiers, const struct wanted *wanted,
			       const struct sets_places *places)
{
	const char *operation = wanted->operation;
	int group = group_of(wanted, places);

	/* What the system lifts is no trifle for that. */
	if (group >= 0)
		return tiers->lifted >> group & 1 ? TIER_HIGH : TIER_CRITICAL;
	for (size_t i = 0; i < ELEMENTS(production); i++)
		if (glob_matches(production[i], wanted->permission))
			return TIER_CRITICAL;
	if (strcmp(operation, "read") == 0)
		return wanted->tree ? TIER_HIGH : TIER_LOW;
	if (wanted->place && is_scratch(wanted, places->home))
		return TIER_LOW;
	return strcmp(operation, "connect") == 0 && is_registry(wanted->resource, places)
		       ? TIER_MEDIUM
		       : TIER_HIGH;
}

/* --- what files say --- */

/* A pattern of a file, its path made absolute. Caller frees. */
static char *resolve(const char *pattern, const struct sets_places *places)
{
	size_t length = strcspn(pattern, " ");
	_cleanup_free_ char *operation = strndup(pattern, length), *path = NULL;
	char *result = NULL;

	if (!is_path(operation))
		return strdup(pattern);
	path = path_resolve(places->workspace ? places->workspace : "/", places->home,
			    pattern + length + strspn(pattern + length, " "));
	if (asprintf(&result, "%s %s", operation, path) < 0)
		abort();
	return result;
}

/* One path, and the pattern matches it as the walls would, or would take too long to. */
static bool is_matched(const struct wanted *wanted, const char *pattern)
{
	const char *path = strchr(pattern, ' ');
	_cleanup_free_ char *place = path_normalise(wanted->place);
	bool overrun = false;

	return path && (path_matches(path + 1, place, &overrun) || overrun);
}

/* Something that one of them admits may be what the other admits. */
static bool overlaps(const struct wanted *wanted, const char *pattern)
{
	struct wanted other;
	bool same;

	if (permission_within(wanted->permission, pattern) ||
	    permission_within(pattern, wanted->permission) ||
	    glob_matches(pattern, wanted->permission))
		return true;
	take_apart(pattern, &other);
	same = strcmp(wanted->operation, other.operation) == 0 ||
	       (wanted->place && other.place && strcmp(wanted->operation, "read") != 0 &&
		strcmp(other.operation, "read") != 0); /* who may write may delete */
	if (!same)
		same = false;
	else if (wanted->place && other.place && !wanted->tree)
		same = is_matched(wanted, pattern);
	else if (wanted->place && other.place)
		same = (wanted->tree || other.tree)
			       ? path_is_under(wanted->place, other.place) ||
					 path_is_under(other.place, wanted->place)
			       : strcmp(wanted->place, other.place) == 0;
	else
		same = strcmp(wanted->permission, pattern) == 0;
	wanted_done(&other);
	return same;
}

/* The strictest tier that one of the lists puts it in; -1: none does. What makes it laxer must hold
 * all of it, what makes it stricter some of it. */
static int tier_said(const struct list lists[static TIERS], const struct wanted *wanted,
		     bool generous, const struct sets_places *places)
{
	for (int tier = TIER_CRITICAL; tier >= TIER_LOW; tier--)
		for (size_t i = 0; i < lists[tier].count; i++) {
			_cleanup_free_ char *pattern = resolve(lists[tier].items[i], places);

			if (generous || tier >= TIER_HIGH
				    ? overlaps(wanted, pattern)
				    : permission_within(wanted->permission, pattern))
				return tier;
		}
	return -1;
}

static bool is_never(const struct tiers *tiers, const struct wanted *wanted,
		     const struct sets_places *places)
{
	int group = group_of(wanted, places);

	if (group >= 0 && !(tiers->lifted >> group & 1))
		return true;
	for (size_t i = 0; i < tiers->never.count; i++) {
		_cleanup_free_ char *pattern = resolve(tiers->never.items[i], places);

		if (overlaps(wanted, pattern))
			return true;
	}
	return false;
}

static enum tier tier_of(const struct tiers *tiers, const char *permission,
			 const struct sets_places *places)
{
	struct wanted wanted;
	enum tier tier;
	int said;

	take_apart(permission, &wanted);
	tier = is_never(tiers, &wanted, places) ? TIER_CRITICAL
						: tier_built_in(tiers, &wanted, places);
	if (tier != TIER_CRITICAL) {
		said = tier_said(tiers->says, &wanted, /* generous= */ false, places);
		if (said >= 0)
			tier = (enum tier)said;
		said = tier_said(tiers->raises, &wanted, /* generous= */ true, places);
		tier = MAX(tier, (enum tier)MAX(said, 0));
	}
	wanted_done(&wanted);
	return tier;
}

bool tiers_never(const struct tiers *tiers, const char *permission,
		 const struct sets_places *places)
{
	struct wanted wanted;
	bool closed;

	take_apart(permission, &wanted);
	closed = is_never(tiers, &wanted, places) ||
		 tier_said(tiers->says, &wanted, /* generous= */ true, places) == TIER_CRITICAL ||
		 tier_said(tiers->raises, &wanted, /* generous= */ true, places) == TIER_CRITICAL;
	wanted_done(&wanted);
	return closed;
}

bool tiers_touch(const char *permission, const char *text, const struct sets_places *places)
{
	_cleanup_free_ char *pattern = resolve(text, places);
	struct wanted wanted;
	bool touches;

	take_apart(permission, &wanted);
	touches = overlaps(&wanted, pattern);
	wanted_done(&wanted);
	return touches;
}

bool tiers_within(const char *permission, const char *text, const struct sets_places *places)
{
	_cleanup_free_ char *pattern = resolve(text, places);

	return permission_within(permission, pattern) ||
	       (strncmp(pattern, "deploy ", 7) == 0 && glob_matches(pattern, permission));
}

enum tier tiers_of(const struct tiers *tiers, const struct list *permissions,
		   const struct sets_places *places)
{
	enum tier tier = permissions->count ? TIER_LOW : TIER_HIGH;

	for (size_t i = 0; i < permissions->count; i++)
		tier = MAX(tier, tier_of(tiers, permissions->items[i], places));
	return tier;
}

enum objection_state objection_look(const struct objection *objection, uint64_t now)
{
	if (objection->seen)
		return now >= objection->seen && now - objection->seen >= objection->window_ns
			       ? OBJECTION_CONSENT
			       : OBJECTION_WAIT;
	return now >= objection->begun && now - objection->begun >= objection->patience_ns
		       ? OBJECTION_NOBODY
		       : OBJECTION_WAIT;
}
