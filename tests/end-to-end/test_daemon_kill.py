# SPDX-License-Identifier: Apache-2.0
"""The daemon is killed at random moments while clients run commands, wait for them and answer. Nothing is lost, nothing doubled:
each command runs exactly once, each has its result, and no answered question is asked again."""
import random
import threading
import time

import pytest

from daemon import Client, Daemon, Refused
from support import PATIENCE


class Hard:
    """A client that does not give up: where the daemon has gone it connects again."""

    def __init__(self, path):
        self.path, self.client = path, None

    def call(self, method, /, **params):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                if not self.client:
                    self.client = Client(self.path)
                return self.client.call(method, **params)
            except (OSError, AssertionError):
                if self.client:
                    self.client.close()
                self.client = None
                time.sleep(0.01)
        raise AssertionError('the daemon did not come back')


def work_through(daemon, ward, number, faults):
    """One agent: a command that is asked about, begun over a connection that may break at any word."""
    try:
        agent, mark = Hard(daemon.directory / 'agent.sock'), ward.home / f'mark-{number}'
        before = {status['ticket'] for status in agent.call('tickets', limit=1000)['tickets']
                  if status['session'] == f's{number}'}
        assert not before
        request = {'command': f'echo {number} >> {mark}', 'workspace': str(ward.work), 'session': f's{number}'}
        ticket = None
        while not ticket:
            try:
                if not agent.client:
                    agent.client = Client(agent.path)
                ticket = agent.client.call('start', **request)['ticket']
            except (OSError, AssertionError):
                agent.client = None
                # Whether it was begun the list says; it is not begun twice.
                mine = [status['ticket'] for status in agent.call('tickets', limit=1000)['tickets'] if status['session'] == f's{number}']
                assert len(mine) <= 1, mine
                ticket = mine[0] if mine else None
        told = agent.call('wait', ticket=ticket)
        assert told['status']['state'] == 'done' and told['result']['exit_code'] == 0, told
        assert mark.read_text() == f'{number}\n'
    except BaseException as fault:  # noqa: B902
        faults.append(fault)


def answer_all(daemon, stop, answered, faults):
    approver = Hard(daemon.directory / 'approver.sock')
    try:
        while not stop.is_set():
            for ask in approver.call('pending', limit=1000)['asks']:
                try:
                    approver.call('approve', ask=ask['id'], hash=ask['hash'], scope='once')
                    answered.append((ask['id'], ask['ask']['command']))
                except Refused:
                    pass  # it was answered: we did not hear of it
            time.sleep(0.01)
    except BaseException as fault:  # noqa: B902
        faults.append(fault)


def storm(ward, agents, kills, name='one'):
    daemon = Daemon(ward)
    stop, answered, faults = threading.Event(), [], []
    try:
        clients = [threading.Thread(target=work_through, args=(daemon, ward, f'{name}-{number}', faults)) for number in range(agents)]
        approver = threading.Thread(target=answer_all, args=(daemon, stop, answered, faults))
        for thread in [*clients, approver]:
            thread.start()
        for _ in range(kills):
            time.sleep(random.uniform(0, 0.15))
            daemon.kill()
            daemon.start()
        for thread in clients:
            thread.join(2 * PATIENCE)
        stop.set()
        approver.join(PATIENCE)
    finally:
        stop.set()
        daemon.end()
    assert not faults, faults
    commands = [command for _, command in answered]
    assert len(commands) == len(set(commands)), 'something was asked twice'
    return daemon


def test_kills_lose_nothing_and_double_nothing(plain):
    storm(plain, agents=6, kills=10)


@pytest.mark.soak
def test_many_kills_lose_nothing_and_double_nothing(plain):
    for number in range(20):
        storm(plain, agents=20, kills=50, name=number)
