# SPDX-License-Identifier: Apache-2.0
"""A secret is replaced from outside while an attack reads it without pause. The moment until the mask is there again is the
attack's; what it reads later it reads because the mask was not put back, or fell off again."""

import os
import pathlib
import time

import pytest

from conftest import IDENTITIES, PATIENCE, REFUSED, SUCCEEDED, ended, wait_until

SECRET = "the-word"


def masked(program, secret):
    """Whether the mask is there for the attack, looked at from outside."""
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            if words[0] == str(program).encode() and str(secret).encode() in words:
                return (process / "root" / secret.relative_to("/")).read_text() != SECRET
        except OSError:
            continue
    return True  # it has ended


def attack(place, name, off=(), before=lambda process: None, **more):
    """How the attack ended, and what ward said."""
    secret = place.write(place.workspace / ".env", SECRET)
    program = place.program("renewal")
    process = place.start([place.unwalled if off else place.ward, "run", "--json", "--", program, name, secret, SECRET],
                          environment=place.environment(off, **more))
    with ended(process):
        wait_until(lambda: (place.workspace / "ready").exists() or process.poll() is not None)
        time.sleep(0.15)
        before(process)
        for _ in range(3):
            os.replace(place.write(place.workspace / ".env.new", SECRET), secret)
            time.sleep(0.02)
        if not off:
            wait_until(lambda: masked(program, secret), 15)
        time.sleep(1)
        place.write(place.workspace / "late", "")
        said = process.communicate(timeout=PATIENCE)[0].decode(errors="replace")
    return process.returncode, said


@pytest.mark.parametrize("name", ["read", "flood", "closed", "rename"])
def test_a_replaced_secret_cannot_be_read(place, name):
    code, said = attack(place, name)
    assert code == REFUSED and "was replaced from outside" in said, said


@pytest.mark.parametrize("name", ["read", "closed"])
def test_without_masks_it_can(make_place, name):
    code, said = attack(make_place(IDENTITIES[-1]), name, off=("masks",))
    assert code == SUCCEEDED, said


def test_where_a_mask_cannot_be_put_back_the_run_is_ended(make_place):
    """The supervisor has no process left to do it with."""
    place = make_place("user")

    def limit(process):
        assert place.run(["prlimit", "--pid", process.pid, "--nproc=1:1"]) == (0, "")

    # A leak checker needs a process of its own.
    code, said = attack(place, "read", before=limit, ASAN_OPTIONS="detect_leaks=0")
    assert code == 125 and f"the mask over {place.workspace}/.env fell off" in said and "the run was ended" in said, said
