# SPDX-License-Identifier: Apache-2.0
"""The units that systemd starts the daemon by."""
import contextlib
import os
import re
import shutil
import socket
import subprocess

import pytest

from daemon import Client, wait_for
from support import PATH, PATIENCE, SOURCE
from test_daemon_system import ROOT, System

UNITS = sorted((SOURCE / 'data' / 'systemd').glob('*/*'))


def settings(path):
    return [tuple(line.split('=', 1)) for line in path.read_text().splitlines() if re.match(r'\w+=', line)]


def test_the_sockets_are_those_of_the_daemon():
    user = SOURCE / 'data' / 'systemd' / 'user' / 'ward.socket'
    system = SOURCE / 'data' / 'systemd' / 'system'
    assert [value for key, value in settings(user) if key == 'ListenStream'] == ['%t/ward/agent.sock', '%t/ward/approver.sock']
    assert ('SocketMode', '0600') in settings(user) and ('DirectoryMode', '0700') in settings(user)
    assert ('SocketMode', '0666') in settings(system / 'ward-agent.socket')
    assert ('SocketMode', '0600') in settings(system / 'ward-approver.socket')


@pytest.mark.parametrize('path', [unit for unit in UNITS if unit.suffix == '.service'], ids=lambda path: path.parent.name)
def test_ending_the_daemon_ends_no_run(path):
    assert ('KillMode', 'process') in settings(path) and ('Type', 'notify') in settings(path)


def test_systemd_understands_the_units(tmp_path):
    if not shutil.which('systemd-analyze'):
        pytest.skip('there is no systemd-analyze')
    for kind in ('user', 'system'):
        place = tmp_path / kind
        place.mkdir()
        for unit in UNITS:
            if unit.parent.name == kind:
                (place / unit.name).write_text(unit.read_text().replace('@BINDIR@/ward', '/bin/true'))
        done = subprocess.run(['systemd-analyze', *(['--user'] if kind == 'user' else []), 'verify', '--man=no',
                               *map(str, sorted(place.iterdir()))], capture_output=True, text=True,
                              env={'PATH': '/usr/bin:/bin', 'XDG_RUNTIME_DIR': str(tmp_path), 'SYSTEMD_UNIT_PATH': f'{place}:'})
        told = [line for line in done.stderr.splitlines() if str(place) in line or '/ward' in line]
        assert not told, done.stderr


def test_all_of_them_are_installed():
    named = re.search(r'^UNITS = (.*)$', (SOURCE / 'Makefile').read_text(), re.M)[1].split()
    assert sorted(named) == sorted(str(unit.relative_to(SOURCE / 'data' / 'systemd')) for unit in UNITS)


def words(kind, directory, binary):
    """How systemd listens and what it starts, by the units of that kind."""
    units = [path for path in UNITS if path.parent.name == kind]
    listens = [value.replace('%t/ward', directory).replace('/run/ward', directory) for unit in units for key, value in settings(unit)
               if key == 'ListenStream']
    start, = [value for unit in units for key, value in settings(unit) if key == 'ExecStart']
    assert listens == [f'{directory}/agent.sock', f'{directory}/approver.sock']
    return ['systemd-socket-activate', *(word for path in listens for word in ('-l', path))], start.replace('@BINDIR@/ward', binary).split()


@pytest.fixture
def told(plain):
    """Where the service says that it is ready."""
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as heard:
        path = plain.place / 'notify'
        heard.bind(str(path))
        path.chmod(0o777)
        heard.settimeout(PATIENCE)
        yield heard, path


@pytest.fixture
def activated(plain, told):
    """The sockets of the user's unit, and who will be the daemon when somebody comes."""
    if not shutil.which('systemd-socket-activate'):
        pytest.skip('there is no systemd-socket-activate')
    directory = plain.place / 'runtime' / 'ward'
    directory.mkdir(parents=True, mode=0o700)
    for path in (directory.parent, directory):
        path.chmod(0o700)
        plain.person.own(path)
    listen, start = words('user', str(directory), str(plain.binary))
    plain.variables['XDG_RUNTIME_DIR'] = str(directory.parent)
    names = {**plain.variables, 'NOTIFY_SOCKET': str(told[1])}
    process = plain.popen(*listen[1:], *(word for name, value in names.items() for word in ('-E', f'{name}={value}')), *start,
                          program=shutil.which(listen[0]))
    try:
        wait_for(lambda: (directory / 'approver.sock').exists())
        yield directory, process
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=PATIENCE)


def test_the_first_who_comes_starts_the_users_daemon(plain, activated, told):
    directory, process = activated
    assert 'ward' not in open(f'/proc/{process.pid}/comm').read() and not (directory / 'daemon.lock').exists()
    agent = Client(directory / 'agent.sock')
    assert agent.call('ping')['daemon'] == process.pid
    assert told[0].recv(100) == b'READY=1'
    approver = Client(directory / 'approver.sock')
    assert approver.call('ping')['socket'] == 'approver'
    # Nothing of how it was started is left to what it starts.
    ran = agent.call('run', command='env; ls /proc/self/fd', workspace=str(plain.work))
    assert ran['exit_code'] == 0 and 'LISTEN_' not in ran['stdout'] and 'NOTIFY_SOCKET' not in ran['stdout'], ran
    number = agent.send('run', command=f'echo x > {plain.place}/home/outside', workspace=str(plain.work))
    question = wait_for(lambda: approver.call('pending')['asks'])[0]
    approver.call('approve', ask=question['id'], hash=question['hash'])
    assert agent.answer(number)['exit_code'] == 0
    process.terminate()
    assert process.wait(PATIENCE) == 0 and told[0].recv(100) == b'STOPPING=1'
    # They are systemd's, who goes on listening by them.
    assert (directory / 'agent.sock').is_socket() and (directory / 'approver.sock').is_socket()


def test_one_who_comes_while_it_starts_is_served(plain, activated):
    directory, process = activated
    clients = [Client(directory / name) for name in ('approver.sock', 'agent.sock', 'agent.sock')]
    assert {client.call('ping')['daemon'] for client in clients} == {process.pid}


def test_the_systems_units_serve_each_as_himself(binary, place, user):
    if os.geteuid() != 0:
        pytest.skip('only root runs it')
    if not shutil.which('systemd-socket-activate'):
        pytest.skip('there is no systemd-socket-activate')
    listen, start = words('system', '/run/ward', str(binary))
    modes = ' && '.join(f"chmod {value} {dict(settings(unit))['ListenStream']}" for unit in UNITS if unit.parent.name == 'system'
                        for key, value in settings(unit) if key == 'SocketMode')
    home, work = place / 'root', place / 'work'
    for path in (home, work):
        path.mkdir()
    user.own(work)
    # The sockets get their modes when they are there, as systemd gives them.
    process = subprocess.Popen(['unshare', '-m', '--propagation', 'private', 'sh', '-c',
                                f'mount -t tmpfs none /run && mkdir -m 755 /run/ward && {{ while ! [ -S /run/ward/approver.sock ]; do sleep 0.05; done; {modes}; touch /run/ready; }} & '
                                f'while ! [ -d /run/ward ]; do sleep 0.05; done; exec "$@"', 'sh', *listen, '-E', f'HOME={home}', '-E', f'PATH={PATH}', *start],
                               stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, cwd='/', env={'PATH': PATH, 'HOME': str(home), 'LANG': 'C.UTF-8'})
    system = System.__new__(System)
    system.process, system.place = process, place
    try:
        wait_for(lambda: os.path.exists(f'/proc/{process.pid}/root/run/ready'))
        ran, = system.speak(user, 'agent', ['run', {'command': 'id -u', 'workspace': str(work)}])
        assert ran['result']['stdout'].split() == [str(user.uid)]
        assert 'errno' in system.speak(user, 'approver', ['ping', {}])[0]
        assert system.speak(ROOT, 'approver', ['ping', {}])[0]['result']['socket'] == 'approver'
    finally:
        process.terminate()
        assert process.wait(PATIENCE) == 0
        shutil.rmtree(f'{user.home}/.local/state/ward', ignore_errors=True)
