# SPDX-License-Identifier: Apache-2.0
"""A layer over a cache is an overlay of the whole home directory of which a part is seen, and is kept in ward's state. Neither
the rest of the home, nor the cache itself, nor the state may be reached by it."""

import pytest

from conftest import REFUSED, SUCCEEDED, sooner_or_later

MARK = "5ecret-c4c8e5"


@pytest.fixture
def cache(place):
    place.write(place.home / ".cache/mozilla/secret", MARK)
    place.write(place.home / ".netrc", MARK)
    place.write(place.home / "plain", "plain\n")
    place.write(place.home / ".npm/file", "real\n")
    # Something is kept, so that there is a layer for every command from now on.
    assert place.sandboxed(["sh", "-c", "echo x > ~/.npm/x && echo x > ~/.cache/x"])[0] == 0
    return place.home / ".npm"


def attack(place, name, *arguments, **more):
    return place.sandboxed([place.program("caches"), name, *arguments], **more)


@pytest.mark.parametrize("secret", [".cache/mozilla/secret", ".netrc"])
def test_what_is_masked_is_not_reached_from_above_the_layer(place, cache, secret):
    assert attack(place, "above", cache, "plain")[0] == SUCCEEDED  # the way is right
    code, said = attack(place, "above", cache, secret)
    assert code == REFUSED, said
    assert attack(place, "above", cache, secret, off=["masks"])[0] == SUCCEEDED


def test_where_the_layer_is_kept_is_not_reached(place, cache):
    kept = next((place.home / ".local/state/ward/caches").glob("*/0/.ward-inside-layer/.npm/x"))
    code, said = attack(place, "read", kept)
    assert code == REFUSED, said
    assert attack(place, "read", kept, off=["masks"])[0] == SUCCEEDED


def test_a_redirection_leads_nowhere(place, cache):
    for target in ("/.cache/mozilla", "/", "../.cache/mozilla"):
        attack(place, "redirect", cache, target)  # whatever it could set
        for command in (["sh", "-c", f"cat {cache}/way/*; echo x > {cache}/way/y"], ["cat", f"{cache}/way/secret", f"{cache}/way/.netrc"]):
            assert MARK not in place.sandboxed(command)[1]


@pytest.mark.parametrize("name", ["whiteout", "set-id", "handle"])
def test_no_devices_set_id_files_and_handles(place, cache, name):
    code, said = attack(place, name, cache)
    assert code == REFUSED, said
    if name != "handle" or place.who == "root":  # without ward it can be done
        assert place.run([place.program("caches"), name, place.outside])[0] == SUCCEEDED


def test_no_second_name_leads_in_or_out(place, cache):
    for file in (place.home / "plain", place.home / ".cache/x", place.workspace / "own"):
        place.write(place.workspace / "own", "own\n")
        code, said = attack(place, "link", cache, file)
        assert code == REFUSED, said
    assert (place.home / "plain").read_text() == "plain\n"
    assert sorted(path.name for path in cache.iterdir()) == ["file"]
    assert place.run([place.program("caches"), "link", place.outside, place.home / "plain"])[0] == SUCCEEDED


def test_a_path_that_changes_under_the_call_makes_nothing_outside(place, cache):
    code, said = attack(place, "rewritten", cache, place.home)
    assert code == REFUSED and not (place.home / "raced").exists(), said
    assert sorted(path.name for path in cache.iterdir()) == ["file"]
    assert sooner_or_later(lambda: place.run([place.program("caches"), "rewritten", cache, place.outside]))[0] == SUCCEEDED


def test_an_earlier_run_cannot_lead_a_layer_elsewhere(place, cache):
    """It makes the names in its layer links, of which a later run with other rules would have layers of their own."""
    place.write(place.home / ".cache/pip/file", "real\n")
    place.write(place.home / ".cache/uv/file", "real\n")
    place.sandboxed(["sh", "-c", f"cd ~/.cache && rm pip/file uv/file && rmdir pip uv && ln -s {place.home} pip && ln -s .. uv"])
    code, said = place.sandboxed(["sh", "-c", "cat ~/.cache/pip/.netrc ~/.cache/uv/.netrc; echo x > ~/.cache/pip/y; echo x > ~/.cache/uv/y"],
                                 ["--deny", "~/.cache/other"])
    assert MARK not in said
    assert not (place.home / "y").exists() and sorted(path.name for path in (place.home / ".cache/pip").iterdir()) == ["file"]
