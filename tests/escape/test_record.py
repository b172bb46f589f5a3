# SPDX-License-Identifier: Apache-2.0
"""Attacks on the record: what was refused is known, however it was tried."""

import json
import subprocess

import pytest


def denials(place, argv, flags=(), **more):
    """Runs it and returns the objects that were refused, and the warnings."""
    code, said = place.run([place.ward, "run", "--json", *flags, "--", *argv], stderr=subprocess.DEVNULL, **more)
    result = json.loads(said)
    attempt = result["attempts"][0]
    return [denial["object"] for denial in attempt["denials"]], result


@pytest.mark.parametrize("attack", [
    "open", "create", "truncate", "rename-out", "rename-over", "rename-in", "link-out", "symlink", "mkdir", "fifo", "socket", "unlink",
    "rmdir", "chmod", "fchmodat2", "chown", "utimes", "setxattr",
    "through-link", "through-parent", "through-directory", "through-root", "through-fd",
])
def test_refusal_is_known(place, attack):
    """Whatever the program does with the error, the object is on record."""
    objects, _ = denials(place, [place.program("files"), attack, place.file, place.outside])
    assert any(name.startswith(str(place.outside)) for name in objects), objects


@pytest.mark.parametrize("way", [
    "/proc/self/root{file}", "/proc/thread-self/root{file}", "/proc/self/task/../root{file}", "/proc/$$/root{file}", "//proc//self/./root{file}",
    "/dev/fd/9/file", "/proc/self/fd/9/file", "/proc/self/cwd/{up}{file}", "/dev/../proc/self/root{file}",
    "/dev/shm/up-link/../file",
])
def test_way_does_not_hide_the_object(place, way):
    path = way.format(file=place.file, up="../" * 20)
    objects, _ = denials(place, ["sh", "-c", f"ln -s {place.outside}/empty /dev/shm/up-link; exec 9< {place.outside}; "
                                 f"echo x >> {path} || true"])
    assert str(place.file) in objects


def test_program_that_cannot_be_read_is_known(place):
    """Mode 0111: not even the supervisor may read the memory of a process that executes it."""
    place.copy(place.programs / "files", place.workspace / "unreadable", 0o111)
    objects, result = denials(place, ["./unreadable", "open", place.file, place.outside])
    assert objects or result["sandbox_warnings"], result


def test_flood_does_not_hide_the_object(place):
    """A thousand false refusals before the true one: that there were more is said."""
    objects, result = denials(place, ["python3", "-c", f"""if True:
        for number in range(1500):
            try: open(f'{place.outside}/{{number}}', 'w')
            except OSError: pass
        try: open('{place.file}', 'a')
        except OSError: pass"""])
    assert str(place.file) in objects or result["sandbox_warnings"]


def test_exhausted_supervisor_still_knows(place):
    """Connects that hang hold descriptors of the supervisor's."""
    objects, _ = denials(place, ["python3", "-c", f"""if True:
        import os, socket, threading, time
        listener = socket.socket(socket.AF_UNIX)
        listener.bind('own')
        listener.listen(0)
        def hang():
            try: socket.socket(socket.AF_UNIX).connect('own')
            except OSError: pass
        threading.stack_size(65536)
        for _ in range(1500):
            threading.Thread(target=hang, daemon=True).start()
        time.sleep(0.2)
        try: open('{place.file}', 'a')
        except OSError: pass
        os._exit(0)"""])
    assert str(place.file) in objects


def test_names_cannot_steer_the_terminal(place):
    """Names of files and programs come from the command; nothing of them reaches a terminal as it is."""
    name = "\x1b]0;attack\x07\n\u202e$(touch x);`id`"
    script = f"""if True:
        import ctypes
        ctypes.CDLL(None).prctl(15, b'\\x1b[31mprog', 0, 0, 0)
        try: open({str(place.outside / name)!r}, 'w')
        except OSError: pass
        raise SystemExit(1)"""
    code, said = place.run([place.ward, "run", "--", "python3", "-c", script])
    assert code == 1
    assert "\x1b" not in said and "\x07" not in said and "\u202e" not in said, said
    code, said = place.run([place.ward, "show", "last"])
    assert "\x1b" not in said and "\x07" not in said and "\u202e" not in said, said


def test_hint_can_be_pasted(place):
    """What ward proposes to type does only that."""
    directory = place.outside / "a'b $(touch pasted) `touch pasted` ;touch pasted;"
    directory.mkdir()
    place.give(directory)
    _, said = place.run([place.ward, "run", "--", "sh", "-c", 'echo > "$0/x"; exit 1', directory])
    proposals = [line.split("to allow: ", 1)[1] for line in said.splitlines() if "to allow: " in line]
    assert proposals, said
    for proposal in proposals:
        place.run(["sh", "-c", f"echo {proposal}"], cwd=place.workspace)
    assert not (place.workspace / "pasted").exists()
