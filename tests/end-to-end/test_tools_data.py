# SPDX-License-Identifier: Apache-2.0
"""tools/tools-data: what is wrong in the data about tools ends the build, with its place."""
import subprocess

import pytest

from support import SOURCE

HEADER = SOURCE / 'src' / 'assess' / 'facts.h'
EFFECTS = '''family: effects
effects:
  reads:
    reads: yes
  harm:
    class: ask
    category: harm
    reason: it does harm
'''


def make(directory, text, kind='tables', effects=EFFECTS):
    (directory / 'effects.yaml').write_text(effects)
    (directory / 'tools.yaml').write_text(text)
    return subprocess.run([SOURCE / 'tools' / 'tools-data', kind, HEADER, 'effects.yaml', 'tools.yaml'], cwd=directory,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)


def test_good_data_becomes_tables_without_pointers(tmp_path):
    done = make(tmp_path, 'family: x\ntools:\n  b a:\n    does: reads\n    flags:\n      -f --force: harm\n  "c*": harm\n')
    assert done.returncode == 0, done
    assert 'static const struct tool_node tool_nodes[]' in done.stdout and '*' not in done.stdout.split('tool_text_block')[0]
    names = make(tmp_path, 'family: x\n', 'names')
    assert 'EFFECT_READS,' in names.stdout and 'X(test_forced_refspec)' in names.stdout


def test_the_data_that_is_there_knows_many_tools():
    files = sorted((SOURCE / 'data' / 'tools').glob('*.yaml'))
    done = subprocess.run([SOURCE / 'tools' / 'tools-data', 'tables', HEADER, *files], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert len(files) > 20
    assert done.stdout.split('tool_names[] = {')[1].split('};')[0].count('{') >= 200


@pytest.mark.parametrize('line, text, message', [
    (3, 'family: x\ntools:\n  a:\n    dose: reads\n', "'dose' is no key of a tool"),
    (4, 'family: x\ntools:\n  a: reads\n  b a: reads\n', "the tool 'a' is known already"),
    (3, 'family: x\ntools:\n  a: heals\n', "there is no effect 'heals'"),
    (6, 'family: x\ntools:\n  a:\n    harmless: -f\n    flags:\n      -f: harm\n', "'-f' is harmless, and is not"),
    (6, 'family: x\ntools:\n  a:\n    values: -o\n    options:\n      -o: writes\n', "'-o' is among the values already"),
    (3, 'family: x\ntools:\n  a:\n    values: -r\n    recursive: -r\n', "'-r' takes a value, and is a switch"),
    (5, 'family: x\ntools:\n  a:\n    options:\n      -o: eats\n', "'eats' is no role"),
    (4, 'family: x\ntools:\n  a:\n    operands: reads writes\n', 'operands are [FIRST] REST... [LAST]'),
    (5, 'family: x\ntools:\n  a:\n    tests:\n      no-such: harm\n', "there is no test 'no-such'"),
    (6, 'family: x\ntools:\n  a:\n    verbs:\n      b: reads\n      b c: harm\n', "'b' stands at tools.yaml:5 too"),
    (6, 'family: x\ntools:\n  a:\n    verbs:\n      "g*": reads\n      get: harm\n', "'get' is hidden behind 'g*'"),
    (4, 'family: x\ntools:\n  a: reads\n  a: harm\n', "'a' stands here twice"),
    (4, 'family: x\ntools:\n  a:\n    other: harm\n', 'other needs verbs or words'),
    (3, 'family: x\ntools:\n  a:\n    does: harm\n    verbs:\n      b: reads\n', 'every call does'),
    (4, 'family: x\ntools:\n  a:\n    values: file\n', "'file' is no flag"),
    (4, 'family: x\ntools:\n  a:\n    order: last\n', "'last' is no order"),
    (4, 'family: x\ntools:\n  a: reads\n     b: reads\n', "'a' has a value already"),
    (3, 'family: x\ntools:\n\ta: reads\n', 'a tab'),
    (3, 'family: x\ntools:\n  *: reads\n', "must be quoted"),
    (3, 'family: x\ntools:\n  a\n', 'not "key: value"'),
    (1, 'tools:\n  a: reads\n', 'no family'),
    (2, 'family: x\ncolour: red\n', "'colour' is no key of a file"),
])
def test_a_fault_is_told_with_its_place(tmp_path, line, text, message):
    done = make(tmp_path, text)
    assert done.returncode != 0 and message in done.stderr, done
    assert done.stderr.startswith('tools.yaml:'), done
    assert line in (1, 3) or f'tools.yaml:{line}:' in done.stderr, done


@pytest.mark.parametrize('body, message', [
    ('    class: ask\n', 'what is not safe needs a reason'),
    ('    class: maybe\n', "'maybe' is no class"),
    ('    level: huge\n', "'huge' is no level"),
    ('    category: x\n', 'a category needs a reason'),
    ('    reads: yes\n    final: yes\n', 'what only reads changes nothing'),
    ('    final: yes\n    back: somehow\n', 'what is final has no way back'),
    ('    final: no\n', "'final' can only be yes"),
    ('    colour: red\n', "'colour' is no key of an effect"),
])
def test_an_effect_that_contradicts_itself_is_a_fault(tmp_path, body, message):
    done = make(tmp_path, 'family: x\n', effects=f'family: effects\neffects:\n  odd:\n{body}')
    assert done.returncode != 0 and message in done.stderr and done.stderr.startswith('effects.yaml:'), done
