# SPDX-License-Identifier: Apache-2.0
"""ward run as a job of a shell, and a shell with jobs under ward run."""
import os
import signal
import time

import pytest

from support import Terminal, Tmux, all_gone, marker, processes, resting, rests, wait_until


@pytest.fixture
def terminal(ward):
    terminal = Terminal(ward)
    yield terminal
    terminal.close(force=True)


@pytest.fixture
def screen(plain):
    terminal = Terminal(plain)
    yield terminal
    terminal.close(force=True)


def test_ctrl_z_stops_ward_and_fg_goes_on(terminal):
    before = terminal.does('stty -g')
    terminal.type("ward run -- sh -c 'echo go$((1)); read x; echo got-$x'", 'go1')
    time.sleep(0.2)
    terminal.send('\x1a')
    terminal.expect_exact('Stopped')
    terminal.ready()
    assert terminal.does('stty -g') == before
    assert 'Stopped' in terminal.does('jobs')
    terminal.type('fg', 'ward run')
    terminal.keyboard()
    terminal.type('hello', 'got-hello')
    terminal.ready()
    assert terminal.last_code() == 0
    assert terminal.does('stty -g') == before


def test_ctrl_z_again_and_again(screen):
    screen.type("ward run -- bash -c 'echo go$((1)); while read x; do echo got-$x; done'", 'go1')
    for round in range(5):
        time.sleep(0.1)
        screen.send('\x1a')
        screen.expect_exact('Stopped')
        screen.ready()
        screen.type('fg', 'ward run')
        screen.keyboard()
        screen.type(f'w{round}', f'got-w{round}')
    screen.sendeof()
    screen.ready()


def test_a_stopped_run_goes_on_in_the_background(screen):
    screen.type("ward run -- sh -c 'echo go$((1)); until [ -e go ]; do sleep 0.05; done; echo end$((2)); touch ended'", 'go1')
    time.sleep(0.1)
    screen.send('\x1a')
    screen.expect_exact('Stopped')
    screen.ready()
    screen.ward.file('go')
    time.sleep(0.5)
    assert not (screen.ward.work / 'ended').exists(), 'it was not stopped'
    screen.type('bg', 'end2')
    assert wait_until((screen.ward.work / 'ended').exists)
    screen.type('wait; echo alive$((1))', 'alive1')


def test_a_stopped_run_can_be_killed(screen):
    word = marker()
    screen.type(f"ward run -- sh -c 'echo go$((1)); sleep 300; :' {word}", 'go1')
    time.sleep(0.1)
    screen.send('\x1a')
    screen.expect_exact('Stopped')
    screen.ready()
    screen.does('kill -9 %1')
    assert all_gone(word)


@pytest.mark.parametrize('way', ['a key', 'a signal to ward'])
def test_a_stop_stops_the_command_and_fg_lets_it_go_on(screen, way):
    word = marker()
    loop = 'echo go$((1)); while [ ! -e stop ]; do echo $((++i)) > count; sleep 0.02; done; echo end$((2))'
    screen.type(f"ward run -- bash -c '{loop}' {word}", 'go1')
    count = screen.ward.work / 'count'
    assert wait_until(count.exists)
    if way == 'a key':
        screen.send('\x1a')
    else:
        ours = [pid for pid in processes(word) if os.readlink(f'/proc/{pid}/exe').endswith('/ward')]
        os.kill(min(ours), signal.SIGTSTP)
    screen.expect_exact('Stopped')
    screen.ready()
    time.sleep(0.3)
    reached = count.read_text()
    time.sleep(0.3)
    assert count.read_text() == reached
    screen.type('fg', 'ward run')
    assert wait_until(lambda: count.read_text() not in ('', reached))
    (screen.ward.work / 'stop').touch()
    screen.expect_exact('end2')
    screen.ready()


@pytest.mark.parametrize('stopped', ['by key', 'by itself'])
def test_closing_the_terminal_ends_a_stopped_run(ward, stopped):
    word = marker()
    terminal = Terminal(ward)
    if stopped == 'by key':
        terminal.type(f"ward run -- bash -c 'echo go$((1)); sleep 300; :' {word}", 'go1')
        time.sleep(0.2)
        terminal.send('\x1a')
    else:
        terminal.type(f"ward run -- bash -c 'echo go$((1)); kill -STOP $$; sleep 300; :' {word}", 'go1')
    terminal.expect_exact('Stopped')
    terminal.ready()
    terminal.close(force=True)
    assert all_gone(word)


@pytest.mark.parametrize('number', [signal.SIGHUP, signal.SIGTERM])
def test_a_stopped_command_hears_a_signal_once_it_is_continued(plain, number):
    """As the kernel, shells and timeout(1) do it: the signal, and then SIGCONT."""
    word = marker()
    process = plain.popen('run', '--', 'bash', '-c', 'echo ready; kill -STOP $$; sleep 300; :', word)
    assert process.stdout.readline() == b'ready\n'
    time.sleep(0.3)
    process.send_signal(number)
    process.send_signal(signal.SIGCONT)
    assert plain.finish(process).code == 128 + number
    assert all_gone(word)


def test_a_run_in_the_background_does_not_touch_the_terminal(terminal):
    before = terminal.does('stty -g')
    terminal.does("ward run -- sh -c 'until [ -e go ]; do sleep 0.05; done; touch ended' &")
    assert terminal.does('stty -g') == before
    assert terminal.does('echo keys-$((1))') == 'keys-1\n'
    assert 'Running' in terminal.does('jobs')
    terminal.ward.file('go')
    assert wait_until((terminal.ward.work / 'ended').exists)
    terminal.type('wait; echo waited-$((1))', 'waited-1')
    terminal.ready()
    assert terminal.does('stty -g') == before


def test_output_of_a_run_in_the_background_arrives(screen):
    screen.type("ward run -- sh -c 'sleep 0.5; echo from-$((1))-behind' &", 'from-1-behind')
    screen.type('wait; echo keys-$((1))', 'keys-1')


def test_a_run_in_the_background_that_wants_keys_is_stopped_until_fg(screen):
    screen.does('ward run -- cat &')
    assert wait_until(lambda: 'Stopped' in screen.does('jobs'))
    screen.type('echo keys-$((1))', 'keys-1')
    screen.ready()
    screen.type('fg', 'ward run')
    screen.keyboard()
    screen.type('a line', 'a line\r\n', 'a line\r\n')
    screen.sendeof()
    screen.ready()


def test_a_pipeline_into_a_pager_leaves_the_keys_to_the_pager(terminal):
    for line in ('ward run -- seq 1000 | less', 'ward run -- seq 1000000 | less', 'ward run -c "seq 1000" 2>&1 | less'):
        terminal.type(line, '\n22')
        time.sleep(0.3)
        terminal.send(' ')
        terminal.expect_exact('\n45')
        terminal.send('q')
        terminal.ready()


def test_make_into_a_pager(screen):
    screen.ward.file('Makefile', 'all:\n\t@seq 1000\n')
    screen.type('ward run -- make | less', '\n22')
    time.sleep(0.3)
    screen.send('q')
    screen.ready()


def test_two_runs_in_one_pipeline(screen):
    assert screen.does('ward run -- seq 5 | ward run -- tail -1').split() == ['5']
    screen.type('ward run -- seq 1000 | ward run -- env LESSHISTFILE=- less', '\n22')
    time.sleep(0.3)
    screen.send('G')
    screen.expect_exact('1000')
    screen.send('q')
    screen.ready()


def test_a_shell_inside_has_job_control(terminal):
    terminal.type("ward run --env 'PS1=INNER$ ' -- bash --norc --noprofile -i", 'INNER$ ')
    assert 'no job control' not in terminal.before and 'cannot set terminal' not in terminal.before
    rest = resting()
    terminal.type(f'sleep {rest} &', '[1]', 'INNER$ ')
    terminal.type('jobs', 'Running', 'INNER$ ')
    terminal.type('fg', f'sleep {rest}')
    assert rests(rest, in_front=True)
    terminal.send('\x1a')
    terminal.expect_exact('Stopped')
    terminal.expect_exact('INNER$ ')
    terminal.type('bg; kill %1; wait; echo done-$((1))', 'done-1', 'INNER$ ')
    rest = resting()
    terminal.type(f'sleep {rest}')
    assert rests(rest, in_front=True)
    terminal.sendintr()
    terminal.expect_exact('INNER$ ')
    terminal.type('echo $?', '130', 'INNER$ ')
    terminal.type('echo x > made; exit 4')
    terminal.ready()
    assert terminal.last_code() == 4
    assert (terminal.ward.work / 'made').exists()


def test_programs_in_a_shell_inside_get_the_keys(screen):
    screen.type("ward run --env 'PS1=INNER$ ' -- bash --norc --noprofile -i", 'INNER$ ')
    screen.type('seq 1000 | LESSHISTFILE=- less', '\n22')
    time.sleep(0.3)
    screen.send('q')
    screen.expect_exact('INNER$ ')
    screen.type('read -p "name$((1))? " x; echo hi-$x', 'name1? ')
    screen.type('you', 'hi-you', 'INNER$ ')
    screen.sendeof()
    screen.ready()


@pytest.fixture
def tmux(ward):
    tmux = Tmux(ward, 90, 30)
    yield tmux
    tmux.end()


def test_vi_on_a_real_screen(tmux):
    binary = tmux.ward.binary
    tmux.keys(f'{binary} run -- vi -i NONE page', 'Enter')
    tmux.shows('~')
    tmux.keys('i', 'first line', 'Enter', 'second line', 'Escape')
    tmux.shows('second line')
    tmux('resize-window', '-t', 't', '-x', '70', '-y', '20')
    for _ in range(10):  # when the new size is drawn what vi had answered is gone
        tmux.keys(':set lines?', 'Enter')
        if wait_until(lambda: 'lines=20' in tmux.screen(), 5, 0.1):
            break
    tmux.shows('lines=20')
    tmux.keys(':wq', 'Enter')
    tmux.shows('READY>')
    assert wait_until((tmux.ward.work / 'page').exists)
    assert (tmux.ward.work / 'page').read_text() == 'first line\nsecond line\n'


def test_less_and_top_on_a_real_screen(tmux):
    binary = tmux.ward.binary
    tmux.keys(f'seq 500 | {binary} run -- env LESSHISTFILE=- less', 'Enter')
    tmux.shows('\n29\n')
    tmux.keys('G')
    tmux.shows('\n500\n')
    tmux.keys('q')
    tmux.shows('READY>')
    tmux.keys(f'{binary} run --approval never -- top -d 1', 'Enter')
    tmux.shows('%Cpu')
    tmux.keys('q')
    assert wait_until(lambda: tmux.screen().rstrip().endswith('READY>'))
    tmux.keys('echo back-$((1))', 'Enter')
    tmux.shows('back-1')
