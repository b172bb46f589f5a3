# SPDX-License-Identifier: Apache-2.0
"""A policy as flags of ward run, and flags as a policy again."""
import json
import random
import shlex

import pytest

POLICY = '''approval: never
sandbox:
  files: {read: ['it''s here', ~/.npmrc], write: ["a b", "$HOME"], deny: ['**/*.pem', "caf\\u00e9"]}
  limits: {memory: 512M, cpu: 1.5, cpu_time: 90s, processes: 7, disk: 1G, output: 10M, time: 1500ms, idle: 2m}
  environment: {keep: [NPM_TOKEN], set: {CI: "true and `more` !"}}
  network: {allow: [registry:npm, '*.example.org:443'], deny: ['[2001:db8::]/32'], publish: ['8080:80']}
  sockets: [ssh-agent]
  require: [seccomp]
  syscalls: {allow: [modify_ldt], deny: [memfd_create]}
profiles:
  open: {network: {mode: full}, limits: {time: 3h}}
'''


def flags(ward, *words):
    done = ward('policy', 'show', '--flags', *words)
    assert done.code == 0 and done.out.startswith('ward run --level '), done
    return done.out


def words_of(ward, line):
    """As bash reads them."""
    done = ward.shell(f'ward() {{ printf "%s\\0" "$@"; }}\n{line}')
    return done.raw_out.decode().split('\0')[1:-1]


def test_without_a_policy_the_defaults_are_printed(plain):
    assert flags(plain) == 'ward run --level restricted --net none --approval on-failure\n'


@pytest.mark.parametrize('profile', [[], ['--profile', 'open'], ['--profile', 'code']])
def test_flags_read_again_are_the_same_flags(plain, profile):
    path = plain.policy(POLICY)
    line = flags(plain, *profile)
    path.unlink()
    again = words_of(plain, line)
    assert "it's here" in again and 'café' in again and '--net' in again
    assert flags(plain, *again) == line
    assert flags(plain, *words_of(plain, flags(plain, *again))) == line


def test_flags_do_what_the_policy_did(plain):
    plain.file('hidden', 'x')
    plain.file('b', 'x')
    path = plain.policy('sandbox:\n  files: {deny: [hidden]}\n  environment: {set: {MARK: "a  b"}}\n  limits: {time: 20s}\n'
                        '  syscalls: {deny: [memfd_create]}\n')
    script = 'cat hidden; cat b; echo "$MARK"; /usr/bin/python3 -c "import os; os.memfd_create(\'x\')" 2>&1 | tail -1'
    before, line = plain.sh(script), flags(plain)
    path.unlink()
    after = plain.shell(f'{line.strip().replace("ward", "$WARD", 1)} -- sh -c {shlex.quote(script)}')
    assert before.out == after.out == 'xa  b\nPermissionError: [Errno 1] Operation not permitted\n', (before, after)


def test_random_policies_come_back(plain):
    """Any text that a policy may hold, in every list."""
    chance = random.Random(4)
    alphabet = 'ab /*?[]{}$`"\'\\!#&;|<>()~=-.,:%@^éß\u202e\u200b漢'
    for _ in range(12):
        def text(least=1):
            return ''.join(chance.choice(alphabet) for _ in range(chance.randrange(least, 9))).lstrip('~') or 'x'
        sandbox = {'files': {name: [text() for _ in range(chance.randrange(4))] for name in ('read', 'write', 'deny')},
                   'environment': {'set': {f'V{i}': text(0) for i in range(chance.randrange(3))}},
                   'limits': {'memory': str(chance.randrange(1, 2 ** 40)), 'time': f'{chance.randrange(1, 10 ** 9)}us',
                              'cpu': f'{chance.randrange(1, 9999) / 1000}'}}
        path = plain.policy(json.dumps({'sandbox': sandbox}, ensure_ascii=False))
        line = flags(plain)
        path.unlink()
        words = words_of(plain, line)
        found = [words[i + 1] for i in range(len(words)) if words[i] == '--deny']
        assert found == list(dict.fromkeys(sandbox['files']['deny']))
        assert flags(plain, *words) == line
        assert '\u202e' not in line and '\u200b' not in line


@pytest.mark.parametrize('words, said', [(['--', 'true'], "'true' is no flag"), (['--nonesuch'], 'ward run --help'),
                                         (['--profile', 'nonesuch'], "no profile 'nonesuch'"), (['--json'], 'no --json'), (['-c', 'x'], 'no -c')])
def test_what_is_no_policy_flag_is_said(plain, words, said):
    done = plain('policy', 'show', '--flags', *words)
    assert done.code == 125 and said in done.err and done.out == '', done
