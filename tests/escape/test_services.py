# SPDX-License-Identifier: Apache-2.0
"""Services of the host at the places where programs look for them: docker, D-Bus, X11, Wayland, the ssh agent. The sockets are
these tests' own, at the real paths or beside them; who else runs these tests waits."""

import contextlib
import fcntl
import os
import pathlib
import socket
import threading

import pytest

from conftest import REFUSED, SUCCEEDED

NUMBER = 4000 + os.getpid() % 1000  # of a display that nobody has


class Service:
    """Says h to whoever connects, like a service that answers."""

    def __init__(self, place, address):
        self.server, self.path = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), None
        self.server.bind(address)
        self.server.listen(20)
        if not address.startswith("\0"):
            self.path = pathlib.Path(address)
            self.path.chmod(0o777)
            place.give(self.path)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.server.accept()
                with contextlib.suppress(OSError):
                    client.send(b"h", socket.MSG_NOSIGNAL)
                client.close()

    def close(self):
        with contextlib.suppress(OSError):
            self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        self.thread.join(5)
        if self.path:
            self.path.unlink(missing_ok=True)


def directory_for(stack, place, path, mode=0o755):
    """Makes the directory if it is not there, and removes it again."""
    if not path.exists():
        path.mkdir(mode)
        place.give(path)
        stack.callback(path.rmdir)
    return path


@contextlib.contextmanager
def service(place, name):
    """How the attack is called, the variables that lead to it, and the walls without which it succeeds."""
    with contextlib.ExitStack() as stack:
        lock = os.open("/run", os.O_RDONLY | os.O_DIRECTORY)
        stack.callback(os.close, lock)
        fcntl.flock(lock, fcntl.LOCK_EX)
        variables, attack, walls = {}, "stream", ("notify",)
        if name in ("docker", "docker-by-link", "system-bus", "session-bus-below-run"):
            if os.geteuid() != 0:
                pytest.skip("only root can make it")
            walls = ("run", "notify")
        if name.startswith("docker"):
            address = "/run/docker.sock"
            if os.path.exists(address):
                pytest.skip("there is a real one")
            walls = ("run", "masks", "notify")
        elif name == "system-bus":
            address = str(directory_for(stack, place, pathlib.Path("/run/dbus")) / f"ward-escape-{os.getpid()}")
        elif name == "session-bus-below-run":
            directory_for(stack, place, pathlib.Path("/run/user"))
            runtime = directory_for(stack, place, pathlib.Path(f"/run/user/{place.uid}-{os.getpid()}"), 0o700)
            address = str(runtime / "bus")
            variables = {"XDG_RUNTIME_DIR": str(runtime), "DBUS_SESSION_BUS_ADDRESS": f"unix:path={address}"}
        elif name in ("session-bus", "wayland"):
            runtime = directory_for(stack, place, place.base / "runtime", 0o700)
            address = str(runtime / ("bus" if name == "session-bus" else "wayland-0"))
            variables = {"XDG_RUNTIME_DIR": str(runtime), "DBUS_SESSION_BUS_ADDRESS": f"unix:path={address}",
                         "WAYLAND_DISPLAY": "wayland-0"}
            walls = ("masks", "notify")
        elif name == "x11":
            address = str(directory_for(stack, place, pathlib.Path("/tmp/.X11-unix"), 0o1777) / f"X{NUMBER}")
            variables, walls = {"DISPLAY": f":{NUMBER}"}, ("tmp", "notify")
        elif name == "x11-abstract":
            address, attack = f"\0/tmp/.X11-unix/X{NUMBER}", "abstract"
            variables, walls = {"DISPLAY": f":{NUMBER}"}, ("netns", "landlock", "notify")
        elif name == "ssh-agent":
            address = str(directory_for(stack, place, pathlib.Path(f"/tmp/ssh-escape{os.getpid()}"), 0o700) / "agent.1")
            variables, walls = {"SSH_AUTH_SOCK": address}, ("tmp", "notify")
        stack.enter_context(contextlib.closing(Service(place, address)))
        if name == "docker-by-link":
            address = "/var/run/docker.sock"
        yield [place.program("sockets"), attack, address.lstrip("\0")], variables, walls


SERVICES = ["docker", "docker-by-link", "system-bus", "session-bus", "session-bus-below-run", "wayland", "x11", "x11-abstract", "ssh-agent"]


@pytest.mark.parametrize("name", SERVICES)
def test_service_is_not_reached(place, name):
    with service(place, name) as (argv, variables, _):
        code, said = place.sandboxed(argv, environment=place.environment(**variables))
        assert code == REFUSED, said
        # Nor with the host's network.
        code, said = place.sandboxed(argv, ["--net", "full"], environment=place.environment(**variables))
        assert code == REFUSED, said


@pytest.mark.parametrize("name", SERVICES)
def test_service_is_reached_without_the_walls(place, name):
    with service(place, name) as (argv, variables, walls):
        code, said = place.sandboxed(argv, off=walls, environment=place.environment(walls, **variables))
        assert code == SUCCEEDED, said


@pytest.mark.parametrize("name", ["session-bus", "wayland", "x11", "ssh-agent"])
def test_no_variable_leads_to_it(place, name):
    with service(place, name) as (_, variables, _walls):
        code, said = place.sandboxed(["env"], environment=place.environment(**variables))
    assert code == 0
    assert not [line for line in said.splitlines() if line.split("=")[0] in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_AUTH_SOCK",
                                                                            "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR")]
