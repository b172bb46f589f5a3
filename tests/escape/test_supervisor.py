# SPDX-License-Identifier: Apache-2.0
"""Attacks on time: nothing that a command does makes ward wait for ever or lets anything live on after it."""

import contextlib
import os
import random
import signal
import subprocess
import time

import pytest

from conftest import IDENTITIES, PATIENCE, ended, wait_until

TIME = 0.6


def processes_of(uid):
    """The pids of all processes of a user."""
    found = []
    for entry in os.scandir("/proc"):
        try:
            if entry.name.isdigit() and os.stat(entry.path).st_uid == uid and \
                    open(entry.path + "/stat").read().rsplit(")", 1)[1].split()[0] != "Z":
                found.append(int(entry.name))
        except OSError:
            pass
    return found


def settled(path):
    """True if nobody writes to the file any more."""
    size = path.stat().st_size
    time.sleep(0.1)
    return path.stat().st_size == size


ATTACKS = [
    "fifo", "long-paths", "unreadable", "many-threads", "many-objects", "full-queue", "blocking-flag", "lingering-close",
    "dying-callers", "stop", "many-stops", "many-children", "starve-init", "traced-by-init", "ignore-everything",
]


@pytest.mark.parametrize("who, attack", [(IDENTITIES[-1], attack) for attack in ATTACKS] +
                         [("root", attack) for attack in ("starve-init", "blocking-flag") if "root" in IDENTITIES])
def test_time_runs_out(make_place, who, attack):
    """Each of these waits for ever, and tries to make ward do so as well."""
    place = make_place(who)
    seconds = {"blocking-flag": 1, "lingering-close": 1.5}.get(attack, TIME)
    process = place.start([place.ward, "run", "--quiet", "--timeout", f"{seconds}s", "--", place.program("supervisor"), attack])
    with ended(process):
        said = process.communicate(timeout=PATIENCE)[0].decode(errors="replace")
    assert process.returncode == 124, said


@pytest.mark.parametrize("attack", ["blocking-flag", "lingering-close"])
def test_time_runs_out_with_signals_blocked(make_place, attack):
    """Whoever started ward may have blocked the signals that it could be woken by."""
    place = make_place("user")
    process = place.start([place.ward, "run", "--quiet", "--timeout", "800ms", "--", place.program("supervisor"), attack],
                          preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM, signal.SIGUSR1}))
    with ended(process):
        said = process.communicate(timeout=PATIENCE)[0].decode(errors="replace")
    assert process.returncode == 124, said


def test_nothing_outlives_the_command(place):
    heartbeat = place.workspace / "heartbeat"
    code, said = place.sandboxed([place.program("supervisor"), "outlive", heartbeat])
    assert code == 0, said
    assert heartbeat.stat().st_size > 0 and settled(heartbeat)


def test_nothing_outlives_the_time(place):
    heartbeat = place.workspace / "heartbeat"
    code, said = place.sandboxed([place.program("supervisor"), "live", heartbeat], ["--timeout", "300ms"])
    assert code == 124, said
    assert heartbeat.stat().st_size > 0 and settled(heartbeat)


def test_outliving_is_real(place):
    """Without ward it does live on; it is ended by its process group."""
    heartbeat = place.workspace / "heartbeat"
    code, said = place.run([place.program("supervisor"), "outlive", heartbeat], stdout=subprocess.DEVNULL)
    try:
        assert code == 0 and wait_until(lambda: not settled(heartbeat))
    finally:
        for pid in processes_of(place.uid):
            with contextlib.suppress(OSError):
                if str(heartbeat).encode() in open(f"/proc/{pid}/cmdline", "rb").read():
                    os.kill(pid, signal.SIGKILL)


def test_nothing_outlives_ward(make_place):
    """Killed at any moment, ward leaves no process and no file in the workspace."""
    place, moments = make_place("user"), random.Random(20)
    place.sandboxed(["true"])
    before, processes = sorted(path.name for path in place.workspace.iterdir()), set(processes_of(place.uid))
    for _ in range(20):
        process = place.start([place.ward, "run", "--quiet", "--", "sleep", "30"], stdout=subprocess.DEVNULL)
        time.sleep(moments.uniform(0, 0.012))
        process.kill()
        process.wait()
    assert wait_until(lambda: not set(processes_of(place.uid)) - processes), "something is left"
    assert sorted(path.name for path in place.workspace.iterdir()) == before


def test_daemons_do_not_outlive_ward(place):
    heartbeat = place.workspace / "heartbeat"
    process = place.start([place.ward, "run", "--quiet", "--", place.program("supervisor"), "live", heartbeat],
                          stdout=subprocess.DEVNULL)
    assert wait_until(heartbeat.exists)
    process.kill()
    process.wait()
    assert wait_until(lambda: settled(heartbeat), 20)


def test_signals_from_inside_do_not_reach_ward(place):
    """Every signal to every process that can be seen, and to process groups that might be ward's."""
    code, said = place.sandboxed(["python3", "-c", """if True:
        import os, signal
        for number in range(1, 65):
            if number in (signal.SIGKILL, signal.SIGSTOP):
                continue
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        for pid in [1, -1, 0, os.getppid(), os.getpgid(1), -os.getpgid(0)]:
            for number in (1, 2, 3, 10, 12, 13, 14, 15, 20, 21, 22, 28, 29, 34, 64):
                try:
                    os.kill(pid, number)
                except OSError:
                    pass
        print('still here')"""])
    assert (code, said) == (0, "still here\n")


def test_many_sockets_do_not_exhaust_ward(place):
    """After thousands of sockets and connects the supervisor still answers, and still refuses."""
    code, said = place.sandboxed(["python3", "-c", f"""if True:
        import socket, sys
        listener = socket.socket(socket.AF_UNIX)
        for number in range(1200):
            one = socket.socket(socket.AF_UNIX)
            one.bind(f'socket{{number}}')
        listener.bind('own')
        listener.listen(5)
        socket.socket(socket.AF_UNIX).connect('own')
        print('connected')
        try:
            open({str(place.file)!r}, 'a')
        except OSError as error:
            print('refused')"""])
    assert code == 0, said
    assert said.split() == ["connected", "refused"]
