# SPDX-License-Identifier: Apache-2.0
"""The language of rules through the program: conditions, sets, paths, pinned programs, includes."""
import hashlib
import json
import os
import shutil

import pytest

from test_policy import user_file


def verdict(ward, script, *flags):
    return json.loads(ward('check', '--json', *flags, '-c', script).out)['verdict']


def shown(ward):
    return json.loads(ward('policy', 'show', '--json').out)


EVERYTHING = r'''approval: on-failure
rules:
  - {command: git push, do: ask, why: w, when: {agent: [a, 'b*'], session: s, tool: t, directory: [~/x, 'y/**'], environment: [CI, A=b*]}}
  - {command: git pull, do: deny, why: w, unless: {time: ['22:00-06:00', '12:00-13:30'], days: [mon, sat-sun], risk: [low, high]}}
  - {command: git fetch, do: allow, when: {category: [network, data deletion], program: {path: /usr/bin/git, owner: root, sha256: '%s'}}}
  - {command: 'rm {inside...}', do: allow, sandbox: require}
  - {command: 'cp ** {outside} > {inside} < *.txt', do: ask, why: w}
  - {command: 'git tag {re:v[0-9]+(\.[0-9]+)?|x}', do: allow, priority: 3}
  - {when: {agent: nobody}, do: deny, why: "it's"}
  - name: "a set: of rules"
    combine: priority
    priority: -2
    when: {tool: x}
    unless: {days: mon}
    rules:
      - {command: a, do: ask, why: w, priority: 4, permissions: ['connect example.org:443']}
      - combine: all-of
        priority: 7
        rules: [{command: a, do: allow}, {do: ask, why: w}]
        otherwise: {do: deny, why: w}
      - {command: b, do: allow, sandbox: forbid, permissions: ['unsandboxed b']}
    otherwise: ask
  - combine: first-match
    rules: [{command: c, do: allow}, {combine: any-of, rules: [{command: d, do: deny, why: w}]}, {do: ask, why: w}]
  - {exactly: [make, test], in: ~/x, do: allow, when: {agent: c}}
''' % ('0' * 64)


def test_what_is_shown_can_be_read_again_and_is_the_same(plain):
    user_file(plain, EVERYTHING)
    before = shown(plain)
    text = plain('policy', 'show').out
    user_file(plain, text)
    after = shown(plain)
    for policy in (before, after):
        assert not policy['warnings'] or all('otherwise' in w or 'never applies' in w for w in policy['warnings']), policy['warnings']
        for entry in policy['rules'] + policy['sets']:
            del entry['line']
        for entry in policy['sets']:  # what is shown puts it where it is read last
            del entry['otherwise']
    assert sorted(map(json.dumps, after['sets'])) == sorted(map(json.dumps, before['sets']))
    assert after['rules'] == before['rules'] and len(before['rules']) == 17 and len(before['sets']) == 4


def test_conditions_decide_whether_a_rule_holds(plain):
    user_file(plain, 'rules:\n'
              '  - {command: touch a, do: deny, why: not you, when: {agent: [robot]}}\n'
              '  - {command: touch b, do: deny, why: w, when: {directory: [sub]}}\n'
              '  - {command: touch c, do: deny, why: w, unless: {environment: [WARD_TEST_MODE=yes]}}\n'
              '  - {do: deny, why: w, when: {risk: [critical]}}\n')
    plain.file('sub/x', '')
    assert verdict(plain, 'touch a') == 'allow' and verdict(plain, 'touch a', '--agent', 'robot') == 'deny'
    assert verdict(plain, 'touch b') == 'allow' and verdict(plain, 'touch b', '--cwd', str(plain.work / 'sub')) == 'deny'
    assert verdict(plain, 'touch c') == 'deny' and verdict(plain, 'touch c', '--env', 'WARD_TEST_MODE=yes') == 'allow'
    assert plain('run', '--agent', 'robot', '--', 'touch', 'a').code == 126
    assert 'not you' in plain('run', '--agent', 'robot', '--', 'touch', 'a').err and not (plain.work / 'a').exists()
    assert plain('run', '--', 'touch', 'a').code == 0 and (plain.work / 'a').exists()


def test_a_condition_that_is_not_known_at_the_start_is_asked_about_not_refused(plain):
    user_file(plain, 'rules:\n  - {command: touch b, do: deny, why: w, when: {directory: [sub]}}\n')
    assert verdict(plain, 'cd sub && touch b') == 'ask'


def test_paths_inside_and_outside_are_told_apart(plain):
    user_file(plain, "rules:\n  - {command: 'cp ** {outside}', do: deny, why: w}\n"
              "  - {command: 'rm -rf {inside...}', do: allow}\n")
    plain.file('a', 'x')
    os.symlink('/usr', plain.work / 'out')
    assert verdict(plain, 'cp a b') == 'allow' and verdict(plain, 'cp a /etc/b') == 'deny' and verdict(plain, 'cp a out/b') == 'deny'
    assert verdict(plain, 'rm -rf a') == 'allow'
    assert verdict(plain, 'rm -rf a /etc') != 'allow'
    assert plain('run', '--', 'cp', 'a', 'b').code == 0 and plain('run', '--', 'cp', 'a', 'out/b').code == 126
    # And of programs that are started, wherever they have gone.
    plain.file('go', '#!/bin/sh\nmkdir -p sub; cd sub; cp ../a here; cd /usr; cp lib/os-release there\n', 0o755)
    done = plain('run', '--', './go')
    assert (plain.work / 'sub/here').exists() and 'cp lib/os-release there' in done.err


def test_a_set_combines_and_holds_for_programs_that_are_started(ward):
    user_file(ward, 'rules:\n  - combine: first-match\n    rules:\n'
              '      - {command: touch good, do: allow}\n'
              '      - {command: touch, do: deny, why: only good}\n')
    assert verdict(ward, 'touch good') == 'allow' and verdict(ward, 'touch bad') == 'deny'
    ward.file('go', '#!/bin/sh\ntouch good\ntouch bad\n', 0o755)
    done = ward('run', '--', './go')
    assert (ward.work / 'good').exists() and not (ward.work / 'bad').exists(), done.err


def test_a_static_deny_at_the_end_does_not_keep_what_is_allowed_from_starting_programs(ward):
    user_file(ward, 'rules:\n  - combine: first-match\n    rules: [{command: sh, do: allow}]\n    otherwise: {do: deny, why: not on the list}\n')
    assert verdict(ward, 'touch x') == 'deny'
    done = ward('run', '--', 'sh', '-c', 'touch made')
    assert done.code == 126 and 'not on the list' in done.err  # it is seen in the text
    ward.file('go', 'touch made\n')
    assert ward('run', '--', 'sh', 'go').code == 0 and (ward.work / 'made').exists()


def test_a_pinned_program_is_allowed_and_every_other_file_is_not(ward):
    with open('/usr/bin/tee', 'rb') as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    user_file(ward, 'rules:\n  - {command: tee, do: deny, why: another one, unless: {program: {path: /usr/bin/tee, owner: root, sha256: %s}}}\n' % digest)
    assert ward('run', '--', 'sh', '-c', 'echo x | tee one').code == 0 and (ward.work / 'one').exists()
    # A copy, named as the original is.
    ward.file('bin/x', '')
    shutil.copy('/usr/bin/tee', ward.work / 'bin' / 'tee')
    os.chmod(ward.work / 'bin' / 'tee', 0o755)
    done = ward('run', '-c', 'PATH=./bin:$PATH; echo x | tee two', input='')
    assert not (ward.work / 'two').exists(), done.err
    ward.file('go', '#!/bin/sh\necho x | bin/tee three\n', 0o755)
    ward('run', '--', './go')
    assert not (ward.work / 'three').exists()
    user_file(ward, 'rules:\n  - {command: tee, do: deny, why: another one, unless: {program: {path: /usr/bin/tee, sha256: %s}}}\n' % ('0' * 64))
    assert ward('run', '--', 'tee', 'four').code == 126


def test_a_rule_keeps_a_command_in_the_sandbox(plain):
    user_file(plain, 'rules:\n  - {command: touch x, do: allow, sandbox: require}\n')
    assert plain('run', '--', 'touch', 'x').code == 0
    for flags in (['--level', 'none'], ['--sandbox', 'forbid'], ['--escalated']):
        done = plain('run', *flags, '--', 'touch', 'x')
        assert done.code == 126 and 'wants the sandbox' in done.err, flags
    assert plain('run', '--level', 'none', '--', 'touch', 'y').code == 0


def test_a_rule_lets_a_command_out_of_the_sandbox_only_by_name(plain):
    user_file(plain, 'rules:\n'
              "  - {command: touch a, do: allow, sandbox: forbid, permissions: ['unsandboxed touch a']}\n"
              '  - {command: touch b, do: allow, sandbox: forbid}\n'
              "  - {command: touch c, do: allow, sandbox: forbid, permissions: ['unsandboxed touch']}\n"
              '  - {command: touch d, do: allow}\n')
    done = plain('run', '--json', '--', 'touch', 'a')
    assert json.loads(done.out)['attempts'][0]['level'] == 'none' and (plain.work / 'a').exists()
    for name in 'bc':
        assert plain('run', '--', 'touch', name).code == 126 and not (plain.work / name).exists()
    # What stands beside it has no such rule.
    done = plain('run', '--json', '-c', 'touch a && touch d')
    assert json.loads(done.out)['attempts'][0]['level'] == 'restricted'


@pytest.mark.parametrize('project', [
    'rules:\n  - {command: touch, do: allow, sandbox: forbid, permissions: [unsandboxed touch]}\n',
    'rules:\n  - combine: any-of\n    priority: 1000000\n    rules: [{do: allow}]\n    otherwise: allow\n',
    'rules:\n  - combine: first-match\n    rules: [{do: allow, sandbox: forbid}]\n',
    'include: [more.yaml]\n',
    'rules:\n  - {command: touch, do: ask, why: w, sandbox: forbid, permissions: ["write /**"]}\n',
])
def test_a_project_that_is_not_trusted_widens_nothing(plain, project):
    user_file(plain, 'approval: never\nrules:\n  - {command: touch x, do: deny, why: mine}\n')
    plain.file('.ward.yaml', project)
    plain.file('more.yaml', 'approval: on-failure\nsandbox: {level: none}\nrules: [{command: touch, do: allow}]\n')
    done = plain('run', '--', 'touch', 'x')
    assert done.code == 126 and 'mine' in done.err
    done = plain('run', '--', 'touch', '../y')
    assert done.code != 0 and not (plain.work / '../y').exists()
    policy = shown(plain)
    assert policy['approval'] == 'never' and policy['sandbox']['level'] == 'restricted' and 'ignored, because it widens' in str(policy['warnings'])


def test_what_a_project_includes_is_trusted_with_it_and_shown_before(plain):
    plain.file('.ward.yaml', 'include: [more.yaml]\n')
    plain.file('more.yaml', 'rules: [{command: git push, do: allow}]\n')
    assert verdict(plain, 'git push') == 'ask'
    done = plain('policy', 'trust')
    assert done.code == 0 and "more.yaml:1:1: the rule that allows 'git push'" in done.out
    assert verdict(plain, 'git push') == 'allow'
    plain.file('more.yaml', 'rules: [{command: git push, do: allow}, {command: rm, do: allow}]\n')
    assert verdict(plain, 'git push') == 'ask'


def test_a_project_reads_no_file_outside_of_it(plain):
    plain.file('../config/token', 'very: secret\n')
    os.symlink('../config/token', plain.work / 'link.yaml')
    for name in ('../config/token', 'link.yaml', str(plain.work / '../config/token'), '/etc/passwd'):
        plain.file('.ward.yaml', f'include: [{name}]\n')
        done = plain('run', '--', 'true')
        assert done.code == 125 and 'secret' not in done.err and 'root:' not in done.err, done.err


def test_ten_thousand_rules_are_taken(plain):
    user_file(plain, 'rules:\n' + ''.join(f'  - {{command: git push origin b{i}, do: deny, why: w}}\n' for i in range(10000)))
    assert verdict(plain, 'git push origin b9999') == 'deny' and verdict(plain, 'git status') == 'allow'
    assert plain('run', '--', 'true').code == 0
