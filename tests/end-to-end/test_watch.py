# SPDX-License-Identifier: Apache-2.0
"""ward watch: questions of runs without a terminal, answered at another one."""
import contextlib
import json
import os
import re
import select
import signal
import subprocess

import pexpect
import pytest

from support import PATIENCE, Terminal, Tmux, wait_until


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


@pytest.fixture
def tmux(ward):
    """ward watch in a real terminal of 80 by 24; PATH leads to ward."""
    screen = Tmux(ward, 80, 24)
    screen.keys(f'PATH={os.path.dirname(ward.binary)}:$PATH; ward watch', 'Enter')
    screen.shows('nothing waits for an answer')
    yield screen
    screen.end()


def chosen(tmux):
    return next((line for line in tmux.screen().splitlines() if line.startswith('>')), '')


def choose(tmux, text):
    """Goes down until the line with the text is chosen."""
    for _ in range(20):
        if text in chosen(tmux):
            return
        before = chosen(tmux)
        tmux.keys('Down')
        wait_until(lambda: chosen(tmux) != before, 10, 0.05)
    raise AssertionError(tmux.screen())


def test_questions_and_runs_are_seen_at_a_glance(ward, outside, tmux):
    ward.policy('rules: [{command: "printf **", do: ask, why: the test}]\n')
    runs = ward.popen('run', '--agent', 'robot', '--', 'sh', '-c', 'read line', stdin=subprocess.PIPE)
    asks = ward.popen('run', '--wait', '10m', '--agent', 'other', '--', 'printf', 'x')
    tmux.shows('1 question   2 running')
    screen = tmux.screen()
    assert len(screen.splitlines()) <= 24 and all(len(line) <= 80 for line in screen.splitlines())
    question = next(line for line in screen.splitlines() if line.startswith('>'))
    assert 'printf x' in question and 'other' in question and re.search('low|medium|high', question)
    assert re.search(r'\d+s  asks .* other: printf x', screen)
    assert wait_until(lambda: re.search(r'\d+s  runs .*[KM]iB  robot: sh -c ', tmux.screen()), PATIENCE, 0.1), tmux.screen()
    assert ward.finish(runs, b'\n').code == 0
    tmux.shows('1 question   1 running')
    assert re.search(r'\d\d:\d\d:\d\d  0  +robot: sh -c', tmux.screen())
    assert ward('deny', waits(ward)['id']).code == 0
    ward.finish(asks)
    tmux.shows('0 questions   0 running')


def test_a_run_is_seen_as_it_goes_on(ward, tmux):
    process = ward.popen('run', '--agent', 'robot', '--', 'sh', '-c', 'read line; echo x > /usr/ward-test-file; read line', stdin=subprocess.PIPE)
    tmux.shows('1 running')
    choose(tmux, 'robot')
    tmux.keys('Enter')
    tmux.shows('attempt.started 1 restricted')
    tmux.shows('is its caller')
    process.stdin.write(b'\n')
    process.stdin.flush()
    if ward.person.is_root:  # who may write there, and is asked about by whoever watches
        tmux.shows('asked grant')
        assert ward('deny', waits(ward)['id']).code == 0
    tmux.shows('denial write /usr/ward-test-file sh')
    process.stdin.close()
    tmux.shows('ended exited')
    tmux.keys('q')
    tmux.shows('0 questions   0 running')
    process.wait(PATIENCE)


def test_a_killed_run_is_seen_to_be(ward, tmux):
    process = ward.popen('run', '--agent', 'robot', '--', 'sleep', '600')
    tmux.shows('1 running')
    process.kill()
    process.communicate()
    tmux.shows('0 running')
    assert re.search('killed +robot: sleep 600', tmux.screen())


def test_type_ahead_approves_nothing(ward, outside, tmux):
    """Enter, y and Enter at once: the question opens, and what was typed before it could be read is dropped."""
    process = ward.popen('run', '--wait', '10m', '--', 'sh', '-c', f'echo x > {outside}/f')
    tmux.shows('1 question')
    tmux.keys('Enter', 'y', 'y', 'Enter')
    tmux.shows('wants to write')
    tmux.shows('abort')
    assert process.poll() is None and not (outside / 'f').exists() and waits(ward)
    for _ in range(60):
        tmux.keys('n')
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1)
            break
    assert not (outside / 'f').exists()
    ward.finish(process)


def test_a_yes_with_a_reason_and_a_no_with_one(ward, outside, tmux):
    process = ward.popen('run', '--wait', '10m', '--', 'sh', '-c', f'echo x > {outside}/f')
    tmux.shows('1 question')
    tmux.keys('Enter')
    tmux.shows('abort')
    for _ in range(60):  # s: for the session
        tmux.keys('s')
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1)
            break
    assert ward.finish(process).code == 0 and (outside / 'f').exists()
    assert [r['scope'] for r in ward.records() if r['kind'] == 'answer'] == ['session']
    tmux.shows('0 questions')


def test_the_window_may_change(ward, tmux):
    for number in range(40):
        ward.run('echo', f'number-{number}')
    tmux.shows('number-39')
    for columns, rows in ((120, 40), (40, 10), (20, 5), (80, 24)):
        tmux('resize-window', '-t', 't', '-x', str(columns), '-y', str(rows))
        assert wait_until(lambda: tmux.screen().startswith('ward watch: 0 qu'), PATIENCE, 0.1), tmux.screen()
        assert all(len(line) <= columns for line in tmux.screen().splitlines())
    tmux.shows('more')


def test_text_of_agents_cannot_leave_its_place(ward, tmux):
    process = ward.popen('run', '--agent', 'robot', '--', 'sh', '-c', 'read line', '\x1b[2J\x1b[1;1Hward watch: all is well\u202e\n\r', stdin=subprocess.PIPE)
    tmux.shows('1 running')
    screen = tmux.screen()
    assert '\\x1b[2J' in screen or '\\033[2J' in screen or '\\E[2J' in screen, screen
    assert not any(line.startswith('ward watch: all is well') for line in screen.splitlines()) and '\u202e' not in screen
    ward.finish(process, b'\n')


@pytest.mark.parametrize('how', [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGSEGV, signal.SIGABRT])
def test_the_terminal_is_given_back_however_it_ends(ward, tmux, how):
    pid = int(ward('-c', 'pgrep -f "^ward watch$" -n', program='/bin/sh').out)
    os.kill(pid, how)
    tmux.shows('READY>')
    tmux.keys('echo modes $(stty -a | grep -o " .\\?icanon\\| .\\?echo " | tr -d "\\n")', 'Enter')
    assert wait_until(lambda: re.search('modes +icanon +echo', tmux.screen()), PATIENCE, 0.1), tmux.screen()


def test_it_can_be_stopped_and_goes_on(ward, tmux):
    tmux.keys('C-z')
    tmux.shows('Stopped')
    tmux.keys('echo modes $(stty -a | grep -o " .\\?icanon")', 'Enter')
    assert wait_until(lambda: re.search('modes +icanon', tmux.screen()), PATIENCE, 0.1), tmux.screen()
    tmux.keys('fg', 'Enter')
    tmux.shows('nothing waits for an answer')
    ward.run('echo', 'after-the-stop')
    tmux.shows('after-the-stop')
    tmux.keys('C-c')
    tmux.shows('READY>')


def test_lines_where_the_terminal_can_do_no_more(ward, outside):
    shell = Terminal(ward, rows=30, columns=200, TERM='dumb')
    try:
        shell.sendline('ward watch')
        assert wait_until(lambda: ward('-c', 'pgrep -f "^ward watch$"', program='/bin/sh').out)
        process = ward.popen('run', '--agent', 'robot', '--wait', '10m', '--', 'sh', '-c', f'echo x > {outside}/f')
        shell.expect('question .*ward approve ([0-9a-z]{26}), ward deny')
        assert '\x1b' not in shell.before + shell.after
        assert ward('approve', shell.match.group(1)).code == 0
        shell.expect_exact('answered approve once')
        shell.expect_exact('ended exited 0')
        ward.finish(process)
        shell.send('\x03')
        shell.ready()
    finally:
        shell.close(force=True)


def test_lines_to_a_file_make_nobody_wait(ward, outside):
    """Who writes a log answers nothing: a run without a terminal is refused at once, as before."""
    process = ward.popen('watch', '--lines')
    line = b''
    while b'ended' not in line:  # it may begin after some of the runs
        assert ward.sh(f'echo x > {outside}/f').code != 0
        if select.select([process.stdout], [], [], 1)[0]:
            line += os.read(process.stdout.fileno(), 65536)
    assert b'asked' not in line
    process.kill()
    process.communicate()


def test_the_output_of_a_ticket_is_seen_as_it_comes(ward, tmux):
    ward.policy('rules: [{command: "touch **", do: ask, why: the test}]\n')
    process = ward.popen('run', '--wait', '10m', '--agent', 'robot', '-c',
                         'touch begun; echo first-line; while [ ! -e more ]; do sleep 0.1; done; echo second-line')
    assert ward('defer', waits(ward)['id']).code == 0
    assert ward.finish(process).code == 75
    assert wait_until(lambda: any('ticket' in json.loads(line) for line in ward('pending', '--json').out.splitlines()))
    assert ward('approve', waits(ward)['id']).code == 0
    # A screen that is late shows the run that was put off itself: it has no question any more, and runs until it has ended.
    assert wait_until(lambda: re.search(r'0 questions   1 running(.|\n)*\d\d:\d\d:\d\d  deferred ', tmux.screen()), PATIENCE, 0.1), tmux.screen()
    choose(tmux, 'runs')
    tmux.keys('Enter')
    tmux.shows('the end of its output (ticket ')
    assert wait_until(lambda: re.search('^  first-line', tmux.screen(), re.MULTILINE), PATIENCE, 0.1), tmux.screen()
    ward.file('more')
    assert wait_until(lambda: re.search('^  second-line', tmux.screen(), re.MULTILINE), PATIENCE, 0.1), tmux.screen()
    tmux.keys('q', 'q')
    tmux.shows('READY>')
