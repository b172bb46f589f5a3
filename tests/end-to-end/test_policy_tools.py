# SPDX-License-Identifier: Apache-2.0
"""ward policy test, fmt and explain: a policy held against what is expected of it, brought into form, and explained."""
import json
import os

POLICY = '''version: 1
rules:
  - command: git push
    do: allow
    why: we push
    match: [git push, git push origin]
    no_match: [git pull]
  - command: git push --force
    do: deny
  - {command: make, do: ask}
'''


def user_file(ward, text, name='ward.yaml'):
    path = ward.file(f'../config/ward/{name}', text, 0o644)
    path.parent.chmod(0o755)
    return path.resolve()


def test_examples_and_the_file_beside_are_tested(plain):
    user_file(plain, POLICY)
    done = plain('policy', 'test')
    assert done.code == 0 and done.out == '3 tests, 0 failed\n'
    tests = user_file(plain, 'tests:\n  - {command: git push, expect: allow, rule: ward.yaml:3}\n  - {command: ls, expect: deny}\n', 'ward.tests.yaml')
    done = plain('policy', 'test')
    assert done.code == 1 and '5 tests, 1 failed' in done.out
    assert f'{tests}:3: ls' in done.out and 'expected deny, is allow' in done.out and 'behind it: no rule' in done.out


def test_an_example_that_a_stricter_rule_decides_fails(plain):
    path = user_file(plain, 'version: 1\nrules:\n  - command: git\n    do: allow\n    match:\n      - git push -f\n  - {command: git push -f, do: deny}\n')
    done = plain('policy', 'test')
    assert done.code == 1 and f'{path}:6: git push -f' in done.out and f'behind it: {path}:7' in done.out


def test_files_of_tests_are_yaml_or_json_lines(plain):
    path = user_file(plain, POLICY)
    plain.file('a.yaml', 'tests:\n  - command: git push --force\n    expect: deny\n    rule: "ward.yaml:8"\n    reason: the rule\n'
                         '  - {argv: [make, x], expect: ask, class: safe, level: restricted, source: rule}\n')
    plain.file('b.jsonl', '{"command": "ls", "expect": "allow", "risk": "low"}\n# a comment\n\n{"argv": ["rm", "-rf", "/"], "expect": "ask"}\n')
    done = plain('policy', 'test', 'a.yaml')
    assert done.code == 0 and '2 tests, 0 failed' in done.out
    rows = [json.loads(line) for line in plain('policy', 'test', '--json', 'a.yaml', 'b.jsonl').out.splitlines()]
    assert [row['ok'] for row in rows] == [True, True, True, False]
    assert rows[0]['rule'] == f'{path}:8' and rows[3] == {**rows[3], 'file': 'b.jsonl', 'line': 4, 'verdict': 'deny', 'fault': 'verdict'}


def test_what_is_no_test_is_an_error_with_its_place(plain):
    for text, message in (('- x\n', 'x.yaml:1:1: this is no file of tests'), ('tests:\n  - {expect: ask}\n', 'x.yaml:2:5: a test has either'),
                          ('tests:\n  - {command: ls, expect: yes}\n', 'x.yaml:2:5: a test says what'), ('tests:\n  - {command: ls, expekt: ask}\n', "'expekt' is no key"),
                          ('{"command": "ls"\n', 'x.yaml:1:1')):
        plain.file('x.yaml', text)
        done = plain('policy', 'test', 'x.yaml')
        assert done.code == 125 and message in done.err and 'hint:' in done.err, done
    assert plain('policy', 'test', 'gone.yaml').code == 125


def test_a_file_is_brought_into_form_and_keeps_its_mode(plain):
    path = plain.file('.ward.yaml', 'version:   1 # one\n\n\nrules:\n- {command:   make,do: ask}\n', 0o640)
    assert plain('policy', 'fmt', '--check').code == 1
    diff = plain('policy', 'fmt', '--diff')
    assert diff.code == 1 and '-version:   1 # one\n' in diff.out and '+version: 1  # one\n' in diff.out
    inode = os.stat(path).st_ino
    done = plain('policy', 'fmt')
    assert done.code == 0 and done.out == f'{path}\n'
    assert path.read_text() == 'version: 1  # one\n\nrules:\n  - {command: make, do: ask}\n'
    assert os.stat(path).st_mode & 0o777 == 0o640 and os.stat(path).st_ino != inode
    assert [name for name in os.listdir(path.parent) if name.endswith('.new')] == []
    again = plain('policy', 'fmt', '--check')
    assert again.code == 0 and again.out == ''


def test_a_link_is_followed_and_standard_input_is_printed(plain):
    plain.file('real.yaml', 'version:  1\n')
    os.symlink('real.yaml', plain.work / 'link.yaml')
    assert plain('policy', 'fmt', 'link.yaml').code == 0
    assert os.path.islink(plain.work / 'link.yaml') and (plain.work / 'real.yaml').read_text() == 'version: 1\n'
    assert plain('policy', 'fmt', '-', input='version:    1\n').out == 'version: 1\n'


def test_a_file_that_does_not_hold_is_not_touched(plain):
    path = plain.file('x.yaml', 'version:   1\nrulez: []\n')
    done = plain('policy', 'fmt', 'x.yaml')
    assert done.code == 125 and 'x.yaml:2:1' in done.err
    assert path.read_text() == 'version:   1\nrulez: []\n'


def test_a_decision_is_explained_rule_by_rule(plain):
    path = user_file(plain, POLICY)
    out = plain('policy', 'explain', '--', 'git', 'push', '--force').out
    assert out.startswith('deny: a rule decides') and f'{path}:3: allow git push (the user\'s file)' in out
    assert 'it does not count: a rule that denies beats it' in out and 'this one counts' in out
    rules = json.loads(plain('policy', 'explain', '--json', '-c', 'git push --force').out)['rules']
    assert [(rule['do'], rule['counts']) for rule in rules] == [('allow', False), ('deny', True)]
    assert 'no rule matches it' in plain('policy', 'explain', '--', 'ls').out


def test_a_rule_is_explained_by_what_it_lets_through(plain):
    user_file(plain, POLICY)
    shown = json.loads(plain('policy', 'explain', '--json', 'ward.yaml:3').out)
    assert shown['match'] == ['git push', 'git push origin'] and shown['no_match'] == ['git pull']
    assert 'git push --force' in shown['admits'] and "sh -c 'git push'" in shown['admits']
    assert 'sudo git push' in shown['does_not_admit'] and './git push' in shown['does_not_admit']
    done = plain('policy', 'explain', 'ward.yaml:99')
    assert done.code == 125 and 'there is no rule at ward.yaml:99' in done.err and 'hint:' in done.err
