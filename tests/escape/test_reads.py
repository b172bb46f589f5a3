# SPDX-License-Identifier: Apache-2.0
"""Attacks on reads that are shown to the supervisor (--trace-reads). What is masked must not be read without a yes, whatever
changes while it is looked at; and a yes to read must not let it be written."""

import contextlib
import fcntl
import json
import os
import select
import signal
import stat
import subprocess
import termios
import time

import pytest

from conftest import PATIENCE, REFUSED, SUCCEEDED, ended, wait_until
from test_ladder import poorer
from test_terminal import terminal

MARK = "5ecret-b1f0c3"
RACES = "rewritten-path swapped-link swapped-directory".split()


def secrets(place):
    """A masked file, and one below a masked directory."""
    return (place.write(place.workspace / "sub/.env", MARK + "\n"), place.write(place.home / ".azure/token/file", MARK + "\n"))


@pytest.mark.parametrize("name", RACES)
@pytest.mark.parametrize("which", [0, 1], ids=["file", "below"])
def test_no_race_shows_what_is_masked(place, name, which):
    if name == "swapped-directory" and which == 1:
        pytest.skip("a masked directory cannot be opened to begin with")
    secret = secrets(place)[which]
    argv = [place.program("reads"), name, secret, MARK]
    for off in ((), ["notify"]):
        code, said = place.sandboxed(argv, ["--trace-reads"], off=off)
        assert code == REFUSED, (off, said)
    assert place.sandboxed(argv, ["--trace-reads"], off=["masks"])[0] == SUCCEEDED


def at_terminal(place, argv, answer):
    """Runs it at a terminal of its own and answers every question with the key; the exit code, what was shown, and how often."""
    with terminal(place) as (master, slave):
        process = subprocess.Popen([str(word) for word in argv], stdin=slave, stdout=slave, stderr=slave, cwd=place.workspace,
                                   env=place.environment((), TERM="xterm"), start_new_session=True,
                                   preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0), **place.options())
        shown, asked, end = b"", 0, time.monotonic() + PATIENCE
        answers = iter(answer)
        try:
            while process.poll() is None or select.select([master], [], [], 0.05)[0]:
                if select.select([master], [], [], 0.05)[0]:
                    shown += os.read(master, 65536)
                if shown.count(b"help\r\n") > asked:
                    asked += 1
                    time.sleep(0.8)
                    os.write(master, next(answers, "n").encode())
                assert time.monotonic() < end, shown
        finally:
            process.kill()
            process.wait()
    return process.returncode, shown.decode(errors="replace"), asked


def test_a_grant_to_read_writes_nothing(place):
    secret, _ = secrets(place)
    before = secret.stat()
    argv = [place.program("reads"), "write-what-was-granted", secret]
    code, shown, asked = at_terminal(place, [place.ward, "run", "--trace-reads", "--", *argv], "y")
    assert code == REFUSED and asked >= 1 and "to read" in shown, shown
    after = secret.stat()
    assert secret.read_text() == MARK + "\n" and stat.S_IMODE(after.st_mode) == 0o600, shown
    assert (after.st_nlink, after.st_ino, after.st_mtime_ns) == (1, before.st_ino, before.st_mtime_ns)
    # Without ward it does all of that.
    place.run(argv)
    after = secret.stat()
    assert secret.read_text() != MARK + "\n" and stat.S_IMODE(after.st_mode) == 0o666 and after.st_nlink == 2


def test_a_grant_for_one_name_shows_no_other(place):
    """The granted name is looked at, and another one is meant by the time."""
    secret, below = secrets(place)
    harmless = place.write(place.workspace / "other/.env", "harmless\n")
    for target in secret, below:
        argv = [place.program("reads"), "rewritten-from-granted", target, MARK, harmless]
        code, shown, asked = at_terminal(place, [place.ward, "run", "--trace-reads", "--", *argv], "y")
        assert code == REFUSED and asked >= 1, shown
        assert place.run(argv)[0] == SUCCEEDED


# What is known of reads on the rungs below the full set of walls.
RUNGS = {
    "namespaces": True,  # Landlock alone
    "mount": True,
    "landlock": True,
    "pidns": True,
    "namespaces,abi4": True,
    "notify": False,
    "namespaces,notify": False,
}


@pytest.mark.parametrize("features", RUNGS)
def test_on_lower_rungs_it_is_as_exact_or_says_so(place, features):
    secret, below = secrets(place)
    place.write(place.workspace / "plain", "plain\n")
    script = f"cat plain; cat {secret}; cat {below}; cat {below.parent}/none; ls / >/dev/null; cat < /dev/null; true"
    code, said = poorer(place, features, [place.ward, "run", "--trace-reads", "--json", "--", "sh", "-c", script])
    result = json.loads(said)
    assert code == 0 and result["stdout"] == "plain\n" and MARK not in said, said
    found = [(d["operation"], d["object"]) for d in result["attempts"][0]["denials"]]
    warned = any("cannot be traced" in warning for warning in result["sandbox_warnings"])
    assert (found, warned) == (([("read", str(secret)), ("read", str(below))], False) if RUNGS[features] else ([], True)), said


def test_where_landlock_stands_alone_a_yes_is_one_all_the_same(place):
    secret, below = secrets(place)
    script = f"cat {secret}; cat {below}; echo x >> {secret}; true"
    argv = [place.program("without"), "namespaces", place.ward, "run", "--trace-reads", "--", "sh", "-c", script]
    code, shown, asked = at_terminal(place, argv, "yyn")
    assert code == 0 and asked == 3 and shown.count(MARK + "\r\n") == 2, shown
    assert secret.read_text() == MARK + "\n"


def having(*words):
    """The processes that have all of the words on their command lines."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            text = file.read()
            if all(word.encode() in text for word in words):
                found.append(int(pid))
    return found


@pytest.mark.parametrize("features", ["namespaces", "pidns"])
def test_nothing_outlives_a_supervisor_that_was_killed(place, features):
    """Where init has to find its children itself, it must not have to ask for that."""
    time_of_its_own = f"300.{int.from_bytes(os.urandom(5), 'big'):013}"
    script = f"sleep {time_of_its_own} & echo up; wait"
    with ended(place.start([place.program("without"), features, place.ward, "run", "--quiet", "--trace-reads", "--", "sh", "-c",
                            script])) as process:
        assert process.stdout.readline() == b"up\n"
        assert wait_until(lambda: having("sleep\0" + time_of_its_own))
        for pid in having(str(place.ward), time_of_its_own):
            os.kill(pid, signal.SIGKILL)
        assert wait_until(lambda: not having("sleep\0" + time_of_its_own), 20)
