# SPDX-License-Identifier: Apache-2.0
"""Attacks by commands that may reach something: with sockets that were handed in, with names and addresses written in other
ways, with the look-up of names. Every address is one of a world that this file makes (tests/end-to-end/world.py), which
has no way out. Each attack must fail under ward; to show that it is one, it must succeed there without ward."""

import contextlib
import os
import socket
import sys
import threading
import time

import pytest

from conftest import HERE, IDENTITIES, REFUSED, SUCCEEDED

sys.path.append(str(HERE.parent / "end-to-end"))

from support import Person  # noqa: E402
from world import (  # noqa: E402
    BLACK_HOLE, BLACK_HOLE6, INTERFACE, LINK_LOCAL6, METADATA, METADATA6, OTHER, PRIVATE, PRIVATE6, WEB, WEB6, Resident, World)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make a world")

PYTHON = "/usr/bin/python3"


class Streets(World):
    """The world with servers that attacks need. Who was not to be reached says h."""

    def __init__(self):
        super().__init__()
        self.words = {
            "host": WEB, "host6": WEB6, "interface": INTERFACE, "hole6": BLACK_HOLE6,
            "port": self.hello("a"), "port6": self.hello("a", WEB6),
            "back": self.serve(self.call_back), "closed": self.unused(),
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


ALLOWED = ("{host}:{port}", "{host}:{closed}", "{host}:{back}", "{host}:{letters}", "[{host6}]:{port6}")
TO_FORBIDDEN = ("{host}", "{port}", "{forbidden}")
FAILED_TO_FORBIDDEN = ("{host}", "{closed}", "{forbidden}")
INTERFACES = ("{host}", "{port}", "{interface}")
LETTERS = ("{host}", "{letters}", "{forbidden_letters}")
ATTACKS = [
    # Listening on the host.
    ("listen", ("{host}", "{port}", "{back}")),
    ("listen-failed", ("{host}", "{closed}", "{back}")),
    ("listen-bound", ("{host}", "{closed}", "{back}")),
    ("listen-swapped", ("{host}", "{closed}", "{back}")),
    ("passed-listen", ("{host}", "{closed}", "{back}")),
    # Another target for what was connected, or was allowed to be.
    ("connect-swapped", ("{host}", "{closed}", "{local}")),
    ("connect-rewritten", TO_FORBIDDEN),
    ("reconnect", TO_FORBIDDEN),
    ("reconnect-failed", FAILED_TO_FORBIDDEN),
    ("reconnect-local", ("{host}", "{closed}", "{local}")),
    ("reconnect-disconnected", ("{host}", "{port}", "{local}")),
    ("passed", TO_FORBIDDEN),
    ("fast-open", FAILED_TO_FORBIDDEN),
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


@pytest.mark.parametrize("attack, words", ATTACKS, ids=[attack for attack, _ in ATTACKS])
def test_attack_with_a_handed_in_socket_is_real(world, settle, attack, words):
    for _ in range(20):  # a race is not won every time
        place = settle("user")
        code, said = place.run([place.program("handed"), *words_of(world, attack, words)])
        if code == SUCCEEDED:
            break
    assert code == SUCCEEDED, said
