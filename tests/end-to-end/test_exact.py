# SPDX-License-Identifier: Apache-2.0
"""Always and never for one command exactly as it stands, in the directory it was run in."""
import json
import re

import pytest

from test_asking import asked, desk, last_start, press
from test_policy import user_file

FIRST = '--approval unless-trusted'  # asks about everything that nobody has allowed


def verdict(ward, *words, **more):
    done = ward('check', *FIRST.split(), '--json', *words, **more)
    said = json.loads(done.out)
    return said['verdict'], said['source']


def rules_file(ward):
    return ward.config / 'ward' / 'ward.yaml'


def answer_for_good(screen, line, key, *shown):
    screen.sendline(line)
    asked(screen, '[a] always' if key == 'a' else '[v] never again')
    press(screen, key)
    for text in shown:
        screen.expect_exact(text)
    screen.expect_exact('back > ')
    press(screen, 'y')
    screen.ready()


def test_always_for_a_script_means_that_script_in_that_directory(desk):
    ward, target = desk.ward, desk.outside / 'f'
    script = f'''n="a b"; for i in 1 2; do echo "$n $i"; done > {target}; echo "do'ne\\\\"'''
    ward.file('script', script)
    ward.file('sub/x', '')
    answer_for_good(desk, 'ward run -c "$(cat script)"', 'a', '- exactly: ["-c", "n=', f'in: "{ward.work}"', f'["write {target}"]')
    assert desk.last_code() == 0 and target.read_text() == 'a b 1\na b 2\n'
    assert 'ok' in desk.does('ward policy check')
    target.unlink()
    assert desk.does('ward run --session another -c "$(cat script)"') == "do'ne\\\n" and target.exists()

    assert verdict(ward, '-c', script) == ('allow', 'rule')
    other = [['-c', script + ' '], ['-c', script + '\n'], ['-c', f'x; {script}'], ['--env', 'A=1', '-c', script],
             ['--shell', '/bin/sh', '-c', script], ['--login', '-c', script], ['--cwd', 'sub', '-c', script],
             ['--', 'bash', '-c', script], ['--', '-c', script]]
    for words in other:
        assert verdict(ward, *words)[0] == 'ask', words


def test_never_again_means_these_words_in_that_directory(desk):
    ward = desk.ward
    ward.file('sub/x', '')
    answer_for_good(desk, f"ward run {FIRST} -- ls -l 'a  \"b'", 'v', r'- exactly: ["ls", "-l", "a  \"b"]', 'do: deny')
    assert desk.last_code() == 126
    assert 'refused: a person said so when asked' in desk.does("ward run -- ls -l 'a  \"b'") and desk.last_code() == 126
    assert ward('check', '--', 'ls', '-l', 'a  "b').code == 2
    explained = ward('check', '--', 'ls', '-l', 'a  "b').out
    assert f'the policy\'s rule: {rules_file(ward)}:3' in explained and 'a person said so when asked' in explained
    for words in (['ls', '-l'], ['ls', '-l', 'a  "b', 'c'], ['/bin/ls', '-l', 'a  "b'], ['ls', '-l', 'a "b']):
        assert ward('check', '--', *words).code == 0, words
    assert ward('check', '--cwd', 'sub', '--', 'ls', '-l', 'a  "b').code == 0
    assert ward('check', '-c', "ls -l 'a  \"b'").code == 0


def test_what_a_command_is_run_with_belongs_to_it(desk):
    line = 'ward run --approval unless-trusted --env "X=1 2" --shell /bin/sh -c "echo ran$((1))"'
    answer_for_good(desk, line, 'a', '["--env", "X=1 2", "--shell", "/bin/sh", "-c", "echo ran1"]')
    assert desk.does(line) == 'ran1\n' and last_start(desk.ward)['source'] == 'rule'
    words = ['--env', 'X=1 2', '--shell', '/bin/sh', '-c', 'echo ran1']
    assert verdict(desk.ward, *words) == ('allow', 'rule')
    assert verdict(desk.ward, *words[2:])[0] == verdict(desk.ward, *words[:2], *words[4:])[0] == 'ask'
    assert verdict(desk.ward, '--env', 'X=1 3', *words[2:])[0] == 'ask'


def test_a_second_always_keeps_what_the_first_gave(desk):
    one, two = desk.outside / 'one', desk.outside / 'two'
    line = f'ward run -c "echo 1 > {one}; echo 2 > {two}"'
    desk.sendline(line)
    for target in (one, two):
        asked(desk, f'write {target}', '[a] always')
        press(desk, 'a')
        desk.expect_exact('back > ')
        press(desk, 'y')
    desk.ready()
    one.unlink(), two.unlink()
    assert desk.does(line) == '' and one.exists() and two.exists()


@pytest.mark.parametrize('line, never', [
    ('ward run -c "cd . && git push --force"', True),        # something speaks against it
    ('ward run --escalated -- ls', False),                   # out of the sandbox
    ('ward run {first} -- ls $\'a\\xffb\'', False),          # YAML cannot hold it
    ('ward run {first} --env MY_TOKEN=x -- ls', False),      # nor should it hold that
    ('PATH=$PWD:$PATH ward run {first} -- mine', True),      # whoever changes it would be allowed, too
])
def test_where_always_is_not_offered(desk, line, never):
    desk.ward.file('mine', '#!/bin/sh\n', 0o755)
    desk.sendline(line.format(first=FIRST))
    shown = asked(desk, '[y] once', '[s] for the session')
    assert '[a]' not in shown and ('[v]' in shown) == never
    press(desk, 'n')
    desk.ready()


def test_a_rule_that_asks_is_not_answered_for_good(desk):
    """The rule that would be written could not beat it."""
    user_file(desk.ward, 'rules: \n  - {command: ls, do: ask, why: w}\n')
    for line in ('ward run -- ls', 'ward run -c "ls; ls"'):
        desk.sendline(line)
        assert '[a]' not in asked(desk, 'w', '[v] never again')
        press(desk, 'n')
        desk.ready()


def test_a_project_can_only_narrow_with_them(plain):
    plain.file('.ward.yaml', 'rules:\n  - {exactly: [ls, -l], do: allow}\n  - {exactly: [ls, -a], do: deny, why: no}\n'
                             '  - {exactly: [ls, -r], do: ask, why: w, permissions: ["write /etc"]}\n')
    assert verdict(plain, '--', 'ls', '-l')[0] == 'ask'
    assert verdict(plain, '--', 'ls', '-a') == ('deny', 'rule')
    warned = plain('policy', 'check').out
    assert "the rule that allows 'ls -l'" in warned and "the permissions of the rule for 'ls -r'" in warned
    assert plain('policy', 'trust').code == 0
    assert verdict(plain, '--', 'ls', '-l') == ('allow', 'rule')


def test_what_is_shown_can_be_read_back(plain):
    words = ['--env', 'A=b c', '-c', 'a\t"x" \\ \'y\'\n# z: - \u2028\u202e\u00e4']
    rule = {'exactly': words, 'in': '/srv/a b', 'do': 'allow'}
    user_file(plain, json.dumps({'rules': [rule]}))
    shown = plain('policy', 'show').out
    assert '\u202e' not in shown and '\u2028' not in shown and '\u00e4' in shown
    first = json.loads(plain('policy', 'show', '--json').out)['rules']
    assert (first[0]['exactly'], first[0]['in'], first[0].get('command')) == (words, '/srv/a b', None)
    user_file(plain, shown)
    assert plain('policy', 'check').code == 0
    again = json.loads(plain('policy', 'show', '--json').out)['rules']
    assert again[0]['exactly'] == words and again[0]['in'] == '/srv/a b'


def test_errors_name_their_place(plain):
    file = user_file(plain, 'rules:\n  - {command: ls, in: /srv, do: allow}\n')
    done = plain('policy', 'check')
    assert done.code == 1 and f'{file.resolve()}:2:5: a directory (in) is for one command exactly' in done.out
    user_file(plain, 'rules:\n  - {exactly: [-c, a, b], do: allow}\n')
    assert ':2:15: -c is followed by the script' in plain('policy', 'check').out


def test_where_nobody_can_be_asked_the_rule_is_named(plain):
    plain.file('sub/x', '')
    words = ['run', '--cwd', 'sub', '-c', 'echo "a b"; git push --force']
    done = plain(*words)
    assert done.code == 126
    hint = re.search(r'\{exactly: .*, do: allow\}', done.err).group(0)
    user_file(plain, f'rules:\n  - {hint}\n')
    done = plain(*words)
    assert done.code == 128 and done.out == 'a b\n'  # git's: there is no repository
    assert plain(words[0], *words[3:]).code == 126
