# SPDX-License-Identifier: Apache-2.0
"""Which targets may be reached: names, patterns, addresses and ports; deny wins; what a name leads to is judged too. A name that
nobody allowed is never looked up outside."""
import time

import pytest

from support import PATIENCE, Ward
from world import (LINK_LOCAL, METADATA, METADATA6, OTHER, OTHER6, PRIVATE, PRIVATE6, SHARED, THIRD, WEB, WEB6, plain, to, ward, world)

PORT = 8080
# One line for each target: what was read from it, or the error.
TRY = '''
import errno, socket, sys, time
for word in sys.argv[1:]:
    if word.startswith("sleep="): time.sleep(float(word[6:])); continue
    host, _, port = word.rpartition(":")
    try: print(socket.create_connection((host.strip("[]"), int(port)), 20).recv(99).decode())
    except OSError as e: print(errno.errorcode.get(e.errno, e))
'''


@pytest.fixture(scope='module', autouse=True)
def servers(world):
    """The same port at every address, each saying which it is, and names for them."""
    for address in (WEB, OTHER, THIRD, WEB6, OTHER6, PRIVATE, PRIVATE6, SHARED, METADATA, METADATA6, LINK_LOCAL, '127.0.0.1', '::1'):
        world.hello(address, address, PORT)
    world.hello('other port', WEB, PORT + 1)
    world.name('web.example', WEB)
    world.name('other.example', OTHER)
    world.name('a.web.example', OTHER)
    world.name('b.a.web.example', THIRD)
    world.name('other.test', THIRD)


def tries(ward, *targets, allow=(), deny=(), flags=()):
    """What came of each target, and the result."""
    flags = [*flags, *to(*allow), *(word for target in deny for word in ('--deny-host', target))]
    result = ward.result(*flags, '--', '/usr/bin/python3', '-I', '-c', TRY, *targets)
    assert result['exit_code'] == 0, result
    return result['stdout'].splitlines(), result


def refused(result):
    return {denial['object'] for denial in result['attempts'][0]['denials'] if denial['operation'] == 'connect'}


def test_an_unlisted_name_is_refused_and_never_looked_up(ward, world):
    world.dns.forget()
    said, result = tries(ward, f'other.example:{PORT}', f'web.example:{PORT}', allow=[f'web.example:{PORT}'])
    assert said == ['ECONNREFUSED', WEB]
    denial, = result['attempts'][0]['denials']
    assert (denial['operation'], denial['object'], denial['host'], denial['address'], denial['port'], denial['syscall']) == (
        'connect', f'other.example:{PORT}', 'other.example', None, PORT, 'connect')
    assert denial['program'] == 'python3'
    assert not world.dns.asked('other.example') and world.dns.asked('web.example')
    assert {query.name for query in world.dns.queries} == {'web.example'}


def test_looking_up_alone_asks_nobody(ward, world):
    """Not even for a name that is allowed, and nothing is carried out in a name."""
    world.dns.forget()
    script = 'for n in web.example other.example data-to-carry-out.example; do getent ahosts $n > /dev/null; done'
    ward.result(*to('web.example', '**.example'), '--', 'sh', '-c', script)
    assert world.dns.queries == []


def test_a_refusal_says_how_to_allow_it(plain):
    done = plain.python(TRY, f'other.example:{PORT}', flags=to('web.example'))
    assert f'ward: refused: connect other.example:{PORT}' in done.err and f'--allow-host other.example:{PORT}' in done.err, done
    done = plain.python(TRY, f'other.example:{PORT}')
    assert f'--allow-host other.example:{PORT}' in done.err, done


def test_no_list_means_none(plain, world):
    world.dns.forget()
    said, result = tries(plain, f'web.example:{PORT}', f'{WEB}:{PORT}', f'[{WEB6}]:{PORT}', flags=['--net', 'restricted'])
    assert said == ['ECONNREFUSED'] * 3
    assert refused(result) == {f'web.example:{PORT}', f'{WEB}:{PORT}', f'[{WEB6}]:{PORT}'} and not world.dns.queries


@pytest.mark.parametrize('allow, deny, good, bad', [
    ([f'web.example:{PORT}'], [], [f'web.example:{PORT}', f'WEB.Example:{PORT}', f'web.example.:{PORT}'],
     [f'web.example:{PORT + 1}', f'a.web.example:{PORT}', f'{WEB}:{PORT}']),
    (['web.example'], [], [f'web.example:{PORT}', f'web.example:{PORT + 1}'], [f'other.example:{PORT}']),
    (['*.web.example'], [], [f'a.web.example:{PORT}'], [f'web.example:{PORT}', f'b.a.web.example:{PORT}']),
    (['**.web.example'], [], [f'web.example:{PORT}', f'a.web.example:{PORT}', f'b.a.web.example:{PORT}'], [f'other.example:{PORT}']),
    ([f'**.example:{PORT}'], [], [f'web.example:{PORT}', f'other.example:{PORT}'], [f'web.example:{PORT + 1}', f'other.test:{PORT}']),
    (['*'], [], [f'web.example:{PORT}', f'other.test:{PORT}'], [f'{PRIVATE}:{PORT}', f'{WEB}:{PORT}']),
    ([f'web.example:{PORT}-{PORT + 1}'], [], [f'web.example:{PORT}', f'web.example:{PORT + 1}'], [f'web.example:{PORT + 2}', f'web.example:{PORT - 1}']),
    (['**.example'], ['other.example'], [f'web.example:{PORT}'], [f'other.example:{PORT}']),
    (['other.example'], ['**.example'], [], [f'other.example:{PORT}']),
    (['web.example'], [f'web.example:{PORT}'], [f'web.example:{PORT + 1}'], [f'web.example:{PORT}']),
    ([WEB], [], [f'{WEB}:{PORT}', f'{WEB}:{PORT + 1}'], [f'{OTHER}:{PORT}', f'web.example:{PORT}']),
    ([f'203.0.113.0/24:{PORT}'], [], [f'{WEB}:{PORT}', f'{OTHER}:{PORT}'], [f'{WEB}:{PORT + 1}', f'{THIRD}:{PORT}']),
    ([f'203.0.113.0/24:{PORT}'], [OTHER], [f'{WEB}:{PORT}'], [f'{OTHER}:{PORT}']),
    ([f'[{WEB6}]:{PORT}'], [], [f'[{WEB6}]:{PORT}'], [f'[{OTHER6}]:{PORT}']),
    ([f'[2001:db8::/32]:{PORT}'], [], [f'[{WEB6}]:{PORT}', f'[{OTHER6}]:{PORT}'], [f'[{PRIVATE6}]:{PORT}']),
    ([WEB6], [], [f'[{WEB6}]:{PORT}'], [f'[{OTHER6}]:{PORT}']),
    (['**.example'], ['203.0.113.20'], [f'web.example:{PORT}'], [f'other.example:{PORT}']),
    ([f'10.0.0.0/8:{PORT}'], [], [f'{PRIVATE}:{PORT}'], [f'192.168.7.7:{PORT}']),
    ([f'{METADATA}:{PORT}'], [], [f'{METADATA}:{PORT}'], [f'{LINK_LOCAL}:{PORT}']),
    (['169.254.0.0/16', '0.0.0.0/0'], [], [f'{LINK_LOCAL}:{PORT}', f'{WEB}:{PORT}'], [f'{METADATA}:{PORT}']),
    ([f'[{METADATA6}]:{PORT}'], [], [f'[{METADATA6}]:{PORT}'], [f'[{PRIVATE6}]:{PORT}']),
], ids=lambda value: ' '.join(value) or '-')
def test_patterns(plain, allow, deny, good, bad):
    said, result = tries(plain, *good, *bad, allow=allow, deny=deny)
    assert 'ECONNREFUSED' not in said[:len(good)] and said[len(good):] == ['ECONNREFUSED'] * len(bad), list(zip([*good, *bad], said))
    assert refused(result) == set(bad)


@pytest.mark.parametrize('pattern', ['', 'web.example:', 'web.example:0', 'web.example:99999', 'web.example:9-1', 'web..example', '*web.example', 'web.*.example',
                                     '203.0.113.0/33', '[2001:db8::1', 'http://web.example/', 'web example'])
def test_a_pattern_that_means_nothing_is_an_error(plain, pattern):
    done = plain('run', '--allow-host', pattern, '--', 'true')
    assert done.code == 125 and done.err.startswith('ward: '), done


@pytest.mark.parametrize('address', [PRIVATE, PRIVATE6, SHARED, METADATA, METADATA6, LINK_LOCAL, '127.0.0.1', '::1', '::ffff:10.1.2.3', '0.0.0.0', '::'])
def test_a_name_does_not_lead_to_places_that_are_not_listed(ward, world, address):
    world.name('inner.example', address)
    said, result = tries(ward, f'inner.example:{PORT}', allow=['inner.example', '*'])
    assert said == ['ECONNREFUSED']
    denial, = result['attempts'][0]['denials']
    assert (denial['object'], denial['host']) == (f'inner.example:{PORT}', 'inner.example')
    assert denial['address'] in (address, address.removeprefix('::ffff:'))


@pytest.mark.parametrize('address, listed', [(PRIVATE, '10.0.0.0/8'), (PRIVATE, f'{PRIVATE}:{PORT}'), (METADATA, METADATA), (PRIVATE6, '[fd00::]/8')])
def test_unless_the_address_is_listed_too(plain, world, address, listed):
    world.name('inner.example', address)
    assert tries(plain, f'inner.example:{PORT}', allow=['inner.example', listed])[0] == [address]
    assert tries(plain, f'inner.example:{PORT}', allow=[listed])[0] == ['ECONNREFUSED']


def test_a_name_that_changes_its_mind(ward, world):
    """Rebinding: the first answer is good, the next is the host itself."""
    world.changing('rebind.example', WEB, '127.0.0.1', ttl=0)
    said, result = tries(ward, *[f'rebind.example:{PORT}'] * 2, allow=['rebind.example'])
    assert said[0] == WEB and '127.0.0.1' not in said
    if said[1] != WEB:
        assert result['attempts'][0]['denials'][0]['address'] == '127.0.0.1'


@pytest.mark.parametrize('good', [[OTHER], [OTHER, WEB]])
def test_one_bad_address_among_good_ones_is_never_tried(plain, world, good):
    closed = world.unused('127.0.0.1')
    inside = world.hello('inside', '127.0.0.1', closed)
    world.name('mixed.example', '127.0.0.1', *good, '::1')
    assert tries(plain, f'mixed.example:{PORT}', allow=['mixed.example'])[0][0] in good
    assert tries(plain, f'mixed.example:{inside}', allow=['mixed.example'])[0][0] == 'ECONNREFUSED'


def test_an_alias_is_judged_by_the_name_that_was_asked_for(plain, world):
    world.alias('alias.example', 'target.example')
    world.name('target.example', WEB)
    world.dns.forget()
    assert tries(plain, f'alias.example:{PORT}', f'target.example:{PORT}', allow=['alias.example'])[0] == [WEB, 'ECONNREFUSED']
    world.name('target.example', PRIVATE)
    assert tries(plain, f'alias.example:{PORT}', allow=['alias.example'])[0] == ['ECONNREFUSED']


def test_odd_ways_to_write_an_address(plain):
    """What the C library takes for an address is one."""
    for word in ('3405803786', '0313.0.0161.012', '0xcb.0x0.0x71.0xa', '203.0.28938'):
        done = plain.result(*to('web.example'), '--', 'curl', '-sS', '--http0.9', f'http://{word}:{PORT}/')
        assert done['exit_code'] == 7 and refused(done) == {f'{WEB}:{PORT}'}, word
        assert tries(plain, f'{word}:{PORT}', allow=[f'{WEB}:{PORT}'])[0] == [WEB]


def test_localhost_is_the_hosts_where_nothing_inside_listens(ward, world):
    port = world.hello('of the host', '127.0.0.1')
    six = world.hello('of the host, six', '::1')
    assert tries(ward, f'127.0.0.1:{port}', f'localhost:{port}', allow=[f'localhost:{port}'])[0] == ['of the host'] * 2
    assert tries(ward, f'127.0.0.1:{port}', allow=[f'host-loopback:{port}'])[0] == ['of the host']
    assert tries(ward, f'[::1]:{six}', f'localhost:{six}', allow=[f'localhost:{six}'])[0] == ['of the host, six'] * 2
    # Not listed: inside means inside, where nobody listens.
    assert tries(ward, f'127.0.0.1:{port}', f'localhost:{port}')[0] == ['ECONNREFUSED'] * 2
    assert tries(ward, f'127.0.0.1:{port}', allow=[f'localhost:{port + 1}', '*', '0.0.0.0/0'])[0] == ['ECONNREFUSED']


def test_what_listens_inside_comes_first(ward, world):
    port = world.hello('of the host', '127.0.0.1')
    script = ('import socket, threading\nl = socket.create_server(("127.0.0.1", PORT))\n'
              'def serve(): l.accept()[0].sendall(b"from inside")\n'
              'threading.Thread(target=serve, daemon=True).start(); print(socket.create_connection(("127.0.0.1", PORT)).recv(99).decode()); l.close()\n'
              'print(socket.create_connection(("127.0.0.1", PORT)).recv(99).decode())').replace('PORT', str(port))
    result = ward.result(*to(f'localhost:{port}'), '--', '/usr/bin/python3', '-I', '-c', script)
    assert result['stdout'] == 'from inside\nof the host\n', result


SERVERS = '''
import http.server, socket, threading, urllib.request
s = http.server.ThreadingHTTPServer(("0.0.0.0", 0), http.server.SimpleHTTPRequestHandler); threading.Thread(target=s.serve_forever, daemon=True).start()
for host in ("127.0.0.1", "localhost"): print(urllib.request.urlopen(f"http://{host}:{s.server_address[1]}/").status)
a, b = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)); b.bind(("127.0.0.1", 0)); b.settimeout(20)
a.sendto(b"datagram", b.getsockname()); print(b.recv(99).decode())
'''


@pytest.mark.parametrize('flags', [[], to('web.example'), to('*', '0.0.0.0/0')], ids=['none', 'one', 'everything'])
def test_servers_and_clients_inside_talk_freely(ward, flags):
    result = ward.result(*flags, '--', '/usr/bin/python3', '-c', SERVERS)
    assert result['stdout'] == '200\n200\ndatagram\n' and result['attempts'][0]['denials'] == [], result


def test_answers_are_kept_as_long_as_they_say(plain, world):
    world.name('long.example', WEB, ttl=300)
    world.changing('short.example', WEB, OTHER, ttl=1)
    world.dns.forget()
    assert tries(plain, *[f'long.example:{PORT}'] * 4, allow=['long.example'])[0] == [WEB] * 4
    assert world.dns.asked('long.example', 'A') == 1
    said = tries(plain, f'short.example:{PORT}', f'short.example:{PORT}', 'sleep=1.6', f'short.example:{PORT}', allow=['short.example'])[0]
    assert said == [WEB, WEB, OTHER]


@pytest.mark.parametrize('how', [{'big': True}, {'delay': 0.7}], ids=['over TCP', 'slowly'])
def test_answers_that_come_otherwise(plain, world, how):
    world.name('odd.example', WEB, **how)
    assert tries(plain, f'odd.example:{PORT}', allow=['odd.example'])[0] == [WEB]


def test_a_name_server_that_fails(plain, world):
    world.name('failing.example', failing=True)
    said, result = tries(plain, f'failing.example:{PORT}', f'none.example:{PORT}', allow=['failing.example', 'none.example'])
    assert 'ECONNREFUSED' not in said and result['attempts'][0]['denials'] == []
    assert all(word.startswith('E') or 'name' in word.lower() for word in said), said


def test_names_of_the_hosts_file(ward, world):
    world.hosts(f'{WEB} listed.example alias-of-it', f'{PRIVATE} inner.listed.example')
    world.dns.forget()
    said, result = tries(ward, f'listed.example:{PORT}', f'alias-of-it:{PORT}', f'inner.listed.example:{PORT}',
                         allow=['**.listed.example', 'alias-of-it'])
    assert said == [WEB, WEB, 'ECONNREFUSED'] and not world.dns.queries
    assert result['attempts'][0]['denials'][0]['address'] == PRIVATE
    world.hosts()


def test_the_sandbox_does_not_see_the_hosts_file(plain, world):
    world.hosts(f'{PRIVATE} secret-name.example')
    assert 'secret-name' not in plain.run('cat', '/etc/hosts', flags=to('web.example')).out
    world.hosts()


def test_the_whole_network(ward):
    said, result = tries(ward, f'web.example:{PORT}', f'{PRIVATE}:{PORT}', f'127.0.0.1:{PORT}', f'[{WEB6}]:{PORT}', f'{METADATA}:{PORT}', flags=['--net', 'full'])
    assert said == [WEB, PRIVATE, '127.0.0.1', WEB6, METADATA] and result['attempts'][0]['denials'] == []


def test_the_whole_network_but_for(ward, world):
    world.dns.forget()
    said, result = tries(ward, f'web.example:{PORT}', f'other.example:{PORT}', f'{OTHER}:{PORT}', f'{PRIVATE}:{PORT}', f'web.example:{PORT + 1}',
                         f'[{WEB6}]:{PORT}', flags=['--net', 'full'], deny=['other.example', f'web.example:{PORT + 1}', '10.0.0.0/8'])
    assert said == [WEB, 'ECONNREFUSED', OTHER, 'ECONNREFUSED', 'ECONNREFUSED', WEB6]
    assert refused(result) == {f'other.example:{PORT}', f'{PRIVATE}:{PORT}', f'web.example:{PORT + 1}'}
    assert not world.dns.asked('other.example')


def test_a_denied_address_behind_a_name(plain, world):
    world.name('inner.example', PRIVATE)
    said, result = tries(plain, f'inner.example:{PORT}', flags=['--net', 'full'], deny=['10.0.0.0/8'])
    assert said == ['ECONNREFUSED'] and result['attempts'][0]['denials'][0]['address'] == PRIVATE


def test_the_policys_list(plain):
    plain.policy('sandbox:\n  network:\n    allow: ["web.example:8080", "**.test"]\n    deny: ["other.test"]\n')
    said, result = tries(plain, f'web.example:{PORT}', f'other.example:{PORT}', f'other.test:{PORT}')
    assert said == [WEB, 'ECONNREFUSED', 'ECONNREFUSED']
    assert tries(plain, f'web.example:{PORT}', f'other.example:{PORT}', f'other.test:{PORT}', allow=['other.example', 'other.test'])[0] == [
        WEB, OTHER, 'ECONNREFUSED']


@pytest.mark.parametrize('flags', [to(f'web.example:{PORT}', WEB), ['--net', 'full', '--deny-host', 'other.example']], ids=['list', 'all but'])
def test_where_there_can_be_no_network_of_its_own_a_list_opens_nothing(plain, flags):
    """Neither a user namespace nor the powers to do without one."""
    script = ('echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all "$@"')
    for target in ('web.example', WEB, OTHER, '127.0.0.1'):
        done = plain('-Ur', 'sh', '-c', script, 'sh', plain.binary, 'run', *flags, '--', 'curl', '-sS', '--http0.9', f'http://{target}:{PORT}/',
                     program='/usr/bin/unshare')
        assert done.code in (6, 7) and done.out == '' and 'ward: refused: connect' in done.err, done


def test_ten_runs_at_once(binary, world, who, place):
    """Each with a list of its own; none gets another's."""
    names = ['web.example', 'other.example', 'a.web.example', 'b.a.web.example', 'other.test']
    said = {'web.example': WEB, 'other.example': OTHER, 'a.web.example': OTHER, 'b.a.web.example': THIRD, 'other.test': THIRD}
    runs = []
    for i in range(10):
        directory = place / str(i)
        directory.mkdir()
        ward = Ward(binary, world.person(who), directory)
        mine = names[i % len(names)]
        targets = [f'{name}:{PORT}' for name in names] * 5
        runs.append((ward, mine, ward.popen('run', '--quiet', *to(mine), '--', '/usr/bin/python3', '-I', '-c', TRY, *targets)))
    for ward, mine, process in runs:
        done = ward.finish(process)
        assert done.out.split() == [said[name] if name == mine else 'ECONNREFUSED' for name in names] * 5, done


def test_a_run_that_ends_takes_its_connections_along(plain, world):
    """A child that stays behind keeps nothing open."""
    gone = []

    def handle(peer):
        peer.settimeout(PATIENCE)
        gone.append(peer.recv(1))

    port = world.serve(handle)
    plain.python('import os, socket, sys, time\ns = socket.create_connection(("web.example", int(sys.argv[1])))\n'
                 'if not os.fork(): os.setsid(); time.sleep(600)', port, flags=to(f'web.example:{port}'))
    end = time.monotonic() + 20
    while not gone and time.monotonic() < end:
        time.sleep(0.02)
    assert gone == [b'']
