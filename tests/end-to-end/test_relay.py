# SPDX-License-Identifier: Apache-2.0
"""Datagrams to what is allowed, and ports of the sandbox that the host can reach: what goes through the relay, and what
of it is left when ward is gone."""
import contextlib
import pathlib
import signal
import socket
import threading

import pytest

from support import wait_until
from world import OTHER, PRIVATE, WEB, WEB6, plain, to, ward, world

# The ways in which programs send datagrams: with an address each, or connected once.
TALK = '''
import socket, sys
host, port, way, size = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
family, _, _, _, address = socket.getaddrinfo(host, port, 0, socket.SOCK_DGRAM)[0]
s = socket.socket(family, socket.SOCK_DGRAM)
s.settimeout(20)
def talk(text):
    if way == "connect":
        s.connect(address)
        s.send(text)
        assert s.getpeername()[:2] == address[:2]
        return s.recv(65536)
    if way == "sendmsg":
        s.sendmsg([text], [], 0, address)
    else:
        s.sendto(text, address)
    answer, peer = s.recvfrom(65536)
    assert peer[:2] == address[:2], (peer, address)
    return answer
try:
    for text in (b"one", b"two" * size):
        assert talk(text) == b"<" + text + b">"
except OSError as e:
    print(type(e).__name__)
else:
    print("answered")
'''

WEB_SERVER = '''
import http.server, socketserver, sys
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"from inside")
    log_message = print
socketserver.TCPServer.allow_reuse_address = True
http.server.HTTPServer((sys.argv[1], int(sys.argv[2])), Page).serve_forever()
'''


def talk(ward, host, port, way, allowed, size=1):
    done = ward.python(TALK, host, port, way, size, flags=to(*allowed))
    assert done.code == 0, done
    return done.out.strip()


def listening(world, address=WEB):
    """A socket for datagrams there that never answers, and what it heard so far."""
    sock, heard = world.socket(address, kind=socket.SOCK_DGRAM), []

    def serve():
        while True:
            data, peer = sock.recvfrom(65536)
            if peer is None:
                break  # closed under us
            heard.append(data)

    world.thread(serve)
    return sock.getsockname()[1], heard


@pytest.mark.parametrize('way', ['connect', 'sendto', 'sendmsg'])
@pytest.mark.parametrize('host, address', [('time.example', WEB), (WEB, WEB), (WEB6, WEB6), ('six.example', WEB6)])
def test_datagrams_reach_what_is_allowed_and_answers_come_back(ward, world, way, host, address):
    world.name('time.example', WEB)
    world.name('six.example', WEB6)
    port = world.datagrams(address)
    assert talk(ward, host, port, way, [f'[{host}]:{port}' if ':' in host else f'{host}:{port}']) == 'answered'


def test_large_datagrams_are_whole(plain, world):
    world.name('time.example', WEB)
    port = world.datagrams()
    assert talk(plain, 'time.example', port, 'sendto', ['time.example'], size=20000) == 'answered'


@pytest.mark.parametrize('way', ['connect', 'sendto', 'sendmsg'])
def test_datagrams_to_what_is_not_allowed_are_refused_and_told(plain, world, way):
    world.name('time.example', WEB)
    world.name('other.example', OTHER)
    world.name('inner.example', PRIVATE)
    port, heard = listening(world, OTHER)
    world.dns.forget()
    result = plain.result('--allow-host', 'time.example', '--', '/usr/bin/python3', '-I', '-c', TALK, 'other.example', port, way, 1)
    denial, = result['attempts'][-1]['denials']
    assert (denial['operation'], denial['object'], denial['protocol']) == ('connect', f'other.example:{port}', 'udp')
    assert result['stdout'].strip() == 'ConnectionRefusedError'
    assert not heard and not world.dns.asked('other.example')


def test_another_port_of_an_allowed_host_is_not_reached(plain, world):
    port, heard = listening(world)
    allowed = world.datagrams()
    assert talk(plain, WEB, port, 'sendto', [f'{WEB}:{allowed}']) == 'ConnectionRefusedError'
    assert not heard


def test_a_private_address_behind_an_allowed_name_is_not_reached(plain, world):
    world.name('inner.example', PRIVATE)
    port, heard = listening(world, PRIVATE)
    assert talk(plain, 'inner.example', port, 'sendto', ['inner.example']) == 'ConnectionRefusedError'
    assert not heard


def test_messages_of_one_call_go_to_relayed_targets_only(plain, world):
    """Of several messages only the first is looked at: inside, the others lead to a relay that stands, or to nobody."""
    world.name('time.example', WEB)
    port = world.datagrams()
    other, heard = listening(world, OTHER)
    done = plain.python('''if True:
        import ctypes, socket, struct, sys
        port, other = map(int, sys.argv[1:3])
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.settimeout(20)
        address = socket.gethostbyname("time.example")
        keep = []
        def message(host, port, text):
            name = ctypes.create_string_buffer(struct.pack("=HHL8x", socket.AF_INET, socket.htons(port), struct.unpack("=L", socket.inet_aton(host))[0]))
            data = ctypes.create_string_buffer(text)
            vector = ctypes.create_string_buffer(struct.pack("PN", ctypes.addressof(data), len(text)))
            keep.extend((name, data, vector))
            return struct.pack("PI4xPNPNi4xI4x", ctypes.addressof(name), 16, ctypes.addressof(vector), 1, 0, 0, 0, 0)
        messages = ctypes.create_string_buffer(message(address, port, b"first") + message(sys.argv[3], other, b"unseen") + message(address, other, b"unseen")
                                               + message(address, port, b"second"))
        print(ctypes.CDLL(None, use_errno=True).sendmmsg(s.fileno(), messages, 4, 0))
        print(s.recv(99).decode(), s.recv(99).decode())
    ''', port, other, OTHER, flags=to('time.example'))
    assert done.out.split() == ['4', '<first>', '<second>'], done
    assert not heard


def test_a_connected_sender_hears_that_nobody_listens(plain, world):
    world.name('time.example', WEB)
    with world.socket(kind=socket.SOCK_DGRAM) as sock:
        port = sock.getsockname()[1]
    assert talk(plain, 'time.example', port, 'connect', ['time.example']) == 'ConnectionRefusedError'


def test_many_senders_are_told_apart(plain, world):
    world.name('time.example', WEB)
    port = world.datagrams()
    done = plain.python('''if True:
        import socket, sys
        address = (socket.gethostbyname("time.example"), int(sys.argv[1]))
        sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(100)]
        for number, s in enumerate(sockets):
            s.settimeout(20)
            s.connect(address)
            s.send(b"%d" % number)
        print(all(s.recv(99) == b"<%d>" % number for number, s in enumerate(sockets)))
    ''', port, flags=to('time.example'))
    assert done.out == 'True\n', done


def test_names_and_the_loopback_work_beside_the_relay(plain, world):
    world.name('time.example', WEB)
    port = world.datagrams()
    done = plain.python('''if True:
        import socket, sys
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.settimeout(20)
        s.sendto(b"x", (socket.gethostbyname("time.example"), int(sys.argv[1])))
        print(s.recv(99).decode())
        print(socket.gethostbyname("another.example").startswith("198.1"))
        for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            listener = socket.create_server((host, 0), family=family)
            client = socket.create_connection(listener.getsockname()[:2])
            listener.accept()[0].sendall(b"inside")
            print(client.recv(99).decode())
        try: socket.create_connection(("another.example", 80))
        except OSError as e: print(type(e).__name__)
    ''', port, flags=to('time.example'))
    assert done.out.split() == ['<x>', 'True', 'inside', 'inside', 'ConnectionRefusedError'], done


# Published ports.

def free_port(world):
    return world.unused('127.0.0.1')


@contextlib.contextmanager
def publishing(ward, world, published, inside, script=WEB_SERVER, address='127.0.0.1', **how):
    """ward with a server inside that the host can reach."""
    process = ward.popen('run', '--publish', f'{published}:{inside}', '--', '/usr/bin/python3', '-I', '-c', script, address, inside, **how)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        ward.finish(process)


def fetch(world, port, host='127.0.0.1'):
    return world.call('curl', '-sS', '-m', '20', f'http://{host}:{port}/')


def reach(world, port):
    """A connection to it; the command may have begun a moment before ward listens."""
    found = []

    def there():
        with world.inside('127.0.0.1'), contextlib.suppress(ConnectionRefusedError):
            found.append(socket.create_connection(('127.0.0.1', port), timeout=30))
        return found

    assert wait_until(there, 20)
    return found[0]


@pytest.mark.parametrize('address', ['127.0.0.1', '::1', '0.0.0.0'])
def test_a_published_port_is_reached_from_the_host(ward, world, address):
    published, inside = free_port(world), 8123
    script = WEB_SERVER if address != '::1' else WEB_SERVER.replace('http.server.HTTPServer((', 'import socket\n'
             'class Six(http.server.HTTPServer): address_family = socket.AF_INET6\nSix((')
    with publishing(ward, world, published, inside, script, address):
        assert wait_until(lambda: fetch(world, published) == (0, 'from inside')), fetch(world, published)
        assert fetch(world, published, '[::1]') == (0, 'from inside')
        # On the loopback only.
        assert fetch(world, published, WEB)[0] == 7
    assert fetch(world, published)[0] == 7


def test_where_nothing_listens_inside_the_connection_is_reset(plain, world):
    published = free_port(world)
    with publishing(plain, world, published, 8123, 'import time; print("up", flush=True); time.sleep(300)') as process:
        assert process.stdout.readline() == b'up\n'
        with pytest.raises(ConnectionResetError), reach(world, published) as client:
            client.recv(1)


def test_much_at_once_and_the_last_words_of_a_server_arrive(plain, world):
    """It ends as soon as it has said what it has to say, and the run with it."""
    published, size = free_port(world), 3 << 20
    script = f'''if True:
        import socket, sys
        listener = socket.create_server(("127.0.0.1", int(sys.argv[2])))
        print("up", flush=True)
        peer = listener.accept()[0]
        assert len(peer.recv(100)) == 5
        peer.sendall(b"x" * {size})
    '''
    process = plain.popen('run', '--publish', f'{published}:8123', '--', '/usr/bin/python3', '-I', '-c', script, '-', 8123)
    assert process.stdout.readline() == b'up\n'
    got = 0
    with reach(world, published) as client:
        client.sendall(b'hello')
        while part := client.recv(1 << 20):
            got += len(part)
    assert got == size
    assert plain.finish(process).code == 0


def test_connections_side_by_side(plain, world):
    published, answers = free_port(world), []
    script = '''if True:
        import asyncio, sys
        async def echo(reader, writer):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
            writer.close()
        async def main():
            server = await asyncio.start_server(echo, "127.0.0.1", int(sys.argv[2]), backlog=1000)
            print("up", flush=True)
            await server.serve_forever()
        asyncio.run(main())
    '''

    def one(client, text):
        with client:
            client.sendall(text)
            client.shutdown(socket.SHUT_WR)
            got = b''
            while part := client.recv(65536):
                got += part
            answers.append(got == text)

    with publishing(plain, world, published, 8123, script) as process:
        assert process.stdout.readline() == b'up\n'
        threads = []
        for number in range(50):
            threads.append(threading.Thread(target=one, args=(reach(world, published), b'%03d' % number * 20000)))
            threads[-1].start()
        for thread in threads:
            thread.join(60)
    assert answers == [True] * 50


def test_a_port_that_is_taken_is_named_and_nothing_runs(ward, world):
    with world.socket('127.0.0.1') as taken:
        taken.listen()
        port = taken.getsockname()[1]
        done = ward('run', '--publish', f'{port}:80', '--', 'touch', 'ran')
    assert done.code == 125 and f'port {port} ' in done.err and '--publish' in done.err
    assert not (ward.work / 'ran').exists()


@pytest.mark.parametrize('wrong', ['0', '0:80', '80:0', '65536', '-1', 'http', '80:80:80', ''])
def test_what_is_no_port_is_refused(plain, wrong):
    done = plain('run', '--publish', wrong, '--', 'true')
    assert done.code == 125 and '--publish' in done.err and 'port' in done.err


# Nothing is left.

def helpers_of(pid):
    """The children of that ward that work for it outside, by their names."""
    found = {}
    for entry in pathlib.Path('/proc').iterdir():
        with contextlib.suppress(OSError, IndexError):
            if entry.name.isdigit() and (entry / 'stat').read_text().rsplit(')', 1)[1].split()[1] == str(pid):
                found[(entry / 'comm').read_text().strip()] = entry
    return {name: entry for name, entry in found.items() if name in ('ward-pump', 'ward-factory')}


def test_both_helpers_go_with_ward_however_it_goes(ward, world):
    world.name('time.example', WEB)
    port = world.datagrams()
    for end in (signal.SIGKILL, signal.SIGTERM):
        process = ward.popen('run', *to('time.example'), '--', '/usr/bin/python3', '-I', '-c',
                             TALK + '\nsys.stdout.flush()\nimport time; time.sleep(300)', 'time.example', str(port), 'sendto', '1')
        assert process.stdout.readline() == b'answered\n'
        helpers = helpers_of(process.pid)
        assert set(helpers) == {'ward-pump', 'ward-factory'}
        process.send_signal(end)
        ward.finish(process)  # nobody holds its pipes any more
        assert wait_until(lambda: not any(entry.exists() for entry in helpers.values()), 20)


def test_a_run_that_needs_none_has_none(plain, world):
    process = plain.popen('run', *to('time.example'), '--', 'sh', '-c', 'echo up; sleep 300')
    assert process.stdout.readline() == b'up\n'
    assert not helpers_of(process.pid)
    process.terminate()
    plain.finish(process)
