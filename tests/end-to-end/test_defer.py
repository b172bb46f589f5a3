# SPDX-License-Identifier: Apache-2.0
"""Answers that come later: ward defer, tickets, ward wait."""
import json
import os
import signal
import stat

import pytest

from daemon import serving
from support import Terminal, wait_until
from test_asking import asked, press
from test_events import Host
from test_pending import outside, pending, waits  # noqa: F401


def tickets(ward):
    done = ward('wait', '--list', '--json')
    assert done.code == 0, done
    return [json.loads(line) for line in done.out.splitlines()]


def is_state(ward, ticket, *states):
    """When it has come to that."""
    def now():
        return next(one for one in tickets(ward) if one['ticket'] == ticket)
    assert wait_until(lambda: now()['state'] in states), now()
    return now()


def kept(ward, ticket):
    """Its question, when its keeper has it."""
    def found():
        return [one for one in pending(ward) if one.get('ticket') == ticket]
    assert wait_until(found)
    return found()[0]


def keeper(ward, ticket):
    """The process that looks after it."""
    path = ward.state / 'ward' / 'tickets' / ticket / 'lock'
    assert wait_until(lambda: path.read_text().strip().isdigit())
    return int(path.read_text())


def deferred(ward, script, *flags):
    """What was asked before its start and put off: the ticket and the id of its question."""
    process = ward.popen('run', '--wait', '600s', '--json', *flags, '-c', script)
    assert wait_until(lambda: [one for one in pending(ward) if 'ticket' not in one])
    question, = [one for one in pending(ward) if 'ticket' not in one]
    assert question['ask']['kind'] == 'before' and 'defer' in question['ask']['choices']
    done = ward('defer', question['id'], '--reason', 'after lunch')
    assert done.code == 0, done
    done = ward.finish(process)
    result = json.loads(done.out)
    assert done.code == 75 and result['exit_code'] == -1 and result['ticket'], done
    assert result['error']['kind'] == 'rejected' and f"ward wait {result['ticket']}" in result['error']['hint']
    return result['ticket'], question['id']


ASKED = 'version: 1\nrules:\n  - {command: touch, do: ask, why: a test}\n'


@pytest.fixture
def asks(ward):
    ward.policy(ASKED)
    return ward


def test_a_yes_later_runs_it_without_its_caller(asks):
    ward = asks
    ticket, question = deferred(ward, 'touch made; echo "out $VALUE"; echo err >&2; exit 3', '--env', 'VALUE=of then')
    standing = kept(ward, ticket)
    assert standing['id'] == question and ticket in ward('pending').out
    assert 'deferred' in ward('log').out
    assert is_state(ward, ticket, 'waiting')['ask'] == question
    waiter = ward.popen('wait', ticket)
    assert ward('approve', question).code == 0
    done = ward.finish(waiter)
    assert done.code == 3 and done.out == 'out of then\n' and 'err\n' in done.err, done
    assert (ward.work / 'made').exists() and pending(ward) == []
    result = json.loads(ward('wait', ticket, '--json').out)
    assert result['exit_code'] == 3 and result['stdout'] == 'out of then\n' and result['ticket'] is None
    assert [one['verdict'] for one in result['decisions'] if one['stage'] == 'ask'] == ['allow']
    place = ward.state / 'ward' / 'tickets' / ticket
    assert wait_until(lambda: not (place / 'request.json').exists()) and stat.S_IMODE(place.stat().st_mode) == 0o700
    assert not any((ward.state / 'ward' / 'asks').iterdir()) and ward.verify().code == 0


def test_a_no_later_is_126_with_its_reason(asks):
    ward = asks
    ticket, question = deferred(ward, 'touch made')
    assert ward('deny', question, '--reason', 'not today').code == 0
    done = ward('wait', ticket)
    assert done.code == 126 and 'not today' in done.err and not (ward.work / 'made').exists()
    assert ward('wait', ticket).code == 126, 'and stays so'
    assert is_state(ward, ticket, 'denied')['status'] == 126


def test_what_was_deferred_is_not_deferred_again(asks):
    ward = asks
    ticket, question = deferred(ward, 'touch made')
    is_state(ward, ticket, 'waiting')
    assert wait_until(lambda: 'deferred already' in ward('defer', question).err)
    assert ward('wait', '--cancel', ticket).code == 0
    assert is_state(ward, ticket, 'cancelled') and wait_until(lambda: pending(ward) == [])
    assert ward('wait', ticket).code == 126


def test_who_stops_waiting_leaves_the_ticket(asks):
    ward = asks
    ticket, question = deferred(ward, 'touch made')
    done = ward('wait', ticket, '--timeout', '100ms')
    assert done.code == 75 and 'goes on' in done.err
    waiter = ward.popen('wait', ticket)
    os.kill(waiter.pid, signal.SIGINT)
    ward.finish(waiter)
    is_state(ward, ticket, 'waiting')
    assert ward('approve', question).code == 0
    assert ward('wait', ticket).code == 0 and (ward.work / 'made').exists()


def test_a_call_that_waits_is_refused_and_the_command_run_again(ward, outside):
    process = ward.popen('run', '--wait', '600s', '--json', '--', 'sh', '-c',
                         f'echo run >> runs; echo x > {outside}/f && echo fine')
    question, = waits(ward)
    assert question['ask']['kind'] == 'in_place'
    assert ward('defer', question['id']).code == 0
    done = ward.finish(process)
    result = json.loads(done.out)
    assert done.code == 75 and result['exit_code'] != 0 and result['ticket'], result
    assert result['attempts'][0]['denials'][0]['answer'] == 'denied' and not (outside / 'f').exists()
    again = kept(ward, result['ticket'])
    assert again['id'] == question['id'] and again['ask']['kind'] == 'retry' and again['ask']['starts_again']
    assert again['ask']['grants'] == [f'write {outside}/f'] and again['ticket'] == result['ticket']
    assert ward('approve', again['id']).code == 0
    done = ward('wait', result['ticket'])
    assert done.code == 0 and done.out == 'fine\n' and (outside / 'f').read_text() == 'x\n'
    assert (ward.work / 'runs').read_text() == 'run\n' * 2


def test_the_terminal_has_a_key_for_it(plain):
    ward = plain
    ward.policy(ASKED)
    screen = Terminal(ward, columns=120, rows=50)
    screen.sendline('ward run -- touch made')
    asked(screen, 'touch')
    press(screen, 'l')
    screen.expect_exact('later')
    screen.ready()
    assert screen.last_code() == 75
    screen.close(force=True)
    ticket, = tickets(ward)
    question = kept(ward, ticket['ticket'])
    assert ward('approve', question['id']).code == 0
    assert ward('wait', ticket['ticket']).code == 0


def test_what_has_become_forbidden_meanwhile_is_refused(asks):
    ward = asks
    ticket, question = deferred(ward, 'touch made')
    is_state(ward, ticket, 'waiting')
    os.kill(keeper(ward, ticket), signal.SIGKILL)
    ward.policy('version: 1\nrules:\n  - {command: touch, do: deny, why: no more}\n')
    done = ward('wait', ticket)
    assert done.code == 126 and 'no more' in done.err and not (ward.work / 'made').exists(), done
    assert wait_until(lambda: pending(ward) == [])


def test_an_answer_outlives_the_one_it_was_given_to(asks):
    ward = asks
    ticket, question = deferred(ward, 'touch made; echo once >> runs')
    kept(ward, ticket)
    pid = keeper(ward, ticket)
    os.kill(pid, signal.SIGSTOP)
    assert ward('approve', question).code == 0
    os.kill(pid, signal.SIGKILL)
    assert ward('wait', ticket).code == 0 and (ward.work / 'runs').read_text() == 'once\n'


def test_what_had_begun_is_lost_and_a_person_starts_it_again(asks):
    ward = asks
    ticket, question = deferred(ward, 'touch made; echo run >> runs; [ -e go ] || sleep 1000')
    assert ward('approve', question).code == 0
    assert wait_until(lambda: (ward.work / 'runs').exists() and (ward.work / 'runs').read_text())
    os.kill(keeper(ward, ticket), signal.SIGKILL)
    done = ward('wait', ticket)
    assert done.code == 125 and f'ward wait --retry {ticket}' in done.err
    assert (ward.work / 'runs').read_text() == 'run\n' and pending(ward) == []
    (ward.work / 'go').write_text('')
    ward.person.own(ward.work / 'go')
    assert ward('wait', '--retry', ticket).code == 0
    question = kept(ward, ticket)
    assert ward('approve', question['id']).code == 0
    assert ward('wait', ticket).code == 0 and (ward.work / 'runs').read_text() == 'run\nrun\n'


def test_the_session_and_the_agent_stay_those_of_the_caller(asks):
    ward = asks
    ticket, question = deferred(ward, 'touch made', '--agent', 'bot', '--session', 'morning')
    status = is_state(ward, ticket, 'waiting')
    assert status['agent'] == 'bot' and status['session'] == 'morning'
    assert ward('approve', question).code == 0
    assert ward('wait', ticket).code == 0
    starts = [one for one in ward.records() if one['kind'] == 'run.start']
    assert len(starts) == 2 and {(one['agent'], one['session']) for one in starts} == {('bot', 'morning')}


def test_secrets_of_the_environment_are_nowhere_but_in_the_request(asks):
    ward = asks
    process = ward.popen('run', '--wait', '600s', '-c', 'touch made', env={'MY_TOKEN': 'hush-1234'})
    question, = waits(ward)
    assert ward('defer', question['id']).code == 0
    assert ward.finish(process).code == 75
    ticket, = tickets(ward)
    place = ward.state / 'ward'
    assert stat.S_IMODE((place / 'tickets' / ticket['ticket'] / 'request.json').stat().st_mode) == 0o600
    assert ward('approve', question['id']).code == 0 and ward('wait', ticket['ticket']).code == 0
    assert wait_until(lambda: not (place / 'tickets' / ticket['ticket'] / 'request.json').exists())
    for file in place.rglob('*'):
        assert not file.is_file() or (b'hush-1234' not in file.read_bytes() and b'aHVzaC' not in file.read_bytes()), file


def test_what_is_fed_to_it_cannot_wait(asks):
    ward = asks
    (ward.work / 'input').write_text('text')
    with open(ward.work / 'input') as feed:
        process = ward.popen('run', '--wait', '600s', '-c', 'touch made; cat', stdin=feed)
        question, = waits(ward)
    assert 'defer' not in question['ask']['choices']
    assert 'no answer to this question' in ward('defer', question['id']).err
    assert ward('deny', question['id']).code == 0 and ward.finish(process).code == 126


def test_a_machine_that_goes_down_loses_nothing_that_waits(asks):
    """Everybody is told to end then, and nobody means the request."""
    ward = asks
    waits_on, first = deferred(ward, 'touch made; echo run >> waited')
    runs, second = deferred(ward, 'touch made; echo run >> ran; [ -e go ] || sleep 1000')
    kept(ward, waits_on)
    assert ward('approve', second).code == 0 and wait_until(lambda: (ward.work / 'ran').exists())
    for ticket in (waits_on, runs):
        os.kill(keeper(ward, ticket), signal.SIGTERM)
    done = ward('wait', runs)
    assert done.code == 125 and 'told to end' in done.err and f'ward wait --retry {runs}' in done.err
    assert is_state(ward, waits_on, 'waiting') and kept(ward, waits_on)['id'] == first
    assert ward('approve', first).code == 0 and ward('wait', waits_on).code == 0
    assert (ward.work / 'waited').read_text() == (ward.work / 'ran').read_text() == 'run\n'


def test_a_program_that_answers_may_put_it_off(plain):
    ward = plain
    ward.policy(ASKED)
    host = Host(ward)
    host.run(1, 'touch made && echo later')
    host.answer(host.asked(1), answer='defer')
    result = host.result(1)
    assert result['ticket'] and result['exit_code'] == -1
    assert host.close() == 0, 'and ends, with what it runs'
    question = kept(ward, result['ticket'])
    assert ward('approve', question['id']).code == 0
    done = ward('wait', result['ticket'])
    assert done.code == 0 and done.out == 'later\n'


def test_what_a_retry_was_to_get_may_wait_too(plain):
    """A named pipe cannot be granted while the call waits: it is asked for when the command has failed."""
    ward = plain
    outside = ward.place / 'outside'
    outside.mkdir()
    ward.person.own(outside)
    process = ward.popen('run', '--wait', '600s', '--json', '-c', f'echo run >> runs; mkfifo {outside}/pipe')
    question, = waits(ward)
    assert question['ask']['kind'] == 'retry'
    assert ward('defer', question['id']).code == 0
    done = ward.finish(process)
    result = json.loads(done.out)
    assert done.code == 75 and result['exit_code'] == 1 and len(result['attempts']) == 1
    again = kept(ward, result['ticket'])
    assert again['id'] == question['id'] and again['ask']['grants'] == question['ask']['grants']
    assert ward('approve', again['id']).code == 0 and ward('wait', result['ticket']).code == 0
    assert (outside / 'pipe').is_fifo() and (ward.work / 'runs').read_text() == 'run\nrun\n'


def test_who_puts_it_off_says_for_how_long(asks):
    ward = asks
    process = ward.popen('run', '--wait', '600s', '--json', '-c', 'touch made')
    question, = waits(ward)
    for words in (('--for', 'ever'), ('--scope', 'always'), ('--abort',)):
        assert ward('defer', question['id'], *words).code == 125
    assert ward('defer', question['id'], '--for', '1s').code == 0
    ticket = json.loads(ward.finish(process).out)['ticket']
    done = ward('wait', ticket)
    assert done.code == 126 and is_state(ward, ticket, 'expired') and not (ward.work / 'made').exists()


@pytest.mark.parametrize('how', ['denied', 'harmless', 'wider', 'session'])
def test_a_yes_counts_under_the_policy_of_now(asks, how):
    """It was asked under another one, days ago perhaps."""
    ward = asks
    ticket, question = deferred(ward, 'touch made', '--session', 's')
    kept(ward, ticket)
    if how == 'denied':
        ward.policy('version: 1\nrules:\n  - {command: touch, do: deny, why: never}\n')
    if how == 'harmless':
        ward.policy(ASKED + '  - {command: curl, do: deny, why: another}\n')
    if how == 'wider':
        ward.policy(ASKED.replace('a test}', 'a test, permissions: ["write /etc/hosts"]}'))
    if how == 'session':
        with serving(ward) as daemon:
            daemon.approver().call('policy.register', session='s', policy='rules:\n  - {command: touch, do: deny, why: never}\n')
    assert ward('approve', question).code == 0
    if how == 'wider':
        # Which is another question: nobody has said yes to that.
        assert wait_until(lambda: [one for one in pending(ward) if one['ask']['grants'] == ['write /etc/hosts']])
        assert not (ward.work / 'made').exists()
        assert ward('wait', '--cancel', ticket).code == 0
        return
    done = ward('wait', ticket)
    assert (done.code, (ward.work / 'made').exists()) == ((0, True) if how == 'harmless' else (126, False)), done
