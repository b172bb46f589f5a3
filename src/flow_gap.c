/* SPDX-License-Identifier: Apache-2.0 */
/* The risk of a question: that of its command, and of what a yes would give besides. A command that
 * looks harmless may ask for a key, or for a file that everybody's programs read. */
#include "flow_state.h"
#include "base/guard.h"
#include "base/path.h"
#include "decide/sockets.h"

#include <string.h>

struct graveness {
	enum risk risk;
	const char *category, *reason;
};

/* A permission, taken apart. */
struct gap {
	const struct flow *flow;
	const char *permission;
	char *place;  /* owned: what it is about, or all before its first glob */
	bool changes; /* files */
	bool tree;    /* more than that one place may be meant */
};

/* Where programs and settings of the whole machine lie. */
static const char *const system_places[] = {"/etc", "/usr",	  "/boot",    "/bin",  "/sbin",
					    "/lib", "/lib64",	  "/opt",     "/proc", "/sys",
					    "/dev", "/var/spool", "/var/lib", "/run"};

bool flow_is_system_place(const char *path)
{
	for (size_t i = 0; i < ELEMENTS(system_places); i++)
		if (path_is_under(path, system_places[i]))
			return true;
	return false;
}

static bool starts_with(const char *text, const char *word)
{
	return strncmp(text, word, strlen(word)) == 0;
}

static bool is_unsandboxed(const struct gap *gap)
{
	return strcmp(gap->permission, "unsandboxed") == 0;
}

static bool is_never_unlocked(const struct gap *gap)
{
	_cleanup_list_ struct list writable = {0};
	struct sets_places places;

	flow_places(gap->flow, &writable, &places);
	return tiers_never(&gap->flow->policy->tiers, gap->permission, &places);
}

static bool is_secret(const struct gap *gap)
{
	return starts_with(gap->permission, "read ") && is_never_unlocked(gap);
}

static bool is_of_the_system(const struct gap *gap)
{
	if (gap->changes && gap->tree)
		for (size_t i = 0; i < ELEMENTS(system_places); i++)
			if (path_is_under(system_places[i], gap->place))
				return true;
	return gap->changes && flow_is_system_place(gap->place);
}

static bool is_guarded(const struct gap *gap)
{
	enum guard guard = gap->changes ? guard_path("/", gap->place, NULL) : GUARD_FREE;

	return guard != GUARD_FREE && guard != GUARD_OPEN && guard != GUARD_KEPT;
}

static bool is_like_root(const struct gap *gap)
{
	const struct known_socket *socket =
		starts_with(gap->permission, "unix ") ? socket_at(gap->place) : NULL;

	return socket && strcmp(socket->means, "equal to root") == 0;
}

static bool is_socket(const struct gap *gap)
{
	return starts_with(gap->permission, "unix ");
}

static bool is_own_service(const struct gap *gap)
{
	return starts_with(gap->permission, "host-loopback ");
}

/* The first that fits counts. */
static const struct {
	bool (*fits)(const struct gap *gap);
	struct graveness grave;
} graves[] = {
	{is_unsandboxed, {RISK_HIGH, "privilege", "a yes lets it run without the sandbox"}},
	{is_secret, {RISK_HIGH, "credentials", "a yes lets it read a secret"}},
	{is_never_unlocked,
	 {RISK_HIGH, "security", "a yes gives what decides who may do what, or holds secrets"}},
	{is_like_root, {RISK_HIGH, "privilege", "whoever reaches that socket is equal to root"}},
	{is_of_the_system,
	 {RISK_HIGH, "system", "a yes lets it change what the whole machine reads or runs"}},
	{is_guarded,
	 {RISK_HIGH, "persistence", "programs outside the sandbox run what is written there"}},
	{is_socket,
	 {RISK_MEDIUM, "code execution",
	  "whatever listens at that socket runs outside the sandbox"}},
	{is_own_service,
	 {RISK_MEDIUM, "network", "a service of this machine may trust whoever comes from it"}},
};

static void take_apart(const struct flow *flow, const char *permission, struct gap *ret_gap)
{
	const char *resource = strchr(permission, ' ');
	struct gap gap = {.flow = flow, .permission = permission};

	resource = resource ? resource + 1 : "";
	gap.changes = starts_with(permission, "write /") || starts_with(permission, "delete /");
	gap.place = path_unescape(resource);
	gap.tree = !gap.place;
	if (!gap.place)
		gap.place = path_fixed_part(resource);
	*ret_gap = gap;
}

static void gap_done(struct gap *gap)
{
	free(gap->place);
}

static const struct graveness *weigh(const struct gap *gap)
{
	for (size_t i = 0; i < ELEMENTS(graves); i++)
		if (graves[i].fits(gap))
			return &graves[i].grave;
	return NULL;
}

/* The texts and one more, unless it is there. */
static const char **with(struct arena *arena, const char **texts, const char *text)
{
	const char **more;
	size_t count = 0;

	for (; texts && texts[count]; count++)
		if (strcmp(texts[count], text) == 0)
			return texts;
	more = arena_alloc(arena, (count + 2) * sizeof(*more));
	for (size_t i = 0; i < count; i++)
		more[i] = texts[i];
	more[count] = text;
	more[count + 1] = NULL;
	return more;
}

static enum reach reach_of(const struct flow *flow, const char *path)
{
	if (path_is_under(path, flow->request->workspace))
		return REACH_WORKSPACE;
	return flow->policy->home && path_is_under(path, flow->policy->home) ? REACH_HOME
									     : REACH_SYSTEM;
}

void flow_weigh_grants(const struct flow *flow, struct ask *question, struct assessment *given)
{
	const struct list *grants = question->grants;

	*given = flow->assessment;
	for (size_t i = 0; i < grants->count; i++) {
		_cleanup_(gap_done) struct gap gap;
		const struct graveness *grave;

		take_apart(flow, grants->items[i], &gap);
		if (gap.changes)
			given->files = MAX(given->files, reach_of(flow, gap.place));
		grave = weigh(&gap);
		if (!grave)
			continue;
		given->risk = MAX(given->risk, grave->risk);
		given->categories = with(flow->arena, given->categories, grave->category);
		given->reasons = with(flow->arena, given->reasons, grave->reason);
	}
	if (question->destroys) { /* which the question says in words of its own */
		given->risk = MAX(given->risk, RISK_MEDIUM);
		given->reversible = false;
	}
	question->assessment = given;
}
