# SPDX-License-Identifier: Apache-2.0
"""ward watch: questions of runs without a terminal, answered at another one."""
import contextlib
import json
import os
import signal
import subprocess

import pexpect
import pytest

from support import Terminal, wait_until


@pytest.fixture
def outside(ward):
    path = ward.place / 'outside'
    path.mkdir()
    ward.person.own(path)
    return path


@pytest.fixture
def watch(ward):
    shell = Terminal(ward, rows=30, columns=120)
    shell.type('ward watch', 'nothing waits for an answer')
    yield shell
    shell.close(force=True)


def waits(ward):
    assert wait_until(lambda: ward('pending', '--json').out)
    return json.loads(ward('pending', '--json').out.splitlines()[0])


def open_first(watch, text):
    watch.expect_exact('1 question ')
    watch.send('\r')
    watch.expect_exact(text)
    watch.expect_exact('abort')
    watch.expect_exact('>')


def answered(process, watch, key):
    """A key counts only alone, and half a second after the question; until then it is dropped."""
    for _ in range(60):
        watch.send(key)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1)
            return True
    return False


def test_runs_without_a_terminal_ask_whoever_watches(ward, outside, watch):
    process = ward.popen('run', '--', 'sh', '-c', f'echo x > {outside}/f; echo done')
    waits(ward)
    open_first(watch, 'wants to write')
    assert answered(process, watch, 'y')
    done = ward.finish(process)
    assert done.code == 0 and done.out == 'done\n' and (outside / 'f').exists()
    answer = [record for record in ward.records() if record['kind'] == 'answer'][-1]
    assert answer['by'].startswith(f'{ward.person.name}@pts/')


def test_what_is_asked_before_it_runs_is_asked_there(ward, watch):
    process = ward.popen('run', '--', 'git', 'push', '--force')
    waits(ward)
    open_first(watch, 'may this command run?')
    assert answered(process, watch, 'n')
    assert ward.finish(process).code == 126


def test_who_leaves_a_question_has_not_answered_it(ward, outside, watch):
    process = ward.popen('run', '--wait', '600s', '--', 'sh', '-c', f'echo x > {outside}/f')
    question = waits(ward)
    open_first(watch, 'wants to write')
    for _ in range(20):
        watch.send('\x03')
        if watch.expect_exact(['1 question ', pexpect.TIMEOUT], timeout=3) == 0:
            break
    assert process.poll() is None
    watch.send('q')
    watch.ready()
    assert ward('approve', question['id']).code == 0
    assert ward.finish(process).code == 0


def test_when_nobody_watches_any_more_the_answer_is_no(ward, outside, watch):
    process = ward.popen('run', '--', 'sh', '-c', f'echo x > {outside}/f')
    waits(ward)
    watch.expect_exact('1 question ')
    watch.send('q')
    watch.ready()
    assert ward.finish(process).code != 0 and not (outside / 'f').exists()


def test_a_question_that_was_answered_elsewhere_goes_away(ward, outside, watch):
    process = ward.popen('run', '--wait', '600s', '--', 'sh', '-c', f'echo x > {outside}/f')
    question = waits(ward)
    open_first(watch, 'wants to write')
    assert ward('approve', question['id']).code == 0
    assert ward.finish(process).code == 0
    watch.expect_exact('0 questions')


def test_it_needs_a_terminal_and_leaves_it_as_it_was(ward, watch):
    done = ward('watch')
    assert done.code == 125 and 'needs a terminal' in done.err
    child = int(ward('-c', f'pgrep -s {os.getpgid(watch.pid)} -x ward | head -1', program='/bin/sh').out)
    os.kill(child, signal.SIGTERM)
    watch.ready()
    assert 'code 0' in watch.does('echo code $?')
    assert 'icanon' in watch.does('stty -a') and ' -icanon' not in watch.does('stty -a')
