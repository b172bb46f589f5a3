# SPDX-License-Identifier: Apache-2.0
"""Attacks on safe mode: to go on while all of an agent's commands stand still, to keep what was granted, and to get out of the
mode from inside or by another run. Each must fail, and succeed with the check that it is held by switched off."""

import contextlib
import json
import time

import pytest

from conftest import NAMESPACES, ended, wait_until

AGENT = ("--agent", "robot")


@pytest.fixture
def bound(place):
    """The agent is under trust, and one file is closed to it."""
    closed = place.write(place.workspace / "closed", "secret\n")
    rule = "rules: [{command: 'date **', do: deny, why: the test}]\n"
    place.write(place.home / ".config/ward/ward.yaml",
                f"trust: {{agents: [robot]}}\nsandbox: {{files: {{deny: [{closed}]}}}}\n"
                f"tiers: {{high: ['write {place.outside}/**']}}\n{rule}")
    return place


def ask(place, *words):
    code, said = place.run([place.ward, *words])
    assert code == 0, said
    return said


def incidents(place):
    return [json.loads(line) for line in ask(place, "incidents", "list", "--json").splitlines()]


def opened(place):
    """What the record says of it, when it does."""
    log = place.home / ".local/state/ward/audit.log"
    found = []

    def look():
        with contextlib.suppress(OSError, ValueError):
            found[:] = [record for record in map(json.loads, log.read_text().splitlines()) if record["kind"] == "incident.opened"]
        return found

    assert wait_until(look)
    return found[0]


def number(path):
    with contextlib.suppress(OSError, ValueError):
        return int(path.read_text() or 0)
    return 0


def goes_on(path):
    """Whether it still counts, a moment after."""
    time.sleep(0.2)
    before = number(path)
    return wait_until(lambda: number(path) not in (0, before), 1)


def run_on(place, name, off=()):
    """True if the attack goes on after the incident is open."""
    count = place.workspace / "count"
    argv = [place.unwalled if off else place.ward, "run", "--quiet", *AGENT, "--", place.program("freeze"), name, place.workspace / "closed", count]
    with ended(place.start(argv, off=off)):
        opened(place)
        assert number(count) > 0
        return goes_on(count)


ATTACKS = ["fork", "setsid", "sigcont", "double-fork", "storm"]


@pytest.mark.parametrize("name", ATTACKS)
def test_nothing_goes_on_when_all_stands_still(bound, name):
    assert not run_on(bound, name)


@pytest.mark.parametrize("name", ATTACKS)
def test_the_attack_is_one(bound, name):
    assert run_on(bound, name, off=("freeze",))


def steps_on(place, off=()):
    """True if whoever was refused gets to what comes next, whether it is to stand still or, without a freezer, to end."""
    count = place.workspace / "count"
    argv = [place.unwalled if off else place.ward, "run", "--quiet", *AGENT, "--", place.program("freeze"), "next", place.workspace / "closed", count]
    with ended(place.start(argv, off=off)):
        opened(place)
        return number(count) > 0


def test_who_is_refused_gets_no_step_further(bound):
    assert not steps_on(bound)


def test_that_step_is_one(bound):
    assert steps_on(bound, off=("freeze",))


def race(place, off=()):
    """What was granted for the session, and is used all the time: true if it is after safe mode has begun. None: there is no
    freezer here, and nothing goes on at all."""
    count = place.outside / "count"
    ward = place.unwalled if off else place.ward
    argv = [ward, "run", "--quiet", *AGENT, "--session", "s", "--", place.program("freeze"), "race", place.workspace / "closed", count]
    with ended(place.start(argv)) as first:
        asked = []
        assert wait_until(lambda: asked.append(ask(place, "pending", "--json")) or asked[-1].strip())
        ask(place, "approve", json.loads(asked[-1])["id"], "--scope", "session")
        assert first.wait(60) == 0
    count.unlink()
    place.write(place.workspace / "go", "")
    with ended(place.start(argv, off=off)):
        if opened(place)["commands"] != "frozen":
            return None
        ask(place, "incidents", "resume", incidents(place)[0]["id"])
        return goes_on(count)


def test_no_grant_outlives_the_moment(bound):
    assert not race(bound)


def test_the_race_is_one(bound):
    outlived = race(bound, off=("revoke",))
    if outlived is None:
        pytest.skip("no freezer here: nothing is resumed")
    assert outlived


def put_in_safe_mode(place):
    code, said = place.sandboxed(["date"], flags=AGENT)
    assert code == 126, said
    incident, = incidents(place)
    return incident


def writes(place, *flags, off=()):
    """Whether the agent writes to the workspace."""
    new = place.workspace / "new"
    place.sandboxed(["sh", "-c", "echo x > new"], flags=[*AGENT, *flags], off=off)
    there = new.exists()
    new.unlink(missing_ok=True)
    return there


@pytest.mark.parametrize("flags", [(), ("--session", "another"), ("--level", "none"), ("--write", "."), ("--profile", "agent")], ids=str)
def test_no_run_of_the_agent_gets_round_its_mode(bound, flags):
    assert writes(bound, *flags)
    put_in_safe_mode(bound)
    assert not writes(bound, *flags)


def test_the_mode_is_what_holds_it(bound):
    put_in_safe_mode(bound)
    assert writes(bound, "--session", "another", off=("mode",))


ATTEMPTS = {
    "rewrite": "echo '{}' > $MODE",
    "replace": "echo '{}' > /tmp/mode; mv /tmp/mode $MODE",
    "remove": "rm -rf ${MODE%/*}",
    "close": "$WARD incidents close $INCIDENT --note mine",
    "ward-inside": "$WARD run -- sh -c \"echo '{}' > $MODE\"",
}


def from_inside(place, script, flags=(), off=()):
    """True if the agent is out of safe mode after that, as a command without a mode of its own."""
    incident = put_in_safe_mode(place)
    mode = place.home / ".local/state/ward/agents/robot/mode.json"
    # In a file, so that it is not judged by what it says.
    attempt = place.write(place.workspace / "attempt", f"MODE={mode} WARD={place.ward} INCIDENT={incident['id']}; {script}\n")
    place.sandboxed(["sh", attempt], flags=flags, off=off)
    return writes(place)


@pytest.mark.parametrize("who", ["the agent", "another agent", "nobody"])
@pytest.mark.parametrize("name", ATTEMPTS)
def test_no_command_changes_the_mode(bound, name, who):
    flags = {"the agent": AGENT, "another agent": ("--agent", "other", "--write", bound.home), "nobody": ("--write", bound.home)}[who]
    assert not from_inside(bound, ATTEMPTS[name], flags)


@pytest.mark.parametrize("name", ["rewrite", "remove", "close"])
def test_walls_are_what_keeps_commands_from_it(bound, name):
    off = (NAMESPACES, "readonly", "masks", "landlock", "seccomp", "notify", "guard", "run", "tmp")
    assert from_inside(bound, ATTEMPTS[name], ("--write", bound.home), off=off)
