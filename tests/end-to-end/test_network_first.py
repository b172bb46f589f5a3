# SPDX-License-Identifier: Apache-2.0
"""The sandbox's network is furnished for the first who makes a socket of it, whatever kind that is and whatever is done with it."""
import pytest

# A query for the address of `a.b`, and what must be in the reply: its number, and one answer.
COMMON = '''if True:
    import os, socket, struct
    QUERY = struct.pack('>6H', 0x1234, 0x100, 1, 0, 0, 0) + b'\\1a\\1b\\0' + struct.pack('>2H', 1, 1)
    def check(reply):
        assert struct.unpack('>4H', reply[:8])[0] == 0x1234 and struct.unpack('>4H', reply[:8])[3] == 1, reply
    def datagrams(family=socket.AF_INET):
        one = socket.socket(family, socket.SOCK_DGRAM)
        one.settimeout(20)
        return one
    def furnished():
        return '127.0.0.1' in open('/proc/net/fib_trie').read()
    assert not furnished()
    os.close(os.open('file', os.O_CREAT | os.O_WRONLY))
    left, right = socket.socketpair()
    socket.socket(socket.AF_UNIX).close()
    assert not furnished(), 'nobody needs a network yet'
    '''

FIRST = {
    'message': 'one = datagrams(); one.sendmsg([QUERY], [], 0, ("127.0.0.1", 53)); check(one.recv(500))',
    'message to IPv6': 'one = datagrams(socket.AF_INET6); one.sendmsg([QUERY], [], 0, ("::1", 53)); check(one.recv(500))',
    'send': 'one = datagrams(); one.sendto(QUERY, ("127.0.0.1", 53)); check(one.recv(500))',
    'connect': 'one = datagrams(); one.connect(("127.0.0.1", 53)); one.send(QUERY); check(one.recv(500))',
    'stream': 'one = socket.create_connection(("127.0.0.1", 53), 20); one.sendall(struct.pack(">H", len(QUERY)) + QUERY); check(one.recv(500)[2:])',
    'stream of IPv6': 'one = socket.create_connection(("::1", 53), 20); one.sendall(struct.pack(">H", len(QUERY)) + QUERY); check(one.recv(500)[2:])',
    'name': 'assert socket.getaddrinfo("packages.example", 443, flags=socket.AI_ADDRCONFIG)',
    'interfaces': 'assert os.system("test $(ip -o address show lo | grep -c inet) -ge 2") == 0',
    'server': 'one = socket.socket(); one.bind(("127.0.0.1", 0)); one.listen(); socket.create_connection(one.getsockname(), 20)',
    'name server of its own': """
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
        try:
            socket.socket(socket.AF_INET, kind).bind(("127.0.0.1", 53))
        except OSError:
            continue
        raise SystemExit("the port is free")""",
}


@pytest.mark.parametrize('mode', ['none', 'restricted'])
@pytest.mark.parametrize('first', FIRST)
def test_whatever_comes_first_finds_a_network(ward, first, mode):
    result = ward.result('--net', mode, '--', '/usr/bin/python3', '-I', '-c', COMMON + FIRST[first] + '\n    assert furnished(); print("found")')
    assert (result['exit_code'], result['stdout']) == (0, 'found\n'), result['stderr']


def test_many_at_once_find_one_network(ward):
    """Processes that make their first sockets at the same time."""
    script = COMMON + '''
    children = []
    for _ in range(16):
        pid = os.fork()
        if pid == 0:
            one = datagrams()
            one.sendto(QUERY, ('127.0.0.1', 53))
            check(one.recv(500))
            os._exit(0)
        children.append(pid)
    assert all(os.waitpid(pid, 0)[1] == 0 for pid in children)
    print('all')'''
    result = ward.result('--', '/usr/bin/python3', '-I', '-c', script)
    assert (result['exit_code'], result['stdout']) == (0, 'all\n'), result['stderr']
