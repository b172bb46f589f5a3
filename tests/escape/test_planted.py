# SPDX-License-Identifier: Apache-2.0
"""Places that another user has made before us."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

from conftest import PATIENCE

NOBODY = 54321  # has no account, and so no home


@pytest.fixture
def planted(place):
    """The state of an account without a home, made by somebody else, with an answer in it."""
    if os.geteuid() != 0 or place.who != "user":
        pytest.skip("root runs it, and a user plants it")
    state = pathlib.Path(f"/var/tmp/ward-{NOBODY}")
    shutil.rmtree(state, ignore_errors=True)
    session = state / "sessions" / "work"
    session.mkdir(parents=True)
    grant = {"id": "01m7jtpzwqx1413swm6fagev28", "key": "", "permissions": [f"write {place.outside}/**"], "scope": "session"}
    (session / "grants").write_text(json.dumps(grant) + "\n")
    for path in (state, *state.rglob("*")):
        path.chmod(0o777)
        place.give(path)
    yield state
    shutil.rmtree(state, ignore_errors=True)


def test_the_state_of_an_account_without_a_home_is_nobody_elses(place, planted):
    workspace = place.base.parent / "homeless"
    workspace.mkdir()
    os.chown(workspace, NOBODY, NOBODY)
    home = place.base / "root"
    home.mkdir()

    def run():
        return subprocess.run([place.ward, "run", "--session", "work", "--", "true"], cwd=workspace, capture_output=True, text=True, timeout=PATIENCE,
                              env={"PATH": "/usr/bin:/bin", "HOME": str(home)}, stdin=subprocess.DEVNULL)

    done = run()
    assert done.returncode == 125 and "not ours alone" in done.stderr, done
    shutil.rmtree(planted)
    assert run().returncode == 0 and planted.stat().st_uid == NOBODY
