# SPDX-License-Identifier: Apache-2.0
"""ward policy: checking, showing and trusting policy files."""
import json
import os
import re

import pytest

from support import SOURCE

WIDE = '''version: 1
sandbox:
  files: {deny: [secret]}
  network:
    allow: [registry:npm]
rules:
  - command: git push
    do: ask
    why: it publishes
  - {command: npm test, do: allow}
'''


def user_file(ward, text):
    path = ward.file('../config/ward/ward.yaml', text, 0o644)
    path.parent.chmod(0o755)
    return path


def test_without_files_the_built_in_policy_is_shown(plain):
    done = plain('policy', 'check')
    assert done.code == 0 and 'no policy file here' in done.out
    policy = json.loads(plain('policy', 'show', '--json').out)
    assert not policy['configured'] and policy['rules'] == [] and policy['approval'] == 'on-failure'
    assert policy['profiles']['code']['limits'] == {'memory': '512M', 'cpu': policy['profiles']['code']['limits']['cpu'],
                                                    'processes': '10', 'disk': '100M', 'time': '30s', 'idle': '10s'}


def test_check_names_file_line_and_column(plain):
    path = plain.file('.ward.yaml', 'version: 1\nsandbox:\n  level: high\n')
    done = plain('policy', 'check')
    assert done.code == 1 and done.out.startswith(f"{path.resolve()}:3:10: 'high' is not a level\n")
    assert 'none, restricted or container' in done.out
    good = plain.file('good.yaml', 'approval: never')
    done = plain('policy', 'check', 'good.yaml', '.ward.yaml', 'gone.yaml')
    assert done.code == 1 and f'{good.name}: ok\n' in done.out and '.ward.yaml:3:10: ' in done.out
    assert 'gone.yaml: ' in done.out
    assert plain('policy', 'check', 'good.yaml').code == 0
    done = plain('policy', 'show')
    assert done.code == 125 and f'{path.resolve()}:3:10: ' in done.err


def test_check_tells_of_every_file(plain):
    project = plain.file('.ward.yaml', 'level: x')
    user = user_file(plain, 'rules: [{}]')
    done = plain('policy', 'check')
    assert done.code == 1 and f'{project}:1:1: unknown key' in done.out and '/ward.yaml:1:9: a rule without' in done.out
    user.write_text('version: 1\napproval: never')
    done = plain('policy', 'check')
    assert done.code == 1 and 'ward/ward.yaml: ok\n' in done.out and f'{project}:1:1: unknown key' in done.out


def test_a_project_is_trusted_until_it_changes(ward):
    path = ward.file('.ward.yaml', WIDE)
    done = ward('policy', 'check')
    assert done.code == 0 and f'{path}:5:13: ignored' in done.out and f'ward policy trust {ward.work}' in done.out
    policy = json.loads(ward('policy', 'show', '--json').out)
    assert [rule['command'] for rule in policy['rules']] == ['git push']
    assert policy['sandbox']['network'] == {'mode': 'none', 'allow': [], 'deny': [], 'publish': []}

    done = ward('policy', 'trust')
    assert done.code == 0 and ':5:13: sandbox.network.allow registry:npm' in done.out and "allows 'npm test'" in done.out
    policy = json.loads(ward('policy', 'show', '--json').out)
    assert [rule['do'] for rule in policy['rules']] == ['ask', 'allow'] and policy['warnings'] == []
    assert policy['sandbox']['network']['mode'] == 'restricted'

    path.write_text(WIDE + '# changed\n')
    assert 'ignored' in ward('policy', 'check').out
    path.write_text(WIDE)
    assert 'ignored' not in ward('policy', 'check').out
    assert ward('policy', 'untrust', ward.work).code == 0
    assert 'ignored' in ward('policy', 'check').out


def test_what_is_shown_can_be_read_again(plain):
    user_file(plain, WIDE.replace('registry:npm', "registry:npm, '*.example.org'").replace('it publishes', "'it''s: #1'"))
    shown = plain('policy', 'show').out
    plain.file('shown.yaml', shown)
    done = plain('policy', 'check', 'shown.yaml')
    assert done.code == 0, done.out
    assert re.search(r"- command: 'git push'  # .*/config/ward/ward.yaml:7\n", shown)


def test_files_of_other_hands_are_refused(plain):
    path = user_file(plain, 'version: 1')
    path.chmod(0o666)
    done = plain('policy', 'show')
    assert done.code == 125 and 'others may write' in done.err and 'chmod go-w' in done.err
    path.unlink()
    os.symlink('/etc/hostname', plain.work / '.ward.yaml')
    assert 'symbolic link' in plain('policy', 'check').out
    (plain.work / '.ward.yaml').unlink()
    os.mkfifo(plain.work / '.ward.yaml')
    assert 'not a regular file' in plain('policy', 'check', timeout=30).out


def test_mistyped_words_are_told(plain):
    for words in ([], ['chekc'], ['show', 'x'], ['trust', 'a', 'b'], ['untrust', '/no/such/../x', 'y'], ['trust', 'gone']):
        done = plain('policy', *words)
        assert done.code == 125 and done.err.startswith('ward policy: '), words


@pytest.mark.parametrize('block', re.findall(r'```yaml\n(.*?)```', (SOURCE / 'docs' / 'policy.md').read_text(), re.S))
def test_the_examples_of_the_reference_hold(plain, block):
    plain.file('example.yaml', block)
    done = plain('policy', 'check', 'example.yaml')
    assert done.code == 0 and 'warning' not in done.out, done.out
