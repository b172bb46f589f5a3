# SPDX-License-Identifier: Apache-2.0
"""The sandbox's own loopback works; what leads out of it is refused and named as it was meant. Nothing here talks to
another machine: refused names end inside, and servers listen on 127.0.0.1."""
import contextlib
import http.server
import os
import pathlib
import shutil
import socket
import tempfile
import threading

import pytest

FETCH = ('import socket, sys\ntry: socket.create_connection((sys.argv[1], int(sys.argv[2])), 20).close()\n'
         'except OSError as e: print(type(e).__name__, e.errno)\nelse: print("connected")')


class Quiet(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'from the host\n')

    def log_message(self, *words):
        pass


@pytest.fixture
def server():
    """A web server on the host's loopback; its port."""
    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), Quiet) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        yield httpd.server_address[1]
        httpd.shutdown()


@contextlib.contextmanager
def unix_server(path):
    """A socket of the host that greets and hangs up."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        path.chmod(0o777)
        listener.listen(8)
        listener.settimeout(0.2)
        done = threading.Event()

        def serve():
            while not done.is_set():
                with contextlib.suppress(TimeoutError):
                    with listener.accept()[0] as peer:
                        peer.sendall(b'from the host\n')

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield path
        done.set()
        thread.join(5)


GREET = 'import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(s.recv(99).decode(), end="")'


def test_curl_is_refused_by_name(ward):
    assert shutil.which('curl'), 'a test dependency'
    result = ward.result('--', 'curl', '-sS', '--max-time', '60', 'http://registry.example:8080/x')
    assert result['exit_code'] == 7
    denials = result['attempts'][0]['denials']
    assert {(d['operation'], d['object']) for d in denials} == {('connect', 'registry.example:8080')}
    assert denials[0]['syscall'] == 'connect' and denials[0]['program'] == 'curl'


def test_python_is_refused_by_name(ward):
    result = ward.result('--', '/usr/bin/python3', '-c', FETCH, 'packages.example', '443')
    assert result['stdout'].startswith('ConnectionRefusedError')
    assert {(d['operation'], d['object']) for d in result['attempts'][0]['denials']} == {('connect', 'packages.example:443')}


def test_the_default_port_and_two_names_are_told_apart(plain):
    result = plain.result('-c', 'curl -s http://one.example/; curl -s http://two.example/; true')
    assert {d['object'] for d in result['attempts'][0]['denials']} == {'one.example:80', 'two.example:80'}


def test_a_refused_name_is_said_with_the_flag_that_permits_it(plain):
    done = plain.run('curl', '-s', 'http://registry.example/')
    assert 'ward: refused: connect registry.example:80' in done.err
    assert 'to allow: --allow-host registry.example:80' in done.err


@pytest.mark.parametrize('address, named', [('192.0.2.1', '192.0.2.1:80'), ('198.51.100.7', '198.51.100.7:80'),
                                            ('10.0.0.1', '10.0.0.1:80'), ('169.254.169.254', '169.254.169.254:80'),
                                            ('2001:db8::1', '[2001:db8::1]:80')])
def test_a_raw_address_is_refused_as_it_is(ward, address, named):
    result = ward.result('--', '/usr/bin/python3', '-c', FETCH, address, '80')
    assert result['stdout'].startswith('ConnectionRefusedError')
    assert [(d['operation'], d['object']) for d in result['attempts'][0]['denials']] == [('connect', named)]


@pytest.mark.parametrize('send', ['s.sendto(b"x", to)'])
def test_a_datagram_to_the_outside_is_refused_and_known(plain, send):
    script = ('import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nto = ("192.0.2.1", 53)\n'
              f'try: {send}\nexcept OSError as e: print(e.errno)\nelse: print("sent")')
    result = plain.result('--', '/usr/bin/python3', '-c', script)
    assert result['stdout'].strip() != 'sent'
    assert [(d['operation'], d['object']) for d in result['attempts'][0]['denials']] == [('connect', '192.0.2.1:53')]


def test_the_hosts_loopback_is_not_the_sandboxs(ward, server):
    result = ward.result('--', '/usr/bin/python3', '-c', FETCH, '127.0.0.1', str(server))
    assert result['stdout'] == 'ConnectionRefusedError 111\n'


def test_looking_up_names_is_no_refusal(plain):
    result = plain.result('--', 'getent', 'hosts', 'registry.example')
    assert result['exit_code'] == 0 and result['attempts'][0]['denials'] == []


def test_localhost_means_the_sandbox(plain):
    done = plain.run('getent', 'ahosts', 'localhost')
    assert done.code == 0
    assert {line.split()[0] for line in done.out.splitlines()} <= {'127.0.0.1', '::1'}


TCP = '''
import socket, threading
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    listener = socket.socket(family); listener.bind((host, 0)); listener.listen()
    def serve():
        peer = listener.accept()[0]; peer.sendall(b"<" + peer.recv(99) + b">"); peer.close()
    t = threading.Thread(target=serve); t.start()
    s = socket.create_connection((host, listener.getsockname()[1])); s.sendall(b"x" * 10); print(s.recv(99).decode()); t.join()
'''
UDP = '''
import socket
a, b = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
for s in (a, b): s.bind(("127.0.0.1", 0)); s.settimeout(20)
a.sendto(b"one", b.getsockname()); print(b.recvfrom(99)[0].decode())
a.sendmsg([b"two"], [], 0, b.getsockname()); print(b.recvfrom(99)[0].decode())
a.connect(b.getsockname()); a.send(b"three"); print(b.recvfrom(99)[0].decode())
'''
UNIX = '''
import os, socket, threading
for kind, name in ((socket.SOCK_STREAM, "here.sock"), (socket.SOCK_STREAM, "/tmp/there.sock"), (socket.SOCK_STREAM, "\\0abstract"),
                   (socket.SOCK_SEQPACKET, "packets.sock")):
    listener = socket.socket(socket.AF_UNIX, kind); listener.bind(name); listener.listen()
    def serve():
        peer = listener.accept()[0]; peer.sendall(b"<" + peer.recv(99) + b">"); peer.close()
    t = threading.Thread(target=serve); t.start()
    s = socket.socket(socket.AF_UNIX, kind); s.connect(name); s.sendall(b"hello"); print(s.recv(99).decode()); t.join()
a, b = socket.socketpair(); a.sendall(b"pair"); print(b.recv(99).decode())
'''


@pytest.mark.parametrize('script, expected', [(TCP, '<xxxxxxxxxx>\n' * 2), (UDP, 'one\ntwo\nthree\n'), (UNIX, '<hello>\n' * 4 + 'pair\n')],
                         ids=['tcp', 'udp', 'unix'])
def test_sockets_inside_work(ward, script, expected):
    result = ward.result('--', '/usr/bin/python3', '-c', script)
    assert result['stdout'] == expected, result['stderr']
    assert result['attempts'][0]['denials'] == []


def test_nonblocking_and_refused_connects_behave_as_natively(plain):
    script = ('import asyncio\nasync def main():\n server = await asyncio.start_server(lambda r, w: (w.write(b"hi"), w.close()), '
              '"127.0.0.1", 0)\n port = server.sockets[0].getsockname()[1]\n'
              ' rs = await asyncio.gather(*(asyncio.open_connection("127.0.0.1", port) for _ in range(50)))\n'
              ' print(b"".join([await r.read() for r, w in rs]) == b"hi" * 50)\n server.close()\n'
              ' try: await asyncio.open_connection("127.0.0.1", 1)\n except ConnectionRefusedError: print("refused")\nasyncio.run(main())')
    result = plain.result('--', '/usr/bin/python3', '-c', script)
    assert result['stdout'] == 'True\nrefused\n', result['stderr']
    assert result['attempts'][0]['denials'] == []


def test_a_unix_socket_of_the_host_is_refused_and_named(ward):
    with unix_server(ward.place / 'host.sock') as path:
        result = ward.result('--', '/usr/bin/python3', '-c', GREET, path)
        assert result['exit_code'] == 1
        assert [(d['operation'], d['object']) for d in result['attempts'][0]['denials']] == [('unix', str(path))]
        assert f'--allow-socket {path}' in result['error']['hint']


def test_a_unix_socket_of_the_host_in_the_workspace_is_refused_too(ward):
    with unix_server(ward.work / 'host.sock') as path:
        result = ward.result('--', '/usr/bin/python3', '-c', GREET, 'host.sock')
        assert result['exit_code'] == 1
        assert [(d['operation'], d['object']) for d in result['attempts'][0]['denials']] == [('unix', str(path))]


def test_allow_socket_reaches_that_socket_and_no_other(ward):
    with unix_server(ward.place / 'a.sock') as a, unix_server(ward.place / 'b.sock') as b:
        assert ward.run('/usr/bin/python3', '-c', GREET, a, flags=['--allow-socket', a]).out == 'from the host\n'
        result = ward.result('--allow-socket', a, '--', '/usr/bin/python3', '-c', GREET, b)
        assert [(d['operation'], d['object']) for d in result['attempts'][0]['denials']] == [('unix', str(b))]


def test_allow_socket_reaches_one_below_run(plain):
    """Where /run is hidden, the name still means the host's socket."""
    if os.geteuid() != 0:
        pytest.skip('needs root to make a socket below /run')
    with tempfile.TemporaryDirectory(prefix='ward-test-', dir='/run') as directory:
        os.chmod(directory, 0o755)
        with unix_server(pathlib.Path(directory) / 'host.sock') as path:
            assert plain.run('/usr/bin/python3', '-c', GREET, path, flags=['--allow-socket', path]).out == 'from the host\n'
            assert plain.denials('--', '/usr/bin/python3', '-c', GREET, path) == [('unix', str(path))]


def test_the_ssh_agents_socket_by_name(plain):
    with unix_server(plain.place / 'agent.sock') as path:
        variables = {'SSH_AUTH_SOCK': str(path)}
        script = GREET.replace('sys.argv[1]', '__import__("os").environ["SSH_AUTH_SOCK"]')
        done = plain.run('/usr/bin/python3', '-c', script, flags=['--allow-socket', 'ssh-agent'], env=variables)
        assert done.out == 'from the host\n', done
        assert plain.run('/usr/bin/python3', '-c', script, env=variables).code != 0


def test_dockers_socket_is_said_to_be_equal_to_root(plain):
    with unix_server(plain.place / 'docker.sock') as path:
        assert 'equal to root' in plain.run('/usr/bin/python3', '-c', GREET, path).err


def test_net_full_is_the_hosts_network(ward, server):
    done = ward.run('curl', '-sS', f'http://127.0.0.1:{server}/', flags=['--net', 'full'])
    assert (done.code, done.out) == (0, 'from the host\n')
    result = ward.result('--net', 'full', '--', '/usr/bin/python3', '-c', FETCH, '127.0.0.1', str(server))
    assert result['stdout'] == 'connected\n' and result['attempts'][0]['denials'] == []
    assert 'netns' not in result['attempts'][0]['walls']


def test_net_full_does_not_open_unix_sockets_or_files(ward):
    with unix_server(ward.place / 'host.sock') as path:
        result = ward.result('--net', 'full', '-c', f"/usr/bin/python3 -c '{GREET}' {path}; echo x > ../f; true")
        assert [(d['operation'], d['object']) for d in result['attempts'][0]['denials']] == [
            ('unix', str(path)), ('write', str(ward.place / 'f'))]


def test_a_server_inside_ends_with_its_run(plain):
    done = plain.sh('/usr/bin/python3 -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 & '
                    'for i in $(seq 100); do curl -s http://127.0.0.1:8123/ >/dev/null && break; sleep 0.1; done; '
                    'curl -s -o /dev/null -w "%{http_code}" http://localhost:8123/')
    assert done.out == '200', done
