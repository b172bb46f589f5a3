# SPDX-License-Identifier: Apache-2.0
"""Libraries connect datagram sockets and send nothing, to learn which of their own addresses leads somewhere: the C library to the
port that was asked for, Go to port 9. Nobody wants to reach anything by it, so nothing is refused, asked or noted."""
from world import PRIVATE, WEB, plain, to, ward, world

PROBE = '''
import socket, sys
for family, kind, protocol, name, address in socket.getaddrinfo(sys.argv[1], int(sys.argv[2]), type=socket.SOCK_STREAM):
    for port in (address[1], 9, 0):
        s = socket.socket(family, socket.SOCK_DGRAM)
        try: s.connect((address[0], port, *address[2:])); s.getsockname(); print("probed")
        except OSError as e: print(e)
'''
FETCH = 'import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 20).close()'


def test_a_probe_is_no_refusal(ward, world):
    world.name('web.example', WEB)
    port = world.http()
    result = ward.result(*to(f'web.example:{port}'), '--', '/usr/bin/python3', '-I', '-c', PROBE, 'web.example', port)
    assert result['attempts'][0]['denials'] == [] and result['exit_code'] == 0
    result = ward.result(*to(f'web.example:{port}'), '--', '/usr/bin/python3', '-I', '-c', FETCH, 'web.example', port)
    assert result['attempts'][0]['denials'] == [] and result['exit_code'] == 0


def test_what_is_refused_is_what_was_wanted(plain, world):
    """The denial is the stream's, with the address that the name led to, and counts what the program tried."""
    world.name('inner.example', PRIVATE)
    result = plain.result(*to('inner.example'), '--', '/usr/bin/python3', '-I', '-c', FETCH, 'inner.example', '80')
    denial, = result['attempts'][0]['denials']
    assert (denial['protocol'], denial['address']) == ('tcp', PRIVATE)
    result = plain.result(*to('inner.example'), '--', '/usr/bin/python3', '-I', '-c', FETCH, 'other.example', '80')
    denial, = result['attempts'][0]['denials']
    assert (denial['protocol'], denial['count']) == ('tcp', 2), 'one for each family'


def test_a_server_inside_is_found_by_name_before_the_hosts(plain, world):
    port = world.hello('of the host', '127.0.0.1')
    script = ('import socket, sys, threading\nl = socket.create_server(("127.0.0.1", int(sys.argv[1])))\n'
              'def serve(): l.accept()[0].sendall(b"from inside")\nthreading.Thread(target=serve, daemon=True).start()\n'
              'print(socket.create_connection(("localhost", int(sys.argv[1])), 20).recv(99).decode())')
    result = plain.result(*to(f'localhost:{port}'), '--', '/usr/bin/python3', '-I', '-c', script, port)
    assert result['stdout'] == 'from inside\n'
