# SPDX-License-Identifier: Apache-2.0
"""Attacks on rules about files: what is read-only in a writable tree, and what is denied around something open. Each must
fail behind all walls, fail by the mounts alone, and succeed without mounts and supervisor."""

import os
import time

import pytest

from conftest import PATIENCE, REFUSED, SUCCEEDED, sooner_or_later

MARK = "5ecret-b1f0c3"

ON_READ_ONLY = ("overwrite cut create remove rename-held rename-parent exchange-parent replace link-in link-out through-fd "
                "through-directory-fd through-root mode times attribute swapped-link").split()
ON_DENIED = ("sibling dot-dot dot-dot-through-fd dot-dot-from-cwd planted-link link-sibling rename-denied rename-open "
             "create-denied").split()
MOUNTS_AND_SUPERVISOR = ["masks", "notify"]


def read_only(place):
    """Words for an attack, and the flags that are to stop it."""
    file = place.write(place.workspace / "lib/vendor/held/file", "held\n")
    return [place.workspace, "lib", file.parent, file], ["--read-only", "lib/vendor"]


def denied(place):
    place.write(place.workspace / "lib/secrets/a", MARK + "\n")
    place.write(place.workspace / "lib/secrets/open/file", "open\n")
    return [place.workspace / "lib/secrets", "a", "open", MARK], ["--deny", "lib/secrets", "--write", "lib/secrets/open"]


def attack(place, name, words, flags, off=()):
    code, said = place.sandboxed([place.program("rules"), name, *words], flags, off=off)
    assert code in (REFUSED, SUCCEEDED), said
    return code, said


@pytest.mark.parametrize("name", ON_READ_ONLY)
def test_attack_on_what_is_read_only(place, name):
    words, flags = read_only(place)
    held = place.workspace / "lib/vendor/held"
    for off in ((), ["notify"]):
        code, said = attack(place, name, words, flags, off)
        assert code == REFUSED, (off, said)
        assert (held / "file").read_text() == "held\n" and os.listdir(held) == ["file"]
        place.run(["sh", "-c", "rm -rf decoy mine link* own-*"])

    def attempt():
        place.run(["sh", "-c", "rm -rf decoy mine link* own-*"])
        return attack(place, name, words, flags, MOUNTS_AND_SUPERVISOR)

    assert sooner_or_later(attempt)[0] == SUCCEEDED


@pytest.mark.parametrize("name", ON_DENIED)
def test_attack_on_what_is_denied(place, name):
    words, flags = denied(place)
    secrets = place.workspace / "lib/secrets"
    for off in ((), ["notify"]):
        code, said = attack(place, name, words, flags, off)
        assert code == REFUSED, (off, said)
        assert sorted(os.listdir(secrets)) == ["a", "open"]
        place.run(["sh", "-c", "rm -f lib/secrets/open/link*"])
    assert attack(place, name, words, flags, MOUNTS_AND_SUPERVISOR)[0] == SUCCEEDED


def grown(place, directories=300):
    """A workspace that is large enough for its walk to be remembered."""
    for number in range(directories):
        path = place.workspace / f"d{number}"
        path.mkdir()
        place.give(path)
    place.write(place.workspace / "d9/.env", MARK)
    time.sleep(0.1)


def walks(place):
    return list((place.home / ".local/state/ward/walks").glob("[0-9a-f]*"))


def test_the_memory_of_a_walk_is_out_of_reach(place):
    grown(place)
    place.sandboxed(["true"])
    file, = walks(place)
    assert file.stat().st_mode & 0o777 == 0o600
    code, said = place.sandboxed(["sh", "-c", f"cat {file} | head -c 8; ls {file.parent}; echo x > {file}; rm -rf {file.parent}"],
                                 ["--read", file, "--read", place.home])
    assert "wardwalk" not in said.replace(str(file.parent), "") and walks(place) == [file]


@pytest.mark.parametrize("script", [
    "cp decoy d3/.env; touch -d @1 d3",
    "cp decoy d3/x; touch -r d4 d3; mv d3/x d3/.env; touch -r d4 d3",
    "mkdir d3/deep; cp decoy d3/deep/.env; touch -d @1 d3/deep d3",
    "mkdir new; cp decoy new/.env; mv d3 old; mv new d3; touch -r old d3",
])
def test_a_secret_that_comes_later_is_masked_in_the_next_run(place, script):
    """Whoever put it there took care that the directory looks as it did."""
    grown(place)
    place.write(place.workspace / "decoy", MARK)
    for _ in range(2):
        place.sandboxed(["true"])
    assert walks(place)
    code, said = place.run(["sh", "-ec", script])
    assert code == 0, said
    code, said = place.sandboxed(["sh", "-c", "cat */.env */*/.env; echo runs"])
    assert MARK not in said and "runs" in said
    assert said.count("Permission denied") >= 2


def test_runs_side_by_side_share_the_memory_of_a_walk(place):
    grown(place)
    runs = [place.start([place.ward, "run", "--quiet", "--", "cat", "d9/.env"]) for _ in range(6)]
    for run in runs:
        assert MARK.encode() not in run.communicate(timeout=PATIENCE)[0] and run.returncode == 1
    assert len(walks(place)) == 1


@pytest.mark.parametrize("content", [b"", b"wardwalk", b"\0" * 100000, b"wardwalk\1\0\0\0" + b"\xff" * 5000])
def test_a_broken_memory_of_a_walk_is_not_believed(place, content):
    grown(place)
    place.sandboxed(["true"])
    file, = walks(place)
    file.write_bytes(content)
    code, said = place.sandboxed(["cat", "d9/.env"])
    assert code == 1 and MARK not in said
    assert file.read_bytes()[:8] == b"wardwalk" and len(file.read_bytes()) > 5100
