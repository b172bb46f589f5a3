# SPDX-License-Identifier: Apache-2.0
"""What a program says of its requests besides the command: a yes counts only from callers that the policy names, all is on record."""
import json
import subprocess

import jsonschema
import pytest

from support import SCHEMA, SOURCE

RISKY = 'git push --force origin main'  # asked about, and nobody is there


@pytest.fixture(scope='session')
def caller(top):
    """A program of its own, where programs are installed."""
    path = top / 'agents' / 'agentd'
    path.parent.mkdir()
    subprocess.run(['gcc', '-std=gnu17', '-O1', '-o', path, SOURCE / 'tests/end-to-end/caller.c'], check=True)
    path.chmod(0o755)
    return path


def send(ward, params, program=None):
    """By the caller, or by the test itself, which is nobody."""
    line = json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'run', 'params': params}) + '\n'
    done = ward(ward.binary, program=str(program), input=line) if program else ward('serve', '--stdio', input=line)
    assert done.code == 0, done
    answer = json.loads(done.out)
    if 'result' in answer:
        jsonschema.validate(answer['result'], SCHEMA)
    return answer.get('result') or answer['error']


def trust(ward, program, more=''):
    ward.policy(f'callers:\n  - program: {program}\n    may: [approve]\n{more}')


def decided(result):
    return [(d['verdict'], d['source'], d['by']) for d in result['decisions'] if d['stage'] == 'caller']


def started(ward):
    return [record for record in ward.records() if record['kind'] == 'run.start'][-1]


@pytest.mark.parametrize('word', ['approved', 'approved_by_policy'])
def test_a_yes_of_a_named_caller_counts(plain, caller, word):
    trust(plain, caller)
    result = send(plain, {'command': RISKY, word: True, 'tool_name': 'Bash', 'call_id': 'c1'}, caller)
    assert (result['verdict'], result['source']) == ('allow', 'caller') and result['exit_code'] not in (-1, 126), result
    assert decided(result) == [('allow', word, str(caller))]
    record = started(plain)
    assert record['caller'] == str(caller) and record['tool'] == 'Bash' and record['call_id'] == 'c1'
    assert {'stage': 'caller', 'verdict': 'allow', 'source': word, 'by': str(caller)} in record['decisions']


@pytest.mark.parametrize('word', ['approved', 'approved_by_policy'])
def test_a_yes_of_anybody_else_is_ignored_and_recorded(plain, caller, word):
    for program, policy in ((caller, False), (None, True)):
        if policy:
            trust(plain, caller)
        result = send(plain, {'command': RISKY, word: True}, program)
        assert result['verdict'] == 'deny' and "a person's yes" in result['error']['message'], result
        assert decided(result) == [('ignored', word, program and str(program))]  # the other is another user's, and cannot be looked at
        who = str(program or 'a program that is not known')
        assert any(f'`{word}` is ignored' in line and who in line for line in result['sandbox_warnings'])
        assert started(plain)['caller'] == (program and str(program))
    assert plain.verify().code == 0


def test_a_yes_is_none_where_a_route_says_who_answers(plain, caller):
    trust(plain, caller, 'approvers: {others: [nobody-here]}\nroutes: [{steps: [{from: others, within: 1s}]}]\n')
    result = send(plain, {'command': RISKY, 'approved': True}, caller)
    assert result['verdict'] == 'deny' and 'nobody in time' in result['error']['message'], result
    assert decided(result) == [('ignored', 'approved', str(caller))]
    assert any('a route of the policy says who answers' in line for line in result['sandbox_warnings'])


def test_a_yes_is_to_the_question_and_to_nothing_more(plain, caller):
    trust(plain, caller, 'rules: [{command: make, do: deny, why: no}]\n')
    for params in ({'command': 'rm -rf /'}, {'command': 'make all'}, {'command': 'true', 'level': 'none'}, {'command': 'true', 'write': ['/srv']},
                   {'command': 'true', 'net': 'full'}, {'command': 'true', 'escalated': True}, {'command': 'true', 'profile': 'claude'}):
        result = send(plain, {**params, 'approved': True, 'approved_by_policy': True}, caller)
        assert result['verdict'] == 'deny', (params, result)
    result = send(plain, {'command': 'echo x > ../outside', 'approved': True}, caller)
    assert result['attempts'][0]['denials'], 'it runs in the sandbox like everything else'


def test_a_project_names_no_callers(plain, caller):
    text = f'callers: [{{program: {caller}, may: [approve]}}]\n'
    plain.file('.ward.yaml', text)
    assert plain('policy', 'trust').code == 0
    result = send(plain, {'command': RISKY, 'approved': True}, caller)
    assert result['verdict'] == 'deny' and decided(result)[0][0] == 'ignored'
    assert 'own file only' in plain('policy', 'check').out
    extra = plain.file(plain.place / 'extra.yaml', text, 0o600)
    (plain.work / '.ward.yaml').unlink()
    result = send(plain, {'command': RISKY, 'approved': True, 'policy': str(extra)}, caller)
    assert result['verdict'] == 'deny'


def test_a_program_that_others_could_write_is_nobody(plain, caller):
    def copy(path, mode=0o755):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(caller.read_bytes())
        path.chmod(mode)
        plain.person.own(path.parent, path)
        return path
    for program in (copy(plain.work / 'agentd'), copy(plain.place / 'open' / 'agentd', 0o777)):
        trust(plain, program)
        result = send(plain, {'command': RISKY, 'approved': True}, program)
        assert result['verdict'] == 'deny' and decided(result)[0][0] == 'ignored', program
    own = copy(plain.place / 'own' / 'agentd')
    trust(plain, own)
    assert send(plain, {'command': RISKY, 'approved': True}, own)['verdict'] == 'allow'
    # Another file by the same name, or the same text elsewhere, is another program.
    other = copy(plain.place / 'other' / 'agentd')
    assert send(plain, {'command': RISKY, 'approved': True}, other)['verdict'] == 'deny'


def test_an_interpreter_by_another_name_is_nobody(plain):
    """Whoever can start it could say anything."""
    link = plain.place / 'agentd'
    link.symlink_to('/usr/bin/python3')
    trust(plain, link)
    line = json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'run', 'params': {'command': RISKY, 'approved': True}}) + '\n'
    start = f'import subprocess; subprocess.run([{plain.binary!r}, "serve", "--stdio"])'
    result = json.loads(plain('-c', start, program=str(link), input=line).out)['result']
    assert result['verdict'] == 'deny' and decided(result)[0][0] == 'ignored' and 'python3' in decided(result)[0][2], result


def test_another_user_is_somebody_else(plain, caller):
    plain.policy(f'callers: [{{program: {caller}, uid: 1, may: [approve]}}]\n')
    assert send(plain, {'command': RISKY, 'approved': True}, caller)['verdict'] == 'deny'
    plain.policy(f'callers: [{{program: {caller}, uid: {plain.person.uid}, may: [approve]}}]\n')
    assert send(plain, {'command': RISKY, 'approved': True}, caller)['verdict'] == 'allow'
    plain.policy(f'callers: [{{program: {caller}}}]\n')
    assert send(plain, {'command': RISKY, 'approved': True}, caller)['verdict'] == 'deny'


def test_anybody_may_want_a_question(plain, caller):
    result = send(plain, {'command': 'true', 'requires_approval': True})
    assert result['verdict'] == 'deny' and 'wants a yes' in result['error']['message'], result
    assert decided(result)[0][:2] == ('ask', 'requires_approval')
    assert send(plain, {'command': 'true', 'requires_approval': False})['exit_code'] == 0
    trust(plain, caller)
    assert send(plain, {'command': 'true', 'requires_approval': True}, caller)['verdict'] == 'deny'
    assert send(plain, {'command': 'true', 'requires_approval': True, 'approved': True}, caller)['exit_code'] == 0
    assert send(plain, {'command': 'true', 'requires_approval': True, 'approved': True})['verdict'] == 'deny'
    assert send(plain, {'command': 'true', 'requires_approval': True, 'approval': 'never'})['verdict'] == 'deny'


def test_warnings_are_carried_with_where_they_come_from(plain, caller):
    result = send(plain, {'command': 'true', 'sandbox_warnings': ['no network here', 'é\u202e']}, caller)
    assert [line for line in result['sandbox_warnings'] if 'caller' in line] == \
        [f'from the caller, {caller}: no network here', f'from the caller, {caller}: é\u202e']
    assert started(plain)['sandbox_warnings'] == ['no network here', 'é\u202e']
    shown = plain('show', result['run'])
    assert '\u202e' not in shown.out


@pytest.mark.parametrize('params', [{'approved': 'yes'}, {'approved': 1}, {'requires_approval': None}, {'sandbox_warnings': 'x'},
                                    {'sandbox_warnings': ['x'] * 101}, {'sandbox_warnings': ['x' * 5000]}, {'tool': 'a', 'tool_name': 'b'},
                                    {'caller': '/usr/bin/agentd'}])
def test_what_is_not_as_it_should_be_is_an_error(plain, params):
    assert send(plain, {'command': 'true', **params})['code'] == -32602


@pytest.mark.parametrize('text, message', [
    ('callers: {}', 'a list is wanted'), ('callers: [{may: [approve]}]', 'without a program'), ('callers: [{program: agentd}]', 'absolute path'),
    ('callers: [{program: /usr/bin/*}]', 'absolute path'), ('callers: [{program: /usr/bin/python3, may: [approve]}]', 'names everybody'),
    ('callers: [{program: /usr/bin/node, may: [approve]}]', 'names everybody'), ('callers: [{program: /x, may: [deny]}]', 'nothing else'),
    ('callers: [{program: /x, uid: me}]', 'number of a user'), ('callers: [{program: /x, who: me}]', 'unknown key'),
])
def test_a_policy_names_callers_properly(plain, text, message):
    plain.policy(text + '\n')
    done = plain('policy', 'check')
    assert done.code == 1 and message in done.out and ':1:' in done.out, done
    assert send(plain, {'command': 'true'})['error']['kind'] in ('engine', 'rejected')


def test_callers_are_shown(plain, caller):
    trust(plain, caller)
    assert json.loads(plain('policy', 'show', '--json').out)['callers'][0]['program'] == str(caller)
    assert f"program: '{caller}'" in plain('policy', 'show').out


def test_nobody_inside_the_sandbox_is_a_caller(plain, caller):
    """ward within ward does not see the user's policy, and the outer one holds."""
    trust(plain, caller)
    line = json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'run', 'params': {'command': 'echo x > ~/outside', 'approved': True}})
    plain.sh(f"echo '{line}' | {caller} {plain.binary}")
    assert not (plain.home / 'outside').exists()
