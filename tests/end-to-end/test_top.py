# SPDX-License-Identifier: Apache-2.0
"""ward top: what runs use, seen from outside while they run."""
import json
import os
import signal
import subprocess

import jsonschema
import pytest

from support import SOURCE, Terminal, Tmux, all_gone, resting, wait_until

SCHEMA = json.loads((SOURCE / 'docs' / 'top.schema.json').read_text())
EVENT = json.loads((SOURCE / 'docs' / 'event.schema.json').read_text())


@pytest.fixture
def start(ward):
    """Starts runs that rest for long, and ends them."""
    begun = []

    def run(script, *flags, ward=ward):
        process = ward.popen('run', *flags, '--', 'sh', '-c', script)
        begun.append(process)
        return process

    yield run
    for process in begun:
        process.kill()
        process.communicate()


def look(ward, *flags):
    done = ward('top', '--json', '--once', *flags)
    assert done.code == 0 and done.err == '', done
    seen = json.loads(done.out)
    jsonschema.validate(seen, SCHEMA)
    return seen['runs']


def find(ward, condition, *flags):
    """The first row for which it holds, once there is one."""
    found = []

    def is_there():
        found[:] = [row for row in look(ward, *flags) if condition(row)]
        return found

    assert wait_until(is_there, step=0.1), look(ward, *flags)
    return found[0]


def test_nothing_runs(ward):
    assert ward('top').out == 'nothing runs\n' and look(ward) == []


def test_a_row_says_whose_it_is_and_what_it_may_use(ward, start):
    rest = resting()
    start(f'sleep {rest}', '--agent', 'robot', '--session', 'work', '--memory', '200M', '--processes', '50', '--disk', '1G')
    row = find(ward, lambda row: row['processes'] >= 1)
    assert (row['agent'], row['session'], row['level'], row['near']) == ('robot', 'work@robot', 'restricted', []) or row['session'] == 'work'
    assert row['limits'] == {'memory': 200 << 20, 'processes': 50, 'disk': 1 << 30}
    assert any(f'sleep {rest}' in process['command'] for process in row['process_list'])
    assert look(ward, '--agent', 'other') == [] and len(look(ward, '--agent', 'robot')) == 1
    table = ward('top').out.splitlines()
    assert table[0].split()[:3] == ['RUN', 'USER', 'AGENT'] and 'robot' in table[1] and '/200M' in table[1]


def test_a_hog_of_the_cpu(ward, start):
    start('while :; do :; done')
    assert find(ward, lambda row: (row['cpu_percent'] or 0) > 10)


def test_a_hog_of_memory_is_near_its_limit_and_that_is_an_event(ward, start):
    start('exec /usr/bin/python3 -I -c "import time; x = bytearray(88 << 20); time.sleep(500)"', '--memory', '100M')
    row = find(ward, lambda row: row['near'] == ['memory'])
    assert row['memory'] > 80 << 20
    line = ward('top', '--once').out.splitlines()[1]
    assert line.startswith(' !') and '100M!' in line
    assert wait_until(lambda: ward('events', '--kind', 'near_limit').out)
    events = [json.loads(text) for text in ward('events', '--kind', 'near_limit').out.splitlines()]
    jsonschema.validate(events[0], EVENT)
    assert [(event['run'], event['limit'], event['most']) for event in events] == [(row['run'], 'memory', 100 << 20)]


def test_many_processes(ward, start):
    rest = resting()
    start(f'for i in 1 2 3 4 5 6 7 8 9; do sleep {rest} & done; wait', '--processes', '12')
    row = find(ward, lambda row: row['processes'] >= 10)
    assert row['near'] == ['processes']
    assert wait_until(lambda: '"limit":"processes"' in ward('events', '--kind', 'near_limit').out)


def test_what_is_refused_and_what_is_asked_is_counted(ward, start):
    outside = ward.place / 'outside'
    outside.mkdir()
    ward.person.own(outside)
    start(f'cat /etc/shadow; echo x > {outside}/f; sleep 500', '--wait', '600s')
    row = find(ward, lambda row: row['questions'] == 1)
    assert ward('deny', json.loads(ward('pending', '--json').out.splitlines()[0])['id']).code == 0
    row = find(ward, lambda row: row['questions'] == 0 and row['denials'] >= 1)
    assert any(denial['object'] == f'{outside}/f' for denial in row['last_denials'])


def test_near_the_end_of_its_time(ward):
    process = ward.popen('run', '--timeout', '3s', '--', 'sleep', '500')
    assert ward.finish(process).code == 124
    event = json.loads(ward('events', '--kind', 'near_limit').out)
    assert event['limit'] == 'time' and event['most'] == 3000 and 2400 <= event['used'] <= 3000


def test_a_run_whose_supervisor_was_killed_is_gone(ward, start):
    rest = resting()
    start(f'sleep {rest}')
    row = find(ward, lambda row: row['processes'] >= 1)
    os.kill(row['pid'], signal.SIGKILL)
    assert wait_until(lambda: look(ward) == [], step=0.1)
    assert all_gone(str(rest))


def test_it_costs_a_run_nothing_that_is_not_looked_at(ward, start):
    start('sleep 500')
    find(ward, lambda row: row['processes'] >= 1)
    assert not list((ward.state / 'ward').glob('top/*'))


def test_the_signal_that_asks_for_names_harms_nobody(ward, start):
    """Whoever sends it to a run that has no names gets a file without any; the command does not see it."""
    process = start('trap "echo caught" URG; sleep 2; echo unharmed')
    row = find(ward, lambda row: row['processes'] >= 1)
    os.kill(row['pid'], signal.SIGURG)
    assert process.wait(60) == 0
    assert process.stdout.read() == b'unharmed\n'


def test_hostile_names_do_not_reach_the_terminal(ward, start):
    start("sleep 500; : '\033]0;owned\007\033[2J\u202e'", '--agent', 'a')
    find(ward, lambda row: row['processes'] >= 1)
    done = ward('top')
    assert '\033' not in done.out and '\007' not in done.out and '\u202e' not in done.out and 'sleep 500' in done.out


def test_a_process_cannot_steer_the_terminal_by_its_name(ward, start):
    start('exec bash -c \'exec -a "$(printf "\\033]0;owned\\007")" sleep 500\'')
    find(ward, lambda row: any('owned' in process['command'] for process in row['process_list']))
    shell = Terminal(ward, rows=30, columns=120)
    shell.type('ward top', '1 running')
    shell.send('\r')
    shell.expect_exact('\\x1b]0;owned\\x07')
    assert '\033]0;owned' not in shell.before
    shell.send('qq')
    shell.ready()
    shell.close(force=True)


def test_others_are_seen_by_root_alone(plain):
    done = plain('top', '--all', '--once')
    assert done.code == 125 and 'root' in done.err
    done = plain('top', '--user', 'root', '--once')
    assert done.code == 125 and 'only root' in done.err


def test_root_sees_others_when_he_asks_for_it(plain, user):
    if os.geteuid() != 0:
        pytest.skip('needs root')
    state = plain.place / 'root'
    root = {'env': {'PATH': os.environ['PATH'], 'HOME': '/root', 'XDG_STATE_HOME': str(state)}, 'capture_output': True, 'text': True}
    process = plain.popen('run', '--', 'sleep', '500', env={'HOME': user.home, 'XDG_STATE_HOME': None})
    try:
        def seen(*flags):
            done = subprocess.run([plain.binary, 'top', '--json', '--once', *flags], **root)
            assert done.returncode == 0, done
            return json.loads(done.stdout)['runs']

        assert wait_until(lambda: seen('--user', user.name), step=0.1)
        assert [row['command'] for row in seen('--user', str(user.uid))] == ['sleep 500']
        assert [(row['user'], row['command']) for row in seen('--all') if row.get('user') == user.name] == [(user.name, 'sleep 500')]
        assert seen() == []
    finally:
        process.kill()
        process.communicate()


def screen(ward, columns, rows):
    tmux = Tmux(ward, columns, rows)
    tmux.keys(f'{ward.binary} top', 'Enter')
    return tmux


@pytest.fixture
def tmux(ward):
    opened = []

    def open_screen(columns, rows):
        opened.append(screen(ward, columns, rows))
        return opened[-1]

    yield open_screen
    for one in opened:
        one.end()


def test_the_screen_is_live_and_opens_a_run(ward, start, tmux):
    rest = resting()
    top = tmux(80, 24)
    top.shows('nothing runs')
    start(f'cat /etc/shadow; sleep {rest}', '--agent', 'robot')
    top.shows('1 running')
    top.shows('sh -c')
    top.keys('s')
    top.shows('by cpu')
    top.keys('Enter')
    top.shows(f'sleep {rest}')
    top.shows('connections (0)')
    top.shows('refused (')
    top.keys('q')
    top.shows('by cpu')
    top.keys('/', 'nobody', 'Enter')
    top.shows('nothing runs')
    top.keys('/', 'Escape')
    top.shows('sh -c')
    top.keys('p')
    top.shows('PAUSED')
    top.keys('q')
    top.shows('READY>')


def test_small_windows_and_new_sizes(ward, start, tmux):
    start('sleep 500')
    top = tmux(30, 6)
    top.shows('1 running')
    top('resize-window', '-t', 't', '-x', '120', '-y', '20')
    top.shows('DISK')
    assert all(len(line) <= 120 for line in top.screen().splitlines())


def test_without_colours_and_on_a_dumb_terminal(ward, start):
    start('sleep 500', '--agent', 'robot')
    find(ward, lambda row: row['processes'] >= 1)
    shell = Terminal(ward, NO_COLOR='1', TERM='dumb')
    shell.type('ward top', 'robot')
    shell.ready()
    shell.close(force=True)


def test_json_goes_on_a_line_a_second(ward):
    process = ward.popen('top', '--json', stdout=subprocess.PIPE)
    lines = [json.loads(process.stdout.readline()) for _ in range(3)]
    process.kill()
    process.communicate()
    assert all(line['runs'] == [] for line in lines) and lines[0]['time'] < lines[2]['time']
