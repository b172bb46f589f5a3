# SPDX-License-Identifier: Apache-2.0
"""What real agents told their hooks (hooks/recorded), told to ward: it knows each, and answers so that each does as it should."""
import json

import pytest

from support import SOURCE
from test_hook_conversations import Answer

RECORDED = sorted((SOURCE / 'tests/end-to-end/hooks/recorded').glob('*.json'))
ASKS = ('ask', 'deny')


def shell_word(agent, version, mode):
    """What becomes of a command that may run."""
    if agent == 'codex':
        return 'none' if mode == 'workspace-write' else 'deny' if version == '0.128.0' else 'inside'
    return 'inside'


def wanted(recording, event):
    """The answer to an event: 'inside', or words of which one must come."""
    tool, given = event.get('tool_name') or event.get('tool'), event.get('tool_input') or event.get('args')
    shell = shell_word(recording['agent'], recording['version'], recording['mode'])
    text = json.dumps(given)
    if tool in ('Bash', 'run_shell_command', 'bash'):
        if '--level none' in text:
            return ['deny']
        return ASKS if '--force' in text else [shell]
    if '.git/hooks' in text or '.env' in text:
        return ASKS
    return ['none']


@pytest.mark.parametrize('path', RECORDED, ids=[path.stem for path in RECORDED])
def test_a_recording(plain, path):
    recording = json.loads(path.read_text())
    agent, version = recording['agent'], recording['version']
    words = {'{work}': plain.work, '{home}': plain.home, '{place}/bin/ward': plain.binary, '{place}': plain.place, '{dashed-work}': 'work'}
    plain.file('.env', 'SECRET=hidden\n')
    plain.file('src/main.c', 'int main(void) { return 1; }\n')
    plain.shell('git init -q -b main .')
    transcript = plain.file(plain.place / 'transcript', ''.join(json.dumps(line) + '\n' for line in recording['transcript']))
    env = {'AI_AGENT': f'claude-code_{version.replace(".", "-")}_harness'} if 'AI_AGENT' in recording['environment'] else {}
    judged = []
    for text in recording['told']:
        for word, name in words.items():
            text = text.replace(word, str(name))
        event = json.loads(text)
        if recording['transcript']:
            text = json.dumps({**event, 'transcript_path': str(transcript)})
        done = plain('hook', input=text, env=env)
        if event['hook_event_name'] not in ('PreToolUse', 'BeforeTool', 'tool.execute.before'):
            if event['hook_event_name'] != 'PermissionRequest':
                assert done.code == 0 and json.loads(done.out) == {}, (event, done)
            continue
        answer = Answer(agent, done, event)
        word = 'inside' if answer.word == 'allow' and answer.command.startswith(f'{plain.binary} run --unattended ') else answer.word
        assert word in wanted(recording, event), (event, vars(answer))
        assert word != 'deny' or answer.reason
        if mode_is_deaf(recording):
            assert word != 'ask', event
        judged.append(word)
    assert len(judged) >= 10 and len(set(judged)) > 1  # some refuse a step by themselves, before the hook


def mode_is_deaf(recording):
    """Nobody would see a question, or it would not stop the agent."""
    return recording['agent'] != 'claude' or recording['mode'] == 'bypassPermissions' or recording['version'] == '2.0.77'


def test_there_are_two_versions_of_each():
    versions = {(recording['agent'], recording['version']) for recording in (json.loads(path.read_text()) for path in RECORDED)}
    assert all(sum(name == agent for name, _ in versions) >= 2 for agent in ('claude', 'codex', 'gemini', 'opencode'))
