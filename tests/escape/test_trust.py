# SPDX-License-Identifier: Apache-2.0
"""Score farming: an agent that wants more trust than it was given. What it does itself raises its score by nothing, or by no
more than a person would see in a day."""

import json
import os
import subprocess

import pytest

from conftest import NAMESPACES

# All that keeps a command from the files of whoever runs it.
FILES = (NAMESPACES, "landlock", "seccomp", "masks", "readonly", "tmp", "proc", "run", "guard")


@pytest.fixture
def farm(place):
    """A workspace under git with tests that the policy names, and an agent under trust."""
    place.write(place.home / ".config/ward/ward.yaml", "trust:\n  agents: [robot]\n  tests: [make test]\ntiers: {answer: 200ms}\n")
    place.write(place.workspace / "Makefile", "test:\n\t@true\nother:\n\t@true\n", 0o644)
    place.write(place.workspace / "code", "one\n", 0o644)
    git(place, "init", "-q")
    git(place, "add", "-A")
    return place


def git(place, *words):
    subprocess.run(["git", "-C", place.workspace, "-c", "user.name=x", "-c", "user.email=x@x", *words], check=True,
                   env=place.environment(), capture_output=True, **place.options())


def score(place):
    code, said = place.run([place.ward, "trust", "--json", "robot"])
    assert code == 0, said
    return json.loads(said)["score"]


def agent(place, *argv, off=(), flags=()):
    return place.sandboxed(argv, ["--agent", "robot", *flags], off=off)


def test_tests_repeated_at_one_state_count_once(farm):
    for _ in range(4):
        assert agent(farm, "make", "test")[0] == 0
    assert score(farm) == 1


def test_that_attack_is_real(farm):
    for _ in range(4):
        assert agent(farm, "make", "test", off=["once"])[0] == 0
    assert score(farm) == 4


@pytest.mark.parametrize("way", ["commit", "untracked", "touch", "index", "mode"])
def test_a_state_is_not_made_new_without_content(farm, way):
    for number in range(3):
        if way == "commit":
            git(farm, "commit", "-q", "--allow-empty", "-m", str(number))
        elif way == "untracked":
            farm.write(farm.workspace / f"junk-{number}", "x")
        elif way == "touch":
            os.utime(farm.workspace / "code", (number, number))
        elif way == "index":
            git(farm, "update-index", "--refresh", "--really-refresh")
        else:
            (farm.workspace / "code").chmod(0o600 + 0o044 * (number % 2))
        assert agent(farm, "make", "test")[0] == 0
    assert score(farm) == 1


def test_new_states_count_a_few_times_a_day_only(farm):
    for number in range(9):
        farm.write(farm.workspace / "code", f"{number}\n", 0o644)
        assert agent(farm, "make", "test")[0] == 0
    assert score(farm) == 5


CHOSEN = [
    ["true"], ["make", "-n", "test"], ["make", "other"], ["make", "test", "SHELL=/bin/true"], ["make", "-k", "-i", "test"], ["make", "test", "--version"],
    ["sh", "-c", "make test"], ["sh", "-c", "make test || true"], ["sh", "-c", "make() { true; }; make test"], ["env", "MAKEFLAGS=n", "make", "test"],
    ["./make", "test"], ["timeout", "5", "make", "test"], ["sh", "-c", "exit 0"], ["sh", "-c", "alias make=true; make test"],
]


@pytest.mark.parametrize("argv", CHOSEN, ids=" ".join)
def test_exit_codes_of_its_choosing_count_for_nothing(farm, argv):
    farm.write(farm.workspace / "make", "#!/bin/sh\nexit 0\n", 0o755)
    agent(farm, *argv)
    assert score(farm) == 0


def test_a_make_of_its_own_is_none(farm):
    """First in PATH, in the workspace."""
    farm.write(farm.workspace / "bin/make", "#!/bin/sh\nexit 0\n", 0o755)
    environment = farm.environment(PATH=f"{farm.workspace}/bin:/usr/bin:/bin")
    farm.run([farm.ward, "run", "--quiet", "--agent", "robot", "--", "make", "test"], environment=environment)
    assert score(farm) == 0


def test_those_attacks_are_real(farm):
    agent(farm, "true", off=["words"])
    assert score(farm) == 1


def test_without_the_sandbox_nothing_counts(farm):
    agent(farm, "make", "test", flags=["--level", "none"])
    assert score(farm) == 0


def test_a_clock_of_its_own_opens_nothing(farm):
    """Time zones, and a clock that the command sees changed."""
    assert agent(farm, "make", "test")[0] == 0
    for zone in ("Pacific/Kiritimati", "Etc/GMT+12", "XXX-167:59:59"):
        farm.run([farm.ward, "run", "--quiet", "--agent", "robot", "--", "make", "test"], environment=farm.environment(TZ=zone))
    agent(farm, "python3", "-c", "import time; time.clock_settime(time.CLOCK_REALTIME, 0)")
    agent(farm, "date", "-s", "2001-01-01")
    assert agent(farm, "make", "test")[0] == 0
    assert score(farm) == 1


def test_asking_many_times_without_a_yes_counts_for_nothing(farm):
    for number in range(4):
        assert agent(farm, "git", "push", "origin", f"branch-{number}", flags=["--wait", "100ms"])[0] == 126
    assert score(farm) == 0


INSIDE = "exec {ward} trust task robot --why 'I was good'"


def inside(place, script, off=()):
    script = place.write(place.workspace / "farm.sh", script.format(ward=place.ward, state=place.home / ".local/state/ward"), 0o755)
    return agent(place, "sh", script, off=off)


@pytest.mark.parametrize("script", [
    INSIDE,
    "mkdir -p {state}/agents/robot; echo '{{\"time\":\"x\",\"at\":1,\"kind\":\"task\",\"delta\":100,\"score\":100}}' >> {state}/agents/robot/trust.jsonl",
    "cp -r {state} copy && rm -r {state} && mv copy {state}; rm -rf {state}/agents",
    "ln -s $PWD/fake {state}/agents/robot; mv {state} {state}.old; mkdir -p {state}",
    "XDG_STATE_HOME=$PWD/state " + INSIDE.removeprefix("exec "),
    "HOME=$PWD " + INSIDE.removeprefix("exec "),
], ids=["verb", "write", "replace", "link", "own-state", "own-home"])
def test_from_inside_the_sandbox_no_score_is_changed(farm, script):
    assert farm.run([farm.ward, "trust", "task", "robot", "--why", "a person"])[0] == 0
    inside(farm, script)
    assert score(farm) == 2


def test_the_verb_would_do_it_without_the_walls(farm):
    code, said = inside(farm, INSIDE, off=FILES)
    assert code == 0, said
    assert score(farm) == 2


def test_a_project_cannot_make_it_easy(farm):
    """What a command could have written into the workspace's own policy."""
    farm.write(farm.workspace / ".ward.yaml", "trust: {start: 100, points: {tests: 100, task: 100}, tests: ['true'], decay: 1,\n"
               "  thresholds: [{at: 1, commands: [sudo, git push], unlocks: ['write ~/**']}]}\n", 0o644)
    agent(farm, "true")
    assert score(farm) == 0
    code, said = farm.run([farm.ward, "check", "--json", "--agent", "robot", "--", "git", "push"])
    assert json.loads(said.splitlines()[-1])["verdict"] == "ask"


@pytest.mark.parametrize("name", ["robot2", "Robot", "root", "ward"])
def test_another_name_has_earned_nothing(farm, name):
    """Where all names are bound, a new one begins where the policy lets agents begin."""
    farm.write(farm.home / ".config/ward/ward.yaml", "trust: {agents: ['*'], points: {task: 60}}\ntiers: {answer: 200ms}\n")
    assert farm.run([farm.ward, "trust", "task", "robot", "--why", "a person"])[0] == 0
    script = farm.script("open('src/a', 'w').write('new')\n")
    for who, changed in (("robot", True), (name, False)):
        farm.write(farm.workspace / "src/a", "old\n", 0o644)
        farm.sandboxed(["python3", script], ["--agent", who])
        assert ((farm.workspace / "src/a").read_text() == "new") == changed, who


WAYS = {
    "write": "open('src/a', 'w').write('new')",
    "append": "open('src/a', 'a').write('new')",
    "delete": "os.unlink('src/a')",
    "move": "os.rename('src/a', 'b')",
    "replace": "open('b', 'w').write('new'); os.rename('b', 'src/a')",
    "link": "os.link('src/a', 'b'); open('b', 'w').write('new')",
    "around": "os.rename('src', 'old'); os.mkdir('src')",
    "through-proc": "open('/proc/self/cwd/src/a', 'w').write('new')",
    "through-link": "os.symlink('src', 'b'); open('b/a', 'w').write('new')",
}


@pytest.mark.parametrize("way", WAYS)
def test_what_a_score_withholds_is_not_changed(farm, way):
    """The source of a workspace that is writable otherwise; with the score for it the same goes through."""
    for start, changed in ((49, False), (60, True)):
        farm.write(farm.home / ".config/ward/ward.yaml", f"trust: {{agents: [robot], start: {start}}}\ntiers: {{answer: 200ms}}\n")
        farm.write(farm.workspace / "src/a", "old\n", 0o644)
        (farm.workspace / "b").unlink(missing_ok=True)
        code, said = agent(farm, "python3", farm.script(f"import os\n{WAYS[way]}\n"))
        source = farm.workspace / "src/a"
        assert (not source.exists() or source.read_text() != "old\n") == changed, said
