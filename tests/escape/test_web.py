# SPDX-License-Identifier: Apache-2.0
"""The port of ward's own inbox. A command that reached it could try codes and cookies, and keep people from logging in; so no
permission opens it, and the supervisor that performs connects never performs this one."""

import contextlib
import socket
import threading

import pytest

from conftest import PATIENCE, REFUSED, SUCCEEDED

NAMES = ["loopback", "unspecified", "later", "mapped"]


@pytest.fixture
def web(place):
    """Its port."""
    process = place.start([place.ward, "web"])
    try:
        line = process.stdout.readline().decode()
        assert "#login=" in line, line
        yield line.split("/")[2].rpartition(":")[2]
    finally:
        process.terminate()
        process.wait(PATIENCE)
        process.stdout.close()


def turn_away(server):
    with contextlib.suppress(OSError):
        while True:
            server.accept()[0].close()


def permits(port):
    """All that a caller could say for it."""
    return [["--allow-host", f"localhost:{port}"], ["--allow-host", f"127.0.0.1:{port}"], ["--allow-host", f"localhost:{port}", "--net", "full"],
            ["--allow-host", "localhost"], ["--net", "full"], []]


@pytest.mark.parametrize("name", NAMES)
def test_the_inbox_is_not_reached_whatever_was_permitted(place, web, name):
    for flags in permits(web):
        code, said = place.sandboxed([place.program("web"), name, web], flags)
        assert code == REFUSED, (flags, said)


@pytest.mark.parametrize("name", NAMES)
def test_the_inbox_is_reached_without_the_check(place, web, name):
    code, said = place.sandboxed([place.program("web"), name, web], ["--allow-host", f"localhost:{web}"], off=("never",))
    assert code == SUCCEEDED, said


@pytest.mark.parametrize("name", NAMES)
def test_the_inbox_is_reached_without_ward(place, web, name):
    code, said = place.run([place.program("web"), name, web])
    assert code == SUCCEEDED, said


def test_a_port_that_changes_under_the_call_leads_elsewhere(place, web):
    with contextlib.closing(socket.create_server(("127.0.0.1", 0), backlog=64)) as server:
        threading.Thread(target=turn_away, args=(server,), daemon=True).start()
        other = str(server.getsockname()[1])
        flags = ["--allow-host", f"localhost:{web}", "--allow-host", f"localhost:{other}"]
        code, said = place.sandboxed([place.program("web"), "changing", web, other], flags)
        assert code == REFUSED, said
        code, said = place.sandboxed([place.program("web"), "changing", web, other], flags, off=("never",))
        assert code == SUCCEEDED, said


class Starting(threading.Thread):
    """An inbox that starts and ends all the time, as ward's does it: what is listened on was marked before, and is until it is not."""

    def __init__(self):
        super().__init__(daemon=True)
        with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as server:
            self.port = server.getsockname()[1]
        self.over = threading.Event()

    def run(self):
        while not self.over.is_set():
            with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as mark, contextlib.closing(socket.socket()) as server:
                server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                with contextlib.suppress(OSError):  # the attack's own end of a connection may have the port
                    server.bind(("127.0.0.1", self.port))
                    mark.bind(f"\0ward-web/{self.port}")
                    server.listen()
                    server.settimeout(0.001)
                    self.answer(server)

    @staticmethod
    def answer(server):
        """Whoever speaks. One who was refused does not."""
        with contextlib.suppress(OSError), contextlib.closing(server.accept()[0]) as connection:
            connection.settimeout(PATIENCE)
            if connection.recv(1000):
                connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")


@pytest.mark.parametrize("flags", [["--net", "full"], ["--allow-host", "localhost:PORT"]], ids=["host", "own"])
def test_the_inbox_is_not_reached_while_it_starts(place, flags):
    inbox = Starting()
    inbox.start()
    flags = [word.replace("PORT", str(inbox.port)) for word in flags]
    try:
        code, said = place.sandboxed([place.program("web"), "starting", str(inbox.port)], flags)
        assert code == REFUSED, said
        code, said = place.sandboxed([place.program("web"), "starting", str(inbox.port)], flags, off=("never",))
        assert code == SUCCEEDED, said
    finally:
        inbox.over.set()
        inbox.join(PATIENCE)


def test_another_port_is_reached_as_ever(place, web):
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
        threading.Thread(target=lambda: server.accept()[0].sendall(b"HTTP/1.1 200 OK\r\n\r\n"), daemon=True).start()
        code, said = place.sandboxed([place.program("web"), "loopback", str(port)], ["--allow-host", f"localhost:{port}"])
        assert code == SUCCEEDED, said


def test_what_is_kept_of_links_and_sessions_is_not_there(place, web):
    state = place.home / ".local/state/ward/web"
    assert (state / "links").is_dir()
    code, said = place.sandboxed(["find", state, "-type", "f"], ["--read", place.home])
    assert "links/" not in said and "server" not in said, said
