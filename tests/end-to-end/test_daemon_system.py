# SPDX-License-Identifier: Apache-2.0
"""ward serve --system: for all users, each served as himself. In a mount namespace of its own, with a /run of its own."""
import errno
import fcntl
import json
import os
import pathlib
import shutil
import subprocess

import pytest

from daemon import wait_for
from support import PATH, PATIENCE, Person

SPEAK = '''import json, socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(%d)
try:
    s.connect(sys.argv[1])
except OSError as error:
    print(json.dumps({'errno': error.errno})); sys.exit()
f = s.makefile('rw')
for number, (method, params) in enumerate(json.loads(sys.argv[2])):
    answer = None
    try:
        f.write(json.dumps({'id': number, 'method': method, 'params': params}) + '\\n'); f.flush()
        for line in f:
            message = json.loads(line)
            if message.get('id') == number and 'method' not in message:
                answer = message; break
    except (BrokenPipeError, ConnectionResetError):  # what was said last went unheard
        pass
    print(json.dumps(answer or {'gone': True}))
    if not answer: break
''' % PATIENCE


class System:
    def __init__(self, binary, place):
        self.place = place
        home = place / 'root'
        home.mkdir()
        self.process = subprocess.Popen(
            ['unshare', '-m', '--propagation', 'private', 'sh', '-c', 'mount -t tmpfs none /run && exec "$@"', 'sh', binary, 'serve', '--system'],
            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, cwd='/', env={'PATH': PATH, 'HOME': str(home), 'LANG': 'C.UTF-8'})
        line = self.process.stderr.readline()
        assert b'listening in /run/ward' in line, line

    def speak(self, person, side, *messages):
        """Each message's answer, over one connection."""
        who = [] if person.is_root else ['setpriv', f'--reuid={person.uid}', f'--regid={person.gid}', '--clear-groups']
        done = subprocess.run(['nsenter', '-t', str(self.process.pid), '-m', *who, '/usr/bin/python3', '-c', SPEAK, f'/run/ward/{side}.sock',
                               json.dumps(messages)], capture_output=True, text=True, timeout=PATIENCE, cwd='/')
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
        assert self.process.wait(PATIENCE) in (0, -9)
        self.process.stderr.close()


ROOT = Person('root')


@pytest.fixture
def system(binary, place, user):
    if os.geteuid() != 0:
        pytest.skip('only root runs it')
    state = pathlib.Path(user.home) / '.local' / 'state' / 'ward'
    shutil.rmtree(state, ignore_errors=True)
    daemon = System(binary, place)
    try:
        yield daemon
    finally:
        daemon.end()
        shutil.rmtree(state, ignore_errors=True)


@pytest.fixture
def work(place, user):
    path = place / 'work'
    path.mkdir()
    user.own(path)
    return str(path)


def test_a_command_runs_as_its_peer_and_nobody_else(system, user, work):
    ran, = system.speak(user, 'agent', ['run', {'command': 'id -u; id -g; touch made', 'workspace': work}])
    assert ran['result']['stdout'].split() == [str(user.uid), str(user.gid)]
    assert os.stat(work + '/made').st_uid == user.uid


def test_nobody_sees_what_is_anothers(system, user, work):
    started, = system.speak(user, 'agent', ['start', {'command': 'echo mine', 'workspace': work}])
    ticket = started['result']['ticket']
    told = system.speak(ROOT, 'agent', ['status', {'ticket': ticket}], ['tickets', {}], ['cancel', {'ticket': ticket}],
                        ['output', {'ticket': ticket}])
    assert [message.get('error', {}).get('code') for message in told] == [-32002, None, -32002, -32002]
    assert all(other['ticket'] != ticket for other in told[1]['result']['tickets'])
    waited, = system.speak(user, 'agent', ['wait', {'ticket': ticket}])
    assert waited['result']['result']['stdout'] == 'mine\n'


def test_users_do_not_reach_the_approvers_socket(system, user):
    assert system.speak(user, 'approver', ['ping', {}]) == [{'errno': errno.EACCES}]


def test_an_approver_answers_for_whom_he_says(system, user, work):
    started, = system.speak(user, 'agent', ['start', {'command': f'echo x > {user.home}/outside', 'workspace': work}])
    ticket = started['result']['ticket']

    def asked():
        return system.speak(ROOT, 'approver', ['as', {'uid': user.uid}], ['pending', {}])[1]['result']['asks']

    question = wait_for(asked)[0]
    # His own are none of these.
    assert all(ask['id'] != question['id'] for ask in system.speak(ROOT, 'approver', ['pending', {}])[0]['result']['asks'])
    late, refused = system.speak(ROOT, 'approver', ['ping', {}], ['as', {'uid': user.uid}])
    assert 'result' in late and refused['error']['code'] == -32602
    system.speak(ROOT, 'approver', ['as', {'uid': user.uid}], ['approve', {'ask': question['id'], 'scope': 'once'}])
    waited, = system.speak(user, 'agent', ['wait', {'ticket': ticket}])
    result = waited['result']['result']
    assert result['exit_code'] == 0
    assert [d['by'].endswith(', uid 0') for d in result['decisions'] if d['source'] == 'person'] == [True]
    os.unlink(f'{user.home}/outside')


def by_root(system, binary, *words):
    return subprocess.run(['nsenter', '-t', str(system.process.pid), '-m', binary, *words], capture_output=True, text=True, timeout=PATIENCE, cwd='/',
                          env={'PATH': PATH, 'HOME': str(system.place / 'root'), 'LANG': 'C.UTF-8'}, stdin=subprocess.DEVNULL)


def test_root_sees_and_answers_what_waits_for_others(system, binary, user, work):
    assert by_root(system, binary, 'pending').stdout == 'nothing waits for an answer\n'
    started, = system.speak(user, 'agent', ['start', {'command': f'echo x > {user.home}/outside', 'workspace': work}])
    ticket = started['result']['ticket']

    def listed():
        return [json.loads(line) for line in by_root(system, binary, 'pending', '--json').stdout.splitlines()]

    question = wait_for(listed)[0]
    assert question['user'] == user.uid and question['ticket'] == ticket and 'nonce' not in question
    shown = by_root(system, binary, 'pending').stdout
    assert f'user      {user.name}' in shown and f'ward approve --user {user.name} ID' in shown and question['id'] in shown
    assert f'write {user.home}/outside' in by_root(system, binary, 'pending', '--user', str(user.uid), question['id']).stdout
    assert by_root(system, binary, 'approve', question['id']).returncode != 0  # it is none of his own
    done = by_root(system, binary, 'approve', '--user', user.name, question['id'], '--reason', 'by root')
    assert done.returncode == 0, done
    waited, = system.speak(user, 'agent', ['wait', {'ticket': ticket}])
    said, = [d['approval'] for d in waited['result']['result']['decisions'] if d['source'] == 'person']
    assert said['granted'] and said['reason'] == 'by root' and said['approver'].split('@')[0] == 'root'
    assert os.stat(f'{user.home}/outside').st_uid == user.uid
    os.unlink(f'{user.home}/outside')


def test_only_root_answers_for_others(plain):
    done = plain('pending', '--user', 'root')
    assert done.code == 125 and 'only root' in done.err
    assert plain('approve', '--user', '0', '01m7jtpzwqx1413swm6fagev28').code == 125


def test_what_a_user_plants_is_harmless_to_root(system, binary, user):
    """A question file of his own making, a pipe and a link where one would be, and text that would move the cursor."""
    asks = pathlib.Path(user.home) / '.local' / 'state' / 'ward' / 'asks'
    asks.mkdir(parents=True)
    evil = '\x1b]0;x\x07\x1b[2J\u202eall is well'
    name = '01m7jtpzwqx1413swm6fagev28'
    entry = {'id': name, 'run': evil, 'since': evil, 'until': evil, 'nonce': evil, 'hash': evil, 'ticket': evil,
             'ask': {'id': name, 'text': evil + '\nsecond\r' + evil, 'command': evil, 'cwd': evil, 'agent': evil, 'why': evil, 'grants': [evil],
                     'risk': {'level': evil}, 'choices': [evil]}}
    (asks / name).write_text(json.dumps(entry))
    os.mkfifo(asks / '01m7jtpzwqx1413swm6fagev29')
    (asks / '01m7jtpzwqx1413swm6fagev30').symlink_to('/etc/shadow')
    for path in (asks.parents[2], asks.parents[1], asks.parent, asks, *asks.iterdir()):
        os.chown(path, user.uid, user.gid, follow_symlinks=False)
    with open(asks / name) as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # as one who waits
        listed = by_root(system, binary, 'pending')
        whole = by_root(system, binary, 'pending', '--user', user.name, name)
    for text in (listed.stdout, whole.stdout):
        assert 'all is well' in text and 'root:' not in text
        assert not any(c in text for c in '\x1b\x07\r\u202e'), text


def test_there_is_no_speaking_for_nobody(system):
    told = system.speak(ROOT, 'approver', ['as', {'uid': 4123456789}], ['pending', {}])
    assert told[0]['error']['code'] == -32002 and told[1:] in ([], [{'gone': True}])


def opened(system):
    """As by SocketMode= and SocketGroup= of the unit: others than root may answer, too."""
    subprocess.run(['nsenter', '-t', str(system.process.pid), '-m', 'chmod', '0666', '/run/ward/approver.sock'], check=True)


def test_nobody_but_root_speaks_for_root(system, user):
    opened(system)
    told = system.speak(user, 'approver', ['as', {'uid': 0}], ['ping', {}])
    assert told[0]['error']['code'] == -32602 and 'only root' in told[0]['error']['message']
    assert told[1]['result']['uid'] == user.uid
    assert system.speak(ROOT, 'approver', ['as', {'uid': 0}])[0]['result'] == {'uid': 0}


CROWD = '''import socket, sys
held = []
for number in range(400):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(%d)
    s.connect('/run/ward/agent.sock')
    try:
        s.sendall(b'{"id": 1, "method": "ping"}\\n')
    except BrokenPipeError:
        pass
    if b'-32000' in s.recv(4096):
        break
    held.append(s)
print(len(held), flush=True)
sys.stdin.read()
''' % PATIENCE


def test_one_user_does_not_take_all_connections(system, user):
    """Each of them is a process of his own, and others are served beside them."""
    crowd = subprocess.Popen(['nsenter', '-t', str(system.process.pid), '-m', 'setpriv', f'--reuid={user.uid}', f'--regid={user.gid}', '--clear-groups',
                              '/usr/bin/python3', '-c', CROWD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd='/')
    try:
        assert int(crowd.stdout.readline()) == 80
        assert system.speak(ROOT, 'agent', ['ping', {}])[0]['result']['uid'] == 0
    finally:
        crowd.communicate()


def test_what_serves_a_peer_ends_with_a_daemon_that_is_killed(system, user):
    program = 'import os, socket, sys; s = socket.socket(socket.AF_UNIX); s.connect("/run/ward/agent.sock"); ' \
              's.sendall(b\'{"id": 1, "method": "ping"}\\n\'); print(s.recv(4096).decode(), flush=True); print(s.recv(1))'
    peer = subprocess.Popen(['nsenter', '-t', str(system.process.pid), '-m', 'setpriv', f'--reuid={user.uid}', f'--regid={user.gid}', '--clear-groups',
                             '/usr/bin/python3', '-c', program], stdout=subprocess.PIPE, text=True, cwd='/')
    served = json.loads(peer.stdout.readline())['result']['daemon']
    assert served != system.process.pid and os.path.exists(f'/proc/{served}')
    system.process.kill()
    assert "b''" in peer.communicate(timeout=PATIENCE)[0]
    wait_for(lambda: not os.path.exists(f'/proc/{served}'))


def test_only_root_serves_the_system(plain):
    assert plain('serve', '--system').code == 125
