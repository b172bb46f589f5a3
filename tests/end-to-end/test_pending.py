# SPDX-License-Identifier: Apache-2.0
"""--wait, ward pending, ward approve and ward deny: questions that are answered from elsewhere."""
import json
import os
import signal

import pytest

from support import wait_until


@pytest.fixture
def outside(ward):
    path = ward.place / 'outside'
    path.mkdir()
    ward.person.own(path)
    return path


def pending(ward):
    done = ward('pending', '--json')
    assert done.code == 0, done
    return [json.loads(line) for line in done.out.splitlines()]


def waits(ward, count=1):
    """The questions, when there are so many."""
    found = []
    # One look, and no second: one that was answered goes when its asker has taken that.
    assert wait_until(lambda: found.append(pending(ward)) or len(found[-1]) == count)
    return found[-1]


def start(ward, script, *flags, wait='600s'):
    return ward.popen('run', '--wait', wait, *flags, '--', 'sh', '-c', script)


def test_a_yes_from_elsewhere_lets_the_call_go_on(ward, outside):
    process = start(ward, f'echo x > {outside}/f; echo done')
    question, = waits(ward)
    assert question['ask']['kind'] == 'in_place' and question['ask']['grants'] == [f'write {outside}/f']
    assert 'nonce' not in question
    assert f'{outside}/f' in ward('pending').out and question['id'] in ward('pending').out
    assert 'wants to write' in ward('pending', question['id'][:12]).out
    done = ward('approve', question['id'], '--reason', 'fine')
    assert done.code == 0 and f'write {outside}/f' in done.out
    done = ward.finish(process)
    assert done.code == 0 and done.out == 'done\n' and (outside / 'f').read_text() == 'x\n'
    answer = [record for record in ward.records() if record['kind'] == 'answer'][-1]
    assert answer['by'].split('@')[0] == ward.person.name and answer['answer'] == 'approve'
    assert pending(ward) == [] and ward('pending').out == 'nothing waits for an answer\n'
    assert list((ward.state / 'ward' / 'asks').iterdir()) == []


@pytest.mark.parametrize('target, level, reach, back', [
    ('home/.ssh/authorized_keys', 'high', 'home', True), ('home/.bashrc', 'high', 'home', True), ('home/notes', 'low', 'home', True),
    ('outside/.git/hooks/pre-commit', 'high', 'system', True), ('outside/.git/objects/ab', 'low', 'system', True),
    ('outside/new', 'low', 'system', True), ('outside/old', 'medium', 'system', False)])
def test_its_risk_is_also_that_of_what_a_yes_gives(plain, target, level, reach, back):
    """Whatever the command looks like; and whoever answers what is of high risk answers this."""
    for directory in ('outside', 'home/.ssh', 'outside/.git', 'outside/.git/hooks', 'outside/.git/objects'):
        (plain.place / directory).mkdir(exist_ok=True)
        plain.person.own(plain.place / directory)
    plain.file(plain.place / 'outside' / 'old', 'old')
    plain.file('script', 'echo x >> "$1"\n')
    plain.policy('approvers: {boss: ["user:nobody-here"]}\nroutes:\n  - {when: {risk: [high]}, steps: [{from: boss}]}\n')
    process = plain.popen('run', '--wait', '600s', '--', 'sh', 'script', str(plain.place / target))
    question, = waits(plain)
    risk = question['ask']['risk']
    assert (risk['level'], risk['blast_radius']['files'], risk['reversible']) == (level, reach, back), question
    assert bool(risk['reasons']) == bool(risk['categories']) == (level == 'high')
    assert ('route' in question['ask']) == (level == 'high')
    assert question['ask']['rollback']['can_rollback'] is back
    assert (plain('approve', question['id']).code == 0) == (level != 'high')
    if level == 'high':
        process.kill()
    plain.finish(process)


def test_a_no_comes_with_its_reason(ward, outside):
    process = start(ward, f'echo x > {outside}/f')
    question, = waits(ward)
    assert ward('deny', question['id'], '--reason', 'not there').code == 0
    done = ward.finish(process)
    assert done.code != 0 and 'not there' in done.err and not (outside / 'f').exists()


def test_what_is_asked_before_it_runs_waits_too(ward):
    process = start(ward, 'git push --force origin main')
    question, = waits(ward)
    assert question['ask']['kind'] == 'before'
    assert ward('deny', question['id'], '--abort').code == 0
    assert ward.finish(process).code == 126


def test_nobody_in_time_is_a_no(ward, outside):
    done = ward('run', '--wait', '300ms', '--', 'sh', '-c', 'git push --force origin main')
    assert done.code == 126 and 'nobody has answered in 0.3 s' in done.err


def test_what_is_no_answer_to_it_is_refused_and_it_stands(ward, outside):
    process = start(ward, f'echo x > {outside}/f')
    question, = waits(ward)
    done = ward('deny', question['id'], '--scope', 'always')
    assert done.code == 125 and 'no answer to this question' in done.err
    for words, said in (((question['id'], '--unsandboxed'), 'no answer to this question'),
                        ((question['id'], '--extent', '99'), 'extent'), ((question['id'], '--scope', 'soon'), "'soon'"),
                        (('zzz',), "no question 'zzz'"), ((), 'needs the ID')):
        done = ward('approve', *words)
        assert done.code == 125 and said in done.err, done
    assert [entry['id'] for entry in pending(ward)] == [question['id']]
    assert ward('approve', question['id'], '--scope', '30m').code == 0
    assert ward.finish(process).code == 0
    grant, = [json.loads(line) for line in ward('grants', '--json').out.splitlines()]
    assert grant['permissions'] == [f'write {outside}/f'] and grant['expires']


def test_an_answer_that_was_altered_or_kept_from_another_question_counts_for_nothing(ward, outside):
    process = start(ward, f'echo x > {outside}/f; echo y > {outside}/g')
    asks = ward.state / 'ward' / 'asks'
    question, = waits(ward)
    entry = json.loads((asks / question['id']).read_text())
    for forged in ({**entry, 'nonce': entry['id']}, {**entry, 'hash': '0' * 64}, {'answer': {}}, []):
        if isinstance(forged, dict) and 'ask' in forged:
            forged = {'nonce': forged['nonce'], 'hash': forged['hash'], 'answer': {'answer': 'approve', 'scope': 'once'}}
        ward.file(asks / f'{question["id"]}.answer', json.dumps(forged))
        assert wait_until(lambda: not (asks / f'{question["id"]}.answer').exists())
    assert not (outside / 'f').exists() and process.poll() is None
    right = {'nonce': entry['nonce'], 'hash': entry['hash'], 'answer': {'answer': 'approve', 'scope': 'once'}}
    ward.file(asks / f'{question["id"]}.answer', json.dumps(right))
    assert wait_until((outside / 'f').exists)
    second, = waits(ward)
    assert second['id'] != question['id']
    ward.file(asks / f'{second["id"]}.answer', json.dumps(right))
    assert wait_until(lambda: not (asks / f'{second["id"]}.answer').exists())
    assert not (outside / 'g').exists()
    assert ward('deny', second['id']).code == 0
    ward.finish(process)


def sparse(path):
    with open(path, 'w') as file:
        file.truncate(10 << 30)


THINGS = {'fifo': os.mkfifo, 'directory': os.mkdir, 'sparse': sparse, 'junk': lambda path: path.write_text('{'),
          'link': lambda path: path.symlink_to('/dev/zero'), 'loose': lambda path: path.symlink_to('nothing')}


@pytest.mark.parametrize('thing', THINGS)
def test_whatever_lies_among_the_questions_keeps_nobody_waiting(plain, thing):
    outside = plain.place / 'outside'
    outside.mkdir()
    plain.person.own(outside)
    process = start(plain, f'echo x > {outside}/f')
    question, = waits(plain)
    asks = plain.state / 'ward' / 'asks'
    THINGS[thing](asks / ('0' * 26))  # what looks like another question
    assert [entry['id'] for entry in pending(plain)] == [question['id']]
    answer = asks / f'{question["id"]}.answer'
    THINGS[thing](answer)
    assert wait_until(lambda: not os.path.lexists(answer))
    other = plain.file('other', 'mine')
    (asks / f'{question["id"]}.wake').unlink()
    os.link(other, asks / f'{question["id"]}.wake')
    assert plain('approve', question['id']).code == 0
    assert plain.finish(process).code == 0 and (outside / 'f').exists()
    assert other.read_text() == 'mine'


def test_an_answer_is_not_to_whatever_begins_alike(ward, outside):
    """A command that takes one question back and puts another must not get the yes that was to the first."""
    process = start(ward, f'echo x > {outside}/f')
    question, = waits(ward)
    for verb in ('approve', 'deny'):
        done = ward(verb, question['id'][:10])
        assert done.code == 125 and 'what is asked next' in done.err, done
    assert ward('approve', question['id'][:14]).code == 0
    assert ward.finish(process).code == 0 and (outside / 'f').exists()


def test_the_first_answer_counts(ward, outside):
    process = start(ward, f'echo x > {outside}/f')
    question, = waits(ward)
    os.kill(process.pid, signal.SIGSTOP)
    assert ward('deny', question['id']).code == 0
    done = ward('approve', question['id'])
    assert done.code == 125 and f'answered already: deny by {ward.person.name}, at 20' in done.err, done
    os.kill(process.pid, signal.SIGCONT)
    assert ward.finish(process).code != 0 and not (outside / 'f').exists()


def test_whoever_comes_too_late_hears_who_answered_what_and_when(ward, outside):
    for verb, said in (('deny', 'deny, once'), ('approve', 'approve, session')):
        process = start(ward, f'echo x > {outside}/{verb}')
        question, = waits(ward)
        more = ('--scope', 'session') if verb == 'approve' else ()
        assert ward(verb, question['id'], '--reason', 'so it is', *more).code == 0
        ward.finish(process)
        for again in ('approve', 'deny'):
            done = ward(again, question['id'])
            assert done.code == 125, done
            assert f'answered already: {said} by {ward.person.name}, at 20' in done.err and 'so it is' in done.err, done
    done = ward('approve', '0' * 26)
    assert done.code == 125 and 'no question' in done.err


def test_a_question_goes_with_whoever_asked(ward, outside):
    process = start(ward, f'echo x > {outside}/f')
    question, = waits(ward)
    process.kill()
    ward.finish(process)
    assert wait_until(lambda: pending(ward) == [])
    done = ward('approve', question['id'])
    assert done.code == 125 and 'waits for an answer' in done.err
    assert list((ward.state / 'ward' / 'asks').iterdir()) == []


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_who_was_told_to_end_asks_no_more(ward, outside, number):
    """Also where the command ends in its own way: whether it may try again is no question then."""
    process = start(ward, f"trap 'exit 3' INT TERM HUP; echo x > {outside}/f; sleep 300 & wait")
    waits(ward)
    os.kill(process.pid, number)
    assert ward.finish(process).code == 3


def test_several_wait_and_each_gets_its_own_answer(ward, outside):
    runs = {name: start(ward, f'echo x > {outside}/{name}') for name in ('a', 'b', 'c')}
    for question in waits(ward, 3):
        name = question['ask']['object'][-1]
        assert ward('deny' if name == 'b' else 'approve', question['id']).code == 0
    codes = {name: ward.finish(process).code for name, process in runs.items()}
    assert codes['a'] == codes['c'] == 0 and codes['b'] != 0
    assert sorted(path.name for path in outside.iterdir()) == ['a', 'c']


def test_a_command_cannot_reach_the_questions(ward, outside):
    process = start(ward, f'ls {ward.state}/ward/asks; {ward.binary} approve "$(ls {ward.state}/ward/asks | head -1)"; echo x > {outside}/f')
    question, = waits(ward)
    assert ward('deny', question['id']).code == 0
    assert ward.finish(process).code != 0 and not (outside / 'f').exists()


def test_the_policy_can_say_how_long(ward, outside):
    ward.policy('wait: 10m\n')
    process = ward.popen('run', '--', 'sh', '-c', f'echo x > {outside}/f')
    question, = waits(ward)
    assert ward('approve', question['id']).code == 0
    assert ward.finish(process).code == 0 and (outside / 'f').exists()


def test_a_project_cannot_make_anybody_wait(ward):
    ward.file('.ward.yaml', 'wait: 10m\n')
    done = ward('run', '--', 'sh', '-c', 'git push --force origin main')
    assert done.code == 126 and 'nobody can be asked here' in done.err
