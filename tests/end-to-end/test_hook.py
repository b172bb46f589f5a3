# SPDX-License-Identifier: Apache-2.0
"""ward hook: each agent's own words in, each agent's own words out; and whatever goes wrong, the call is refused."""
import json
import os
import pathlib
import resource
import shlex
import signal
import subprocess
import time

import pytest

from support import Terminal, wait_until

CLAUDE = {'session_id': '5a1b', 'transcript_path': '/tmp/t.jsonl', 'permission_mode': 'default', 'hook_event_name': 'PreToolUse',
          'tool_name': 'Bash', 'tool_use_id': 'toolu_01', 'prompt_id': 'prompt-1'}
CODEX = {**CLAUDE, 'model': 'gpt', 'turn_id': 'turn-1', 'permission_mode': 'bypassPermissions'}
GEMINI = {'session_id': 'g1', 'hook_event_name': 'BeforeTool', 'tool_name': 'run_shell_command', 'transcript_path': ''}
OPENCODE = {'hook_event_name': 'tool.execute.before', 'tool': 'bash', 'sessionID': 'ses_1', 'callID': 'call_1'}


def codex_transcript(ward, version='0.166.0', sandbox='danger-full-access', **context):
    """What Codex writes of a session, as far as ward looks at it."""
    lines = [{'timestamp': '2026-01-01T00:00:00.000Z', 'type': 'session_meta', 'payload': {'id': '5a1b', 'cli_version': version}},
             {'timestamp': '2026-01-01T00:00:00.000Z', 'type': 'response_item', 'payload': {'text': '"type":"turn_context"'}},
             {'timestamp': '2026-01-01T00:00:00.000Z', 'type': 'turn_context', 'payload': {'sandbox_policy': {'type': sandbox}, **context}}]
    path = ward.place / 'rollout.jsonl'
    return ward.file(path, ''.join(json.dumps(line) + '\n' for line in lines)) or path


def hook(ward, event, code=0, **how):
    done = ward('hook', input=event if isinstance(event, (str, bytes)) else json.dumps(event), **how)
    assert done.code == code, done
    return json.loads(done.out) if done.out.strip() else None


def shell(ward, dialect, command):
    """The object for a command in a dialect, and where the new command stands in the answer."""
    cwd = str(ward.work)
    if dialect in ('claude', 'codex'):
        event = CLAUDE if dialect == 'claude' else {**CODEX, 'transcript_path': str(codex_transcript(ward))}
        return ({**event, 'cwd': cwd, 'tool_input': {'command': command, 'timeout': 5}},
                lambda answer: answer['hookSpecificOutput']['updatedInput']['command'])
    if dialect == 'gemini':
        return ({**GEMINI, 'cwd': cwd, 'tool_input': {'command': command, 'description': 'x'}},
                lambda answer: answer['hookSpecificOutput']['tool_input']['command'])
    return {**OPENCODE, 'cwd': cwd, 'args': {'command': command}}, lambda answer: answer['command']


def reason(dialect, answer):
    if dialect in ('claude', 'codex'):
        assert answer['hookSpecificOutput']['permissionDecision'] == 'deny'
        return answer['hookSpecificOutput']['permissionDecisionReason']
    if dialect == 'gemini':
        assert answer['decision'] == 'deny'
        return answer['reason']
    return answer['deny']


REWRITING = ['claude', 'codex', 'gemini', 'opencode']


@pytest.mark.parametrize('dialect', REWRITING)
def test_command_goes_on_inside_ward(ward, dialect):
    outside = ward.place / 'outside'
    event, command = shell(ward, dialect, f"echo \"it's\" > in; cat in; echo x > {outside}; printf '%s' '$HOME' \"a\nb\" | wc -l")
    answer = hook(ward, event)
    line = command(answer)
    done = ward('-c', line, program='/bin/sh')
    assert "it's" in done.out and (ward.work / 'in').exists() and not outside.exists()
    start = [record for record in ward.records() if record['kind'] == 'run.start'][-1]
    assert start['agent'] == {'claude': 'claude-code'}.get(dialect, dialect) and start['session'].startswith(start['agent'] + '-')
    if dialect == 'claude':
        assert answer['hookSpecificOutput']['permissionDecision'] == 'allow'
        assert answer['hookSpecificOutput']['updatedInput']['timeout'] == 5  # the rest of the input is kept


@pytest.mark.parametrize('dialect', REWRITING)
@pytest.mark.parametrize('text', ["'", '"', '\\', '$x `y` $(z)', '-n', 'é\u202e\u200b', '\t\r\n', ' ', '!!', '*?[a]{b,c}~', '#', '%s', "\x01\x7f"])
def test_quoting_survives(ward, dialect, text):
    event, command = shell(ward, dialect, "cat <<'END'\n" + text + '\nEND\n')
    done = ward('-c', command(hook(ward, event)), program='/bin/sh')
    assert done.raw_out == text.encode() + b'\n', done


@pytest.mark.parametrize('dialect', REWRITING)
@pytest.mark.parametrize('text', ['rm -rf /', ':(){ :|:& };:'])
def test_what_is_forbidden_is_denied(ward, dialect, text):
    event, _ = shell(ward, dialect, text)
    assert 'refused by ward' in reason(dialect, hook(ward, event))


def test_claude_asks_its_user_and_the_yes_counts_once(plain):
    plain.shell('git init -q . && git init -q --bare ../remote && git remote add origin ../remote && '
                'git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x')
    event, command = shell(plain, 'claude', 'git push --force origin HEAD')
    answer = hook(plain, event)
    output = answer['hookSpecificOutput']
    assert output['permissionDecision'] == 'ask' and 'others may already have' in output['permissionDecisionReason']
    line = command(answer)
    assert '--asked ' in line
    # Another command, by the same question, is not what was asked.
    other = plain('-c', line.replace('origin HEAD', 'origin HEAD:other'), program='/bin/sh')
    assert other.code == 126 and 'a person' in other.err, other
    line = command(hook(plain, event))
    first = plain('-c', line, program='/bin/sh')
    assert first.code != 126, first  # it ran; what it wanted of the remote is another matter
    answers = [record for record in plain.records() if record['kind'] == 'answer']
    assert answers[-1]['by'] == 'claude-code' and answers[-1]['scope'] == 'once'
    assert plain('-c', line, program='/bin/sh').code == 126  # used up


@pytest.mark.parametrize('mode', ['bypassPermissions', 'dontAsk'])
def test_where_nobody_looks_nobody_is_asked(plain, mode):
    event, _ = shell(plain, 'claude', 'git push --force')
    assert 'nobody can be asked' in reason('claude', hook(plain, {**event, 'permission_mode': mode}))


@pytest.mark.parametrize('agent', ['claude', 'gemini', 'opencode'])
def test_where_the_policy_waits_for_an_answer_the_question_is_put_there(plain, agent):
    plain.policy('wait: 10m\n')
    event, command = shell(plain, agent, 'git push --force')
    if agent == 'claude':
        event = {**event, 'permission_mode': 'dontAsk'}
    process = plain.popen('-c', command(hook(plain, event)), program='/bin/sh')
    assert wait_until(lambda: plain('pending', '--json').out)
    question = json.loads(plain('pending', '--json').out)
    assert question['ask']['command'] == 'git push --force' and question['ask']['agent']
    assert plain('deny', question['id'], '--reason', 'not today').code == 0
    done = plain.finish(process)
    assert done.code == 126 and 'not today' in done.err


@pytest.mark.parametrize('dialect', ['codex', 'gemini', 'opencode'])
def test_who_cannot_ask_is_told(plain, dialect):
    event, _ = shell(plain, dialect, 'git push --force')
    assert "needs a person's yes" in reason(dialect, hook(plain, event))


@pytest.mark.parametrize('mode', ['default', 'bypassPermissions'])  # that is whether it asks, and says nothing of its sandbox
@pytest.mark.parametrize('sandbox', ['workspace-write', 'read-only'])
def test_codex_with_a_sandbox_of_its_own_is_not_rewritten(plain, sandbox, mode):
    event, _ = shell(plain, 'codex', 'make')
    codex_transcript(plain, sandbox=sandbox, turn_id='turn-1')
    assert hook(plain, {**event, 'permission_mode': mode}) == {}
    event, _ = shell(plain, 'codex', 'git push --force')
    codex_transcript(plain, sandbox=sandbox, turn_id='turn-1')
    assert "needs a person's yes" in reason('codex', hook(plain, {**event, 'permission_mode': mode}))


@pytest.mark.parametrize('what', [{'version': '0.128.0'}, {'version': '0.130.9'}, {'version': 'x'}, {'sandbox': 'danger-full-access', 'version': None}])
def test_codex_that_takes_no_other_command_is_told_the_line(plain, what):
    """It would take the answer for a failure, and go on with the command as it was."""
    event, _ = shell(plain, 'codex', 'make')
    codex_transcript(plain, **what)
    line = reason('codex', hook(plain, event)).split('run it as: ')[1]
    assert shlex.split(line)[:2] == [plain.binary, 'run']
    assert hook(plain, {**event, 'tool_input': {'command': line}}) == {}
    assert 'run it as' in reason('codex', hook(plain, {**event, 'tool_input': {'command': line.replace(' --unattended', '')}}))


def test_codex_whose_sandbox_is_not_known_is_taken_to_have_none(plain):
    event, command = shell(plain, 'codex', 'make')
    codex_transcript(plain, sandbox='workspace-write', turn_id='turn-0')
    assert command(hook(plain, event))
    for transcript in (None, '/none', str(plain.work), 7):
        assert 'run it as' in reason('codex', hook(plain, {**event, 'transcript_path': transcript}))


@pytest.mark.parametrize('name, word', [('claude-code_2-1-325_harness', 'ask'), ('claude-code_2-1-110_harness', 'ask'), ('claude-code_2-1-77_harness', 'deny'),
                                        ('claude-code_1-9-999_x', 'deny'), ('claude-code_2-1', 'deny'), ('another_9-9-9_x', 'deny'), (None, 'deny')])
def test_a_claude_that_does_not_stop_to_ask_is_refused(plain, name, word):
    """Up to some 2.1.77 it lets go on what its own rules allow, whatever the hook asks."""
    plain.file('.env', 'x')
    event = {**{key: value for key, value in CLAUDE.items() if key != 'prompt_id'}, 'cwd': str(plain.work)}
    env = {'AI_AGENT': name} if name else {}
    for tool, given in (('Read', {'file_path': str(plain.work / '.env')}), ('Bash', {'command': 'git push --force'})):
        answer = hook(plain, {**event, 'tool_name': tool, 'tool_input': given}, env=env)
        assert answer['hookSpecificOutput']['permissionDecision'] == word
    assert hook(plain, {**event, 'hook_event_name': 'PermissionRequest', 'tool_input': {'command': 'git push --force'}}, env=env) == {}


@pytest.mark.parametrize('dialect', REWRITING)
def test_nothing_is_asked_at_a_terminal_that_the_agent_has_made(plain, dialect):
    """Its model may type there: Codex gives it a tool for that."""
    event, command = shell(plain, dialect, f'echo x > {plain.home}/evil; echo gone on')
    line = command(hook(plain, event))
    terminal = Terminal(plain, columns=200)
    plain.file('line', line)
    plain.file('attended', line.replace(' --unattended', ''))
    said = terminal.does('. ./line')
    assert 'gone on' in said and 'ward: refused: write' in said and not (plain.home / 'evil').exists()
    terminal.type('. ./attended', 'evil', 'for the session')  # a person is
    terminal.close()


def test_codex_gets_nothing_that_it_does_not_know(plain):
    event, _ = shell(plain, 'codex', 'make')
    output = hook(plain, event)['hookSpecificOutput']
    assert set(output) == {'hookEventName', 'permissionDecision', 'updatedInput'} and output['permissionDecision'] == 'allow'
    answer = hook(plain, {**event, 'hook_event_name': 'PermissionRequest', 'tool_input': {'command': 'rm -rf /'}})
    assert answer['hookSpecificOutput']['decision']['behavior'] == 'deny'


def test_cursor_asks_and_says_how(plain):
    event = {'conversation_id': 'c', 'generation_id': 'g', 'hook_event_name': 'beforeShellExecution', 'workspace_roots': [str(plain.work)],
             'command': 'make test', 'cwd': ''}
    answer = hook(plain, event)
    assert answer['permission'] == 'ask'
    suggested = answer['agent_message'].split('run it as: ')[1]
    assert hook(plain, {**event, 'command': suggested}) == {'permission': 'allow'}
    assert hook(plain, {**event, 'command': suggested + '; id'})['permission'] == 'ask'
    assert hook(plain, {**event, 'command': 'rm -rf /'})['permission'] == 'deny'
    plain.file('.env', 'x')
    read = {**event, 'hook_event_name': 'beforeReadFile', 'file_path': str(plain.work / '.env'), 'content': ''}
    assert hook(plain, read)['permission'] == 'ask'
    assert hook(plain, {**read, 'file_path': str(plain.work / 'a.c')}) == {'permission': 'allow'}


def test_windsurf_is_answered_by_the_exit_code(plain):
    event = {'agent_action_name': 'pre_run_command', 'trajectory_id': 't', 'tool_info': {'command_line': 'make', 'cwd': str(plain.work)}}
    done = plain('hook', input=json.dumps(event))
    assert done.code == 2 and 'run it as: ' in done.err
    suggested = done.err.strip().split('run it as: ')[1]
    hook(plain, {**event, 'tool_info': {'command_line': suggested, 'cwd': str(plain.work)}})


@pytest.mark.parametrize('command', ['ward run --level none -- id', 'true; ward run --write / -- id', 'ward grants revoke all',
                                     'ward policy trust .', 'env ward run --net full -c id', '/usr/bin/ward approve x',
                                     'ward init --remove --write'])
def test_ward_is_not_called_for_more(plain, command):
    event, _ = shell(plain, 'claude', command)
    assert 'ward is not to be called' in reason('claude', hook(plain, event))


def own(plain):
    return str(pathlib.Path(plain.binary).resolve())


@pytest.mark.parametrize('words', ["-c id --level none", "-c id --write /", "-c id -c id --net full", "-c id --env A=b", "-c", "--deny", "--asked x -c id"])
def test_flags_behind_the_script_count_too(plain, words):
    event, _ = shell(plain, 'claude', f'{own(plain)} run {words}')
    assert 'ward is not to be called' in reason('claude', hook(plain, event))


def test_a_limit_does_not_take_the_place_of_the_policys(plain):
    event, command = shell(plain, 'claude', f'{own(plain)} run --timeout 1h -c id')
    assert command(hook(plain, event)).endswith(' --timeout 1h -c id')
    plain.policy('sandbox:\n  limits: {time: 5s}\n')
    assert 'ward is not to be called' in reason('claude', hook(plain, event))


@pytest.mark.parametrize('text', ['for x in /tmp/evil; do {} run -c id; done', '{} run -c id', '{} run -c "id"', '{{ {} run -c id; }} # x'])
def test_the_shell_around_a_call_of_ward_has_no_word(plain, text):
    """It could give ward another home, and so another policy, or another directory to write in."""
    event, command = shell(plain, 'claude', text.format(own(plain)))
    plain.file('sub/x')
    for cwd in (plain.work, plain.work / 'sub', plain.home):
        line = shlex.split(command(hook(plain, {**event, 'cwd': str(cwd)})))
        assert line[:2] == [own(plain), 'run'] and line[-2:] == ['-c', 'id']
        assert line[line.index('--workspace') + 1] == str(plain.work) and line[line.index('--cwd') + 1] == str(cwd)
    # Where another command cannot be given, only ward's own line goes on.
    event = {'conversation_id': 'c', 'hook_event_name': 'beforeShellExecution', 'workspace_roots': [str(plain.work)], 'command': text.format(own(plain)), 'cwd': ''}
    answer = hook(plain, event)
    assert answer['permission'] == 'ask'
    assert hook(plain, {**event, 'command': answer['agent_message'].split('run it as: ')[1]}) == {'permission': 'allow'}


def test_another_program_called_ward_is_not_ward(plain):
    plain.file('ward', '#!/bin/sh\nid\n', 0o755)
    event, command = shell(plain, 'claude', './ward run -- id')
    assert ' run --unattended --agent ' in command(hook(plain, event))  # it goes inside like everything else


def test_a_change_of_directory_is_the_shells(plain):
    plain.file('sub/x')
    event, command = shell(plain, 'claude', 'cd sub')
    assert hook(plain, event)['hookSpecificOutput'] == {'hookEventName': 'PreToolUse', 'permissionDecision': 'allow'}
    # A shell that lives on would keep what stands around it.
    event, command = shell(plain, 'claude', 'for x in /tmp/evil; do cd "sub"; done')
    assert command(hook(plain, event)) == 'cd sub'


@pytest.mark.parametrize('text', ['for HOME in /tmp/evil; do {} run -c id; done', 'for HOME in /tmp/evil; do cd "sub"; done'])
def test_a_variable_that_programs_go_by_is_set_inside(plain, text):
    """By another home ward would find another policy: all of it goes into the sandbox."""
    plain.file('sub/x')
    text = text.format(own(plain))
    event, command = shell(plain, 'claude', text)
    line = shlex.split(command(hook(plain, event)))
    assert line[:2] == [own(plain), 'run'] and line[-2:] == ['-c', text]


def test_the_workspace_is_that_of_the_first_call(plain):
    plain.file('sub/x')
    event, command = shell(plain, 'claude', 'ls')
    assert f'--workspace {plain.work} ' in command(hook(plain, event))
    assert f'--workspace {plain.work} ' in command(hook(plain, {**event, 'cwd': str(plain.work / 'sub')}))
    assert f'--workspace {plain.work} ' in command(hook(plain, {**event, 'cwd': str(plain.home)}))


FILES = [
    ('Read', 'a.c', None), ('Read', '.env', 'ask'), ('Read', '/etc/passwd', None), ('Read', '/etc/shadow', 'ask'), ('Write', 'a.c', None), ('Edit', '/etc/motd', 'ask'),
    ('Write', '.git/hooks/pre-commit', 'ask'), ('Write', 'deep/.vscode/settings.json', 'ask'), ('MultiEdit', 'link/x', 'ask'),
    ('Write', 'loose', 'ask'), ('NotebookEdit', '~/x.ipynb', 'ask'), ('Edit', '../x', 'ask'), ('Read', '{state}/audit.log', 'deny'),
    ('Write', '{state}/x', 'deny'), ('Read', 'secret/x', 'deny'), ('Grep', '.env', 'ask'), ('Grep', 'secret', 'deny'), ('Grep', 'a.c', None), ('Grep', '', None),
]


@pytest.mark.parametrize('tool, path, word', FILES)
def test_files(plain, tool, path, word):
    plain.file('a.c'), plain.file('.env'), plain.file('secret/x')
    plain.policy('sandbox:\n  files:\n    deny: [secret/**]\n')
    (plain.work / 'link').symlink_to('/var')
    (plain.work / 'loose').symlink_to(plain.home / 'nothing')
    key = 'notebook_path' if 'Notebook' in tool else 'path' if tool == 'Grep' else 'file_path'
    answer = hook(plain, {**CLAUDE, 'cwd': str(plain.work), 'tool_name': tool, 'tool_input': {key: path.format(state=plain.state / 'ward')}})
    assert answer.get('hookSpecificOutput', {}).get('permissionDecision') == word, answer


def test_a_patch_names_its_files(plain):
    def patch(*lines):
        return {**CODEX, 'cwd': str(plain.work), 'tool_name': 'apply_patch', 'tool_input': {'command': '\n'.join(('*** Begin Patch', *lines, '*** End Patch'))}}
    assert hook(plain, patch('*** Update File: a.c', '@@', '-x', '+y')) == {}
    for lines in (['*** Add File: /etc/x', '+y'], ['*** Update File: a.c', '*** Move to: ../b.c'], ['*** Add File: a', '+x', '*** Delete File: .git/config']):
        assert hook(plain, patch(*lines))['hookSpecificOutput']['permissionDecision'] == 'deny'


def test_what_ward_has_no_word_about_is_left_alone(plain):
    for tool in ('WebSearch', 'Task', 'mcp__x__y', 'TodoWrite'):
        assert hook(plain, {**CLAUDE, 'cwd': str(plain.work), 'tool_name': tool, 'tool_input': {}}) == {}
    assert hook(plain, {**CLAUDE, 'cwd': str(plain.work), 'hook_event_name': 'PostToolUse', 'tool_input': {'command': 'rm -rf /'}}) == {}
    # Cursor would take an allow for a yes.
    for event in ('beforeMCPExecution', 'beforeSubmitPrompt', 'afterFileEdit'):
        assert hook(plain, {'conversation_id': 'c', 'workspace_roots': [str(plain.work)], 'hook_event_name': event, 'tool_name': 'x', 'command': 'y'}) == {}


BROKEN = ['', 'x', '[]', '{}', '{"hook_event_name": 1}', '{"hook_event_name":"PreToolUse"' + ' ' * 100, '{"hook_event_name":"PreToolUse","hook_event_name":"x"}',
          '\x00', '{"a":' * 3000, json.dumps({**CLAUDE, 'tool_input': {'command': 'a\x00b'}, 'cwd': '/'}),
          json.dumps({**CLAUDE, 'tool_input': {}, 'cwd': '/'}), json.dumps({**CLAUDE, 'tool_input': {'command': 5}, 'cwd': '/'}),
          json.dumps({**CLAUDE, 'tool_input': {'command': 'id'}}), json.dumps({**CLAUDE, 'tool_input': {'command': 'id'}, 'cwd': 'relative'}),
          json.dumps({**CLAUDE, 'tool_input': {'command': 'id'}, 'cwd': '/not/there'}), json.dumps({**CLAUDE, 'tool_name': 'Read', 'tool_input': {}, 'cwd': '/'}),
          '{"hook_event_name":"PreToolUse"}', json.dumps({**CLAUDE, 'tool_name': 5, 'tool_input': {'command': 'id'}, 'cwd': '/'}),
          '{"hook_event_name":"BeforeTool","cwd":"/"}', '{"hook_event_name":"PermissionRequest","cwd":"/"}', '{"hook_event_name":"tool.execute.before","cwd":"/"}']


@pytest.mark.parametrize('text', BROKEN)
def test_bad_input_is_refused(plain, text):
    done = plain('hook', input=text.encode())
    assert done.code == 2 and 'refused' in done.err, done


def test_too_much_is_refused(plain):
    done = plain('hook', input=json.dumps({**CLAUDE, 'cwd': '/', 'tool_input': {'command': 'x' * (9 << 20)}}))
    assert done.code == 2 and 'longer than' in done.err


def test_a_broken_policy_refuses(plain):
    plain.policy('sandbox: [\n')
    event, _ = shell(plain, 'claude', 'ls')
    done = plain('hook', input=json.dumps(event))
    assert done.code == 2 and 'ward.yaml' in done.err
    assert json.loads(done.out)['hookSpecificOutput']['permissionDecision'] == 'deny'


def test_a_state_that_cannot_be_written_refuses(plain):
    os.chown(plain.state, 0, 0) if os.geteuid() == 0 else plain.state.chmod(0o500)
    event, _ = shell(plain, 'claude', 'ls')
    assert plain('hook', input=json.dumps(event)).code == 2


def test_a_full_disk_refuses(plain):
    event, _ = shell(plain, 'claude', 'git push --force')
    done = plain('hook', input=json.dumps(event), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
    assert done.code == 2, done


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGABRT])
def test_an_end_in_the_middle_refuses(plain, number):
    process = plain.popen('hook', stdin=subprocess.PIPE)
    time.sleep(0.3)
    process.send_signal(number)
    assert process.wait(10) == 2
    process.stdin.close()


def test_refusals_and_questions_are_on_record(plain):
    for command in ('rm -rf /', 'git push --force', 'ls'):
        hook(plain, shell(plain, 'claude', command)[0])
    records = [(record['answer'], record['command']) for record in plain.records() if record['kind'] == 'hook']
    assert records == [('deny', 'rm -rf /'), ('ask', 'git push --force')]
    assert plain.verify().code == 0
