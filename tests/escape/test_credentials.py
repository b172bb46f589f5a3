# SPDX-License-Identifier: Apache-2.0
"""A token in a repository's configuration: no way of reading the file shows it, and what git does to the file leaves it there."""

import os

import pytest

from conftest import REFUSED, SUCCEEDED
from test_ladder import poorer

NAMES = "read reopen map copy git link move race installed-elsewhere written-otherwise".split()
# Without the wall nothing puts credentials back: there is nothing to be tricked.
NEEDS_THE_WALL = ("written-otherwise",)
TOKEN = "ghp_0123456789abcdefMARK"
# Rungs on which other mounts, or none, hold it.
RUNGS = ("userns", "namespaces", "namespaces,abi1", "mount", "landlock", "notify", "namespaces,abi4,notify")


def prepare(place):
    repository = place.workspace / "repo"
    place.write(repository / "file", "content\n")
    for words in (["init", "-q", "-b", "main"], ["add", "file"], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "one"],
                  ["remote", "add", "origin", f"https://me:{TOKEN}@example.com/a/b.git"]):
        assert place.run(["git", "-C", repository, *words])[0] == 0
    return repository / ".git/config"


@pytest.mark.parametrize("name", NAMES)
def test_the_token_is_not_seen(place, name):
    prepare(place)
    code, said = place.sandboxed([place.program("credentials"), name, TOKEN])
    assert code == REFUSED and TOKEN not in said, said


@pytest.mark.parametrize("off", ["masks", "guard"])
@pytest.mark.parametrize("name", [name for name in NAMES if name not in NEEDS_THE_WALL])
def test_attack_is_real(make_place, name, off):
    place = make_place("root" if os.geteuid() == 0 else "user")
    prepare(place)
    code, said = place.sandboxed([place.program("credentials"), name, TOKEN], off=(off,))
    assert code == SUCCEEDED, said


def test_the_token_is_kept_by_two_hundred_changes(place):
    config = prepare(place)
    assert place.sandboxed([place.program("credentials"), "race", TOKEN])[0] == REFUSED
    text = config.read_text()
    assert f"me:{TOKEN}@example.com" in text and "name = 200" in text


@pytest.mark.parametrize("features", RUNGS)
def test_the_token_is_not_seen_on_lower_rungs(place, features):
    prepare(place)
    place.write(place.workspace / "open/file", "")
    place.write(place.workspace / "below/.env", TOKEN)
    for name in ("read", "reopen", "map", "copy", "git", "link", "move"):
        code, said = poorer(place, features, [place.ward, "run", "--quiet", "--", place.program("credentials"), name, TOKEN])
        assert code == REFUSED and TOKEN not in said, (name, said)
    # Into a directory that is open as a whole.
    script = """ln repo/.git/config open/name; ln below/.env open/env; mv below open/; mv repo open/; mv open else
    cat open/* open/*/.env open/*/.git/config else/* else/*/.env else/*/.git/config"""
    code, said = poorer(place, features, [place.ward, "run", "--quiet", "--", "sh", "-c", script])
    assert TOKEN not in said, said
