# SPDX-License-Identifier: Apache-2.0
"""The life of questions and tickets, held against a model: random steps, and whoever is at it killed at random moments.

Every command leaves a line when it runs, so that one that ran twice, or that ran without a yes, is seen."""
import json
import os
import pathlib
import random
import signal
import time

import pytest

from daemon import Daemon, Refused
from support import wait_until
from test_defer import ASKED, pending, tickets

OPEN = ('waiting', 'running')


class Job:
    """One request as the model knows it."""

    def __init__(self, number, process=None):
        self.number, self.process = number, process
        self.question = self.ticket = None  # their ids
        self.said = None  # what was said to it for sure: approve or deny
        self.perhaps = set()  # what whoever was killed while he said it may have said
        self.asker_killed = self.keeper_killed = self.cancelled = False
        self.deferred = False  # somebody said so, or may have
        self.over = process is None  # the caller has its result, or is gone; the daemon's have a ticket instead
        self.unsure = False  # whoever was to make its ticket was killed


class World:
    def __init__(self, ward, seed):
        self.ward, self.random, self.jobs, self.kills, self.others = ward, random.Random(seed), [], 0, []
        self.marks = ward.work / 'marks'
        self.marks.mkdir()
        ward.person.own(self.marks)
        ward.policy(ASKED)
        self.daemon = Daemon(ward)

    # What there is.

    def runs(self, job):
        """How often its command has run."""
        path = self.marks / str(job.number)
        return len(path.read_text().splitlines()) if path.exists() else 0

    def open_jobs(self):
        return [job for job in self.jobs if not job.over]

    def questions(self):
        """Each once, by id."""
        found = pending(self.ward)
        ids = [one['id'] for one in found]
        assert len(ids) == len(set(ids)), ids
        owners = [one['ticket'] for one in found if 'ticket' in one]
        assert len(owners) == len(set(owners)), 'a ticket asks once at a time'
        return found

    def know(self):
        """Which question is whose; who has ended, with what."""
        standing = self.questions()
        for job in self.jobs:
            for one in standing:
                if one['ask']['command'].endswith(f'marks/{job.number}') and not job.question:
                    job.question = one['id']
            if not job.over and job.process.poll() is not None:
                self.take_end(job)
        return standing

    def take_end(self, job):
        job.over = True
        out = job.process.communicate()[0]
        if job.asker_killed:
            return
        result = json.loads(out)
        if job.process.returncode == 75:
            assert job.deferred and result['ticket']
            job.ticket = result['ticket']
            assert self.place(job).exists(), 'whoever got a ticket has one'
        elif job.process.returncode == 0:
            assert job.said == 'approve' or 'approve' in job.perhaps
            assert self.runs(job) == 1
        else:
            assert job.process.returncode == 126 and self.runs(job) == 0, result
            assert job.said == 'deny' or 'deny' in job.perhaps

    def place(self, job):
        return self.ward.state / 'ward' / 'tickets' / job.ticket

    def keeper(self, job):
        """Its number, if it lives and is none but that."""
        try:
            pid = int((self.place(job) / 'lock').read_text())
            words = pathlib.Path(f'/proc/{pid}/cmdline').read_bytes().split(b'\0')
            return pid if b'keep' in words and job.ticket.encode() in words else None
        except (OSError, ValueError):
            return None

    # What may happen.

    def ask(self):
        if len(self.open_jobs()) > 4:
            return
        number = len(self.jobs)
        process = self.ward.popen('run', '--wait', '600s', '--json', '-c',
                                  f'touch made; echo run >> marks/{number}')
        self.jobs.append(Job(number, process))

    def ask_daemon(self, kill=False):
        """A ticket from the start, by way of the daemon."""
        job = Job(len(self.jobs))
        self.jobs.append(job)
        client = self.daemon.agent()
        number = client.send('start', command=f'touch made; echo run >> marks/{job.number}', workspace=str(self.ward.work))
        if kill:
            self.kill_daemon()
        try:
            job.ticket = client.answer(number)['ticket']
            assert self.place(job).exists(), 'whoever got a ticket has one'
        except (AssertionError, OSError) as failure:
            assert kill, failure
            job.unsure = True
        client.close()

    def ask_daemon_that_dies(self):
        self.ask_daemon(kill=True)

    def kill_daemon(self):
        time.sleep(self.random.uniform(0, 0.01))
        self.daemon.kill()
        self.kills += 1
        assert wait_until(self.serves_again)

    def serves_again(self):
        """A child that worked for the one who was killed may hold its place for a moment."""
        try:
            self.daemon.start()
            return True
        except AssertionError as failure:
            assert b'serves' in failure.args[0], failure
            self.daemon.kill()
            return False

    def say_by_daemon(self, word, job, kill):
        client = self.daemon.approver()
        number = client.send(word, ask=job.question)
        if kill:
            self.kill_daemon()
        try:
            client.answer(number)
            return 0
        except Refused:
            return 125
        except (AssertionError, OSError) as failure:
            assert kill, failure
            return 1
        finally:
            client.close()

    def answerable(self):
        return [job for job in self.jobs if job.question and not job.said and not job.cancelled
                and (not job.over or job.ticket)]

    def say_by_program(self, word, job, kill):
        process = self.ward.popen(word, job.question)
        if kill:
            time.sleep(self.random.uniform(0, 0.006))
            self.kill(process.pid)
        return self.ward.finish(process).code

    def say(self, word, job, kill=False):
        way = self.random.choice([self.say_by_program, self.say_by_daemon])
        code = way(word, job, kill)
        if code == 0 and word == 'defer':
            job.deferred = True
        elif code == 0:
            job.said = word
        elif kill and word == 'defer':
            job.deferred = True
        elif kill:
            job.perhaps.add(word)
        return code

    def answer(self, kill=False):
        self.know()
        jobs = self.answerable()
        if jobs:
            job = self.random.choice(jobs)
            word = self.random.choice(['approve', 'approve', 'approve', 'deny'])
            self.say(word, job, kill)

    def answer_and_die(self):
        self.answer(kill=True)

    def defer(self, kill=False):
        self.know()
        jobs = [job for job in self.answerable() if not job.ticket and not job.over]
        if jobs:
            self.say('defer', self.random.choice(jobs), kill)

    def defer_and_die(self):
        self.defer(kill=True)

    def answer_twice(self):
        """What was answered stays so."""
        jobs = [job for job in self.jobs if job.said]
        if jobs:
            job = self.random.choice(jobs)
            assert self.ward(self.random.choice(['approve', 'deny']), job.question).code == 125

    def cancel(self):
        jobs = [job for job in self.jobs if job.ticket and not job.said and not job.perhaps]
        if jobs and self.random.random() < 0.2:
            job = self.random.choice(jobs)
            job.cancelled = True
            assert self.ward('wait', '--cancel', job.ticket).code == 0

    def wait(self):
        jobs = [job for job in self.jobs if job.ticket]
        if jobs:
            self.others.append(self.ward.popen('wait', self.random.choice(jobs).ticket))

    def kill(self, pid):
        try:
            os.kill(pid, signal.SIGKILL)
            self.kills += 1
        except ProcessLookupError:
            pass

    def kill_asker(self):
        self.know()
        jobs = self.open_jobs()
        if jobs:
            job = self.random.choice(jobs)
            time.sleep(self.random.uniform(0, 0.02))
            if job.process.poll() is None:
                job.asker_killed = True
                self.kill(job.process.pid)
                job.process.wait()

    def kill_keeper(self):
        self.know()
        jobs = [job for job in self.jobs if job.ticket]
        self.random.shuffle(jobs)
        for job in jobs:
            time.sleep(self.random.uniform(0, 0.01))
            pid = self.keeper(job)
            if pid:
                job.keeper_killed = True
                self.kill(pid)
                return

    def kill_waiter(self):
        for process in self.others:
            if process.poll() is None:
                self.kill(process.pid)
                process.communicate()
        self.others = []

    def step(self):
        steps = {self.ask: 6, self.ask_daemon: 2, self.ask_daemon_that_dies: 1, self.kill_daemon: 1, self.answer: 4, self.answer_and_die: 2, self.defer: 5, self.defer_and_die: 1,
                 self.answer_twice: 1, self.cancel: 1, self.wait: 1, self.kill_asker: 1, self.kill_keeper: 6,
                 self.kill_waiter: 1}
        self.random.choices(list(steps), list(steps.values()))[0]()

    # What must have become of it.

    def settle(self):
        """Nobody is killed any more: what was not answered is, and all comes to its end."""
        for job in self.open_jobs():
            def asked_or_over():
                self.know()
                return job.over or job.question
            assert wait_until(asked_or_over)
            if not job.over and not job.said:
                if self.say('deny', job) != 0:
                    assert job.perhaps or job.deferred
            assert wait_until(lambda: (self.know(), job.over)[1])
        known = {one['command'].split('/')[-1]: one['ticket'] for one in tickets(self.ward)}
        for job in self.jobs:
            if str(job.number) in known and not job.ticket:
                # Its caller was killed before it was told.
                assert job.unsure or (job.asker_killed and job.deferred)
                job.ticket = known[str(job.number)]
            if job.ticket:
                self.settle_ticket(job)

    def status(self, job):
        return next(one for one in tickets(self.ward) if one['ticket'] == job.ticket)

    def settle_ticket(self, job):
        def stands():
            return [one for one in self.questions() if one.get('ticket') == job.ticket]
        if self.status(job)['state'] == 'waiting' and not job.said:
            wait_until(lambda: stands() or self.status(job)['state'] != 'waiting')
            self.know()
            for one in stands():
                assert one['id'] == job.question, 'it is asked under the same id'
                self.say('approve', job)
        done = self.ward('wait', job.ticket)
        state, runs = self.status(job)['state'], self.runs(job)
        allowed = {job.said} if job.said else job.perhaps
        if job.cancelled and state == 'cancelled':
            assert runs <= (1 if allowed & {'approve'} else 0)
        elif state == 'done':
            assert 'approve' in allowed and runs == 1 and done.code == 0
        elif state == 'denied':
            assert 'deny' in allowed and runs == 0 and done.code == 126
        else:
            assert state == 'lost' and 'approve' in allowed and job.keeper_killed and runs <= 1 and done.code == 125, state
            self.retry(job, runs)

    def retry(self, job, runs):
        assert self.ward('wait', '--retry', job.ticket).code == 0
        assert wait_until(lambda: [one for one in self.questions() if one.get('ticket') == job.ticket])
        assert self.ward('approve', job.question).code == 0
        assert self.ward('wait', job.ticket).code == 0 and self.runs(job) == runs + 1

    def close(self):
        self.kill_waiter()
        self.daemon.end()
        for job in self.jobs:
            if job.process and job.process.poll() is None:
                job.process.kill()
                job.process.communicate()


def live(ward, seed, kills):
    world = World(ward, seed)
    end = time.monotonic() + max(120, kills * 2)
    try:
        while world.kills < kills and time.monotonic() < end:
            world.step()
            assert len([job for job in world.jobs if job.ticket]) < 190, 'results are kept so long'
        world.settle()
    finally:
        world.close()
    assert world.questions() == []
    asks = ward.state / 'ward' / 'asks'
    for name in asks.iterdir():
        assert '.' in name.name, 'a question that nobody wants to have'
        os.utime(name, (0, 0), follow_symlinks=False)  # what was never whole goes after a minute
    assert world.questions() == [] and [name for name in os.listdir(asks) if not name.startswith('.')] == []
    assert not list((ward.state / 'ward' / 'tickets').glob('*/request.json'))
    assert ward.verify().code == 0
    return world


@pytest.mark.parametrize('seed', range(2))
def test_nothing_is_lost_and_nothing_doubled_whoever_is_killed(plain, seed):
    world = live(plain, seed, kills=25)
    assert world.kills >= 25


@pytest.mark.soak
@pytest.mark.parametrize('seed', range(100, 120))
def test_nothing_is_lost_and_nothing_doubled_in_the_long_run(plain, seed):
    world = live(plain, seed, kills=50)
    assert world.kills >= 50
