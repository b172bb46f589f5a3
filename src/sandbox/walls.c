/* SPDX-License-Identifier: Apache-2.0 */
/* The walls by name. */
#include "walls.h"

#include <string.h>

static const char *const names[WALL_COUNT] = {
	[WALL_USER_NAMESPACE] = "userns",
	[WALL_MOUNT_NAMESPACE] = "mountns",
	[WALL_PID_NAMESPACE] = "pidns",
	[WALL_IPC_NAMESPACE] = "ipcns",
	[WALL_UTS_NAMESPACE] = "utsns",
	[WALL_NET_NAMESPACE] = "netns",
	[WALL_CGROUP_NAMESPACE] = "cgroupns",
	[WALL_READ_ONLY] = "readonly",
	[WALL_MASKS] = "masks",
	[WALL_DEVICES] = "dev",
	[WALL_PROC] = "proc",
	[WALL_TMP] = "tmp",
	[WALL_RUN] = "run",
	[WALL_LANDLOCK] = "landlock",
	[WALL_SECCOMP] = "seccomp",
	[WALL_NOTIFY] = "notify",
	[WALL_NO_NEW_PRIVILEGES] = "no_new_privs",
	[WALL_CAPABILITIES] = "capabilities",
	[WALL_ENVIRONMENT] = "environment",
	[WALL_DESCRIPTORS] = "fds",
	[WALL_INIT_HIDDEN] = "init",
	[WALL_GUARD] = "guard",
	[WALL_SEAL] = "seal",
	[WALL_APPARMOR] = "apparmor",
	[WALL_SELINUX] = "selinux",
	[WALL_GVISOR] = "gvisor",
};

const char *wall_name(enum wall wall)
{
	return names[wall];
}

void wall_names(unsigned set, struct list *list)
{
	for (unsigned wall = 0; wall < WALL_COUNT; wall++)
		if (set & WALL_BIT(wall))
			list_add(list, names[wall]);
}

#ifdef WARD_WITHOUT_WALLS
/* Only the test program ward-unwalled is built with this; it is never installed. */
static const char *const checks[CHECK_COUNT] = {
	[CHECK_PERFORM] = "perform", [CHECK_OBJECT] = "object", [CHECK_MOVES] = "moves",
	[CHECK_NEVER] = "never",     [CHECK_KINDS] = "kinds",	[CHECK_NAMES] = "names",
	[CHECK_HELD] = "held",	     [CHECK_PLACE] = "place",	[CHECK_MODE] = "mode",
	[CHECK_FREEZE] = "freeze",   [CHECK_REVOKE] = "revoke", [CHECK_ONCE] = "once",
	[CHECK_WORDS] = "words",     [CHECK_BEARER] = "bearer", [CHECK_USES] = "uses",
	[CHECK_CLOCK] = "clock",     [CHECK_RECALL] = "recall", [CHECK_SHARE] = "share",
	[CHECK_EACH] = "each",
};

static unsigned switched_off(const char *const *words, unsigned count)
{
	const char *off = getenv("WARD_WALLS_OFF");
	unsigned set = 0;

	for (unsigned i = 0; off && i < count; i++) {
		const char *at = strstr(off, words[i]);
		size_t length = strlen(words[i]);

		for (; at; at = strstr(at + 1, words[i]))
			if ((at == off || at[-1] == ',') &&
			    (at[length] == ',' || at[length] == '\0'))
				set |= 1u << i;
	}
	return set;
}

unsigned walls_switched_off(void)
{
	return switched_off(names, WALL_COUNT);
}

unsigned checks_switched_off(void)
{
	return switched_off(checks, CHECK_COUNT);
}
#else
unsigned walls_switched_off(void)
{
	return 0;
}

unsigned checks_switched_off(void)
{
	return 0;
}
#endif

unsigned walls_named(const struct list *list)
{
	unsigned set = 0;

	for (size_t i = 0; i < list->count; i++)
		for (size_t wall = 0; wall < WALL_COUNT; wall++)
			if (strcmp(list->items[i], names[wall]) == 0)
				set |= WALL_BIT(wall);
	return set;
}
