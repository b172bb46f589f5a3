# SPDX-License-Identifier: Apache-2.0
"""The agents: how each is fetched, told to use a model on loopback and a hook, started, and what its tools are called."""
import json

# The newest, and one whose hooks were younger; both are recorded.
VERSIONS = {'claude': ['2.1.325', '2.0.77'], 'codex': ['0.166.0', '0.128.0'], 'gemini': ['0.61.0', '0.27.4'], 'opencode': ['1.18.33', '1.2.27']}
PROMPT = 'Do the task.'


def patch(step):
    """In the form of `apply_patch`."""
    if step['do'] == 'write':
        body = [f'*** Add File: {step["path"]}', *('+' + line for line in step['content'].splitlines())]
    else:
        body = [f'*** Update File: {step["path"]}', '@@', *('-' + line for line in step['old'].splitlines()),
                *('+' + line for line in step['new'].splitlines())]
    return '\n'.join(['*** Begin Patch', *body, '*** End Patch', ''])


class Agent:
    """Of one version, in a directory where npm has put it."""

    def __init__(self, version, place):
        self.version, self.place = version, place
        self.program = place / 'node_modules' / '.bin' / self.name

    def may(self, mode, step):
        """Whether the agent's own rules permit a step of the task, where nobody is asked."""
        return True

    def goes_inside(self, mode):
        """Whether its commands run inside ward."""
        return True

    def is_left_alone(self, mode):
        """Whether its commands stay in a sandbox of its own, which knows no masks."""
        return False

    def does_alone(self, step):
        """Whether it does a step of the task without ward's line in place of the command."""
        return True

    def lacks(self, home):
        """What it should have kept for itself, and has not; else None."""
        return None

    def transcript(self, home):
        """What ward looks at of a transcript, as lines of JSON."""
        return ''


class Claude(Agent):
    name, title, package = 'claude', 'Claude Code', '@anthropic-ai/claude-code'
    modes = ['bypassPermissions', 'default', 'acceptEdits']
    events = ['PreToolUse', 'PostToolUse', 'SessionStart', 'UserPromptSubmit', 'Stop', 'SessionEnd', 'Notification', 'PermissionRequest']

    def variables(self, port):
        return {'ANTHROPIC_BASE_URL': f'http://127.0.0.1:{port}', 'ANTHROPIC_API_KEY': 'key', 'DISABLE_AUTOUPDATER': '1', 'DISABLE_TELEMETRY': '1',
                'CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC': '1'}

    def settle(self, home, work, port):
        (home / '.claude').mkdir(exist_ok=True)

    def hook(self, home, work, command):
        hooks = {event: [{'matcher': '*', 'hooks': [{'type': 'command', 'command': command, 'timeout': 60}]}] for event in self.events}
        (work / '.claude').mkdir()
        (work / '.claude/settings.json').write_text(json.dumps({'hooks': hooks}))

    def may(self, mode, step):
        # A command goes on because ward allows it; ward has no word about a file that the policy permits.
        return mode != 'default' or step['do'] in ('shell', 'read')

    def words(self, mode):
        # In the last mode everything is allowed by the user's own rules: what ward would ask about must not go on because of them.
        allowed = ['--allowedTools', 'Bash,Edit,Write,Read'] if mode == 'acceptEdits' else []
        return ['-p', PROMPT, '--permission-mode', mode, '--model', 'claude-sonnet-4-5', *allowed]

    def translate(self, step, tools):
        if step['do'] == 'shell':
            return 'Bash', {'command': step['command'], 'description': step['step']}
        if step['do'] == 'read':
            return 'Read', {'file_path': step['path']}
        if step['do'] == 'write':
            return 'Write', {'file_path': step['path'], 'content': step['content']}
        return 'Edit', {'file_path': step['path'], 'old_string': step['old'], 'new_string': step['new']}


class Codex(Agent):
    name, title, package = 'codex', 'Codex', '@openai/codex'
    modes = ['danger-full-access', 'workspace-write']
    events = ['PreToolUse', 'PostToolUse', 'SessionStart', 'UserPromptSubmit', 'Stop', 'PermissionRequest']

    def variables(self, port):
        return {'OPENAI_API_KEY': 'key'}

    def settle(self, home, work, port):
        (home / '.codex').mkdir(exist_ok=True)
        (home / '.codex/config.toml').write_text(f'''model = "{'gpt-5.2' if self.is_old() else 'gpt-5.5'}"
model_provider = "here"
[model_providers.here]
name = "here"
base_url = "http://127.0.0.1:{port}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
[features]
{'codex_hooks' if self.is_old() else 'hooks'} = true
[projects."{work}"]
trust_level = "trusted"
''')

    def hook(self, home, work, command):
        hooks = {event: [{'matcher': '*', 'hooks': [{'type': 'command', 'command': command, 'timeout': 60}]}] for event in self.events}
        (work / '.codex').mkdir()
        (work / '.codex/hooks.json').write_text(json.dumps({'hooks': hooks}))

    def words(self, mode):
        # Since there is trust in hooks, a person gives it at a terminal.
        return ['exec', '--skip-git-repo-check', '--sandbox', mode, *([] if self.is_old() else ['--dangerously-bypass-hook-trust']), PROMPT]

    def goes_inside(self, mode):
        return mode == 'danger-full-access' and not self.is_old()

    def is_left_alone(self, mode):
        return mode == 'workspace-write'

    def transcript(self, home):
        kept = {'session_meta': ['cli_version'], 'turn_context': ['turn_id', 'approval_policy', 'sandbox_policy']}
        lines = [json.loads(line) for file in home.glob('.codex/sessions/**/*.jsonl') for line in file.read_text().splitlines()]
        return ''.join(json.dumps({'timestamp': line['timestamp'], 'type': line['type'], 'payload': {key: line['payload'][key] for key in kept[line['type']]}})
                       + '\n' for line in lines if line['type'] in kept)

    def may(self, mode, step):
        # Before 0.131 a command cannot be changed: it is refused, with the line to use.
        return mode != 'danger-full-access' or not self.is_old() or step['do'] != 'shell'

    def is_old(self):
        return self.version == '0.128.0'

    def translate(self, step, tools):
        if step['do'] in ('edit', 'write') and 'apply_patch' in tools:
            return 'apply_patch', patch(step) if tools['apply_patch'] is None else {'input': patch(step)}
        command = {'shell': step.get('command'), 'read': f'cat {step.get("path")}'}[step['do']]
        if 'exec_command' in tools:
            return 'exec_command', {'cmd': command}
        if 'shell_command' in tools:
            return 'shell_command', {'command': command}
        return 'shell', {'command': ['bash', '-lc', command]} if tools['shell'] is not None else None


class Gemini(Agent):
    name, title, package = 'gemini', 'Gemini CLI', '@google/gemini-cli'
    modes = ['yolo']
    events = ['BeforeTool', 'AfterTool', 'SessionStart', 'SessionEnd', 'BeforeAgent', 'AfterAgent', 'Notification']

    def variables(self, port):
        return {'GOOGLE_GEMINI_BASE_URL': f'http://127.0.0.1:{port}', 'GEMINI_API_KEY': 'key', 'GEMINI_CLI_TRUST_WORKSPACE': 'true'}

    def settle(self, home, work, port):
        (home / '.gemini').mkdir(exist_ok=True)
        (home / '.gemini/settings.json').write_text(json.dumps({
            'security': {'auth': {'selectedType': 'gemini-api-key'}}, 'privacy': {'usageStatisticsEnabled': False},
            'general': {'enableAutoUpdate': False, 'disableAutoUpdate': True}, 'tools': {'enableHooks': True}}))

    def does_alone(self, step):
        return step['step'] != 'it quotes' or self.version != '0.61.0'  # it refuses backticks, however they are quoted

    def hook(self, home, work, command):
        hooks = {event: [{'matcher': '*', 'hooks': [{'type': 'command', 'command': command, 'timeout': 60000}]}] for event in self.events}
        (work / '.gemini').mkdir()
        (work / '.gemini/settings.json').write_text(json.dumps({'hooks': hooks}))

    def words(self, mode):
        return ['-p', PROMPT, '--approval-mode', mode, '-m', 'gemini-2.5-flash']

    def translate(self, step, tools):
        if step['do'] == 'shell':
            return 'run_shell_command', {'command': step['command'], 'description': step['step']}
        if step['do'] == 'read':
            return 'read_file', {'file_path' if 'file_path' in tools['read_file'] else 'absolute_path': step['path']}
        if step['do'] == 'write':
            return 'write_file', {'file_path': step['path'], 'content': step['content']}
        return 'replace', {'file_path': step['path'], 'instruction': step['step'], 'old_string': step['old'], 'new_string': step['new']}


class OpenCode(Agent):
    name, title, package = 'opencode', 'OpenCode', 'opencode-ai'
    modes = ['gpt-5', 'small']  # the models: those of the second kind are given apply_patch in place of edit and write
    events = ['tool.execute.before']

    def variables(self, port):
        return {'OPENCODE_DISABLE_AUTOUPDATE': '1', 'OPENCODE_DISABLE_MODELS_FETCH': '1', 'OPENCODE_DISABLE_LSP_DOWNLOAD': '1'}

    def settle(self, home, work, port):
        (home / '.config/opencode').mkdir(parents=True, exist_ok=True)
        (home / '.config/opencode/opencode.json').write_text(json.dumps({
            '$schema': 'https://opencode.ai/config.json',  # else it writes it there
            'permission': {tool: 'allow' for tool in ('bash', 'edit', 'read', 'external_directory')},
            'provider': {'here': {'npm': '@ai-sdk/openai-compatible', 'name': 'here',
                                  'options': {'baseURL': f'http://127.0.0.1:{port}/v1', 'apiKey': 'key'},
                                  'models': {model: {'name': model} for model in self.modes}}}}))

    def hook(self, home, work, command):
        """A plugin in the way of ward's, that tells the recorder."""
        (work / '.opencode/plugin').mkdir(parents=True)
        (work / '.opencode/plugin/recorder.js').write_text(f'''
import {{ execSync }} from "node:child_process"
import {{ resolve }} from "node:path"
export const Recorder = async ({{ directory }}) => ({{
  "tool.execute.before": async (input, output) => {{
    execSync({json.dumps(command)}, {{ input: JSON.stringify({{ hook_event_name: "tool.execute.before", tool: input.tool, sessionID: input.sessionID,
      callID: input.callID, args: output.args, cwd: resolve(directory, (input.tool === "bash" && output.args?.workdir) || ".") }}) }})
  }},
}})
''')

    def lacks(self, home):
        return None if any(home.glob('.local/share/opencode/snapshot/**/objects/??/*')) else 'snapshots'

    def words(self, mode):
        return ['run', '-m', f'here/{mode}', PROMPT]

    def translate(self, step, tools):
        if step['do'] in ('edit', 'write') and 'apply_patch' in tools:
            return 'apply_patch', {'patchText': patch(step)}
        if step['do'] == 'shell':
            return 'bash', {'command': step['command'], 'description': step['step']}
        if step['do'] == 'read':
            return 'read', {'filePath': step['path']}
        if step['do'] == 'write':
            return 'write', {'filePath': step['path'], 'content': step['content']}
        return 'edit', {'filePath': step['path'], 'oldString': step['old'], 'newString': step['new']}


AGENTS = {agent.name: agent for agent in (Claude, Codex, Gemini, OpenCode)}
