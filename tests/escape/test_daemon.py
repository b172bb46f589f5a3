# SPDX-License-Identifier: Apache-2.0
"""The sockets of ward's own daemon. A command that reached one could have others run, or answer its own questions; so no
permission opens them, and the supervisor that performs connects never performs this one."""

import contextlib
import os
import socket
import threading

import pytest

from conftest import PATIENCE, REFUSED, SUCCEEDED


@pytest.fixture(params=["agent.sock", "approver.sock"])
def daemon(request, place):
    """Its socket, and the environment in which it is found."""
    runtime = place.base / "r"
    runtime.mkdir(mode=0o700)
    place.give(runtime)
    environment = place.environment(XDG_RUNTIME_DIR=str(runtime))
    process = place.start([place.ward, "serve"], environment=environment)
    try:
        assert b"listening" in process.stdout.readline()
        yield runtime / "ward" / request.param, environment
    finally:
        process.terminate()
        process.wait(PATIENCE)
        process.stdout.close()


def attack(place, daemon, name, *more, flags=(), off=()):
    path, environment = daemon
    if off:
        environment = {**environment, "WARD_WALLS_OFF": ",".join(off)}
    return place.sandboxed([place.program("daemon"), name, path, *more], flags, off=off, environment=environment)


def permits(path):
    """All that a caller could say for it."""
    return [["--allow-socket", path], ["--allow-socket", path, "--net", "full"],
            ["--allow-socket", path, "--read", path.parent, "--write", path.parent],
            ["--allow-socket", path, "--read", path.parent.parent]]


@pytest.mark.parametrize("name", ["path", "link", "relative", "proc-root"])
def test_the_daemon_is_not_reached_whatever_was_permitted(place, daemon, name):
    for flags in [[], ["--net", "full"], *permits(daemon[0])]:
        code, said = attack(place, daemon, name, flags=flags)
        assert code == REFUSED, (flags, said)


@pytest.mark.parametrize("name", ["path", "link"])
def test_the_daemon_is_reached_without_the_check(place, daemon, name):
    code, said = attack(place, daemon, name, flags=["--allow-socket", daemon[0]], off=("never",))
    assert code == SUCCEEDED, said


@pytest.mark.parametrize("name", ["path", "link", "relative", "proc-root"])
def test_the_daemon_is_reached_without_ward(place, daemon, name):
    code, said = place.run([place.program("daemon"), name, daemon[0]], environment=daemon[1])
    assert code == SUCCEEDED, said


def test_another_name_of_the_socket_opens_nothing(place, daemon):
    other = place.outside / "harmless"
    os.link(daemon[0], other)
    code, said = place.sandboxed([place.program("daemon"), "path", other], ["--allow-socket", other], environment=daemon[1])
    assert code == REFUSED, said
    code, said = place.sandboxed([place.program("daemon"), "path", other], ["--allow-socket", other], off=("never",),
                                 environment={**daemon[1], "WARD_WALLS_OFF": "never"})
    assert code == SUCCEEDED, said


def test_a_link_that_changes_under_the_call_leads_nowhere(place, daemon):
    allowed = place.outside / "allowed"
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as server:
        server.bind(str(allowed))
        server.listen(64)
        place.give(allowed)
        threading.Thread(target=lambda: [server.accept()[0].close() for _ in range(100000)], daemon=True).start()
        code, said = attack(place, daemon, "swapped-link", allowed, flags=["--allow-socket", allowed, "--allow-socket", daemon[0]])
        assert code == REFUSED, said
        code, said = attack(place, daemon, "swapped-link", allowed, flags=["--allow-socket", allowed, "--allow-socket", daemon[0]],
                            off=("never",))
        assert code == SUCCEEDED, said


def test_a_connection_is_not_inherited(place, daemon):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(daemon[0]))
        argv = [place.program("daemon"), "inherited", "-"]
        for ward, wanted in ((True, REFUSED), (False, SUCCEEDED)):
            command = [place.ward, "run", "--quiet", "--", *argv] if ward else argv
            code, said = place.run(command, environment=daemon[1], pass_fds=[connection.fileno()])
            if place.uid != os.getuid() and not ward:
                continue  # the peer is whoever connected, which is this test
            assert code == wanted, said


def test_a_ward_inside_opens_no_more(place, daemon):
    inner = [place.ward, "run", "--quiet", "--allow-socket", daemon[0], "--", place.program("daemon"), "path", daemon[0]]
    code, said = place.sandboxed(inner, ["--allow-socket", daemon[0]], environment=daemon[1])
    assert code != SUCCEEDED, said


def test_the_lock_and_the_directory_are_not_there(place, daemon):
    code, said = place.sandboxed(["ls", daemon[0].parent], environment=daemon[1])
    assert code != 0 and "agent.sock" not in said
