/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of guarded names. Case does not count: on a file system that folds it, .GIT is .git.
 */
#include "guard.h"
#include "macro.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Run by a shell, a session or a program at its next start. */
static const char *const closed_files[] = {
	".ward.yaml",	".bashrc",	 ".bash_profile", ".bash_login",
	".bash_logout", ".bash_aliases", ".profile",	  ".zshrc",
	".zshenv",	".zprofile",	 ".zlogin",	  ".zlogout",
	".kshrc",	".cshrc",	 ".tcshrc",	  ".login",
	".xprofile",	".xinitrc",	 ".xsession",	  ".xsessionrc",
	".gitconfig",	".mcp.json",	 "opencode.json", "opencode.jsonc",
	"commondir", /* makes any directory beside it a worktree of another repository */
};

static const char *const vscode[] = {"settings.json", "tasks.json", "launch.json", "mcp.json",
				     NULL};
static const char *const claude[] = {"settings.json", "settings.local.json",
				     "hooks",	      "commands",
				     "agents",	      "skills",
				     "plugins",	      NULL};
static const char *const cursor[] = {"mcp.json",	 "hooks.json",	  "hooks",
				     "environment.json", "settings.json", NULL};
static const char *const gemini[] = {"settings.json", "extensions", "commands", ".env", NULL};
static const char *const windsurf[] = {"hooks.json", "hooks", "mcp_config.json", "settings.json",
				       NULL};
static const char *const opencode[] = {"opencode.json", "opencode.jsonc", "plugin",  "plugins",
				       "tool",		"tools",	  "command", "commands",
				       "agent",		"agents",	  NULL};
static const char *const zed[] = {"settings.json", "tasks.json", "debug.json", NULL};
static const char *const config[] = {"autostart",     "systemd", "fish",  "git",
				     "environment.d", "ward",	 "nvim",  "opencode",
				     "Code",	      "zed",	 "goose", NULL};

static const struct {
	const char *name;
	const char *const *closed;
} settings[] = {
	{".vscode", vscode}, {".claude", claude},     {".cursor", cursor},     {".gemini", gemini},
	{".zed", zed},	     {".windsurf", windsurf}, {".opencode", opencode}, {".config", config},
	{".idea", NULL},     {".codex", NULL},	      {".devcontainer", NULL}, {".ssh", NULL},
};

/* Where git itself writes most, and from where it runs nothing. */
static const char *const open_parts[] = {"objects", "refs", "logs", "info", "lfs", "rr-cache"};

static bool is_one_of(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcasecmp(names[i], name) == 0)
			return true;
	return false;
}

static bool is_closed(const char *const *closed, const char *name)
{
	for (size_t i = 0; closed && closed[i]; i++)
		if (strcasecmp(closed[i], name) == 0)
			return true;
	return !closed;
}

static bool ends_with(const char *name, const char *end)
{
	size_t length = strlen(name), tail = strlen(end);

	return length > tail && strcmp(name + length - tail, end) == 0;
}

static int settings_index(const char *name)
{
	for (size_t i = 0; i < ELEMENTS(settings); i++)
		if (strcasecmp(settings[i].name, name) == 0)
			return (int)i;
	return -1;
}

/* .git, and by custom any repository without files of its own: project.git. */
static bool is_repository_name(const char *name)
{
	size_t length = strlen(name);

	return length >= 4 && strcasecmp(name + length - 4, ".git") == 0;
}

const struct guard_pattern *guard_patterns(void)
{
	enum { OPEN = ELEMENTS(open_parts), FILES = ELEMENTS(closed_files) };
	static struct guard_pattern patterns[FILES + ELEMENTS(settings) + 1 + 2 * OPEN + 1];
	static char texts[2 * OPEN][48];
	size_t count = 0;

	if (patterns[0].text)
		return patterns;
	for (size_t i = 0; i < FILES; i++)
		patterns[count++].text = closed_files[i];
	for (size_t i = 0; i < ELEMENTS(settings); i++)
		patterns[count++].text = settings[i].name;
	patterns[count++].text = "*.git";
	for (size_t i = 0; i < OPEN; i++) {
		snprintf(texts[2 * i], sizeof(texts[0]), "*.git/%s", open_parts[i]);
		snprintf(texts[2 * i + 1], sizeof(texts[0]), "*.git/modules/**/%s", open_parts[i]);
		patterns[count++] = (struct guard_pattern){texts[2 * i], true};
		patterns[count++] = (struct guard_pattern){texts[2 * i + 1], true};
	}
	return patterns;
}

static enum guard in_repository(const struct guard_place *place, const char *name)
{
	if (strcasecmp(name, "config") == 0 || strcasecmp(name, "config.worktree") == 0)
		return GUARD_CONFIG;
	if (strcasecmp(name, "commondir") == 0)
		return place->worktree ? GUARD_LATER : GUARD_CLOSED;
	if (strcasecmp(name, "hooks") == 0)
		return GUARD_HOLDER;
	return GUARD_KEPT;
}

enum guard guard_of(const struct guard_place *place, const char *name)
{
	switch (place->ground) {
	case GROUND_PLAIN:
		if (is_repository_name(name) || settings_index(name) >= 0)
			return GUARD_HOLDER;
		return is_one_of(closed_files, ELEMENTS(closed_files), name) ? GUARD_CLOSED
									     : GUARD_FREE;
	case GROUND_REPOSITORY:
		return in_repository(place, name);
	case GROUND_OPEN:
		return GUARD_OPEN;
	case GROUND_HOOKS:
		return ends_with(name, ".sample") ? GUARD_KEPT : GUARD_CLOSED;
	case GROUND_SETTINGS:
		return is_closed(place->closed, name) ? GUARD_CLOSED : GUARD_KEPT;
	case GROUND_HARMLESS:
		return GUARD_KEPT;
	case GROUND_CLOSED:
		break;
	}
	return GUARD_CLOSED;
}

struct guard_place guard_enter(const struct guard_place *place, const char *name)
{
	struct guard_place next = *place;
	int index;

	switch (place->ground) {
	case GROUND_PLAIN:
		index = settings_index(name);
		if (is_repository_name(name))
			next.ground = GROUND_REPOSITORY;
		else if (index >= 0)
			next = (struct guard_place){.ground = GROUND_SETTINGS,
						    .closed = settings[index].closed};
		break;
	case GROUND_REPOSITORY:
		if (is_one_of(open_parts, ELEMENTS(open_parts), name))
			next.ground = GROUND_OPEN;
		else if (strcasecmp(name, "hooks") == 0)
			next.ground = GROUND_HOOKS;
		else if (strcasecmp(name, "worktrees") == 0)
			next.worktree = true;
		break;
	case GROUND_HOOKS:
		next.ground = GROUND_CLOSED;
		break;
	case GROUND_SETTINGS:
		next.ground = is_closed(place->closed, name) ? GROUND_CLOSED : GROUND_HARMLESS;
		break;
	case GROUND_OPEN:
	case GROUND_HARMLESS:
	case GROUND_CLOSED:
		break;
	}
	return next;
}

enum guard guard_path(const char *top, const char *path, struct guard_place *ret_parent)
{
	struct guard_place place = {.ground = GROUND_PLAIN};
	const char *at = path + strlen(top);
	char name[NAME_MAX + 1];

	if (ret_parent)
		*ret_parent = place;
	for (;;) {
		size_t length;

		while (*at == '/')
			at++;
		length = strcspn(at, "/");
		if (length == 0) /* the top itself */
			return GUARD_FREE;
		if (length > NAME_MAX)
			return GUARD_CLOSED;
		memcpy(name, at, length);
		name[length] = '\0';
		at += length;
		if (!*at)
			break;
		place = guard_enter(&place, name);
	}
	if (ret_parent)
		*ret_parent = place;
	return guard_of(&place, name);
}
