# SPDX-License-Identifier: Apache-2.0
"""How long what was granted holds: for the run, the session or a time, and until somebody takes it back."""
import io
import json
import re
import socket
import threading
import time

import pytest

from support import Terminal, wait_until
from test_asking import asked, press
from test_asking_in_place import last_result
from test_network import unix_server
from world import WEB, plain, ward, world

# Tries it again and again, and says what became of it whenever that changes.
TRIES = '''import os, sys, time, socket, errno
def attempt(what, seconds=40):
    end, last = time.time() + seconds, None
    while time.time() < end and not os.path.exists("stop"):
        try: what(); now = "works"
        except OSError as e: now = errno.errorcode[e.errno]
        if now != last: print("now", now, flush=True)
        last = now
        time.sleep(0.1)
'''

# Sends on one connection until it ends.
KEEPS = '''import socket, sys, time
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
print("connected", flush=True)
try:
    while s.send(b"x") and s.recv(1): time.sleep(0.1)
    print("end" + " of it", flush=True)
except OSError as e: print("cut" + " off", flush=True)
time.sleep(float(sys.argv[3]))
'''


@pytest.fixture
def outside(plain):
    path = plain.place / 'outside'
    path.mkdir()
    plain.person.own(path)
    return path


@pytest.fixture
def desk(plain, world):
    screen = Terminal(plain, columns=150, rows=50)
    yield screen
    screen.close(force=True)


@pytest.fixture
def other(plain, world):
    """Another terminal of the same person."""
    screen = Terminal(plain, columns=150, rows=50)
    yield screen
    screen.close(force=True)


def tries(desk, what, *arguments, flags=''):
    desk.ward.file('tries.py', TRIES + f'attempt(lambda: {what})\n')
    desk.sendline(f'ward run {flags} -- /usr/bin/python3 -I tries.py ' + ' '.join(map(str, arguments)))


def for_a_time(desk, text):
    press(desk, 't', 'c')
    desk.expect_exact('for how long')
    desk.send(text)
    time.sleep(0.6)  # a line is ended by a key that is pressed alone
    desk.send('\r')
    desk.expect_exact('yes, for')


def gives(permission):
    return f'yes gives  {permission}\r\n'


def stop(desk):
    (desk.ward.work / 'stop').touch()
    desk.ready()
    (desk.ward.work / 'stop').unlink()


def granted(desk):
    return [json.loads(line) for line in desk.does('ward grants --json').splitlines()]


def test_a_time_ends_while_the_command_runs(desk, outside):
    tries(desk, 'open(sys.argv[1], "w")', outside / 'file')
    asked(desk, f'to write {outside}/file')
    begun = time.monotonic()
    for_a_time(desk, '3s')
    desk.expect_exact('now works')
    asked(desk, f'to write {outside}/file')
    assert time.monotonic() - begun > 2
    press(desk, 'n')
    desk.expect_exact('now EACCES')
    stop(desk)
    result = last_result(desk.ward)
    assert any(f"'write {outside}/file' expired" in warning for warning in result['sandbox_warnings']), result
    denial, = result['attempts'][0]['denials']
    assert denial['count'] > 5 and denial['first'] < denial['last']


def test_a_connection_is_cut_when_its_time_ends(desk, world):
    world.name('web.example', WEB)
    port = world.echo()
    desk.ward.file('keeps.py', KEEPS)
    desk.sendline(f'ward run -- /usr/bin/python3 -I keeps.py web.example {port} 0')
    asked(desk, 'wants web.example')
    for_a_time(desk, '3s')
    desk.expect_exact('connected')
    desk.expect(['cut off', 'end of it'])
    desk.ready()
    assert desk.last_code() == 0
    assert any('expired' in warning for warning in last_result(desk.ward)['sandbox_warnings'])


def test_what_a_program_closes_itself_is_closed(desk, world):
    """ward keeps no copy of a socket that it may have to take back."""
    ended = []

    def serve(peer):
        while peer.recv(100):
            pass
        ended.append(time.monotonic())

    world.name('web.example', WEB)
    port = world.serve(serve)
    desk.ward.file('closes.py', 'import socket, sys, time\ns = socket.create_connection((sys.argv[1], int(sys.argv[2])))\ns.send(b"x"); s.close()\n'
                   'print("closed it", flush=True); time.sleep(2)\n')
    desk.sendline(f'ward run -- /usr/bin/python3 -I closes.py web.example {port}')
    asked(desk, 'wants web.example')
    press(desk, 's')
    desk.expect_exact('closed it')
    assert wait_until(lambda: ended, 1.5)
    desk.ready()


def revoke(other, number=0):
    grants = granted(other)
    assert 'is taken back' in other.does(f'ward grants revoke {grants[number]["id"]}')
    return grants[number]


def test_somebody_takes_a_file_back(desk, other, outside):
    tries(desk, 'open(sys.argv[1], "w")', outside / 'file')
    asked(desk, f'to write {outside}/file')
    press(desk, 's')
    desk.expect_exact('now works')
    assert revoke(other)['permissions'] == [f'write {outside}/file']
    asked(desk, f'to write {outside}/file')
    press(desk, 'n')
    desk.expect_exact('now EACCES')
    stop(desk)
    assert any('was revoked' in warning for warning in last_result(desk.ward)['sandbox_warnings'])


def test_somebody_takes_a_connection_back(desk, other, world):
    """Also while the program does nothing at all."""
    world.name('web.example', WEB)
    ended = []

    def serve(peer):
        peer.send(b'x')
        while peer.recv(100):
            pass
        ended.append(1)

    port = world.serve(serve)
    desk.ward.file('rests.py', 'import socket, sys\ns = socket.create_connection((sys.argv[1], int(sys.argv[2])))\ns.recv(1)\nprint("connected", flush=True)\n'
                   's.recv(1); print("heard", flush=True)\ntry: socket.create_connection((sys.argv[1], int(sys.argv[2])))\n'
                   'except OSError as e: print("then", e.strerror, flush=True)\n')
    desk.sendline(f'ward run -- /usr/bin/python3 -I rests.py web.example {port}')
    asked(desk, 'wants web.example')
    press(desk, 's')
    desk.expect_exact('connected')
    revoke(other)
    assert wait_until(lambda: ended, 10)
    asked(desk, 'wants web.example')
    press(desk, 'n')
    desk.expect_exact('then Connection refused')
    desk.ready()


def test_a_child_loses_the_connection_too(desk, other, world):
    world.name('web.example', WEB)
    port = world.echo()
    desk.ward.file('forks.py', 'import os, socket, sys, time\ns = socket.create_connection((sys.argv[1], int(sys.argv[2])))\nprint("connected", flush=True)\n'
                   'if os.fork():\n    s.close(); os.wait(); sys.exit()\nos.setsid()\n'
                   'try:\n    while s.send(b"x") and s.recv(1): time.sleep(0.1)\nexcept OSError: pass\nprint("child" + " lost it", flush=True)\n')
    desk.sendline(f'ward run -- /usr/bin/python3 -I forks.py web.example {port}')
    asked(desk, 'wants web.example')
    press(desk, 's')
    desk.expect_exact('connected')
    revoke(other)
    desk.expect_exact('child lost it')
    desk.ready()


def test_a_connection_that_is_passed_on_without_end(desk, other, world):
    """From process to process, faster than anybody can look: it is cut, or the run ends."""
    ended = []

    def serve(peer):
        while peer.recv(100):
            pass
        ended.append(1)

    world.name('web.example', WEB)
    port = world.serve(serve)
    desk.ward.file('passes.py', 'import os, socket, sys, time\ns = socket.create_connection((sys.argv[1], int(sys.argv[2])))\nprint("connected", flush=True)\n'
                   'end = time.time() + 60\nwhile time.time() < end:\n    if os.fork(): os._exit(0)\n'
                   '    try: s.send(b"x")\n    except OSError: os._exit(0)\n')
    desk.sendline(f"ward run -c '/usr/bin/python3 -I passes.py web.example {port}; while [ ! -e stop ]; do sleep 0.1; done'")
    asked(desk, 'wants web.example')
    press(desk, 's')
    desk.expect_exact('connected')
    revoke(other)
    assert wait_until(lambda: ended, 15)
    stop(desk)


def test_a_connection_that_cannot_be_found_ends_the_run(desk, other, world):
    """In a message that nobody has received it is no process's fd."""
    world.name('web.example', WEB)
    port = world.echo()
    desk.ward.file('hides.py', 'import socket, sys, time\ns = socket.create_connection((sys.argv[1], int(sys.argv[2])))\n'
                   'a, b = socket.socketpair()\nsocket.send_fds(a, [b"x"], [s.fileno()]); s.close()\nprint("hidden", flush=True)\ntime.sleep(60)\n')
    desk.sendline(f'ward run -- /usr/bin/python3 -I hides.py web.example {port}')
    asked(desk, 'wants web.example')
    press(desk, 's')
    desk.expect_exact('hidden')
    revoke(other)
    desk.expect_exact('could not be closed')
    desk.ready()
    assert desk.last_code() == 126
    result = last_result(desk.ward)
    assert result['error']['kind'] == 'rejected' and result['attempts'][0]['denials'][0]['answer'] == 'granted'


def test_a_connection_behind_many_descriptors_ends_the_run_soon(desk, world):
    """Each look for it would take seconds, and there are up to twenty."""
    world.name('web.example', WEB)
    port = world.echo()
    desk.ward.file('hides.py', 'import os, resource, signal, socket, sys, time\ns = socket.create_connection((sys.argv[1], int(sys.argv[2])))\n'
                   'a, b = socket.socketpair()\nsocket.send_fds(a, [b"x"], [s.fileno()]); s.close()\n'
                   'most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]; resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))\n'
                   'for i in range(min(most, 20000) - 100): os.dup(0)\nfor i in range(100):\n    if not os.fork(): signal.pause()\n'
                   'print("hid" + "den", flush=True)\ntime.sleep(90)\n')
    desk.sendline(f'ward run -- /usr/bin/python3 -I hides.py web.example {port}')
    asked(desk, 'wants web.example')
    for_a_time(desk, '3s')
    desk.expect_exact('hidden')
    hidden = time.monotonic()
    desk.expect_exact('could not be closed')
    desk.ready()
    assert desk.last_code() == 126
    assert time.monotonic() - hidden < 3 + 10


def test_somebody_takes_back_what_may_be_read(desk, other):
    """Where reading is watched the mask stays, in later runs of the session as well."""
    secret = desk.ward.file('.env', 'KEY=1\n', 0o600)
    for turn in range(2):
        tries(desk, 'open(".env").read()', flags='--trace-reads')
        if turn == 0:
            asked(desk, gives(f'read {secret}'))
            press(desk, 's')
        desk.expect_exact('now works')
        if turn == 0:
            stop(desk)
    revoke(other)
    asked(desk, gives(f'read {secret}'))
    press(desk, 'n')
    desk.expect_exact('now EACCES')
    stop(desk)
    assert last_result(desk.ward)['error'] is None


def test_somebody_takes_a_socket_back(desk, other):
    with unix_server(desk.ward.place / 'service.sock') as path:
        tries(desk, 'socket.socket(socket.AF_UNIX).connect(sys.argv[1])', path)
        asked(desk, f'unix {path}')
        press(desk, 's')
        desk.expect_exact('now works')
        revoke(other)
        asked(desk, f'unix {path}')
        press(desk, 'n')
        desk.expect_exact('now EACCES')
        stop(desk)


def test_a_relayed_connection_is_cut(desk, other, world):
    """A socket that a child shares stays, and leads to the relay."""
    world.name('web.example', WEB)
    port = world.echo()
    desk.ward.file('shares.py', 'import os, socket, sys, time\ns = socket.socket()\nif os.fork() == 0:\n    time.sleep(60); os._exit(0)\n'
                   's.connect((sys.argv[1], int(sys.argv[2])))\nprint("connected", flush=True)\n'
                   'try:\n    while s.send(b"x") and s.recv(1): time.sleep(0.1)\nexcept OSError: pass\nprint("lost" + " it", flush=True)\nos.kill(0, 9)\n')
    desk.sendline(f'ward run -- /usr/bin/python3 -I shares.py web.example {port}')
    asked(desk, 'wants web.example')
    press(desk, 's')
    desk.expect_exact('connected')
    time.sleep(0.5)
    revoke(other)
    desk.expect_exact('lost it')
    desk.ready()


def test_datagrams_are_stopped(desk, other, world):
    world.name('web.example', WEB)
    port = world.datagrams()
    desk.ward.file('sends.py', 'import os, socket, sys, time\ns = socket.socket(type=socket.SOCK_DGRAM); s.settimeout(2)\n'
                   'to = socket.getaddrinfo(sys.argv[1], int(sys.argv[2]), socket.AF_INET)[0][4]\ns.sendto(b"x", to)\ns.connect(to)\ns.recv(9)\nprint("answered", flush=True)\n'
                   'try:\n    while s.send(b"x") and s.recv(9): time.sleep(0.1)\nexcept OSError: pass\nprint("sil" + "ence", flush=True)\n')
    desk.sendline(f'ward run -- /usr/bin/python3 -I sends.py web.example {port}')
    asked(desk, 'wants web.example')
    press(desk, 's')
    desk.expect_exact('answered')
    revoke(other)
    desk.expect_exact('silence')
    desk.ready()


def test_a_connection_to_a_socket_is_cut(desk, other):
    path = desk.ward.place / 'echo.sock'
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        path.chmod(0o777)

        def serve():
            peer = listener.accept()[0]
            while data := peer.recv(100):
                peer.send(data)

        threading.Thread(target=serve, daemon=True).start()
        desk.ward.file('speaks.py', 'import socket, sys, time\ns = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\nprint("connected", flush=True)\n'
                       'try:\n    while s.send(b"x") and s.recv(1): time.sleep(0.1)\nexcept OSError: pass\nprint("lost" + " it", flush=True)\n')
        desk.sendline(f'ward run -- /usr/bin/python3 -I speaks.py {path}')
        asked(desk, f'unix {path}')
        press(desk, 's')
        desk.expect_exact('connected')
        revoke(other)
        desk.expect_exact('lost it')
        desk.ready()


def test_a_yes_for_the_session_holds_in_the_next_run(desk, outside):
    for _ in range(2):
        desk.sendline(f"ward run -c 'mkdir {outside}/made && touch {outside}/made/x && rm -f {outside}/made/x && rmdir {outside}/made && echo d''one'")
        if _ == 0:
            asked(desk, f'write {outside}/made/**')
            press(desk, 's')
        desk.expect_exact('done')
        desk.ready()
        assert 'ward asks' not in desk.before


def test_a_time_that_began_before_ends_in_a_later_run(desk, outside):
    (outside / 'file').write_text('')
    desk.ward.person.own(outside / 'file')
    command = f"ward run -c 'for i in $(seq 200); do [ -e stop ] && exit; echo x >> {outside}/file && echo w''orks || echo fai''led; sleep 0.2; done'"
    desk.sendline(command)
    asked(desk, f'write {outside}/file')
    for_a_time(desk, '12s')
    desk.expect_exact('works')
    stop(desk)
    desk.sendline(command)
    desk.expect_exact('works')
    asked(desk, f'write {outside}/file')
    press(desk, 'n')
    desk.expect_exact('failed')
    stop(desk)


def test_what_the_walls_have_ends_the_run_with_it(desk, other, outside):
    """A session's grant of what is there is a mount in later runs, and a mount cannot be taken out of them."""
    (outside / 'file').write_text('')
    desk.ward.person.own(outside / 'file')
    command = f"ward run -c 'echo x >> {outside}/file && echo w''orks; while [ ! -e stop ]; do sleep 0.1; done'"
    desk.sendline(command)
    asked(desk, f'write {outside}/file')
    press(desk, 's')
    desk.expect_exact('works')
    stop(desk)
    desk.sendline(command)
    desk.expect_exact('works')
    revoke(other)
    desk.expect_exact(f"ended: the grant of 'write {outside}/file' was revoked")
    desk.ready()
    assert desk.last_code() == 126
    assert (outside / 'file').read_text() == 'x\nx\n'


@pytest.mark.parametrize('act, permission, more, wanted', [
    ('mkdir $O/new && touch $O/new/x && rm -f $O/new/x && rmdir $O/new', 'write $O/new/**', 'touch $O/other', 'write $O/other'),
    ('rm -f $O/old && [ ! -e $O/old ]', 'delete $O/old', 'echo x > $O/old', 'write $O/old'),
], ids=['new', 'delete'])
def test_always_gives_what_was_shown_and_no_more(desk, outside, act, permission, more, wanted):
    """Also where it is not there when the next run starts, or may only be deleted."""
    npm = desk.ward.file(desk.ward.place / 'bin' / 'npm', f'#!/bin/sh\n{act} && echo all m""ade\n'.replace('$O', str(outside)), 0o755)
    desk.does(f'PATH={npm.parent}:$PATH')
    for turn in range(2):
        (outside / 'old').write_text('old')
        desk.ward.person.own(outside / 'old')
        desk.sendline('ward run -- npm install')
        if turn == 0:
            asked(desk, gives(permission.replace('$O', str(outside))))
            press(desk, 'a', 'y')
        desk.expect_exact('all made')
        assert turn == 0 or 'ward asks' not in desk.before
        desk.ready()
    (outside / 'old').write_text('old')
    desk.ward.person.own(outside / 'old')
    npm.write_text(f'#!/bin/sh\n{more}\n'.replace('$O', str(outside)))
    desk.sendline('ward run -- npm install')
    asked(desk, gives(wanted.replace('$O', str(outside))))
    press(desk, 'n')
    desk.ready()
    assert (outside / 'old').read_text() == 'old' and not (outside / 'other').exists()


def test_one_answer_for_good_leaves_the_others(desk, outside):
    """Of several rules about a command only one counts, so the newest holds what those before it gave."""
    npm = desk.ward.file(desk.ward.place / 'bin' / 'npm', '', 0o755)
    desk.does(f'PATH={npm.parent}:$PATH')
    files = [outside / name for name in 'abc']
    for count, questions in ((2, 2), (3, 1), (3, 0)):
        npm.write_text(f'#!/bin/sh\nfor f in {" ".join(map(str, files[:count]))}; do echo x > $f || exit 1; done; echo all m""ade\n')
        desk.sendline('ward run -- npm install')
        for file in files[count - questions:count] if questions else ():
            asked(desk, gives(f'write {file}'))
            press(desk, 'a', 'y')
        desk.expect_exact('all made')
        desk.ready()
    assert [record['kind'] for record in desk.ward.records()].count('ask') == 3


@pytest.mark.parametrize('name', ['a*', '[x]', 'q?', '**', '$HOME'])
def test_a_name_is_itself_and_no_pattern(desk, outside, name):
    desk.ward.file('act.py', 'import sys, os\nfor n in sys.argv[2:]:\n    try: open(sys.argv[1] + "/" + n, "w").close(); print("made", n)\n'
                   '    except OSError as e: print("got", e.strerror)\n')
    others = {'a*': 'ab', '[x]': 'x', 'q?': 'qq', '**': 'deep', '$HOME': 'HOME'}[name]
    command = f"ward run -- /usr/bin/python3 -I act.py {outside} '{name}' '{others}'"
    for turn in range(2):
        desk.sendline(command)
        if turn == 0:
            asked(desk, f'{outside}/{name}')
            press(desk, 's')
        asked(desk, f'{outside}/{others}')
        press(desk, 'n')
        desk.ready()
        assert f'made {name}' in desk.before or (outside / name).exists()
        assert not (outside / others).exists()


# -- Wider and narrower ------------------------------------------------------------------------------

MAKES = '''import os, sys
for path in sys.argv[1:]:
    try: (os.mkdir(path[:-1]) if path.endswith("/") else open(path, "x").close()); print("made", os.path.basename(path.rstrip("/")), flush=True)
    except OSError as e: print("not", os.path.basename(path.rstrip("/")), flush=True)
'''


def makes(desk, *paths):
    desk.ward.file('makes.py', MAKES)
    desk.sendline('ward run -- /usr/bin/python3 -I makes.py ' + ' '.join(map(str, paths)))


def test_a_yes_can_be_to_the_directory(desk, outside):
    makes(desk, outside / 'a', outside / 'b', f'{outside}/c/', outside / 'c/d')
    asked(desk, gives(f'write {outside}/a'), '[w] wider: all beside it')
    press(desk, 'w')
    shown = asked(desk, gives(f'write {outside}/**'), '[o] narrower: this alone')
    assert '[w]' not in shown  # what holds it holds ward's own state
    press(desk, 's')
    for name in 'abcd':
        desk.expect_exact(f'made {name}')
    desk.ready()
    assert [grant['permissions'] for grant in granted(desk)] == [[f'write {outside}/**']]
    denial, = last_result(desk.ward)['attempts'][0]['denials']
    assert (denial['object'], denial['count']) == (f'{outside}/a', 4)


def test_a_yes_can_be_to_a_directory_alone(desk, outside):
    makes(desk, f'{outside}/new/', outside / 'new/in')
    asked(desk, gives(f'write {outside}/new/**'), '[w] wider: all beside it', '[o] narrower: this alone')
    press(desk, 'o')
    asked(desk, gives(f'write {outside}/new'), '[w] wider: all in it')
    press(desk, 's')
    asked(desk, gives(f'write {outside}/new/in'))
    press(desk, 'n')
    desk.expect_exact('not in')
    desk.ready()
    # Nor is it wider in the next run, where the directory is there.
    makes(desk, f'{outside}/new/', outside / 'new/in')
    asked(desk, gives(f'write {outside}/new/in'))
    press(desk, 'n')
    desk.ready()
    assert not (outside / 'new/in').exists()


def test_a_wider_yes_opens_nothing_that_is_closed_in_it(desk, outside):
    (outside / 'closed').mkdir()
    desk.ward.person.own(outside / 'closed')
    desk.ward.file('makes.py', MAKES)
    desk.sendline(f'ward run --deny {outside}/closed -- /usr/bin/python3 -I makes.py {outside}/a {outside}/closed/b')
    asked(desk, gives(f'write {outside}/a'))
    press(desk, 'w')
    asked(desk, gives(f'write {outside}/**'))
    press(desk, 'y')
    desk.expect_exact('made a')
    desk.expect_exact('not b')
    desk.ready()
    assert not list((outside / 'closed').iterdir())


def test_a_home_is_not_offered(desk):
    makes(desk, desk.ward.home / 'file')
    shown = asked(desk, gives(f'write {desk.ward.home}/file'))
    assert '[w]' not in shown and '[o]' not in shown
    press(desk, 'n')
    desk.ready()


def test_a_no_is_to_what_was_wanted(desk, outside):
    makes(desk, outside / 'a', outside / 'b')
    asked(desk, gives(f'write {outside}/a'))
    press(desk, 'w')
    asked(desk, gives(f'write {outside}/**'))
    press(desk, 'n')
    asked(desk, gives(f'write {outside}/b'))
    press(desk, 'n')
    desk.expect_exact('not b')
    desk.ready()


# -- Asking too much ---------------------------------------------------------------------------------

THREADS = '''import os, sys, threading, time
out, count, pause, same = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), len(sys.argv) > 4
done, lock = {"works": 0, "refused": 0}, threading.Lock()
def one(i):
    try: os.close(os.open(f"{out}/{0 if same else i}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)); how = "works"
    except OSError: how = "refused"
    with lock: done[how] += 1
    open(how, "w").write(str(done[how]))
threads = [threading.Thread(target=one, args=(i,)) for i in range(count)]
for t in threads: t.start(); time.sleep(pause)
for t in threads: t.join()
print("in the end", done["works"], "and", done["refused"], flush=True)
'''


def threads(desk, outside, *arguments):
    desk.ward.file('threads.py', THREADS)
    desk.sendline(f'ward run -- /usr/bin/python3 -I threads.py {outside} ' + ' '.join(map(str, arguments)))


def noted(desk, name):
    path = desk.ward.work / name
    return path.read_text() if path.exists() else ''


def test_more_than_ten_wishes_in_a_second_are_refused_at_once(desk, outside):
    said = desk.logfile_read = io.StringIO()
    threads(desk, outside, 200, 0)
    total = 0
    while total < 10:  # most of them at once, in a list
        several = re.search(r'wants (\d+) things at once', asked(desk, ' wants '))
        count = int(several.group(1)) if several else 1
        if total == 0:
            assert wait_until(lambda: noted(desk, 'refused') == '190', 20), noted(desk, 'refused')
        press(desk, 'n' if total + count < 10 else 'y')
        total += count
    desk.expect_exact(f'in the end {count} and {200 - count}')
    desk.ready()
    assert 'ward: it asked more than 10 times in a second; the rest is refused without asking' in said.getvalue().partition('in the end')[0]
    result = last_result(desk.ward)
    assert any('more than 10 times in a second' in warning for warning in result['sandbox_warnings'])
    answers = [denial['answer'] for denial in result['attempts'][0]['denials']]
    assert len(answers) == 200 and answers.count('granted') == count and answers.count('denied') == 10 - count


def test_more_than_fifty_wishes_are_refused(desk, outside):
    threads(desk, outside, 51, 0.13)
    asked(desk, ' wants ')
    assert wait_until(lambda: noted(desk, 'refused') == '1', 30)
    press(desk, 'n')
    desk.expect_exact('ward: it asked more than 50 times; the rest is refused without asking')
    asked(desk, 'things at once')
    press(desk, 'q')
    desk.ready()
    result = last_result(desk.ward)
    assert any('more than 50 times' in warning for warning in result['sandbox_warnings'])


def test_hundreds_of_threads_share_one_question(desk, outside):
    threads(desk, outside, 300, 0, 'same')
    asked(desk, f'to write {outside}/0')
    time.sleep(2)  # until all of them wait
    press(desk, 'y')
    desk.expect_exact('in the end 300 and 0')
    desk.ready()
    assert [record['kind'] for record in desk.ward.records()].count('ask') == 1
    denial, = last_result(desk.ward)['attempts'][0]['denials']
    assert (denial['answer'], denial['count']) == ('granted', 300)


# -- The ledger --------------------------------------------------------------------------------------

WRITES = 'import os, signal, sys, time\nfor i in range(3):\n    try: open("/usr/new", "w")\n    except OSError: pass\n    time.sleep(0.05)\n'


@pytest.mark.parametrize('flags, end', [
    ([], 'os.kill(os.getpid(), signal.SIGKILL)'),
    (['--timeout', '2s'], 'time.sleep(60)'),
    (['--output', '1K'], 'sys.stdout.write("x" * 10000); sys.stdout.flush(); time.sleep(60)'),
    ([], 'sys.exit(1)'),
])
def test_the_ledger_is_complete_however_it_ends(plain, flags, end):
    before = time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime())
    result = plain.result(*flags, '--', '/usr/bin/python3', '-I', '-c', WRITES + end)
    denial, = result['attempts'][0]['denials']
    assert (denial['operation'], denial['object'], denial['syscall'], denial['program'], denial['count'], denial['answer']) == (
        'write', '/usr/new', 'openat', 'python3', 3, 'none')
    assert before <= denial['first'] < denial['last'] <= time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(time.time() + 1))
    assert denial['first'].endswith('Z') and len(denial['first']) == len('2024-01-01T00:00:00.000Z')


PHRASES = '''import errno, os, sys
words = [os.strerror(number) for number in range(1, 200)] + list(errno.errorcode.values())
words += ["permission denied", "Access denied", "Operation not permitted", "Read-only file system", "sandbox violation", "denied by policy",
          "EACCES: permission denied, open '/etc/passwd'", "PermissionError: [Errno 13] Permission denied: '/etc/shadow'",
          "bash: /usr/x: Permission denied", "mkdir: cannot create directory '/usr/x': Permission denied", "Keine Berechtigung",
          "Permission non accord\xe9e", "Connection refused", "connect ECONNREFUSED 203.0.113.10:443", "getaddrinfo ENOTFOUND web.example",
          "curl: (7) Failed to connect to web.example port 443: Permission denied", "ward: refused: write /usr/new", "java.nio.file.AccessDeniedException: /usr/x",
          "operation was blocked by seccomp", "Landlock: denied", "npm ERR! code EACCES", "fatal: could not create work tree dir: Permission denied"]
for word in words:
    print(word); print(word, file=sys.stderr)
sys.exit(1)
'''


def test_what_a_program_prints_is_no_denial(desk):
    desk.ward.file('phrases.py', PHRASES)
    desk.sendline('ward run -- /usr/bin/python3 -I phrases.py; echo e''nd')
    desk.expect_exact('Landlock: denied')
    desk.ready()
    assert 'ward asks' not in desk.before
    result = last_result(desk.ward)
    assert result['exit_code'] == 1 and result['attempts'][0]['denials'] == [] and len(result['attempts']) == 1
