# SPDX-License-Identifier: Apache-2.0
"""--net full is the host's own network: connects behave as they do without ward, though ward makes them."""
from world import BLACK_HOLE, PRELUDE, WEB, plain, world



def native(ward, script, address, port, seconds=20):
    result = ward.result('--net', 'full', '--timeout', f'{seconds}s', '--', '/usr/bin/python3', '-I', '-c',
                         f'HOST, PORT = {address!r}, {port}\n{PRELUDE}\n{script}')
    assert result['exit_code'] == 0, result['aggregated_output']
    return result['stdout']


def test_a_signal_ends_the_wait(plain, world):
    script = '''
def ring(*_): raise InterruptedError
signal.signal(signal.SIGALRM, ring); signal.setitimer(signal.ITIMER_REAL, 0.5); s = socket.socket()
try: s.connect((HOST, PORT))
except InterruptedError: print("rang")
'''
    assert native(plain, script, BLACK_HOLE, 80, 3) == 'rang\n'


def test_the_sockets_own_time_limit_ends_the_wait(plain, world):
    script = '''
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 500000)); print(told(lambda: s.connect((HOST, PORT))))
'''
    assert native(plain, script, BLACK_HOLE, 80, 3) == 'EINPROGRESS\n'


def test_connecting_what_is_connected(plain, world):
    script = 's = socket.socket(); s.connect((HOST, PORT)); print(told(lambda: s.connect((HOST, PORT))), talk(s))'
    assert native(plain, script, WEB, world.echo()) == 'EISCONN ping\n'


def test_a_refused_socket_connects_elsewhere(plain, world):
    script = f's = socket.socket(); print(told(lambda: s.connect((HOST, {world.unused()})))); s.connect((HOST, PORT)); print(talk(s))'
    assert native(plain, script, WEB, world.echo()) == 'ECONNREFUSED\nping\n'
