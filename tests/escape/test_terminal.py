# SPDX-License-Identifier: Apache-2.0
"""Attacks through the terminal: on the one that the command is given, and on the one that ward was started from."""

import contextlib
import fcntl
import os
import pty
import select
import signal
import subprocess
import termios
import time

import pytest

from conftest import IDENTITIES, PATIENCE, REFUSED, SUCCEEDED

# Attack, and the wall that stops it; None: it is shown to be real by running it without ward.
ATTACKS = [
    ("type", "seccomp"),
    ("type-high-bits", "seccomp"),
    ("console", "seccomp"),
    ("line-discipline", "seccomp"),
    ("terminal-inherited", None),
]


@contextlib.contextmanager
def terminal(place):
    master, slave = pty.openpty()
    os.chown(os.ttyname(slave), place.uid, place.gid)
    try:
        yield master, slave
    finally:
        os.close(master)
        os.close(slave)


def run_at(place, master, slave, argv, off=(), timeout=PATIENCE):
    """Runs it with the terminal as its own, as a login would; returns the exit code and what was shown."""
    process = subprocess.Popen([str(word) for word in argv], stdin=slave, stdout=slave, stderr=slave, cwd=place.workspace,
                               env=place.environment(off, TERM="dumb"), start_new_session=True,
                               preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0), **place.options())
    shown, end = b"", time.monotonic() + timeout
    try:
        while process.poll() is None or select.select([master], [], [], 0.05)[0]:
            if select.select([master], [], [], 0.05)[0]:
                shown += os.read(master, 65536)
            assert time.monotonic() < end, shown
    finally:
        process.kill()
        process.wait()
    return process.returncode, shown.decode(errors="replace")


def gone(place, seconds=20):
    """True if no ward of this place is left; ends those that are."""
    left, end = [0], time.monotonic() + seconds
    while left and time.monotonic() < end:
        time.sleep(0.05)
        left = []
        for entry in os.scandir("/proc"):
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and str(place.workspace).encode() in open(entry.path + "/cmdline", "rb").read():
                    left.append(int(entry.name))
    for pid in left:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    return not left


def attempt(place, name, off=(), natively=False):
    with terminal(place) as (master, slave):
        words = [os.fstat(slave).st_dev, os.fstat(slave).st_rdev] if name == "terminal-inherited" else []
        argv = [place.program("streams"), name, *words]
        if not natively:
            argv = [place.unwalled if off else place.ward, "run", "--quiet", "--", *argv]
        return run_at(place, master, slave, argv, off)


@pytest.mark.parametrize("name, wall", ATTACKS, ids=[attack[0] for attack in ATTACKS])
def test_attack_fails(place, name, wall):
    code, shown = attempt(place, name)
    assert code == REFUSED, shown


@pytest.mark.parametrize("name, wall", ATTACKS, ids=[attack[0] for attack in ATTACKS])
def test_attack_is_real(place, name, wall):
    code, shown = attempt(place, name, [wall] if wall else [], natively=not wall)
    if code != SUCCEEDED and name.startswith("type") and \
            open("/proc/sys/dev/tty/legacy_tiocsti").read().strip() == "0":
        pytest.skip("this machine refuses it by itself")
    assert code == SUCCEEDED, shown


def test_stopped_command_does_not_stop_the_clock(place):
    """Also where ward has a terminal and could stop as a job."""
    with terminal(place) as (master, slave):
        code, shown = run_at(place, master, slave, [place.ward, "run", "--quiet", "--timeout", "500ms", "--",
                                                    place.program("supervisor"), "stop"])
        assert code == 124, shown


@pytest.mark.parametrize("meanwhile", ["true", "while :; do kill -CONT $$; kill -STOP $$; done"], ids=["stopped", "stopped-again-and-again"])
def test_stopped_job_does_not_outlive_its_time(make_place, meanwhile):
    """A shell stands behind ward, so ward does stop; its command must not go on behind its back."""
    place = make_place(IDENTITIES[-1])
    heartbeat = place.workspace / "heartbeat"
    script = f"""set -m
        {place.ward} run --quiet --timeout 500ms -- bash -c '
            exec 3> {heartbeat}; (while :; do echo >&3; sleep 0.02; done) & sleep 0.1; ({meanwhile}) & kill -STOP $$'
        sleep 1
        for round in {{1..60}}; do
            size=$(stat -c %s {heartbeat}); sleep 0.3
            [ $size = $(stat -c %s {heartbeat}) ] && exit 9
        done
        exit 1"""
    with terminal(place) as (master, slave):
        code, shown = run_at(place, master, slave, ["bash", "-c", script])
        assert code == 9 and heartbeat.stat().st_size > 0, shown
    assert gone(place), "ward did not end when its terminal was gone"


def test_terminal_is_as_before(place):
    """A command that changes modes changes its own terminal's only."""
    with terminal(place) as (master, slave):
        before = termios.tcgetattr(slave)
        code, shown = run_at(place, master, slave, [place.ward, "run", "--quiet", "--", "sh", "-c",
                                                    "stty raw -echo -icanon min 5; kill -KILL $$"])
        assert code == 128 + signal.SIGKILL, shown
        assert termios.tcgetattr(slave) == before
