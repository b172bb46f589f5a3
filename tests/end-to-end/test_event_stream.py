# SPDX-License-Identifier: Apache-2.0
"""ward events: the chain of events held against the result object, whatever becomes of a run."""
import concurrent.futures
import contextlib
import json
import os
import queue
import re
import signal
import subprocess
import threading

import jsonschema
import pytest

from support import PATIENCE, SOURCE, wait_until
from test_asking import asked, desks, press  # noqa: F401

SCHEMA = json.loads((SOURCE / 'docs' / 'event.schema.json').read_text())
CHECK = jsonschema.Draft7Validator(SCHEMA)


def events(ward, *words):
    done = ward('events', *words)
    assert done.code == 0 and done.err == '', done
    lines = [json.loads(line) for line in done.out.splitlines()]
    for line in lines:
        CHECK.validate(line)
    ids = [tuple(map(int, line['id'].split('.'))) for line in lines]
    assert ids == sorted(set(ids))
    return lines


def kinds(chain):
    return [event['kind'] for event in chain]


def hold_against(chain, result):
    """Every decision, attempt and denial of the result has its event, in the same order, and nothing is there twice."""
    assert {event['run'] for event in chain} == {result['run']}
    decided = []
    for event in chain:
        if event['kind'] == 'assessed':
            decided.append(('assess', event['class']))
        elif event['kind'] == 'verdict':
            decided.append(('decide', event['verdict']))
        elif event['kind'] == 'caller':
            decided.append(('caller', event['verdict']))
        elif event['kind'] == 'answered':
            decided.append(('person', {'approve': 'allow', 'defer': 'ask'}.get(event['answer'], 'deny')))
    assert decided == [(d['stage'] if d['stage'] in ('assess', 'decide', 'caller') else 'person', d['verdict']) for d in result['decisions']]
    assert [e['attempt'] for e in chain if e['kind'] == 'attempt.started'] == list(range(1, len(result['attempts']) + 1))
    ended = [e for e in chain if e['kind'] == 'attempt.ended']
    assert [(e['attempt'], e['level'], e['exit_code'], e['denials'], e['walls']) for e in ended] == [
        (n, a['level'], a['exit_code'], len(a['denials']), a['walls']) for n, a in enumerate(result['attempts'], 1)]
    for number, attempt in enumerate(result['attempts'], 1):
        told = [e['denial'] for e in chain if 'denial' in e and e['attempt'] == number]
        assert [(d['operation'], d['object'], d['syscall'], d['first']) for d in told] == [
            (d['operation'], d['object'], d['syscall'], d['first']) for d in attempt['denials']]
        places = [i for i, e in enumerate(chain) if 'denial' in e and e['attempt'] == number]
        begin, = [i for i, e in enumerate(chain) if e['kind'] == 'attempt.started' and e['attempt'] == number]
        end, = [i for i, e in enumerate(chain) if e['kind'] == 'attempt.ended' and e['attempt'] == number]
        assert all(begin < place < end for place in places)
    assert kinds(chain)[0] == 'assessed' and kinds(chain)[-1] == 'ended' and kinds(chain).count('ended') == 1
    last = chain[-1]
    assert {key: last[key] for key in ('verdict', 'source', 'exit_code', 'signal', 'timed_out', 'limit', 'resources', 'error')} == {
        key: result[key] for key in ('verdict', 'source', 'exit_code', 'signal', 'timed_out', 'limit', 'resources', 'error')}
    assert last['attempts'] == len(result['attempts'])
    assert ('limit' in kinds(chain)) == (result['limit'] is not None)


def run(ward, *words, **how):
    done = ward('run', '--json', *words, **how)
    result = json.loads(done.out)
    return result, events(ward, '--run', result['run']) if result['run'] else []


def test_a_plain_run(ward):
    result, chain = run(ward, '--agent', 'robot', '--session', 's', '--tool', 'shell', '--call-id', 'c1', '--', 'true')
    hold_against(chain, result)
    assert kinds(chain) == ['assessed', 'verdict', 'attempt.started', 'attempt.ended', 'ended']
    assert {(e['agent'], e['tool'], e['call_id']) for e in chain} == {('robot', 'shell', 'c1')}
    assert chain[2]['command'] == 'true' and chain[-1]['how'] == 'exited'


def test_denials_are_told_one_by_one(ward):
    result, chain = run(ward, '-c', 'for i in 1 2 3; do echo x > /usr/ward-$i; done; exit 3')
    hold_against(chain, result)
    assert [e['denial']['object'] for e in chain if e['kind'] == 'denial'] == [f'/usr/ward-{i}' for i in (1, 2, 3)]


@pytest.mark.parametrize('words, how, limit', [
    (['--timeout', '0.2s', '--', 'sleep', '60'], 'timed_out', 'time'),
    (['--output', '1K', '-c', 'yes'], 'limit', 'output'),
    (['-c', 'kill -TERM $$'], 'signalled', None),
    (['-c', 'rm -rf /'], 'refused', None),
    (['--', '/no/such/program'], 'failed', None),
], ids=['time-out', 'limit', 'signal', 'denied', 'not found'])
def test_however_it_ends(ward, words, how, limit):
    result, chain = run(ward, *words)
    assert chain[-1]['how'] == how and chain[-1]['limit'] == limit
    if how == 'refused':
        assert kinds(chain) == ['assessed', 'verdict', 'ended'] and chain[1]['verdict'] == 'deny'
    hold_against(chain, result)


def test_a_question_that_nobody_can_be_asked(ward):
    ward.policy('rules: [{command: "printf **", do: ask, why: the test}]\n')
    result, chain = run(ward, '--', 'printf', 'x')
    assert kinds(chain) == ['assessed', 'verdict', 'ended'] and chain[1]['verdict'] == 'ask' and chain[-1]['how'] == 'refused'
    hold_against(chain, result)


@pytest.mark.parametrize('verb, how', [('approve', 'exited'), ('deny', 'refused')])
def test_an_asked_run(ward, verb, how):
    ward.policy('rules: [{command: "printf **", do: ask, why: the test}]\n')
    process = ward.popen('run', '--json', '--wait', '5m', '--', 'printf', 'x')
    # It is told while it waits.
    assert wait_until(lambda: 'asked' in kinds(events(ward)))
    assert kinds(events(ward)) == ['assessed', 'verdict', 'asked']
    assert wait_until(lambda: ward('pending', '--json').out)  # it is on record before it is put
    question = json.loads(ward('pending', '--json').out)
    assert ward(verb, question['id'], '--reason', 'the test').code == 0
    result = json.loads(ward.finish(process).out)
    chain = events(ward)
    hold_against(chain, result)
    assert kinds(chain)[:4] == ['assessed', 'verdict', 'asked', 'answered'] and chain[3]['reason'] == 'the test'
    assert chain[-1]['how'] == how


def test_a_grant_in_place_and_the_next_run(desks):
    ward = desks.ward
    target = desks.outside / 'granted'
    desks.sendline(f'ward run --json -- sh -c "echo x > {target}" > result.json')
    asked(desks, str(target))
    press(desks, 's')
    desks.ready()
    result = json.loads((ward.work / 'result.json').read_text())
    chain = events(ward)
    hold_against(chain, result)
    assert kinds(chain) == ['assessed', 'verdict', 'attempt.started', 'asked', 'answered', 'grant.used', 'attempt.ended', 'ended']
    assert chain[5]['how'] == 'in place' and chain[5]['denial']['object'] == str(target)
    grant = chain[4]['grant']
    assert grant
    desks.does(f'ward run -- sh -c "echo x > {target}"')
    later = [e for e in events(ward, '--since', chain[-1]['id']) if e['kind'] == 'grant.used']
    assert {e['grant'] for e in later} == {grant}


def test_a_retried_run(desks):
    ward = desks.ward
    desks.sendline(f'ward run --json -- sh -c "mkfifo {desks.outside}/pipe" > result.json')
    asked(desks, 'command failed; retry')
    press(desks, 'y')
    desks.ready()
    result = json.loads((ward.work / 'result.json').read_text())
    assert len(result['attempts']) == 2
    chain = events(ward)
    hold_against(chain, result)
    steps = [kind for kind in kinds(chain) if kind not in ('denial', 'grant.used')]
    assert steps == ['assessed', 'verdict', 'attempt.started', 'attempt.ended', 'asked', 'answered', 'attempt.started', 'attempt.ended', 'ended']


def test_a_retry_that_is_refused(desks):
    ward = desks.ward
    desks.sendline(f'ward run --json -- sh -c "mkfifo {desks.outside}/pipe" > result.json')
    asked(desks, 'command failed; retry')
    press(desks, 'n')
    desks.ready()
    chain = events(ward)
    hold_against(chain, json.loads((ward.work / 'result.json').read_text()))
    assert kinds(chain)[-3:] == ['asked', 'answered', 'ended']


def test_a_grant_that_is_taken_back_while_the_command_runs(desks):
    ward = desks.ward
    target = desks.outside / 'granted'
    desks.sendline(f'ward run -- sh -c "echo x > {target}; echo ready; read line"')
    asked(desks, str(target))
    press(desks, 's')
    desks.expect_exact('ready')
    grant = json.loads(ward('grants', '--json').out)['id']
    assert ward('grants', 'revoke', grant).code == 0
    assert wait_until(lambda: 'grant.revoked' in kinds(events(ward)))
    told, = [e for e in events(ward) if e['kind'] == 'grant.revoked']
    assert told['grant'] == grant and told['run']
    desks.sendline('')
    desks.ready()


def test_a_deferred_run_goes_on_as_another(ward):
    ward.policy('rules: [{command: "printf **", do: ask, why: the test}]\n')
    process = ward.popen('run', '--json', '--wait', '5m', '--', 'printf', 'x')
    assert wait_until(lambda: ward('pending', '--json').out)
    question = json.loads(ward('pending', '--json').out)
    assert ward('defer', question['id']).code == 0
    result = json.loads(ward.finish(process).out)
    chain = events(ward, '--run', result['run'])
    hold_against(chain, result)
    assert kinds(chain) == ['assessed', 'verdict', 'asked', 'answered', 'ended']
    assert chain[-1]['how'] == 'deferred' and chain[-1]['ticket'] == result['ticket']
    assert wait_until(lambda: any('ticket' in json.loads(line) for line in ward('pending', '--json').out.splitlines()))
    assert ward('approve', question['id']).code == 0
    done = ward('wait', '--json', result['ticket'])
    later = json.loads(done.out)
    assert done.code == 0 and later['run'] != result['run']
    hold_against(events(ward, '--run', later['run']), later)


def test_a_grant_that_expires_while_the_command_runs(ward):
    target = ward.place / 'outside'
    target.mkdir()
    ward.person.own(target)
    process = ward.popen('run', '--wait', '5m', '--', 'sh', '-c', f'echo x > {target}/f; read line', stdin=subprocess.PIPE)
    assert wait_until(lambda: ward('pending', '--json').out)
    assert ward('approve', json.loads(ward('pending', '--json').out)['id'], '--scope', '1s').code == 0
    assert wait_until(lambda: 'grant.expired' in kinds(events(ward)))
    ended, = [e for e in events(ward) if e['kind'] == 'grant.expired']
    answer, = [e for e in events(ward) if e['kind'] == 'answered']
    assert ended['grant'] == answer['grant'] and ended['permission'] in answer['grants']
    assert ward.finish(process, b'\n').code == 0


def test_many_denials_are_bounded_and_the_bound_is_said(ward):
    script = ('import os\nfor i in range(10000):\n try: os.open(f"/usr/ward-{i}", os.O_WRONLY | os.O_CREAT)\n'
              ' except OSError: pass\n')
    result, chain = run(ward, '--', '/usr/bin/python3', '-c', script)
    hold_against(chain, result)
    assert kinds(chain).count('denial') == 1000
    assert any('9000 further refusals are not listed' in warning for warning in chain[-1]['sandbox_warnings'])


def test_denials_with_long_names_cannot_hide_the_end(ward):
    """A record has its bounds: names of four thousand bytes, a thousand times, are beyond them."""
    script = ('import os\nname = "/usr/" + "/".join(["\\x01" * 250] * 15)\nfor i in range(1000):\n'
              ' try: os.open(f"{name}/{i}", os.O_WRONLY | os.O_CREAT)\n except OSError: pass\n')
    result, chain = run(ward, '--', '/usr/bin/python3', '-c', script)
    told = [e['denial']['object'] for e in chain if e['kind'] == 'denial']
    assert told == [d['object'] for d in result['attempts'][0]['denials']] and chain[-1]['how'] == 'exited'
    assert ward.verify().code == 0 and json.loads(ward('show', '--json', 'last').out)['ended']


class Follower:
    """A program that reads `ward events --follow`."""

    def __init__(self, ward, *words):
        self.process = ward.popen('events', '--follow', *words)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def until(self, what):
        """Events up to the first that what() holds for."""
        chain = []
        while not chain or not what(chain[-1]):
            event = self.lines.get(timeout=PATIENCE)
            assert event is not None, chain
            CHECK.validate(event)
            chain.append(event)
        return chain

    def end(self, how=signal.SIGINT):
        self.process.send_signal(how)
        return self.process.wait(PATIENCE)


@contextlib.contextmanager
def following(ward, *words):
    follower = Follower(ward, *words)
    try:
        yield follower
    finally:
        if follower.process.poll() is None:
            follower.end(signal.SIGKILL)


def last_id(ward):
    """After which nothing is there yet; the log exists."""
    ward.run('true')
    return events(ward)[-1]['id']


def test_what_happens_is_told_while_it_happens(ward):
    with following(ward, '--since', last_id(ward)) as follower:
        process = ward.popen('run', '--', 'sh', '-c', 'echo x > /usr/ward-a; read line; echo x > /usr/ward-b', stdin=subprocess.PIPE)
        follower.until(lambda e: e['kind'] == 'denial' and e['denial']['object'] == '/usr/ward-a')
        assert process.poll() is None
        process.stdin.write(b'\n')
        process.stdin.close()
        rest = follower.until(lambda e: e['kind'] == 'ended')
        assert kinds(rest) == ['denial', 'attempt.ended', 'ended']
        process.wait(PATIENCE)
        assert follower.end() == -signal.SIGINT


def test_following_one_run_ends_with_it(ward):
    process = ward.popen('run', '--', 'sh', '-c', 'read line', stdin=subprocess.PIPE)
    assert wait_until(lambda: events(ward))
    with following(ward, '--run', events(ward)[0]['run']) as follower:
        follower.until(lambda e: e['kind'] == 'attempt.started')
        process.stdin.close()
        follower.until(lambda e: e['kind'] == 'ended')
        assert follower.process.wait(PATIENCE) == 0
    process.wait(PATIENCE)


def test_a_reader_that_goes_away_ends_it(ward):
    ward.run('true')
    process = ward.popen('events', '--follow')
    process.stdout.close()  # nothing is ever written to it
    assert process.wait(PATIENCE) == 0
    process.stderr.close()


def test_a_reader_that_comes_back_misses_nothing_and_gets_nothing_twice(ward):
    for number in range(3):
        ward.sh(f'echo x > /usr/ward-{number}; exit 1')
    everything = events(ward)
    for number, event in enumerate(everything):
        assert events(ward, '--since', event['id']) == everything[number + 1:]
    record = everything[0]['id'].split('.')[0]
    assert events(ward, '--since', record) == [e for e in everything if e['id'].split('.')[0] != record]
    assert events(ward, '--since', '1h') == everything and events(ward, '--since', '2100-01-01T00:00:00Z') == []
    assert events(ward, '--since', everything[-1]['time'])[-1] == everything[-1]


@pytest.mark.parametrize('since', ['yesterday', '1.2.3', '.', '-1', '9' * 40])
def test_a_since_that_is_none(ward, since):
    done = ward('events', '--since', since)
    assert done.code == 125 and '--since' in done.err


def test_events_are_picked(ward):
    ward.run('true', flags=['--agent', 'one', '--session', 's'])
    ward.run('false', flags=['--agent', 'two'])
    assert {e['agent'] for e in events(ward, '--agent', 'two')} == {'two'}
    session, = {e['session'] for e in events(ward, '--agent', 'one')}
    assert {e['agent'] for e in events(ward, '--session', session)} == {'one'}
    assert kinds(events(ward, '--kind', 'ended,verdict', '--kind', 'assessed')) == ['assessed', 'verdict', 'ended'] * 2


@pytest.mark.parametrize('moment', ['runs', 'waits'])
def test_a_killed_run_gets_its_end(ward, moment):
    ward.policy('rules: [{command: "printf **", do: ask, why: the test}]\n')
    with following(ward, '--since', last_id(ward)) as follower:
        command = ['sh', '-c', 'echo x > /usr/ward-a; sleep 600'] if moment == 'runs' else ['printf', 'x']
        process = ward.popen('run', '--agent', 'robot', *(['--wait', '10m'] if moment == 'waits' else []), '--', *command)
        chain = follower.until(lambda e: e['kind'] == ('denial' if moment == 'runs' else 'asked'))
        process.kill()
        process.communicate()
        chain += follower.until(lambda e: e['kind'] == 'ended')
        assert chain[-1]['how'] == 'killed' and chain[-1]['run'] == chain[0]['run'] and chain[-1]['agent'] == 'robot'
        assert kinds(chain).count('ended') == 1
    assert ward.verify().code == 0
    run = json.loads(ward('log', '--json', '-n', '1').out)
    assert run['ended'] and run['error'] == 'killed' and 'killed' in ward('log').out
    assert 'killed' in ward('show', run['id']).out


def test_many_notice_a_killed_run_once(ward):
    process = ward.popen('run', '--', 'sleep', '600')
    assert wait_until(lambda: 'attempt.started' in kinds(events(ward)))
    process.kill()
    process.communicate()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: ward('events'), range(16)))
    assert kinds(events(ward)).count('ended') == 1
    assert 'killed' in ward('show', 'last').out


def test_a_run_that_goes_on_is_not_taken_for_killed(ward):
    process = ward.popen('run', '--', 'sh', '-c', 'read line', stdin=subprocess.PIPE)
    assert wait_until(lambda: 'attempt.started' in kinds(events(ward)))
    for _ in range(3):
        assert 'ended' not in kinds(events(ward)) and 'killed' not in ward('log').out
    assert ward.finish(process, b'\n').code == 0
    assert [e['how'] for e in events(ward) if e['kind'] == 'ended'] == ['exited']


def test_two_hundred_runs_at_once(ward):
    with following(ward, '--since', last_id(ward)) as follower:
        script = 'echo x > /usr/ward-a; echo x > /usr/ward-b; exit 1'
        results = {}

        def one(number):
            done = ward('run', '--json', '--agent', f'a{number}', '-c', script, timeout=PATIENCE * 4)
            result = json.loads(done.out)
            results[result['run']] = result

        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            list(pool.map(one, range(200)))
        chain, ended = [], 0
        while ended < 200:
            chain += follower.until(lambda e: e['kind'] == 'ended')
            ended += 1
    assert len(results) == 200
    for run_id, result in results.items():
        hold_against([e for e in chain if e['run'] == run_id], result)


def test_a_log_that_is_moved_aside(ward):
    with following(ward, '--since', last_id(ward)) as follower:
        ward.run('true')
        follower.until(lambda e: e['kind'] == 'ended')  # it has the old one
        state = ward.state / 'ward'
        for name in ('audit.head', 'audit.log'):
            os.rename(state / name, state / f'{name}.old')
        ward.run('true')
        chain = follower.until(lambda e: e['kind'] == 'ended')
        assert kinds(chain) == ['log.begun', 'assessed', 'verdict', 'attempt.started', 'attempt.ended', 'ended']
        assert chain[1]['id'] == '1.1'


def test_a_slow_reader_is_in_nobodys_way(ward):
    process = ward.popen('events', '--follow', '--since', last_id(ward))
    for _ in range(3):  # more than a pipe holds, which nobody reads
        ward.sh('for i in $(seq 200); do echo x > /usr/ward-$i-' + 'x' * 200 + '; done; exit 1')
    assert process.poll() is None
    process.kill()
    process.communicate()
    assert ward.run('true').code == 0


def test_no_command_reaches_the_log(ward):
    done = ward.sh(f'cat {ward.log}; echo x >> {ward.log}')
    assert done.code != 0 and 'seq' not in done.out
    assert re.search('Permission denied|No such file', done.err)


def test_where_nothing_can_be_watched_it_is_looked_at(plain):
    """A user's inotify instances may all be taken."""
    identifier = last_id(plain)
    process = plain.popen('-Ur', 'sh', '-c', 'echo 0 > /proc/sys/user/max_inotify_instances && exec "$0" events --follow --since "$1"',
                          plain.binary, identifier, program='/usr/bin/unshare')
    lines = queue.Queue()
    threading.Thread(target=lambda: [lines.put(json.loads(line)) for line in process.stdout], daemon=True).start()
    try:
        plain.run('true')
        assert [lines.get(timeout=PATIENCE)['kind'] for _ in range(5)][-1] == 'ended'
    finally:
        process.kill()
        process.wait()
