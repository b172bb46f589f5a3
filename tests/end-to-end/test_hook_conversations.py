# SPDX-License-Identifier: Apache-2.0
"""Whole conversations of each agent with its hook (hooks/AGENT.json), and a host that does as the hook says, in its own dialect: what
may happen has happened after each step, what may not has not."""
import json
import shlex

import pytest

from support import SOURCE
from test_hook import codex_transcript

AGENTS = ['claude', 'codex', 'gemini', 'opencode', 'cursor', 'windsurf']
NAMES = {'claude': 'claude-code'}
MAKEFILE = '''all: program
program: src/main.c
\tcc -o program src/main.c
test: program
\t./program && echo passed
evil:
\techo evil > {home}/evil
'''


class Answer:
    """What an agent understands of a hook's answer: go on, with which command; ask its user; refuse; or nothing."""

    def __init__(self, agent, done, event):
        said = json.loads(done.out) if done.out.strip() else {}
        self.reason, self.command = None, None
        if agent in ('claude', 'codex'):
            assert done.code == 0 and set(said) <= {'hookSpecificOutput'}, done
            output = said.get('hookSpecificOutput', {})
            self.word = output.get('permissionDecision', 'none')
            self.reason = output.get('permissionDecisionReason')
            self.command = output.get('updatedInput', {}).get('command')
            assert not output or output['hookEventName'] == event['hook_event_name']
            if agent == 'codex':  # where anything else is an error, and an error lets it go on
                assert self.word in ('none', 'deny', 'allow') and (self.word != 'allow' or self.command) and (self.word != 'deny' or self.reason)
                assert set(output) <= {'hookEventName', 'permissionDecision', 'permissionDecisionReason', 'updatedInput'}
        elif agent == 'gemini':
            assert done.code == 0
            self.word, self.reason = said.get('decision', 'none'), said.get('reason')
            self.command = said.get('hookSpecificOutput', {}).get('tool_input', {}).get('command')
        elif agent == 'opencode':
            assert done.code == 0
            self.word = 'deny' if 'deny' in said else 'allow' if 'command' in said else 'none'
            self.reason, self.command = said.get('deny'), said.get('command')
        elif agent == 'cursor':
            assert done.code == 0
            self.word, self.reason = said.get('permission', 'none'), said.get('agent_message')
        else:
            self.word, self.reason = {0: 'none', 2: 'deny'}[done.code], done.err.strip()
        if self.command:
            assert self.command != (event.get('tool_input') or event.get('args'))['command']


class Host:
    """An agent's program: tells the hook what it is about to do, and then does it or not."""

    def __init__(self, agent, ward):
        self.agent, self.ward = agent, ward
        self.shared = ward.place / 'shared'
        self.shared.mkdir()
        ward.person.own(self.shared)
        self.words = {'{work}': str(ward.work), '{home}': str(ward.home), '{ward}': ward.binary, '{shared}': str(self.shared),
                      '{transcript}': str(codex_transcript(ward))}
        self.ran = []

    def fill(self, value):
        if isinstance(value, str):
            for word, text in self.words.items():
                value = value.replace(word, text)
        elif isinstance(value, dict):
            return {key: self.fill(part) for key, part in value.items()}
        elif isinstance(value, list):
            return list(map(self.fill, value))
        return value

    def tell(self, event):
        return Answer(self.agent, self.ward('hook', input=json.dumps(event)), event)

    def run(self, command):
        """In the agent's shell."""
        self.ran.append(command)
        return self.ward('-c', command, program='/bin/sh')

    def suggested(self, event, answer):
        """The agent is told the line that goes into ward, and takes it: now the hook lets it go on as it is."""
        line = answer.reason.split('run it as: ')[1]
        key = 'command' if self.agent == 'cursor' else 'tool_info'
        again = {**event, key: line if self.agent == 'cursor' else {**event['tool_info'], 'command_line': line}}
        answer = self.tell(again)
        assert answer.word in ('allow', 'none') and not answer.command
        return self.run(line)

    def step(self, step):
        """What the hook said, and what became of the command; None where there was none."""
        event = self.fill(step['event'])
        answer = self.tell(event)
        word, command = step['word'], self.fill(step.get('command'))
        if word == 'suggest':
            assert answer.word == ('ask' if self.agent == 'cursor' else 'deny') and 'run it as: ' in answer.reason, step
            return answer, self.suggested(event, answer)
        if word == 'inside':
            assert answer.word == 'allow' and shlex.split(answer.command)[:2] == [self.ward.binary, 'run'], (step, vars(answer))
            return answer, self.run(answer.command)
        assert answer.word == word, (step, vars(answer))
        if word in ('ask', 'deny'):
            assert answer.reason
        goes_on = word in ('none', 'allow') or (word == 'ask' and step['user'] == 'yes')
        if goes_on and command:
            return answer, self.run(answer.command or command)
        if goes_on and 'path' in step:  # the agent's own tool
            with open(self.fill(step['path']), 'a') as file:
                file.write('\n')
        return answer, None


@pytest.fixture
def repository(plain):
    plain.file('src/main.c', 'int main(void) { return 0; }\n')
    plain.file('Makefile', MAKEFILE.replace('{home}', str(plain.home)))
    plain.file('.env', 'SECRET=hidden\n')
    done = plain.shell('git init -q -b main . && git init -q --bare remote.git && git remote add origin remote.git && git add src Makefile && '
                       'git -c user.name=a -c user.email=a@b commit -q -m x')
    assert done.code == 0, done
    return plain


def check(host, step, answer, done):
    """What must hold after each step, whoever talks."""
    ward, name = host.ward, step['step']
    pushed = ward.shell('git -C remote.git rev-parse -q --verify main').code == 0
    assert not (ward.home / 'evil').exists() and not (ward.home / '.bashrc').exists()
    assert not (ward.work / '.git/hooks/pre-commit').exists()
    assert (ward.work / 'src/main.c').exists()
    if name == 'it builds':
        assert done.code == 0 and (ward.work / 'program').exists(), done
    elif name == 'it tests':
        assert done.code == 0 and 'passed' in done.out, done
    elif name == 'a test writes outside':
        assert done.code != 0 and 'evil' in done.err, done
    elif name == 'it reads the secret by a shell':
        assert done.code != 0 and 'hidden' not in done.out, done
    elif name == 'it needs a directory':
        assert done.code != 0 and not (host.shared / 'out').exists() and '--write' in done.err, done
    elif name == 'it has the directory':
        assert done.code == 0 and (host.shared / 'out').read_text() == 'x\n', done
    elif name == 'it pushes with force':
        if step['word'] == 'ask':
            assert done.code == 0 and pushed, done
        elif step['word'] == 'suggest':
            assert done.code == 126 and not pushed, done  # in ward nobody can be asked
        else:
            assert not pushed and "a person's yes" in answer.reason


@pytest.mark.parametrize('agent', AGENTS)
def test_a_conversation(repository, agent):
    conversation = json.loads((SOURCE / 'tests/end-to-end/hooks' / f'{agent}.json').read_text())
    host = Host(agent, repository)
    assert len(conversation['steps']) > 15
    for step in conversation['steps']:
        if 'policy' in step:
            repository.policy(host.fill(step['policy']))
            continue
        answer, done = host.step(step)
        check(host, step, answer, done)
    records = repository.records()
    runs = [record for record in records if record['kind'] == 'run.start']
    name = NAMES.get(agent, agent)
    assert runs and {run['agent'] for run in runs} == {name} and len({run['session'] for run in runs}) == 1
    assert {run['workspace'] for run in runs} == {str(repository.work)}
    refused = [record for record in records if record['kind'] == 'hook' and record['answer'] in ('deny', 'ask')]
    wanted = [step for step in conversation['steps'] if step.get('word') in ('deny', 'ask', 'suggest')]
    assert len(refused) == len(wanted)
    inside = [step for step in conversation['steps'] if step.get('word') in ('inside', 'suggest') or step.get('user') == 'yes']
    assert len(runs) == len(inside)
    assert repository.verify().code == 0


@pytest.mark.parametrize('event', ['SessionStart', 'SessionEnd', 'UserPromptSubmit', 'Stop', 'SubagentStop', 'PreCompact', 'Notification', 'BeforeAgent',
                                   'AfterModel'])
def test_what_is_about_no_tool_is_answered_with_no_word(plain, event):
    """Whatever else the object holds: only a tool's event is judged, and only that can be let through."""
    done = plain('hook', input=json.dumps({'hook_event_name': event, 'session_id': 's', 'cwd': str(plain.work), 'tool_name': 'Bash',
                                           'tool_input': {'command': 'rm -rf /'}}))
    assert done.code == 0 and json.loads(done.out) == {}


def test_every_event_of_a_tool_is_judged_in_any_order_of_its_keys(plain):
    for order in (1, -1):
        event = dict(list({'tool_input': {'command': 'rm -rf /'}, 'tool_name': 'Bash', 'cwd': str(plain.work), 'hook_event_name': 'PreToolUse',
                           'session_id': 's'}.items())[::order])
        assert json.loads(plain('hook', input=json.dumps(event)).out)['hookSpecificOutput']['permissionDecision'] == 'deny'
