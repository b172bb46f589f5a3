# SPDX-License-Identifier: Apache-2.0
"""Attacks by commands that may reach something: with sockets that were handed in, with names and addresses written in other
ways, with the look-up of names. Every address is one of a world that this file makes (tests/end-to-end/world.py), which
has no way out. Each attack must fail under ward; to show that it is one, it must succeed there without ward."""

import contextlib
import os
import socket
import sys
import time

import pytest

from conftest import HERE, IDENTITIES, REFUSED, SUCCEEDED, sooner_or_later

sys.path.append(str(HERE.parent / "end-to-end"))

from support import Person  # noqa: E402
from world import (  # noqa: E402
    BLACK_HOLE, BLACK_HOLE6, INTERFACE, LINK_LOCAL6, METADATA, METADATA6, OTHER, OWN, OWN6, PRIVATE, PRIVATE6, WEB, WEB6, Resident, World)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make a world")

PYTHON = "/usr/bin/python3"


class Streets(World):
    """The world with servers that attacks need. Who was not to be reached says h."""

    def __init__(self):
        super().__init__()
        self.words = {
            "host": WEB, "host6": WEB6, "interface": INTERFACE, "hole": BLACK_HOLE, "hole6": BLACK_HOLE6,
            "port": self.hello("a"), "port6": self.hello("a", WEB6),
            "back": self.serve(self.call_back), "stalled": self.stalled(),
            "forbidden": self.hello("h"), "local": self.hello("h", "127.0.0.1"),
            "letters": self.letters(b"a"), "forbidden_letters": self.letters(b"h"),
        }

    def call_back(self, peer):
        """Reads a port and says h to whoever listens there."""
        port = int(peer.makefile().readline())
        with self.inside(), socket.socket() as back:
            back.settimeout(1)
            back.connect((peer.getpeername()[0], port))
            back.sendall(b"h")

    def stalled(self):
        """A server that takes connections and reads nothing."""
        server = self.socket(WEB)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        server.listen(100)
        return server.getsockname()[1]

    def letters(self, letter):
        server = self.socket(WEB, kind=socket.SOCK_DGRAM)

        def serve():
            while peer := server.recvfrom(100)[1]:
                time.sleep(0.1)  # whoever sent it may want to get ready for the answer
                server.sendto(letter, peer)

        self.thread(serve)
        return server.getsockname()[1]

    @contextlib.contextmanager
    def wire(self):
        """Everything that goes over the interface meanwhile."""
        with self.inside():
            tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        seen = []
        with tap:
            tap.bind((INTERFACE, 3))
            yield seen
            tap.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    seen.append(tap.recv(65536))


@pytest.fixture(scope="module")
def world():
    there = Streets()
    yield there
    there.close()


@pytest.fixture
def settle(world, make_place):
    """A place in the world, for root or the plain user."""

    def make(who):
        place = make_place(who)

        def enter():
            Resident(world, Person("root")).become()
            os.setgroups([])
            os.setgid(place.gid)
            os.setuid(place.uid)

        place.options = lambda: {"preexec_fn": enter}
        return place

    return make


@pytest.fixture(params=IDENTITIES)
def place(request, settle):
    return settle(request.param)


def to(*targets):
    return [word for target in targets for word in ("--allow-host", target)]


ALLOWED = ("{host}:{port}", "{hole}:80", "{host}:{back}", "{host}:{letters}", "[{host6}]:{port6}")
TO_FORBIDDEN = ("{host}", "{port}", "{forbidden}")
FREED_TO_FORBIDDEN = ("{hole}", "{host}", "{forbidden}")
INTERFACES = ("{host}", "{port}", "{interface}")
LETTERS = ("{host}", "{letters}", "{forbidden_letters}")
ATTACKS = [
    # Listening on the host.
    ("listen", ("{host}", "{port}", "{back}")),
    ("listen-freed", ("{hole}", "{host}", "{back}")),
    ("listen-bound", ("{hole}", "{host}", "{back}")),
    ("listen-swapped", ("{hole}", "{host}", "{back}")),
    ("passed-listen", ("{hole}", "{host}", "{back}")),
    ("bind-swapped", ("{hole}", "{host}")),
    # Another target for what was connected, or was allowed to be.
    ("connect-swapped", ("{hole}", "{host}", "{local}")),
    ("connect-rewritten", TO_FORBIDDEN),
    ("reconnect", TO_FORBIDDEN),
    ("reconnect-freed", FREED_TO_FORBIDDEN),
    ("reconnect-local", ("{hole}", "{host}", "{local}")),
    ("reconnect-disconnected", ("{host}", "{port}", "{local}")),
    ("passed", TO_FORBIDDEN),
    ("fast-open", FREED_TO_FORBIDDEN),
    ("fast-open-option", TO_FORBIDDEN),
    ("datagram-sendto", LETTERS),
    ("datagram-message", LETTERS),
    ("datagram-messages", LETTERS),
    ("datagram-reconnect", LETTERS),
    # Another way to it.
    ("device", INTERFACES),
    ("source-route", ("{host6}", "{port6}", "{hole6}", "by-another-way")),
    # Words to the host's network, and words about it.
    ("group", ("{host}", "{port}")),
    ("group-source", ("{host}", "{port}")),
    ("interfaces", INTERFACES),
    ("interface", INTERFACES),
    ("interface-swapped", INTERFACES),
]


def words_of(world, attack, words):
    return [attack, *(word.format(**world.words) for word in words)]


@pytest.mark.parametrize("attack, words", ATTACKS, ids=[attack for attack, _ in ATTACKS])
def test_handed_in_socket_stays_what_it_is(world, place, attack, words):
    flags = to(*(target.format(**world.words) for target in ALLOWED))
    code, said = place.sandboxed([place.program("handed"), *words_of(world, attack, words)], flags)
    assert code == REFUSED, said


def test_supervisor_waits_for_no_connection(world, place):
    """A socket with a linger time sleeps when it is closed for the last time."""
    code, said = place.sandboxed([place.program("handed"), *words_of(world, "supervisor-waits", ("{host}", "{stalled}"))],
                                 to("{host}:{stalled}".format(**world.words)))
    assert code == REFUSED, said


@pytest.mark.parametrize("attack, words", ATTACKS, ids=[attack for attack, _ in ATTACKS])
def test_attack_with_a_handed_in_socket_is_real(world, settle, attack, words):
    def attempt():
        place = settle("user")
        return place.run([place.program("handed"), *words_of(world, attack, words)])

    code, said = sooner_or_later(attempt)
    assert code == SUCCEEDED, said


# Where nobody is led who was allowed a name, and nobody gets by every public address.
PLACES = {"metadata": METADATA, "metadata6": METADATA6, "private": PRIVATE, "private6": PRIVATE6, "local": "127.0.0.1", "local6": "::1",
          "link": "169.254.7.7"}


@pytest.fixture(scope="module")
def doors(world):
    """A port that says h at each of the places, and at a public one."""
    return {place: world.hello("h", address) for place, address in {**PLACES, "other": OTHER}.items()}


def tries(place, flags, words, real=True):
    """The attack fails under ward and succeeds without."""
    code, said = place.sandboxed([place.program("handed"), *words], flags)
    assert code == REFUSED, said
    if real and place.who == "user":
        code, said = place.run([place.program("handed"), *words])
        assert code == SUCCEEDED, said


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("rule", ["{name}", "*", "**.example", "{name}:{port}"])
def test_name_that_leads_where_nobody_should_go(world, place, doors, where, rule):
    name, port = f"to-{where}.example", doors[where]
    world.name(name, PLACES[where], ttl=0)
    flags = to(rule.format(name=name, port=port), "0.0.0.0/0", "::/0")
    tries(place, flags, ["reach", name, str(port)])


@pytest.mark.parametrize("own", [OWN, OWN6])
def test_name_that_leads_to_the_host_by_a_public_address(world, place, own):
    """What listens for everybody on the host is behind a firewall for others, and not for the host itself."""
    port = world.hello("h", "0.0.0.0" if own == OWN else "::")
    world.name("own.example", own)
    tries(place, to("own.example", "*", "0.0.0.0/0", "::/0"), ["reach", "own.example", str(port)])
    tries(place, to("*", "0.0.0.0/0", "::/0"), ["reach", own, str(port)])
    code, said = place.sandboxed([place.program("handed"), "reach", "own.example", str(port)], to("own.example", f"[{own}]" if ":" in own else own))
    assert code == SUCCEEDED, said


@pytest.mark.parametrize("where, written", [
    ("metadata", "::ffff:169.254.169.254"), ("local", "::ffff:127.0.0.1"), ("metadata", "::169.254.169.254"),
    ("metadata", "64:ff9b::169.254.169.254"), ("metadata", "2002:a9fe:a9fe::1"), ("local", "64:ff9b::127.0.0.1"),
])
def test_name_that_leads_there_by_another_form(world, place, doors, where, written):
    world.name("form.example", written, ttl=0)
    flags = to("form.example", "0.0.0.0/0", "::/0", "64:ff9b::/96", "2002::/16")
    # Whether such a form leads there depends on the machine; the mapped ones do.
    tries(place, flags, ["reach", "form.example", str(doors[where])], real=written.startswith("::ffff:"))


@pytest.mark.parametrize("first, second", [(WEB, METADATA), (WEB, "127.0.0.1"), (WEB, PRIVATE), (OTHER, METADATA)])
def test_name_whose_second_answer_leads_elsewhere(world, place, doors, first, second):
    where = {METADATA: "metadata", "127.0.0.1": "local", PRIVATE: "private"}[second]
    words = ["reach-again", "turns.example", str(doors[where]), "6"]
    world.changing("turns.example", first, second, ttl=0)
    code, said = place.sandboxed([place.program("handed"), *words], to("turns.example"))
    assert code == REFUSED, said
    world.changing("turns.example", first, second, ttl=0)
    assert place.run([place.program("handed"), *words])[0] == SUCCEEDED


@pytest.mark.parametrize("where, written", [
    ("metadata", "169.254.169.254"), ("metadata", "2852039166"), ("metadata", "0xa9fea9fe"), ("metadata", "0251.0376.0251.0376"),
    ("metadata", "025177524776"), ("metadata", "0xa9.0xfe.0xa9.0xfe"), ("metadata", "169.254.43518"), ("metadata", "169.16689662"),
    ("metadata", "::ffff:169.254.169.254"), ("metadata", "::ffff:a9fe:a9fe"), ("metadata", "0:0:0:0:0:ffff:a9fe:a9fe"),
    ("metadata6", METADATA6), ("metadata6", "fd00:0ec2::0254"), ("private", "10.66051"), ("private", "167838211"), ("private6", PRIVATE6),
    ("local", "127.0.0.1"), ("local", "127.1"), ("local", "2130706433"), ("local", "0"), ("local", "0.0.0.0"), ("local", "0x7f.1"), ("local", "017700000001"),
    ("local", "::ffff:127.0.0.1"), ("local", "::ffff:0.0.0.0"), ("local6", "::1"), ("local6", "::"), ("local", "localhost"), ("local", "LOCALHOST"),
    ("local", "localhost."), ("link", "169.254.7.7"),
])
def test_address_in_whatever_way_it_is_written(world, place, doors, where, written):
    tries(place, to("*", "0.0.0.0/0", "::/0", "**.example"), ["reach", written, str(doors[where])], real=written != "localhost.")


@pytest.mark.parametrize("written", [f"fe80::10%{INTERFACE}", "fe80::10%2", "fe80::10%lo", "fe80::10"])
def test_link_local_address_with_a_zone(world, place, written):
    port = world.hello("h", LINK_LOCAL6)
    tries(place, to("*", "0.0.0.0/0", "::/0"), ["reach", written, str(port)], real=written.endswith(INTERFACE))


@pytest.mark.parametrize("rule, name", [
    ("allowed.example", "allowed.example.evil.example"), ("allowed.example", "evilallowed.example"), ("allowed.example", "evil.allowed.example"),
    ("*.allowed.example", "allowed.example"), ("*.allowed.example", "two.labels.allowed.example"), ("*.allowed.example", "evilallowed.example"),
    ("**.allowed.example", "evilallowed.example"), ("**.allowed.example", "allowed.example.evil.example"),
    ("allowed.example", "xn--llowed-5jg.example"), ("allowed.example", "al1owed.example"), ("allowed.example", "allowed-example"),
    ("allowed.example", "allowed.example2"), ("allowed.example", "allowed.exampl"), ("allowed.example", "allowed_example"),
])
def test_name_that_only_looks_like_the_allowed_one(world, place, doors, rule, name):
    world.name("allowed.example", WEB)
    world.name(name, OTHER)
    world.dns.forget()
    code, said = place.sandboxed([place.program("handed"), "reach", name, str(doors["other"])], to(rule))
    assert code == REFUSED, said
    assert not world.dns.asked(name)
    if place.who == "user":
        assert place.run([place.program("handed"), "reach", name, str(doors["other"])])[0] == SUCCEEDED


@pytest.mark.parametrize("name", ["аllowed.example", "allowed。example", "allowed．example", "ａllowed.example", "allowed.example\u200b", "ALLOWED.EXAMPLE。"])
def test_lookalike_in_another_script(world, place, doors, name):
    """Looked up as it is, and by the rules of international names."""
    world.name("allowed.example", WEB)
    script = ("import socket, sys\n"
              "for name in (sys.argv[1], sys.argv[1].encode(), ):\n"
              "    for family in (0, socket.AF_INET):\n"
              "        try: print(socket.create_connection(socket.getaddrinfo(name, int(sys.argv[2]), family, socket.SOCK_STREAM)[0][4][:2], 5).recv(1))\n"
              "        except (OSError, UnicodeError) as e: print(type(e).__name__)\n")
    code, said = place.sandboxed([PYTHON, "-c", script, name, str(doors["other"])], to("allowed.example"))
    assert code == 0 and "b'h'" not in said, said


def test_other_port_of_an_allowed_host(world, place):
    world.name("allowed.example", WEB)
    words = world.words
    for host in (WEB, "allowed.example", "allowed.example."):
        tries(place, to(f"allowed.example:{words['port']}", f"{WEB}:{words['port']}"), ["reach", host, str(words["forbidden"])])


def test_denied_host_stays_denied_by_its_address(world, place, doors):
    world.name("denied.example", OTHER)
    world.name("also.example", OTHER)
    for flags in (["--deny-host", "denied.example", *to("**.example")], ["--deny-host", OTHER, *to("**.example", "0.0.0.0/0")]):
        tries(place, flags, ["reach", "denied.example", str(doors["other"])])
    tries(place, ["--deny-host", OTHER, *to("**.example")], ["reach", "also.example", str(doors["other"])])


def test_nothing_is_asked_about_names_that_nobody_allowed(world, place, doors):
    """Data in the names of questions: whatever is asked, and whoever is asked, nothing leaves."""
    script = r'''
import os, socket, struct, subprocess, sys
def question(name, kind):
    return struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + b"".join(bytes([len(l)]) + l.encode() for l in name.split(".")) + b"\0" + struct.pack(">HH", kind, 1)
names = ["secret-%d.tunnel.example" % i for i in range(50)]
for name in names[:20]:
    for call in (lambda: socket.getaddrinfo(name, 443), lambda: socket.gethostbyname(name), lambda: socket.create_connection((name, 443), 2)):
        try: call()
        except OSError: pass
server = [line.split()[1] for line in open("/etc/resolv.conf") if line.startswith("nameserver")][0]
for at in (server, "10.0.0.53", "127.0.0.53", "127.0.0.1"):
    for number, kind in enumerate((1, 28, 5, 12, 15, 16, 33, 64, 65, 255)):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.settimeout(0.05)
            try: s.sendto(question(names[20 + number], kind), (at, 53)); s.recv(512)
            except OSError: pass
            try: s.sendmsg([question(names[30 + number], kind)], [], 0, (at, 53)); s.recv(512)
            except OSError: pass
    try:
        with socket.create_connection((at, 53), 1) as s:
            data = question(names[40], 16)
            s.sendall(struct.pack(">H", len(data)) + data)
            s.settimeout(0.2)
            s.recv(512)
    except OSError: pass
print("done")
'''
    world.name("allowed.example", WEB)
    for flags in ([], to("allowed.example", f"{WEB}:443")):
        world.dns.forget()
        code, said = place.sandboxed([PYTHON, place.script(script)], flags)
        assert (code, said.split()[-1]) == (0, "done"), said
        assert world.dns.queries == []
    if place.who == "user":
        place.run([PYTHON, place.script(script)])
        assert len(world.dns.queries) > 20


def test_socket_that_ward_was_started_with(world, place):
    with world.inside():
        outside = socket.create_connection((WEB, world.words["port"]))
    with outside:
        os.set_inheritable(outside.fileno(), True)
        words = [place.program("handed"), "inherited", str(outside.fileno())]
        code, said = place.sandboxed(words, pass_fds=[outside.fileno()])
        assert code == REFUSED, said
        assert place.run(words, pass_fds=[outside.fileno()])[0] == SUCCEEDED


@pytest.mark.parametrize("name", ["raw", "raw6", "packet", "vsock", "alg", "multipath", "stream-control", "ping", "netlink-events",
                                  "netlink-diagnosis", "netlink-change", "netlink-route", "netlink-address", "netlink-rule"])
def test_restricted_network_is_tcp_and_udp(world, place, name):
    code, said = place.sandboxed([place.program("network"), name], to("{host}:{port}".format(**world.words)))
    assert code == REFUSED, said


CROWD = r'''
import collections, errno, resource, socket, sys, threading, time
hole, host, port, many = (sys.argv[1], 80), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
ended = collections.Counter()
def wait():
    with socket.socket() as s: ended[errno.errorcode.get(s.connect_ex(hole))] += 1
for _ in range(400): threading.Thread(target=wait, daemon=True).start()
begun, kept = time.monotonic(), []
for _ in range(many):
    kept.append(socket.socket())
    kept[-1].setblocking(False)
    kept[-1].connect_ex(hole)
    if len(kept) > 200: kept.pop(0).close()
print("tried", flush=True)
for s in kept: s.close()
# Those who wait are bounded, and there is room again when they are gone.
sys.stdout.flush()
'''
AFTER = r'''
import socket, sys, time
for _ in range(300):
    try: print(socket.create_connection((sys.argv[1], int(sys.argv[2])), 5).recv(1)); break
    except OSError as e: error = e; time.sleep(0.1)
else: print(error)
'''


def test_crowd_of_connections_that_nobody_answers(world, place):
    """5,000 connects to where packets vanish, hundreds of them waiting: bounded, and what comes after is served."""
    words = {**world.words, "python": PYTHON, "many": 5000}
    (place.workspace / "crowd.py").write_text(CROWD)
    (place.workspace / "after.py").write_text(AFTER)
    script = "{python} crowd.py {hole} {host} {port} {many}; {python} after.py {host} {port}; touch served".format(**words)
    code, said = place.sandboxed(["sh", "-c", script], to("{hole}:80".format(**words), "{host}:{port}".format(**words)), timeout=300)
    assert code == 0 and said.split() == ["tried", "b'a'"], said
    assert (place.workspace / "served").exists()


def test_flood_of_names(world, place):
    """Names are remembered up to a bound; those that were known before stay known, and nothing leaves for the others."""
    world.name("allowed.example", WEB)
    script = r'''
import socket, struct, sys
def ask(s, name):
    s.send(struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + b"".join(bytes([len(l)]) + l.encode() for l in name.split(".")) + b"\0\0\1\0\1")
    return s.recv(512)[3] & 15
def greet(): return socket.create_connection(("allowed.example", int(sys.argv[1])), 20).recv(1)
print(greet())
server = [line.split()[1] for line in open("/etc/resolv.conf") if line.startswith("nameserver")][0]
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.settimeout(20)
    s.connect((server, 53))
    codes = [ask(s, "n%d.flood.example" % i) for i in range(70000)]
print(codes.count(0) < 70000, set(codes) <= {0, 2}, greet())
'''
    world.dns.forget()
    code, said = place.sandboxed([PYTHON, place.script(script), str(world.words["port"])], to("allowed.example"), timeout=300)
    assert code == 0 and said.split() == ["b'a'", "True", "True", "b'a'"], said
    assert {query.name for query in world.dns.queries} == {"allowed.example"}


def test_caller_that_is_killed_while_it_connects(world, place):
    """Its number may be another file's by then, in a table that it shares: nothing is put there, and nobody waits for it."""
    words = [place.program("handed"), *words_of(world, "killed", ("{hole}", "{host}", "{port}"))]
    code, said = place.sandboxed(words, to("{hole}:80".format(**world.words), "{host}:{port}".format(**world.words)))
    assert code == REFUSED, said


SHARED = r'''
import os, select, socket, sys, time
address = socket.getaddrinfo("refusing.example", int(sys.argv[1]), socket.AF_INET, socket.SOCK_STREAM)[0][4]
s = socket.socket(); s.setblocking(False); s.connect_ex(address); select.select([], [s], [], 5); time.sleep(0.1)
child = os.fork()
if child == 0: time.sleep(5); os._exit(0)
for _ in range(4):
    s.connect_ex(address); select.select([], [s], [], 1); time.sleep(0.1)
    try: print(s.recv(1))
    except OSError as e: print(e)
os.kill(child, 9)
print("tried", address[0])
'''


def test_shared_socket_that_was_handed_in_and_failed(world, place):
    """A process that shares it keeps it from being replaced; connected itself, it would go to the resolver's address on the host's network."""
    world.name("refusing.example", WEB)
    port = world.unused()
    code, said = world.call("ip", "address", "replace", "198.18.0.1/32", "dev", "lo")
    assert code == 0, said
    with world.inside("127.0.0.1"):
        server = socket.create_server(("198.18.0.1", port))
    world.closing.callback(server.close)
    with world.inside("127.0.0.1"), socket.create_connection(("198.18.0.1", port), 5):
        server.accept()[0].close()  # who may go out by the host's network gets there
    server.settimeout(0)
    code, said = place.sandboxed([PYTHON, "-c", SHARED, str(port)], to(f"refusing.example:{port}"))
    assert code == 0 and "tried 198.18.0.1" in said, said
    with pytest.raises(BlockingIOError):
        server.accept()


def test_storm_reaches_nothing_that_was_not_allowed(world, place):
    """All calls about sockets at once, raced and killed: nobody hears of it who was not to, and ward is in order after it."""
    reached = []

    def note(where):
        return lambda peer: reached.append((where, peer.getpeername()))

    allowed, ports = world.words["port"], [str(world.words["port"]), "53", "80"]
    closing = contextlib.ExitStack()
    with closing:
        outer, world.closing = world.closing, closing  # these listen for as long as this test lasts
        try:
            for address in (WEB, OTHER, METADATA, PRIVATE, "127.0.0.1", OWN):
                for port in (80, 53, *[allowed] * (address != WEB)):
                    world.serve(note((address, port)), address, port)
        finally:
            world.closing = outer
        world.name("allowed.example", WEB)
        flags = to(f"{WEB}:{allowed}", f"{BLACK_HOLE}:80", f"allowed.example:{allowed}")
        words = [WEB, BLACK_HOLE, "allowed.example", *ports]
        code, said = place.sandboxed([place.program("storm"), "4", *words], flags, timeout=60)
        assert (code, said) == (0, "over\n")
        assert reached == []
        if place.who == "user":
            place.run([place.program("storm"), "1", *words])
            assert reached
