# SPDX-License-Identifier: Apache-2.0
"""While a person is asked in the middle of a run: limits hold, and a program that owns the screen stands still."""
import os
import pathlib
import signal

import pytest

from support import Terminal, all_gone, marker, processes, wait_until
from test_asking import press

# Owns the screen, counts in a file four hundred times a second, and wants something that nobody listed.
FULL_SCREEN = '''import os, socket, sys, threading, time
sys.stdout.write("\\033[?1049h\\033[2J\\033[Hfull screen"); sys.stdout.flush()
def count():
    with open("count", "w") as file:
        for i in range(400 * 60):
            file.seek(0); file.write(str(i)); file.flush(); time.sleep(1 / 400)
threading.Thread(target=count, daemon=True).start()
while not os.path.exists("count") or not open("count").read(): time.sleep(0.01)
try:
    {want}
    said = "no error"
except OSError as error: said = type(error).__name__
before = open("count").read()
for _ in range(1000):
    if open("count").read() not in (before, ""): break
    time.sleep(0.01)
sys.stdout.write("\\033[?1049l"); sys.stdout.flush()
print("ended with", said, "and counts on:", open("count").read() != before)
'''
CONNECT = FULL_SCREEN.replace('{want}', 'socket.create_connection(("203.0.113.9", 80), 5)')


def counted(ward):
    return (ward.work / 'count').read_text()


def stands_still(ward, seconds=0.5):
    """For so long at a time, before long: a busy machine may take a while to stop what runs."""
    def is_still():
        before = counted(ward)
        return not wait_until(lambda: counted(ward) != before, seconds)
    return wait_until(is_still)


def question(shell, line, *texts):
    shell.type(line, *texts, 'abort')


def answer(shell, key, expected):
    """A key within the first half second does not count."""
    shell.listens = False
    press(shell, key)
    shell.expect_exact(expected)


def test_a_program_that_owns_the_screen_stands_still_while_a_person_thinks(ward):
    """Root has a freezer where the machine has one, a plain user has none."""
    ward.file('full.py', CONNECT)
    shell = Terminal(ward)
    question(shell, f'{ward.binary} run -- python3 full.py', 'wants 203.0.113.9:80')
    assert stands_still(ward), 'it goes on behind the question'
    answer(shell, 'n', 'ended with ConnectionRefusedError and counts on: True')


def test_one_that_does_not_own_the_screen_goes_on(plain):
    plain.file('full.py', CONNECT.replace('\\033[?1049h', ''))
    shell = Terminal(plain)
    question(shell, f'{plain.binary} run -- python3 full.py', 'wants 203.0.113.9:80')
    before = counted(plain)
    assert wait_until(lambda: counted(plain) not in (before, ''))
    answer(shell, 'n', 'ended with ConnectionRefusedError')


@pytest.fixture
def outside(plain):
    path = plain.place / 'outside'
    path.mkdir()
    plain.person.own(path)
    return path


@pytest.mark.parametrize('call', ['os.mkdir("{}/new")', 'os.close(os.open("{}/new", os.O_CREAT | os.O_EXCL | os.O_WRONLY))'])
def test_the_call_that_waited_is_answered_once(plain, outside, call):
    """Repeated, it would fail: what it makes would be there. Interrupted, it would say so."""
    plain.file('full.py', FULL_SCREEN.replace('{want}', call.format(outside)))
    shell = Terminal(plain)
    question(shell, f'{plain.binary} run -- python3 full.py', f'{outside}/new')
    assert stands_still(plain)
    answer(shell, 'y', 'ended with no error and counts on: True')
    assert (outside / 'new').exists()


def test_calls_that_were_on_their_way_are_done_when_it_goes_on(plain, outside):
    """Threads that make files in the workspace, each of which the supervisor makes for them, are stopped in the middle of it."""
    plain.file('full.py', FULL_SCREEN.replace('{want}', f'''made, faults, over = [0] * 8, [], []
    def make(n):
        while not over:
            try: os.close(os.open(f"made-{{n}}-{{made[n]}}", os.O_CREAT | os.O_EXCL | os.O_WRONLY)); made[n] += 1
            except OSError as error: faults.append(error)
            time.sleep(0.01)
    threads = [threading.Thread(target=make, args=(n,), daemon=True) for n in range(8)]
    for thread in threads: thread.start()
    while min(made) < 3: time.sleep(0.01)
    os.mkdir("{outside}/new")
    for at in [list(made)]:
        while any(now <= was for now, was in zip(made, at)): time.sleep(0.01)
    over.append(1)
    for thread in threads: thread.join()
    there = sum(name.startswith("made-") for name in os.listdir("."))
    if faults or there != sum(made): raise OSError(5, f"{{faults}}, {{there}}, {{made}}")'''))
    shell = Terminal(plain)
    question(shell, f'{plain.binary} run -- python3 full.py', f'{outside}/new')
    assert stands_still(plain)
    answer(shell, 'y', 'ended with no error and counts on: True')


# Waits as a shell does for a child that owns the screen, and says what it was told of it.
FATHER = '''import os, subprocess, sys
child = subprocess.Popen([sys.executable, "full.py"])
told = []
while True:
    pid, status = os.waitpid(child.pid, os.WUNTRACED)
    if not os.WIFSTOPPED(status): break
    told.append(os.WSTOPSIG(status))
print("told of stops:", told)
'''


def test_whoever_waits_for_a_child_is_not_told_that_it_stopped(plain, outside):
    plain.file('full.py', FULL_SCREEN.replace('{want}', f'for i in range(3): os.mkdir(f"{outside}/new{{i}}")'))
    plain.file('father.py', FATHER)
    shell = Terminal(plain)
    shell.sendline(f'{plain.binary} run -- python3 father.py')
    for i in range(3):
        shell.expect_exact(f'{outside}/new{i}')
        shell.expect_exact('abort')
        assert stands_still(plain)
        shell.listens = False
        press(shell, 'y')
    shell.expect_exact('ended with no error and counts on: True')
    shell.expect_exact('told of stops: []')


def test_a_job_of_a_shell_inside_goes_on_as_a_job(plain):
    plain.file('full.py', CONNECT)
    shell = Terminal(plain)
    shell.type(f'{plain.binary} run -- env PS1="INSIDE> " bash --norc --noprofile -i', 'INSIDE> ')
    shell.type('sleep 300 &', 'INSIDE> ')
    question(shell, 'python3 full.py', 'wants 203.0.113.9:80')
    assert stands_still(plain)
    answer(shell, 'n', 'ended with ConnectionRefusedError and counts on: True')
    shell.expect_exact('INSIDE> ')
    assert 'Stopped' not in shell.before
    shell.type('jobs', 'Running', 'sleep 300', 'INSIDE> ')
    shell.type('kill %1; exit', Terminal.PROMPT)


def test_what_had_stopped_before_stays_stopped(plain):
    """And what it owns the screen with is stopped and continued at the keyboard as before."""
    plain.file('full.py', CONNECT.replace('before = open', '''
import subprocess
print("state", [open(f"/proc/{sleeper.pid}/stat").read().split()[2]], flush=True)
sleeper.kill()
before = open''').replace('def count', '''import signal, subprocess
sleeper = subprocess.Popen(["sleep", "300"])
sleeper.send_signal(signal.SIGSTOP)
os.waitpid(sleeper.pid, os.WUNTRACED)
def count'''))
    shell = Terminal(plain)
    question(shell, f'{plain.binary} run -- python3 full.py', 'wants 203.0.113.9:80')
    assert stands_still(plain)
    answer(shell, 'n', "state ['T']")
    shell.expect_exact('ended with ConnectionRefusedError and counts on: True')


def test_the_keyboard_stops_it_as_before_after_a_question(plain):
    plain.file('full.py', CONNECT.replace('before = open', 'print("answered", flush=True); sys.stdin.readline(); before = open', 1))
    shell = Terminal(plain)
    question(shell, f'{plain.binary} run -- python3 full.py', 'wants 203.0.113.9:80')
    assert stands_still(plain)
    answer(shell, 'n', 'answered')
    shell.keyboard()
    shell.send('\x1a')
    shell.expect_exact('Stopped')
    shell.ready()
    assert stands_still(plain)
    shell.type('fg', 'full.py')
    shell.keyboard()
    shell.sendline('')
    shell.expect_exact('ended with ConnectionRefusedError and counts on: True')


def test_nothing_is_left_when_ward_is_killed_at_the_question(plain):
    mark = marker()
    plain.file('full.py', CONNECT)
    shell = Terminal(plain)
    question(shell, f'{plain.binary} run --agent {mark} -- sh -c "sleep 300 & python3 full.py; :" {mark}', 'wants 203.0.113.9:80')
    assert stands_still(plain)
    ward, = [pid for pid in processes(f'--agent\0{mark}') if os.readlink(f'/proc/{pid}/exe') == str(plain.binary)]
    os.kill(ward, signal.SIGKILL)
    assert all_gone(mark)
    shell.ready()


def test_without_a_namespace_of_processes_only_its_own_are_stopped(plain, outside):
    """They are found by their descent from init."""
    plain.file('full.py', FULL_SCREEN.replace('{want}', f'os.mkdir("{outside}/new")'))
    shell = Terminal(plain)
    other = marker()
    shell.does(f'sh -c "while :; do echo >> {outside}/beside; sleep 0.01; done" {other} &')
    poorer = 'echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all "$@"'
    question(shell, f"unshare -Ur sh -c '{poorer}' sh {plain.binary} run -- python3 full.py", f'{outside}/new')
    assert stands_still(plain)
    beside = pathlib.Path(outside / 'beside')
    before = beside.stat().st_size
    assert wait_until(lambda: beside.stat().st_size > before)
    answer(shell, 'y', 'ended with no error and counts on: True')
    shell.ready()
    shell.does('kill %1')
    attempt, = plain.records()[-1]['result']['attempts']
    assert 'pidns' not in attempt['walls']


def test_limits_that_are_counted_hold_while_a_person_thinks(ward):
    ward.file('eat.py', 'import socket, threading, time\n'
                        'def write():\n'
                        '    time.sleep(1)\n'
                        '    for i in range(64):\n'
                        '        open(f"big{i}", "wb").write(bytes(1 << 20)); time.sleep(0.05)\n'
                        'threading.Thread(target=write, daemon=True).start()\n'
                        'socket.create_connection(("203.0.113.9", 80), 5)\n')
    shell = Terminal(ward)
    shell.type(f'{ward.binary} run --disk 8M -- python3 eat.py; echo code=$(($?))', 'wants 203.0.113.9:80', 'abort')
    # Nobody answers: the limit ends the run, and with it the question.
    shell.expect_exact('went past its limit of disk')
    shell.expect_exact('code=137')
    assert sum(file.stat().st_size for file in ward.work.glob('big*')) < 32 << 20
