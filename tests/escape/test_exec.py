# SPDX-License-Identifier: Apache-2.0
"""Attacks on rules about programs: what is loaded must be what was looked at. Each must fail; the races must succeed
without the seal, the others without a supervisor that sees programs start."""

import pytest

from conftest import REFUSED, SUCCEEDED, sooner_or_later

RACES = ("rewritten-words rewritten-path rewritten-unknown rewritten-to-loader rewritten-pointers rewritten-by-thread swapped-directory changed-directory "
         "swapped-file").split()
OTHER_WAYS = "other-name symbolic-link by-loader by-interpreter".split()

POLICY = "rules:\n  - {command: touch marker, do: deny, why: a test}\n  - {command: '*/touch */marker', do: deny, why: a test}\n"
# With another name in argv, and a file that only argv names.
BY_NAME = "rules:\n  - {command: touch, do: deny, why: a test}\n"


def attack(place, name, policy, off=(), seconds=1):
    place.write(place.home / ".config/ward/ward.yaml", policy)
    code, said = place.sandboxed([place.program("exec"), name, "marker", str(seconds * 1000)], off=off)
    assert code in (REFUSED, SUCCEEDED), said
    place.run(["sh", "-c", "rm -rf marker *-place innocent script x*"])
    return code, said


def policy_of(name):
    return POLICY if name in ("rewritten-words", "rewritten-pointers", "rewritten-by-thread") else BY_NAME


@pytest.mark.parametrize("name", RACES)
def test_race_for_what_is_loaded(place, name):
    code, said = attack(place, name, policy_of(name))
    assert code == REFUSED, said
    assert sooner_or_later(lambda: attack(place, name, policy_of(name), ["seal"]))[0] == SUCCEEDED


@pytest.mark.parametrize("name", OTHER_WAYS)
def test_other_way_to_a_program(place, name):
    code, said = attack(place, name, BY_NAME)
    assert code == REFUSED, said
    assert attack(place, name, BY_NAME, ["notify"])[0] == SUCCEEDED


@pytest.mark.soak
@pytest.mark.parametrize("name", RACES)
def test_long_race_for_what_is_loaded(make_place, name):
    code, said = attack(make_place("user"), name, policy_of(name), seconds=20)
    assert code == REFUSED, said
