# SPDX-License-Identifier: Apache-2.0
"""ward grants: what is remembered, who gave it to whom, how often it was used; taking it back, also from what runs."""
import json

import pytest

from support import resters, resting, rests, wait_until
from test_pending import outside, pending, waits


def start(ward, script, *flags, session='sitting'):
    return ward.popen('run', '--session', session, '--wait', '600s', *flags, '--', 'sh', '-c', script)


def grants(ward, *words):
    done = ward('grants', '--json', *words)
    assert done.code == 0, done
    return [json.loads(line) for line in done.out.splitlines()]


def give(ward, script, *flags, answer=('--scope', 'session'), session='sitting'):
    """Runs it and says yes to the one thing that it wants."""
    process = start(ward, script, *flags, session=session)
    question, = waits(ward)
    assert ward('approve', question['id'], *answer).code == 0
    return process


def test_a_grant_says_who_gave_it_to_whom_and_how_often_it_was_used(ward, outside):
    script = f'echo x > {outside}/f'
    assert ward.finish(give(ward, script, '--agent', 'bot', answer=('--scope', 'session', '--reason', 'for the report'))).code == 0
    grant, = grants(ward)
    assert grant['agent'] == 'bot' and grant['reason'] == 'for the report' and grant['session'] == 'sitting'
    assert grant['by'].split('@')[0] == ward.person.name and grant['used'] == 1 and grant['last'] > 0
    for _ in range(2):
        assert ward('run', '--session', 'sitting', '--agent', 'bot', '--', 'sh', '-c', script).code == 0
    assert grants(ward)[0]['used'] == 3
    text = ward('grants').out
    assert 'used      3 times' in text and 'agent     bot' in text and 'because   for the report' in text


@pytest.mark.parametrize('flags', [(), ('--agent', 'other'), ('--agent', 'Bot')], ids=str)
def test_it_is_for_the_agent_that_it_was_given_to(ward, outside, flags):
    """Two agents can name one session, and so can a person."""
    script = f'echo x >> {outside}/f'
    assert ward.finish(give(ward, script, '--agent', 'bot')).code == 0
    assert ward('run', '--session', 'sitting', *flags, '--', 'sh', '-c', script).code != 0
    assert (outside / 'f').read_text() == 'x\n' and grants(ward)[0]['used'] == 1
    assert ward('run', '--session', 'sitting', '--agent', 'bot', '--', 'sh', '-c', script).code == 0


def test_what_a_person_was_given_no_agent_has(ward, outside):
    script = f'echo x >> {outside}/f'
    assert ward.finish(give(ward, script)).code == 0
    assert ward('run', '--session', 'sitting', '--agent', 'bot', '--', 'sh', '-c', script).code != 0
    assert (outside / 'f').read_text() == 'x\n'


def test_it_ends_with_its_last_use(ward, outside):
    script = f'echo x >> {outside}/f'
    done = ward.finish(give(ward, script, answer=('--scope', 'session', '--uses', '2')))
    assert done.code == 0
    assert grants(ward)[0]['used'] == 1 and '1 of 2 times' in ward('grants').out
    assert ward('run', '--session', 'sitting', '--', 'sh', '-c', script).code == 0
    assert grants(ward) == []
    assert ward('run', '--session', 'sitting', '--', 'sh', '-c', script).code != 0
    assert (outside / 'f').read_text() == 'x\nx\n'


def test_what_is_used_up_is_taken_back_from_the_run_that_uses_it(ward, outside):
    process = give(ward, f'echo x > {outside}/f; while true; do echo x >> {outside}/f; done', '--agent', 'bot',
                   answer=('--scope', 'session', '--uses', '1'))
    assert wait_until(lambda: (outside / 'f').exists() and (outside / 'f').stat().st_size > 10)
    assert grants(ward) == []
    assert 'is taken back' in ward('grants', 'revoke', '--agent', 'bot').out
    size = (outside / 'f').stat().st_size
    process.terminate()
    ward.finish(process)
    assert (outside / 'f').stat().st_size == size, 'nothing was written after it had returned'


def test_no_more_uses_than_there_are_however_many_try(ward, outside):
    script = f'echo x >> {outside}/f'
    assert ward.finish(give(ward, script, answer=('--scope', '10m', '--uses', '3'))).code == 0
    running = [ward.popen('run', '--session', 'sitting', '--', 'sh', '-c', script) for _ in range(6)]
    codes = [ward.finish(process).code for process in running]
    assert codes.count(0) == 2
    assert (outside / 'f').read_text() == 'x\n' * 3


def test_uses_are_of_a_yes_that_lasts(ward, outside):
    process = start(ward, f'echo x > {outside}/f')
    question, = waits(ward)
    for words in (('--uses', '2'), ('--scope', 'session', '--uses', '0'), ('--scope', 'session', '--uses', 'many')):
        assert ward('approve', question['id'], *words).code == 125
    assert ward('deny', question['id']).code == 0
    ward.finish(process)


@pytest.fixture
def three(plain):
    path = plain.place / 'outside'
    path.mkdir()
    plain.person.own(path)
    for name, agent, session in (('a', 'bot', 'one'), ('b', 'bot', 'two'), ('c', 'mule', 'one')):
        assert plain.finish(give(plain, f'echo x > {path}/{name}', '--agent', agent, session=session)).code == 0
    assert len(grants(plain)) == 3
    return plain


@pytest.mark.parametrize('words, left', [
    (('--agent', 'bot'), {'c'}),
    (('--session', 'one'), {'b'}),
    (('--session', 'one', '--agent', 'bot'), {'b', 'c'}),
    (('--pattern', 'write */outside/[ab]'), {'c'}),
    (('--pattern', 'connect *'), {'a', 'b', 'c'}),
    (('--giver', 'nobody-of-that-name'), {'a', 'b', 'c'}),
    (('--giver', None), set()),
])
def test_those_that_are_meant_are_taken_back_at_once(three, words, left):
    words = [three.person.name if word is None else word for word in words]
    selected = grants(three, *words)
    done = three('grants', 'revoke', *words)
    assert done.code == 0
    assert done.out.count('is taken back') == len(selected) == 3 - len(left)
    assert {grant['permissions'][0][-1] for grant in grants(three)} == left
    assert sum(record['kind'] == 'grant.revoke' for record in three.records()) == 3 - len(left)


def test_several_ids_and_what_is_no_selection(three):
    ids = [grant['id'] for grant in grants(three)]
    for words in ((), ('--agent',), ('nothing',), (ids[0], 'nothing')):
        assert three('grants', 'revoke', *words).code == 125
    assert len(grants(three)) == 3
    assert three('grants', 'revoke', *ids[:2]).code == 0
    assert [grant['id'] for grant in grants(three)] == ids[2:]


def test_when_revoke_returns_no_call_gets_through(ward, outside):
    """A command that writes as fast as it can, through the supervisor, while what it holds is taken back."""
    for number in range(3):
        log = outside / f'log{number}'
        process = give(ward, f'while :; do echo x >> {log}; done', answer=('--scope', 'session'))
        assert wait_until(lambda: log.exists() and log.stat().st_size > 20)
        assert ward('grants', 'revoke', '--session', 'sitting').code == 0
        size = log.stat().st_size
        # It asks again, or is refused; in no case does it write.
        wait_until(lambda: pending(ward) or process.poll() is not None)
        assert log.stat().st_size == size
        process.terminate()
        ward.finish(process)
        assert log.stat().st_size == size
        assert wait_until(lambda: pending(ward) == [])


@pytest.mark.parametrize('script', ['exec 3>> {0}; while :; do echo x >&3; done', '{{ while :; do echo x; done; }} >> {0}',
                                    "exec /usr/bin/python3 -I -c 'import mmap; f = open(\"{0}\", \"w+b\"); f.truncate(4096); m = mmap.mmap(f.fileno(), 4096); f.close()\n"
                                    "while True: m[0] = (m[0] + 1) % 256; m.flush()'"])
def test_a_file_that_is_still_open_ends_the_run(ward, outside, script):
    log = outside / 'log'
    process = give(ward, script.format(log))
    assert wait_until(lambda: log.exists() and log.stat().st_size > 20)
    assert ward('grants', 'revoke', '--session', 'sitting').code == 0
    content = log.read_bytes()
    done = ward.finish(process)
    assert done.code == 126 and 'still open' in done.err
    assert log.read_bytes() == content


def test_what_is_in_the_walls_ends_with_the_run(ward, outside):
    (outside / 'tree').mkdir()
    ward.person.own(outside / 'tree')
    log = outside / 'tree/log'
    script = f'while :; do echo x >> {log}; test -e stop && exit 0; done'
    process = give(ward, script, answer=('--scope', 'session', '--extent', '1'))
    assert wait_until(lambda: log.exists() and log.stat().st_size > 20)
    ward.file('stop')
    assert ward.finish(process).code == 0
    (ward.work / 'stop').unlink()
    assert grants(ward)[0]['permissions'] == [f'write {outside}/tree/**']
    process = ward.popen('run', '--session', 'sitting', '--', 'sh', '-c', script)
    before = log.stat().st_size
    assert wait_until(lambda: log.stat().st_size > before + 20)
    assert ward('grants', 'revoke', '--session', 'sitting').code == 0
    size = log.stat().st_size
    done = ward.finish(process)
    assert done.code == 126 and 'was revoked' in done.err
    assert log.stat().st_size == size


def test_a_supervisor_that_does_not_answer_is_ended(ward, outside):
    """Stopped by a signal it cannot let go: whoever takes the grant back does not wait for ever, and it ends."""
    rest = resting()
    process = give(ward, f'echo x > {outside}/f; sleep {rest}')
    assert rests(rest)
    process.send_signal(19)
    assert ward('grants', 'revoke', '--session', 'sitting').code == 0
    assert process.wait(timeout=60) == -9
    assert wait_until(lambda: resters(rest) == [])
    process.communicate()
