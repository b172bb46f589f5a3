# SPDX-License-Identifier: Apache-2.0
"""The table of attacks in README.md names attacks that are there and are tried."""

import re

from conftest import HERE
from test_attacks import ATTACKS
from test_grants import ATTACKS as GRANTS, RACES
from test_handed import ATTACKS as HANDED
from test_terminal import ATTACKS as TERMINAL


def test_every_attack_of_the_table_is_tried():
    tests = "".join(path.read_text() for folder in (HERE, HERE.parent / "end-to-end") for path in folder.glob("test_*.py"))
    tried = {f"{attack.program} {attack.name}" for attack in ATTACKS} | {f"streams {name}" for name, _ in TERMINAL}
    tried |= {f"handed {name}" for name, _ in HANDED} | {f"grants {attack[0]}" for attack in GRANTS}
    tried |= {f"granted_races {name}" for name in ("rewritten", *RACES)}
    rows = [line for line in (HERE / "README.md").read_text().splitlines() if line.startswith("| ") and "---" not in line][1:]
    assert len(rows) > 30
    for row in rows:
        names = re.findall(r"`([^`]+)`", row.split("|")[2])
        assert names, row
        for name in names:
            assert name in tried or f"def {name}(" in tests, f"{name} in: {row}"


def test_every_attack_of_the_programs_is_tried():
    """A program's own table holds nothing that nobody calls."""
    tests = "".join(path.read_text() for path in HERE.glob("test_*.py"))
    for source in HERE.glob("*.c"):
        if source.stem in ("guard", "guard_ground", "guard_pointers"):  # test_guard.py reads the names from there
            continue
        text = source.read_text()
        for name in re.findall(r'^\t\{"([a-z0-9-]+)", \d', text, re.MULTILINE):
            tried = re.search(rf'(?<![\w-]){re.escape(name)}(?![\w-])', tests)
            assert tried or text.count(f'"{name}"') > 1, f"{source.name}: {name}"  # some call themselves
