/* SPDX-License-Identifier: Apache-2.0 */
/* The dialects. docs/agents.md says which versions they were taken from. */
#include "hook.h"

#include <string.h>

static const char *text(json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static bool is_one_of(const char *word, const char *const *words)
{
	for (; word && *words; words++)
		if (strcmp(word, *words) == 0)
			return true;
	return false;
}

static void add_path(struct hook_call *call, json_t *input, const char *key)
{
	if (text(input, key) && *text(input, key))
		list_add(&call->paths, text(input, key));
}

/* The tools of an agent, by what they do. */
struct tools {
	const char *const *shell, *const *read, *const *write, *const *patch;
	const char *command;	   /* the key of the command */
	const char *const *search; /* they read what they name; without a path, all around */
};

static void read_tool(struct hook_call *call, const struct tools *tools)
{
	static const char *const keys[] = {"file_path",	    "notebook_path", "path",
					   "absolute_path", "filePath",	     "dir_path"};
	json_t *value, *input = call->input;
	bool searches = is_one_of(call->tool, tools->search);
	const char *key;

	call->nameless = !call->tool;
	call->reason = text(input, "description");
	if (is_one_of(call->tool, tools->shell)) {
		call->action = HOOK_SHELL;
		call->command = text(input, tools->command);
		return;
	}
	if (is_one_of(call->tool, tools->patch)) {
		call->action = HOOK_WRITE;
		json_object_foreach (input, key, value)
			if (json_is_string(value))
				patch_paths(json_string_value(value), &call->paths);
		return;
	}
	if (!searches && !is_one_of(call->tool, tools->read) &&
	    !is_one_of(call->tool, tools->write))
		return;
	for (size_t i = 0; i < ELEMENTS(keys); i++)
		add_path(call, input, keys[i]);
	if (!searches || call->paths.count)
		call->action = is_one_of(call->tool, tools->write) ? HOOK_WRITE : HOOK_READ;
}

static json_t *with_command(const struct hook_call *call, const char *key,
			    const struct hook_answer *answer)
{
	json_t *input = json_copy(call->input);

	json_object_set_new(input, key, json_string(answer->command));
	return input;
}

/* --- Claude Code, and Codex, which speaks nearly the same ------------------------------------ */

static const char *const none[] = {NULL};
static const char *const bash[] = {"Bash", NULL};
static const char *const claude_reads[] = {"Read", "NotebookRead", NULL};
static const char *const claude_writes[] = {"Edit", "MultiEdit", "Write", "NotebookEdit", NULL};
static const char *const apply_patch[] = {"apply_patch", NULL};
static const char *const claude_searches[] = {"Grep", NULL};
static const struct tools claude_tools = {bash,	       claude_reads, claude_writes,
					  apply_patch, "command",    claude_searches};

static bool is_of_claude(json_t *object)
{
	/* The last line is about no tool, and Gemini CLI has some of it too: there is no word to
	 * say. */
	static const char *const events[] = {"PreToolUse",
					     "PermissionRequest",
					     "PostToolUse",
					     "PostToolUseFailure",
					     "SessionStart",
					     "SessionEnd",
					     "UserPromptSubmit",
					     "Stop",
					     "SubagentStart",
					     "SubagentStop",
					     "PreCompact",
					     "Notification",
					     NULL};

	return is_one_of(text(object, "hook_event_name"), events);
}

static bool is_codex(json_t *object)
{
	return is_of_claude(object) && json_object_get(object, "turn_id");
}

static void read_claude(struct hook_call *call)
{
	json_t *object = call->object;

	call->event = text(object, "hook_event_name");
	call->session = text(object, "session_id");
	call->cwd = text(object, "cwd");
	call->tool = text(object, "tool_name");
	call->call_id = text(object, "tool_use_id");
	call->turn = text(object, "turn_id");
	call->mode = text(object, "permission_mode");
	call->input = json_object_get(object, "tool_input");
	if (strcmp(call->event, "PreToolUse") == 0 || strcmp(call->event, "PermissionRequest") == 0)
		read_tool(call, &claude_tools);
}

static void read_claude_code(struct hook_call *call)
{
	read_claude(call);
	/* Where it is about to ask its user anyway it does. */
	call->asks = strcmp(call->event, "PermissionRequest") == 0 || claude_asks(call->object);
}

static void read_codex(struct hook_call *call)
{
	read_claude(call);
	if (call->action == HOOK_SHELL)
		codex_look(call, text(call->object, "transcript_path"));
}

static json_t *write_request(const struct hook_call *call, const struct hook_answer *answer,
			     bool updates)
{
	json_t *decision = json_object();

	if (answer->word == HOOK_DENY)
		json_object_update_new(decision, json_pack("{s:s, s:s}", "behavior", "deny",
							   "message", answer->reason));
	else
		json_object_set_new(decision, "behavior", json_string("allow"));
	if (updates && answer->word == HOOK_ALLOW && answer->command)
		json_object_set_new(decision, "updatedInput",
				    with_command(call, "command", answer));
	return json_pack("{s:{s:s, s:o}}", "hookSpecificOutput", "hookEventName",
			 "PermissionRequest", "decision", decision);
}

static json_t *write_claude(const struct hook_call *call, const struct hook_answer *answer)
{
	static const char *const words[] = {
		[HOOK_ALLOW] = "allow", [HOOK_ASK] = "ask", [HOOK_DENY] = "deny"};
	bool request = call->event && strcmp(call->event, "PermissionRequest") == 0;
	json_t *output;

	if (answer->word == HOOK_SILENCE || (request && answer->word == HOOK_ASK))
		return json_object(); /* the agent asks anyway */
	if (request)
		return write_request(call, answer, /* updates= */ true);
	output = json_pack("{s:s, s:s}", "hookEventName", "PreToolUse", "permissionDecision",
			   words[answer->word]);
	if (answer->reason)
		json_object_set_new(output, "permissionDecisionReason",
				    json_string(answer->reason));
	if (answer->command)
		json_object_set_new(output, "updatedInput", with_command(call, "command", answer));
	return json_pack("{s:o}", "hookSpecificOutput", output);
}

/* Strict: allow only with another input, no question, nothing else. */
static json_t *write_codex(const struct hook_call *call, const struct hook_answer *answer)
{
	bool request = call->event && strcmp(call->event, "PermissionRequest") == 0;

	if (answer->word == HOOK_DENY && request)
		return write_request(call, answer, /* updates= */ false);
	if (request || answer->word == HOOK_SILENCE ||
	    (answer->word == HOOK_ALLOW && !answer->command))
		return json_object();
	return write_claude(call, answer);
}

/* --- Gemini CLI ------------------------------------------------------------------------------ */

static const char *const gemini_shell[] = {"run_shell_command", NULL};
static const char *const gemini_reads[] = {"read_file", NULL};
static const char *const gemini_writes[] = {"write_file", "replace", "edit", NULL};
static const char *const gemini_searches[] = {"search_file_content", "grep_search", NULL};
static const struct tools gemini_tools = {gemini_shell, gemini_reads, gemini_writes,
					  none,		"command",    gemini_searches};

static bool is_gemini(json_t *object)
{
	static const char *const events[] = {"BeforeTool",  "AfterTool",   "BeforeAgent",
					     "AfterAgent",  "BeforeModel", "AfterModel",
					     "PreCompress", NULL};

	return is_one_of(text(object, "hook_event_name"), events);
}

static void read_gemini(struct hook_call *call)
{
	call->event = text(call->object, "hook_event_name");
	call->session = text(call->object, "session_id");
	call->cwd = text(call->object, "cwd");
	call->tool = text(call->object, "tool_name");
	call->input = json_object_get(call->object, "tool_input");
	if (strcmp(call->event, "BeforeTool") == 0)
		read_tool(call, &gemini_tools);
}

static json_t *write_gemini(const struct hook_call *call, const struct hook_answer *answer)
{
	json_t *object = json_object();

	if (answer->word == HOOK_SILENCE)
		return object;
	json_object_set_new(object, "decision",
			    json_string(answer->word == HOOK_DENY ? "deny" : "allow"));
	if (answer->reason)
		json_object_set_new(object, "reason", json_string(answer->reason));
	if (answer->command)
		json_object_set_new(
			object, "hookSpecificOutput",
			json_pack("{s:o}", "tool_input", with_command(call, "command", answer)));
	return object;
}

/* --- Cursor ---------------------------------------------------------------------------------- */

static bool is_cursor(json_t *object)
{
	const char *event = text(object, "hook_event_name");

	return event && json_object_get(object, "conversation_id") &&
	       (strncmp(event, "before", 6) == 0 || strncmp(event, "after", 5) == 0 ||
		strncmp(event, "session", 7) == 0 || strcmp(event, "stop") == 0);
}

static void read_cursor(struct hook_call *call)
{
	json_t *object = call->object;

	call->event = text(object, "hook_event_name");
	call->session = text(object, "conversation_id");
	call->turn = text(object, "generation_id");
	call->root =
		json_string_value(json_array_get(json_object_get(object, "workspace_roots"), 0));
	call->cwd = text(object, "cwd") && *text(object, "cwd") ? text(object, "cwd") : call->root;
	if (strcmp(call->event, "beforeShellExecution") == 0) {
		call->action = HOOK_SHELL;
		call->tool = "shell";
		call->command = text(object, "command");
	} else if (strcmp(call->event, "beforeReadFile") == 0) {
		call->action = HOOK_READ;
		call->tool = "read";
		add_path(call, object, "file_path");
	}
}

static json_t *write_cursor(const struct hook_call *call, const struct hook_answer *answer)
{
	static const char *const words[] = {
		[HOOK_ALLOW] = "allow", [HOOK_ASK] = "ask", [HOOK_DENY] = "deny"};
	json_t *object;

	/* Of anything else an allow would be a yes to whatever it is, a tool of some server
	 * perhaps. */
	if (answer->word == HOOK_SILENCE)
		return call->action == HOOK_OTHER ? json_object()
						  : json_pack("{s:s}", "permission", "allow");
	object = json_pack("{s:s}", "permission", words[answer->word]);
	if (answer->reason) {
		json_object_set_new(object, "user_message", json_string(answer->reason));
		json_object_set_new(object, "agent_message", json_string(answer->reason));
	}
	return object;
}

/* --- Windsurf: the exit code is the answer ---------------------------------------------------- */

static bool is_windsurf(json_t *object)
{
	return text(object, "agent_action_name");
}

static void read_windsurf(struct hook_call *call)
{
	json_t *info = json_object_get(call->object, "tool_info");

	call->event = text(call->object, "agent_action_name");
	call->session = text(call->object, "trajectory_id");
	call->turn = text(call->object, "execution_id");
	call->tool = call->event;
	call->cwd = text(info, "cwd");
	if (strcmp(call->event, "pre_run_command") == 0) {
		call->action = HOOK_SHELL;
		call->command = text(info, "command_line");
	} else if (strcmp(call->event, "pre_read_code") == 0 ||
		   strcmp(call->event, "pre_write_code") == 0) {
		call->action = call->event[4] == 'r' ? HOOK_READ : HOOK_WRITE;
		add_path(call, info, "file_path");
	}
}

static json_t *write_windsurf(const struct hook_call *call, const struct hook_answer *answer)
{
	(void)call;
	(void)answer;
	return json_object();
}

/* --- OpenCode: by ward's own plugin ----------------------------------------------------------- */

static const char *const opencode_shell[] = {"bash", NULL};
static const char *const opencode_reads[] = {"read", NULL};
static const char *const opencode_writes[] = {"edit", "multiedit", "write", NULL};
static const char *const opencode_patch[] = {"apply_patch", "patch", NULL};
static const char *const opencode_searches[] = {"grep", NULL};
static const struct tools opencode_tools = {opencode_shell, opencode_reads, opencode_writes,
					    opencode_patch, "command",	    opencode_searches};

static bool is_opencode(json_t *object)
{
	const char *event = text(object, "hook_event_name");

	return event && strcmp(event, "tool.execute.before") == 0;
}

static void read_opencode(struct hook_call *call)
{
	call->event = text(call->object, "hook_event_name");
	call->session = text(call->object, "sessionID");
	call->call_id = text(call->object, "callID");
	call->cwd = text(call->object, "cwd");
	call->tool = text(call->object, "tool");
	call->input = json_object_get(call->object, "args");
	read_tool(call, &opencode_tools);
}

static json_t *write_opencode(const struct hook_call *call, const struct hook_answer *answer)
{
	(void)call;
	if (answer->word == HOOK_DENY)
		return json_pack("{s:s}", "deny", answer->reason);
	if (answer->word == HOOK_ALLOW && answer->command)
		return json_pack("{s:s}", "command", answer->command);
	return json_object();
}

/* The first that knows it. */
const struct dialect hook_dialects[] = {
	{"codex", false, true, is_codex, read_codex, write_codex},
	{"claude-code", true, true, is_of_claude, read_claude_code, write_claude},
	{"gemini", false, true, is_gemini, read_gemini, write_gemini},
	{"opencode", false, true, is_opencode, read_opencode, write_opencode},
	{"cursor", true, false, is_cursor, read_cursor, write_cursor},
	{"windsurf", false, false, is_windsurf, read_windsurf, write_windsurf},
};
const size_t hook_dialect_count = ELEMENTS(hook_dialects);
