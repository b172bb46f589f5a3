# SPDX-License-Identifier: Apache-2.0
"""Names that were allowed are looked up as the machine is set up to do it: its resolv.conf, nsswitch.conf and name servers of every
mood."""
import time

import pytest

from world import BLACK_HOLE, MORE_NAMES, NAMES, OTHER, THIRD, UNREACHABLE, WEB, WEB6, plain, to, ward, world

TRY = '''
import errno, socket, sys
try: print(socket.create_connection((sys.argv[1], int(sys.argv[2])), 40).recv(99).decode())
except OSError as e: print(errno.errorcode.get(e.errno, e))
'''


@pytest.fixture(autouse=True)
def as_it_was(world):
    yield
    world.resolver()
    world.switch()
    world.hosts()


@pytest.fixture
def port(world):
    """A server at some of the addresses that says where it is."""
    port = world.hello(WEB, WEB)
    world.hello(WEB6, WEB6, port)
    world.name('web.example', WEB)
    return port


def reaches(ward, name, port):
    """What answers, and after how many seconds."""
    begin = time.monotonic()
    result = ward.result(*to(name), '--', '/usr/bin/python3', '-I', '-c', TRY, name, port)
    assert result['exit_code'] == 0 and result['attempts'][0]['denials'] == [], result
    return result['stdout'].strip(), time.monotonic() - begin


@pytest.mark.parametrize('address', [NAMES, *MORE_NAMES])
def test_the_name_server_may_be_anywhere(ward, world, port, address):
    world.resolver(f'nameserver {address}')
    assert reaches(ward, 'web.example', port)[0] == WEB


@pytest.mark.parametrize('first', [OTHER, BLACK_HOLE, '192.0.2.1'], ids=['closed', 'silent', 'unreachable'])
def test_the_next_name_server_helps(plain, world, port, first):
    world.resolver(f'nameserver {first}', f'nameserver {NAMES}', 'options timeout:1 attempts:2')
    said, seconds = reaches(plain, 'web.example', port)
    assert said == WEB and seconds < 15


@pytest.mark.parametrize('switch', ['files dns', 'dns files', 'files mdns4_minimal [NOTFOUND=return] dns', 'mymachines resolve [!UNAVAIL=return] files myhostname dns',
                                    'files resolve dns myhostname'])
def test_other_sources_of_names_are_passed_over(plain, world, port, switch):
    world.switch(switch)
    world.hosts(f'{WEB6} listed.example')
    assert reaches(plain, 'web.example', port)[0] == WEB
    assert reaches(plain, 'listed.example', port)[0] == WEB6


def test_a_name_is_what_was_allowed_and_nothing_under_it(plain, world, port):
    """A short name is not completed: what it would become depends on the network that the machine is in."""
    world.name('short.corp.example', WEB)
    world.resolver(f'nameserver {NAMES}', 'search corp.example')
    world.dns.forget()
    assert reaches(plain, 'web.example', port)[0] == WEB
    assert reaches(plain, 'short', port)[0] == 'EHOSTUNREACH'
    assert {query.name for query in world.dns.queries} == {'web.example', 'short'}


def test_one_family_that_is_never_answered(plain, world, port):
    """Some name servers drop questions for IPv6."""
    world.name('four.example', WEB, silent='AAAA')
    world.resolver(f'nameserver {NAMES}', 'options timeout:1 attempts:2')
    said, seconds = reaches(plain, 'four.example', port)
    assert said == WEB and seconds < 15


def test_a_name_server_that_never_answers(plain, world, port):
    world.name('mute.example', WEB, silent=True)
    world.resolver(f'nameserver {NAMES}', 'options timeout:1 attempts:2')
    said, seconds = reaches(plain, 'mute.example', port)
    assert said in ('ETIMEDOUT', 'EHOSTUNREACH', 'EIO', 'ENETUNREACH') and seconds < 15


def test_names_that_lead_nowhere(plain, world, port):
    world.name('empty.example')
    world.alias('loop.example', 'other-loop.example')
    world.alias('other-loop.example', 'loop.example')
    world.alias('dangling.example', 'nothing.example')
    for name in ('none.example', 'empty.example', 'loop.example', 'dangling.example'):
        said, seconds = reaches(plain, name, port)
        assert said in ('EHOSTUNREACH', 'ENETUNREACH', 'EIO') and seconds < 8, (name, said)


def test_many_addresses(plain, world, port):
    """Nobody is at most of them; who waits reaches the one that answers."""
    world.name('many.example', BLACK_HOLE, UNREACHABLE, THIRD, OTHER, *[f'192.0.2.{i}' for i in range(1, 9)], WEB)
    done = plain.python('import socket, sys; print(socket.create_connection(("many.example", int(sys.argv[1]))).recv(99).decode())', port,
                        flags=to('many.example'))
    assert done.out == f'{WEB}\n', done


@pytest.mark.parametrize('name', ['xn--bcher-kva.example', 'under_score.example', 'a' * 63 + '.example', '.'.join(['abcdefgh'] * 27) + '.example',
                                  '1.2.3.example', 'localhost.example', 'x'])
def test_names_as_they_come(plain, world, port, name):
    world.name(name, WEB)
    assert reaches(plain, name, port)[0] == WEB


def test_no_resolv_conf_to_speak_of(plain, world, port):
    """The hosts file is enough; a name beyond it fails, and soon."""
    world.resolver('# nothing')
    world.hosts(f'{WEB} listed.example')
    assert reaches(plain, 'listed.example', port)[0] == WEB
    assert reaches(plain, 'unlisted.example', port)[1] < 15
