# SPDX-License-Identifier: Apache-2.0
"""Attacks on requests that wait: their files, their keepers, their answers."""

import json
import os
import subprocess
import time

import pytest

from conftest import PATIENCE

POLICY = "version: 1\nrules:\n  - {command: touch, do: ask, why: a test}\n"


def until(condition):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError("it has not come to that")


def pending(place):
    code, said = place.run([place.ward, "pending", "--json"])
    assert code == 0, said
    return [json.loads(line) for line in said.splitlines()]


@pytest.fixture
def waiting(place):
    """A request that waits for its answer: the ticket, its question, its keeper."""
    place.write(place.home / ".config/ward/ward.yaml", POLICY)
    process = place.start([place.ward, "run", "--json", "--wait", "10m", "-c", "touch made; echo run >> runs; ls -l /proc/self/fd >&2"],
                          stderr=subprocess.DEVNULL)
    question = until(lambda: pending(place))[0]["id"]
    code, said = place.run([place.ward, "defer", question])
    assert code == 0, said
    ticket = json.loads(process.communicate(timeout=PATIENCE)[0])["ticket"]
    until(lambda: [one for one in pending(place) if one.get("ticket") == ticket])
    lock = place.home / ".local/state/ward/tickets" / ticket / "lock"
    keeper = int(until(lambda: lock.read_text().strip()))
    yield ticket, question, keeper
    place.run([place.ward, "wait", "--cancel", ticket])


ATTACKS = {
    "read its request": "cat {tickets}/{ticket}/request.json",
    "list tickets": "ls {tickets}",
    "write its request": "echo '{{}}' >> {tickets}/{ticket}/request.json",
    "put a state": "echo '{{}}' > {tickets}/{ticket}/state.json",
    "move the ticket": "mv {tickets}/{ticket} {tickets}/other",
    "make a ticket": "mkdir {tickets}/00000000000000000000000000",
    "put an answer": "echo '{{}}' > {asks}/{question}.answer",
    "read the question": "cat {asks}/{question}",
    "remove the question": "rm {asks}/{question}",
    "wake the keeper": "echo > {asks}/{question}.wake",
    "link the request": "ln {tickets}/{ticket}/request.json stolen && cat stolen",
    "say yes": "{ward} approve {question}",
    "take the ticket over": "{ward} keep {state} {ticket}",
    "wait for it": "{ward} wait {ticket} --timeout 100ms; [ $? -eq 75 ]",
    "cancel it": "{ward} wait --cancel {ticket} && ! {ward} wait --list | grep -q 'no tickets'",
    "read the keeper's environment": "cat /proc/{keeper}/environ",
    "end the keeper": "kill -9 {keeper}",
    "reach by the keeper's root": "cat /proc/{keeper}/root{tickets}/{ticket}/request.json",
}


def words(place, waiting, attack):
    ticket, question, keeper = waiting
    state = place.home / ".local/state/ward"
    return ATTACKS[attack].format(tickets=state / "tickets", asks=state / "asks", state=state, ticket=ticket, question=question,
                                  keeper=keeper, ward=place.ward)


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_waits_is_not_reached_from_inside(place, waiting, attack):
    ticket, question, keeper = waiting
    code, said = place.sandboxed(["sh", "-c", words(place, waiting, attack)])
    assert code not in (0, 124), said
    code, said = place.run([place.ward, "approve", question])
    assert code == 0, f"it does not stand any more: {said}"
    code, said = place.run([place.ward, "wait", ticket])
    assert code == 0, said
    assert (place.workspace / "runs").read_text() == "run\n"


@pytest.mark.parametrize("attack", ["read its request", "write its request", "put an answer", "remove the question", "say yes", "end the keeper"])
def test_the_attack_is_real(place, waiting, attack):
    """Outside of the sandbox the same does what it is meant to do."""
    code, said = place.run(["sh", "-c", words(place, waiting, attack)])
    assert code == 0, said


def test_the_command_of_a_ticket_holds_nothing_of_its_keeper(place, waiting):
    """Neither the lock nor the files of its output, which it could cut or fill."""
    ticket, question, _ = waiting
    assert place.run([place.ward, "approve", question])[0] == 0
    code, said = place.run([place.ward, "wait", ticket])
    assert code == 0, said
    links = [line.split("->")[1].strip() for line in said.splitlines() if "->" in line]
    assert links and not any(str(place.home) in link for link in links), said
    assert all(link.startswith(("pipe:", "/dev/null", "/proc/")) for link in links), said


def test_a_flood_of_output_is_cut(place):
    """The disk of the state is not the command's to fill."""
    place.write(place.home / ".config/ward/ward.yaml", POLICY)
    process = place.start([place.ward, "run", "--json", "--wait", "10m", "-c", "touch made; head -c 40000000 /dev/zero"], stderr=subprocess.DEVNULL)
    question = until(lambda: pending(place))[0]["id"]
    assert place.run([place.ward, "defer", question])[0] == 0
    ticket = json.loads(process.communicate(timeout=PATIENCE)[0])["ticket"]
    assert place.run([place.ward, "approve", question])[0] == 0
    code, said = place.run([place.ward, "wait", ticket])
    assert code == 0 and "not all of its output was kept" in said
    size = sum(path.stat().st_size for path in (place.home / ".local/state/ward/tickets" / ticket).iterdir())
    assert (16 << 20) <= size <= (16 << 20) + (8 << 20), size
    assert os.path.exists(place.workspace / "made")


def swapped(place, off, defers):
    """A workspace whose name a command gives to a link while a person is asked: whether the yes reaches where that leads."""
    ward = place.unwalled if off else place.ward
    place.write(place.home / ".config/ward/ward.yaml", POLICY)
    inner = place.workspace / "inner"
    inner.mkdir()
    place.give(inner)
    process = place.start([ward, "run", "--json", "--workspace", inner, "--cwd", inner, "--wait", "10m", "-c", "touch made"], off=off,
                          stderr=subprocess.DEVNULL)
    question = until(lambda: pending(place))[0]["id"]
    ticket = None
    if defers:
        assert place.run([ward, "defer", question], off=off)[0] == 0
        ticket = json.loads(process.communicate(timeout=PATIENCE)[0])["ticket"]
        until(lambda: [one for one in pending(place) if one.get("ticket") == ticket])
    # Another command, whose workspace is the directory above.
    code, said = place.sandboxed(["sh", "-c", f"mv inner old && ln -s {place.outside} inner"])
    assert code == 0, said
    assert place.run([ward, "approve", question], off=off)[0] == 0
    if defers:
        result = json.loads(place.run([ward, "wait", "--json", ticket], off=off)[1].splitlines()[-1])
    else:
        result = json.loads(process.communicate(timeout=PATIENCE)[0])
    assert not (place.workspace / "old" / "made").exists()
    return result, (place.outside / "made").exists()


@pytest.mark.parametrize("defers", [False, True], ids=["waits", "deferred"])
def test_a_yes_does_not_reach_where_the_workspace_leads_later(place, defers):
    result, reached = swapped(place, (), defers)
    assert not reached and result["exit_code"] == -1 and result["error"]["kind"] == "rejected", result
    assert "replaced" in result["error"]["message"]


@pytest.mark.parametrize("defers", [False, True], ids=["waits", "deferred"])
def test_a_swapped_workspace_is_reached_where_nobody_looks(place, defers):
    assert swapped(place, ("place",), defers)[1]


@pytest.mark.parametrize("change", ["moved", "replaced", "linked"])
def test_a_ticket_whose_keeper_comes_later_is_for_the_workspace_it_was(place, waiting, change):
    """Its keeper is killed, so that the next one looks at the workspace for the first time."""
    ticket, question, keeper = waiting
    os.kill(keeper, 9)
    until(lambda: not os.path.exists(f"/proc/{keeper}") or "Z" in open(f"/proc/{keeper}/stat").read().rsplit(")", 1)[1][:3])
    place.workspace.rename(place.base / "moved")
    if change == "replaced":
        place.workspace.mkdir()
        place.give(place.workspace)
    if change == "linked":
        place.workspace.symlink_to(place.outside)
    code, said = place.run([place.ward, "approve", question], cwd=place.base)
    code, said = place.run([place.ward, "wait", ticket], cwd=place.base)
    assert code in (125, 126), said
    if change != "moved":
        assert "not the directory any more" in said
    assert not any((path / "made").exists() for path in (place.base / "moved", place.workspace, place.outside))
    place.workspace.mkdir(exist_ok=True)
