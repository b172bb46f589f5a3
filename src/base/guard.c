/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of guarded names. Case does not count: on a file system that folds it, .GIT is .git.
 */
#include "guard.h"
#include "macro.h"
#include "path.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Run by a shell, a session or a program at its next start: in a home, or, as those of interpreters
 * and debuggers, in whatever directory that may be. In the letters that the program looks for: so
 * does the walk that holds those that are there. */
static const char *const closed_files[] = {
	".ward.yaml",	".bashrc",	 ".bash_profile", ".bash_login",
	".bash_logout", ".bash_aliases", ".profile",	  ".zshrc",
	".zshenv",	".zprofile",	 ".zlogin",	  ".zlogout",
	".kshrc",	".cshrc",	 ".tcshrc",	  ".login",
	".xprofile",	".xinitrc",	 ".xsession",	  ".xsessionrc",
	".gitconfig",	".mcp.json",	 "opencode.json", "opencode.jsonc",
	".claude.json", ".vimrc",	 ".gvimrc",	  ".exrc",
	".nvimrc",	".nvim.lua",	 ".emacs",	  ".inputrc",
	".tmux.conf",	".screenrc",	 ".gdbinit",	  ".lldbinit",
	".pdbrc",	".irbrc",	 ".pryrc",	  ".Rprofile",
	".Renviron",	".ghci",	 ".ocamlinit",	  ".iex.exs",
	".octaverc",	"crush.json",	 ".crush.json",	  ".continuerc.json",
	"commondir", /* makes any directory beside it a worktree of another repository */
};

/* Of C and C++ it runs the compiler that is named, and of CMake scripts. */
static const char *const vscode[] = {
	"settings.json",	 "tasks.json",	    "launch.json", "mcp.json",
	"c_cpp_properties.json", "cmake-kits.json", NULL};
static const char *const claude[] = {"settings.json",	"settings.local.json",
				     "hooks",		"commands",
				     "agents",		"skills",
				     "plugins",		"local",
				     "shell-snapshots", "session-env",
				     "chrome",		NULL};
static const char *const cursor[] = {"mcp.json",	 "hooks.json",	  "hooks",
				     "environment.json", "settings.json", NULL};
static const char *const gemini[] = {
	"settings.json",      "extensions", "commands", ".env",	 "bin",
	"policies",	      "agents",	    "skills",	"hooks", "trustedFolders.json",
	"trusted_hooks.json", "system.md",  NULL};
/* Copilot's: it starts what they name in whatever directory it is started. */
static const char *const github[] = {"hooks", "copilot", NULL};
static const char *const copilot[] = {
	"hooks",	   "config.json", "settings.json",     "settings.local.json",
	"mcp-config.json", "agents",	  "installed-plugins", NULL};
static const char *const windsurf[] = {"hooks.json", "hooks", "mcp_config.json", "settings.json",
				       NULL};
static const char *const opencode[] = {"opencode.json", "opencode.jsonc", "plugin",  "plugins",
				       "tool",		"tools",	  "command", "commands",
				       "agent",		"agents",	  NULL};
static const char *const zed[] = {"settings.json", "tasks.json", "debug.json", NULL};
/* Language servers are programs. */
static const char *const helix[] = {"config.toml", "languages.toml", NULL};
static const char *const fleet[] = {"settings.json", "run.json", NULL};
static const char *const kiro[] = {"settings", "hooks", "agents", NULL};
static const char *const mcp[] = {"mcp.json", "mcp", "hooks", NULL}; /* .roo, .junie ... */
static const char *const amazonq[] = {"mcp.json", "cli-agents", "agents", NULL};
static const char *const continue_[] = {"mcpServers", "config.json", "config.yaml", "config.ts",
					NULL};
static const char *const factory[] = {"settings.json", "settings.local.json",
				      "mcp.json",      "hooks",
				      "hooks.json",    "droids",
				      "commands",      NULL};
static const char *const amp[] = {"settings.json",
				  "settings.jsonc",
				  "settings.local.json",
				  "toolbox",
				  "plugins",
				  "hooks",
				  NULL};
static const char *const pi[] = {"settings.json", "extensions", "npm", "git", NULL};
/* What other keepers of versions have for a configuration, and what says where that lies. */
static const char *const mercurial[] = {"hgrc",	  "hgrc-not-shared", "sharedpath",
					"shared", "requires",	     NULL};
static const char *const sapling[] = {"config", "sharedpath", "requires", NULL};
static const char *const jujutsu[] = {"repo", "config.toml", "workspace-config.toml", NULL};
static const char *const jujutsu_repository[] = {"config.toml", NULL};
static const char *const config[] = {"autostart",
				     "systemd",
				     "fish",
				     "git",
				     "environment.d",
				     "ward",
				     "nvim",
				     "opencode",
				     "Code",
				     "zed",
				     "goose",
				     "helix",
				     "Cursor",
				     "Code - Insiders",
				     "VSCodium",
				     "Windsurf",
				     "Kiro",
				     "crush",
				     "amp",
				     "Claude",
				     "gh",
				     "jj",
				     "hg",
				     "mise",
				     "direnv",
				     "tmux",
				     "vim",
				     "emacs",
				     "zsh",
				     "nushell",
				     "alacritty",
				     "kitty",
				     "wezterm",
				     "starship.toml",
				     "i3",
				     "sway",
				     "hypr",
				     "plasma-workspace",
				     NULL};

static const struct {
	const char *name;
	const char *const *closed;
} settings[] = {
	{".vscode", vscode},	 {".claude", claude},
	{".cursor", cursor},	 {".gemini", gemini},
	{".zed", zed},		 {".windsurf", windsurf},
	{".opencode", opencode}, {".config", config},
	{".idea", NULL},	 {".codex", NULL},
	{".devcontainer", NULL}, {".ssh", NULL},
	{".helix", helix},	 {".fleet", fleet},
	{".kiro", kiro},	 {".roo", mcp},
	{".kilocode", mcp},	 {".trae", mcp},
	{".junie", mcp},	 {".clinerules", mcp},
	{".amazonq", amazonq},	 {".continue", continue_},
	{".augment", factory},	 {".factory", factory},
	{".amp", amp},		 {".pi", pi},
	{".qwen", gemini},	 {".iflow", gemini},
	{".hg", mercurial},	 {".sl", sapling},
	{".jj", jujutsu},	 {".vim", NULL},
	{".emacs.d", NULL},	 {".github", github},
	{".copilot", copilot},
};

/* Where git itself writes most, and from where it runs nothing. */
static const char *const open_parts[] = {"objects", "refs", "logs", "info", "lfs", "rr-cache"};

/* What else folds to letters that stand in a guarded name, on a file system with Unicode's full
 * folding; what is left out altogether folds to nothing. */
static const struct {
	uint32_t first, last;
	const char *to;
} folds[] = {
	{0xad, 0xad, ""},	 {0xdf, 0xdf, "ss"},	 {0x17f, 0x17f, "s"},
	{0x34f, 0x34f, ""},	 {0x61c, 0x61c, ""},	 {0x115f, 0x1160, ""},
	{0x17b4, 0x17b5, ""},	 {0x180b, 0x180f, ""},	 {0x1e9e, 0x1e9e, "ss"},
	{0x200b, 0x200f, ""},	 {0x202a, 0x202e, ""},	 {0x2060, 0x206f, ""},
	{0x212a, 0x212a, "k"},	 {0x3164, 0x3164, ""},	 {0xfb00, 0xfb00, "ff"},
	{0xfb01, 0xfb01, "fi"},	 {0xfb02, 0xfb02, "fl"}, {0xfb03, 0xfb03, "ffi"},
	{0xfb04, 0xfb04, "ffl"}, {0xfb05, 0xfb06, "st"}, {0xfe00, 0xfe0f, ""},
	{0xfeff, 0xfeff, ""},	 {0xffa0, 0xffa0, ""},	 {0xfff0, 0xfff8, ""},
	{0x1bca0, 0x1bca3, ""},	 {0x1d173, 0x1d17a, ""}, {0xe0000, 0xe0fff, ""},
};

/* One character; 0 and its first byte alone where it is none. */
static uint32_t decode(const unsigned char *at, size_t *ret_length)
{
	size_t length = at[0] < 0xc0 ? 1 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
	uint32_t c = length == 1 ? at[0] : at[0] & (0xffu >> (length + 1));

	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80) {
			*ret_length = 1;
			return 0;
		}
		c = c << 6 | (at[i] & 0x3f);
	}
	*ret_length = length;
	return c;
}

void guard_fold(const char *name, char folded[static NAME_MAX + 1])
{
	const unsigned char *at = (const unsigned char *)name;
	size_t length, used = 0;

	for (; *at; at += length) { /* nothing gets longer */
		uint32_t c = decode(at, &length);
		const char *to = NULL;

		if (used + length > NAME_MAX)
			break;

		for (size_t i = 0; c > 0x7f && i < ELEMENTS(folds); i++)
			if (c >= folds[i].first && c <= folds[i].last)
				to = folds[i].to;
		if (to) {
			strcpy(folded + used, to);
			used += strlen(to);
		} else {
			for (size_t i = 0; i < length; i++)
				folded[used++] =
					(char)(at[i] >= 'A' && at[i] <= 'Z' ? at[i] | 0x20 : at[i]);
		}
	}
	while (used > 1 && (folded[used - 1] == '.' || folded[used - 1] == ' '))
		used--;
	folded[used] = '\0';
	/* The short name that FAT and NTFS give to .git. */
	if (strncmp(folded, "git~", 4) == 0 && folded[4] >= '0' && folded[4] <= '9' && !folded[5])
		strcpy(folded, ".git");
}

bool guard_is(const char *name, const char *that)
{
	char folded[NAME_MAX + 1];

	guard_fold(name, folded);
	return strcmp(folded, that) == 0;
}

bool guard_is_under(const char *path, const char *directory)
{
	char one[NAME_MAX + 1], other[NAME_MAX + 1], folded[NAME_MAX + 1];

	for (;;) {
		size_t length, length2;

		path += strspn(path, "/");
		directory += strspn(directory, "/");
		length = strcspn(path, "/");
		length2 = strcspn(directory, "/");
		if (length2 == 0)
			return true;
		if (length == 0 || length > NAME_MAX || length2 > NAME_MAX)
			return false;
		snprintf(one, sizeof(one), "%.*s", (int)length, path);
		snprintf(other, sizeof(other), "%.*s", (int)length2, directory);
		guard_fold(one, folded);
		guard_fold(other, one);
		if (strcmp(folded, one) != 0)
			return false;
		path += length;
		directory += length2;
	}
}

/* What the kernel shows of a process; no number of one begins with 0, or has more digits. */
static bool is_process(const char *name)
{
	size_t length = strlen(name);

	return length > 0 && length <= 7 && name[0] != '0' && strspn(name, "0123456789") == length;
}

/* The next component, also as the most generous file system takes it; false where there is none. */
static bool next_component(const char **text, char name[static NAME_MAX + 1],
			   char folded[static NAME_MAX + 1])
{
	size_t length;

	*text += strspn(*text, "/");
	length = strcspn(*text, "/");
	snprintf(name, NAME_MAX + 1, "%.*s", (int)MIN(length, (size_t)NAME_MAX), *text);
	guard_fold(name, folded);
	*text += length;
	return length > 0;
}

bool guard_says_inside(const char *text)
{
	char name[NAME_MAX + 1], folded[NAME_MAX + 1];

	while (next_component(&text, name, folded))
		if (strncmp(folded, GUARD_INSIDE, strlen(GUARD_INSIDE)) == 0)
			return true;
	return false;
}

bool guard_leads_inside(const char *text)
{
	char name[NAME_MAX + 1], folded[NAME_MAX + 1];
	bool away = text[0] == '/'; /* not in the link's own directory any more */
	bool named = false, among = false;

	if (guard_says_inside(text))
		return true;
	while (next_component(&text, name, folded)) {
		bool up = strcmp(name, "..") == 0;

		if (strcmp(name, ".") == 0)
			continue;
		if (among && is_process(name))
			return true;
		among = up ? named : away && strcmp(name, "proc") == 0;
		named = named || !up;
		away = true;
	}
	return among;
}

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
	static struct guard_pattern patterns[FILES + ELEMENTS(settings) + 3 + 2 * OPEN + 1];
	static char texts[2 * OPEN][48];
	size_t count = 0;

	if (patterns[0].text)
		return patterns;
	for (size_t i = 0; i < FILES; i++)
		patterns[count++].text = closed_files[i];
	for (size_t i = 0; i < ELEMENTS(settings); i++)
		patterns[count++].text = settings[i].name;
	patterns[count++].text = "*.git";
	patterns[count++].text = "*.code-workspace";
	patterns[count++] = (struct guard_pattern){.text = "HEAD", .sign = true};
	for (size_t i = 0; i < OPEN; i++) {
		snprintf(texts[2 * i], sizeof(texts[0]), "*.git/%s", open_parts[i]);
		snprintf(texts[2 * i + 1], sizeof(texts[0]), "*.git/modules/**/%s", open_parts[i]);
		patterns[count++] = (struct guard_pattern){.text = texts[2 * i], .open = true};
		patterns[count++] = (struct guard_pattern){.text = texts[2 * i + 1], .open = true};
	}
	return patterns;
}

/* On ground where anything may lie: the names alone tell. */
static enum guard by_name(const char *name, enum guard otherwise)
{
	if (is_repository_name(name) || settings_index(name) >= 0)
		return GUARD_HOLDER;
	if (ends_with(name, ".code-workspace")) /* settings and tasks of VS Code's, in one file */
		return GUARD_CLOSED;
	if (strncmp(name, GUARD_NEW, strlen(GUARD_NEW)) == 0)
		return GUARD_CLOSED;
	return is_one_of(closed_files, ELEMENTS(closed_files), name) ? GUARD_CLOSED : otherwise;
}

/* Or the part of one that is shared (core.splitIndex), or what says where conflicts are. */
static bool is_index(const char *name)
{
	return strcmp(name, "index") == 0 || strncmp(name, "sharedindex.", 12) == 0 ||
	       strcmp(name, GUARD_CONFLICTS) == 0;
}

static enum guard in_repository(const struct guard_place *place, const char *name)
{
	if (strcasecmp(name, "config") == 0 || strcasecmp(name, "config.worktree") == 0)
		return GUARD_CONFIG;
	if (strcasecmp(name, "commondir") == 0)
		return place->worktree ? GUARD_LATER : GUARD_CLOSED;
	if (strcasecmp(name, "hooks") == 0)
		return GUARD_HOLDER;
	if (is_index(name) && !place->names)
		return GUARD_INDEX;
	return by_name(name, GUARD_KEPT);
}

/* Whatever lies around it, a directory that a link elsewhere leads to is one to work in: so the
 * names count everywhere. */
enum guard guard_of(const struct guard_place *place, const char *said)
{
	char name[NAME_MAX + 1];

	guard_fold(said, name);
	switch (place->ground) {
	case GROUND_PLAIN:
		return by_name(name, GUARD_FREE);
	case GROUND_REPOSITORY:
		return in_repository(place, name);
	case GROUND_OPEN:
		return by_name(name, GUARD_OPEN);
	case GROUND_HOOKS:
		return ends_with(said, ".sample") ? GUARD_KEPT : GUARD_CLOSED;
	case GROUND_SETTINGS:
		return is_closed(place->closed, name) ? GUARD_CLOSED : by_name(name, GUARD_KEPT);
	case GROUND_HARMLESS:
		return by_name(name, GUARD_KEPT);
	case GROUND_CLOSED:
		break;
	}
	return GUARD_CLOSED;
}

/* The ground of a holder of that name, any other name leads to `otherwise`. */
static struct guard_place enter_by_name(const char *name, enum guard_ground otherwise)
{
	int index = settings_index(name);

	if (is_repository_name(name))
		return (struct guard_place){.ground = GROUND_REPOSITORY};
	if (index >= 0)
		return (struct guard_place){.ground = GROUND_SETTINGS,
					    .closed = settings[index].closed};
	return (struct guard_place){.ground = otherwise};
}

static struct guard_place enter_repository(const struct guard_place *place, const char *name)
{
	struct guard_place next = *place;

	next.names = false;
	if (settings_index(name) >= 0)
		return enter_by_name(name, GROUND_REPOSITORY);
	if (strcasecmp(name, "hooks") == 0) {
		next.ground = GROUND_HOOKS;
	} else if (place->names) {
		/* a repository's name, whatever else it would be */
	} else if (is_one_of(open_parts, ELEMENTS(open_parts), name)) {
		next.ground = GROUND_OPEN;
	} else if (strcasecmp(name, "worktrees") == 0) {
		next.worktree = next.names = true;
	} else if (strcasecmp(name, "modules") == 0) {
		next.names = true;
	}
	return next;
}

struct guard_place guard_enter(const struct guard_place *place, const char *said)
{
	char name[NAME_MAX + 1];

	guard_fold(said, name);
	switch (place->ground) {
	case GROUND_PLAIN:
	case GROUND_OPEN:
	case GROUND_HARMLESS:
		return enter_by_name(name, place->ground);
	case GROUND_REPOSITORY:
		return enter_repository(place, name);
	case GROUND_SETTINGS:
		/* Its own may be anything, but where it lies. */
		if (place->closed == jujutsu && strcasecmp(name, "repo") == 0)
			return (struct guard_place){.ground = GROUND_SETTINGS,
						    .closed = jujutsu_repository};
		if (!is_closed(place->closed, name))
			return enter_by_name(name, GROUND_HARMLESS);
		break;
	case GROUND_HOOKS:
	case GROUND_CLOSED:
		break;
	}
	return (struct guard_place){.ground = GROUND_CLOSED};
}

/* Where only the names tell, it is all the same. */
static enum guard_ground kind_of(const struct guard_place *place)
{
	return place->ground == GROUND_OPEN || place->ground == GROUND_HARMLESS ? GROUND_PLAIN
										: place->ground;
}

bool guard_may_move(const struct guard_place *from, const struct guard_place *to)
{
	return kind_of(from) == kind_of(to) && from->worktree == to->worktree &&
	       from->names == to->names && from->closed == to->closed;
}

struct guard_place guard_ground_of(const char *top, const char *path)
{
	struct guard_place parent;

	guard_path(top, path, &parent);
	return strlen(path) > strlen(top) ? guard_enter(&parent, path_last(path)) : parent;
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
