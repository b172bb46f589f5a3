# SPDX-License-Identifier: Apache-2.0
"""The tests' own world is what it says: names, addresses and servers of its own, and no way out."""
import socket

import pytest

from support import Terminal
from world import (BLACK_HOLE, LINK_LOCAL6, METADATA, METADATA6, OTHER6, PRIVATE, UNREACHABLE, UNREACHABLE6, WEB, WEB6,
                   plain, ward, world)

CONNECT = ('import socket, sys\nsocket.setdefaulttimeout(float(sys.argv[3]))\n'
           'try: s = socket.create_connection((sys.argv[1], int(sys.argv[2])))\n'
           'except OSError as e: print(type(e).__name__, e.strerror)\nelse: print(s.recv(99).decode())')


def tries(world, address, port, seconds=20):
    return world.call('/usr/bin/python3', '-c', CONNECT, address, port, seconds)[1].strip()


@pytest.mark.parametrize('address', [WEB, WEB6, PRIVATE, METADATA, METADATA6, '127.0.0.1', '::1', f'{LINK_LOCAL6}%w0'])
def test_there_are_addresses_of_every_kind(world, address):
    port = world.hello('hello', address.partition('%')[0])
    assert tries(world, address, port) == 'hello'


def test_nothing_leads_out(world):
    assert tries(world, '192.0.2.1', 80) == 'OSError Network is unreachable'
    assert tries(world, '2600::1', 80) == 'OSError Network is unreachable'
    assert tries(world, UNREACHABLE, 80) == 'OSError No route to host'
    assert tries(world, UNREACHABLE6, 80) == 'OSError No route to host'


def test_there_are_holes_and_closed_doors(world):
    assert tries(world, BLACK_HOLE, 80, 0.5) == 'TimeoutError None'
    assert tries(world, WEB, world.full(), 0.5) == 'TimeoutError None'
    assert tries(world, WEB, world.unused()) == 'ConnectionRefusedError Connection refused'


def test_names_are_the_tests_own(world):
    world.name('both.example', WEB, WEB6, OTHER6)
    world.alias('www.both.example', 'both.example')
    world.name('big.example', WEB, big=True)
    world.hosts(f'{PRIVATE} here.example')
    for name in ('both.example', 'www.both.example'):
        code, out = world.call('getent', 'ahosts', name)
        assert code == 0 and {line.split()[0] for line in out.splitlines()} == {WEB, WEB6, OTHER6}
    assert world.call('getent', 'ahostsv4', 'big.example')[1].startswith(WEB)
    assert world.call('getent', 'ahostsv4', 'here.example')[1].startswith(PRIVATE) and not world.dns.asked('here.example')
    assert world.call('getent', 'hosts', 'none.example')[0] == 2 and world.dns.asked('none.example', 'A')
    assert 'tcp' in {query.transport for query in world.dns.queries if query.name == 'big.example'}


def test_a_name_can_change_with_each_question(world):
    world.changing('moving.example', WEB, PRIVATE)
    assert [world.call('getent', 'ahostsv4', 'moving.example')[1].split()[0] for _ in range(3)] == [WEB, PRIVATE, PRIVATE]


def test_ward_lives_in_it(ward, world):
    world.name('web.example', WEB)
    port = world.http(page=b'from the world\n')
    done = ward.run('curl', '-sS', f'http://web.example:{port}/', flags=['--net', 'full'])
    assert (done.code, done.out) == (0, 'from the world\n'), done
    done = ward.run('curl', '-sS', f'http://{WEB}:{port}/')
    assert done.code == 7


def test_a_terminal_lives_in_it(plain, world):
    port = world.http(page=b'from the world\n')
    terminal = Terminal(plain)
    assert terminal.does(f'ward run --net full -- curl -sS http://{WEB}:{port}/') == 'from the world\n'
    terminal.close(force=True)


def test_the_tests_themselves_stay_outside(world):
    port = world.hello('hello', '127.0.0.1')
    with socket.socket() as sock:
        assert sock.connect_ex(('127.0.0.1', port)) != 0
