# SPDX-License-Identifier: Apache-2.0
"""What a call wants is asked about while it waits, and goes on where it stands."""
import json
import re
import time

import pytest

from support import Terminal, Tmux, wait_until
from test_asking import asked, press
from test_network import GREET, unix_server
from world import OTHER, PRIVATE, WEB, plain, ward, world

TALK = '''import socket, sys
for target in sys.argv[1:]:
    host, port = target.rsplit(":", 1)
    try: print(host, "says", socket.create_connection((host, int(port))).recv(99).decode(), flush=True)
    except OSError as e: print(host, "failed", e.strerror, flush=True)
'''


@pytest.fixture
def desk(plain, world):
    plain.file('talk.py', TALK)
    world.dns.forget()
    screen = Terminal(plain, columns=120, rows=50)
    yield screen
    screen.close(force=True)


def talk(*targets, flags=''):
    return f'ward run {flags} -- /usr/bin/python3 talk.py {" ".join(targets)}'


def last_result(ward):
    return [record for record in ward.records() if record['kind'] == 'run.end'][-1]['result']


def test_a_yes_lets_the_call_go_on(desk, world):
    world.name('web.example', WEB)
    port = world.hello('hello')
    desk.sendline(talk(f'web.example:{port}'))
    asked(desk, f'python3 wants web.example:{port}', f'connect web.example:{port}', 'goes on where it stands', 'talk.py')
    assert not world.dns.queries  # nothing left before the yes
    press(desk, 'y')
    desk.expect_exact('web.example says hello')
    desk.ready()
    assert desk.last_code() == 0
    kinds = [record['kind'] for record in desk.ward.records()]
    assert kinds == ['run.start', 'ask', 'answer', 'run.denials', 'run.end'], kinds
    ask, answer = desk.ward.records()[1:3]
    assert (ask['ask'], ask['grants']) == ('grant', [f'connect web.example:{port}'])
    assert (answer['answer'], answer['scope'], answer['grants']) == ('approve', 'once', [f'connect web.example:{port}'])
    result = last_result(desk.ward)
    assert len(result['attempts']) == 1 and result['attempts'][0]['denials'][0]['answer'] == 'granted'
    assert [d['stage'] for d in result['decisions']][-1] == 'grant'


def test_a_no_is_not_asked_again_in_the_run_nor_after_it(desk, world):
    world.name('web.example', WEB)
    port = world.hello('hello')
    desk.sendline(talk(f'web.example:{port}', f'web.example:{port}'))
    asked(desk, 'python3 wants web.example')
    press(desk, 'n')
    desk.expect_exact('failed Connection refused')
    desk.expect_exact('failed Connection refused')
    desk.ready()
    assert 'ward asks' not in desk.before and 'a person said no' in desk.before, desk.before
    assert last_result(desk.ward)['attempts'][0]['denials'][0]['answer'] == 'denied'
    assert not world.dns.queries


def test_a_yes_for_the_session_is_not_asked_for_again(desk, world):
    world.name('web.example', WEB)
    port = world.hello('hello')
    desk.sendline(talk(f'web.example:{port}'))
    asked(desk, 'for the session: exactly this command')
    press(desk, 's')
    desk.expect_exact('web.example says hello')
    desk.ready()
    assert desk.does(talk(f'web.example:{port}')) == 'web.example says hello\n'
    answer = [record for record in desk.ward.records() if record['kind'] == 'answer'][0]
    start = [record for record in desk.ward.records() if record['kind'] == 'run.start'][-1]
    assert answer['grant'] and start['decisions'][-1]['grant'] == answer['grant']


def test_one_question_for_all_who_want_the_same(desk, world):
    world.name('web.example', WEB)
    port = world.hello('hello')
    one = f'/usr/bin/python3 talk.py web.example:{port}'
    desk.sendline(f"ward run -c '{one} & {one} & {one} & wait; echo all d''one'")
    asked(desk, 'wants web.example')
    press(desk, 'y')
    for _ in range(3):
        desk.expect_exact('web.example says hello')
    desk.expect_exact('all done')
    desk.ready()
    assert [record['kind'] for record in desk.ward.records()].count('ask') == 1


def test_the_rest_of_the_run_goes_on_while_a_question_stands(desk, world):
    """Names are made by the supervisor, which must not sleep."""
    world.name('web.example', WEB)
    port = world.hello('hello')
    script = ('for i in 1 2 3 4 5 6 7 8; do mkdir d$i || exit; sleep 0.2; done; touch all-made')
    desk.sendline(f"ward run -c '({script}) & /usr/bin/python3 talk.py web.example:{port}; wait'")
    asked(desk, 'wants web.example')
    assert wait_until(lambda: (desk.ward.work / 'all-made').exists(), 15)
    press(desk, 'y')
    desk.expect_exact('web.example says hello')
    desk.ready()


def test_a_question_ends_when_nobody_waits_for_it(desk, world):
    world.name('web.example', WEB)
    port = world.hello('hello')
    desk.sendline(f"ward run -c 'timeout 3 /usr/bin/python3 talk.py web.example:{port}; echo went o''n'")
    asked(desk, 'wants web.example')
    desk.expect_exact('no longer asked: who wanted it is gone')
    desk.expect_exact('went on')
    desk.ready()
    answer = [record for record in desk.ward.records() if record['kind'] == 'answer'][0]
    assert (answer['answer'], answer['by']) == ('nobody', None)


def test_an_abort_ends_the_run(desk, world):
    desk.sendline(f"ward run -c '/usr/bin/python3 talk.py web.example:80; touch went-on; sleep 60'")
    asked(desk, 'wants web.example')
    press(desk, 'q')
    desk.expect_exact('rejected by user')
    desk.ready()
    assert desk.last_code() != 0 and not (desk.ward.work / 'went-on').exists()
    assert [record['kind'] for record in desk.ward.records()][-1] == 'run.end'


def test_the_object_of_an_abort_is_all_of_one_piece(desk, world):
    """The command had printed much and was killed, of which nothing is told: then not its signal either."""
    desk.sendline("ward run --json -c 'head -c 3000000 /dev/zero; /usr/bin/python3 talk.py web.example:80; sleep 60' > said")
    asked(desk, 'wants web.example')
    press(desk, 'q')
    desk.ready()
    assert desk.last_code() == 126
    said = json.loads((desk.ward.work / 'said').read_text())
    assert (said['exit_code'], said['signal'], said['truncated'], said['stdout']) == (-1, None, False, ''), said
    assert said['error']['kind'] == 'rejected' and said['stderr'] == said['error']['message']
    assert (said['verdict'], said['source']) == ('deny', 'person'), 'whatever it was before it ran'
    end = [record for record in desk.ward.records() if record['kind'] == 'run.end'][-1]['result']
    assert (end['verdict'], end['source']) == ('deny', 'person'), end


def test_the_reason_of_a_no_reaches_the_agent(desk, world):
    desk.sendline(talk('web.example:80'))
    asked(desk)
    press(desk, 'r')
    desk.send('use the mirror')
    time.sleep(0.5)
    desk.send('\r')
    desk.expect_exact('ward: connect web.example:80 was refused by the user: use the mirror')
    desk.ready()


def test_time_stands_still_while_a_person_thinks(desk, world):
    world.name('web.example', WEB)
    port = world.hello('hello')
    desk.sendline(talk(f'web.example:{port}', flags='--timeout 3s'))
    asked(desk)
    time.sleep(4)
    press(desk, 'y')
    desk.expect_exact('web.example says hello')
    desk.ready()
    assert desk.last_code() == 0


def test_what_was_typed_before_answers_nothing(desk, world):
    desk.sendline(f"ward run -c 'sleep 1; /usr/bin/python3 talk.py web.example:80'")
    time.sleep(0.5)
    desk.send('y' * 10 + '\r')
    desk.expect_exact('ward asks: ')
    desk.send('y')
    desk.expect_exact('help\r\n> ')
    time.sleep(1.5)
    press(desk, 'n')
    desk.expect_exact('failed Connection refused')
    desk.ready()
    answer = [record for record in desk.ward.records() if record['kind'] == 'answer']
    assert [a['answer'] for a in answer] == ['deny']


def test_what_is_printed_meanwhile_is_kept_until_after(desk, world):
    script = ('echo before; (sleep 1; echo while asked) & /usr/bin/python3 talk.py web.example:80; wait')
    desk.sendline(f"ward run -c '{script}'")
    desk.expect_exact('\r\nbefore\r\n')
    asked(desk)
    time.sleep(1.5)
    press(desk, 'n')
    desk.expect_exact('no\r\n')
    desk.expect_exact('while asked')
    desk.expect_exact('failed Connection refused')
    desk.ready()


def test_in_the_background_nobody_is_asked(desk, world):
    desk.sendline(talk('web.example:80') + ' < /dev/null > out 2>&1 & wait; cat o*t')
    desk.expect_exact('failed Connection refused')
    desk.ready()
    assert 'ask' not in [record['kind'] for record in desk.ward.records()]


@pytest.mark.parametrize('flags', ['--approval never', '--net full'])
def test_where_nobody_is_to_be_asked_nobody_is(desk, world, flags):
    desk.sendline(talk('web.example:81', flags=flags))
    desk.expect_exact('web.example failed')
    desk.ready()
    assert 'ask' not in [record['kind'] for record in desk.ward.records()]


def test_an_address_that_must_be_named_itself_is_asked_for(desk, world):
    world.name('inner.example', PRIVATE)
    port = world.hello('from within', PRIVATE)
    desk.sendline(talk(f'inner.example:{port}'))
    asked(desk, f'wants inner.example:{port}')
    press(desk, 'y')
    asked(desk, f'wants inner.example:{port} (which is {PRIVATE})', f'yes gives  connect {PRIVATE}:{port}\r\n', 'a private address')
    press(desk, 'y')
    desk.expect_exact('inner.example says from within')
    desk.ready()


def test_datagrams_are_said_to_be_such(desk, world):
    world.name('web.example', WEB)
    script = 'import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.sendto(b"x", ("web.example", 53))'
    desk.sendline(f"ward run -- /usr/bin/python3 -c '{script}'")
    asked(desk, 'python3 wants web.example:53 (udp)')
    press(desk, 'n')
    desk.ready()


@pytest.mark.parametrize('key, says, answer', [('y', 'from the host', 'granted'), ('n', 'PermissionError', 'denied')])
def test_a_socket_is_asked_for_with_its_risk(desk, world, key, says, answer):
    with unix_server(desk.ward.place / 'docker.sock') as path:
        desk.ward.file('greet.py', GREET)
        desk.sendline(f'ward run -- /usr/bin/python3 greet.py {path}')
        asked(desk, '(docker: equal to root)', 'can mount any file of this machine', f'unix {path}')
        press(desk, key)
        desk.expect_exact(says)
        desk.ready()
        denial, = [record for record in desk.ward.records() if record['kind'] == 'run.end'][-1]['result']['attempts'][0]['denials']
        assert (denial['operation'], denial['object'], denial['rule'], denial['answer']) == (
            'unix', str(path), 'default: no sockets of the host', answer)


def test_one_yes_covers_what_belongs_together(desk, world):
    """The set is the user's own; what it holds is shown before it is said yes to."""
    world.name('packages.example', WEB)
    world.name('files.example', OTHER)
    ports = [world.hello('index'), world.hello('files', OTHER)]
    desk.ward.file(desk.ward.config / 'ward/sets.yaml', f'version: 1\nsets:\n  registry:local:\n    hosts: [packages.example:{ports[0]}, '
                   f'files.example:{ports[1]}]\n    programs: [python3]\n')
    desk.sendline(talk(f'packages.example:{ports[0]}', f'files.example:{ports[1]}'))
    asked(desk, f'wants packages.example:{ports[0]} (registry:local: files.example:{ports[1]})', 'wider: registry:local')
    press(desk, 'w')
    asked(desk, f'connect packages.example:{ports[0]}\r\n', f'connect files.example:{ports[1]}\r\n', 'narrower: this alone')
    press(desk, 'y')
    desk.expect_exact('packages.example says index')
    desk.expect_exact('files.example says files')
    desk.ready()
    answers = [record for record in desk.ward.records() if record['kind'] == 'answer']
    assert [a['grants'] for a in answers] == [[f'connect packages.example:{ports[0]}', f'connect files.example:{ports[1]}']]


def test_the_workspace_lends_no_set_its_name(desk, world):
    """A project's own configuration may name hosts that belong together; each is shown, and none as part of a known set."""
    world.name('trap.example', WEB)
    world.name('files.example', OTHER)
    ports = [world.hello('trap'), world.hello('files', OTHER)]
    desk.ward.file('pip.conf', f'[global]\nextra-index-url = http://u:secret@trap.example:{ports[0]}/ http://files.example:{ports[1]}/\n')
    desk.sendline(talk(f'trap.example:{ports[0]}', f'files.example:{ports[1]}'))
    asked(desk, f'wants trap.example:{ports[0]} (named in the workspace: files.example:{ports[1]})', 'wider: named in the workspace')
    press(desk, 'w')
    shown = asked(desk, f'connect trap.example:{ports[0]}\r\n', f'connect files.example:{ports[1]}\r\n', 'narrower: this alone')
    assert 'registry:python' not in shown and 'secret' not in shown
    press(desk, 'y')
    desk.expect_exact('trap.example says trap')
    desk.expect_exact('files.example says files')
    desk.ready()
    (answer,) = [record for record in desk.ward.records() if record['kind'] == 'answer']
    assert answer['grants'] == [f'connect trap.example:{ports[0]}', f'connect files.example:{ports[1]}']


@pytest.mark.parametrize('editor', ['vim -u NONE -N -i NONE', 'LESSHISTFILE=- less'])
def test_a_program_that_owns_the_screen_gets_it_back(plain, world, editor):
    world.name('web.example', WEB)
    port = world.hello('hello')
    plain.file('talk.py', TALK)
    text = plain.file('notes', ''.join(f'line {i} of the notes\n' for i in range(100)))
    screen = Tmux(plain, 100, 30)
    try:
        screen.keys(f"{plain.binary} run -c '(sleep 2; /usr/bin/python3 talk.py web.example:{port} > out) & {editor} notes'", 'Enter')
        screen.shows('line 20 of the notes')
        screen.shows('ward asks: ')
        assert 'line 3 of the notes' not in screen.screen()
        time.sleep(1.2)
        screen.keys('y')
        screen.shows('line 3 of the notes')
        assert wait_until(lambda: 'says hello' in (plain.work / 'out').read_text())
        assert 'ward asks' not in screen.screen() and screen('display', '-p', '-t', 't', '#{alternate_on}').out == '1\n'
        if 'vim' in editor:
            screen.keys('i', 'w', 'r', 'i', 't', 't', 'e', 'n', 'Escape', ':', 'w', 'q', 'Enter')
        else:
            screen.keys('G')
            screen.shows('line 99 of the notes')
            screen.keys('q')
        screen.shows('READY>')
        screen.shows('ward asks: ')  # the person's own screen has what was asked
        assert screen('display', '-p', '-t', 't', '#{alternate_on}').out == '0\n'
        assert wait_until(lambda: 'line 3 of the notes' not in screen.screen())
        assert text.read_text().startswith('written' if 'vim' in editor else 'line')
        screen.keys('echo a$((1))b', 'Enter')
        screen.shows('a1b')
    finally:
        screen.end()


def test_a_no_for_the_session_is_to_the_host_and_not_to_the_command(desk, world):
    world.name('web.example', WEB)
    port = world.hello('hello')
    command = talk(f'web.example:{port}', f'other.example:{port}')
    desk.sendline(command)
    asked(desk, 'wants web.example')
    press(desk, 'x')
    asked(desk, 'wants other.example')
    press(desk, 'n')
    desk.expect_exact('other.example failed')
    desk.ready()
    desk.sendline(command)
    desk.expect_exact('web.example failed Connection refused')
    asked(desk, 'wants other.example')
    press(desk, 'n')
    desk.ready()
    grants = [json.loads(line) for line in desk.does('ward grants --json').splitlines()]
    assert [(g['refusal'], g['permissions']) for g in grants] == [(True, [f'connect web.example:{port}'])]
