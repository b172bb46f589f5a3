# SPDX-License-Identifier: Apache-2.0
"""Plans of random scripts held against those of the same scripts as bash writes them: tests/fuzz/differential.py. A short slice here,
more of it in the soak tests."""
import os
import random
import sys

import pytest

from support import SOURCE

sys.path.insert(0, str(SOURCE / 'tests' / 'fuzz'))
import differential  # noqa: E402

SOAK_SECONDS = float(os.environ.get('SOAK_DIFFERENTIAL_SECONDS', '600'))


@pytest.fixture(autouse=True)
def apart(plain, monkeypatch):
    """No policy, no state but this test's."""
    for name, value in (('HOME', plain.home), ('XDG_CONFIG_HOME', plain.config), ('XDG_STATE_HOME', plain.state)):
        monkeypatch.setenv(name, str(value))


def agrees(plain, seed, seconds, most=None):
    wrong, count, accepted, _ = differential.fuzz(plain.binary, seed, seconds, most)
    assert not wrong, 'seed %d: %s' % (seed, '\n'.join('%r\n    %s' % pair for pair in wrong[:10]))
    # a harness that compares nothing must not pass
    assert count and accepted > count // 4


def test_plans_agree_with_what_bash_writes(plain):
    agrees(plain, 7, 600, 200)


# Found by fuzzing: each was once read otherwise than bash reads it.
FOUND = [
    'a |\nb | c\n',
    'a && # c\nb\n',
    'cat <<E | b\n$(c d)\nE\n',
    'a | f() if b; then c; fi\n',
    'f() ( b ) | c\n',
    'a |\ntime b\n',
    'in a\n',
    'a; ]]\n',
    'f() { }\n',
    'if a; then fi\n',
    'for x in a b; { c; }\n',
    'coproc N { a; }\n',
    'a |! b\n',
    '>f a=(b c) d\n',
    'x "$(a | [[ a\n&& b ]])"\n',
    'x=1 "$x\\\n" b\n',
]


def test_what_was_once_read_otherwise_is_read_as_bash_reads_it(plain):
    wrong, _, _ = differential.compare(plain.binary, FOUND)
    assert not wrong, wrong


@pytest.mark.soak
def test_plans_agree_with_what_bash_writes_for_long(plain):
    agrees(plain, random.SystemRandom().randrange(1 << 30), SOAK_SECONDS)
