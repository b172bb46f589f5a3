# SPDX-License-Identifier: Apache-2.0
"""An agent's text looks the same on the pages as on the terminal, character by character."""
import random
import shutil
import subprocess

import pytest

from support import PATIENCE, SOURCE

# All that a text can hold but the end of a line, which ends the lines here.
CODES = [code for code in range(1, 0x110000) if code != 10 and not 0xd800 <= code <= 0xdfff]


@pytest.fixture(scope='module')
def terminal(top):
    program, base = top / 'glyphs', SOURCE / 'src' / 'base'
    subprocess.run(['cc', '-O1', '-D_GNU_SOURCE', '-o', program, SOURCE / 'tests' / 'web' / 'glyphs.c', base / 'glyph.c', base / 'escape.c', base / 'buffer.c'],
                   check=True, timeout=PATIENCE)
    return program


@pytest.fixture(scope='module')
def pages(top):
    node = shutil.which('node')
    if not node:
        pytest.skip('needs node')
    module = top / 'glyphs.mjs'
    shutil.copy(SOURCE / 'web' / 'glyphs.js', module)
    return [node, SOURCE / 'tests' / 'web' / 'glyphs.mjs', module]


def show(program, lines):
    done = subprocess.run(program, input='\n'.join([*lines, '']).encode(), stdout=subprocess.PIPE, check=True, timeout=PATIENCE)
    return done.stdout.decode().split('\n')[:-1]


def differing(terminal, pages, lines):
    shown, drawn = show([terminal], lines), show(pages, lines)
    assert len(shown) == len(drawn) == len(lines)
    return [(line, one, other) for line, one, other in zip(lines, shown, drawn) if one != other][:10]


@pytest.mark.parametrize('around', ['{}', 'a{}b'])
def test_every_character(terminal, pages, around):
    assert differing(terminal, pages, [around.format(chr(code)) for code in CODES]) == []


def test_words_of_many_scripts(terminal, pages):
    """What a character is taken for depends on the word that it stands in."""
    chance = random.Random(7)
    alphabets = [range(0x20, 0x7f), range(0x370, 0x530), range(0x400, 0x460), range(0x530, 0x590), range(0x13a0, 0x13f6), range(0x1d00, 0x1dc0),
                 range(0x2000, 0x2070), range(0x2c80, 0x2cef), range(0xa4d0, 0xa500), range(0xab30, 0xabc0), range(0xff00, 0xffef), range(0x1d400, 0x1d800), CODES]
    lines = [''.join(chr(chance.choice(chance.choice(alphabets))) for _ in range(chance.randint(1, 12))) for _ in range(30000)]
    assert differing(terminal, pages, [line.replace('\n', '') for line in lines]) == []
    assert show([terminal], ['p\u0430ypal']) == ['p|\\u{0430}ypal']
