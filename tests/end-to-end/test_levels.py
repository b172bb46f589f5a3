# SPDX-License-Identifier: Apache-2.0
"""From one level to the next: restricted, container, without the sandbox. Each is a permission of its own, and the policy says how far it goes."""
import json
import shutil
import subprocess

import pytest

from support import Terminal, wait_until
from test_asking import asked, press
from test_defer import kept
from test_pending import pending, start, waits
from test_serve import call, serve

needs_crun = pytest.mark.skipif(not shutil.which('crun'), reason='needs crun')


@pytest.fixture
def outside(ward):
    path = ward.place / 'outside'
    path.mkdir()
    ward.person.own(path)
    return path


@pytest.fixture
def hooks(ward):
    """Refused in the sandbox and in a container alike, and asked about when the command has failed."""
    return ward.file('.git/hooks/pre-commit', '').parent


def waits_for_another(ward, before):
    """The question after that one."""
    found = []
    assert wait_until(lambda: found.append(pending(ward)) or (len(found[-1]) == 1 and found[-1][0]['id'] != before['id']))
    return found[-1][0]


def described(ward, root, more=''):
    ward.policy(f'sandbox:\n  container: {{rootfs: {root}}}\n{more}')


@needs_crun
def test_after_a_refusal_the_container_comes_first_and_then_none(ward, root, hooks):
    described(ward, root)
    process = start(ward, f'cat /etc/os-release; mkfifo {hooks}/f; echo over; exit 3', '--json')
    question, = waits(ward)
    ask = question['ask']
    assert ask['grants'][0].startswith(f'write {hooks}')
    assert [extent['grants'] for extent in ask['extents']] == [ask['grants'], ['container']] and 'approve unsandboxed' not in ask['choices'], ask
    assert ward('approve', question['id'], '--unsandboxed').code != 0
    assert ward('approve', question['id'], '--extent', '1').code == 0
    again = waits_for_another(ward, question)
    assert 'approve unsandboxed' in again['ask']['choices'] and 'extents' not in again['ask'] and again['ask']['grants'] == ask['grants'], again
    assert ward('deny', again['id']).code == 0
    result = json.loads(ward.finish(process).out)
    assert [attempt['level'] for attempt in result['attempts']] == ['restricted', 'container'] and result['stdout'] == 'NAME=small\nover\n', result
    assert not (hooks / 'f').exists(), 'the container gives nothing of what was missing'
    retry, = [record for record in ward.records() if record['kind'] == 'run.retry']
    assert retry['level'] == 'container' and retry['grants'] == ['container'], retry
    assert ward.verify().code == 0


@needs_crun
def test_a_yes_for_the_session_is_to_the_container(ward, root, hooks):
    described(ward, root)
    script = f'mkfifo {hooks}/f; exit 1'
    process = start(ward, script, '--session', 's')
    question, = waits(ward)
    assert ward('approve', question['id'], '--extent', '1', '--scope', 'session').code == 0
    assert ward('deny', waits_for_another(ward, question)['id']).code == 0
    ward.finish(process)
    assert ward.result('--session', 's', '--', 'sh', '-c', script)['attempts'][0]['level'] == 'container'
    assert ward.result('--session', 's', '--', 'sh', '-c', 'exit 1')['attempts'][0]['level'] == 'restricted', 'another command'


@needs_crun
def test_a_person_at_the_terminal_chooses_it(ward, root, hooks):
    described(ward, root)
    desk = Terminal(ward)
    try:
        desk.sendline(f'ward run -- sh -c "cat /etc/os-release; mkfifo {hooks}/f; exit 3"')
        assert 'without the sandbox' not in asked(desk, 'retry with what it was refused?', '[w] wider: in a container')
        press(desk, 'w')
        shown = asked(desk, '[o] narrower: what it was refused')
        assert 'yes gives' in shown and 'A container, with the root that the policy names' in shown, shown
        press(desk, 'y')
        desk.expect_exact('retrying command in a container')
        desk.expect_exact('NAME=small')
        asked(desk, 'without the sandbox')
        press(desk, 'n')
        desk.ready()
    finally:
        desk.close(force=True)


@needs_crun
def test_an_answer_that_comes_later_may_be_to_the_container(ward, root, hooks):
    described(ward, root)
    process = start(ward, f'cat /etc/os-release; mkfifo {hooks}/f; exit 3', '--json')
    question, = waits(ward)
    assert ward('defer', question['id']).code == 0
    ticket = json.loads(ward.finish(process).out)['ticket']
    standing = kept(ward, ticket)
    assert standing['ask']['extents'][1]['grants'] == ['container'], standing
    assert ward('approve', standing['id'], '--extent', '1').code == 0
    assert ward('deny', waits_for_another(ward, standing)['id']).code == 0
    done = ward('wait', ticket, '--json')
    result = json.loads(done.out)
    result = result.get('result', result)
    assert [attempt['level'] for attempt in result['attempts']] == ['container'] and result['stdout'] == 'NAME=small\n', done


@pytest.mark.parametrize('escalation, offered', [('none', False), ('container', False), ('unsandboxed', True)])
def test_the_policy_says_how_far_a_yes_goes(ward, outside, escalation, offered):
    ward.policy(f'sandbox: {{escalation: {escalation}}}\n')
    process = start(ward, f'mkfifo {outside}/f')
    question, = waits(ward)
    assert ('approve unsandboxed' in question['ask']['choices']) == offered and 'extents' not in question['ask']
    assert ward('deny', question['id']).code == 0
    ward.finish(process)


def test_nobody_is_asked_for_what_the_policy_excludes(ward):
    ward.policy('sandbox: {escalation: container}\n')
    done = ward('run', '--wait', '600s', '--escalated', '--', 'touch', 'ran')
    assert done.code == 126 and 'lets nothing run without the sandbox' in done.err and not (ward.work / 'ran').exists(), done
    assert ward('run', '--level', 'none', '--', 'touch', 'ran').code == 0, 'a person\'s own word'


def test_a_caller_only_lowers_it(ward):
    ward.policy('sandbox: {escalation: container}\n')
    for flags in ('--escalation', 'none'), ('--escalation', 'unsandboxed'):
        done = ward('run', '--wait', '600s', '--escalated', *flags, '--', 'touch', 'ran')
        assert done.code == 126 and 'lets nothing run without the sandbox' in done.err, done
    assert '--escalation container' in ward('policy', 'show', '--flags').out
    done = ward('run', '--escalation', 'sideways', '--', 'true')
    assert done.code == 125 and "'sideways' is not none, container or unsandboxed" in done.err


def test_a_project_only_lowers_it(ward):
    ward.policy('sandbox: {escalation: container}\n')
    ward.file('.ward.yaml', 'sandbox: {escalation: unsandboxed}\n')
    assert 'escalation: container' in ward('policy', 'show').out
    ward.file('.ward.yaml', 'sandbox: {escalation: none}\n')
    assert 'escalation: none' in ward('policy', 'show').out


@needs_crun
@pytest.mark.parametrize('policy, level, message', [
    ('', None, 'it is to start in a container'),
    ('sandbox: {escalation: none}\n', None, 'lets nothing run in a container'),
    ('sandbox: {level: container}\n', 'container', None),
    ("rules: [{command: 'true', do: allow, permissions: ['container true']}]\n", 'container', None),
    ("rules: [{command: 'true', do: allow, permissions: ['container']}]\n", None, 'not complete'),
    ("rules: [{command: 'true', do: allow, permissions: ['container false']}]\n", None, 'it is to start in a container'),
    ("rules: [{command: 'true', do: allow, sandbox: forbid, permissions: ['unsandboxed true']}]\n", 'none', None),
    ("rules: [{command: 'true', do: allow, sandbox: forbid, permissions: ['container true']}]\n", None, 'without the sandbox'),
], ids=['asked', 'excluded', 'policy', 'rule', 'incomplete', 'other-command', 'none-for-container', 'container-for-none'])
def test_another_program_needs_the_permission_by_name(plain, policy, level, message):
    plain.policy(policy)
    answer, = serve(plain, call('run', {'argv': ['true'], 'level': 'container'}))
    if message:
        said = answer['result']['error'] if 'result' in answer else answer['error']
        assert message in said['message'], answer
    else:
        assert answer['result']['attempts'][0]['level'] == level, answer


@needs_crun
def test_a_person_says_yes_to_another_programs_wish(plain):
    process = plain.popen('serve', '--stdio', stdin=subprocess.PIPE)
    process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "run", "params": {"argv": ["id", "-u"], "level": "container", "wait": "600s"}}\n')
    process.stdin.flush()
    question, = waits(plain)
    assert question['ask']['grants'] == ['container']
    assert plain('approve', question['id']).code == 0
    result = json.loads(process.stdout.readline())['result']
    assert result['attempts'][0]['level'] == 'container' and result['source'] == 'person'
    process.stdin.close()
    process.wait()
