# SPDX-License-Identifier: Apache-2.0
"""Programs of the policy that are told of events: what they get, and that none of them harms a run."""
import json
import os

import pytest

from support import wait_until
from test_event_stream import CHECK, events, hold_against, kinds


@pytest.fixture
def program(ward):
    """A script outside of what commands can write to, as the one that is told."""
    def make(text, name='listener'):
        return ward.file(ward.home / name, f'#!/bin/sh\n{text}\n', 0o700)
    return make


def tell(ward, path, more='', words=()):
    program = ', '.join(f'"{word}"' for word in (path, *words))
    ward.policy(f'events:\n  - program: [{program}]\n{more}rules: [{{command: "printf **", do: ask, why: the test}}]\n')


def failures(ward):
    return [e for e in events(ward) if e['kind'] == 'events.failed']


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_program_gets_every_event_of_the_run(ward, program):
    out = ward.home / 'told'
    tell(ward, program(f'cat > {out}.part; mv {out}.part {out}'))
    result = ward.result('--agent', 'robot', '-c', 'echo x > /usr/ward-a; exit 3')
    assert wait_until(out.exists)
    told = read(out)
    for event in told:
        CHECK.validate(event)
    hold_against(told, {key: value for key, value in result.items() if key != 'status'})
    assert told == events(ward) and not failures(ward)


def test_it_is_told_as_things_happen(ward, program):
    out = ward.home / 'told'
    tell(ward, program(f'cat > {out}'))
    process = ward.popen('run', '--wait', '10m', '--', 'printf', 'x')
    assert wait_until(lambda: kinds(read(out)) == ['assessed', 'verdict', 'asked'])
    assert process.poll() is None and wait_until(lambda: ward('pending', '--json').out)
    assert ward('deny', json.loads(ward('pending', '--json').out)['id']).code == 0
    ward.finish(process)
    assert wait_until(lambda: kinds(read(out))[-1] == 'ended')


def test_kinds_and_agents_are_picked(ward, program):
    out = ward.home / 'told'
    tell(ward, program(f'cat >> {out}'), '    kinds: [denial, ended]\n    agents: ["claude*"]\n')
    ward.sh('echo x > /usr/ward-a', '--agent', 'other')
    ward.sh('echo x > /usr/ward-a')
    ward.sh('echo x > /usr/ward-a', '--agent', 'claude-1')
    assert wait_until(lambda: kinds(read(out)) == ['denial', 'ended'])
    assert {e['agent'] for e in read(out)} == {'claude-1'}


@pytest.mark.parametrize('text, why', [
    ('exit 7', 'it ended before it had taken everything'),
    ('kill -9 $$', 'it ended before it had taken everything'),
    ('exec sleep 600', 'it did not end in time'),
    ('cat > /dev/null; exec sleep 600', 'it did not end in time'),
], ids=['exits', 'dies', 'ignores', 'lingers'])
def test_one_that_fails_harms_no_run_and_is_said(ward, program, text, why):
    mark = ward.home / 'pid'
    tell(ward, program(f'echo $$ > {mark}; {text}'), '    timeout: 1s\n')
    # More than a pipe holds.
    result = ward.result('-c', 'for i in $(seq 300); do echo x > /usr/ward-$i-' + 'x' * 200 + '; done; echo done')
    assert result['stdout'] == 'done\n' and result['exit_code'] == 0
    assert wait_until(lambda: failures(ward))
    failed, = failures(ward)
    assert failed['why'] in (why, 'it did not take everything in time') and failed['run'] == result['run']
    assert wait_until(lambda: not os.path.exists(f'/proc/{mark.read_text().strip()}'))


def test_one_that_cannot_be_started_is_said(ward, program):
    tell(ward, ward.file(ward.home / 'broken', '#!/no/such/interpreter\n', 0o700))
    assert ward.run('true').code == 0
    assert wait_until(lambda: failures(ward))
    assert 'cannot be started' in failures(ward)[0]['why'] and failures(ward)[0]['after'] is None


def test_a_killed_run_is_told_to_the_end(ward, program):
    out = ward.home / 'told'
    tell(ward, program(f'cat > {out}'))
    process = ward.popen('run', '--', 'sleep', '600')
    assert wait_until(lambda: 'attempt.started' in kinds(read(out)))
    process.kill()
    process.communicate()
    assert wait_until(lambda: kinds(read(out))[-1] == 'ended')
    assert read(out)[-1]['how'] == 'killed'


def test_it_has_nothing_of_the_runs_and_is_out_of_reach(ward, program):
    out = ward.home / 'told'
    tell(ward, program(f'{{ ls -l /proc/self/fd; id -u; pwd; readlink /proc/self/ns/net; tty; }} > {out}.part 2>&1; cat > /dev/null; mv {out}.part {out}'))
    done = ward.sh('readlink /proc/self/ns/net; ls /proc', stdin=None)
    assert wait_until(out.exists)
    text = out.read_text()
    assert f'\n{ward.person.uid}\n/\n' in text and 'not a tty' in text
    links = [line.split(' -> ')[1] for line in text.splitlines() if ' -> ' in line]
    assert all(link.startswith(('pipe:', '/dev/null', '/proc/', str(out))) for link in links), links
    assert done.out.splitlines()[0] not in text


def test_a_project_names_none(ward, program):
    out = ward.home / 'told'
    path = program(f'cat > {out}')
    ward.file('.ward.yaml', f'events: [{{program: [{path}]}}]\n')
    assert 'ignored: programs for events' in ward('policy', 'check').out + ward('policy', 'check').err
    assert ward.run('true').code == 0 and ward('policy', 'trust').code == 0
    assert ward.run('true').code == 0
    assert not failures(ward) and not out.exists()


@pytest.mark.parametrize('where', ['workspace', 'argument', 'writable', 'missing', 'flag', 'policy', 'profile', 'rule', 'directory'])
def test_what_a_command_could_change_is_not_started(ward, program, where):
    mark = ward.home / 'mark'
    path, words = program(f'echo x > {mark}'), ()
    if where == 'workspace':
        path = ward.file('listener', f'#!/bin/sh\necho x > {mark}\n', 0o700)
    if where == 'argument':
        path, words = '/bin/sh', (ward.file('listener', f'echo x > {mark}\n'),)
    if where == 'writable':
        path.chmod(0o722)
    if where == 'missing':
        path = ward.home / 'nobody'
    more, flags = '', []
    if where == 'flag':
        flags = ['--write', str(ward.home)]
    if where == 'policy':
        more = f'sandbox: {{files: {{write: ["{path}"]}}}}\n'
    if where == 'profile':
        more = f'profiles: {{other: {{files: {{write: ["{path}"]}}}}}}\n'
    if where == 'rule':
        more = f'rules: [{{command: "cp **", do: allow, why: the test, permissions: ["write {path}"]}}]\n'
    if where == 'directory':
        path.parent.chmod(0o777)
    if more:
        ward.policy(f'events: [{{program: ["{path}"]}}]\n{more}')
    else:
        tell(ward, path, words=words)
    result = ward.result(*flags, '--', 'true')
    assert any('is told of no events' in warning for warning in result['sandbox_warnings'])
    assert ward('events').code == 0 and not mark.exists()


@pytest.mark.parametrize('text, error', [
    ('events: [{program: [notify]}]', 'absolute path'),
    ('events: [{program: /usr/bin/notify}]', 'a list'),
    ('events: [{kinds: [asked]}]', 'without a program'),
    ('events: [{program: [/bin/cat], timeout: 1h}]', '100ms to 5m'),
    ('events: [{program: [/bin/cat], shell: yes}]', 'shell'),
    ('events: {program: [/bin/cat]}', 'a list'),
])
def test_a_policy_that_is_wrong_is_refused(ward, text, error):
    ward.policy(text + '\n')
    done = ward.run('true')
    assert done.code == 125 and error in done.err and 'ward.yaml:1' in done.err, done


def test_it_is_shown_as_it_is_read(ward, program):
    tell(ward, program('cat'), '    kinds: [asked]\n    agents: [robot]\n    timeout: 3s\n')
    shown = ward('policy', 'show').out
    assert 'kinds: [' in shown and 'timeout: 3' in shown
    entry, = json.loads(ward('policy', 'show', '--json').out)['events']
    assert entry['kinds'] == ['asked'] and entry['agents'] == ['robot'] and entry['timeout_ms'] == 3000
    ward.policy(shown)
    entries = [text.split('events:')[1].split('rules:')[0] for text in (shown, ward('policy', 'show').out)]
    assert entries[0] == entries[1]
