# SPDX-License-Identifier: Apache-2.0
"""Two agents at the same time on one workspace: that is all they share."""

import os
import time

import pytest

from conftest import NOT_TRIED, PATIENCE, REFUSED, SUCCEEDED, ended, wait_until

# What one holds, and the walls without which the other sees it. With a /tmp it is not a wall but whose it is: see below.
KINDS = {
    "memory": ("dev", "readonly", "landlock", "notify"),
    "segment": ("ipcns",),
    "queue": ("ipcns", "landlock"),
    "abstract": ("netns", "landlock", "notify"),
    "loopback": ("netns",),
    "process": ("pidns", "proc"),
}
# Landlock refuses to make one at all; the other wall is to hold alone, too.
ALONE = {"queue": ("landlock",)}


def meet(place, kind, first, second, off=()):
    """One holds something while the other looks for it; how the other's attack ended."""
    name = str(os.getpid() % 1000000 * 1000 + time.monotonic_ns() % 1000)
    ward = [place.unwalled if off else place.ward, "run", "--quiet"]
    program = place.program("neighbour")
    for left in ("held", "done"):
        (place.workspace / left).unlink(missing_ok=True)
    with ended(place.start([*ward, *first, "--", program, "hold", kind, name], off=off)) as holder:
        wait_until(lambda: (place.workspace / "held").exists() or holder.poll() is not None)
        assert holder.poll() is None, holder.stdout.read()
        # The same caller, and so the same default session but for the agent.
        code, said = place.run([*ward, *second, "--", program, "look", kind, name], off=off)
        place.write(place.workspace / "done", "")
        holder.wait(timeout=PATIENCE)
    for directory in ("/dev/shm", "/tmp"):
        left = os.path.join(directory, f"neighbour-{name}")
        if os.path.exists(left):
            os.unlink(left)
    assert code != NOT_TRIED, said
    return code


A, B = ["--agent", "a"], ["--agent", "b"]
SAME = ["--session", "common"]


@pytest.mark.parametrize("kind", ["tmp", *KINDS])
@pytest.mark.parametrize("named", [[], SAME], ids=["default", "one-session"])
def test_agents_share_nothing_but_the_workspace(place, kind, named):
    assert meet(place, kind, A + named, B + named, ALONE.get(kind, ())) == REFUSED


def test_queues_cannot_be_made(place):
    code, said = place.sandboxed([place.program("neighbour"), "hold", "queue", "1"])
    assert code == NOT_TRIED and "Permission denied" in said, said


@pytest.mark.parametrize("kind", KINDS)
def test_without_the_wall_they_meet(place, kind):
    assert meet(place, kind, A, B, KINDS[kind]) == SUCCEEDED


def test_one_agent_has_one_tmp_in_a_session(place):
    assert meet(place, "tmp", A, A) == SUCCEEDED
    assert meet(place, "tmp", A + SAME, A + SAME) == SUCCEEDED
    assert meet(place, "tmp", A, ["--agent", "a", "--session", "other"]) == REFUSED
    assert meet(place, "tmp", A, []) == REFUSED


def scratches(place):
    sessions = place.home / ".local/state/ward/sessions"
    return sorted(str(found.relative_to(sessions)) for found in sessions.glob("*/.ward-inside-tmp*/agent-*"))


def test_scratch_directory_of_an_agent(place):
    code, said = place.sandboxed(["stat", "-c", "%a %u %F", "/tmp/agent-a.b@c"], ["--agent", "a.b@c", "--session", "s"])
    assert code == 0 and said == f"700 {place.uid} directory\n", said
    assert place.sandboxed(["sh", "-c", "echo x > /tmp/agent-a.b@c/file"], ["--agent", "a.b@c", "--session", "s"])[0] == 0
    # It stays for the session, is not there for others, and goes with the session.
    assert place.sandboxed(["cat", "/tmp/agent-a.b@c/file"], ["--agent", "a.b@c", "--session", "s"]) == (0, "x\n")
    assert place.sandboxed(["ls", "/tmp"], ["--agent", "b", "--session", "s"]) == (0, "agent-b\n")
    assert place.sandboxed(["ls", "/tmp"], ["--session", "s"]) == (0, "")
    assert scratches(place) == ["s/.ward-inside-tmp-a.b@c/agent-a.b@c", "s/.ward-inside-tmp-b/agent-b"]
    assert place.run([place.ward, "session", "end", "s"])[0] == 0
    assert scratches(place) == []


def test_scratch_goes_when_its_caller_is_gone(place):
    script = f"'{place.ward}' run --agent gone -- touch /tmp/agent-gone/file; :"  # the shell is the caller, and ends
    assert place.run(["sh", "-c", script])[0] == 0
    assert [name.split("/", 1)[1] for name in scratches(place)] == [".ward-inside-tmp-gone/agent-gone"]
    assert place.sandboxed(["true"], ["--agent", "next"])[0] == 0
    assert [name.split("/", 1)[1] for name in scratches(place)] == [".ward-inside-tmp-next/agent-next"]


def test_planted_link_is_not_followed(place):
    """Even an agent that replaces its scratch directory changes nothing outside."""
    flags = ["--agent", "a", "--session", "s"]
    assert place.sandboxed(["sh", "-c", f"rmdir /tmp/agent-a && ln -s {place.outside}/new /tmp/agent-a"], flags)[0] == 0
    assert place.sandboxed(["true"], flags)[0] == 0
    assert not (place.outside / "new").exists()


@pytest.mark.parametrize("agent", ["", ".", "..", ".a", "a/b", "../../../up", "a b", "a\nb", "\x1b[2J", "é", "x" * 65])
def test_agent_that_is_no_name_is_refused(place, agent):
    before = sorted(os.listdir(place.base))
    code, said = place.sandboxed(["touch", "made"], ["--agent", agent])
    assert code == 125 and "cannot be the id of an agent" in said and "\x1b" not in said, said
    assert not (place.workspace / "made").exists() and sorted(os.listdir(place.base)) == before
