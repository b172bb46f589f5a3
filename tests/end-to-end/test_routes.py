# SPDX-License-Identifier: Apache-2.0
"""Who answers which questions: routes, several people, several steps, time, and those who must not."""
import json
import os
import pathlib
import shutil
import signal

import jsonschema
import pytest

from daemon import Refused, serving, wait_for
from receiver import SECRET, end_deliverers, receiving
from support import Person, Terminal, Ward, wait_until
from test_asking import asked, press
from test_daemon_system import ROOT, System, work  # noqa: F401
from test_defer import deferred, is_state, keeper
from test_hook import hook, shell
from test_pending import outside, pending, waits  # noqa: F401

SCHEMA = json.loads((pathlib.Path(__file__).parents[2] / 'docs' / 'ask.schema.json').read_text())
PUSH = 'git push --force origin main'


def routes(ward, steps, rest='', groups=''):
    me = ward.person.name
    ward.policy(f'version: 1\napprovers:\n  me: [{me}]\n  both: [{me}, root]\n  others: [nobody-here]\n{groups}'
                f'rules:\n  - {{command: touch, do: ask, why: a test}}\n'
                f'routes:\n  - steps: [{steps}]\n{rest}')


def start(ward, script='touch made', *flags, wait='600s'):
    return ward.popen('run', *(['--wait', wait] if wait else []), '--json', *flags, '-c', script)


def progress(ward):
    question, = pending(ward)
    jsonschema.validate(question['progress'], {**SCHEMA, **SCHEMA['definitions']['progress'], 'required': []})
    jsonschema.validate(question['ask'], SCHEMA)
    return question['progress']


def ended(ward, process):
    done = ward.finish(process)
    return done.code, json.loads(done.out)


def approve_as_root(daemon, question, **more):
    """Root reaches the sockets of others, and is somebody else there."""
    return daemon.approver().call('approve', ask=question['id'], **more)


@pytest.fixture
def daemon(plain):
    if os.geteuid() != 0:
        pytest.skip('only root is somebody else here')
    with serving(plain) as one:
        yield one


def test_two_of_two_say_yes_each_once_and_then_it_runs(plain, daemon):
    routes(plain, '{from: both, need: 2}', '    not_own: false\n')
    process = start(plain)
    question, = waits(plain)
    assert progress(plain)['need'] == 2 and sorted(progress(plain)['may']) == sorted([plain.person.name, 'root'])
    done = plain('approve', question['id'], '--reason', 'looks right')
    assert done.code == 0 and '1 of 2' in done.out, done
    assert 'looks right' in plain('pending').out and 'waits for root' in plain('pending', question['id']).out
    done = plain('approve', question['id'])
    assert done.code == 125 and 'already' in done.err
    assert process.poll() is None and not (plain.work / 'made').exists()
    approve_as_root(daemon, question, reason='me, too')
    code, result = ended(plain, process)
    assert code == 0 and (plain.work / 'made').exists()
    answer = [record for record in plain.records() if record['kind'] == 'answer'][-1]
    assert plain.person.name in answer['by'] and 'uid 0' in answer['by']
    assert 'looks right' in answer['reason'] and 'me, too' in answer['reason']
    assert list((plain.state / 'ward' / 'asks').glob('[!.]*')) == []


def test_nobody_approves_what_his_own_agent_asks(plain, daemon):
    routes(plain, '{from: both, need: 2}')
    process = start(plain)
    question, = waits(plain)
    done = plain('approve', question['id'])
    assert done.code == 125 and 'his own agent' in done.err
    approve_as_root(daemon, question)
    assert progress(plain)['have'] == 1 and progress(plain)['may'] == []
    # But he may say no to it.
    assert plain('deny', question['id'], '--reason', 'changed my mind').code == 0
    code, result = ended(plain, process)
    assert code == 126 and 'changed my mind' in result['error']['message']


def test_one_person_alone_may_still_answer_his_own(plain):
    process = start(plain, PUSH)
    question, = waits(plain)
    assert 'route' not in question['ask'] and 'progress' not in question
    assert plain('deny', question['id']).code == 0
    assert ended(plain, process)[0] == 126
    routes(plain, '{from: me}')
    process = start(plain)
    question, = waits(plain)
    assert plain('approve', question['id']).code == 0
    assert ended(plain, process)[0] == 0


def test_who_is_not_named_cannot_say_yes(plain, daemon):
    routes(plain, '{from: others}')
    process = start(plain)
    question, = waits(plain)
    done = plain('approve', question['id'])
    assert done.code == 125 and 'none of those' in done.err and 'nobody-here' in done.err
    for word in ('approve', 'deny'):
        with pytest.raises(Refused):
            daemon.approver().call(word, ask=question['id'])
    # Whatever the answer says of itself.
    with pytest.raises(Refused):
        daemon.approver().call('approve', ask=question['id'], by='nobody-here')
    done = plain('approve', question['id'], '--as', 'nobody-here')
    assert done.code == 125 and 'only root' in done.err
    assert process.poll() is None
    assert plain('deny', question['id']).code == 0
    assert ended(plain, process)[0] == 126


def test_a_reason_that_is_wanted_is_needed(plain):
    routes(plain, '{from: me, reason: required}')
    process = start(plain)
    question, = waits(plain)
    done = plain('approve', question['id'])
    assert done.code == 125 and 'needs a reason' in done.err
    assert plain('approve', question['id'], '--reason', 'because').code == 0
    assert ended(plain, process)[0] == 0


def test_steps_follow_one_another(plain, daemon):
    routes(plain, '{from: boss}, {from: me}', groups='  boss: [root]\n')
    process = start(plain)
    question, = waits(plain)
    done = plain('approve', question['id'])
    assert done.code == 125 and 'not your turn' in done.err
    approve_as_root(daemon, question)
    assert wait_until(lambda: progress(plain)['step'] == 1)
    assert plain('approve', question['id']).code == 0
    assert ended(plain, process)[0] == 0


def test_when_nobody_answers_the_next_group_may(plain):
    routes(plain, '{from: others, within: 1s, then: me}')
    process = start(plain, wait=None)  # a route that has its own time needs no other
    question, = waits(plain)
    if not wait_until(lambda: plain('approve', question['id']).code == 0 or process.poll() is not None):
        pytest.fail('never his turn')
    code, result = ended(plain, process)
    # On a machine that stood still for a second, nobody was in time.
    assert code == 0 or 'nobody in time' in result['error']['message']


def test_a_question_that_comes_to_the_next_group_is_told_again(plain):
    plain.file(plain.home / 'secret', SECRET + '\n', 0o600)
    with receiving() as receiver:
        routes(plain, '{from: others, within: 3s, then: me}', rest=f'notify:\n  approvers:\n    - name: team\n      webhook: {receiver.url}\n'
               f'      secret_file: {plain.home}/secret\n      backoff: 10ms\n')
        process = start(plain)
        try:
            assert wait_until(lambda: len(receiver.seen) >= 2 or process.poll() is not None)
            told = [json.loads(body) for _, _, body in receiver.seen]
            assert [message['event'] for message in told[:2]] == ['asked', 'asked']
            assert len({message['delivery'] for message in told}) == len(told) == 2
            assert len({message['question']['id'] for message in told}) == 1
        finally:
            process.kill()
            process.communicate()
            end_deliverers(plain)


def test_a_check_says_who_would_answer(plain):
    routes(plain, '{need: 2, from: both, within: 10m}')
    done = plain('check', '--json', '--', 'touch', 'made')
    assert done.code == 1 and json.loads(done.out)['answered_by'].startswith('2 of both (')
    assert 'answered by 2 of both (' in plain('check', '--', 'touch', 'made').out
    plain.policy('rules: [{command: touch, do: ask, why: a test}]\n')
    assert json.loads(plain('check', '--json', '--', 'touch', 'made').out)['answered_by'] is None


def test_one_way_under_two_people_is_warned_about(plain):
    plain.policy('people: {alice: ["user:al"], bob: ["web:bob", "user:al"]}\n')
    done = plain('policy', 'check')
    assert "'user:al' under 'alice' and under 'bob'" in done.out + done.err
    plain.policy('people: {alice: ["user:al"], bob: ["web:bob", "user:bob"]}\n')
    done = plain('policy', 'check')
    assert 'under' not in done.out + done.err


def test_when_the_last_step_runs_out_it_is_a_no(plain):
    routes(plain, '{from: others, within: 1s}')
    code, result = ended(plain, start(plain, wait=None))
    assert code == 126 and 'nobody in time' in result['error']['message'] and not (plain.work / 'made').exists()


def test_a_yes_holds_no_longer_than_the_route_lets_it(plain):
    routes(plain, '{from: me}', '    for: 10m\n')
    process = start(plain, 'touch made', '--session', 's')
    question, = waits(plain)
    assert 'approve time' in question['ask']['choices'] and 'approve session' not in question['ask']['choices']
    assert 'approve always' not in question['ask']['choices']
    for scope in ('session', 'always', '11m'):
        assert plain('approve', question['id'], '--scope', scope).code == 125
    assert plain('approve', question['id'], '--scope', '10m').code == 0
    assert ended(plain, process)[0] == 0


def test_a_project_cannot_lower_it(plain):
    routes(plain, '{from: others, need: 2}')
    plain.file(plain.work / '.ward.yaml', f'approvers: {{others: [{plain.person.name}], mine: [{plain.person.name}]}}\n'
                                          'routes:\n  - {steps: [{from: others, need: 1}, {from: mine}], not_own: false}\n')
    process = start(plain)
    question, = waits(plain)
    steps = question['ask']['route']['steps']
    assert [step['need'] for step in steps] == [2, 1] and steps[0]['not_own']
    assert [one['person'] for one in steps[0]['groups'][0]['who']] == ['nobody-here']
    assert plain('approve', question['id']).code == 125
    assert plain('deny', question['id']).code == 0
    assert ended(plain, process)[0] == 126


def test_one_who_was_taken_out_of_the_policy_meanwhile_does_not_count(plain, daemon):
    routes(plain, '{from: both, need: 2}', '    not_own: false\n')
    process = start(plain)
    question, = waits(plain)
    assert plain('approve', question['id']).code == 0
    plain.policy(f'version: 1\napprovers: {{both: [root, nobody-here]}}\nrules: [{{command: touch, do: ask}}]\n'
                 'routes: [{steps: [{from: both, need: 2}], not_own: false}]\n')
    approve_as_root(daemon, question)
    assert wait_until(lambda: progress(plain)['have'] == 1)
    assert [one['by'].endswith('uid 0') for one in progress(plain)['said']] == [True]
    assert process.poll() is None and not (plain.work / 'made').exists()
    process.terminate()
    assert plain.finish(process).code != 0


def test_what_was_said_survives_whoever_waits(plain, daemon):
    routes(plain, '{from: both, need: 2}', '    not_own: false\n')
    ticket, question = deferred(plain, 'touch made')
    assert wait_until(lambda: pending(plain))
    assert plain('approve', question).code == 0
    os.kill(keeper(plain, ticket), signal.SIGKILL)
    daemon.kill()
    daemon.start()
    assert progress(plain)['have'] == 1
    assert wait_until(lambda: any(other['id'] == question for other in pending(plain)))
    approve_as_root(daemon, pending(plain)[0])
    plain('pending')  # whoever looks starts a keeper where there is none
    is_state(plain, ticket, 'done')
    assert (plain.work / 'made').exists()


def test_a_call_that_waits_is_answered_by_its_route(plain, daemon, outside_of_plain):
    routes(plain, '{from: both, need: 2}', '    not_own: false\n')
    process = start(plain, f'echo x > {outside_of_plain}/f; echo y > {outside_of_plain}/g')
    question, = waits(plain)
    assert question['ask']['kind'] == 'in_place'
    assert plain('approve', question['id']).code == 0
    assert not (outside_of_plain / 'f').exists()
    approve_as_root(daemon, question)
    assert wait_until(lambda: any(other['id'] != question['id'] for other in pending(plain)))
    assert (outside_of_plain / 'f').exists() and not (outside_of_plain / 'g').exists()
    assert plain('deny', pending(plain)[0]['id']).code == 0
    assert ended(plain, process)[0] != 0


@pytest.fixture
def outside_of_plain(plain):
    path = plain.place / 'outside'
    path.mkdir()
    plain.person.own(path)
    return path


def test_the_policy_shows_its_routes_as_they_are_written(plain):
    plain.policy('approvers: {team: [alice, "user:bob", "hook:ops/U1", dan], bosses: [alice]}\n'
                 'people: {alice: ["user:alice", "web:al"]}\nowners: {"x*": alice}\nenvironments: {prod: ["*prod*"]}\n'
                 'routes:\n  - {name: one, when: {risk: high, target: prod, path: /srv}, not_own: true, for: 1h,\n'
                 '     steps: [{from: team, need: 2, reason: required, within: 10m, then: [bosses]}, {from: [team, bosses]}]}\n')
    def shown():
        policy = json.loads(plain('policy', 'show', '--json').out)
        found = {key: policy[key] for key in ('approvers', 'people', 'owners', 'environments', 'routes')}
        for route in found['routes']:
            del route['line']
        return found
    before = shown()
    assert before['approvers']['team'] == ['alice', 'user:bob', 'hook:ops/U1', 'dan']
    assert before['routes'][0]['when'] == {'risk': ['high'], 'target': ['prod'], 'path': ['/srv']}
    plain.policy(plain('policy', 'show').out)
    assert plain('policy', 'check').code == 0, plain('policy', 'check')
    assert shown() == before


def test_the_user_of_an_agent_is_nobody(plain):
    """Claude Code would ask him, had the question no route: there it goes to ward, and waits for those who may answer."""
    event, command = shell(plain, 'claude', 'touch made')
    plain.policy('version: 1\nrules: [{command: touch, do: ask}]\n')
    assert hook(plain, event)['hookSpecificOutput']['permissionDecision'] == 'ask'
    routes(plain, '{from: others, within: 1s}')
    answer = hook(plain, event)
    assert answer['hookSpecificOutput']['permissionDecision'] == 'allow' and '--asked' not in command(answer)
    done = plain('-c', command(answer), program='/bin/sh')
    assert done.code == 126 and not (plain.work / 'made').exists()


# At a terminal.


def test_at_a_terminal_who_may_not_answer_reads_who_can(plain, daemon):
    routes(plain, '{from: boss}', groups='  boss: [root]\n')
    screen = Terminal(plain, columns=120, rows=40)
    screen.type('ward run -- touch made', 'this waits for others', 'waits for root')
    question, = waits(plain)
    approve_as_root(daemon, question)
    screen.ready()
    assert screen.last_code() == 0 and (plain.work / 'made').exists()
    # Nothing that he types is an answer.
    screen.type('ward run -- touch more', 'waits for root')
    screen.send('y')
    screen.send('\x03')
    screen.ready()
    assert screen.last_code() != 0 and not (plain.work / 'more').exists()
    screen.close(force=True)


def test_at_a_terminal_one_of_two_answers_and_then_waits(plain, daemon):
    routes(plain, '{from: both, need: 2, reason: required}', '    not_own: false\n')
    screen = Terminal(plain, columns=120, rows=50)
    screen.sendline('ward run -- touch made')
    asked(screen, '2 of both', '0 of 2')
    press(screen, 'y')
    screen.expect_exact('why? ')
    screen.send('it is fine\r')
    screen.expect_exact('waits for root')
    question, = waits(plain)
    assert progress(plain)['said'][0]['reason'] == 'it is fine'
    approve_as_root(daemon, question, reason='so it is')
    screen.ready()
    assert screen.last_code() == 0 and (plain.work / 'made').exists()
    screen.close(force=True)


def test_root_may_answer_in_the_name_of_others(binary, place):
    if os.geteuid() != 0:
        pytest.skip('for root')
    ward = Ward(binary, ROOT, place)
    routes(ward, '{from: team, need: 2}', groups='  team: [alice, bob]\n')
    process = start(ward)
    question, = waits(ward)
    assert ward('approve', question['id']).code == 125  # he is none of them
    assert ward('approve', question['id'], '--as', 'alice').code == 0
    assert ward('approve', question['id'], '--as', 'alice').code == 125
    assert ward('approve', question['id'], '--as', 'web:bob').code == 125
    assert ward('approve', question['id'], '--as', 'bob').code == 0
    code, result = ended(ward, process)
    assert code == 0 and 'alice, said by root' in result['decisions'][-1]['by'] + str(result['decisions'])


# Those inside, and those who only carry questions.


def test_what_runs_inside_is_nobody(plain):
    routes(plain, '{from: me}')
    inside = plain('run', '--', plain.binary, 'pending', '--json')
    process = start(plain)
    question, = waits(plain)
    asks = plain.state / 'ward' / 'asks'
    done = plain('run', '-c', f'ls {asks}; {plain.binary} approve {question["id"]}; echo x > {asks}/{question["id"]}.answer')
    assert question['id'] not in inside.out + done.out.replace(str(asks), '') and done.code != 0
    assert process.poll() is None and progress(plain)['have'] == 0
    assert plain('deny', question['id']).code == 0
    assert ended(plain, process)[0] == 126


def test_the_program_that_calls_ward_is_nobody(plain):
    """It would be asked itself, had the question no route."""
    routes(plain, '{from: others, within: 1s}')
    request = {'jsonrpc': '2.0', 'id': 1, 'method': 'run', 'params': {'command': 'touch made', 'workspace': str(plain.work), 'asks': True}}
    done = plain('serve', '--stdio', input=json.dumps(request) + '\n')
    assert not (plain.work / 'made').exists()
    assert '"ask"' not in done.out.replace('"verdict": "ask"', '').replace('"verdict":"ask"', '')


# For all users, each at his own door.


def test_two_users_of_a_machine_answer_for_a_third(binary, place, user, work):  # noqa: F811
    if os.geteuid() != 0:
        pytest.skip('only root runs it')
    home = pathlib.Path(user.home)
    config, state = home / '.config' / 'ward', home / '.local' / 'state' / 'ward'
    shutil.rmtree(state, ignore_errors=True)
    config.mkdir(parents=True, exist_ok=True)
    (config / 'ward.yaml').write_text(
        f'approvers: {{team: [games, "user:news", {user.name}]}}\nrules: [{{command: touch, do: ask}}]\n'
        'routes: [{steps: [{from: team, need: 2}]}]\n')
    for path in (home / '.config', config, config / 'ward.yaml'):
        user.own(path)
    system = System(binary, place)
    alice, bob, stranger = Person('games'), Person('news'), Person('man')
    try:
        os.system(f'nsenter -t {system.process.pid} -m chmod 666 /run/ward/approver.sock')
        started, = system.speak(user, 'agent', ['start', {'command': 'touch made', 'workspace': work}])
        ticket = started['result']['ticket']

        def by(person, word, **more):
            return system.speak(person, 'approver', ['as', {'uid': user.uid}], [word, more])[1]

        question = wait_for(lambda: by(ROOT, 'pending')['result']['asks'])[0]
        assert 'error' in by(stranger, 'approve', ask=question['id'])
        assert 'error' in by(ROOT, 'approve', ask=question['id'])
        assert 'error' in by(user, 'approve', ask=question['id']), 'his own'
        first = by(alice, 'approve', ask=question['id'])['result']
        assert first['progress']['have'] == 1 and first['progress']['may'] == ['news']
        assert 'error' in by(alice, 'approve', ask=question['id'])
        assert not os.path.exists(work + '/made')
        assert 'result' in by(bob, 'approve', ask=question['id'])
        waited, = system.speak(user, 'agent', ['wait', {'ticket': ticket}])
        assert waited['result']['result']['exit_code'] == 0 and os.path.exists(work + '/made')
    finally:
        system.end()
        shutil.rmtree(state, ignore_errors=True)
        shutil.rmtree(config, ignore_errors=True)
