# SPDX-License-Identifier: Apache-2.0
"""While a person is asked in the middle of a run: limits hold, and a program that owns the screen stands still."""
import os
import time

import pytest

from support import Terminal

# Owns the screen, counts in a file four hundred times a second, and wants something that nobody listed.
FULL_SCREEN = '''import os, socket, sys, threading, time
sys.stdout.write("\\033[?1049h\\033[2J\\033[Hfull screen"); sys.stdout.flush()
def count():
    with open("count", "w") as file:
        for i in range(400 * 60):
            file.seek(0); file.write(str(i)); file.flush(); time.sleep(1 / 400)
threading.Thread(target=count, daemon=True).start()
while not os.path.exists("count") or not open("count").read(): time.sleep(0.01)
try: socket.create_connection(("203.0.113.9", 80), 5)
except OSError as error: said = type(error).__name__
before = open("count").read()
time.sleep(0.5)
sys.stdout.write("\\033[?1049l"); sys.stdout.flush()
print("ended with", said, "and counts on:", open("count").read() != before)
'''


def has_freezer():
    return os.path.isdir('/sys/fs/cgroup/freezer') or os.path.exists('/sys/fs/cgroup/cgroup.controllers')


def counted(ward):
    return (ward.work / 'count').read_text()


@pytest.mark.skipif(not has_freezer(), reason='this machine has no freezer')
def test_a_program_that_owns_the_screen_stands_still_while_a_person_thinks(ward):
    if not ward.person.is_root:
        pytest.skip('without a control group of its own there is no freezer')
    ward.file('full.py', FULL_SCREEN)
    shell = Terminal(ward)
    shell.type(f'{ward.binary} run -- python3 full.py', 'wants 203.0.113.9:80', 'abort')
    time.sleep(0.3)
    before = counted(ward)
    time.sleep(0.7)
    assert counted(ward) == before, 'it goes on behind the question'
    shell.send('n')
    shell.expect_exact('ended with PermissionError and counts on: True')


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
