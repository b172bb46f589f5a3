# SPDX-License-Identifier: Apache-2.0
"""Fewer questions: a burst is one with a list, and what several runs want alike is one. Nothing grave hides in either."""
import json

import jsonschema
import pytest

from daemon import serving
from support import SOURCE, Terminal, wait_until
from test_asking import ASKED, press
from test_pending import pending, waits

ASK = json.loads((SOURCE / 'docs' / 'ask.schema.json').read_text())

# Every path (or host:port) is tried by a thread of its own; all begin at once, and what came of each is printed at the end.
BURST = '''
import socket, sys, threading
targets, done, gate = sys.argv[1:], {}, threading.Barrier(len(sys.argv) - 1)
def attempt(target):
    gate.wait()
    try:
        if target.startswith('connect '):
            host, port = target[8:].rsplit(':', 1)
            socket.create_connection((host, int(port)), 20).close()
        else:
            open(target, 'a').write('x')
        done[target] = 'yes'
    except OSError as error:
        done[target] = 'no'
threads = [threading.Thread(target=attempt, args=(target,)) for target in targets]
for thread in threads: thread.start()
for thread in threads: thread.join()
for target in targets: print(target.rsplit('/', 1)[-1], done[target])
'''


@pytest.fixture
def ward(plain):
    return plain


@pytest.fixture
def outside(ward):
    path = ward.place / 'outside'
    path.mkdir()
    ward.person.own(path)
    return path


def burst(ward, *targets):
    ward.file('burst.py', BURST)
    return ward.popen('run', '--wait', '600s', '--', '/usr/bin/python3', '-I', 'burst.py', *map(str, targets))


def together(ward, *targets):
    """A burst that came together: a machine that is busy may need more than one try."""
    for _ in range(10):
        process = burst(ward, *targets)
        question, = waits(ward)
        if len(question['ask']['grants']) == len(targets):
            return process, question
        assert ward('deny', question['id'], '--abort').code == 0
        ward.finish(process)
    pytest.fail('never together')


def test_a_burst_is_one_question_with_a_list(ward, outside):
    files = [outside / name for name in 'abc']
    process, question = together(ward, *files)
    asked = question['ask']
    jsonschema.validate(asked, ASK)
    assert sorted(asked['grants']) == [f'write {file}' for file in files] and asked['editable']
    assert len(asked['wants']) == 3 and all('a new file (python3)' in want for want in asked['wants'])
    for file in files:
        assert f'write {file}' in asked['text']
    assert 'python3 wants 3 things at once' in asked['text'] and 'extents' not in asked
    assert asked['summary'] == 'python3 wants 3 things at once' and 'python3 goes on with 3 things at once' in asked['what_will_happen']
    assert ward('approve', question['id']).code == 0
    assert ward.finish(process).out == 'a yes\nb yes\nc yes\n'
    assert all(file.read_text() == 'x' for file in files)
    assert [record['kind'] for record in ward.records()].count('ask') >= 1
    last = [record for record in ward.records() if record['kind'] == 'answer'][-1]
    assert sorted(last['grants']) == [f'write {file}' for file in files]


def test_entries_can_be_taken_out(ward, outside):
    files = [outside / name for name in 'abc']
    process, question = together(ward, *files)
    assert ward('approve', question['id'], '--grant', f'write {outside}/d').code != 0
    assert ward('approve', question['id'], '--grant', f'write {outside}/b').code == 0
    done = ward.finish(process)
    assert done.out == 'a no\nb yes\nc no\n' and not files[0].exists() and files[1].exists()
    assert pending(ward) == []


def test_a_no_is_to_all_of_it(ward, outside):
    process, question = together(ward, *[outside / name for name in 'abc'])
    assert ward('deny', question['id'], '--reason', 'not there').code == 0
    done = ward.finish(process)
    assert done.out == 'a no\nb no\nc no\n' and done.err.count('not there') == 1
    assert pending(ward) == [] and list(outside.iterdir()) == []


def grave(asked):
    """What a question about one thing alone is about."""
    assert 'wants' not in asked and len(asked['grants']) == 1
    return asked['grants'][0]


def test_nothing_grave_hides_in_a_list(ward, outside):
    (outside / 'old').write_text('precious')
    ward.person.own(outside / 'old')
    hidden = ward.home / '.profile'
    plain = [outside / name for name in 'abcdef']
    for _ in range(10):
        process = burst(ward, *plain[:3], hidden, *plain[3:], outside / 'old')
        alone, listed = set(), []
        while process.poll() is None:
            if not wait_until(lambda: pending(ward) or process.poll() is not None):
                break
            for question in pending(ward):
                asked = question['ask']
                if 'wants' in asked:
                    listed.append((set(asked['grants']), len(alone)))
                elif grave(asked) in (f'write {hidden}', f'write {outside}/old'):
                    alone.add(grave(asked))
                    assert asked['destroys'] == (grave(asked) == f'write {outside}/old')
                ward('deny', question['id'])
        ward.finish(process)
        assert alone == {f'write {hidden}', f'write {outside}/old'}
        for grants, _ in listed:
            assert not grants & alone
        if listed and listed[-1][1] == 2:  # the grave ones came first
            break
    else:
        pytest.fail('never together')
    assert (outside / 'old').read_text() == 'precious' and not hidden.exists()


def test_a_list_is_bounded_and_the_rest_is_asked_after(ward, outside):
    files = [outside / f'{number}' for number in range(10)]
    process = burst(ward, *files)
    seen = []
    while process.poll() is None:
        if wait_until(lambda: pending(ward) or process.poll() is not None):
            for question in pending(ward):
                seen.append(question['ask']['grants'])
                assert len(seen[-1]) <= 8
                ward('approve', question['id'])
    assert ward.finish(process).out.count('yes') == 10
    assert sorted(sum(seen, [])) == sorted(f'write {file}' for file in files)


def test_at_a_terminal_the_list_is_shown_and_edited(ward, outside):
    ward.file('burst.py', BURST)
    desk = Terminal(ward, rows=40, columns=140)
    for _ in range(10):
        desk.sendline(f'ward run -- /usr/bin/python3 -I burst.py {outside}/a {outside}/b')
        desk.expect_exact(ASKED)
        if 'wants 2 things at once' in desk.before:
            break
        press(desk, 'q')
        desk.ready()
    assert f'write {outside}/a' in desk.before and f'write {outside}/b' in desk.before
    press(desk, 'e')
    drawn = r'gives: write \S+/[ab] *\rgives: write \S+/[ab]'  # a line is drawn twice
    desk.expect(drawn)
    desk.sendcontrol('u')
    desk.expect(r'gives: {20,}\rgives: ')
    desk.send('\r')
    desk.expect(drawn)
    desk.send('\r')
    desk.expect_exact(ASKED)
    press(desk, 'y')
    desk.ready()
    assert sorted(file.name for file in outside.iterdir()) in (['a'], ['b'])


# -- Several runs ------------------------------------------------------------------------------------

def start(ward, script, *flags):
    return ward.popen('run', '--wait', '600s', '--session', 's1', '--agent', 'robot', *flags, '--', 'sh', '-c', script)


def all_of(ward, count):
    """The question, once it stands for so many runs."""
    assert wait_until(lambda: [len(question.get('also', [])) for question in pending(ward)] == [count - 1])
    return pending(ward)[0]


def test_what_several_runs_want_alike_is_one_question(ward, outside):
    processes = [start(ward, f'echo x >> {outside}/f') for _ in range(3)]
    question = all_of(ward, 3)
    runs = {question['run'], *(other['run'] for other in question['also'])}
    assert len(runs) == 3 and all(other['run'] in ward('pending').out for other in question['also'])
    done = ward('approve', question['id'])
    assert done.code == 0 and all(other['run'] in done.out for other in question['also'])
    assert [ward.finish(process).code for process in processes] == [0, 0, 0]
    assert (outside / 'f').read_text() == 'x\n' * 3
    answers = [record for record in ward.records() if record['kind'] == 'answer']
    assert {answer['run'] for answer in answers} == runs and {answer['answer'] for answer in answers} == {'approve'}


def test_an_answer_goes_to_those_that_were_listed_and_no_others(ward, outside):
    processes = [start(ward, f'echo x >> {outside}/f') for _ in range(2)]
    question = all_of(ward, 2)
    late = start(ward, f'echo x >> {outside}/f')
    all_of(ward, 3)
    with serving(ward) as daemon:
        daemon.approver().call('approve', ask=question['id'], hash=question['hash'], also=[other['id'] for other in question['also']])
    assert [ward.finish(process).code for process in processes] == [0, 0]
    assert (outside / 'f').read_text() == 'x\n' * 2 and late.poll() is None
    rest, = pending(ward)
    assert 'also' not in rest
    ward('deny', rest['id'])
    assert ward.finish(late).code != 0


def test_what_differs_in_anything_that_counts_is_asked_apart(ward, outside):
    processes = [start(ward, f'echo x >> {outside}/f'), start(ward, f'echo y >> {outside}/f'), start(ward, f'echo x >> {outside}/g'),
                 start(ward, f'echo x >> {outside}/f', '--session', 's2'), start(ward, f'echo x >> {outside}/f', '--agent', 'other'),
                 start(ward, f'echo x >> {outside}/f', '--reason', 'because'),
                 # What no question says, and what a yes means all the same.
                 start(ward, f'echo x >> {outside}/f', '--net', 'full'), start(ward, f'echo x >> {outside}/f', '--env', 'A=b'),
                 start(ward, f'echo x >> {outside}/f', '--read', '/etc/shadow')]
    questions = waits(ward, 9)
    assert all('also' not in question for question in questions)
    for question in questions:
        assert ward('deny', question['id']).code == 0
    assert all(ward.finish(process).code != 0 for process in processes)


def test_others_that_are_not_alike_cannot_be_named(ward, outside):
    one, other = start(ward, f'echo x >> {outside}/f'), start(ward, f'echo x >> {outside}/g')
    first, second = sorted(waits(ward, 2), key=lambda question: question['ask']['grants'])
    with serving(ward) as daemon:
        daemon.approver().call('approve', ask=first['id'], hash=first['hash'], also=[second['id']])
    assert ward.finish(one).code == 0 and other.poll() is None and not (outside / 'g').exists()
    assert [question['id'] for question in pending(ward)] == [second['id']]
    ward('deny', second['id'])
    ward.finish(other)


def test_a_rule_for_good_is_written_once(ward, outside):
    processes = [start(ward, f'echo x >> {outside}/f') for _ in range(2)]
    question = all_of(ward, 2)
    assert ward('approve', question['id'], '--scope', 'always').code == 0
    assert [ward.finish(process).code for process in processes] == [0, 0]
    assert (ward.config / 'ward' / 'ward.yaml').read_text().count(f'{outside}/f') == 1 + 1  # command and permission
