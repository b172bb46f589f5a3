# SPDX-License-Identifier: Apache-2.0
"""Names inside, however the machine around finds its own: files, links and services of every kind. Each machine is a mount
namespace of the test's own in the tests' world; no query leaves for a name that nobody allowed."""
import contextlib
import os
import subprocess
import types

import pytest

from support import Ward
from world import NAMES, WEB, Resident, plain, to, ward, world

STUB = '/run/systemd/resolve/stub-resolv.conf'
SYNTHETIC = '198.18.'
INNER = 'nameserver 127.0.0.1'

# A copy of /etc that may be changed, and a /run of its own.
MACHINE = '''set -e
cp -a /etc "$1/etc"
mount --bind "$1/etc" /etc
mount -t tmpfs -o mode=755 run /run
mkdir -p /run/systemd/resolve
'''
HOLD = '\necho ready\nread wait\n'


@contextlib.contextmanager
def machine(world, place, changes):
    """A place to live in: the world's network, and its files with these changes."""
    directory = place / 'machine'
    directory.mkdir()
    maker = world.start('unshare', '--mount', '--propagation', 'private', 'sh', '-c', MACHINE + changes + HOLD, 'sh', directory,
                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    ready = maker.stdout.readline()
    assert ready == b'ready\n', maker.stderr.read()
    mounts = os.open(f'/proc/{maker.pid}/ns/mnt', os.O_RDONLY | os.O_CLOEXEC)
    maker.kill()
    try:
        yield types.SimpleNamespace(network=world.network, mounts=mounts)
    finally:
        os.close(mounts)


@pytest.fixture
def live(binary, world, me, place):
    """ward on such a machine, for the plain user: live(changes)."""
    with contextlib.ExitStack() as stack:
        yield lambda changes: Ward(binary, Resident(stack.enter_context(machine(world, place, changes)), me), place)


@pytest.fixture
def live_both(binary, world, who, place):
    """The same for root and for the plain user."""
    with contextlib.ExitStack() as stack:
        yield lambda changes: Ward(binary, Resident(stack.enter_context(machine(world, place, changes)), who), place)


@pytest.fixture(autouse=True)
def nothing_asked(world):
    world.dns.forget()


LINKS = {
    'a file': f'echo "nameserver {NAMES}" >/etc/resolv.conf',
    'an absolute link': f'ln -sf {STUB} /etc/resolv.conf',
    'a relative link': f'ln -sf ..{STUB} /etc/resolv.conf',
    'by way of /var/run': f'ln -sf ../var{STUB} /etc/resolv.conf',
    'by way of another link': f'ln -sf resolv.other /etc/resolv.conf; ln -sf ./../etc/..{STUB} /etc/resolv.other',
    'a link elsewhere': f'mkdir /etc/elsewhere; echo "nameserver {NAMES}" >/etc/elsewhere/x; ln -sf elsewhere/x /etc/resolv.conf',
}


@pytest.mark.parametrize('how', LINKS)
def test_resolv_conf_inside_names_the_inner_server(live, world, how):
    world.name('web.example', WEB)
    port = world.http(page=b'found\n')
    here = live(f'echo "nameserver {NAMES}" >{STUB}; rm /etc/resolv.conf\n{LINKS[how]}')
    result = here.result(*to(f'web.example:{port}'), '-c',
                         f'cat /etc/resolv.conf; getent ahosts nobody.example; curl -sS http://web.example:{port}/')
    assert result['exit_code'] == 0, result
    assert INNER in result['stdout'] and NAMES not in result['stdout'] and SYNTHETIC in result['stdout']
    assert result['stdout'].endswith('found\n')
    assert result['attempts'][0]['denials'] == []
    assert world.dns.asked('web.example') and not world.dns.asked('nobody.example')


@pytest.mark.parametrize('how', ['', 'ln -s /run/nothing/resolv.conf /etc/resolv.conf', 'ln -s ../nowhere/resolv.conf /etc/resolv.conf',
                                 'ln -s resolv.conf /etc/resolv.conf'],
                         ids=['missing', 'dangling into /run', 'dangling', 'a loop'])
def test_without_a_resolv_conf_names_are_found_inside(live, how):
    done = live(f'rm /etc/resolv.conf\n{how}').run('getent', 'ahosts', 'nobody.example')
    assert done.code == 0 and SYNTHETIC in done.out, done


def test_without_a_hosts_file_localhost_is_loopback(live):
    done = live('rm /etc/hosts').run('getent', 'ahosts', 'localhost')
    assert done.code == 0 and {line.split()[0] for line in done.out.splitlines()} <= {'127.0.0.1', '::1'}, done


def test_the_hosts_file_inside_knows_localhost_only(live_both, world):
    here = live_both('echo "10.1.2.3 secret.example" >>/etc/hosts')
    done = here.sh('cat /etc/hosts; getent ahosts secret.example')
    assert 'localhost' in done.out and 'secret' not in done.out.replace('secret.example\n', '') and '10.1.2.3' not in done.out, done
    assert SYNTHETIC in done.out


@pytest.mark.parametrize('order', ['files dns', 'resolve [!UNAVAIL=return] files dns', 'mymachines resolve [!UNAVAIL=return] files myhostname dns',
                                   'files mdns4_minimal [NOTFOUND=return] dns', 'files mdns4_minimal [NOTFOUND=return] resolve [!UNAVAIL=return] dns'])
def test_every_order_of_sources_leads_to_the_same(live, world, order):
    world.name('web.example', WEB)
    port = world.http(page=b'found\n')
    here = live(f'echo "nameserver {NAMES}" >/etc/resolv.conf; echo "hosts: {order}" >/etc/nsswitch.conf')
    result = here.result(*to(f'web.example:{port}'), '-c', f'getent ahosts localhost; curl -sS http://web.example:{port}/')
    assert result['exit_code'] == 0 and result['stdout'].endswith('found\n'), result
    assert result['attempts'][0]['denials'] == []


SERVICES = ['/run/nscd/socket', '/var/run/nscd/socket', '/run/systemd/resolve/io.systemd.Resolve', '/run/systemd/userdb/io.systemd.DynamicUser',
            '/run/avahi-daemon/socket']
CONNECT = '''
import errno, socket, sys
for path in sys.argv[1:]:
    s = socket.socket(socket.AF_UNIX)
    try: s.connect(path)
    except OSError as e: print(errno.errorcode[e.errno])
    else: print("connected")
'''
LISTEN = '''
import os, socket, sys
listeners = []
for path in sys.argv[1:]:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path): continue
    s = socket.socket(socket.AF_UNIX); s.bind(path); os.chmod(path, 0o777); s.listen(); listeners.append(s)
print("ready", flush=True)
sys.stdin.read()
'''


def listen(world, here, *paths):
    """Services of the machine that take connections, until the world ends."""
    process = subprocess.Popen(['/usr/bin/python3', '-c', LISTEN, *paths], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               preexec_fn=Resident(here.person.world, types.SimpleNamespace(name='root')).become)
    world.closing.callback(process.wait)
    world.closing.callback(process.kill)
    assert process.stdout.readline() == b'ready\n'


def test_services_that_the_c_library_asks_are_out_of_reach_and_nobody_is_told(live_both, world):
    here = live_both('')
    listen(world, here, *SERVICES)
    result = here.result('--', '/usr/bin/python3', '-c', CONNECT, *SERVICES)
    assert result['stdout'] == 'ENOENT\n' * len(SERVICES)
    assert result['attempts'][0]['denials'] == []
    result = here.result('--', 'getent', 'ahosts', 'nobody.example')
    assert SYNTHETIC in result['stdout'] and result['attempts'][0]['denials'] == []


def test_other_services_are_out_of_reach_and_told(live, world):
    here = live('')
    listen(world, here, '/run/other/socket')
    result = here.result('--', '/usr/bin/python3', '-c', CONNECT, '/run/other/socket')
    assert result['stdout'] == 'EACCES\n'
    assert [denial['object'] for denial in result['attempts'][0]['denials']] == ['/run/other/socket']


ASK = '''
import socket, struct, sys
def query(name, kind): return struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + b"".join(bytes([len(l)]) + l.encode() for l in name.split(".")) + b"\\0" + struct.pack(">2H", kind, 1)
def show(reply): print(reply[3] & 15, struct.unpack(">H", reply[6:8])[0], reply[-4:].hex())
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    s = socket.socket(family, socket.SOCK_DGRAM); s.settimeout(20); s.connect((host, 53)); s.send(query("a.example", 1)); show(s.recv(600))
    s = socket.create_connection((host, 53), 20); f = s.makefile("rb")
    both = [query("a.example", 1), query("a.example", 15)]
    s.sendall(b"".join(struct.pack(">H", len(q)) + q for q in both))
    for _ in both: show(f.read(*struct.unpack(">H", f.read(2))))
'''


def test_names_are_answered_by_every_way(ward, world):
    done = ward.python(ASK)
    lines = done.out.splitlines()
    assert len(lines) == 6 and lines[0].startswith('0 1 c612') and lines[:3] == lines[3:], done
    assert lines[1] == lines[0] and lines[2].startswith('0 0'), done
    assert not world.dns.asked('a.example')


@pytest.mark.parametrize('family', ['AF_UNSPEC', 'AF_INET', 'AF_INET6'])
def test_names_are_found_also_by_who_wants_addresses_that_work_here(plain, family):
    script = f'import socket; print(socket.getaddrinfo("a.example", None, socket.{family}, 0, 0, socket.AI_ADDRCONFIG)[0][4][0])'
    done = plain.python(script)
    assert done.out.startswith(('198.18.', 'fd77:6172:6400::')), done


def test_the_inner_addresses_are_the_sandboxs_own(plain):
    script = ('import socket\nfor host in ("198.19.255.254", "fd77:6172:6400:0:ffff::1"):\n'
              '    listener = socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET)\n'
              '    c = socket.create_connection(listener.getsockname()[:2], 20); listener.accept()[0].send(b"here"); print(c.recv(9).decode())')
    result = plain.result('--', '/usr/bin/python3', '-c', script)
    assert result['stdout'] == 'here\nhere\n' and result['attempts'][0]['denials'] == [], result


def test_the_machines_own_name_is_the_sandbox(plain):
    script = ('import socket\nname = socket.gethostname()\nlistener = socket.create_server((name, 0))\n'
              'c = socket.create_connection((name, listener.getsockname()[1]), 20); listener.accept()[0].send(b"here"); print(c.recv(9).decode())')
    result = plain.result('--', '/usr/bin/python3', '-c', script)
    assert result['stdout'] == 'here\n' and result['attempts'][0]['denials'] == [], result


def test_servers_that_changed_are_asked(plain, world):
    """While a command runs, the machine moves to another network."""
    world.name('one.example', WEB)
    world.name('two.example', WEB)
    port = world.http(page=b'found\n')
    world.write('resolv.conf', f'nameserver {NAMES}\n')
    ready, go = plain.work / 'ready', plain.work / 'go'
    process = plain.popen('run', *to(f'one.example:{port}', f'two.example:{port}'), '-c',
                          f'curl -sS http://one.example:{port}/; touch ready; while ! test -e go; do sleep 0.05; done; '
                          f'curl -sS -m 20 http://two.example:{port}/ || echo lost')
    try:
        for _ in range(600):
            if ready.exists():
                break
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.1)
        world.write('resolv.conf', 'nameserver 203.0.113.20\n')  # nobody answers there
        plain.file('go')
        done = plain.finish(process)
    finally:
        world.write('resolv.conf', f'nameserver {NAMES}\n')
    assert done.out == 'found\nlost\n' and not world.dns.asked('two.example'), done
    assert go.exists()
