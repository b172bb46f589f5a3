# SPDX-License-Identifier: Apache-2.0
"""The deliverer killed at any moment: nothing is lost, and no id ever means two things."""
import contextlib
import os
import random
import signal
import time

import pytest

from receiver import SECRET, deliverers, end_deliverers, jobs, pending, receiving
from support import wait_until

RULE = 'rules: [{command: "printf **", do: ask, why: the test}]\nnotify:\n  approvers:\n'


@pytest.fixture
def receiver():
    with receiving() as server:
        yield server


@pytest.fixture
def plain(plain):
    plain.file(plain.home / 'secret', SECRET + '\n', 0o600)
    yield plain
    end_deliverers(plain)


def kill(pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def told_of(ward, receiver, question):
    """The channels that were told of the question. Where nobody is left to tell them, the next run starts somebody."""
    if not deliverers(ward):
        assert ward.run('true').code == 0
    return {body['channel'] for body in receiver.bodies() if body['event'] == 'asked' and body['question']['id'] == question['id']}


def test_killed_at_random_it_loses_nothing_and_no_id_means_two_things(plain, receiver):
    chance = random.Random(20261116)
    statuses = [204, 500, 204, 503, 429, 204]
    receiver.reply = lambda number: (statuses[number % len(statuses)], {}, b'')
    plain.policy(RULE + ''.join(f'    - {{name: team-{i}, webhook: "{receiver.url}", secret_file: "{plain.home}/secret", backoff: 10ms, attempts: 20}}\n'
                                for i in range(3)))
    asked = []
    for number in range(12):
        process = plain.popen('run', '--wait', '10m', '--', 'printf', f'{number}')
        # Sometimes both of its processes, mostly the one that works, again and again.
        for _ in range(chance.randrange(4)):
            time.sleep(chance.random() * 0.03)
            kill(deliverers(plain)[-1:] if chance.random() < 0.7 else deliverers(plain))
        assert wait_until(lambda: pending(plain))
        question, = pending(plain)
        asked.append(question['id'])
        assert wait_until(lambda: told_of(plain, receiver, question) == {'team-0', 'team-1', 'team-2'})
        assert plain('approve', question['id']).code == 0
        assert plain.finish(process).out == f'{number}'
    assert plain.run('true').code == 0
    assert wait_until(lambda: not jobs(plain))
    seen = {}
    for _, headers, body in receiver.seen:
        assert seen.setdefault(headers['Ward-Delivery'], body) == body
    told = [body for body in receiver.bodies() if body['event'] == 'asked']
    assert len({body['delivery'] for body in told}) == 3 * len(asked)
    assert {body['question']['id'] for body in told} == set(asked)


def test_the_one_that_works_is_followed_up_by_the_one_that_guards_it(plain, receiver):
    plain.policy(RULE + f'    - {{name: team, webhook: "{receiver.url}"}}\n')
    sleeper = plain.popen('run', '--', 'sleep', '300')
    try:
        assert wait_until(lambda: len(deliverers(plain)) == 2)
        guard, worker = sorted(deliverers(plain))
        kill([worker])
        assert wait_until(lambda: len(deliverers(plain)) == 2 and worker not in deliverers(plain))
        assert guard in deliverers(plain)
        process = plain.popen('run', '--', 'printf', 'x')
        assert wait_until(lambda: receiver.seen)
        plain('deny', pending(plain)[0]['id'])
        plain.finish(process)
    finally:
        kill([sleeper.pid])
        plain.finish(sleeper)


def test_there_is_one_for_all_runs_and_none_when_they_are_over(plain, receiver):
    plain.policy(RULE + f'    - {{name: team, webhook: "{receiver.url}"}}\n')
    runs = [plain.popen('run', '--', 'printf', f'{number}') for number in range(8)]
    assert wait_until(lambda: len(pending(plain)) == 8 and len(receiver.seen) == 8)
    assert len(deliverers(plain)) == 2  # it, and the one that guards it
    for question in pending(plain):
        assert plain('approve', question['id']).code == 0
    assert sorted(plain.finish(run).out for run in runs) == [str(number) for number in range(8)]
    assert wait_until(lambda: not deliverers(plain))
    # What is no message keeps nobody.
    (plain.state / 'ward' / 'notify' / 'out' / '01m7jtcqpq9505k6gd4gy0y6tr').write_text('{')
    run = plain.popen('run', '--', 'printf', 'x')
    assert wait_until(lambda: len(receiver.seen) == 9)
    assert plain('deny', pending(plain)[0]['id']).code == 0
    plain.finish(run)
    assert wait_until(lambda: not deliverers(plain))


def test_what_was_left_behind_is_sent_by_the_next(plain, receiver):
    receiver.reply = lambda number: (500, {}, b'')
    plain.policy(RULE + f'    - {{name: team, webhook: "{receiver.url}", backoff: 10ms, attempts: 20}}\n')
    process = plain.popen('run', '--', 'printf', 'x')
    assert wait_until(lambda: receiver.seen)
    end_deliverers(plain)
    plain('deny', pending(plain)[0]['id'])
    plain.finish(process)
    left = jobs(plain)
    assert [job['state'] for job in left] == ['waiting']
    receiver.reply = lambda number: (204, {}, b'')
    before = len(receiver.seen)
    assert plain.run('true').code == 0
    assert wait_until(lambda: not jobs(plain))
    assert len(receiver.seen) == before + 1 and receiver.seen[-1][1]['Ward-Delivery'] == left[0]['id']
