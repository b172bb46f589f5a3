# SPDX-License-Identifier: Apache-2.0
"""connect() to what was allowed behaves as it does without a sandbox, however a program goes about it: what it set before
is kept, what it waits with is woken, and what goes wrong is said as the kernel says it."""
import time

import pytest

from world import BLACK_HOLE, BLACK_HOLE6, OTHER, PRELUDE, UNREACHABLE, WEB, WEB6, plain, to, ward, world


def run(ward, script, host, port, *more, patience=60):
    """What the script prints. It may reach HOST:PORT and what else is listed; nothing may be refused to it."""
    target = f'[{host}]:{port}' if ':' in host else f'{host}:{port}'
    text = f'HOST, PORT = {host!r}, {port}\n{PRELUDE}\n{script}'
    result = ward.result(*to(target, *more), '--', '/usr/bin/python3', '-I', '-c', text, timeout=patience)
    assert result['exit_code'] == 0, result['aggregated_output'][-4000:]
    assert result['attempts'][0]['denials'] == []
    return result['stdout']


@pytest.fixture
def echo(world):
    """A name and port that send back what they are sent."""
    world.name('echo.example', WEB)
    return 'echo.example', world.echo()


@pytest.fixture
def hole(world):
    """A name and port that swallow everything."""
    world.name('hole.example', BLACK_HOLE)
    return 'hole.example', 80


def test_a_blocking_connect(ward, echo):
    assert run(ward, 's = socket.socket(); s.connect(address()); print(talk(s)); print(s.getpeername()[1] == PORT, s.getsockname()[1] > 0)\n'
               's.shutdown(socket.SHUT_WR); print(s.recv(9))', *echo) == "ping\nTrue True\nb''\n"


def test_with_a_time_limit(ward, echo):
    assert run(ward, 's = socket.create_connection((HOST, PORT), 30); print(s.gettimeout(), talk(s))', *echo) == '30.0 ping\n'


WAITING = '''
s = socket.socket(); s.setblocking(False)
{early}
print(told(lambda: s.connect(address())))
{late}
print(s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), talk(s))
'''
EPOLL = 'e = select.epoll(); e.register(s, select.EPOLLOUT | select.EPOLLIN {flags})'
# A socket that was never connected is ready at once (EPOLLHUP): the waits here are for what comes after connect.
EPOLL_WAIT = 'print(e.poll(30)[0][1] & select.EPOLLOUT)'


@pytest.mark.parametrize('early, late', [
    ('', 'print(4 * len(select.select([], [s], [], 30)[1]))'),
    ('', 'p = select.poll(); p.register(s, select.POLLOUT); print(p.poll(30000)[0][1] & select.POLLOUT)'),
    ('p = select.poll(); p.register(s, select.POLLOUT)', 'print(p.poll(30000)[0][1] & select.POLLOUT)'),
    ('', f'{EPOLL.format(flags="")}; {EPOLL_WAIT}'),
    (EPOLL.format(flags=''), EPOLL_WAIT),
    (EPOLL.format(flags='| select.EPOLLET'), EPOLL_WAIT),
    (f'{EPOLL.format(flags="| select.EPOLLONESHOT")}; e.poll(0); e.modify(s, select.EPOLLOUT)', EPOLL_WAIT),
], ids=['select', 'poll', 'early poll', 'epoll', 'early epoll', 'early edge', 'early one-shot'])
def test_without_blocking(ward, echo, early, late):
    assert run(ward, WAITING.format(early=early, late=late), *echo) in ('EINPROGRESS\n4\n0 ping\n', 'None\n4\n0 ping\n')


def test_an_epoll_from_before_sees_what_comes_later(ward, world):
    """The peer speaks only after a while, and hangs up: both reach the epoll that knew the socket before it was connected."""
    world.name('late.example', WEB)

    def speak(peer):
        time.sleep(0.3)
        peer.sendall(b'late')

    script = '''
s = socket.socket(); s.setblocking(False); e = select.epoll(); e.register(s, select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLET)
told(lambda: s.connect(address()))
got, end = b"", time.monotonic() + 30
while time.monotonic() < end:
    for fd, events in e.poll(1):
        try:
            while data := s.recv(99): got += data
            if got: print(got.decode()); sys.exit()
        except BlockingIOError: pass
        except OSError as problem: assert problem.errno == errno.ENOTCONN, problem
sys.exit("never came")
'''
    assert run(ward, script, 'late.example', world.serve(speak)) == 'late\n'


@pytest.mark.parametrize('before', ['d = os.dup(s.fileno()); t = socket.socket(fileno=d)',
                                    't = s.dup(); u = t.dup()',
                                    'd = os.dup2(s.fileno(), 900); t = socket.socket(fileno=d)',
                                    'a, b = socket.socketpair(); socket.send_fds(a, [b"x"], [s.fileno()])\n'
                                    't = socket.socket(fileno=socket.recv_fds(b, 1, 1)[1][0])'])
def test_duplicates_from_before_are_connected_too(ward, echo, before):
    script = f's = socket.socket()\n{before}\ns.connect(address()); s.sendall(b"one"); print(t.recv(3).decode()); print(talk(t, b"two"))\n'
    assert run(ward, script + 'print(s.getpeername() == t.getpeername()); s.close(); print(talk(t, b"three"))', *echo) == \
        'one\ntwo\nTrue\nthree\n'


def test_an_epoll_far_up_in_the_table_is_found(ward, echo):
    script = '''
s = socket.socket(); s.setblocking(False); e = select.epoll(); os.dup2(e.fileno(), 700); e.close(); e = select.epoll.fromfd(700)
e.register(s, select.EPOLLIN)
told(lambda: s.connect(address())); select.select([], [s], [], 30); s.send(b"ping"); print(e.poll(30)[0][1] & select.EPOLLIN, s.recv(4))
'''
    assert run(ward, script, *echo) == "1 b'ping'\n"


@pytest.mark.parametrize('script', [
    's = socket.socket(); r, w = os.pipe()\nif not os.fork(): os.read(r, 1); s.sendall(b"ping"); os._exit(0)\n'
    's.connect(address()); os.write(w, b"x"); s.settimeout(2); print(s.recv(5).decode())\n',
    's = socket.socket()\nif not os.fork(): s.connect(address()); os._exit(0)\nos.wait(); print(talk(s))'], ids=['parent', 'child'])
def test_another_process_shares_the_socket_from_before(plain, echo, script):
    assert run(plain, script, *echo) == 'ping\n'


def test_the_connection_outlives_exec(ward, echo):
    script = '''
s = socket.socket(); s.set_inheritable(True); s.connect(address())
os.execv("/usr/bin/python3", ["python3", "-c", f"import socket; s = socket.socket(fileno={s.fileno()}); s.sendall(b'after'); print(s.recv(5).decode())"])
'''
    assert run(ward, script, *echo) == 'after\n'


def test_close_on_exec_is_kept(ward, echo):
    script = '''
for keep in (True, False):
    s = socket.socket(); s.set_inheritable(keep); s.connect(address()); print(s.get_inheritable() == keep)
'''
    assert run(ward, script, *echo) == 'True\nTrue\n'


OPTIONS = '''
S, T, I = socket.SOL_SOCKET, socket.IPPROTO_TCP, socket.IPPROTO_IP
two = lambda a, b: struct.pack("ll", a, b)
options = [(T, socket.TCP_NODELAY, 1), (S, socket.SO_KEEPALIVE, 1), (T, socket.TCP_KEEPIDLE, 77), (T, socket.TCP_KEEPINTVL, 7),
           (T, socket.TCP_KEEPCNT, 5), (T, socket.TCP_USER_TIMEOUT, 12345), (S, socket.SO_RCVBUF, 50000), (S, socket.SO_SNDBUF, 60000),
           (S, socket.SO_LINGER, struct.pack("ii", 1, 3)), (S, socket.SO_RCVTIMEO, two(9, 0)), (S, socket.SO_SNDTIMEO, two(8, 0)),
           (S, socket.SO_REUSEADDR, 1), (I, socket.IP_TOS, 16), (S, socket.SO_PRIORITY, 3), (T, socket.TCP_QUICKACK, 0), (S, socket.SO_OOBINLINE, 1),
           (T, socket.TCP_SYNCNT, 4), (T, socket.TCP_MAXSEG, 1000), (S, socket.SO_RCVLOWAT, 1)]
values = lambda s: [s.getsockopt(l, n, 16) if isinstance(v, bytes) else s.getsockopt(l, n) for l, n, v in options if n not in CHANGING]
CHANGING = (socket.TCP_MAXSEG, socket.TCP_QUICKACK)
'''


def test_options_set_before_are_kept(ward, echo):
    script = OPTIONS + '''
s = socket.socket()
for level, name, value in options: s.setsockopt(level, name, value)
before = values(s)
s.connect(address())
after = values(s)
names = [(level, name) for level, name, value in options if name not in CHANGING]
print([change for change in zip(names, before, after) if change[1] != change[2]], talk(s))
'''
    assert run(ward, script, *echo) == '[] ping\n'


def test_the_low_water_mark_is_kept(plain, echo):
    """Event loops set it before they connect."""
    option = 'socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT'
    script = f's = socket.socket(); s.setsockopt({option}, 9999); s.connect(address()); print(s.getsockopt({option}))'
    assert run(plain, script, *echo) == '9999\n'


def test_options_that_nobody_set_are_as_they_were(ward, echo):
    """A socket that is handed in must not show the supervisor's ways. Buffers may grow once connected."""
    script = OPTIONS + '''
s = socket.socket(); before = values(s); s.connect(address()); after = values(s)
names = [name for level, name, value in options if name not in CHANGING]
print([(name, a, b) for name, a, b in zip(names, before, after) if a != b and name not in (socket.SO_SNDBUF, socket.SO_RCVBUF)])
print(s.getblocking(), s.type == socket.SOCK_STREAM, s.getsockopt(S, socket.SO_TYPE) == socket.SOCK_STREAM, s.get_inheritable())
'''
    assert run(ward, script, *echo) == '[]\nTrue True True False\n'


def test_options_of_six_are_kept(plain, world):
    world.name('six.example', WEB6)
    script = '''
V = socket.IPPROTO_IPV6; options = [(V, socket.IPV6_TCLASS, 8), (V, socket.IPV6_UNICAST_HOPS, 44), (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
s = socket.socket(socket.AF_INET6)
for level, name, value in options: s.setsockopt(level, name, value)
s.connect(address(socket.AF_INET6)); print([(name, s.getsockopt(level, name)) for level, name, value in options if s.getsockopt(level, name) != value], talk(s))
'''
    assert run(plain, script, 'six.example', world.echo(WEB6)) == '[] ping\n'


def test_what_a_connected_socket_is_good_for(plain, echo):
    script = '''
import array, fcntl, termios
s = socket.create_connection((HOST, PORT)); r, w = os.pipe(); os.write(w, b"spliced"); os.splice(r, s.fileno(), 7)
print(s.recv(7, socket.MSG_PEEK | socket.MSG_WAITALL).decode(), s.recv(7).decode())
f = os.memfd_create("x"); os.write(f, b"sent file"); os.sendfile(s.fileno(), f, 0, 9); print(s.recv(9, socket.MSG_WAITALL).decode())
s.sendmsg([b"in ", b"parts"]); waiting = array.array("i", [0]); select.select([s], [], [], 30); fcntl.ioctl(s, termios.FIONREAD, waiting); print(waiting[0] > 0)
print(s.recv(8, socket.MSG_WAITALL).decode(), told(lambda: s.recv(1, socket.MSG_DONTWAIT)), s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
'''
    assert run(plain, script, *echo) == 'spliced spliced\nsent file\nTrue\nin parts EAGAIN 0\n'


def test_a_bound_socket_connects(ward, echo):
    assert run(ward, 's = socket.socket(); s.bind(("", 0)); s.connect(address()); print(talk(s))', *echo) == 'ping\n'


def test_connecting_twice(ward, echo, hole):
    script = '''
s = socket.socket(); s.connect(address()); print(told(lambda: s.connect(address())))
s.setblocking(False); print(told(lambda: s.connect(address()))); print(talk(s))
'''
    assert run(ward, script, *echo) == 'EISCONN\nEISCONN\nping\n'
    script = 's = socket.socket(); s.setblocking(False); a = address()\nprint(told(lambda: s.connect(a)), told(lambda: s.connect(a)))'
    assert run(ward, script, *hole) == 'EINPROGRESS EALREADY\n'


FAILING = '''
s = socket.socket({family}); print(told(lambda: s.connect(address({family}))))
s = socket.socket({family}); s.settimeout(30); print(told(lambda: s.connect(address({family}))))
s = socket.socket({family}); s.setblocking(False); first = told(lambda: s.connect(address({family})))
if first == "EINPROGRESS":
    p = select.poll(); p.register(s, select.POLLOUT); p.poll(30000); first = errno.errorcode[s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)]
print(first)
'''


@pytest.mark.parametrize('host, said', [(WEB, 'ECONNREFUSED'), (UNREACHABLE, 'EHOSTUNREACH'), ('192.0.2.1', 'ENETUNREACH')])
def test_what_goes_wrong_is_said(ward, world, host, said):
    world.name('closed.example', host)
    port = world.unused() if host == WEB else 80
    assert run(ward, FAILING.format(family='socket.AF_INET'), 'closed.example', port).split() == [said] * 3


def test_a_literal_address_that_refuses(plain, world):
    assert run(plain, FAILING.format(family='socket.AF_INET'), WEB, world.unused()).split() == ['ECONNREFUSED'] * 3
    assert run(plain, FAILING.format(family='socket.AF_INET6'), WEB6, world.unused(WEB6)).split() == ['ECONNREFUSED'] * 3


def test_an_epoll_from_before_sees_a_refusal(plain, world):
    world.name('closed.example', WEB)
    script = '''
s = socket.socket(); s.setblocking(False); e = select.epoll(); e.register(s, select.EPOLLOUT)
said = told(lambda: s.connect(address()))
if said == "EINPROGRESS":
    events = e.poll(30)[0][1]; assert events & (select.EPOLLERR | select.EPOLLHUP), events
    said = errno.errorcode[s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)]
print(said)
'''
    assert run(plain, script, 'closed.example', world.unused()) == 'ECONNREFUSED\n'


def test_the_same_socket_tries_again(ward, world, echo):
    """A refused socket may be connected again; the other port is another target."""
    closed = world.unused()
    script = f's = socket.socket(); print(told(lambda: s.connect((address()[0], {closed})))); s.connect(address()); print(talk(s))'
    assert run(ward, script, *echo, f'echo.example:{closed}') == 'ECONNREFUSED\nping\n'


@pytest.mark.parametrize('script', [
    's = socket.socket(); s.settimeout(0.5); begin = time.monotonic()\ntry: s.connect(address())\nexcept TimeoutError: pass\n',
    's = socket.socket(); s.setblocking(False); told(lambda: s.connect(address())); begin = time.monotonic()\n'
    'print(select.select([], [s], [], 0.5)[1], end="")\n',
    's = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 500000)); begin = time.monotonic()\n'
    'assert told(lambda: s.connect(address())) in ("EINPROGRESS", "EAGAIN")\n',
    'def ring(*_): raise InterruptedError\nsignal.signal(signal.SIGALRM, ring); s = socket.socket(); a = address(); begin = time.monotonic()\n'
    'signal.setitimer(signal.ITIMER_REAL, 0.5)\ntry: s.connect(a)\nexcept InterruptedError: pass\nelse: sys.exit("connected")\n',
], ids=['settimeout', 'select', 'SO_SNDTIMEO', 'signal'])
def test_a_black_hole_takes_the_programs_own_time(plain, hole, script):
    out = run(plain, script + 'print("", 0.4 < time.monotonic() - begin < 5)', *hole)
    assert out in (' True\n', '[] True\n')


RING = 'signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05); s.connect(a); signal.setitimer(signal.ITIMER_REAL, 0); print(talk(s))'
TIMED = ('s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 200000)); assert told(lambda: s.connect(a)) in (None, "EINPROGRESS")\n'
         'p = select.poll(); p.register(s, select.POLLOUT); p.poll(20000); s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 0))\n'
         'print(talk(s))')
DISTURBED = {
    'signals': f'signal.signal(signal.SIGALRM, lambda *_: None); {RING}',
    'restarting signals': f'signal.signal(signal.SIGALRM, lambda *_: None); signal.siginterrupt(signal.SIGALRM, False); {RING}',
    'a child that ends': 'signal.signal(signal.SIGCHLD, lambda *_: None)\nif not os.fork(): time.sleep(0.1); os._exit(0)\ns.connect(a); print(talk(s))',
    'stopped': 'me = os.getpid()\nif not os.fork(): time.sleep(0.1); os.kill(me, 19); time.sleep(0.1); os.kill(me, 18); os._exit(0)\n'
               's.connect(a); print(talk(s))',
    'its own time': TIMED,
}


@pytest.mark.parametrize('how', DISTURBED)
def test_a_disturbed_connect_goes_on(plain, world, how):
    """What ends the wait does not end the connection: it is there in the end, as poll() says."""
    world.name('echo.example', WEB)
    assert run(plain, 's = socket.socket(); a = address()\n' + DISTURBED[how], 'echo.example', world.late()) == 'ping\n'


@pytest.mark.parametrize('how', DISTURBED)
def test_a_connect_goes_on_that_is_disturbed_while_its_name_is_looked_up(plain, world, echo, how):
    world.name('slow.example', WEB, delay=0.4)
    assert run(plain, 's = socket.socket(); a = address()\n' + DISTURBED[how], 'slow.example', echo[1]) == 'ping\n'


def test_a_look_up_holds_up_no_event_loop(plain, world, echo):
    world.name('slow.example', WEB, delay=0.6)
    script = '''
import asyncio
async def main():
    gaps = []
    async def tick():
        last = time.monotonic()
        while True: await asyncio.sleep(0.01); gaps.append(time.monotonic() - last); last = time.monotonic()
    ticking = asyncio.create_task(tick()); await asyncio.sleep(0.05)
    await asyncio.open_connection(HOST, PORT); print(max(gaps) < 0.4)
asyncio.run(main())
'''
    assert run(plain, script, 'slow.example', echo[1]) == 'True\n'


def test_a_process_at_its_limit_of_files_connects(plain, echo):
    script = 'import resource\ns = socket.socket(); a = address(); resource.setrlimit(resource.RLIMIT_NOFILE, (s.fileno() + 1,) * 2); s.connect(a); print(talk(s))'
    assert run(plain, script, *echo) == 'ping\n'


def test_other_kinds_of_stream_are_not_there(plain, echo):
    """As on a kernel that has none, so that programs fall back."""
    script = 'print([told(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)) for protocol in (262, 132)])'
    assert run(plain, script, *echo) == "['EPROTONOSUPPORT', 'EPROTONOSUPPORT']\n"


def test_a_program_that_gives_up_ends_at_once(plain, hole):
    run(plain, 's = socket.socket(); s.setblocking(False); told(lambda: s.connect(address())); s.close()', *hole)
    run(plain, 'threading.Thread(target=lambda: socket.create_connection(address()), daemon=True).start(); time.sleep(0.3); os._exit(0)', *hole)
    run(plain, 'child = os.fork()\nif not child: socket.create_connection(address())\n'
        'time.sleep(0.3); os.kill(child, signal.SIGTERM); print(os.wait()[1])', *hole)


def test_one_that_waits_keeps_no_other_waiting(plain, hole, echo):
    script = '''
threading.Thread(target=lambda: told(lambda: socket.create_connection(address(), 60)), daemon=True).start(); time.sleep(0.2)
begin = time.monotonic(); s = socket.create_connection(("echo.example", OTHER)); print(talk(s), time.monotonic() - begin < 5, flush=True); os._exit(0)
'''.replace('OTHER', str(echo[1]))
    assert run(plain, script, *hole, f'{echo[0]}:{echo[1]}') == 'ping True\n'


FAMILIES = {
    'six': 's = socket.socket(socket.AF_INET6); s.connect(address(socket.AF_INET6))',
    'six without blocking': 's = socket.socket(socket.AF_INET6); s.setblocking(False); s.connect_ex(address(socket.AF_INET6)); '
                            'select.select([], [s], [], 30); assert s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0',
    'four': 's = socket.socket(); s.connect(address())',
    'either': 's = socket.create_connection((HOST, PORT))',
    'mapped': 's = socket.socket(socket.AF_INET6); s.connect(("::ffff:" + address()[0], PORT))',
}


@pytest.mark.parametrize('behind, how', [(WEB, how) for how in FAMILIES] + [(WEB6, how) for how in FAMILIES if how != 'four'])
def test_families_are_the_sandboxs_own_matter(plain, world, behind, how):
    """Which family a program asks with says little about what is behind the name."""
    world.name('any.example', behind)
    assert run(plain, FAMILIES[how] + '; print(talk(s))', 'any.example', world.echo(behind)) == 'ping\n'


def test_a_socket_of_four_cannot_reach_six(plain, world):
    world.name('any.example', WEB6)
    assert run(plain, 's = socket.socket(); print(told(lambda: s.connect(address())))', 'any.example', world.echo(WEB6)) == 'ENETUNREACH\n'


def test_literal_addresses_of_both_families(ward, world):
    for address in (WEB, WEB6):
        script = 's = socket.create_connection((HOST, PORT)); print(talk(s), s.getpeername()[:2] == (HOST, PORT))'
        assert run(ward, script, address, world.echo(address)) == 'ping True\n'
    script = 's = socket.socket(socket.AF_INET6); s.connect(("::ffff:" + HOST, PORT)); print(talk(s), s.getpeername()[0])'
    assert run(ward, script, WEB, world.echo()) == f'ping ::ffff:{WEB}\n'


@pytest.mark.parametrize('dead', [BLACK_HOLE6, '2600::1'], ids=['silent', 'unreachable'])
def test_dead_six_does_not_hold_up_live_four(plain, world, dead):
    world.name('eyes.example', dead, WEB)
    script = 'begin = time.monotonic(); s = socket.socket({0}); s.connect(address({0})); print(talk(s), time.monotonic() - begin < 3)'
    port = world.echo()
    for family in ('socket.AF_INET6', 'socket.AF_INET'):
        assert run(plain, script.format(family), 'eyes.example', port) == 'ping True\n'


def test_one_dead_address_of_two(plain, world):
    port = world.echo()
    world.name('two.example', OTHER, WEB)  # nobody listens at the first
    assert run(plain, 'print(talk(socket.create_connection((HOST, PORT))))', 'two.example', port) == 'ping\n'


FIFTY = '''
import asyncio
async def one(i):
    reader, writer = await asyncio.open_connection(HOST, PORT)
    text = b"%d" % i * 1000; writer.write(text); await writer.drain(); got = await reader.readexactly(len(text))
    writer.close(); return got == text
async def main(): print(sum(await asyncio.gather(*(one(i) for i in range(50)))))
asyncio.run(main())
'''
THREADS = '''
results = []
def one(i):
    s = socket.create_connection((HOST, PORT)); text = b"%d" % i * 1000; results.append(talk(s, text) == text.decode())
threads = [threading.Thread(target=one, args=(i,)) for i in range(50)]
for t in threads: t.start()
for t in threads: t.join()
print(sum(results))
'''


@pytest.mark.parametrize('script', [FIFTY, THREADS], ids=['asyncio', 'threads'])
def test_fifty_at_once(ward, echo, script):
    assert run(ward, script, *echo) == '50\n'


def test_many_one_after_another(plain, echo):
    assert run(plain, 'a = address()\nfor _ in range(300):\n s = socket.socket(); s.connect(a); s.close()\nprint("done")', *echo) == 'done\n'


def test_callers_in_turn(plain, echo):
    """Processes and threads that come, go and come again: each is connected itself."""
    script = '''
a = address()
def one():
    s = socket.socket(); s.connect(a); assert talk(s) == "ping"
def in_thread():
    t = threading.Thread(target=one); t.start(); t.join()
def in_child():
    pid = os.fork()
    if not pid: one(); in_thread(); os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
for _ in range(15): one(); in_child(); one(); in_thread()
print("done")
'''
    assert run(plain, script, *echo) == 'done\n'


@pytest.mark.parametrize('mask', ['os.sched_getaffinity(0)', '{max(os.sched_getaffinity(0))}'], ids=['any', 'one'])
def test_a_caller_keeps_its_processors(plain, echo, mask):
    """One that comes often is met on a processor, and goes home from there."""
    script = f'''
a = address(); os.sched_setaffinity(0, {mask}); mask = os.sched_getaffinity(0)
for _ in range(60):
    s = socket.socket(); s.connect(a); s.close()
    assert os.sched_getaffinity(0) == mask, os.sched_getaffinity(0)
print("done")
'''
    assert run(plain, script, *echo) == 'done\n'


def test_a_caller_that_hardly_gets_the_processor_connects(plain, echo):
    """The supervisor bounds its own sleeps by a signal; to hand something in takes as long as the caller needs to take it."""
    script = '''
import ctypes
host, port = address(); place = struct.pack("=H", socket.AF_INET) + struct.pack("!H4s8x", port, socket.inet_aton(host))
libc = ctypes.CDLL(None, use_errno=True); os.sched_setaffinity(0, {max(os.sched_getaffinity(0))}); hogs = []
for _ in range(3):
    hogs.append(os.fork())
    while not hogs[-1]: pass
os.nice(15)
for _ in range(10): # Python's own tries again when it is interrupted
    s = socket.socket(); print(libc.connect(s.fileno(), place, len(place)), ctypes.get_errno()); s.close()
for hog in hogs: os.kill(hog, signal.SIGKILL)
'''
    assert run(plain, script, *echo) == 10 * '0 0\n'


@pytest.mark.parametrize('early', ['', 'd = s.dup()'], ids=['plain', 'duplicated'])
def test_much_data_arrives_whole(plain, echo, early):
    script = f'''
import hashlib
s = socket.socket(); {early or "pass"}
s.connect(address()); data = os.urandom(1 << 20); sent, got, left = hashlib.sha256(), hashlib.sha256(), 32 << 20
def send():
    for _ in range(32): s.sendall(data); sent.update(data)
    s.shutdown(socket.SHUT_WR)
t = threading.Thread(target=send); t.start()
while piece := s.recv(1 << 20): got.update(piece); left -= len(piece)
t.join(); print(left, sent.digest() == got.digest())
'''
    assert run(plain, script, *echo) == '0 True\n'


def test_an_interface_cannot_be_chosen(ward, echo):
    script = 's = socket.socket(); print(told(lambda: s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"w0\\0")) is not None)'
    assert run(ward, script + '; s.connect(address()); print(told(lambda: s.setsockopt(socket.SOL_SOCKET, 25, b"w0\\0")) is not None)',
               *echo) == 'True\nTrue\n'


UDP = '''
a = socket.getaddrinfo(HOST, PORT, 0, socket.SOCK_DGRAM)[0]
s = socket.socket(a[0], socket.SOCK_DGRAM); s.settimeout(30); {connect}
for i in range(5):
    {send}; data, peer = s.recvfrom(9999); print(data.decode(), peer[:2] == a[4][:2], end=" ")
'''


@pytest.mark.parametrize('connect, send', [('', 's.sendto(b"%d" % i, a[4])'), ('s.connect(a[4])', 's.send(b"%d" % i)'),
                                           ('', 's.sendmsg([b"%d" % i], [], 0, a[4])')], ids=['sendto', 'connected', 'sendmsg'])
def test_datagrams(ward, world, connect, send):
    world.name('datagrams.example', WEB)
    out = run(ward, UDP.format(connect=connect, send=send), 'datagrams.example', world.datagrams())
    assert out.split() == [word for i in range(5) for word in (f'<{i}>', 'True')]


def test_many_that_wait_at_once_are_not_turned_away(plain, world):
    """Each with a time limit of its own, to where nobody answers."""
    script = '''
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (1000, 1000)); threading.stack_size(65536)
told_all = []
def one():
    s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 3, 0)); told_all.append(told(lambda: s.connect((HOST, PORT))))
threads = [threading.Thread(target=one) for _ in range(400)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sorted(set(told_all)), len(told_all))
'''
    assert run(plain, script, BLACK_HOLE, 80) == "['EINPROGRESS'] 400\n"
