# SPDX-License-Identifier: Apache-2.0
"""The profile code-net: code that reaches the network runs after a yes, and reaches what the yes says."""
import json
import time

import pytest

from support import Terminal
from test_asking import asked, press
from world import OTHER, WEB, plain, ward, world

CODE = '''import socket, sys
for name in ("web.example", "files.example"):
    try: print(name, "says", socket.create_connection((name, int(sys.argv[1]))).recv(99).decode())
    except OSError as e: print(name, "failed", e.strerror)
'''


@pytest.fixture
def desk(plain, world):
    world.dns.forget()
    world.name('web.example', WEB)
    world.name('files.example', OTHER)
    desk = Terminal(plain, columns=110, rows=55)
    desk.port = world.hello('hello', WEB)
    world.hello('files', OTHER, desk.port)
    plain.file('code.py', CODE)
    yield desk
    desk.close(force=True)


def start(desk, *flags, command='/usr/bin/python3 code.py'):
    desk.sendline(f'ward run --profile code-net --reason "looks at the index" {" ".join(flags)} -- {command} {desk.port}')


def answers(ward):
    return [record for record in ward.records() if record['kind'] == 'answer']


def test_it_is_asked_about_with_its_code_and_its_hosts(desk, world):
    start(desk, '--allow-host web.example')
    shown = asked(desk, 'operation  networked code', 'looks at the index', 'code.py', '| import socket, sys', 'risk ', 'connect web.example\r\n',
                  'profile code-net', 'change hosts')
    assert f'{len(CODE)} characters' in shown
    assert not world.dns.queries
    press(desk, 'y')
    desk.expect_exact('web.example says hello')
    asked(desk, 'wants files.example')  # what the answer did not say
    press(desk, 'n')
    desk.expect_exact('files.example failed')
    desk.ready()
    assert answers(desk.ward)[0]['domains'] == ['web.example']
    assert 'domains' not in answers(desk.ward)[1]


def test_the_person_says_which_hosts(desk, world):
    start(desk, '--allow-host web.example')
    asked(desk, 'connect web.example\r\n')
    press(desk, 'e')
    desk.expect_exact('hosts: web.example')
    desk.send('\x15')
    time.sleep(0.3)
    desk.send(f'files.example:{desk.port}')
    time.sleep(0.3)
    desk.send('\r')
    shown = asked(desk, f'connect files.example:{desk.port}\r\n')
    assert 'connect web.example' not in shown
    press(desk, 'y')
    asked(desk, 'wants web.example')
    press(desk, 'n')
    desk.expect_exact('files.example says files')
    desk.ready()
    answer = answers(desk.ward)[0]
    assert answer['domains'] == [f'files.example:{desk.port}']
    assert answer['grants'] == ['profile code-net', f'connect files.example:{desk.port}']


def test_the_first_500_characters_are_shown_and_the_rest_before_a_yes(desk, world):
    code = 'x = 1\n' * 200 + 'print("the en" + "d")\n'
    desk.ward.file('long.py', code)
    start(desk, command='/usr/bin/python3 long.py')
    asked(desk, f'the first 500 of {len(code)} characters')
    press(desk, 'y')
    desk.expect_exact('any key')  # first the whole of it
    for _ in range(8):
        desk.send(' ')
        time.sleep(0.3)
    desk.expect_exact('print("the en" + "d")')
    desk.expect_exact('help\r\n> ')
    time.sleep(1)
    press(desk, 'y')
    desk.expect_exact('the end')
    desk.ready()


def test_code_on_the_command_line_is_shown_as_such(desk, world):
    desk.sendline("ward run --profile code-net -- /usr/bin/python3 -c 'print(6 * 7)' more")
    asked(desk, '| /usr/bin/python3 -c <code> more\r\n', '12 characters', '| print(6 * 7)')
    press(desk, 'y')
    desk.expect_exact('42')
    desk.ready()


def test_a_yes_for_the_session_means_this_code_and_these_hosts(desk, world):
    start(desk, '--allow-host web.example', '--allow-host files.example')
    asked(desk, 'for the session: exactly this command')
    press(desk, 's')
    desk.expect_exact('files.example says files')
    desk.ready()
    start(desk)
    desk.expect_exact('web.example says hello')
    desk.expect_exact('files.example says files')
    desk.ready()
    assert len(answers(desk.ward)) == 1


def test_a_rule_can_cover_it(desk, world):
    desk.ward.policy('version: 1\nrules:\n  - command: "python3 code.py *"\n    do: allow\n    why: the test\n'
                     '    permissions: ["profile code-net", "connect web.example", "connect files.example"]\n')
    start(desk)
    desk.expect_exact('web.example says hello')
    desk.expect_exact('files.example says files')
    desk.ready()
    assert not answers(desk.ward)


def test_where_nobody_can_be_asked_it_does_not_run(plain, world):
    done = plain.run('/usr/bin/python3', '-c', 'open("ran", "w")', flags=['--profile', 'code-net', '--allow-host', 'web.example'])
    assert done.code != 0 and 'nobody can be asked' in done.err and not (plain.work / 'ran').exists()
    plain.policy('sandbox: {network: {mode: full}}\n')
    done = plain.run('/usr/bin/python3', '-c', 'open("ran", "w")', flags=['--profile', 'code-net', '--approval', 'never'])
    assert done.code != 0 and not (plain.work / 'ran').exists()
    done = plain.run('/usr/bin/python3', '-c', 'open("ran", "w")', flags=['--profile', 'code-net', '--level', 'none'])
    assert done.code != 0 and 'nothing without the sandbox' in done.err and not (plain.work / 'ran').exists()


def test_flags_and_policies_open_nothing_beyond_the_answer(desk, world):
    desk.ward.policy('version: 1\nsandbox: {network: {mode: full, allow: [files.example]}}\n')
    start(desk, '--net full')
    asked(desk, 'networked code')
    press(desk, 'y')
    for name in ('web', 'files'):
        asked(desk, f'wants {name}.example')
        press(desk, 'n')
    desk.expect_exact('files.example failed')
    desk.ready()
