/* SPDX-License-Identifier: Apache-2.0 */
/* The agents that ward knows, and where they are on this machine. */
#include "setup.h"
#include "../base/buffer.h"
#include "../base/escape.h"
#include "../base/path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The time that an agent waits is well above what `ward hook` takes at most. */
#define GROUP(timeout)                                                                 \
	"{\"matcher\": \"*\", \"hooks\": [{\"type\": \"command\", \"command\": \"\", " \
	"\"timeout\": " timeout "}]}"

static const char *const before_tools[] = {"PreToolUse", NULL};
static const char *const claude_off[][3] = {{"disableAllHooks", NULL, "true"}, {NULL}};
static const struct setup_shape claude_shape = {
	.events = before_tools, .entry = GROUP("60"), .in_groups = true, .off = claude_off};
static const struct setup_shape codex_shape = {
	.events = before_tools, .entry = GROUP("60"), .in_groups = true};

static const char *const gemini_events[] = {"BeforeTool", NULL};
static const char *const gemini_off[][3] = {{"hooksConfig", "enabled", "false"},
					    {"hooks", "enabled", "false"},
					    {"tools", "enableHooks", "false"},
					    {NULL}};
static const struct setup_shape gemini_shape = {
	.events = gemini_events, .entry = GROUP("60000"), .in_groups = true, .off = gemini_off};

static const char *const cursor_events[] = {"beforeShellExecution", "beforeReadFile", NULL};
static const struct setup_shape cursor_shape = {.events = cursor_events,
						.entry =
							"{\"command\": \"\", \"failClosed\": true}",
						.has_version = true};

static const char *const windsurf_events[] = {"pre_run_command", "pre_read_code", "pre_write_code",
					      NULL};
static const struct setup_shape windsurf_shape = {.events = windsurf_events,
						  .entry = "{\"command\": \"\"}"};

static const char *const claude_programs[] = {"claude", NULL};
static const char *const codex_programs[] = {"codex", NULL};
static const char *const gemini_programs[] = {"gemini", NULL};
static const char *const cursor_programs[] = {"cursor", "cursor-agent", NULL};
static const char *const windsurf_programs[] = {"windsurf", NULL};
static const char *const opencode_programs[] = {"opencode", NULL};

const struct setup_agent setup_agents[] = {
	{.name = "claude",
	 .title = "Claude Code",
	 .programs = claude_programs,
	 .project = ".claude/settings.json",
	 .settings = ".claude",
	 .user = "settings.json",
	 .variable = "CLAUDE_CONFIG_DIR",
	 .instead = "",
	 .shape = &claude_shape},
	{.name = "codex",
	 .title = "Codex",
	 .programs = codex_programs,
	 .project = ".codex/hooks.json",
	 .settings = ".codex",
	 .user = "hooks.json",
	 .variable = "CODEX_HOME",
	 .instead = "",
	 .shape = &codex_shape,
	 .note = "Codex runs a new hook once you have looked at it: type /hooks there."},
	{.name = "gemini",
	 .title = "Gemini CLI",
	 .programs = gemini_programs,
	 .project = ".gemini/settings.json",
	 .settings = ".gemini",
	 .user = "settings.json",
	 .shape = &gemini_shape},
	{.name = "cursor",
	 .title = "Cursor",
	 .programs = cursor_programs,
	 .project = ".cursor/hooks.json",
	 .settings = ".cursor",
	 .user = "hooks.json",
	 .shape = &cursor_shape},
	{.name = "windsurf",
	 .title = "Windsurf",
	 .programs = windsurf_programs,
	 .project = ".windsurf/hooks.json",
	 .settings = ".codeium/windsurf",
	 .user = "hooks.json",
	 .shape = &windsurf_shape},
	{.name = "opencode",
	 .title = "OpenCode",
	 .programs = opencode_programs,
	 .project = ".opencode/plugin/ward.js",
	 .settings = ".config/opencode",
	 .user = "plugin/ward.js",
	 .variable = "XDG_CONFIG_HOME",
	 .instead = "opencode"},
};
const size_t setup_agent_count = ELEMENTS(setup_agents);

const struct setup_agent *setup_agent_named(const char *name)
{
	for (size_t i = 0; i < setup_agent_count; i++)
		if (strcmp(setup_agents[i].name, name) == 0)
			return &setup_agents[i];
	return NULL;
}

/* --- where ------------------------------------------------------------------------------------ */

/* The first program of that name in PATH, or NULL. Caller frees. */
static char *find_program(const char *name, struct stat *ret_st)
{
	const char *path = getenv("PATH");

	for (const char *at = path ? path : ""; *at;) {
		size_t length = strcspn(at, ":");
		_cleanup_free_ char *file = NULL;

		if (asprintf(&file, "%.*s/%s", (int)length, at, name) < 0)
			abort();
		/* A relative directory would mean another one in every place. */
		if (at[0] == '/' && stat(file, ret_st) == 0 && S_ISREG(ret_st->st_mode) &&
		    access(file, X_OK) == 0)
			return STEAL(file);
		at += length + (at[length] == ':');
	}
	return NULL;
}

/* As an agent's shell would find it: by name where that is this very program. */
static int name_program(struct setup_place *place, struct error **ret_error)
{
	_cleanup_free_ char *found = NULL, *checked = NULL;
	char program[PATH_MAX] = "";
	struct stat self, other;
	bool lossy;

	if (readlink("/proc/self/exe", program, sizeof(program) - 1) <= 0 ||
	    stat("/proc/self/exe", &self) < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "ward does not find itself");
	found = find_program("ward", &other);
	if (found && self.st_dev == other.st_dev && self.st_ino == other.st_ino) {
		place->program = strdup("ward");
		return 0;
	}
	if (stat(program, &other) < 0 || self.st_ino != other.st_ino || self.st_dev != other.st_dev)
		return fail(ret_error, E_ENGINE, "the program was replaced meanwhile: %s", program);
	if (!setup_is_ward(program)) {
		/* It would not know its own entry again. */
		fail(ret_error, E_USAGE, "this program is called %s", path_last(program));
		return error_hint(ret_error, "give it the name ward");
	}
	checked = escape_to_utf8(program, strlen(program), &lossy);
	if (lossy)
		return fail(
			ret_error, E_INPUT,
			"ward lies at a path that settings cannot name, because it is not UTF-8");
	place->program = STEAL(checked);
	return 0;
}

static int find_home(char **ret_home, struct error **ret_error)
{
	const char *home = getenv("HOME");
	char real[PATH_MAX];

	if (!home || home[0] != '/')
		return fail(ret_error, E_USAGE, "HOME does not name the home directory");
	if (!realpath(home, real))
		return fail_errno(ret_error, E_USAGE, errno, "the home directory %s", home);
	*ret_home = strdup(real);
	return 0;
}

int setup_find_place(struct setup_place *ret_place, struct error **ret_error)
{
	_cleanup_(setup_place_done) struct setup_place place = {0};
	_cleanup_buffer_ struct buffer command = {0};
	char here[PATH_MAX];
	int r = find_home(&place.home, ret_error);

	if (r < 0)
		return r;
	if (!getcwd(here, sizeof(here)) || here[0] != '/')
		return fail_errno(ret_error, E_USAGE, errno, "the current directory");
	r = name_program(&place, ret_error);
	if (r < 0)
		return r;
	place.project = path_repository(here, place.home);
	list_add(&place.bases, place.project);
	list_add(&place.bases, place.home);
	for (size_t i = 0; i < setup_agent_count; i++) {
		const char *variable = setup_agents[i].variable;
		const char *value = variable ? getenv(variable) : NULL;

		if (value && value[0] == '/')
			list_take(&place.bases, path_normalise(value));
	}
	/* Agents go on when a hook fails, but for this one exit code. So a program that is gone, or
	 * was killed, is turned into it by the shell; and what the agent has to say is read to its
	 * end, because some (Codex) count it as such a failure where it cannot be told. `sh -c`
	 * means the same in every shell. */
	escape_for_shell(&command, place.program);
	buffer_add_text(&command, " hook || /bin/sh -c 'cat >/dev/null; exit 2'");
	place.command = buffer_steal(&command);
	*ret_place = place;
	place = (struct setup_place){0};
	return 0;
}

void setup_place_done(struct setup_place *place)
{
	free(place->home);
	free(place->project);
	free(place->command);
	free(place->program);
	list_done(&place->bases);
	*place = (struct setup_place){0};
}

/* Its directory of settings in the home, or where a variable says. */
static char *settings_of(const struct setup_agent *agent, const struct setup_place *place)
{
	const char *value = agent->variable ? getenv(agent->variable) : NULL;

	if (value && value[0] == '/')
		return path_resolve(value, NULL, *agent->instead ? agent->instead : ".");
	return path_resolve(place->home, NULL, agent->settings);
}

char *setup_path(const struct setup_agent *agent, const struct setup_place *place)
{
	_cleanup_free_ char *settings = NULL;

	if (!place->user)
		return path_resolve(place->project, NULL, agent->project);
	settings = settings_of(agent, place);
	return path_resolve(settings, NULL, agent->user);
}

char *setup_find_agent(const struct setup_agent *agent, const struct setup_place *place)
{
	_cleanup_free_ char *settings = settings_of(agent, place), *in_project = NULL;
	char *text = NULL;
	struct stat st;

	for (const char *const *program = agent->programs; *program; program++) {
		_cleanup_free_ char *found = find_program(*program, &st);

		if (found)
			return STEAL(found);
	}
	if (stat(settings, &st) == 0 && S_ISDIR(st.st_mode))
		return STEAL(settings);
	if (asprintf(&in_project, "%s/%.*s", place->project, (int)strcspn(agent->project, "/"),
		     agent->project) < 0)
		abort();
	if (stat(in_project, &st) == 0 && S_ISDIR(st.st_mode))
		text = STEAL(in_project);
	return text;
}
