# SPDX-License-Identifier: Apache-2.0
"""A world of a test's own: a network and a file system view (mount namespace) with addresses of every kind, names that
the test makes up, and servers behind them. It has no way out: every address in it ends in it. It lives as long as this
process holds it open, so that nothing of it is left whatever happens.

A test file takes its fixtures from here, and its ward runs in the world, as root and as a plain user:

    from world import plain, ward, world

    def test_it(ward, world):
        world.name('web.example', '203.0.113.10')
        port = world.http('203.0.113.10', b'hello')
        assert ward.run('curl', '-sS', f'http://web.example:{port}/', flags=['--net', 'full']).out == 'hello'
        assert world.dns.asked('web.example')

ward's own Terminal works in it too. Programs and servers of the test are started with world.start() or, as threads of this
process, with world.serve(), world.http() and world.echo()."""
import contextlib
import ctypes
import ipaddress
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time

import pytest

from support import PATH, PATIENCE, Person, Ward, wait_until
from world_servers import Name, Names, Page, Web, is_six

# The machine that ward runs on.
OWN, OWN6 = '203.0.113.200', '2001:db8::200'
# What is abroad, on a machine of its own at the other end of a wire. Where an address stands in no list, the network is unreachable.
WEB, OTHER, THIRD = '203.0.113.10', '203.0.113.20', '198.51.100.7'
WEB6, OTHER6 = '2001:db8::10', '2001:db8::20'
PRIVATE, PRIVATE6, SHARED = '10.1.2.3', 'fd00::10', '100.64.1.2'
METADATA, METADATA6 = '169.254.169.254', 'fd00:ec2::254'
LINK_LOCAL, LINK_LOCAL6 = '169.254.7.7', 'fe80::10'
# Where the name server answers: the first is in the world's resolv.conf.
NAMES, MORE_NAMES = '10.0.0.53', ('127.0.0.53', '::1')
# Packets to these vanish; for the next the way is known to end; the last has nobody who answers for it.
BLACK_HOLE, BLACK_HOLE6 = '203.0.113.99', '2001:db8::99'
UNREACHABLE, UNREACHABLE6 = '198.51.100.66', '2001:db8:dead::1'

ABROAD = [WEB + '/24', OTHER + '/24', THIRD + '/24', PRIVATE + '/24', SHARED + '/24', NAMES + '/32', METADATA + '/32', LINK_LOCAL + '/16',
          '100.100.100.200/32', '192.168.7.7/24', '172.16.7.7/24', WEB6 + '/64', OTHER6 + '/64', PRIVATE6 + '/64', METADATA6 + '/64',
          LINK_LOCAL6 + '/64']

INTERFACE = 'w0'  # on both machines


def addresses(*those):
    return ''.join(f'ip address add {address} dev {INTERFACE} {"nodad" if ":" in address else ""}\n' for address in those)


def routes():
    """To what is abroad and not beside an own address; link-local addresses need none."""
    networks = {ipaddress.ip_interface(address).network for address in ABROAD} - {ipaddress.ip_network('fe80::/64')}
    beside = {ipaddress.ip_interface(address).network for address in (OWN + '/24', OWN6 + '/64')}
    return ''.join(f'ip -{network.version} route add {network} dev {INTERFACE}\n' for network in networks - beside)


# The first line of what it says is the process that holds the other machine.
SET_UP = f'''set -e
ip link set lo up
unshare --net sh -c 'echo ready; read wait' <&3 >"$1/abroad" 3<&- &
while ! grep -q ready "$1/abroad" 2>/dev/null; do sleep 0.01; done
ip link add {INTERFACE} type veth peer name {INTERFACE} netns $!
nsenter --net=/proc/$!/ns/net sh -e -c 'ip link set lo up; ip link set {INTERFACE} up
''' + addresses(*ABROAD) + f''''
ip link set {INTERFACE} up
''' + addresses(OWN + '/24', OWN6 + '/64') + routes() + f'''
ip neighbour add {BLACK_HOLE} lladdr 02:00:00:00:00:99 dev {INTERFACE} nud permanent
ip neighbour add {BLACK_HOLE6} lladdr 02:00:00:00:00:99 dev {INTERFACE} nud permanent
ip route add unreachable {UNREACHABLE}/32
ip -6 route add unreachable {UNREACHABLE6}/128
for name in resolv.conf hosts nsswitch.conf; do mount --bind "$1/$name" "$(realpath /etc/$name)"; done
echo $!
read wait
'''

CLONE_NEWNET, CLONE_NEWNS = 0x40000000, 0x00020000
libc = ctypes.CDLL(None, use_errno=True)

# What the tests' small clients begin with.
PRELUDE = '''
import errno, os, select, signal, socket, struct, sys, threading, time
def address(kind=socket.AF_INET): return socket.getaddrinfo(HOST, PORT, kind, socket.SOCK_STREAM)[0][4]
def told(call):
    try: return call()
    except OSError as e: return errno.errorcode.get(e.errno, e)
def talk(s, text=b"ping"):
    s.setblocking(True); s.sendall(text); got = b""
    while len(got) < len(text): got += s.recv(65536) or sys.exit("hung up")
    return got.decode()
'''


def set_namespace(fd, kind):
    if libc.setns(fd, kind) != 0:
        raise OSError(ctypes.get_errno(), 'setns')


def to(*targets):
    """Flags that allow them."""
    return [word for target in targets for word in ('--allow-host', target)]


class Resident(Person):
    """Someone who lives in the world: what they start, starts there, on ward's machine or abroad."""

    def __init__(self, world, person, abroad=False):
        super().__init__(person.name)
        self.world, self.holder = world, os.getpid()
        self.network = world.abroad if abroad else world.network

    def identity(self):
        return {'preexec_fn': self.become}

    def by_words(self):
        return [], self.identity()

    def become(self):
        directory = os.getcwd()
        # By their names, because a terminal's child has closed all that it inherited.
        for fd, kind in ((self.network, CLONE_NEWNET), (self.world.mounts, CLONE_NEWNS)):
            opened = os.open(f'/proc/{self.holder}/fd/{fd}', os.O_RDONLY | os.O_CLOEXEC)
            set_namespace(opened, kind)
            os.close(opened)
        os.chdir(directory)
        super().become()


class World:
    """See the top of this file."""

    def __init__(self):
        with contextlib.ExitStack() as stack:
            self.directory = pathlib.Path(tempfile.mkdtemp(prefix='ward-test-world-', dir='/var/tmp'))
            stack.callback(shutil.rmtree, self.directory, ignore_errors=True)
            self.directory.chmod(0o755)
            self.resolver()
            self.hosts()
            self.switch()
            self.home = os.open('/proc/self/ns/net', os.O_RDONLY | os.O_CLOEXEC)
            stack.callback(os.close, self.home)
            self.network, self.mounts, self.abroad = self.make()
            stack.callback(os.close, self.network)
            stack.callback(os.close, self.abroad)
            stack.callback(os.close, self.mounts)
            self.closing = stack.enter_context(contextlib.ExitStack())
            self.dns = Names(self, (NAMES, *MORE_NAMES))
            self.stack = stack.pop_all()

    def make(self):
        """The namespaces; the processes that made them may end, because they are held open here."""
        with subprocess.Popen(['unshare', '--net', '--mount', '--propagation', 'private', 'sh', '-c', 'exec 3<&0; ' + SET_UP, 'sh', self.directory],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as maker:
            try:
                said = maker.stdout.readline()
                if not said:
                    raise RuntimeError('no world: ' + maker.stderr.read().decode())
                those = ((maker.pid, 'net'), (maker.pid, 'mnt'), (int(said), 'net'))
                return [os.open(f'/proc/{pid}/ns/{kind}', os.O_RDONLY | os.O_CLOEXEC) for pid, kind in those]
            finally:
                maker.kill()
                maker.stdin.close()  # which ends the other

    def close(self):
        self.stack.close()

    def write(self, name, text):
        """A file of the world, in place: the files of /etc are mounts of these. resolv.conf, hosts and nsswitch.conf there."""
        path = self.directory / name
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        path.chmod(0o644)
        return path

    # Names.

    def name(self, name, *addresses, **how):
        """A name with its addresses; see Name for how."""
        self.know(name, Name([addresses], **how))

    def changing(self, name, *rounds, **how):
        """A name that has other addresses with each question: world.changing('x.example', ['203.0.113.10'], ['127.0.0.1'])."""
        self.know(name, Name([[each] if isinstance(each, str) else each for each in rounds], **how))

    def alias(self, name, other, **how):
        self.know(name, Name([], alias=other, **how))

    def know(self, name, record):
        with self.dns.lock:
            self.dns.records[name] = record
            for key in [key for key in self.dns.rounds if key[0] == name]:
                del self.dns.rounds[key]

    def hosts(self, *lines):
        """The world's /etc/hosts, localhost aside."""
        self.write('hosts', '127.0.0.1 localhost\n::1 localhost\n' + ''.join(line + '\n' for line in lines))

    def resolver(self, *lines):
        """The world's /etc/resolv.conf."""
        self.write('resolv.conf', ''.join(line + '\n' for line in lines or (f'nameserver {NAMES}', 'options timeout:2 attempts:2')))

    def switch(self, hosts='files dns'):
        """Where the world's /etc/nsswitch.conf says that names of hosts come from."""
        self.write('nsswitch.conf', f'passwd: files\ngroup: files\nshadow: files\nhosts: {hosts}\n')

    # Sockets and servers, which end with the world.

    @contextlib.contextmanager
    def inside(self, address=WEB):
        """This thread, in the network of the machine that has the address (not in the world's mounts)."""
        own = address in (OWN, OWN6, '::1', '::', '0.0.0.0') or address.startswith('127.')
        set_namespace(self.network if own else self.abroad, CLONE_NEWNET)
        try:
            yield
        finally:
            set_namespace(self.home, CLONE_NEWNET)

    def socket(self, address=WEB, port=0, kind=socket.SOCK_STREAM):
        """A bound socket there. A link-local address of IPv6 means the one of the interface."""
        with self.inside(address):
            sock = socket.socket(socket.AF_INET6 if is_six(address) else socket.AF_INET, kind)
            self.closing.callback(hang_up, sock)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if is_six(address):
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            scope = socket.if_nametoindex(INTERFACE) if address.startswith('fe80:') else 0
            sock.bind((address, port, 0, scope) if is_six(address) else (address, port))
        return sock

    def thread(self, target, *arguments):
        """A thread that ends with its sockets or with this process."""
        def run():
            with contextlib.suppress(OSError, ValueError):
                target(*arguments)
        threading.Thread(target=run, daemon=True).start()

    def serve(self, handle, address=WEB, port=0):
        """handle(connection) in a thread for each connection; returns the port."""
        listener = self.socket(address, port)
        listener.listen(1024)

        def one(peer):
            with peer:
                handle(peer)

        def accept():
            while True:
                self.thread(one, listener.accept()[0])

        self.thread(accept)
        return listener.getsockname()[1]

    def echo(self, address=WEB, port=0):
        """A TCP server that sends back what it is sent; returns the port."""
        def handle(peer):
            while data := peer.recv(1 << 16):
                peer.sendall(data)
        return self.serve(handle, address, port)

    def hello(self, text, address=WEB, port=0):
        """A TCP server that says the text and hangs up; returns the port."""
        return self.serve(lambda peer: peer.sendall(text.encode()), address, port)

    def datagrams(self, address=WEB, port=0):
        """A UDP server that sends each datagram back with < and > around it; returns the port."""
        sock = self.socket(address, port, socket.SOCK_DGRAM)

        def serve():
            while True:
                data, peer = sock.recvfrom(65536)
                if peer is None:
                    break  # closed under us
                sock.sendto(b'<' + data + b'>', peer)

        self.thread(serve)
        return sock.getsockname()[1]

    def web(self, address=WEB, port=0, page=b'hello\n', handler=Page, names=None):
        """A web server: .port, .requests. With names it speaks TLS with a certificate for them that world.ca vouches for."""
        listener = self.socket(address, port)
        listener.listen(1024)
        context = None
        if names:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self.certificate(*names))
        if handler is Page:
            handler = type('Page', (Page,), {'page': page})
        server = Web(listener, handler, context)
        threading.Thread(target=server.serve_forever, kwargs={'poll_interval': 0.1}, daemon=True).start()
        self.closing.callback(server.shutdown)
        return server

    def http(self, address=WEB, page=b'hello\n', port=0):
        """A web server with one page; returns the port."""
        return self.web(address, port, page).port

    def https(self, *names, address=WEB, page=b'hello\n', port=0):
        return self.web(address, port, page, names=names).port

    def full(self, address=WEB):
        """A listener whose backlog is full: connections to it hang. Returns the port."""
        listener = self.socket(address)
        listener.listen(0)
        with self.inside(address):
            for _ in range(4):
                sock = socket.socket(socket.AF_INET6 if is_six(address) else socket.AF_INET)
                self.closing.callback(sock.close)
                sock.setblocking(False)
                sock.connect_ex(listener.getsockname())
        return listener.getsockname()[1]

    def late(self, seconds=0.3, address=WEB):
        """An echo server that takes no connection before the time is over: connecting takes a second. Returns the port."""
        listener = self.socket(address)
        listener.listen(0)
        with self.inside():
            early = [socket.socket(socket.AF_INET6 if is_six(address) else socket.AF_INET) for _ in range(3)]
            for sock in early:
                sock.setblocking(False)
                sock.connect_ex(listener.getsockname())

        def echo(peer):
            with peer:
                while data := peer.recv(1 << 16):
                    peer.sendall(data)

        def accept():
            time.sleep(seconds)
            for sock in early:
                sock.close()
            listener.listen(64)
            while True:
                self.thread(echo, listener.accept()[0])

        self.thread(accept)
        return listener.getsockname()[1]

    def unused(self, address=WEB):
        """A port where nobody listens."""
        with self.inside(address), socket.socket(socket.AF_INET6 if is_six(address) else socket.AF_INET) as sock:
            sock.bind((address, 0))
            return sock.getsockname()[1]

    # Certificates.

    @property
    def ca(self):
        """The certificate that vouches for the world's servers."""
        path = self.directory / 'ca.pem'
        if not path.exists():
            self.openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj',
                         '/CN=The world', '-keyout', self.directory / 'ca.key', '-out', path)
            path.chmod(0o644)
        return path

    def certificate(self, *names):
        """A certificate for the names or addresses, and its key."""
        base = self.directory / ('certificate-' + '-'.join(names).replace('*', '_').replace(':', '_'))
        key, request, certificate, extra = (base.with_name(base.name + end) for end in ('.key', '.request', '.pem', '.extra'))
        kinds = ','.join(('IP:' if name.replace('.', '').isdigit() or is_six(name) else 'DNS:') + name for name in names)
        extra.write_text(f'subjectAltName={kinds}\n')
        self.openssl('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', '/CN=server', '-keyout', key, '-out',
                     request)
        self.openssl('x509', '-req', '-in', request, '-CA', self.ca, '-CAkey', self.directory / 'ca.key', '-CAcreateserial', '-days', '2',
                     '-extfile', extra, '-out', certificate)
        return certificate, key

    @staticmethod
    def openssl(*words):
        subprocess.run(['openssl', *map(str, words)], check=True, capture_output=True)

    # People and programs.

    def person(self, person):
        return Resident(self, person)

    def ward(self, binary, person, place):
        """ward in the world, as it is used on any machine."""
        return Ward(binary, Resident(self, person), place)

    def start(self, *command, person=None, env=None, cwd='/', abroad=True, **how):
        """A server abroad, without ward, in a process group that ends with the world."""
        resident = Resident(self, person or Person('root'), abroad)
        for stream in ('stdin', 'stdout', 'stderr'):
            how.setdefault(stream, subprocess.DEVNULL)
        process = subprocess.Popen(list(map(str, command)), cwd=cwd, env={'PATH': PATH, 'LANG': 'C.UTF-8', 'HOME': resident.home, **(env or {})},
                                   start_new_session=True, **resident.identity(), **how)
        self.closing.callback(stop, process)
        return process

    def call(self, *command, timeout=PATIENCE, **how):
        """A program on ward's machine to its end, without ward; returns (exit code, output and errors)."""
        process = self.start(*command, abroad=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **how)
        try:
            out = process.communicate(timeout=timeout)[0]
        finally:
            stop(process)
        return process.returncode, out.decode(errors='replace')

    def answers(self, port, address=WEB, seconds=30):
        """Waits until somebody listens there."""
        def there():
            with self.inside(address), socket.socket(socket.AF_INET6 if is_six(address) else socket.AF_INET) as sock:
                return sock.connect_ex((address, port)) == 0
        assert wait_until(there, seconds, 0.05), f'nobody listens on {address} {port}'


def hang_up(sock):
    """Closes it under a thread that waits on it."""
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
    sock.close()


def stop(process):
    """Ends a program of the test and all that it started, and closes its pipes."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(2)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            stream.close()


@pytest.fixture(scope='module')
def world():
    """One for all tests of a file."""
    if os.geteuid() != 0:
        pytest.skip('needs root to make a world')
    there = World()
    yield there
    there.close()


@pytest.fixture
def ward(binary, world, who, place):
    """ward in the world for root and for the plain user."""
    return world.ward(binary, who, place)


@pytest.fixture
def plain(binary, world, me, place):
    """ward in the world for the plain user."""
    return world.ward(binary, me, place)
